"""Tiles of Live, in large digits: rate and bandwidth over all directions, p99 of each direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tui.app.widgets.graph import merge_values
from tui.app.widgets.graph_panels import BANDWIDTH, IOPS, KEYS, Subject, average_of
from tui.app.widgets.lines import Lines
from tui.metrics.registry import MIXED, Metric, direction
from tui.metrics.series import column_percentiles
from tui.metrics.units import iops_parts, latency, latency_parts
from tui.text.digits import ROWS, FigureTile, tile_lines
from tui.text.line import VALUE, Line, width_of
from tui.text.plot import TimeAxis
from tui.text.sparkline import Symbols

if TYPE_CHECKING:
    from tui.journal.views import DirectionView
    from tui.metrics.registry import MetricName
    from tui.metrics.series import HeatBins

TILE_LINES = ROWS + 1
LONGEST_TITLE = 16  # that keeps the name of a host where space is short
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
        """Return the tiles as lines: titles with averages, then the large digits."""
        return tile_lines(self.tiles, width, self.symbols, WIDE)


def live_tiles(
    subject: Subject,
    waits: Subject,
    axis: TimeAxis,
    heat: Mapping[str, HeatBins],
    counted: str = "",
) -> list[FigureTile]:
    """Return rate, bandwidth, and p99 of each direction as tiles; empty before a load.

    They show the figures now, at the cursor, or for the whole load once it has ended. `waits`:
    source of the latencies. `heat`: latencies over time by direction, for p99 at the cursor.
    `counted`: what a metadata load, which has no bandwidth, counts instead of I/Os.
    """
    if not waits.dirs or subject.total.span is None:
        return []
    number, unit, aside = _rate(subject, IOPS, axis)
    names = _summed(subject)
    role = KEYS.get(names[0], VALUE) if len(names) == 1 else VALUE
    what = f"{counted.capitalize()}/s" if counted else "IOPS"
    aside = axis.cursor_text or aside
    title = subject.title(what)
    short = what if width_of(title) > LONGEST_TITLE else title
    tiles = [FigureTile(title, number, unit, role, aside, short=short)]
    if not counted:
        number, unit, aside = _rate(subject, BANDWIDTH, axis)
        tiles.append(FigureTile("bandwidth", number, unit, role, aside, drop=2, shortest="BW"))
    return [*tiles, *(_tail(waits, name, axis, heat.get(name)) for name in waits.waits)]


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
        return *parts(_at(total, metric.name, at)), ""
    if total.intervals():
        return *parts(total.now(metric.name)), f"(avg {metric.text(average)})"
    made = [
        average_of(subject, metric, name, subject.dirs[name].series(metric.name))
        for name in _summed(subject)
    ]
    return *parts(sum(value for value in made if value is not None)), "average"


def _tail(waits: Subject, name: str, axis: TimeAxis, heat: HeatBins | None) -> FigureTile:
    """Return the current p99 of a direction as a tile, with p99 of all its I/Os so far.

    For load generators that print no live histogram, return the mean.
    """
    view, at, live = waits.dirs[name], axis.cursor_s, bool(waits.total.intervals())
    so_far: float | None = view.so_far_percentiles.get("99")
    now: float | None = view.interval_percentiles.get("99")
    word = "p99"
    if at is not None:
        counts = heat.between(at, at + 1) if heat is not None else ()
        now = column_percentiles(counts, (99.0,))[99.0]
    if so_far is None and view.so_far_mean_ns is not None:
        word, so_far = "mean", view.so_far_mean_ns
        now = view.now("latency") if at is None else _at(view, "latency", at)
    several = len(waits.waits) > 1
    shown, aside = (now, f"(so far {latency(so_far)})") if live else (so_far, "all I/Os")
    number, unit = latency_parts(now if at is not None else shown)
    called = f"{waits.called(name)} {word}" if several else word
    return FigureTile(
        f"{called} latency",
        number,
        unit,
        KEYS.get(name, "other") if several else "latency",
        "" if at is not None else aside,
        drop=int(name != (waits.about or waits.waits[0])),
        short=called if word == "p99" else "",
    )


def _at(view: DirectionView, metric: MetricName, second: int) -> float | None:
    return (view.values(metric, second, second + 1) or [None])[0]
