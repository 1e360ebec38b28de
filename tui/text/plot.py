"""Charts as lines of runs, and the time axis that charts of one run share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from tui.metrics.units import clock
from tui.text.line import (
    BAD,
    BRIGHT,
    FAINT,
    GOOD,
    LABEL,
    TEXT,
    TITLE,
    Line,
    Run,
    packed,
    spread,
    width_of,
    width_of_runs,
)

LEAST_WIDTH, LEAST_HEIGHT = 30, 8
ROLES = ("read", "write", "other", "latency")  # of curves, in their order
# of curves, where colour cannot tell them apart; none of a point
MARKS = ("•", "+", "%", "=", "@", "&", "~", "$")
BOTH = "#"  # where several of these meet
POINT = "◆"
WRONG = "✗"
# of a terminal's 256
SGR = {"read": 12, "write": 11, "other": 10, "latency": 13, GOOD: 15, BRIGHT: 15, BAD: 9}
BRAILLE = 0x2800
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # by row and column in a cell
ACROSS, DOWN = 2, 4
DASH = 4  # dots of a dash, and of the gap behind it
FILL = 45  # per cent of a curve's strength, for what is below it


class Ticks(Struct, frozen=True):
    """Where an axis has marks, and what stands there."""

    positions: list[float]
    labels: list[str]


class Axis(Struct, frozen=True):
    """What an axis spans, and its marks; `step`: they are so far apart, and fall on whole cells."""

    low: float
    high: float
    ticks: Ticks
    step: float | None = None


class Curve(Struct, frozen=True):
    """Points joined by lines, in parts where values between them are unknown.

    `points` stand out on it as good, `wrong` as bad, `plain` in its own colour.

    `dashed`: not measured, such as a limit or a model beyond what it was made from. `mark`: its own
    of MARKS' kind.
    """

    parts: Sequence[tuple[Sequence[float], Sequence[float]]]
    role: str = ROLES[0]
    name: str = ""
    filled: bool = False
    points: tuple[Sequence[float], Sequence[float]] = ((), ())
    wrong: tuple[Sequence[float], Sequence[float]] = ((), ())
    plain: tuple[Sequence[float], Sequence[float]] = ((), ())
    dashed: bool = False
    mark: str = ""


# dots by row and column of a cell, as in Unicode's braille patterns
Cells = dict[tuple[int, int], int]


class Canvas(Struct):
    """The cells that curves are drawn in."""

    columns: int
    rows: int
    dots: list[Cells] = field(default_factory=list)  # by curve
    below: Cells = field(default_factory=dict)
    marks: dict[tuple[int, int], Run] = field(default_factory=dict)

    def draw(
        self, parts: Sequence[Sequence[tuple[int, int]]], *, filled: bool, dashed: bool
    ) -> None:
        """Draw one more curve, in parts, through dots (x, y), y upwards.

        `filled`: down to the axis.
        """
        whole = _drawn(parts, self.columns, self.rows, filled=False)
        self.dots.append(_dashed(whole, parts) if dashed else whole)
        if filled:
            for at, dots in _drawn(parts, self.columns, self.rows, filled=True).items():
                self.below[at] = self.below.get(at, 0) | dots


def _drawn(
    parts: Sequence[Sequence[tuple[int, int]]], columns: int, rows: int, *, filled: bool
) -> Cells:
    """Return what plotext draws through these dots: one of its pixels is one dot."""
    import plotext

    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.plot_size(columns, rows)
    figure.axes(False)
    for part in parts:
        xs, ys = [x for x, _ in part], [y for _, y in part]
        signal = figure.signal(xs, ys, marker=plotext.marker("braille"))
        signal.lines(True)
        signal.fillx(filled)
        figure.draw(signal)
    for name, cells, each in (("x", columns, ACROSS), ("y", rows, DOWN)):
        ruler = figure.ruler(name)
        # plotext's limits are the middles of end cells
        ruler.lim((each - 1) / 2, (cells - 1) * each + (each - 1) / 2)
        ruler.ticks([], [])
    text = figure.build().string(colorless=True)
    figure.clear()
    marks = (
        (row, at, ord(mark))
        for row, line in enumerate(text.split("\n"))
        for at, mark in enumerate(line)
    )
    return {(row, at): mark - BRAILLE for row, at, mark in marks if mark > BRAILLE}


def _dashed(cells: Cells, parts: Sequence[Sequence[tuple[int, int]]]) -> Cells:
    """Return every other dash of a curve, along the direction in which it goes further."""
    spans = [
        max(each) - min(each)
        for each in zip(*(point for part in parts for point in part), strict=True)
    ]
    steep = bool(spans) and spans[1] > spans[0]
    found: Cells = {}
    for (row, at), dots in cells.items():
        for down, bits in enumerate(DOTS):
            for right, bit in enumerate(bits):
                along = row * DOWN + down if steep else at * ACROSS + right
                if dots & bit and along % (2 * DASH) < DASH:
                    found[row, at] = found.get((row, at), 0) | bit
    return found


def plot_rows(height: int) -> int:
    """Return the rows of cells that a chart of so many lines has for its curves: the rest is title
    and axis.
    """
    return max(height, LEAST_HEIGHT) - 3


class Plot(Struct, frozen=True):
    """Curves between two axes, with a title."""

    title: str
    curves: Sequence[Curve]
    x: Axis
    y: Axis

    def lines(self, width: int, height: int, *, coloured: bool = False) -> list[Line]:
        """Return the chart with its axes, in lines of at most `width` cells, 30 by 8 at least.

        `coloured`: the terminal tells curves apart by colour. Else, or with more curves than
        colours, each has a mark of its own. A legend that does not fit beside the title takes lines
        of its own, beyond `height`: marks keep their distance.
        """
        width, rows = max(width, LEAST_WIDTH), plot_rows(height)
        labels = _row_labels(self.y, rows)
        left = max((width_of(text) for text in labels.values()), default=0) + 2
        canvas = Canvas(width - left, rows)
        x = _even(self.x, canvas.columns)
        for curve in self.curves:
            _draw(canvas, curve, x, self.y)
        columns = _column_labels(x, canvas.columns)
        by_mark = len(self.curves) > 1 and not (coloured and _differ_by_colour(self.curves))
        texts = list(_cells(canvas, self.curves, labels, by_mark=by_mark, grid=coloured))
        head = _head(
            self.title,
            self.curves,
            width,
            by_mark=by_mark,
            meet=any(text == BOTH for row in texts for text, _ in row),
        )
        body = [
            Line.of(
                (f"{labels.get(row, ''):>{left - 2}} {'┤' if row in labels else '│'}", LABEL),
                *_runs(cells),
            )
            for row, cells in enumerate(texts)
        ]
        foot = "".join("┬" if at in columns else "─" for at in range(canvas.columns))
        return [
            *head,
            *body,
            Line.of((" " * (left - 1) + "└" + foot, LABEL)),
            _below(columns, left, width),
        ]


def _differ_by_colour(curves: Sequence[Curve]) -> bool:
    """Tell whether no two curves of the legend have one colour; what is dashed is told by that."""
    roles = [curve.role for curve in curves if curve.name and not curve.dashed]
    return len(set(roles)) == len(roles)


def _head(
    title: str, curves: Sequence[Curve], width: int, *, by_mark: bool, meet: bool
) -> list[Line]:
    """Return the title with the names of the curves at its right, or below it.

    `meet`: and what the mark of that is.
    """
    named = [(place, curve) for place, curve in enumerate(curves) if curve.name]
    items: list[list[Run]] = []
    for place, curve in named if len(curves) > 1 else ():
        line = "--" if curve.dashed else "━━"
        mark = (_mark(curve, place) if by_mark else line, curve.role)
        items.append([mark, (f" {curve.name}", LABEL)])
    if items and meet:
        items.append([(BOTH, TEXT), (" both" if len(items) == 2 else " several", LABEL)])
    legend = [
        run for at, item in enumerate(items) for run in ([("  ", TEXT), *item] if at else item)
    ]
    if width_of(title) + width_of_runs(legend) + 2 <= width:
        return (
            [Line.of(*spread([(title, TITLE)], legend, width))]
            if legend
            else [Line.of((title, TITLE))]
        )
    return [Line.of((title[:width], TITLE)), *packed(items, width)]


def _mark(curve: Curve, place: int) -> str:
    return curve.mark or MARKS[place % len(MARKS)]


def _dot(value: float, axis: Axis, dots: int) -> int:
    """Return the dot that a value falls on, from the low end of an axis.

    What lies outside is put on its edge.
    """
    span = (axis.high - axis.low) or 1.0
    return min(max(round((value - axis.low) / span * (dots - 1)), 0), dots - 1)


def row_of(value: float, low: float, high: float, rows: int) -> int:
    """Return the row of cells, from the bottom up, that a value is drawn in on an axis over so
    many.
    """
    return _dot(value, Axis(low, high, Ticks([], [])), rows * DOWN) // DOWN


def _even(axis: Axis, columns: int) -> Axis:
    """Return the axis so much longer that its marks are whole cells apart."""
    if axis.step is None or axis.high <= axis.low:
        return axis
    last = columns * ACROSS - 1
    cells = int(last * axis.step / (ACROSS * (axis.high - axis.low)) + 1e-9)
    return replace(axis, high=axis.low + last / (ACROSS * cells) * axis.step) if cells else axis


def _row_labels(axis: Axis, rows: int) -> dict[int, str]:
    """Return what stands at which row: the one that a curve of this value is drawn in."""
    found: dict[int, str] = {}
    for value, text in zip(axis.ticks.positions, axis.ticks.labels, strict=True):
        if axis.low <= value <= axis.high * (1 + 1e-9):
            found.setdefault(rows - 1 - _dot(value, axis, rows * DOWN) // DOWN, text)
    return found


def _column_labels(axis: Axis, columns: int) -> dict[int, str]:
    """Return what stands below which column."""
    known = zip(axis.ticks.positions, axis.ticks.labels, strict=True)
    inside = ((value, text) for value, text in known if axis.low <= value <= axis.high)
    return {_dot(value, axis, columns * ACROSS) // ACROSS: text for value, text in inside}


def _below(columns: dict[int, str], left: int, width: int) -> Line:
    """Return the labels of the columns, each centred below its mark.

    Those that would touch are left out.
    """
    text = ""
    for at, label in sorted(columns.items()):
        start = min(max(left + at - (width_of(label) - 1) // 2, 0), width - width_of(label))
        if not text or start > width_of(text):
            text += " " * (start - width_of(text)) + label
    return Line.of((text, LABEL))


def _draw(canvas: Canvas, curve: Curve, x: Axis, y: Axis) -> None:
    across, up = canvas.columns * ACROSS, canvas.rows * DOWN
    parts = [
        [(_dot(a, x, across), _dot(b, y, up)) for a, b in zip(xs, ys, strict=True)]
        for xs, ys in curve.parts
    ]
    canvas.draw([part for part in parts if part], filled=curve.filled, dashed=curve.dashed)
    marked = (
        (curve.plain, (POINT, curve.role)),
        (curve.points, (POINT, GOOD)),
        (curve.wrong, (WRONG, BAD)),
    )
    for (xs, ys), mark in marked:
        for a, b in zip(xs, ys, strict=True):
            canvas.marks[canvas.rows - 1 - _dot(b, y, up) // DOWN, _dot(a, x, across) // ACROSS] = (
                mark
            )


def _cells(
    canvas: Canvas, curves: Sequence[Curve], labels: dict[int, str], *, by_mark: bool, grid: bool
) -> Iterator[list[Run]]:
    """Yield what stands in the cells of each row."""
    for row in range(canvas.rows):
        ground: Run = ("·", FAINT) if grid and row in labels else (" ", TEXT)
        yield [
            canvas.marks.get((row, at))
            or _cell(canvas, curves, (row, at), by_mark=by_mark)
            or (ground if at % 4 == 0 else (" ", TEXT))
            for at in range(canvas.columns)
        ]


def _cell(
    canvas: Canvas, curves: Sequence[Curve], at: tuple[int, int], *, by_mark: bool
) -> Run | None:
    """Return what the curves leave in one cell: all their dots, in the colour of the one that has
    most of them.
    """
    here = [(cells[at], place) for place, cells in enumerate(canvas.dots) if at in cells]
    below = canvas.below.get(at, 0)
    if not here:
        return (chr(BRAILLE + below), f"{curves[0].role}*{FILL}") if below else None
    _, most = max(here, key=lambda each: (each[0].bit_count(), -each[1]))
    if by_mark:
        return (_mark(curves[most], most), curves[most].role) if len(here) == 1 else (BOTH, TEXT)
    dots = below
    for each, _ in here:
        dots |= each
    return chr(BRAILLE + dots), curves[most].role


def _runs(cells: Sequence[Run]) -> list[Run]:
    """Return cells as runs, blanks at their end left out."""
    kept = list(cells)
    while kept and kept[-1][0] == " ":
        kept.pop()
    return [
        ("".join(text for text, _ in group), role)
        for role, group in groupby(kept, key=lambda cell: cell[1])
    ]


def coloured(lines: Iterable[Line]) -> str:
    """Return lines for a terminal, curves in their colours."""
    return "\n".join("".join(_painted(text, role) for text, role in line.runs) for line in lines)


def _painted(text: str, role: str) -> str:
    name, _, weak = role.partition("*")
    if name not in SGR:
        return text
    return f"\x1b[{'2;' if weak else ''}38;5;{SGR[name]}m{text}\x1b[0m"


SPANS_S = (10, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700)
LEAST_S = 30  # of a load that has only begun
LONGER_S = 900  # beyond, an axis grows by as much at once
LEAST_GAP = 12  # cells between two labels
TICKS_S = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


class TimeMark(Struct, frozen=True):
    """Something that happened in a second of the run: its sign and role, and the word that a legend
    has for it.
    """

    second: int
    sign: str
    role: str
    word: str


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """`span_s` seconds of the run from second `start_s` on; `cursor_s` is the second that is looked
    at.

    Of `marks` in one column the last one is shown.
    """

    start_s: int
    span_s: int
    cursor_s: int | None = None
    marks: tuple[TimeMark, ...] = ()

    @property
    def cursor_text(self) -> str:
        """Which time of the load is looked at: ``at 1:05``; empty: now."""
        return f"at {clock(self.cursor_s - self.start_s)}" if self.cursor_s is not None else ""

    def cell(self, column: int, columns: int) -> tuple[int, int]:
        """Return the first and end second of a column of `columns`.

        Where there are more columns than seconds, one.
        """
        first = self.start_s + column * self.span_s // columns
        return first, max(first + 1, self.start_s + (column + 1) * self.span_s // columns)

    def column_of(self, second: int, columns: int) -> int:
        """Return the column in which a second begins to be shown."""
        at = -(-(second - self.start_s) * columns // self.span_s) if self.span_s <= columns else 0
        if self.span_s > columns:
            at = ((second - self.start_s + 1) * columns - 1) // self.span_s
        return max(0, min(columns - 1, at))

    def labels(self, columns: int, taken: Collection[int] = ()) -> str:
        """Return the times under the axis in exactly `columns` cells: round ones, each beginning
        where it lies.

        A time that would stand in a column that is `taken` is left out.
        """
        step = next(
            (tick for tick in TICKS_S if tick * columns / self.span_s >= LEAST_GAP), TICKS_S[-1]
        )
        line = [" "] * columns
        for second in range(0, self.span_s, step):
            text, at = clock(second), self.column_of(self.start_s + second, columns)
            if at + len(text) <= columns and not any(
                at <= column < at + len(text) for column in taken
            ):
                line[at : at + len(text)] = text
        return "".join(line)

    def foot(self, columns: int, filler: str) -> list[Run]:
        """Return the times and marks under the axis, set into a frame's line."""
        seconds = range(self.start_s, self.start_s + self.span_s)
        marks = {
            self.column_of(mark.second, columns): mark
            for mark in self.marks
            if mark.second in seconds
        }
        times = self.labels(columns, marks)
        cells: list[Run] = [(text, LABEL) if text != " " else (filler, FAINT) for text in times]
        for column, mark in marks.items():
            cells[column] = (mark.sign, mark.role)
        return [
            ("".join(text for text, _ in group), role)
            for role, group in groupby(cells, key=lambda cell: cell[1])
        ]

    @property
    def legend(self) -> list[Run]:
        """What the marks mean, each kind once."""
        return list(dict.fromkeys((f"{mark.sign} {mark.word}", mark.role) for mark in self.marks))


def axis_of(
    start_s: int, planned_s: float | None, elapsed_s: float, cursor_s: int | None = None
) -> TimeAxis:
    """Return the axis of a load: the least round length that holds what has passed, at most what is
    planned.
    """
    span = next((span for span in SPANS_S if max(elapsed_s, LEAST_S) <= span), None)
    span = span or (int(elapsed_s) // LONGER_S + 1) * LONGER_S
    if planned_s and elapsed_s <= planned_s + 1:
        span = min(span, max(1, round(planned_s)))
    return TimeAxis(start_s, span, cursor_s)


def spread_over(
    values: Sequence[float | None],
    first_s: int,
    axis: TimeAxis,
    columns: int,
    *,
    peaks: bool = False,
    weights: Sequence[float | None] = (),
) -> list[float | None]:
    """Return one value a column: the mean of its seconds, or their largest with `peaks`. None is a
    gap.

    `values` are one a second from `first_s` on. Means of latencies have the I/Os of their seconds
    as `weights`, so that one with few I/Os counts for as little as it is.
    """
    found: list[float | None] = []
    for column in range(columns):
        start, end = axis.cell(column, columns)
        here = slice(max(0, start - first_s), max(0, end - first_s))
        found.append(merged(values[here], weights[here], peaks=peaks))
    return found


def merged(
    values: Sequence[float | None], weights: Sequence[float | None] = (), *, peaks: bool
) -> float | None:
    """Return the mean of known values, weighted where weights are known, or the largest of them.

    None of none.
    """
    held = [(value, at) for at, value in enumerate(values) if value is not None]
    if not held or peaks:
        return max((value for value, _ in held), default=None)
    parts = [(value, weights[at] or 0.0) for value, at in held] if weights else []
    total = sum(weight for _, weight in parts)
    if total:
        return sum(value * weight for value, weight in parts) / total
    return sum(value for value, _ in held) / len(held)
