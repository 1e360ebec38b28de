"""The tables of a matrix as lines: one unit for all cells, marks, notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from tui.judge.wording import text_of
from tui.metrics import units
from tui.metrics.registry import BY_UNIT, METRICS
from tui.metrics.repeat import shows_ci
from tui.record.cells import Cell
from tui.record.matrix import (
    APART,
    KneeAt,
    MatrixTable,
    TableRow,
    best_of,
    block_texts,
    compared,
    noise_of,
)
from tui.text.line import ACCENT, BAD, FAINT, GOOD, LABEL, TEXT, VALUE, WARN, Line, Run
from tui.text.table import Column, head_line, measured, table_line, widths
from tui.view.plan_steps import corner_text

BINARY = (("GiB/s", 2.0**30), ("MiB/s", 2.0**20), ("KiB/s", 2.0**10), ("B/s", 1.0))
LARGEST = 100_000  # of figures in a common unit; more cannot be compared at a glance


class FigureScale(Struct, frozen=True):
    """How the figures of a table are written.

    `unit` is in the heading of the table; it may be empty.
    """

    unit: str
    text: Callable[[float | None], str]


def scale_of(cells: Sequence[Cell]) -> FigureScale:
    """Return one scale for all figures of a table, so that they are easy to compare.

    All bandwidths have one unit. If units differ, figures are plain numbers without a unit.
    """
    found = {cell.unit for cell in cells}
    if len(found) != 1:
        return FigureScale("", METRICS["iops"].text)
    unit = found.pop()
    if unit == "bytes_per_s":
        return _bandwidth_scale([cell.value for cell in cells if cell.value])
    metric = BY_UNIT[unit]
    return FigureScale(metric.counted, lambda value: metric.text(value).replace(" ", ""))


def _bandwidth_scale(values: Sequence[float]) -> FigureScale:
    low, high = min(values, default=0.0), max(values, default=0.0)
    place = next(
        (index for index, (_, factor) in enumerate(BINARY) if high >= factor), len(BINARY) - 1
    )
    while (
        place < len(BINARY) - 1
        and low < 0.1 * BINARY[place][1]
        and high / BINARY[place + 1][1] < LARGEST
    ):
        place += 1
    name, factor = BINARY[place]

    def text(value: float | None) -> str:
        return units.UNKNOWN if value is None else units.three_digits(value / factor)

    return FigureScale(name, text)


MARKS = {"done": "", "failed": "✗", "cut": "!", "running": "›", "missing": "·"}
SAID = {"failed": "failed", "cut": "stopped", "running": "running", "missing": "not measured"}
ROLES = {"done": VALUE, "failed": BAD, "cut": WARN, "running": ACCENT, "missing": LABEL}
CURSOR = f"{ACCENT}~"  # role of the selected cell
KNEE = "◆"
INVALID = "INVALID"
VERDICTS: dict[str, Run] = {  # of the profiles of a suite
    "valid": ("✓ valid", GOOD),
    "valid-with-warnings": ("! warnings", WARN),
    "invalid": (INVALID, BAD),
}
BAR = "━"
GAP = "  "
LEAST_BAR, MOST_BAR = 8, 40
KNEES_TOLD = 6
EQUALS_TOLD = 4
# per cent of the series' colour behind a figure, in few distinct steps
GROUNDS = (8, 16, 24, 32, 40, 48)


class MatrixStyle(Struct, frozen=True):
    """How tables are drawn.

    `details`: spreads, latencies, bars; otherwise a row is one short line. `cursor` is the key of
    the selected cell. `heat` shades the background by value."""

    details: bool = True
    cursor: str = ""
    heat: bool = True


PLAIN_LOOK = MatrixStyle()


def title_of(table: MatrixTable, *, profile: bool = False) -> str:
    """Return the title of a table: ``read bandwidth, MiB/s``.

    `profile`: put the name of its profile in front.
    """
    what = {cell.what for cell in table.cells}
    name = what.pop() if len(what) == 1 else "Headlines"
    unit = scale_of(table.cells).unit
    lead = f"{table.profile}: " if profile and table.profile else ""
    return f"{lead}{name}{f', {unit}' if unit and not name.endswith(unit) else ''}"


def table_lines(table: MatrixTable, width: int, look: MatrixStyle = PLAIN_LOOK) -> list[Line]:
    """Return the heading and the rows of a table, no wider than `width` cells if possible."""
    return list(
        _grid_lines(table, width, look) if table.is_grid else _list_lines(table, width, look)
    )


# -- one cell


def series_role(cell: Cell) -> str:
    """Return the role of a cell's figure: the direction's role, or the latency role."""
    direction = cell.what.partition(" ")[0]
    return (
        "latency" if cell.unit == "ns" else direction if direction in ("read", "write") else "other"
    )


def role_of(cell: Cell) -> str:
    """Return the role of a cell's figure by its state; plain text if it is incomplete."""
    if cell.state == "missing" and cell.value is not None:
        return TEXT
    if cell.invalid and cell.state == "done":
        return BAD
    return FAINT if cell.state == "done" and cell.value is None else ROLES[cell.state]


def _figure_runs(text: str, cell: Cell | None, share: float, look: MatrixStyle) -> list[Run]:
    """Return a padded figure as runs; if selected or shaded, its leading blank is not coloured."""
    role = FAINT if cell is None else role_of(cell)
    if cell is not None and cell.key == look.cursor:
        role = CURSOR
    elif cell is not None and role == VALUE and look.heat and share:
        step = GROUNDS[min(len(GROUNDS) - 1, int(share * len(GROUNDS)))]
        role = f"{VALUE}/{series_role(cell)}*{step}"
    else:
        return [(text, role)]
    lead, text = (" ", text[1:]) if text.startswith(" ") else ("", text)
    before, mark, after = text.partition(KNEE)
    ground = role.partition("/")[2]
    return [
        (lead, TEXT),
        (before, role),
        (mark, f"{GOOD}/{ground}" if ground else role),
        (after, role),
    ]


def _value_text(cell: Cell, scale: FigureScale) -> str:
    """Return a cell's figure, after the mark of its state."""
    if cell.value is None:
        return MARKS[cell.state] or units.UNKNOWN
    return mark_of(cell) + scale.text(cell.value)


def mark_of(cell: Cell) -> str:
    """Return the mark before a cell's figure: for its state, or for an invalid figure."""
    return MARKS[cell.state] or (MARKS["failed"] if cell.invalid else "")


def _ci(cell: Cell) -> str:
    """Return the confidence interval: ``±2.1 %``."""
    if cell.ci is None or not shows_ci(cell.values, cell.ci):
        return ""
    return f"±{units.share(cell.ci, 1 if cell.ci < 0.0995 else 0)}"


def _spread(cell: Cell, scale: FigureScale) -> str:
    """Return the lowest and the highest figure of the repetitions."""
    return (
        f"{scale.text(min(cell.values))}–{scale.text(max(cell.values))}"
        if len(cell.values) > 1
        else ""
    )


def _efficiency(table: MatrixTable, cell: Cell) -> str:
    share = table.scaling.get(cell.key)
    return "" if share is None else units.share(share)


def _count(cell: Cell) -> str:
    """Return the number of repetitions: ``3``, or ``2/3`` if fewer were measured than planned.

    Empty if one is planned.
    """
    if cell.planned <= 1:
        return ""
    return (
        f"{cell.made}"
        if cell.made + cell.skipped >= cell.planned
        else f"{cell.made}/{cell.planned}"
    )


def _note(table: MatrixTable, cell: Cell) -> Run:
    """Return the note at the end of a row: state, invalid, shorter than requested, verdict or
    knee.
    """
    if cell.state == "missing" and cell.values:
        return f"{cell.made} of {cell.planned}", TEXT
    if cell.state in SAID:
        return SAID[cell.state], role_of(cell)
    if cell.invalid:
        return INVALID, BAD
    if cell.short:
        return f"only {cell.short}", WARN
    if cell.verdict and not table.axes:
        return VERDICTS[cell.verdict]
    return (f"{KNEE} knee", GOOD) if cell.key in table.knee_keys else ("", TEXT)


def _tops(cells: Sequence[Cell]) -> dict[str, float]:
    """Return the highest figure of each unit."""
    found = {cell.unit: 0.0 for cell in cells}
    for cell in cells:
        found[cell.unit] = max(cell.value or 0.0, found[cell.unit])
    return found


def _share(tops: Mapping[str, float], cell: Cell | None) -> float:
    """Return a cell's figure as a share of the highest one with its unit."""
    top = tops.get(cell.unit, 0.0) if cell is not None else 0.0
    return (cell.value or 0.0) / top if cell is not None and top else 0.0


# -- grids


class _Grid(Struct, frozen=True):
    """Texts and widths of a grid.

    `heads`: widths of the row axes; `lead`: their total; `cell`: width of a figure.
    """

    main: Sequence[Sequence[str]]
    below: Sequence[Sequence[str]]
    heads: Sequence[int]
    lead: int
    cell: int
    tops: Mapping[str, float]  # highest figure by unit


def _grid_of(table: MatrixTable, width: int, look: MatrixStyle) -> _Grid:
    scale = scale_of(table.cells)
    main = [[_main_text(table, cell, scale) for cell in row.cells] for row in table.rows]
    below = [
        [_below(table, cell, scale) if look.details else "" for cell in row.cells]
        for row in table.rows
    ]
    heads = _label_widths(table, look)
    lead = sum(heads) + len(GAP) * len(heads)
    cell = max(len(text) for line in [*main, *below, table.columns] for text in line) + len(GAP)
    if look.details:
        cell = max(cell, min(len(table.across) + len(GAP), max(1, width - lead)))
    return _Grid(main, below, heads, lead, cell, _tops(table.cells))


def _grid_lines(table: MatrixTable, width: int, look: MatrixStyle) -> Iterator[Line]:
    grid = _grid_of(table, width, look)
    room = max(1, (width - grid.lead) // grid.cell)
    for start in range(0, len(table.columns), room):
        if start and look.details:
            yield Line()
        chosen = slice(start, start + room)
        yield from _grid_heads(table, grid, table.columns[chosen], look)
        for place, row in enumerate(table.rows):
            if any(found is not None for found in row.cells[chosen]):
                yield from _grid_row(row, grid, place, chosen, look)


def _label_widths(table: MatrixTable, look: MatrixStyle) -> list[int]:
    """Return the widths of the row axes.

    Without details, the names of both axes share the corner.
    """
    found = [
        max(len(name), *(len(row.labels[place]) for row in table.rows))
        for place, name in enumerate(table.down)
    ]
    if look.details:
        return found
    *others, last = found or [0]
    return [*others, max(last, len(_corner(table)) - sum(others) - len(GAP) * len(others))]


def _corner(table: MatrixTable) -> str:
    """Return the names of the row and column axes as one text: ``bs ↓ numjobs →``."""
    return corner_text(" ".join(table.down), table.across) if table.down else table.across


def _grid_heads(
    table: MatrixTable, grid: _Grid, columns: Sequence[str], look: MatrixStyle
) -> Iterator[Line]:
    """Yield the heading of a grid: axis names and column values.

    Without details it is one line.
    """
    names = _corner(table).ljust(grid.lead)
    if look.details:
        yield Line.of((" " * grid.lead + f"{table.across:>{grid.cell}}", LABEL))
        names = "".join(
            name.ljust(size) + GAP for name, size in zip(table.down, grid.heads, strict=True)
        )
    padding = 2 if table.knees else 0  # figures leave room for the mark
    yield Line.of(
        (
            names + "".join(text.rjust(grid.cell - padding) + " " * padding for text in columns),
            LABEL,
        )
    )


def _grid_row(
    row: TableRow, grid: _Grid, place: int, chosen: slice, look: MatrixStyle
) -> Iterator[Line]:
    labels = "".join(
        text.ljust(size) + GAP for text, size in zip(row.labels or ("",), grid.heads, strict=True)
    )
    runs: list[Run] = [(labels, TEXT)]
    for cell, text in zip(row.cells[chosen], grid.main[place][chosen], strict=True):
        runs += _figure_runs(f"{text:>{grid.cell}}", cell, _share(grid.tops, cell), look)
    yield Line.of(*runs)
    below = grid.below[place][chosen]
    if any(below):
        yield Line.of(
            (" " * len(labels) + "".join(f"{text:>{grid.cell}}" for text in below), LABEL)
        )


def _main_text(table: MatrixTable, cell: Cell | None, scale: FigureScale) -> str:
    if cell is None:
        return ""
    tail = (f" {KNEE}" if cell.key in table.knee_keys else GAP) if table.knees else ""
    spread = f" {_ci(cell):>6}" if table.repeated else ""
    return f"{_value_text(cell, scale)}{spread}{tail}"


def _below(table: MatrixTable, cell: Cell | None, scale: FigureScale) -> str:
    """Return the second line of a cell: spread, efficiency, short measured time, ``INVALID``."""
    if cell is None:
        return ""
    marks = (cell.short and f"in {cell.short}", INVALID if cell.invalid else "")
    said = (_spread(cell, scale), _efficiency(table, cell), *marks)
    text = " ".join(filter(None, said))
    return text + (GAP if table.knees else "") if text else ""


# -- lists


def _list_lines(table: MatrixTable, width: int, look: MatrixStyle) -> Iterator[Line]:
    tops = _tops(table.cells)
    columns = measured(_columns(table, tops, look), table.rows)
    if look.details and len(tops) == 1:

        def bar(row: TableRow) -> Run:
            cell, share = _only(row), _share(tops, _only(row))
            return BAR * max(1 if share > 0 else 0, round(share * rooms[at])), series_role(cell)

        at = len(columns) - 1
        columns.insert(at, Column("", bar, least=LEAST_BAR, most=MOST_BAR, drop=20))
    if not table.axes and not any(_note(table, _only(row))[0] for row in table.rows):
        columns.pop()  # the note: its room is for figures
    rooms = widths(columns, width)
    yield head_line(columns, rooms)
    for row in table.rows:
        here = look.cursor and _only(row).key == look.cursor
        yield table_line(columns, rooms, row, "cursor" if here else "")


def _only(row: TableRow) -> Cell:
    """Return the single cell of a row."""
    return next(cell for cell in row.cells if cell is not None)


def _columns(
    table: MatrixTable, tops: Mapping[str, float], look: MatrixStyle
) -> list[Column[TableRow]]:
    mixed = len({cell.unit for cell in table.cells}) > 1
    scale = scale_of(table.cells)

    def figure(row: TableRow) -> list[Run]:
        cell = _only(row)
        whole = mixed and cell.value is not None
        text = (
            mark_of(cell) + BY_UNIT[cell.unit].with_unit(cell.value)
            if whole
            else _value_text(cell, scale)
        )
        # otherwise a bar shows it
        share = _share(tops, cell) if not look.details and len(tops) == 1 else 0.0
        return _figure_runs(text, cell, share, look)

    def of(text: Callable[[Cell], str]) -> Callable[[TableRow], str]:
        return lambda row: text(_only(row))

    def own(cell: Cell) -> FigureScale:
        return scale_of([cell]) if mixed else scale

    labels: list[Column[TableRow]] = [
        Column(name, lambda row, place=place: row.labels[place], right=_is_number(table, name))  # type: ignore[misc]
        for place, name in enumerate(table.down)
    ]
    several = len({cell.what for cell in table.cells}) > 1
    what = [Column("figure", of(lambda cell: cell.what), role=LABEL, drop=2)] if several else []
    details = (
        Column("mean ±95 %", of(_ci), right=True, role=LABEL, drop=3),
        Column(
            "min–max", of(lambda cell: _spread(cell, own(cell))), right=True, role=LABEL, drop=4
        ),
        Column("n", of(_count), right=True, role=LABEL, drop=7),
        *_rates(table, of),
        Column("mean", of(lambda cell: _short(cell, "mean")), right=True, role=LABEL, drop=6),
        Column("p99", of(lambda cell: _short(cell, "p99")), right=True, role=LABEL, drop=5),
        Column(
            "scaling", of(lambda cell: _efficiency(table, cell)), right=True, role=LABEL, drop=2
        ),
    )
    said = [
        column
        for column in details
        if look.details and any(column.value(row) for row in table.rows)
    ]
    judged = not table.axes and any(cell.verdict for cell in table.cells)
    note: Column[TableRow] = Column(
        "verdict" if judged else "", lambda row: _note(table, _only(row))
    )
    return [*labels, *what, Column(scale.unit or "headline", figure, right=True), *said, note]


def _rates(
    table: MatrixTable, of: Callable[[Callable[[Cell], str]], Callable[[TableRow], str]]
) -> list[Column[TableRow]]:
    """Return IOPS and bandwidth of the members of a suite, unless only headlines have them."""
    rates = (
        Column[TableRow]("IOPS", of(_iops), right=True, role=LABEL, drop=7),
        Column[TableRow](
            "bandwidth",
            of(_bandwidth),
            right=True,
            role=LABEL,
            drop=8,
        ),
    )
    known = any(map(_iops, table.cells)), any(map(_bandwidth, table.cells))
    return [] if table.axes else [rate for rate, adds in zip(rates, known, strict=True) if adds]


def _bandwidth(cell: Cell) -> str:
    is_headline = cell.unit == "bytes_per_s"
    return units.bandwidth(cell.bytes_per_s) if cell.bytes_per_s and not is_headline else ""


def _iops(cell: Cell) -> str:
    if cell.unit == "iops" or not cell.bytes_per_s or not cell.io_bytes:
        return ""
    return METRICS["iops"].text(cell.bytes_per_s / cell.io_bytes)


def _is_number(table: MatrixTable, name: str) -> bool:
    return bool(table.axes) and all(name in cell.numbers for cell in table.cells)


def _short(cell: Cell, name: str) -> str:
    """Return the mean or the p99 of a cell; empty if unknown, and if it is the headline."""
    value_ns = cell.mean_ns if name == "mean" else cell.p99_ns
    is_headline = cell.unit == "ns" and name in cell.what.split()
    return "" if value_ns is None or is_headline else units.latency(value_ns)


# -- below tables


def knee_texts(table: MatrixTable) -> list[str]:
    """Return a sentence for each of the first knees, and the number of further ones."""
    scale = scale_of(table.cells)
    texts = [knee_text(found, scale) for found in table.knees[:KNEES_TOLD]]
    more = len(table.knees) - len(texts)
    return [*texts, *([f"and {units.plural(more, 'more knee')}"] if more else [])]


def knee_text(found: KneeAt, scale: FigureScale) -> str:
    """Return a knee as text.

    ``knee at numjobs=8 with bs=1M (1056 MiB/s, p99 12.1 ms); 16 gives +5.4 %``
    """
    cell = found.cell
    at = (
        f" with {' '.join(f'{name}={text}' for name, text in found.others)}" if found.others else ""
    )
    tail = f", p99 {units.latency(cell.p99_ns)}" if cell.p99_ns is not None else ""
    figure = f"{scale.text(cell.value)} {scale.unit}".rstrip()
    gives = "equal within noise," if found.equal else "gives"
    gain = f"{found.next_text} {gives} {units.share(found.gain, 1, '+')}"
    return f"knee at {found.axis}={cell.texts[found.axis]}{at} ({figure}{tail}); {gain}"


def table_notes(
    tables: Sequence[MatrixTable], bests_shown: Sequence[MatrixTable] = ()
) -> list[str]:
    """Return notes on the tables: legend, repetitions, best points, points within noise of them.

    `bests_shown`: tables whose best points have a table of their own.
    """
    rest = [table for table in tables if not any(table is each for each in bests_shown)]
    blocks = (text for table in rest if table.axes for text in block_texts(table.cells))
    return [
        text
        for text in (legend(tables), _repetitions(tables), *blocks, *map(_equals, rest))
        if text
    ]


def _equals(table: MatrixTable) -> str:
    """Return which points of a sweep are within noise of the best; empty if there are none."""
    # otherwise listed with the best of each block size
    single = table.axes and len(compared(table.cells)) == 1
    best, equal = best_of(table.cells) if single else (None, [])
    if best is None or not equal:
        return ""
    named = ", ".join(cell.name for cell in equal[:EQUALS_TOLD])
    more = f" and {len(equal) - EQUALS_TOLD} more" if len(equal) > EQUALS_TOLD else ""
    by = text_of("sweep", noise_of([best, *equal]), {"apart": APART})
    return f"within noise of the best, {best.name}: {named}{more}; {by}"


def legend(tables: Sequence[MatrixTable]) -> str:
    """Return the legend of the marks in grids.

    Lists show states in words, and each knee has its own line.
    """
    cells = [cell for table in tables if table.is_grid for cell in table.cells]
    invalid = any(cell.invalid and cell.state not in SAID for cell in cells)
    states = [
        state
        for state in SAID
        if any(cell.state == state for cell in cells) or (state == "failed" and invalid)
    ]
    some = any(cell.state == "missing" and cell.values for cell in cells)
    said = {**SAID, "missing": "fewer repetitions than planned"} if some else SAID
    if invalid:
        said = {**said, "failed": f"failed or {INVALID}"}
    parts = [f"{MARKS[state]} {said[state]}" for state in states]
    parts += (
        ["% of linear scaling"] if any(table.is_grid and table.scaling for table in tables) else []
    )
    return "  ".join(parts)


def _repetitions(tables: Sequence[MatrixTable]) -> str:
    """Return how to read figures of several repetitions; empty if there are none."""
    if not any(table.repeated for table in tables):
        return ""
    saved = sum(cell.skipped for table in tables for cell in table.cells)
    tail = f"; not needed: {units.plural(saved, 'repetition')}" if saved else ""
    interval = any(_ci(cell) for table in tables for cell in table.cells)
    mean = ", ± the 95 % confidence interval of their mean" if interval else ""
    return f"figures are medians of repetitions{mean}{tail}"
