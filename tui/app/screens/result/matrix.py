"""The matrix part of the Result page: tables with a cursor, knees, the chart of the cursor's table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.metrics import units
from tui.metrics.registry import BY_UNIT, DIRECTIONS
from tui.metrics.repeat import ci_tells
from tui.model.plan import Headline
from tui.results.matrix.render import KNEE, SAID, Look, knee_texts, remarks, series_role, table_lines, title_of
from tui.results.matrix.scale import scale_of
from tui.results.matrix.table import MatrixTable, tables_of
from tui.results.record.cells import Cell, cells_of_record
from tui.results.text.matrix_chart import table_chart
from tui.text.line import LABEL, TEXT, VALUE, Line, Run, beside, clip, labelled, rule

if TYPE_CHECKING:
    from tui.model.record import RunRecord
    from tui.results.text.chart import ChartMetric

LATENCY_SHOWN = 99.0  # percentile that the l key puts into the tables
BESIDE = 110  # columns from which a chart stands beside its table
GUTTER = 3


@dataclass(frozen=True, slots=True)
class Matrix:
    """The tables of a run, and the cell under the cursor."""

    tables: tuple[MatrixTable, ...]
    cursor: str
    metric: ChartMetric | None = None  # a figure in place of the headline
    colors: bool = True  # the terminal tells curves apart by colour

    @property
    def cells(self) -> list[Cell]:
        """All cells."""
        return [cell for table in self.tables for cell in table.cells]

    @property
    def cell(self) -> Cell:
        """The cell under the cursor."""
        return next(cell for cell in self.cells if cell.key == self.cursor)

    @property
    def table(self) -> MatrixTable:
        """The table that the cursor is in."""
        return next(table for table in self.tables if any(cell.key == self.cursor for cell in table.cells))


def matrix_of(
    record: RunRecord, cursor: str = "", metric: ChartMetric | None = None, *, colors: bool = True
) -> Matrix | None:
    """Return the matrix of a run, the cursor on the best point unless said otherwise; None when it has none."""
    if record.matrix is None or not any(step.cell for step in record.steps):
        return None
    cells = cells_of_record(record, shown_figure(record, metric))
    if not cells:
        return None
    keys = [cell.key for cell in cells]
    at = cursor if cursor in keys else best_of(record, cells)
    return Matrix(tuple(tables_of(cells)), at, metric, colors)


def shown_figure(record: RunRecord, metric: ChartMetric | None) -> Headline | None:
    """Return the figure that a metric stands for, in the direction that the run is about; None: the headline itself."""
    if metric is None:
        return None
    named = (cell.headline.direction for cell in record.matrix.cells if cell.headline) if record.matrix else iter(())
    direction = next(named, "read")
    found = direction if direction in DIRECTIONS else "read"
    return Headline(metric, found, LATENCY_SHOWN if metric == "latency" else None)


def best_of(record: RunRecord, cells: Sequence[Cell]) -> str:
    """Return the key of the cell that the run's headline comes from, else of the first one."""
    step = record.headline.step if record.headline is not None else None
    return next((cell.key for cell in cells if step in cell.steps), cells[0].key)


def moved(matrix: Matrix, rows: int, columns: int) -> str:
    """Return the key of the cell so many rows down and columns to the right; holes are passed over."""
    lines = [row.cells for table in matrix.tables for row in table.rows]
    y, x = next((y, x) for y, line in enumerate(lines) for x, c in enumerate(line) if c and c.key == matrix.cursor)
    if columns:
        step = 1 if columns > 0 else -1
        places = range(x + step, len(lines[y]) if step > 0 else -1, step)
        return next((cell.key for place in places if (cell := lines[y][place]) is not None), matrix.cursor)
    step = 1 if rows > 0 else -1
    found = matrix.cursor
    for place in range(y + step, len(lines) if step > 0 else -1, step):
        if (nearest := _nearest(lines[place], x)) is not None:
            found, rows = nearest.key, rows - step
            if not rows:
                break
    return found


def _nearest(line: Sequence[Cell | None], x: int) -> Cell | None:
    """Return the cell of a row that is nearest to a column."""
    known = [(abs(place - x), cell) for place, cell in enumerate(line) if cell is not None]
    return min(known, key=lambda each: each[0])[1] if known else None


def matrix_lines(matrix: Matrix, width: int, chart_height: int) -> list[Line]:
    """Return the tables, what is under the cursor, the knees, and the chart: beside its table where there is room."""
    lines: list[Line] = []
    is_broad = width >= BESIDE
    for place, table in enumerate(matrix.tables):
        lines += [Line()] if place else []
        hint = "arrows choose   Enter opens" if not place else ""
        lines.append(rule(title_of(table, profile=len(matrix.tables) > 1), hint, width))
        here = table is matrix.table
        if here and is_broad:
            lines += table_and_chart(matrix, table, width, chart_height)
        else:
            lines += table_part(matrix, table, width)
    said = [Line.of(*clip([(text, LABEL)], width)) for text in remarks(matrix.tables)]
    lines += [Line(), *said] if said else []
    chart = [] if is_broad else table_chart(matrix.table, width, chart_height, coloured=matrix.colors)
    return [*lines, *([Line(), rule("Chart", "", width), *chart] if chart else [])]


def table_part(matrix: Matrix, table: MatrixTable, width: int) -> list[Line]:
    """Return a table, a line on its cell under the cursor, and its knees."""
    lines = table_lines(table, width, Look(cursor=matrix.cursor))
    if table is matrix.table:
        lines.append(Line.of(*cell_runs(matrix.cell, table, width)))
    for text in knee_texts(table):
        lines += labelled([(f"{KNEE} ", "good")], [(text, TEXT)], width)
    return lines


def table_and_chart(matrix: Matrix, table: MatrixTable, width: int, chart_height: int) -> list[Line]:
    """Return a table with its chart at its right; below it when the table needs the room."""
    half = width // 2 - GUTTER
    widest = max(line.width for line in table_lines(table, half))
    left = table_part(matrix, table, half)
    chart = table_chart(table, width - half - GUTTER, max(chart_height, len(left)), coloured=matrix.colors)
    if widest > half or not chart:
        return [*table_part(matrix, table, width), *table_chart(table, width, chart_height, coloured=matrix.colors)]
    return beside(left, chart, half + GUTTER)


def cell_runs(cell: Cell, table: MatrixTable, width: int) -> list[Run]:
    """Return one line on the cell under the cursor: name, figure, spread, latency, state."""
    scale = scale_of([cell])
    parts = [("› ", "accent"), (f"{cell.name}  ", VALUE), (BY_UNIT[cell.unit].with_unit(cell.value), series_role(cell))]
    said: list[str] = []
    if len(cell.values) > 1:
        said.append(f"{len(cell.values)} times {scale.text(min(cell.values))}–{scale.text(max(cell.values))}")
    if cell.ci is not None and ci_tells(cell.values, cell.ci):
        said.append(f"±{units.share(cell.ci, 1)}")
    if cell.skipped:
        said.append(f"{cell.skipped} not needed")
    if cell.mean_ns is not None:
        said.append(f"mean {units.latency(cell.mean_ns)}")
    if cell.p99_ns is not None:
        said.append(f"p99 {units.latency(cell.p99_ns)}")
    if cell.key in table.scaling:
        said.append(f"{units.share(table.scaling[cell.key])} of linear")
    if cell.state in SAID:
        said.append(SAID[cell.state])
    return clip([*parts, *((f"  {text}", TEXT) for text in said)], width)
