"""The time axis that charts of one run share: as long as the run is planned to take, and as wide as there is room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui.metrics.units import clock

SPANS_S = (10, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700)
LONGER_S = 900  # beyond, an axis grows by as much at once
LEAST_GAP = 12  # cells between two labels
TICKS_S = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """`span_s` seconds of the run from second `start_s` on; `cursor_s` is the second that is looked at."""

    start_s: int
    span_s: int
    cursor_s: int | None = None

    @property
    def cursor_text(self) -> str:
        """Which time of the load is looked at: ``at 1:05``; empty: now."""
        return f"at {clock(self.cursor_s - self.start_s)}" if self.cursor_s is not None else ""

    def cell(self, column: int, columns: int) -> tuple[int, int]:
        """Return the first and end second of a column of `columns`; where there are more columns than seconds, one."""
        first = self.start_s + column * self.span_s // columns
        return first, max(first + 1, self.start_s + (column + 1) * self.span_s // columns)

    def column_of(self, second: int, columns: int) -> int:
        """Return the column in which a second begins to be shown."""
        at = -(-(second - self.start_s) * columns // self.span_s) if self.span_s <= columns else 0
        if self.span_s > columns:
            at = ((second - self.start_s + 1) * columns - 1) // self.span_s
        return max(0, min(columns - 1, at))

    def labels(self, columns: int) -> str:
        """Return the times under the axis in exactly `columns` cells: round ones, each beginning where it lies."""
        step = next((tick for tick in TICKS_S if tick * columns / self.span_s >= LEAST_GAP), TICKS_S[-1])
        line = [" "] * columns
        for second in range(0, self.span_s, step):
            text, at = clock(second), self.column_of(self.start_s + second, columns)
            if at + len(text) <= columns:
                line[at : at + len(text)] = text
        return "".join(line)


def axis_of(start_s: int, planned_s: float | None, elapsed_s: float, cursor_s: int | None = None) -> TimeAxis:
    """Return the axis of a load: as long as is planned; of one without an end, or past it, a round length."""
    if planned_s and elapsed_s <= planned_s + 1:
        return TimeAxis(start_s, max(1, round(planned_s)), cursor_s)
    span = next((span for span in SPANS_S if elapsed_s <= span), None)
    return TimeAxis(start_s, span or (int(elapsed_s) // LONGER_S + 1) * LONGER_S, cursor_s)


def spread_over(
    values: Sequence[float | None],
    first_s: int,
    axis: TimeAxis,
    columns: int,
    *,
    peaks: bool = False,
    weights: Sequence[float | None] = (),
) -> list[float | None]:
    """Return one value a column: the mean of its seconds, or their largest with `peaks`. None is a gap.

    `values` are one a second from `first_s` on. Means of latencies have the I/Os of their seconds as `weights`, so that
    one with few I/Os counts for as little as it is.
    """
    found: list[float | None] = []
    for column in range(columns):
        start, end = axis.cell(column, columns)
        here = slice(max(0, start - first_s), max(0, end - first_s))
        found.append(merged(values[here], weights[here], peaks=peaks))
    return found


def merged(values: Sequence[float | None], weights: Sequence[float | None] = (), *, peaks: bool) -> float | None:
    """Return the mean of known values, weighted where weights are known, or the largest of them; None of none."""
    held = [(value, at) for at, value in enumerate(values) if value is not None]
    if not held or peaks:
        return max((value for value, _ in held), default=None)
    parts = [(value, weights[at] or 0.0) for value, at in held] if weights else []
    total = sum(weight for _, weight in parts)
    if total:
        return sum(value * weight for value, weight in parts) / total
    return sum(value for value, _ in held) / len(held)
