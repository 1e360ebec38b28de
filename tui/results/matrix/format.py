"""Tables of a matrix as rows of pieces of text, each with its role: terminals colour them, text files do not. Pure.

All widths are settled here, so that the same table is read in `runs show` and on the screens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tui.metrics import units
from tui.metrics.registry import BY_UNIT, METRICS
from tui.results.matrix.cells import Cell
from tui.results.matrix.table import KneeAt, MatrixTable, TableRow

Role = Literal["head", "label", "value", "partial", "failed", "cut", "running", "missing", "detail", "bar", "knee"]
MARKS = {"done": "", "failed": "✗", "cut": "!", "running": "›", "missing": "·"}
SAID = {"failed": "failed", "cut": "stopped", "running": "running", "missing": "not measured"}
KNEE = "◆"
BAR = "━"
GAP = "  "
LEAST_BAR, MOST_BAR = 8, 40
KNEES_TOLD = 6
BINARY = (("GiB/s", 2.0**30), ("MiB/s", 2.0**20), ("KiB/s", 2.0**10), ("B/s", 1.0))
LARGEST = 100_000  # of figures in a common unit; larger ones cannot be compared at a glance


@dataclass(frozen=True, slots=True)
class Piece:
    """A padded text. `cell` is the cell it belongs to, `share` its figure as a share of the table's largest."""

    text: str
    role: Role = "label"
    cell: Cell | None = None
    share: float = 0.0


Pieces = list[Piece]


@dataclass(frozen=True, slots=True)
class Scale:
    """How the figures of a table are written: their unit in its heading (may be empty), and each figure."""

    unit: str
    text: Callable[[float | None], str]


def scale_of(cells: Sequence[Cell]) -> Scale:
    """Return a common way to write figures: bandwidths in one unit, so that a column can be compared."""
    found = {cell.unit for cell in cells}
    if len(found) != 1:
        return Scale("", METRICS["iops"].text)
    unit = found.pop()
    if unit == "bytes_per_s":
        return _bandwidth_scale([cell.value for cell in cells if cell.value])
    metric = BY_UNIT[unit]
    return Scale(metric.counted, lambda value: metric.text(value).replace(" ", ""))


def _bandwidth_scale(values: Sequence[float]) -> Scale:
    low, high = min(values, default=0.0), max(values, default=0.0)
    place = next((index for index, (_, factor) in enumerate(BINARY) if high >= factor), len(BINARY) - 1)
    while place < len(BINARY) - 1 and low < 0.1 * BINARY[place][1] and high / BINARY[place + 1][1] < LARGEST:
        place += 1
    name, factor = BINARY[place]

    def text(value: float | None) -> str:
        return units.UNKNOWN if value is None else units.three_digits(value / factor)

    return Scale(name, text)


def title_of(table: MatrixTable, *, profile: bool = False) -> str:
    """Return what a table shows: ``read bandwidth, MiB/s``, of several tables the profile before it."""
    what = {cell.what for cell in table.cells}
    name = what.pop() if len(what) == 1 else "headlines"
    unit = scale_of(table.cells).unit
    lead = f"{table.profile}: " if profile and table.profile else ""
    return f"{lead}{name}{f', {unit}' if unit and not name.endswith(unit) else ''}"


def table_lines(table: MatrixTable, width: int, *, details: bool = True) -> list[Pieces]:
    """Return the heading and the rows of a table in at most `width` columns, as far as that can be.

    `details`: what was lowest and highest, latencies, bars; without them a row is one short line.
    """
    return list(_grid_lines(table, width, details) if table.is_grid else _list_lines(table, width, details))


# -- grids


def _grid_lines(table: MatrixTable, width: int, details: bool) -> Iterator[Pieces]:
    scale = scale_of(table.cells)
    texts = [[_main_text(table, cell, scale) for cell in row.cells] for row in table.rows]
    below = [[_below(table, cell, scale) if details else "" for cell in row.cells] for row in table.rows]
    heads = _label_widths(table, details)
    lead = sum(heads) + len(GAP) * len(heads)
    cell = max(len(text) for line in [*texts, *below, table.columns] for text in line) + len(GAP)
    if details:
        cell = max(cell, min(len(table.across) + len(GAP), max(1, width - lead)))
    room = max(1, (width - lead) // cell)
    tops = tops_of(table.cells)
    for start in range(0, len(table.columns), room):
        if start:
            yield []
        chosen = slice(start, start + room)
        yield from _grid_heads(table, heads, cell, table.columns[chosen], details)
        for row, main, more in zip(table.rows, texts, below, strict=True):
            if any(found is not None for found in row.cells[chosen]):
                yield from _grid_row(tops, row, heads, cell, chosen, main, more)


def _label_widths(table: MatrixTable, details: bool) -> list[int]:
    """Return the widths of the values that go down; without details the names of all axes stand above them."""
    found = [max(len(name), *(len(row.labels[place]) for row in table.rows)) for place, name in enumerate(table.down)]
    if details:
        return found
    *others, last = found or [0]
    return [*others, max(last, len(_corner(table)) - sum(others) - len(GAP) * len(others))]


def _corner(table: MatrixTable) -> str:
    """Return the names of both axes in one text: ``bs\\numjobs``."""
    return f"{' '.join(table.down)}\\{table.across}" if table.down else table.across


def _grid_heads(
    table: MatrixTable, heads: Sequence[int], cell: int, columns: Sequence[str], details: bool
) -> Iterator[Pieces]:
    """Yield the names of the axes and the values that go across, in one line without details."""
    lead = sum(heads) + len(GAP) * len(heads)
    names = _corner(table).ljust(lead)
    if details:
        yield [Piece(" " * lead, "head"), Piece(f"{table.across:>{cell}}", "head")]
        names = "".join(name.ljust(size) + GAP for name, size in zip(table.down, heads, strict=True))
    padding = 2 if table.knees else 0  # figures leave room for the mark
    yield [Piece(names, "head"), *(Piece(text.rjust(cell - padding) + " " * padding, "head") for text in columns)]


def _grid_row(
    tops: Mapping[str, float],
    row: TableRow,
    heads: Sequence[int],
    cell: int,
    chosen: slice,
    main: Sequence[str],
    below: Sequence[str],
) -> Iterator[Pieces]:
    labels = "".join(text.ljust(size) + GAP for text, size in zip(row.labels or ("",), heads, strict=True))
    yield [
        Piece(labels, "label"),
        *(
            Piece(f"{text:>{cell}}", role_of(found), found, share_of(tops, found))
            for found, text in zip(row.cells[chosen], main[chosen], strict=True)
        ),
    ]
    if any(below[chosen]):
        parts = zip(row.cells[chosen], below[chosen], strict=True)
        yield [Piece(" " * len(labels), "label"), *(Piece(f"{text:>{cell}}", "detail", found) for found, text in parts)]


def _main_text(table: MatrixTable, cell: Cell | None, scale: Scale) -> str:
    if cell is None:
        return ""
    tail = (f" {KNEE}" if cell.key in table.knee_keys else GAP) if table.knees else ""
    spread = f" {_ci(cell):>5}" if table.repeated else ""
    return f"{_figure(cell, scale)}{spread}{tail}"


def _figure(cell: Cell, scale: Scale) -> str:
    """Return the mark of a cell's state and its figure."""
    if cell.value is None:
        return MARKS[cell.state] or units.UNKNOWN
    return MARKS[cell.state] + scale.text(cell.value)


def _ci(cell: Cell) -> str:
    """Return the confidence interval: ``±2.1%``."""
    if cell.ci is None:
        return ""
    percent = cell.ci * 100
    return f"±{percent:.1f}%" if percent < 9.95 else f"±{percent:.0f}%"


def _below(table: MatrixTable, cell: Cell | None, scale: Scale) -> str:
    """Return the second line of a cell: lowest and highest, efficiency over hosts."""
    if cell is None:
        return ""
    pad = GAP if table.knees else ""
    parts = [_spread(cell, scale), _efficiency(table, cell)]
    text = " ".join(part for part in parts if part)
    return text + pad if text else ""


def _spread(cell: Cell, scale: Scale) -> str:
    if len(cell.values) < 2:
        return ""
    return f"{scale.text(min(cell.values))}–{scale.text(max(cell.values))}"


def _efficiency(table: MatrixTable, cell: Cell) -> str:
    share = table.scaling.get(cell.key)
    return "" if share is None else f"{share * 100:.0f}%"


def tops_of(cells: Sequence[Cell]) -> dict[str, float]:
    """Return the largest figure by unit."""
    tops: dict[str, float] = {}
    for cell in cells:
        if cell.value is not None:
            tops[cell.unit] = max(cell.value, tops.get(cell.unit, 0.0))
    return tops


def share_of(tops: Mapping[str, float], cell: Cell | None) -> float:
    """Return a figure as a share of the largest of its kind."""
    top = tops.get(cell.unit, 0.0) if cell is not None else 0.0
    return (cell.value or 0.0) / top if cell is not None and top else 0.0


def role_of(cell: Cell | None) -> Role:
    """Return how a cell is to be shown."""
    if cell is None or cell.state == "done":
        return "value" if cell is not None and cell.value is not None else "missing"
    if cell.state == "missing" and cell.value is not None:
        return "partial"  # some of its repetitions are made
    roles: dict[str, Role] = {"failed": "failed", "cut": "cut", "running": "running", "missing": "missing"}
    return roles[cell.state]


# -- lists


@dataclass(frozen=True)
class Column:
    """A column of a list: heading, texts, whether they are flush right, their role (None: the cell's own)."""

    head: str
    texts: list[str]
    right: bool = True
    role: Role | None = "detail"
    important: int = 0  # columns of small numbers give way first

    @cached_property
    def width(self) -> int:
        """Cells it takes."""
        return max(len(self.head), *(len(text) for text in self.texts))

    def padded(self, text: str) -> str:
        """Return a text in the column's width."""
        return text.rjust(self.width) if self.right else text.ljust(self.width)


def _list_lines(table: MatrixTable, width: int, details: bool) -> Iterator[Pieces]:
    columns = _fitting(_columns(table, details), width)
    used = sum(column.width + len(GAP) for column in columns)
    notes = [_note(table, cell) for cell in table.cells]
    note = max((len(text) for text in notes), default=0)
    bar = min(MOST_BAR, width - used - note - len(GAP)) if details and len({c.unit for c in table.cells}) == 1 else 0
    yield [Piece(column.padded(column.head) + GAP, "head") for column in columns]
    tops = tops_of(table.cells)
    for place, cell in enumerate(table.cells):
        share = share_of(tops, cell)
        ground = share if not details and len(tops) == 1 else 0.0  # else a bar tells it
        line = [Piece(c.padded(c.texts[place]) + GAP, c.role or role_of(cell), cell, ground) for c in columns]
        if bar >= LEAST_BAR:
            line.append(Piece(_bar(share, bar) + GAP * bool(note), "bar", cell, share))
        yield [*line, Piece(notes[place], "knee" if KNEE in notes[place] else role_of(cell), cell)]


def _columns(table: MatrixTable, details: bool) -> list[Column]:
    cells, scale = table.cells, scale_of(table.cells)
    mixed = len({cell.unit for cell in cells}) > 1
    labels = [
        Column(name, [row.labels[place] for row in table.rows], _is_number(table, name), "label", 9)
        for place, name in enumerate(table.down)
    ]
    if len({cell.what for cell in cells}) > 1:
        labels.append(Column("", [cell.what for cell in cells], right=False, role="detail", important=8))
    figures = [
        MARKS[cell.state] + BY_UNIT[cell.unit].with_unit(cell.value)
        if mixed and cell.value is not None
        else _figure(cell, scale)
        for cell in cells
    ]
    columns = [*labels, Column(scale.unit, figures, right=True, role=None, important=9)]
    return [*columns, *filter(_says_something, _details(table, scale, mixed))] if details else columns


def _details(table: MatrixTable, scale: Scale, mixed: bool) -> list[Column]:
    cells = table.cells
    own = [scale_of([cell]) if mixed else scale for cell in cells]
    return [
        Column("±95%", [_ci(cell) for cell in cells], important=7),
        Column("min–max", [_spread(cell, each) for cell, each in zip(cells, own, strict=True)], important=6),
        Column("n", [_count(cell) for cell in cells], important=3),
        Column("mean", [_short(cell.mean_ns) for cell in cells], important=4),
        Column("p99", [_short(cell.p99_ns) for cell in cells], important=5),
        Column("scaling", [_efficiency(table, cell) for cell in cells], important=8),
    ]


def _says_something(column: Column) -> bool:
    return any(column.texts)


def _is_number(table: MatrixTable, name: str) -> bool:
    return bool(table.axes) and all(name in cell.numbers for cell in table.cells)


def _count(cell: Cell) -> str:
    """Return how many repetitions were made, of how many; nothing where there is one alone."""
    if cell.planned <= 1:
        return ""
    return f"{cell.made}" if cell.made + cell.skipped >= cell.planned else f"{cell.made}/{cell.planned}"


def _short(value_ns: float | None) -> str:
    return "" if value_ns is None else "".join(units.latency_parts(value_ns))


def _fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """Return the columns without the least important ones that have no room."""
    kept = list(columns)
    while len(kept) > 2 and sum(column.width + len(GAP) for column in kept) > width:
        least = min(kept, key=lambda column: column.important)
        if least.important > 8:
            break
        kept.remove(least)
    return kept


def _bar(share: float, width: int) -> str:
    return (BAR * max(1 if share > 0 else 0, round(share * width))).ljust(width)


def _note(table: MatrixTable, cell: Cell) -> str:
    """Return what is said at the end of a row: its state, that it is the knee."""
    if cell.state == "missing" and cell.values:
        return f"{cell.made} of {cell.planned}"
    if cell.state in SAID:
        return SAID[cell.state]
    return f"{KNEE} knee" if cell.key in table.knee_keys else ""


# -- below a table


def knee_texts(table: MatrixTable) -> list[str]:
    """Return a sentence a knee; of many the first few and how many follow."""
    scale = scale_of(table.cells)
    told = [knee_text(found, scale) for found in table.knees[:KNEES_TOLD]]
    more = len(table.knees) - len(told)
    return [*told, *([f"and {more} knees more"] if more else [])]


def knee_text(found: KneeAt, scale: Scale) -> str:
    """Return where a knee is: ``knee over numjobs at bs=1M: 8 with 1056 MiB/s, p99 12.1 ms; 16 gives +5.4 %``."""
    cell = found.cell
    at = f" at {' '.join(f'{name}={text}' for name, text in found.others)}" if found.others else ""
    tail = f", p99 {units.latency(cell.p99_ns)}" if cell.p99_ns is not None else ""
    figure = f"{scale.text(cell.value)} {scale.unit}".rstrip()
    gain = f"{found.next_text} gives {found.gain * 100:+.1f} %"
    return f"knee over {found.axis}{at}: {cell.texts[found.axis]} with {figure}{tail}; {gain}"


def legend(tables: Sequence[MatrixTable]) -> str:
    """Return what the marks in these grids mean, those that occur; lists say it in words, knees have a line each."""
    cells = [cell for table in tables if table.is_grid for cell in table.cells]
    states = [state for state in SAID if any(cell.state == state for cell in cells)]
    some = any(cell.state == "missing" and cell.values for cell in cells)
    parts = [f"{MARKS[state]} {'not measured as often as planned' if some and state == 'missing' else SAID[state]}"
             for state in states]  # fmt: skip
    parts += ["% of linear scaling"] if any(table.is_grid and table.scaling for table in tables) else []
    return "  ".join(parts)
