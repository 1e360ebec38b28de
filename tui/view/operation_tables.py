"""Tables of the operations of a metadata benchmark: the figures, what must be known of them, the iterations."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tui.model.step_record import MetadataRecord
from tui.record.headline import FIGURE_WIDTH, NAME_WIDTH, metadata_remarks, metadata_tables
from tui.text.line import LABEL, TEXT, TITLE, VALUE, Line, beside, clip
from tui.view.live_operations import COLOURS

GAP = 4
ITERATIONS_AT = NAME_WIDTH + 4 * FIGURE_WIDTH + GAP
LEAST_ITERATIONS = NAME_WIDTH + 2 * FIGURE_WIDTH


def operation_lines(metadata: MetadataRecord, width: int) -> list[Line]:
    """Return figures, notes and iterations; these stand beside the figures where there is room for two of them."""
    has_room = width - ITERATIONS_AT >= LEAST_ITERATIONS
    tables = metadata_tables(metadata, width - ITERATIONS_AT if has_room else width)
    figures, *iterations = [_table_lines(table, width) for table in tables]
    rates = iterations[0] if iterations else []
    notes = [
        Line.of((part, LABEL))
        for text in metadata_remarks(metadata)
        for part in textwrap.wrap(text, width, subsequent_indent="  ")
    ]
    return [*beside(figures, rates, ITERATIONS_AT), *notes] if has_room else [*figures, *notes, *rates]


def _table_lines(table: Sequence[str], width: int) -> list[Line]:
    header, *rows = table
    lines = [Line.of(*clip([(header, TITLE)], width))]
    for row in rows:
        role = COLOURS.get(row[:NAME_WIDTH].strip(" ~"), TEXT)
        lines.append(Line.of(*clip([(row[:NAME_WIDTH], role), (row[NAME_WIDTH:], VALUE)], width)))
    return lines
