"""The best points of a sweep as a table (a row per value of the other axes, with its knee), and the
tables of a run as text with what is below them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.metrics import units
from tui.record.cells import Cell, cells_of_record
from tui.record.matrix import (
    KneeAt,
    MatrixTable,
    best_of,
    main_axis,
    series_over,
    tables_of,
)
from tui.text.line import GOOD, LABEL, TEXT, VALUE, Line, Run, plain_lines
from tui.text.table import Column, text_table
from tui.view.document import Cell as DocumentCell
from tui.view.document import DocumentColumn, DocumentTable
from tui.view.matrix import KNEE, knee_texts, scale_of, table_lines, table_notes, title_of

if TYPE_CHECKING:
    from tui.model.record import RunRecord

MOST_ROWS = 8  # more are no summary


class BestRow(Struct, frozen=True):
    """The best point along the main axis, the points within noise of it, and the knee if any."""

    others: tuple[tuple[str, str], ...]
    best: Cell
    equal: Sequence[Cell]
    knee: KneeAt | None


def best_rows(table: MatrixTable) -> list[BestRow]:
    """Return the best point along the main axis for each combination of values of the other axes.

    Empty for fewer than two or more than `MOST_ROWS` combinations, and if there are knees along
    other axes.
    """
    axis = main_axis(table.cells, table.axes)
    if axis is None or any(found.axis != axis for found in table.knees):
        return []
    knees = {found.others: found for found in table.knees}
    rows = []
    for others, cells in series_over(table.cells, table.axes, axis).items():
        best, equal = best_of(cells)
        if best is not None and len(cells) > 1:
            rows.append(BestRow(others, best, equal, knees.get(others)))
    return rows if 1 < len(rows) <= MOST_ROWS else []


def best_lines(table: MatrixTable, width: int) -> list[Line]:
    """Return the table of the best points; empty if there are none."""
    rows, axis = best_rows(table), main_axis(table.cells, table.axes)
    if not rows or axis is None:
        return []
    lines = text_table(_columns(table, rows, axis), rows, width)
    note = _note(rows)
    return [*lines, Line.of((note, LABEL))] if note else lines


def best_table(table: MatrixTable) -> DocumentTable | None:
    """Return the table of the best points for a report; None if there are none."""
    rows, axis = best_rows(table), main_axis(table.cells, table.axes)
    if not rows or axis is None:
        return None
    columns = _columns(table, rows, axis)
    heads = [DocumentColumn(column.title, column.right) for column in columns]
    cells = [[_cell(column.runs(row)) for column in columns] for row in rows]
    return DocumentTable("Best points", heads, cells, _note(rows))


def _cell(runs: Sequence[Run]) -> DocumentCell:
    """Return a cell for a report, which knows no role for values."""
    text, role = "".join(text for text, _ in runs), runs[0][1] if runs else TEXT
    return text, TEXT if role == VALUE else role


def _note(rows: Sequence[BestRow]) -> str:
    """Return what a range of best points means; empty if there is none."""
    return "a range: equally good within noise" if any(row.equal for row in rows) else ""


def notes_below(tables: Sequence[MatrixTable]) -> list[str]:
    """Return the notes below the tables of a run that no table of best points contains."""
    return table_notes(tables, [table for table in tables if best_rows(table)])


def matrix_blocks(record: RunRecord, width: int, *, running: bool = False) -> list[list[str]]:
    """Return the tables of a run, and the notes on them, as blocks of lines."""
    tables = tables_of(cells_of_record(record, running=running))
    blocks = [_block(table, width, named=len(tables) > 1) for table in tables]
    return [*blocks, said] if (said := notes_below(tables)) else blocks


def _block(table: MatrixTable, width: int, *, named: bool) -> list[str]:
    """Return a table with its title above and its best points or knees below."""
    lines = plain_lines(table_lines(table, width))
    bests = plain_lines(best_lines(table, width))
    below = ["", *bests] if bests else [f"{KNEE} {text}" for text in knee_texts(table)]
    return [title_of(table, profile=named), *lines, *below]


def _columns(table: MatrixTable, rows: Sequence[BestRow], axis: str) -> list[Column[BestRow]]:
    scale = scale_of(table.cells)
    most = max((row.best.bytes_per_s or 0.0 for row in rows), default=0.0)

    def bandwidth(row: BestRow) -> Run:
        moved = row.best.bytes_per_s
        return units.bandwidth(moved), VALUE if moved and moved == most else TEXT

    columns: list[Column[BestRow]] = [
        Column(name, lambda row, at=at: row.others[at][1])  # type: ignore[misc]
        for at, (name, _) in enumerate(rows[0].others)
    ]
    columns += [
        Column(f"best {axis}", lambda row: _range(row, axis), right=True, role=VALUE),
        Column(scale.unit or "figure", lambda row: scale.text(row.best.value), right=True),
    ]
    if table.cells[0].unit == "iops" and most:
        columns.append(Column("bandwidth", bandwidth, right=True, drop=2))
    if any(row.knee is not None for row in rows):
        columns += [
            Column(f"{KNEE} knee", lambda row: _knee(row, axis), right=True, role=GOOD),
            Column("vs knee", _vs_knee, right=True, drop=1, role=LABEL),
        ]
    return columns


def _range(row: BestRow, axis: str) -> str:
    """Return the value of the best point, or the range that is equally good: ``8–16``."""
    found = sorted((row.best, *row.equal), key=lambda cell: cell.numbers[axis])
    ends = dict.fromkeys((found[0].texts[axis], found[-1].texts[axis]))
    return "–".join(ends)


def _knee(row: BestRow, axis: str) -> str:
    return row.knee.cell.texts[axis] if row.knee is not None else ""


def _vs_knee(row: BestRow) -> str:
    """Return how much higher the best point is than the knee: ``+6.5 %``."""
    at = row.knee.cell.value if row.knee is not None else None
    return units.share((row.best.value or 0.0) / at - 1, 1, "+") if at else ""
