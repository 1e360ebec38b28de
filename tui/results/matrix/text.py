"""The matrix of a run as plain text, for `run` and `runs show`."""

from __future__ import annotations

from tui.model.record import RunRecord
from tui.results.matrix.render import KNEE, knee_texts, remarks, table_lines, title_of
from tui.results.matrix.table import MatrixTable, tables_of
from tui.results.record.cells import cells_of_record
from tui.text.line import plain_lines


def matrix_blocks(record: RunRecord, width: int, *, running: bool = False) -> list[list[str]]:
    """Return the tables of a run as blocks of lines; none for a run of one step."""
    tables = tables_of(cells_of_record(record, running=running))
    blocks = [_block(table, width, named=len(tables) > 1) for table in tables]
    return [*blocks, said] if (said := remarks(tables)) else blocks


def _block(table: MatrixTable, width: int, *, named: bool) -> list[str]:
    """Return a table with its title above and its knees below."""
    lines = plain_lines(table_lines(table, width))
    return [title_of(table, profile=named), *lines, *(f"{KNEE} {text}" for text in knee_texts(table))]
