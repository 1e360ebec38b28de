"""The matrix of a run as plain text, for `run` and `runs show`."""

from __future__ import annotations

from collections.abc import Sequence

from tui.model.record import RunRecord
from tui.results.matrix.cells import Cell, cells_of_record
from tui.results.matrix.format import KNEE, knee_texts, legend, table_lines, title_of
from tui.results.matrix.table import MatrixTable, tables_of


def matrix_blocks(record: RunRecord, width: int, *, running: bool = False) -> list[list[str]]:
    """Return the tables of a run as blocks of lines; none for a run of one step."""
    cells = cells_of_record(record, running=running)
    tables = tables_of(cells)
    blocks = [table_block(table, width, named=len(tables) > 1) for table in tables]
    remarks = [text for text in (legend(tables), repeated_text(cells)) if text]
    return [*blocks, remarks] if remarks else blocks


def table_block(table: MatrixTable, width: int, *, named: bool) -> list[str]:
    """Return a table with its title above and its knees below."""
    lines = ["".join(piece.text for piece in line).rstrip() for line in table_lines(table, width)]
    return [title_of(table, profile=named), *lines, *(f"{KNEE} {text}" for text in knee_texts(table))]


def repeated_text(cells: Sequence[Cell]) -> str:
    """Return how to read figures of repetitions; an empty text when there are none."""
    if all(len(cell.values) < 2 for cell in cells):
        return ""
    saved = sum(cell.skipped for cell in cells)
    tail = f"; {saved} repetitions were not needed" if saved else ""
    return f"figures are medians of repetitions, ± the 95 % confidence interval of the mean{tail}"
