"""Tiles of Live: rate, bandwidth and p99 over all directions, in large digits."""

from __future__ import annotations

from collections.abc import Sequence

from tui.app.widgets.graph import merge_values
from tui.app.widgets.graph_panels import BANDWIDTH, IOPS, KEYS, Subject, average_of
from tui.app.widgets.lines import Lines
from tui.metrics.registry import MIXED, Metric, direction
from tui.metrics.units import iops_parts, latency, latency_parts
from tui.text.digits import ROWS, FigureTile, tile_lines
from tui.text.line import VALUE, Line
from tui.text.plot import TimeAxis
from tui.text.sparkline import Symbols

TILE_LINES = ROWS + 1
WIDE = 22  # cells of a tile if it fits: one more digit does not move other tiles


class FigureTiles(Lines):
    """Shows the figures of a load in large digits."""

    DEFAULT_CSS = f"FigureTiles {{ height: {TILE_LINES}; padding: 0 1; }}"

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.tiles: Sequence[FigureTile] = ()

    def show(self, tiles: Sequence[FigureTile]) -> None:
        """Show these tiles."""
        self.tiles = tiles
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:  # noqa: ARG002
        """Return the titles with averages, and the digits."""
        return tile_lines(self.tiles, width, self.symbols, WIDE)


def live_tiles(
    subject: Subject, waits: Subject, axis: TimeAxis, tail: float | None, counted: str = ""
) -> list[FigureTile]:
    """Return rate, bandwidth and p99 as tiles; empty before a load.

    They show the figures now, at the cursor, or of the whole load once it has ended. `waits`: whose
    latencies are shown. `tail`: p99 in ns at the cursor. `counted`: what a metadata load counts in
    place of I/Os; it has no bandwidth.
    """
    if not waits.dirs or subject.total.span is None:
        return []
    number, unit, aside = _rate(subject, IOPS, axis)
    names = _summed(subject)
    role = KEYS.get(names[0], VALUE) if len(names) == 1 else VALUE
    title = subject.title(f"{counted.capitalize()}/s" if counted else "IOPS")
    tiles = [FigureTile(title, number, unit, role, axis.cursor_text or aside)]
    if not counted:
        number, unit, aside = _rate(subject, BANDWIDTH, axis)
        tiles.append(FigureTile("bandwidth", number, unit, role, aside, drop=1))
    return [*tiles, _tail(waits, axis, tail)]


def _summed(subject: Subject) -> list[str]:
    """Return the directions whose rates add up to the total."""
    names = [name for name in subject.dirs if direction(name).in_total]
    return [MIXED] if MIXED in names else names


def _rate(subject: Subject, metric: Metric, axis: TimeAxis) -> tuple[str, str, str]:
    """Return number, unit, and average of the load so far; after the load only the average."""
    total, at = subject.total, axis.cursor_s
    average = merge_values(total.series(metric.name))
    parts = iops_parts if metric is IOPS else metric.parts
    if at is not None:
        return *parts((total.values(metric.name, at, at + 1) or [None])[0]), ""
    if total.intervals():
        return *parts(total.now(metric.name)), f"avg {metric.text(average)}"
    made = [
        average_of(subject, metric, name, subject.dirs[name].series(metric.name))
        for name in _summed(subject)
    ]
    return *parts(sum(value for value in made if value is not None)), "average"


def _tail(waits: Subject, axis: TimeAxis, tail: float | None) -> FigureTile:
    """Return p99 of the last second as a tile, with p99 of all I/Os so far."""
    total = waits.total
    so_far = total.so_far_percentiles.get("99")
    if so_far is None and total.so_far_mean_ns is not None:
        return _mean(waits, axis)
    if axis.cursor_s is not None:
        return FigureTile("p99", *latency_parts(tail), "latency")
    if not total.intervals():
        return FigureTile("p99", *latency_parts(so_far), "latency", "all I/Os")
    now = total.interval_percentiles.get("99")
    return FigureTile("p99", *latency_parts(now), "latency", f"so far {latency(so_far)}")


def _mean(waits: Subject, axis: TimeAxis) -> FigureTile:
    """Return the mean latency as a tile, for load generators that print no live histogram."""
    total, at = waits.total, axis.cursor_s
    value = (
        total.now("latency") if at is None else (total.values("latency", at, at + 1) or [None])[0]
    )
    if at is None and not total.intervals():
        return FigureTile(
            "mean latency", *latency_parts(total.so_far_mean_ns), "latency", "all I/Os"
        )
    return FigureTile(
        "mean latency", *latency_parts(value), "latency", f"so far {latency(total.so_far_mean_ns)}"
    )
