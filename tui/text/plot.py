"""Charts as lines of styled text, and the time axis that all charts of a run share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil

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
LOWEST = 6  # minimum height of a chart that shares its page
ROLES = ("read", "write", "other", "latency")  # of curves, in order
# of the sides of a comparison: far apart in every theme, and neither means a warning
SIDES = (BRIGHT, "latency")
# of curves, if colours cannot distinguish them; points have others
MARKS = ("•", "+", "%", "=", "@", "&", "~", "$")
BOTH = "#"  # cells where several curves meet
POINT = "◆"
WRONG = "✗"
# colour numbers of a 256-colour terminal
SGR = {"read": 12, "write": 11, "other": 10, "latency": 13, GOOD: 15, BRIGHT: 15, BAD: 9}
BRAILLE = 0x2800
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # by row and column within a cell
ACROSS, DOWN = 2, 4
BASE = 1  # dot of the lowest row at which the vertical axis begins: beside the mark of its tick
DASH = 4  # dots per dash, and per gap
FILL = 45  # fill strength, in per cent of the curve's


class AxisTicks(Struct, frozen=True):
    """Positions of an axis's tick marks, and their labels."""

    positions: list[float]
    labels: list[str]


class Axis(Struct, frozen=True):
    """Range and ticks of an axis.

    `step` is the distance between ticks if it must be a whole number of cells.
    """

    low: float
    high: float
    ticks: AxisTicks
    step: float | None = None


class Curve(Struct, frozen=True):
    """Points joined by lines, in several parts where values in between are unknown.

    `points` and `wrong` are marked as good and bad, `plain` as `sign` in the curve's colour.
    `dashed`: not measured, such as a limit or an extrapolation. `mark`: the character for the curve
    where colours are not used.
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
    sign: str = POINT


# dots by row and column of a cell, as in Unicode braille
Cells = dict[tuple[int, int], int]


class Canvas(Struct):
    """The cells of a chart: its size, the dots of each curve, the fill, and the marks."""

    columns: int
    rows: int
    dots: list[Cells] = field(default_factory=list)  # by curve
    below: Cells = field(default_factory=dict)
    marks: dict[tuple[int, int], Run] = field(default_factory=dict)

    def draw(
        self, parts: Sequence[Sequence[tuple[int, int]]], *, filled: bool, dashed: bool
    ) -> None:
        """Draw a curve through dots (x, y), y upwards; parts are not connected.

        `filled`: fill down to the axis.
        """
        whole = _drawn(parts, self.columns, self.rows, filled=False)
        self.dots.append(_dashed(whole, parts) if dashed else whole)
        if filled:
            for at, dots in _drawn(parts, self.columns, self.rows, filled=True).items():
                self.below[at] = self.below.get(at, 0) | dots


def _drawn(
    parts: Sequence[Sequence[tuple[int, int]]], columns: int, rows: int, *, filled: bool
) -> Cells:
    """Return the cells of a curve as plotext draws it; one plotext pixel is one dot."""
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
        # plotext's limits are the centres of the edge cells
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
    """Return a curve with gaps, so that it appears dashed along its longer direction."""
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
    """Return the rows left for curves in a chart of `height` lines.

    The others are the title and the axis.
    """
    return max(height, LOWEST) - 3


class Plot(Struct, frozen=True):
    """Curves between two axes, with a title.

    `marks`: meaning of marks on the curves, in the legend if it fits beside the title.
    """

    title: str
    curves: Sequence[Curve]
    x: Axis
    y: Axis
    marks: Sequence[Run] = ()

    def label_width(self, height: int) -> int:
        """Return the width of the labels beside the vertical axis."""
        labels = _row_labels(self.y, plot_rows(height)).values()
        return max((width_of(text) for text in labels), default=0)

    def lines(
        self, width: int, height: int, *, coloured: bool = False, label_width: int = 0
    ) -> list[Line]:
        """Return the chart in lines of at most `width` cells; it is at least 30 cells wide and 6
        lines high.

        `label_width`: least width of the labels beside the vertical axis, to align several charts.
        `coloured`: the terminal distinguishes curves by colour. Otherwise, or with more curves than
        colours, each curve has its own mark. A legend that does not fit beside the title takes
        extra lines beyond `height`.
        """
        width, rows = max(width, LEAST_WIDTH), plot_rows(height)
        labels = _row_labels(self.y, rows)
        left = max(self.label_width(height), label_width) + 2
        canvas = Canvas(width - left, rows)
        x = _even(self.x, canvas.columns)
        for curve in self.curves:
            _draw(canvas, curve, x, self.y)
        columns = _with_room(_column_labels(x, canvas.columns), left, width)
        by_mark = len(self.curves) > 1 and not (coloured and _differ_by_colour(self.curves))
        texts = list(_cells(canvas, self.curves, labels, by_mark=by_mark, grid=coloured))
        head = _head(
            self.title,
            self.curves,
            width,
            by_mark=by_mark,
            meet=any(text == BOTH for row in texts for text, _ in row),
            marks=self.marks,
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
    """Return whether colours alone distinguish all solid curves in the legend.

    Dashed curves are recognizable anyway.
    """
    roles = [curve.role for curve in curves if curve.name and not curve.dashed]
    return len(set(roles)) == len(roles)


def _head(
    title: str,
    curves: Sequence[Curve],
    width: int,
    *,
    by_mark: bool,
    meet: bool,
    marks: Sequence[Run] = (),
) -> list[Line]:
    """Return the title with the curves' names beside it or, if room is short, below it.

    `meet` adds the mark of cells in which curves meet. `marks` are beside the title, or left out
    if room is short.
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
    more = [run for mark in marks for run in (("  ", TEXT), mark)]
    room = width - width_of(title)
    beside = more[1:] if width_of_runs(more) <= room else []
    for runs in ([*legend, *more], [] if beside else legend):
        if runs and width_of_runs(runs) + 2 <= room:
            return [Line.of(*spread([(title, TITLE)], runs, width))]
    first = spread([(title, TITLE)], beside, width) if beside else [(title[:width], TITLE)]
    return [Line.of(*first), *packed(items, width)]


def _mark(curve: Curve, place: int) -> str:
    return curve.mark or MARKS[place % len(MARKS)]


def _dot(value: float, axis: Axis, dots: int) -> int:
    """Return the dot that shows a value on an axis.

    Values outside the range are drawn at the edge.
    """
    span = (axis.high - axis.low) or 1.0
    return min(max(round((value - axis.low) / span * (dots - 1)), 0), dots - 1)


def dots_of(rows: int) -> int:
    """Return the length of a vertical axis of `rows` rows, in dots."""
    return rows * DOWN - 1 - BASE


def dot_of(axis: Axis, rows: int) -> float:
    """Return the value that one dot stands for on a vertical axis of `rows` rows."""
    return (axis.high - axis.low) / dots_of(rows)


def row_of(value: float, low: float, high: float, rows: int) -> int:
    """Return the row that shows a value on a vertical axis, counted from 0 at the bottom."""
    return _up(value, Axis(low, high, AxisTicks([], [])), rows) // DOWN


def _up(value: float, axis: Axis, rows: int) -> int:
    """Return the dot that shows a value on a vertical axis, counted from the bottom."""
    dot = BASE + round((value - axis.low) / ((axis.high - axis.low) or 1.0) * dots_of(rows))
    return min(max(dot, 0), rows * DOWN - 1)


def _even(axis: Axis, columns: int) -> Axis:
    """Return the axis, extended so that its ticks are a whole number of cells apart."""
    if axis.step is None or axis.high <= axis.low:
        return axis
    last = columns * ACROSS - 1
    cells = int(last * axis.step / (ACROSS * (axis.high - axis.low)) + 1e-9)
    return replace(axis, high=axis.low + last / (ACROSS * cells) * axis.step) if cells else axis


def _row_labels(axis: Axis, rows: int) -> dict[int, str]:
    """Return the label of each row that has one."""
    found: dict[int, str] = {}
    for value, text in zip(axis.ticks.positions, axis.ticks.labels, strict=True):
        if axis.low <= value <= axis.high * (1 + 1e-9):
            found.setdefault(rows - 1 - _up(value, axis, rows) // DOWN, text)
    return found


def _column_labels(axis: Axis, columns: int) -> dict[int, str]:
    """Return the label of each column that has one."""
    known = zip(axis.ticks.positions, axis.ticks.labels, strict=True)
    inside = ((value, text) for value, text in known if axis.low <= value <= axis.high)
    return {_dot(value, axis, columns * ACROSS) // ACROSS: text for value, text in inside}


def _with_room(columns: dict[int, str], left: int, width: int) -> dict[int, str]:
    """Return the column labels that do not touch the one before.

    A mark without a label says nothing.
    """
    kept: dict[int, str] = {}
    end = -1
    for at, label in sorted(columns.items()):
        start = _start(at, label, left, width)
        if start > end:
            kept[at], end = label, start + width_of(label)
    return kept


def _start(at: int, label: str, left: int, width: int) -> int:
    """Return the start of a label that is centred below the mark in a column."""
    return min(max(left + at - (width_of(label) - 1) // 2, 0), width - width_of(label))


def _below(columns: dict[int, str], left: int, width: int) -> Line:
    """Return the column labels, centred below their marks."""
    text = ""
    for at, label in sorted(columns.items()):
        text += " " * (_start(at, label, left, width) - width_of(text)) + label
    return Line.of((text, LABEL))


def _draw(canvas: Canvas, curve: Curve, x: Axis, y: Axis) -> None:
    across, rows = canvas.columns * ACROSS, canvas.rows
    parts = [
        [(_dot(a, x, across), _up(b, y, rows)) for a, b in zip(xs, ys, strict=True)]
        for xs, ys in curve.parts
    ]
    canvas.draw([part for part in parts if part], filled=curve.filled, dashed=curve.dashed)
    marked = (
        (curve.plain, (curve.sign, curve.role)),
        (curve.points, (POINT, GOOD)),
        (curve.wrong, (WRONG, BAD)),
    )
    for (xs, ys), mark in marked:
        for a, b in zip(xs, ys, strict=True):
            at = rows - 1 - _up(b, y, rows) // DOWN, _dot(a, x, across) // ACROSS
            canvas.marks[at] = mark


def _cells(
    canvas: Canvas, curves: Sequence[Curve], labels: dict[int, str], *, by_mark: bool, grid: bool
) -> Iterator[list[Run]]:
    """Yield the cells of each row, axis labels included."""
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
    """Return a cell with the dots of all curves in it, in the colour of the curve with most dots.

    Curves with equally many dots take turns, so that none hides another where they coincide.
    `by_mark`: the curve's mark instead of dots, or `BOTH` if several meet. None if neither a curve
    nor a filled area is in it.
    """
    here = [(cells[at], place) for place, cells in enumerate(canvas.dots) if at in cells]
    below = canvas.below.get(at, 0)
    if not here:
        return (chr(BRAILLE + below), f"{curves[0].role}*{FILL}") if below else None
    dense = max(each.bit_count() for each, _ in here)
    even = [place for each, place in here if each.bit_count() == dense]
    most = even[at[1] % len(even)]
    if by_mark:
        return (_mark(curves[most], most), curves[most].role) if len(here) == 1 else (BOTH, TEXT)
    dots = below
    for each, _ in here:
        dots |= each
    return chr(BRAILLE + dots), curves[most].role


def _runs(cells: Sequence[Run]) -> list[Run]:
    """Return cells merged into runs of one role, without trailing blanks."""
    kept = list(cells)
    while kept and kept[-1][0] == " ":
        kept.pop()
    return [
        ("".join(text for text, _ in group), role)
        for role, group in groupby(kept, key=lambda cell: cell[1])
    ]


def coloured(lines: Iterable[Line]) -> str:
    """Return lines as text for a terminal, with curves in colour."""
    return "\n".join("".join(_painted(text, role) for text, role in line.runs) for line in lines)


def _painted(text: str, role: str) -> str:
    name, _, weak = role.partition("*")
    if name not in SGR:
        return text
    return f"\x1b[{'2;' if weak else ''}38;5;{SGR[name]}m{text}\x1b[0m"


LEAST_S = 12  # minimum length at the start of a load
STEPS = 6  # least number of equal steps in a length: at most a sixth of the axis is empty
LEAST_GAP = 12  # minimum cells between two labels
NARROW, LEAST_NARROW_GAP = 36, 8  # and in a chart of fewer columns
TICKS_S = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


class TimeMark(Struct, frozen=True):
    """An event in one second of a run: its sign and role on the axis, its word in the legend."""

    second: int
    sign: str
    role: str
    word: str


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """A time axis of `span_s` seconds from `start_s`; `cursor_s` is the selected second.

    Where several `marks` share a column, the last one is shown.
    """

    start_s: int
    span_s: int
    cursor_s: int | None = None
    marks: tuple[TimeMark, ...] = ()

    @property
    def cursor_text(self) -> str:
        """The selected time: ``at 1:05``. Empty without a cursor."""
        return f"at {clock(self.cursor_s - self.start_s)}" if self.cursor_s is not None else ""

    def cell(self, column: int, columns: int) -> tuple[int, int]:
        """Return the first second of a column, and the second after its last.

        With more columns than seconds, a column still covers one second.
        """
        first = self.start_s + column * self.span_s // columns
        return first, max(first + 1, self.start_s + (column + 1) * self.span_s // columns)

    def column_of(self, second: int, columns: int) -> int:
        """Return the first column that shows a second."""
        at = -(-(second - self.start_s) * columns // self.span_s) if self.span_s <= columns else 0
        if self.span_s > columns:
            at = ((second - self.start_s + 1) * columns - 1) // self.span_s
        return max(0, min(columns - 1, at))

    def labels(self, columns: int, taken: Collection[int] = ()) -> str:
        """Return round times under the axis in exactly `columns` cells, each starting at its
        column.

        A time that would touch a `taken` column is left out.
        """
        least = LEAST_GAP if columns >= NARROW else LEAST_NARROW_GAP
        step = next(
            (tick for tick in TICKS_S if tick * columns / self.span_s >= least), TICKS_S[-1]
        )
        line = [" "] * columns
        for second in range(0, self.span_s, step):
            text, at = clock(second), self.column_of(self.start_s + second, columns)
            if at + len(text) < columns and not any(
                at - 1 <= column <= at + len(text) for column in taken
            ):
                line[at : at + len(text)] = text
        return "".join(line)

    def foot(self, columns: int) -> list[Run]:
        """Return the times and marks under the axis, in exactly `columns` cells."""
        seconds = range(self.start_s, self.start_s + self.span_s)
        marks = {
            self.column_of(mark.second, columns): mark
            for mark in self.marks
            if mark.second in seconds
        }
        times = self.labels(columns, marks)
        cells: list[Run] = [(text, LABEL) for text in times]
        for column, mark in marks.items():
            cells[column] = (mark.sign, mark.role)
        return [
            ("".join(text for text, _ in group), role)
            for role, group in groupby(cells, key=lambda cell: cell[1])
        ]

    @property
    def legend(self) -> list[Run]:
        """Legend of the marks, one entry per kind."""
        return list(dict.fromkeys((f"{mark.sign} {mark.word}", mark.role) for mark in self.marks))


def axis_of(
    start_s: int, planned_s: float | None, elapsed_s: float, cursor_s: int | None = None
) -> TimeAxis:
    """Return the time axis of a load: the time so far, lengthened by at most a sixth.

    It grows in steps, so that charts are not redrawn every second. It is at least `LEAST_S`
    long, but no longer than the planned time until the load exceeds that.
    """
    shown_s = max(elapsed_s, LEAST_S)
    step = max(each for each in TICKS_S if each * STEPS <= shown_s)
    span = ceil(shown_s / step) * step
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
    """Return one value per column: the mean over its seconds, or with `peaks` the maximum.

    None is a gap. `values` are one per second from `first_s`. Mean latencies are weighted by the
    I/Os per second (`weights`).
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
    """Return the mean of the known values, or with `peaks` their maximum.

    The mean is weighted if there are `weights`. None if no value is known.
    """
    held = [(value, at) for at, value in enumerate(values) if value is not None]
    if not held or peaks:
        return max((value for value, _ in held), default=None)
    parts = [(value, weights[at] or 0.0) for value, at in held] if weights else []
    total = sum(weight for _, weight in parts)
    if total:
        return sum(value * weight for value, weight in parts) / total
    return sum(value for value, _ in held) / len(held)


def known_parts(values: Sequence[float | None]) -> list[tuple[int, list[float]]]:
    """Return the stretches of known values, each with the index of its first value."""
    parts: list[tuple[int, list[float]]] = []
    for index, value in enumerate(values):
        if value is None:
            continue
        if parts and parts[-1][0] + len(parts[-1][1]) == index:
            parts[-1][1].append(value)
        else:
            parts.append((index, [value]))
    return parts
