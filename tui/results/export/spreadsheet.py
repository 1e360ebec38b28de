"""XLSX: a sheet a table. Texts are written as texts, so that none is a formula."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tui.model.exporter import Exporter, ExportFile, Source, missing_library
from tui.model.step_record import Scalar
from tui.results.export.tables import Table, tables_of
from tui.results.export.tidy_csv import FORMULA

MOST_ROWS = 1 << 20  # of a sheet, the heading counted


def _files(source: Source) -> Iterator[ExportFile]:
    try:
        import xlsxwriter
    except ImportError as error:
        raise missing_library("XlsxWriter", "xlsx") from error
    yield ExportFile(f"{source.record.run_id}.xlsx", _workbook(xlsxwriter, tables_of(source.record)))


def _workbook(library: Any, tables: list[Table]) -> Iterator[bytes]:
    kept = io.BytesIO()
    with library.Workbook(kept, {"constant_memory": True}) as book:
        heading, quoted = book.add_format({"bold": True}), book.add_format({"quote_prefix": True})
        for table in tables:
            rows = table.rows
            number = 1
            while (part := list(islice(rows, MOST_ROWS - 1))) or number == 1:
                sheet = book.add_worksheet(table.name if number == 1 else f"{table.name} {number}")
                _fill(sheet, table, part, heading, quoted)
                number += 1
    yield kept.getvalue()


def _fill(sheet: Any, table: Table, rows: list[tuple[Scalar, ...]], heading: object, quoted: object) -> None:
    sheet.freeze_panes(1, 0)
    for place, column in enumerate(table.columns):
        sheet.write_string(0, place, column.name, heading)
    for line, row in enumerate(rows, 1):
        for place, value in enumerate(row):
            if isinstance(value, bool):
                sheet.write_boolean(line, place, value)
            elif isinstance(value, str):
                sheet.write_string(line, place, value, *([quoted] if value.startswith(FORMULA) else []))
            elif value is not None:
                sheet.write_number(line, place, value)


XLSX = Exporter("a workbook, one sheet a table (Excel, LibreOffice)", _files, binary=True, needs="xlsx")
