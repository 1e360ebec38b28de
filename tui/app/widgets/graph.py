"""Graphs over time: panels with areas and scales, or one line that sums up several graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from tui.app.widgets.lines import Lines
from tui.metrics.units import clock, iops_parts
from tui.text.heat import LEGEND, SCALE
from tui.text.line import (
    ACCENT,
    BRIGHT,
    FAINT,
    LABEL,
    TEXT,
    VALUE,
    Line,
    Run,
    clip,
    fit,
    padded,
    spread,
    width_of,
    width_of_runs,
    with_cell,
)
from tui.text.plot import TimeAxis, spread_over
from tui.text.scale import (
    Scale,
    Tick,
    level_of,
    room_of,
    rows_above,
    scale_of,
    ticks_of,
    with_ticks,
)
from tui.text.sparkline import Symbols, spark, twice_mean
from tui.text.sparkline import area as area_rows

Value = float | None
BLOCKS = " ▁▂▃▄▅▆▇█"
FULL = 8


def merge_values(values: Sequence[Value]) -> Value:
    """Return the mean of values, ignoring gaps (None); None without any."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True)
class PlotArea:
    """The area that values are drawn in: its size in cells, its scale, its characters.

    `top`: the value at the far edge. `hanging`: values grow downwards.
    """

    width: int
    rows: int
    top: float
    symbols: Symbols
    hanging: bool = False


def painted(
    back: Sequence[Value], front: Sequence[Value], key: str, area: PlotArea
) -> list[tuple[Run, ...]]:
    """Return the rows of an area, top row first, oldest value at the left edge.

    With a `front`, `back` is weak and `front` strong; without one, rows fade from the tip to the
    base line.
    """
    rows = area.rows
    blocks = area.symbols != "ascii"
    hanging = area.hanging and blocks
    texts = _rows(back, area)
    fronts = _rows(front, area) if front else [""] * rows
    order = range(rows - 1, -1, -1) if area.hanging else range(rows)
    if not front:
        keys = [shade(key, row, rows) for row in range(rows)]
        return [_row(texts[row], "", keys[row], keys[row], hanging=hanging) for row in order]
    weak = f"{key}*45"
    return [_row(texts[row], fronts[row], weak, key, hanging=hanging) for row in order]


def with_level(
    rows: Sequence[tuple[Run, ...]], values: Sequence[Value], area: PlotArea
) -> list[tuple[Run, ...]]:
    """Return the rows of an area with a line through one value per column.

    The line keeps the colour of the cells that it crosses.
    """
    if not values:
        return list(rows)
    cells = [[(mark, key) for text, key in row for mark in text] for row in rows]
    for column, value in enumerate(values):
        if value is None or not cells:
            continue
        row, mark = level_of(value / area.top, len(cells), area.symbols, hanging=area.hanging)
        if column < len(cells[row]):
            cells[row][column] = _over(cells[row][column], mark)
    return [joined(row) for row in cells]


def _over(cell: Run, mark: str) -> Run:
    """Return a mark, on the colour of the cell if that is filled."""
    behind, key = cell
    if behind != BLOCKS[FULL]:
        return mark, BRIGHT
    return mark, f"{BRIGHT}/{key.partition('/')[0].removesuffix('~')}"


def shade(key: str, row: int, rows: int) -> str:
    """Return the style of a row: full strength at the tip (row 0), weaker to the base line."""
    strength = 100 - round(45 * row / max(1, rows - 1) / 5) * 5
    return key if strength == 100 else f"{key}*{strength}"


def _rows(values: Sequence[Value], area: PlotArea) -> list[str]:
    padded_values = [*values, *[None] * (area.width - len(values))]
    marks: Symbols = "ascii" if area.symbols == "ascii" else "block"
    return area_rows(padded_values, area.width, area.rows, marks, 0, area.top)


def _row(back: str, front: str, weak: str, strong: str, *, hanging: bool) -> tuple[Run, ...]:
    """Return one row as runs.

    `back` and `front` are the characters of both areas, `weak` and `strong` their styles.
    """
    pairs = zip(back, front or " " * len(back), strict=True)
    return joined(_cell(behind, before, weak, strong, hanging) for behind, before in pairs)


def _cell(behind: str, before: str, weak: str, strong: str, hanging: bool) -> Run:
    """Return one cell with both areas.

    If the front fills part of a cell that the back fills, the cell has the back's colour as its
    background.
    """
    if behind not in BLOCKS:  # ASCII: one mark, the nearer area decides its strength
        return behind, strong if before != " " else weak
    if before == " ":
        return _part(behind, weak, hanging)
    full_behind = BLOCKS.index(behind) == FULL
    level = BLOCKS.index(before)
    if level == FULL or not full_behind:
        return _part(before, strong, hanging)
    return (BLOCKS[FULL - level], f"{weak}/{strong}") if hanging else (before, f"{strong}/{weak}")


def _part(mark: str, key: str, hanging: bool) -> Run:
    """Return a partly filled cell.

    A part at the top is drawn as the part at the bottom, reversed: terminals have no characters for
    parts at the top.
    """
    level = BLOCKS.index(mark)
    if not level:
        return " ", TEXT
    return (BLOCKS[FULL - level], f"{key}~") if hanging and level < FULL else (mark, key)


def joined(cells: Iterable[Run]) -> tuple[Run, ...]:
    """Return cells as runs; neighbours of one style are joined."""
    return tuple(
        ("".join(text for text, _ in group), key)
        for key, group in groupby(cells, key=lambda cell: cell[1])
    )


NO_AXIS = TimeAxis(0, 60)
ROUND_FRAME = "╭╮╰╯─│"
ASCII_FRAME = "++++-|"
LEAST_ROWS = 2  # between the frame's lines
ROOMY_COLUMNS = 40  # of a graph whose scale says its unit


@dataclass(frozen=True, slots=True)
class Layer:
    """One area of a graph: its style, and one value per second (None is a gap).

    `front`: values of a stronger area in front of it.
    """

    key: str
    values: Sequence[Value]
    front: Sequence[Value] = ()
    peaks: bool = False
    first_s: int = 0  # second of the run of the first value
    weights: Sequence[Value] = ()  # of means of latencies: the I/Os of each second
    behind: Sequence[Value] = ()  # the overlay, such as the previous run: a line over the area
    behind_s: int = 0  # second of the run at which its first value is drawn
    behind_weights: Sequence[Value] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """The content of a graph panel.

    If there are two layers, they share a base line in the middle, and the second hangs down.
    """

    title: str
    figures: tuple[Run, ...]
    layers: tuple[Layer, ...] = ()
    # labels of a scale, by its highest value
    labels: Callable[[float], Callable[[float], str]] = lambda _: str
    aside: tuple[Run, ...] = ()
    empty: str = ""
    base: int = 1000  # units of the scale: 1024 for bytes
    axis: TimeAxis = NO_AXIS
    meter: float | None = None  # a full-width bar under the figure, 0..1
    notes: tuple[tuple[Run, ...], ...] = field(default=())  # lines instead of an area
    repeated: int = 0  # number of first notes that tiles repeat; then the meter is repeated, too
    against: str = ""  # the figure of the overlay: "390k before"
    newest: Value = None  # what the figures of a running load add up to
    legend: tuple[Run, ...] = ()  # of its areas, instead of figures that tiles show
    split: tuple[tuple[str, str], ...] = ()  # name and figure of each of two directions

    @property
    def named_figures(self) -> list[Run]:
        """The figures of two directions after their names; empty for a single one."""
        runs: list[Run] = []
        for (name, text), layer in zip(self.split, self.layers, strict=False):
            runs += [("  " if runs else "", TEXT), (f"{name} ", layer.key), (text, VALUE)]
        return runs


NOTHING = Graph("", ())  # before the run is read: an empty frame would tell nothing


class GraphPanel(Lines):
    """Draws a `Graph` in a frame.

    A new figure repaints a few cells, not the whole frame.
    """

    def __init__(self, *, id: str | None = None, symbols: Symbols = "braille") -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.graph = NOTHING
        self.has_tiles = False  # tiles show the figures of a single direction
        self.hidden: Graph | None = None  # a graph without a panel, whose figures the title shows
        self.after = 0  # empty cells after the area
        self.has_map = False  # a heat map below explains the marks of the axis

    def show(self, graph: Graph) -> None:
        """Show a graph in place of the previous one."""
        self.graph = graph
        self.update_lines()

    def beside_tiles(self, *, has_tiles: bool) -> None:
        """Leave out the figures of a single direction if there are tiles, which show them too."""
        if has_tiles != self.has_tiles:
            self.has_tiles = has_tiles
            self.update_lines()

    def above_map(self, *, has_map: bool, is_alone: bool) -> None:
        """Leave the legend of marks to a heat map below, if there is one.

        A graph that is alone above it ends where the map ends: the map's legend is to the right.
        """
        after = LEGEND if is_alone else 0
        if (after, has_map) != (self.after, self.has_map):
            self.after, self.has_map = after, has_map
            self.update_lines()

    def with_figures_of(self, hidden: Graph | None) -> None:
        """Add the figures of `hidden`, a graph without a panel, to the title; None adds none."""
        if hidden != self.hidden:
            self.hidden = hidden
            self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:
        """Return the frame with title and figures, the area beside its scale, and the times."""
        inner, rows = width - 4, height - 2
        if inner < 4 or rows < LEAST_ROWS or self.graph == NOTHING:
            return []
        sides = ASCII_FRAME if self.symbols == "ascii" else ROUND_FRAME
        wide = max(inner - self.after, 4)
        scale = self._scale(wide, rows)
        ticks, unit = self._ticks(wide, rows, scale)
        room = room_of(ticks, wide)
        # the first columns of a wide graph and of the heat map below it show the same second
        room = max(room, SCALE) if room and inner >= ROOMY_COLUMNS else room
        body = self._body(wide - room, rows, scale.top)
        lines_of_its_own = any(layer.behind for layer in self.graph.layers)
        body = with_ticks(body, ticks, room, grid=not lines_of_its_own) if room else body
        framed = [
            Line.of((sides[5] + " ", FAINT), *padded(row, inner), (" " + sides[5], FAINT))
            for row in body
        ]
        from_0 = any(each.row == rows for each in ticks)
        foot = self._foot(sides, inner, wide, room, from_0=from_0)
        return [Line.of(*self._head(sides, width, unit)), *framed, foot]

    def _head(self, sides: str, width: int, unit: str) -> list[Run]:
        """Return the upper line of the frame: title, unit of the scale, and figures.

        Without room, the title has no host. Legend and secondary figures are on the right; the
        overlay's figure is kept longest.
        """
        graph = self.graph
        in_tiles = self.has_tiles and (len(graph.layers) == 1 or graph.repeated > 0)
        named = graph.named_figures
        fits = width_of(graph.title) + width_of_runs(named) + 12 <= width
        shown = named if named and fits else graph.figures
        shown = graph.legend if in_tiles else shown
        figures: list[Run] = [(" ", TEXT), *shown] if shown else []
        figures += [("  ", TEXT), *self.hidden.figures] if figures and self.hidden else []
        if unit and not any(unit in text for text, _ in figures):
            figures = [(unit, LABEL), *figures]
        title = graph.title
        if width_of(title) + 2 + width_of_runs(figures) > width - 5:
            title = title.partition(" · ")[0]
        left: list[Run] = [(f" {title} ", "title"), *figures, (" " if figures else "", TEXT)]
        against: list[Run] = [("─ ", BRIGHT), (graph.against, LABEL)] if graph.against else []
        marks = [] if self.has_map else [[run] for run in graph.axis.legend]
        parts = [*marks, [] if in_tiles else graph.aside, against]
        right = joined_parts(parts, width - 6 - width_of_runs(left))
        right = [(" ", TEXT), *right, (" ", TEXT)] if right else []
        inside = spread(left, right, width - 4, sides[4], FAINT)
        return [(sides[0] + sides[4], FAINT), *inside, (sides[4] + sides[1], FAINT)]

    def _foot(self, sides: str, inner: int, wide: int, room: int, *, from_0: bool) -> Line:
        """Return the lower line of the frame: the 0 of the scale, and the times of the axis."""
        timed = any(layer.values for layer in self.graph.layers)
        times = self.graph.axis.foot(wide - room) if timed else [(sides[4] * (wide - room), FAINT)]
        left: list[Run] = [(sides[2] + sides[4] * (1 + room), FAINT)]
        if room > 1 and from_0:
            (text, role), *more = times
            if text.startswith(clock(0)):  # the 0 of the scale is that of the times too
                times = [(" " * len(clock(0)) + text[len(clock(0)) :], role), *more]
            left = [(sides[2] + sides[4] * (room - 2), FAINT), (" 0 ", LABEL)]
        return Line.of(*left, *times, (sides[4] * (inner - wide + 1) + sides[3], FAINT))

    def _ticks(self, inner: int, rows: int, scale: Scale) -> tuple[list[Tick], str]:
        """Return the ticks of the scale, and their unit unless they include it.

        Empty without values.

        If space is short, the title has the unit.
        """
        graph = self.graph
        if not any(layer.values for layer in graph.layers) or graph.notes:
            return [], ""
        both = len(graph.layers) > 1
        ticks = partial(ticks_of, scale, rows, symbols=self.symbols, both=both)
        text = graph.labels(scale.size)
        unit = text(scale.step).partition(" ")[2]
        whole = ticks(text)
        if room_of(whole, inner):
            return whole, ""
        return ticks(lambda value: text(value).partition(" ")[0]), unit

    def _scale(self, columns: int, rows: int) -> Scale:
        shown = [self._spread(layer.values, layer, columns) for layer in self.graph.layers]
        shown += [self._behind(layer, columns) for layer in self.graph.layers]
        largest = max(
            (value for values in shown for value in values if value is not None), default=0.0
        )
        both = len(self.graph.layers) > 1
        return scale_of(largest, rows_above(rows) if both else rows, self.graph.base)

    def _spread(self, values: Sequence[Value], layer: Layer, columns: int) -> list[Value]:
        weights = () if layer.peaks else layer.weights
        return spread_over(
            values, layer.first_s, self.graph.axis, columns, peaks=layer.peaks, weights=weights
        )

    def _behind(self, layer: Layer, columns: int) -> list[Value]:
        if not layer.behind:
            return []
        weights, axis = layer.behind_weights, self.graph.axis
        return spread_over(
            layer.behind, layer.behind_s, axis, columns, peaks=layer.peaks, weights=weights
        )

    def _body(self, inner: int, rows: int, top: float) -> list[tuple[Run, ...]]:
        graph = self.graph
        repeats = graph.repeated if self.has_tiles else 0
        lines: list[tuple[Run, ...]] = list(graph.notes[repeats:])
        if graph.meter is not None and not repeats:
            lines.insert(0, tuple(meter(graph.meter, inner, self.symbols)))
        lines = lines[:rows]
        room = rows - len(lines)
        if not graph.layers or room <= 0:
            blank: tuple[Run, ...] = ()
            text: tuple[Run, ...] = ((fit(graph.empty, inner), LABEL),)
            return [*lines, *([text] if graph.empty else []), *[blank] * rows][:rows]
        return [*lines, *self._areas(inner, room, top)]

    def _areas(self, inner: int, rows: int, top: float) -> list[tuple[Run, ...]]:
        if len(self.graph.layers) == 1:
            found = self._area(self.graph.layers[0], PlotArea(inner, rows, top, self.symbols))
        else:
            each = rows_above(rows)
            first, second = self.graph.layers[:2]
            found = self._area(first, PlotArea(inner, each, top, self.symbols))
            line = "-" if self.symbols == "ascii" else "─"
            found += [((line * inner, FAINT),)] * (rows % 2)
            found += self._area(second, PlotArea(inner, each, top, self.symbols, hanging=True))
        axis = self.graph.axis
        if axis.cursor_s is None:
            return found
        at = axis.column_of(axis.cursor_s, inner)
        return [tuple(with_cell(runs, at, ("│", "accent"))) for runs in found]

    def _area(self, layer: Layer, area: PlotArea) -> list[tuple[Run, ...]]:
        values = self._spread(layer.values, layer, area.width)
        axis = self.graph.axis
        front = (
            spread_over(layer.front, layer.first_s, axis, area.width, weights=layer.weights)
            if layer.front
            else []
        )
        rows = painted(values, front, layer.key, area)
        return with_level(rows, self._behind(layer, area.width), area)


def joined_parts(parts: Sequence[Sequence[Run]], room: int) -> list[Run]:
    """Return the parts that fit into `room` cells, separated by blanks.

    The last parts are kept longest.
    """
    kept = [part for part in parts if part]
    while kept and sum(width_of_runs(part) + 2 for part in kept) - 2 >= room:
        del kept[0]
    return [
        run
        for place, part in enumerate(kept)
        for run in ([("  ", TEXT)] if place else []) + [*part]
    ]


def meter(fraction: float, width: int, symbols: Symbols) -> list[Run]:
    """Return a bar of `width` cells, `fraction` of it filled."""
    full, rest = ("#", ".") if symbols == "ascii" else ("━", "━")
    done = max(0, min(width, round(fraction * width)))
    return [(full * done, "accent"), (rest * (width - done), FAINT)]


SHORT = {"Bandwidth": "BW", "Latency": "lat"}
LEAST_PARTS = 2  # rate and latency
LEAST_TREND = 10
BYTES = 1024  # base of the scale of bandwidth


class Pulse(Lines):
    """The figures of several graphs in one line, and the first graph as a sparkline.

    Below tiles, which show the figures, the sparkline has the same columns as the heat map below.
    """

    DEFAULT_CSS = "Pulse { height: 1; padding: 0 1; }"

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.graphs: Sequence[Graph] = ()
        self.brief = False  # tiles show the figures: only title and trend

    def show(self, graphs: Sequence[Graph]) -> None:
        """Show the figures of these graphs."""
        self.graphs = graphs
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:  # noqa: ARG002
        """Return the line."""
        trend = self._trend_line(width)
        if trend is not None:
            return [trend]
        at = self.graphs[0].axis.cursor_text if self.graphs else ""
        parts = [_title_runs(graph, first=not place) for place, graph in enumerate(self.graphs)]
        # only the title and the figure of the overlay
        parts = [[parts[0][0], parts[0][-1]]] if self.brief and parts else parts
        runs = _joined(at, parts)
        # bandwidth follows from the rate
        if width_of_runs(runs) > width and len(parts) > LEAST_PARTS:
            runs = _joined(at, [parts[0], *parts[2:]])
        room = width - width_of_runs(runs) - 2
        layers = self.graphs[0].layers if self.graphs else ()
        if room >= LEAST_TREND and layers:
            first, axis = layers[0], self.graphs[0].axis
            values = spread_over(
                first.values, first.first_s, axis, room * (2 if self.symbols == "braille" else 1)
            )
            top = max((value for value in values if value is not None), default=1.0) * 1.35
            runs += [
                ("  ", TEXT),
                (spark(values, room, self.symbols, high=top).replace("\u2800", " "), first.key),
            ]
        return [Line.of(*clip(runs, width))]

    def _two_trends(self, graph: Graph, width: int) -> Line | None:
        """Return name, figures and trend of each of two directions, side by side; None if there
        is no room.
        """
        moved = next((dict(each.split) for each in self.graphs if each.base == BYTES), {})
        split = [(name, f"{text}  {moved.get(name, '')}".rstrip()) for name, text in graph.split]
        columns = _columns_beside(split, width)
        if columns < LEAST_TREND:  # bandwidth follows from the rate
            split = list(graph.split)
            columns = _columns_beside(split, width)
        if len(split) != 2 or columns < LEAST_TREND:
            return None
        marks: Symbols = "ascii" if self.symbols == "ascii" else "block"
        runs: list[Run] = []
        for (name, text), layer in zip(split, graph.layers, strict=False):
            values = spread_over(layer.values, layer.first_s, graph.axis, columns)
            runs += [("  " if runs else "", TEXT), (f"{name} ", LABEL), (f"{text} ", VALUE)]
            runs.append((spark(values, columns, marks, high=twice_mean(values)), layer.key))
        return Line.of(*runs)

    def _trend_line(self, width: int) -> Line | None:
        """Return the first graph's title, trend and range.

        None if figures or the overlay are shown, or there is no room.
        """
        graph = self.graphs[0] if self.graphs else Graph("", ())
        columns = width - SCALE - LEGEND - 2  # those of a heat map in a frame
        if not self.brief or graph.against or not graph.layers or columns < LEAST_TREND:
            return None
        if (two := self._two_trends(graph, width)) is not None:
            return two
        values, axis = _summed(graph.layers, graph.axis, columns), graph.axis
        known = [value for value in values if value is not None]
        if not known:
            return None
        low, high = _range(graph.layers, graph.newest)
        marks: Symbols = "ascii" if self.symbols == "ascii" else "block"
        strip = spark(values, columns, marks, high=twice_mean(values))
        runs: list[Run] = [(strip, graph.layers[0].key if len(graph.layers) == 1 else TEXT)]
        if axis.cursor_s is not None:
            runs = with_cell(runs, axis.column_of(axis.cursor_s, columns), ("│", ACCENT))
        title = SHORT.get(graph.title, graph.title).partition(" · ")[0]
        name: Run = (fit(title, SCALE) + " ", LABEL)
        return Line.of(name, *runs, (f"{range_text(low, high):>{LEGEND + 1}}", LABEL))


def _columns_beside(split: Sequence[tuple[str, str]], width: int) -> int:
    """Return the columns of each of two trends beside their names and figures."""
    return (width - sum(width_of(f"{name} {text} ") for name, text in split) - 2) // 2


def _summed(layers: Sequence[Layer], axis: TimeAxis, columns: int) -> list[Value]:
    """Return the sum of layers in each column; None where none has a value."""
    parts = [spread_over(layer.values, layer.first_s, axis, columns) for layer in layers]
    rows = ([value for value in row if value is not None] for row in zip(*parts, strict=True))
    return [sum(row) if row else None for row in rows]


def _range(layers: Sequence[Layer], newest: Value) -> tuple[float, float]:
    """Return the lowest and the highest sum of layers in a second, or the newest one.

    Call it only with values.
    """
    first = min(layer.first_s for layer in layers)
    seconds: dict[int, float] = {}
    for layer in layers:
        for place, value in enumerate(layer.values, layer.first_s - first):
            if value is not None:
                seconds[place] = seconds.get(place, 0.0) + value
    known = [*seconds.values(), *([newest] if newest is not None else [])]
    return min(known), max(known)


def range_text(low: float, high: float) -> str:
    """Return the range of a rate: ``187k–198k``; with one unit if that is too wide."""
    (first, unit), (last, other) = iops_parts(low), iops_parts(high)
    if not low or first + unit == last + other:
        return f"{last}{other}" if low else f"0–{last}{other}"
    whole = f"{first}{unit}–{last}{other}"
    return whole if len(whole) <= LEGEND or unit != other else f"{first}–{last}{other}"


def _title_runs(graph: Graph, *, first: bool) -> list[Run]:
    """Return the title and the figures of a graph.

    The first graph also has the host's name and the overlay's figure.
    """
    title, _, name = graph.title.partition(" · ")
    title = SHORT.get(title, title) + (f" {name}" if name and first else "")
    against = f" ({graph.against})" if graph.against and first else ""
    return [(title + " ", LABEL), *graph.figures, (against, LABEL)]


def _joined(at: str, parts: Sequence[list[Run]]) -> list[Run]:
    runs: list[Run] = [(at, ACCENT)] if at else []
    for part in parts:
        runs += [("   " if runs else "", TEXT), *part]
    return runs
