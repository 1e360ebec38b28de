"""The percentile table of Live: last interval, measurement so far, second under the cursor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tui.app.widgets.graph import NO_AXIS
from tui.app.widgets.graph_panels import KEYS, Subject
from tui.app.widgets.run_panels import PercentileRow
from tui.model.event import Buckets
from tui.text.line import LABEL
from tui.text.plot import TimeAxis, merged

if TYPE_CHECKING:
    from tui.journal.views import DirectionView
    from tui.metrics.series import HeatBins

OPS = "ops"  # in place of a direction
NO_HEAT: Mapping[str, HeatBins] = {}


def percentiles(
    subject: Subject,
    kind: str,
    heat: Mapping[str, HeatBins] = NO_HEAT,
    axis: TimeAxis = NO_AXIS,
    *,
    counted: bool = False,
) -> tuple[str, list[PercentileRow]]:
    """Return the heading, and up to two rows per direction: last interval, measurement so far.

    If the axis has a cursor, the second under it (from `heat`) replaces the last interval. After
    the load there is one row per direction. `counted`: operations on files are counted. With
    several directions, rows have their names.
    """
    rows: list[PercentileRow] = []
    for name in subject.waits:
        said = OPS if counted and len(subject.waits) == 1 else subject.called(name)
        view = subject.dirs[name]
        current = view.intervals()
        if axis.cursor_s is not None:
            rows.append(row_at(said, name, view, heat.get(name), axis))
        elif current:
            seconds = max(each.interval_s for each in current)
            values: dict[str, float | None] = {
                **view.interval_percentiles,
                "mean": view.lat_mean_ns,
            }
            counts = partial(interval_counts, view)
            rows.append(
                PercentileRow(
                    said, KEYS.get(name, "other"), f"last {seconds:.0f} s", values, counts=counts
                )
            )
        first = not rows or rows[-1].direction != said
        if axis.cursor_s is not None:
            rows.append(row_until(name, view, heat.get(name), axis))
            continue
        covers = "so far" if current else "in total"
        total: dict[str, float | None] = {**view.so_far_percentiles, "mean": view.so_far_mean_ns}
        counts = partial(so_far_counts, view)
        rows.append(
            PercentileRow(
                said if first else "", KEYS.get(name, "other"), covers, total, first, counts
            )
        )
    if not rows:
        rows.append(PercentileRow("", LABEL, "no data", {}, strong=False))
    return f"{kind} · {subject.name}" if subject.name else kind, rows


def row_at(
    said: str, name: str, view: DirectionView, heat: HeatBins | None, axis: TimeAxis
) -> PercentileRow:
    """Return the row for the second under the cursor; in a long load, for its heat map column."""
    second = axis.cursor_s or 0
    row = _row_between(name, view, heat, (second, second + 1))
    return replace(row, direction=said, covers=axis.cursor_text)


def row_until(
    name: str, view: DirectionView, heat: HeatBins | None, axis: TimeAxis
) -> PercentileRow:
    """Return the row from the start of the load to the second under the cursor."""
    row = _row_between(name, view, heat, (axis.start_s, (axis.cursor_s or 0) + 1))
    return replace(row, covers=axis.cursor_text.replace("at", "to", 1), strong=False)


def _row_between(
    name: str, view: DirectionView, heat: HeatBins | None, span: tuple[int, int]
) -> PercentileRow:
    counts = heat.between(*span) if heat is not None else ()
    buckets = Buckets([index for index, _ in counts], [count for _, count in counts])
    mean = merged(view.values("latency", *span), view.values("iops", *span), peaks=False)
    values: dict[str, float | None] = {**view.percentiles_in(buckets), "mean": mean}
    return PercentileRow("", KEYS.get(name, "other"), "", values, counts=lambda: counts)


def so_far_counts(view: DirectionView) -> tuple[tuple[int, int], ...]:
    """Return the histogram of the measurement so far, as (bucket, count)."""
    return counted(view.so_far_buckets)


def interval_counts(view: DirectionView) -> tuple[tuple[int, int], ...]:
    """Return the histogram of the last interval, as (bucket, count)."""
    return counted(view.interval_buckets)


def counted(buckets: Buckets) -> tuple[tuple[int, int], ...]:
    """Return buckets as pairs of (bucket, count)."""
    return tuple(zip(buckets.idx, buckets.n, strict=True))
