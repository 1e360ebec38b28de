"""A framed panel: one big figure, the area of its history, its scale once in the frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tui.app.widgets.graph_area import Value, joined, nice_ceiling, painted, with_level
from tui.app.widgets.lines import Lines
from tui.metrics.sparkline import Symbols
from tui.text.line import BRIGHT, FAINT, LABEL, Line, Run, fit, padded, spread, width_of_runs, with_cell
from tui.text.timeaxis import TimeAxis, spread_over

NO_AXIS = TimeAxis(0, 60)
ROUND_FRAME = "╭╮╰╯─│"
ASCII_FRAME = "++++-|"


@dataclass(frozen=True, slots=True)
class Layer:
    """One area: its style key, its history (a value a second, None is a gap), and a stronger area in front of it."""

    key: str
    values: Sequence[Value]
    front: Sequence[Value] = ()
    peaks: bool = False
    first_s: int = 0  # second of the run of the first value
    weights: Sequence[Value] = ()  # of means of latencies: the I/Os of each second
    behind: Sequence[Value] = ()  # what it is watched against, a line over it
    behind_s: int = 0  # second of the run that its first value stands at
    behind_weights: Sequence[Value] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """What a panel shows. With two layers the second hangs down from a common base line in the middle."""

    title: str
    figures: tuple[Run, ...]
    layers: tuple[Layer, ...] = ()
    scale: Callable[[float], str] = str
    aside: tuple[Run, ...] = ()
    empty: str = ""
    base: int = 1000  # units of the scale: 1024 for bytes
    axis: TimeAxis = NO_AXIS
    meter: float | None = None  # a full-width bar under the figure, 0..1
    notes: tuple[tuple[Run, ...], ...] = field(default=())  # lines instead of an area
    against: str = ""  # the figure of what it is watched against: "390k before"


class GraphPanel(Lines):
    """Draws a `Graph` in a frame of its own, so that a new figure repaints a few cells and not the frame."""

    def __init__(self, *, id: str | None = None, symbols: Symbols = "braille") -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.graph = Graph("", ())

    def show(self, graph: Graph) -> None:
        """Show another state of the graph."""
        self.graph = graph
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:
        """Frame, figure line, area."""
        inner = width - 4
        if inner < 4 or height < 4:
            return []
        body = self._body(inner, height - 3)
        top = self._scale(inner)
        sides = ASCII_FRAME if self.symbols == "ascii" else ROUND_FRAME
        rows = [tuple(self._figure_line(inner)), *body]
        framed = [Line.of((sides[5] + " ", FAINT), *padded(row, inner), (" " + sides[5], FAINT)) for row in rows]
        if len(self.graph.title) + len(top) + 5 > width - 4:
            top = top.removeprefix("0–")
        head = frame_line(sides[0], sides[4], sides[1], [(self.graph.title, "title")], [(top, LABEL)], width)
        return [head, *framed, self._foot(sides, inner, timed=bool(top))]

    def _figure_line(self, inner: int) -> list[Run]:
        """The figure, and at the right what else is known: what it is watched against before all."""
        graph = self.graph
        against: list[Run] = [("─ ", BRIGHT), (graph.against, LABEL)] if graph.against else []
        aside = [*graph.aside, ("  ", LABEL), *against] if against and graph.aside else [*graph.aside, *against]
        fits = width_of_runs([*graph.figures, *aside]) < inner
        return spread(graph.figures, aside if fits or not against else against, inner)

    def _foot(self, sides: str, inner: int, *, timed: bool) -> Line:
        """The lower frame, with the times of the axis set into it."""
        times = self.graph.axis.labels(inner) if timed else ""
        return Line.of((sides[2] + sides[4], FAINT), *times_in_frame(times.ljust(inner), sides[4]),
                       (sides[4] + sides[3], FAINT))  # fmt: skip

    def _scale(self, inner: int) -> str:
        """Return the scale's top as text; empty without values."""
        if not any(layer.values for layer in self.graph.layers):
            return ""
        return f"0–{self.graph.scale(self._top(inner))}"

    def _top(self, columns: int) -> float:
        shown = [self._spread(layer.values, layer, columns) for layer in self.graph.layers]
        shown += [self._behind(layer, columns) for layer in self.graph.layers]
        largest = max((value for values in shown for value in values if value is not None), default=0.0)
        return nice_ceiling(largest, self.graph.base)

    def _spread(self, values: Sequence[Value], layer: Layer, columns: int) -> list[Value]:
        weights = () if layer.peaks else layer.weights
        return spread_over(values, layer.first_s, self.graph.axis, columns, peaks=layer.peaks, weights=weights)

    def _behind(self, layer: Layer, columns: int) -> list[Value]:
        if not layer.behind:
            return []
        weights, axis = layer.behind_weights, self.graph.axis
        return spread_over(layer.behind, layer.behind_s, axis, columns, peaks=layer.peaks, weights=weights)

    def _body(self, inner: int, rows: int) -> list[tuple[Run, ...]]:
        graph = self.graph
        lines: list[tuple[Run, ...]] = list(graph.notes)
        if graph.meter is not None:
            lines.insert(0, tuple(meter(graph.meter, inner, self.symbols)))
        room = rows - len(lines)
        if not graph.layers or room <= 0:
            blank: tuple[Run, ...] = ()
            text: tuple[Run, ...] = ((fit(graph.empty, inner), LABEL),)
            return [*lines, *([text] if graph.empty else []), *[blank] * rows][:rows]
        return [*lines, *self._areas(inner, room)]

    def _areas(self, inner: int, rows: int) -> list[tuple[Run, ...]]:
        top = self._top(inner)
        if len(self.graph.layers) == 1:
            found = self._area(self.graph.layers[0], (inner, rows), top, hanging=False)
        else:
            upper = (rows + 1) // 2
            first, second = self.graph.layers[:2]
            found = self._area(first, (inner, upper), top, hanging=False)
            found += self._area(second, (inner, rows - upper), top, hanging=True)
        axis = self.graph.axis
        if axis.cursor_s is None:
            return found
        at = axis.column_of(axis.cursor_s, inner)
        return [tuple(with_cell(runs, at, ("│", "accent"))) for runs in found]

    def _area(self, layer: Layer, size: tuple[int, int], top: float, *, hanging: bool) -> list[tuple[Run, ...]]:
        values = self._spread(layer.values, layer, size[0])
        axis = self.graph.axis
        front = spread_over(layer.front, layer.first_s, axis, size[0], weights=layer.weights) if layer.front else []
        rows = painted(values, front, layer.key, size, top, self.symbols, hanging=hanging)
        return with_level(rows, self._behind(layer, size[0]), top, self.symbols, hanging=hanging)


def times_in_frame(times: str, filler: str) -> list[Run]:
    """Return times set into a frame line, as wide as they are."""
    runs = [(filler if mark == " " else mark, FAINT if mark == " " else LABEL) for mark in times]
    return list(joined(runs))


def frame_line(start: str, filler: str, end: str, left: Sequence[Run], right: Sequence[Run], width: int) -> Line:
    """Return a horizontal frame line with texts set into it."""
    inner = width - 4
    heads = [(f" {text} ", key) for text, key in left if text]
    tails = [(f" {text} ", key) for text, key in right if text]
    return Line.of((start + filler, FAINT), *spread(heads, tails, inner, filler, FAINT), (filler + end, FAINT))


def meter(fraction: float, width: int, symbols: Symbols) -> list[Run]:
    """Return a bar of `width` cells, `fraction` of it filled."""
    full, rest = ("#", ".") if symbols == "ascii" else ("━", "━")
    done = max(0, min(width, round(fraction * width)))
    return [(full * done, "accent"), (rest * (width - done), FAINT)]
