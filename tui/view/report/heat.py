"""Latency heat maps of a report: per-second histograms, merged exactly into columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from tui.journal.clock import HostTime
from tui.journal.reader import read_events
from tui.metrics.buckets import PLAT_BUCKETS
from tui.metrics.series import bucket_edge, column_percentiles, dense_items, weights_of
from tui.model.dense import listed
from tui.model.event import HostClock, RunResumed, Sample
from tui.model.rundir import JOURNAL_FILE
from tui.model.step_record import StepRecord

MOST_COLUMNS = 120


@dataclass(slots=True)
class HeatCounts:
    """I/O counts of one direction by column and bucket. Column `k` starts at `k * width_s` s."""

    width_s: int
    columns: list[list[int]] = field(default_factory=list)

    def percentiles(self, wanted: Sequence[float]) -> list[dict[float, float | None]]:
        """Return percentiles of each column in ns, by fio's rule; None with too few I/Os."""
        return [column_percentiles(dense_items(counts), wanted) for counts in self.columns]


Heat = dict[tuple[int, str], HeatCounts]
"""Heat maps by index of the step and direction."""


def heat_of(run_dir: Path | None, steps: Sequence[StepRecord]) -> Heat:
    """Return the heat maps of steps, all hosts merged; empty without a journal.

    An interval counts in the column that contains its middle, by the host's corrected clock.
    """
    path = run_dir / JOURNAL_FILE if run_dir is not None else None
    spans = {step.index: _Span.of(step) for step in steps if step.series is not None}
    if path is None or not path.is_file() or not spans:
        return {}
    found: Heat = {}
    clocks: dict[str, HostTime] = {}
    for event in read_events(path):
        if isinstance(event, HostClock):
            clocks.setdefault(event.host, HostTime()).compare(event)
        elif isinstance(event, RunResumed):
            for clock in clocks.values():
                clock.expect_late()
        elif isinstance(event, Sample):
            t0, t1 = clocks.setdefault(event.host, HostTime()).interval(
                event.t, event.host_time_ms, event.interval_s
            )
            span = spans.get(event.step)
            if span is not None and event.phase == "measure" and not event.ramp:
                _add_sample(found, span, event, (t0 + t1) / 2)
    return found


@dataclass(frozen=True, slots=True)
class _Span:
    """The measured time of a step on the clock of the run, and the seconds per column."""

    start_s: float
    seconds: int
    width_s: int

    @classmethod
    def of(cls, step: StepRecord) -> _Span:
        series = step.series
        assert series is not None
        seconds = max((len(column.iops) for column in series.columns), default=0)
        return cls(series.start_s, seconds, max(1, ceil(seconds / MOST_COLUMNS)))


def _add_sample(found: Heat, span: _Span, sample: Sample, middle_s: float) -> None:
    place = int((middle_s - span.start_s) // span.width_s)
    columns = ceil(span.seconds / span.width_s)
    if not 0 <= place < columns:
        return
    for direction, part in sample.dirs.items():
        lat = listed(part.lat)
        if not lat.idx:
            continue
        heat = found.get((sample.step, direction))
        if heat is None:
            heat = HeatCounts(span.width_s, [[0] * PLAT_BUCKETS for _ in range(columns)])
            found[sample.step, direction] = heat
        counts = heat.columns[place]
        for index, count in zip(lat.idx, lat.n, strict=True):
            counts[index] += count


@dataclass(frozen=True, slots=True)
class Patch:
    """A rectangle of a heat map: adjacent columns of equal weight, and a latency range.

    `end` is the column after the last one.
    """

    column: int
    end: int
    low_ns: float
    high_ns: float
    weight: int


ROWS_BITS = 4  # 16 of 64 buckets together: four rows each time the latency doubles


def patches_of(heat: HeatCounts, bits: int = ROWS_BITS) -> list[Patch]:
    """Return the heat map as rectangles, the lightest first.

    Rows are whole buckets, so counts are exact."""
    weights = [weights_of(dense_items(counts), 0, 1 << bits) for counts in heat.columns]
    rows = sorted({row for column in weights for row in column})
    found = [
        patch
        for row in rows
        for patch in _row_patches(row, [column.get(row) for column in weights], bits)
    ]
    return sorted(found, key=lambda patch: patch.weight)


def _row_patches(row: int, weights: Sequence[int | None], bits: int) -> list[Patch]:
    low, high = bucket_edge(row << bits), bucket_edge((row + 1) << bits)
    found: list[Patch] = []
    for column, weight in enumerate(weights):
        if weight is None:
            continue
        if found and found[-1].end == column and found[-1].weight == weight:
            found[-1] = Patch(found[-1].column, column + 1, low, high, weight)
        else:
            found.append(Patch(column, column + 1, low, high, weight))
    return found
