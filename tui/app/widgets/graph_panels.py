"""The content of the graphs: rates, latency, overlaid run, and the latency heat map."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from tui.app.widgets.graph import (
    ASCII_FRAME,
    NO_AXIS,
    ROUND_FRAME,
    Graph,
    Layer,
    Value,
    merge_values,
)
from tui.app.widgets.lines import Lines
from tui.metrics.buckets import CURVE_PERCENTILES
from tui.metrics.registry import BOTH, METRICS, MIXED, Metric, direction, in_order
from tui.metrics.series import HeatBins
from tui.metrics.units import Few, Parts, latency
from tui.text.heat import (
    LEGEND,
    MARKS,
    SCALE,
    HeatCells,
    HeatPaint,
    Look,
    density_lines,
    heat_lines,
)
from tui.text.line import (
    ACCENT,
    FAINT,
    LABEL,
    TEXT,
    VALUE,
    Line,
    Run,
    clip,
    padded,
    spread,
    width_of,
)
from tui.text.plot import TimeAxis, merged
from tui.text.sparkline import Symbols
from tui.view.live_wait import FIRST_SAMPLES

if TYPE_CHECKING:
    from tui.analysis.previous_run import Behind
    from tui.journal.views import DirectionView
    from tui.model.event import DirectionResult
    from tui.view.live_wait import Waiting

KEYS = {
    "read": "read",
    "write": "write",
    "trim": "other",
    "mixed": "other",
    "sync": "other",
    "both": "other",
}
Tails = Mapping[str, Mapping[int, int]]  # direction -> second of the run -> 99th percentile, ns


@dataclass(frozen=True, slots=True)
class Subject:
    """The figures shown, by direction, for all hosts or for one."""

    dirs: Mapping[str, DirectionView]
    total: DirectionView
    name: str = ""
    tails: Tails | None = None
    # by direction, once the load has ended
    results: Mapping[str, DirectionResult] = field(default_factory=dict)
    about: str = ""  # the headline's direction, which is always shown
    # names of the requests of a store, by direction
    requests: Mapping[str, str] = field(default_factory=dict)

    @property
    def directions(self) -> list[str]:
        """Directions with I/O, reads first; at most two, because no more fit."""
        return self._two([name for name in in_order(self.dirs) if direction(name).in_total])

    @property
    def waits(self) -> list[str]:
        """Directions with latencies to show, syncs first; at most two, because no more fit."""
        # with "both" they have no separate latencies
        split = () if BOTH not in self.dirs else ("read", "write")
        return self._two([name for name in in_order(self.dirs) if name not in split])

    @property
    def host_waits(self) -> str:
        """The direction whose latencies hosts are compared by; empty for all together.

        The headline's direction or, if a job does not have it, the first.
        """
        if len(self.dirs) < 2 or self.about in ("", MIXED):
            return ""
        return self.about if self.about in self.dirs else self.waits[0]

    def _two(self, names: list[str]) -> list[str]:
        return in_order([names[0], self.about]) if self.about in names[2:] else names[:2]

    def called(self, direction: str) -> str:
        """Return the name of a direction, or of the requests of a store: ``GET`` for ``read``."""
        return self.requests.get(direction, direction)

    def title(self, text: str) -> str:
        """Return the title of a panel, with the name of the host or job."""
        return f"{text} · {self.name}" if self.name else text


IOPS, BANDWIDTH, LATENCY = METRICS["iops"], METRICS["bandwidth"], METRICS["latency"]


def panels(
    subject: Subject,
    waits: Subject,
    axis: TimeAxis = NO_AXIS,
    *,
    ascii_only: bool = False,
    counted: str = "",
    waiting: Waiting | None = None,
) -> tuple[Graph, Graph, Graph]:
    """Return the IOPS, bandwidth and latency graphs.

    `waits`: source of the latencies. `counted`: what a metadata load counts instead of I/Os, such
    as ``stats``. `waiting`: what the run waits for before its load; it replaces the first graph.
    """
    first = wait_graph(waiting) if waiting is not None and not subject.name else None
    found = (
        first or rate_graph(subject, IOPS, axis, ascii_only),
        rate_graph(subject, BANDWIDTH, axis, ascii_only),
        latency_graph(waits, axis, ascii_only),
    )
    one, two, three = (replace(graph, axis=axis) for graph in found)
    if counted and not first:
        one = replace(one, title=subject.title(f"{counted.capitalize()}/s"))
    return one, two, three


def wait_graph(waiting: Waiting) -> Graph:
    """Return a graph that shows what a run waits for, and the progress."""
    figures: tuple[Run, ...] = (
        ((waiting.number, VALUE), (f" {waiting.unit}", LABEL)) if waiting.number else ()
    )
    notes = tuple(
        ((text, TEXT if not place else LABEL),) for place, text in enumerate(waiting.lines)
    )
    aside = ((waiting.of, LABEL),) if waiting.of else ()
    return Graph(
        waiting.title,
        figures,
        aside=aside,
        meter=waiting.fraction,
        notes=notes,
        repeated=waiting.repeated if waiting.tiles else 0,
    )


def rate_graph(subject: Subject, metric: Metric, axis: TimeAxis, ascii_only: bool) -> Graph:
    """Return the graph of IOPS or bandwidth."""
    series = {name: subject.dirs[name].series(metric.name) for name in subject.directions}
    layers = tuple(
        Layer(KEYS.get(name, "other"), values, first_s=first_of(subject, name))
        for name, values in series.items()
    )
    figures = figures_of(subject, metric, series, axis, ascii_only)
    values_now = values_of(subject, metric, series, axis) if len(series) > 1 else {}
    split = tuple((subject.called(name), metric.text(value)) for name, value in values_now.items())
    aside = cursor_time(axis)
    if not aside and len(series) == 1 and subject.total.intervals():
        (values,) = series.values()
        aside = (
            ((f"avg {metric.text(average)}", LABEL),)
            if (average := merge_values(values)) is not None
            else ()
        )
    now = [subject.dirs[name].now(metric.name) for name in series]
    return Graph(
        subject.title(_heading(metric)),
        figures,
        layers,
        metric.labels,
        aside,
        empty=FIRST_SAMPLES,
        base=metric.base,
        newest=sum(each or 0.0 for each in now) if subject.total.intervals() else None,
        split=split,
    )


def _heading(metric: Metric) -> str:
    return metric.title[0].upper() + metric.title[1:]


def first_of(subject: Subject, name: str) -> int:
    """Return the first second of the run with a value for a direction."""
    span = subject.dirs[name].span
    return span[0] if span is not None else 0


def cursor_time(axis: TimeAxis) -> tuple[Run, ...]:
    """Return the time at the cursor as text; empty without a cursor."""
    return ((axis.cursor_text, ACCENT),) if axis.cursor_text else ()


def latency_graph(subject: Subject, axis: TimeAxis, ascii_only: bool) -> Graph:
    """Return the graph of latency: the mean in front of p99."""
    series = {name: subject.dirs[name].series("latency") for name in subject.waits}
    layers = tuple(_latency_layer(subject, name, values) for name, values in series.items())
    figures = figures_of(subject, LATENCY, series, axis, ascii_only)
    aside = cursor_time(axis)
    if not aside and len(series) == 1:
        live = bool(subject.total.intervals())
        known = subject.total.interval_percentiles if live else subject.total.so_far_percentiles
        aside = ((f"p99 {latency(known['99'])}" if known["99"] is not None else "mean", LABEL),)
    return Graph(
        subject.title(_heading(LATENCY)),
        figures,
        layers,
        LATENCY.labels,
        aside,
        empty=FIRST_SAMPLES,
        legend=(("mean", VALUE), (" and p99", LABEL)) if any(each.front for each in layers) else (),
    )


def _latency_layer(subject: Subject, name: str, means: Sequence[Value]) -> Layer:
    key = "latency" if len(subject.waits) == 1 else KEYS.get(name, "other")
    span = subject.dirs[name].span
    ios = subject.dirs[name].series("iops")
    tail = (subject.tails or {}).get(name)
    if not tail or span is None:
        return Layer(key, means, first_s=first_of(subject, name), weights=ios)
    tails = [tail.get(second) for second in range(*span)]
    return Layer(key, tails, front=means, peaks=True, first_s=span[0], weights=ios)


def figures_of(
    subject: Subject,
    metric: Metric,
    series: Mapping[str, Sequence[Value]],
    axis: TimeAxis,
    ascii_only: bool,
) -> tuple[Run, ...]:
    """Return the figures at the cursor, otherwise now; after the load, its averages."""
    names = list(series)
    live, at = bool(subject.total.intervals()), axis.cursor_s
    values = values_of(subject, metric, series, axis)
    if not names:
        number, unit = metric.parts(None)
        return ((number, LABEL), (f" {unit}" if unit else "", LABEL))
    tail = "" if live or at is not None else " avg"
    tail = " mean" if metric is LATENCY else tail
    if len(names) == 1:
        number, unit = metric.parts(values[names[0]])
        if metric.counted:
            return ((number + unit, VALUE), (tail, LABEL))
        return ((number, VALUE), (f" {unit}{tail}", LABEL))
    letters = [subject.called(name)[0] for name in names] if ascii_only else ["▲", "▼"]
    return _two_figures(
        [(name, metric.parts(values[name])) for name in names], bool(metric.counted), letters
    )


def values_of(
    subject: Subject, metric: Metric, series: Mapping[str, Sequence[Value]], axis: TimeAxis
) -> dict[str, Value]:
    """Return each direction's value at the cursor, otherwise now; after the load, its average."""
    if (at := axis.cursor_s) is not None:
        return {
            name: (subject.dirs[name].values(metric.name, at, at + 1) or [None])[0]
            for name in series
        }
    if subject.total.intervals():
        return {name: subject.dirs[name].now(metric.name) for name in series}
    return {name: average_of(subject, metric, name, values) for name, values in series.items()}


def average_of(
    subject: Subject, metric: Metric, name: str, values: Sequence[Value]
) -> float | None:
    """Return an ended load's figure, as in the record; None if unknown.

    It is the rate that the tool reported (the mean of `values` if it reported none), or the mean
    latency of all I/Os.
    """
    if metric is LATENCY:
        return subject.dirs[name].so_far_mean_ns
    result = subject.results.get(name)
    if result is None:
        return merge_values(values)
    return result.iops if metric is IOPS else result.bw_bytes_per_s


def _two_figures(
    found: Sequence[tuple[str, Parts]], attached: bool, arrows: Sequence[str]
) -> tuple[Run, ...]:
    """Return the figures of two directions, each with its arrow or letter.

    If both have the same unit, it is shown once.
    """
    (up, (first, unit)), (down, (second, other_unit)) = found
    if attached:
        left, right = (first + unit, VALUE), (second + other_unit, VALUE)
        return (
            (arrows[0], KEYS.get(up, "other")),
            left,
            ("  " + arrows[1], KEYS.get(down, "other")),
            right,
        )
    shown = "" if unit == other_unit else f" {unit}"
    return (
        (arrows[0], KEYS.get(up, "other")),
        (first, VALUE),
        (shown, LABEL),
        ("  " + arrows[1], KEYS.get(down, "other")),
        (second, VALUE),
        (f" {other_unit}", LABEL),
    )


def with_behind(
    graphs: Sequence[Graph],
    subject: Subject,
    behind: Behind | None,
    step: int | None,
    host: str = "",
) -> tuple[Graph, ...]:
    """Return the IOPS, bandwidth and latency graphs with another run overlaid.

    `host`: empty for all hosts together. Both loads start at the same point of the axis.
    """
    if behind is None:
        return tuple(graphs)
    shown = ((IOPS, subject.directions), (BANDWIDTH, subject.directions), (LATENCY, subject.waits))
    begin = subject.total.span[0] if subject.total.span is not None else 0
    found: list[Graph] = []
    for graph, (metric, names) in zip(graphs, shown, strict=True):
        pairs = zip(names, graph.layers, strict=False)
        layers = tuple(_layer(layer, partial(behind.values, step, host, name), metric, graph.axis,
            begin)
                       for name, layer in pairs)  # fmt: skip
        against = _against(layers, metric, graph.axis)
        found.append(
            replace(graph, layers=layers, against=f"{against} {behind.word}" if against else "")
        )
    return tuple(found)


def _layer(
    layer: Layer,
    behind: Callable[[str], Sequence[Value]],
    metric: Metric,
    axis: TimeAxis,
    begin: int,
) -> Layer:
    """Return a layer with its overlay: p99 over p99; a single value becomes a level line."""
    values = behind("p99" if layer.peaks else metric.name)
    if len(values) == 1:
        return replace(layer, behind=tuple(values) * axis.span_s, behind_s=axis.start_s)
    weights = behind("iops") if metric is LATENCY else ()
    return replace(layer, behind=values, behind_s=begin, behind_weights=weights)


def _against(layers: Sequence[Layer], metric: Metric, axis: TimeAxis) -> str:
    """Return the figures of the overlay as text: at the cursor, otherwise for the whole run."""
    figures = [metric.text(_figure(layer, axis)) for layer in layers if layer.behind]
    tail = "p99 " if any(layer.peaks for layer in layers) else ""
    return tail + " / ".join(figures) if figures else ""


def _figure(layer: Layer, axis: TimeAxis) -> float | None:
    """Return the overlay's value at the cursor, otherwise its mean.

    For percentiles per second, which have no mean, the median.
    """
    if axis.cursor_s is not None:
        at = axis.cursor_s - layer.behind_s
        return layer.behind[at] if 0 <= at < len(layer.behind) else None
    if layer.peaks:
        known = sorted(value for value in layer.behind if value is not None)
        return known[len(known) // 2] if known else None
    return merged(layer.behind, layer.behind_weights, peaks=False)


LEAST_ROWS = 3
LONG_TITLE = "Latency over time · "
NEXT = " · t shows "  # in a title, before what the key shows next
WHEN = 0.0  # in place of a percentile
IMPORTANCE = (WHEN, 99.0, 50.0, 99.9)


LatencyByPercentile = Mapping[float, float | None]
"""Latencies in ns by percentile; None if unknown."""


class HeatPanel(Lines):
    """The latency heat map: log latency upwards, time to the right, density as shade."""

    DEFAULT_CSS = "HeatPanel { height: 8; }"

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.cells = HeatCells()
        self.title, self.role = "", "latency"
        self.axis = TimeAxis(0, 60)
        self.in_title: LatencyByPercentile = {}
        self.has_table = False  # a table below the map shows the values of the percentiles
        self.empty = FIRST_SAMPLES  # the text while there is no data

    def show(
        self,
        parts: Sequence[HeatBins],
        title: str,
        role: str,
        axis: TimeAxis,
        in_title: LatencyByPercentile,
    ) -> None:
        """Show the sum of `parts`.

        `in_title`: percentiles for the title while there is no cursor.
        """
        self.title, self.role, self.axis, self.in_title = title, role, axis, in_title
        self.cells.show(parts)
        self.update_lines()

    def beside_table(self, *, has_table: bool) -> None:
        """Leave out the values of the percentiles if a table shows them."""
        if has_table != self.has_table:
            self.has_table = has_table
            self.update_lines()

    def fit_anew(self) -> None:
        """Reset the range of the latency axis."""
        self.cells = HeatCells()

    @property
    def look(self) -> Look:
        """How density is drawn: by characters if colours cannot be blended."""
        return self.look_of("latency", self.symbols)

    def build(self, width: int, height: int) -> list[Line]:
        """Return the frame with title and percentiles, the map, and the times."""
        inner, rows = width - 4, height - 2
        if rows < LEAST_ROWS or inner <= SCALE + LEGEND:
            return []
        sides = ASCII_FRAME if self.symbols == "ascii" else ROUND_FRAME
        drawn = self.cells.lines(self.axis, inner - LEGEND - SCALE, rows)
        marks = [] if self.cells.empty else self.axis.legend
        title, legend = self._heading(width - 4, drawn, marks)
        legend = [*marks, *legend] if _fits(title, [*marks, *legend], width - 4) else legend
        name, _, following = title.partition(NEXT)
        left: list[Run] = [(f" {name} ", "title")]
        left += [("t", ACCENT), (f" shows {following} ", LABEL)] if following else []
        right = [(f" {text} ", key) for text, key in legend if text]
        inside = spread(left, right, width - 4, sides[4], FAINT)
        head = Line.of((sides[0] + sides[4], FAINT), *inside, (sides[4] + sides[1], FAINT))
        if self.cells.empty:
            body = [Line.of(*clip([(self.empty, LABEL)], inner)), *[Line()] * (rows - 1)]
        else:
            legend_lines = density_lines(rows, self.role, self.look)
            paint = HeatPaint(self.role, self.look, drawn)
            map_lines = heat_lines(self.cells, self.axis, (inner - LEGEND, rows), paint)
            body = [Line.of(*a.runs, *b.runs) for a, b in zip(map_lines, legend_lines, strict=True)]
        framed = [
            Line.of((sides[5] + " ", FAINT), *padded(row.runs, inner), (" " + sides[5], FAINT))
            for row in body
        ]
        return [head, *framed, self._foot(sides, inner)]

    def _heading(
        self, room: int, drawn: Collection[float], marks: Sequence[Run]
    ) -> tuple[str, list[Run]]:
        """Return the title and the legend of the percentiles drawn, shortened to fit.

        First the title is shortened, also for `marks` beside it, then the least important parts of
        the legend are dropped.
        """
        titles = (
            self.title,
            self.title.replace(" over time", "", 1),
            self.title.removeprefix(LONG_TITLE),
        )
        # of lines that share a row only one is drawn; the title has all values
        told = {
            at: ns
            for at, ns in self._percentiles().items()
            if at in (WHEN, *drawn) or not (self.has_table or isinstance(ns, Few))
        }
        legend = self._legend(told, drawn)
        kinds = [*marks, *legend]
        fits = [each for parts in (kinds, legend) for each in titles if _fits(each, parts, room)]
        title = fits[0] if fits else titles[-1]
        for least in reversed(IMPORTANCE):
            if not _fits(title, legend, room):
                told.pop(least, None)
                legend = self._legend(told, drawn)
        return title, legend

    def _percentiles(self) -> dict[float, float]:
        """Return the percentiles with a line; with a cursor, those at its time, after `WHEN`."""
        axis = self.axis
        if self.cells.empty:
            return {}
        found = (
            self.in_title
            if axis.cursor_s is None
            else self.cells.percentiles(axis.cursor_s, axis.cursor_s + 1)
        )
        known = {
            each: value for each in CURVE_PERCENTILES if (value := found.get(each)) is not None
        }
        return {WHEN: 0.0, **known} if axis.cursor_text else known

    def _legend(self, told: Mapping[float, float], drawn: Collection[float]) -> list[Run]:
        """Return the time, then each percentile: the mark of its line, if drawn, and its value."""
        legend: list[Run] = [(self.axis.cursor_text, VALUE)] if WHEN in told else []
        for each in CURVE_PERCENTILES:
            if each in told:
                mark = f"{MARKS[each][self.symbols == 'ascii']} " if each in drawn else ""
                value = "" if self.has_table else f" {_latency_text(told[each])}"
                legend.append((f"{mark}p{each:g}{value}", LABEL))
        return legend

    def _foot(self, sides: str, inner: int) -> Line:
        """Return the lower line of the frame, with the times."""
        columns = inner - SCALE - (0 if self.cells.empty else LEGEND)
        after = sides[4] * (inner - SCALE - columns + 1) + sides[3]
        return Line.of(
            (sides[2] + sides[4] * (SCALE + 1), FAINT),
            *self.axis.foot(columns),
            (after, FAINT),
        )


def _latency_text(value: float) -> str:
    """Return a latency as text, or "too few I/Os"."""
    return "too few I/Os" if isinstance(value, Few) else latency(value)


def _fits(title: str, legend: Iterable[Run], room: int) -> bool:
    """Return whether a title and a legend fit into a frame line."""
    return sum(width_of(text) + 2 for text, _ in ((title, ""), *legend)) < room
