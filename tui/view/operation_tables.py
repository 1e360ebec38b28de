"""Tables of the operations of a metadata benchmark: figures, notes, iterations."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tui.model.step_record import MetadataRecord
from tui.record.headline import FIGURE_WIDTH, metadata_remarks, metadata_tables, name_width
from tui.text.line import LABEL, TEXT, TITLE, VALUE, Line, beside, clip
from tui.view.live_operations import colour_of

GAP = 4


def operation_lines(metadata: MetadataRecord, width: int) -> list[Line]:
    """Return figures, notes and iterations, the latter next to the figures if two of them fit."""
    wide = name_width(metadata)
    iterations_at = wide + 4 * FIGURE_WIDTH + GAP
    has_room = width - iterations_at >= wide + 2 * FIGURE_WIDTH
    tables = metadata_tables(metadata, width - iterations_at if has_room else width)
    figures, *iterations = [_table_lines(table, width, wide) for table in tables]
    rates = iterations[0] if iterations else []
    notes = [
        Line.of((part, LABEL))
        for text in metadata_remarks(metadata)
        for part in textwrap.wrap(text, width, subsequent_indent="  ")
    ]
    return (
        [*beside(figures, rates, iterations_at), *notes] if has_room else [*figures, *notes, *rates]
    )


def _table_lines(table: Sequence[str], width: int, wide: int) -> list[Line]:
    header, *rows = table
    lines = [Line.of(*clip([(header, TITLE)], width))]
    for row in rows:
        role = colour_of(row[:wide].strip(" ~"), TEXT)
        lines.append(Line.of(*clip([(row[:wide], role), (row[wide:], VALUE)], width)))
    return lines
