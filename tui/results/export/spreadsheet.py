"""XLSX: a sheet a table. Numbers are numbers, times are times, and texts are texts, so that none is a formula."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from tui.model.exporter import Exporter, ExportFile, Source
from tui.model.extras import load_library
from tui.model.step_record import Scalar
from tui.model.utc import parse_utc
from tui.results.export.tables import Column, Row, Table, tables_of
from tui.results.export.tidy_csv import FORMULA

MOST_ROWS = 1 << 20  # of a sheet, the heading counted
WHOLE = "#,##0"
TIME = "yyyy-mm-dd hh:mm:ss.000"
TRUTH = '"true";"true";"false"'  # LibreOffice prints 1 and 0 without
BUTTON = 3  # characters that the button of a filter takes of a heading
WIDEST = 48
LOOKED_AT = 1000  # rows, for the width of a column
PRINTED = 260  # characters that a page holds beside each other and that can still be read


def _files(source: Source) -> Iterator[ExportFile]:
    xlsxwriter = load_library("xlsxwriter", "the format xlsx", "xlsx")
    yield ExportFile(f"{source.record.run_id}.xlsx", _workbook(xlsxwriter, tables_of(source.record)))


def _workbook(library: Any, tables: list[Table]) -> Iterator[bytes]:
    kept = io.BytesIO()
    with library.Workbook(kept, {"constant_memory": True}) as book:
        formats = {code: book.add_format({"num_format": code, "align": "left"}) for code in (TIME, TRUTH)}
        formats[WHOLE] = book.add_format({"num_format": WHOLE})
        formats |= {"heading": book.add_format({"bold": True}), "quoted": book.add_format({"quote_prefix": True})}
        for table in tables:
            rows = table.rows
            number = 1
            while (part := list(islice(rows, MOST_ROWS - 1))) or number == 1:
                sheet = book.add_worksheet(table.name if number == 1 else f"{table.name} {number}")
                _lay_out(sheet, table.columns, part)
                _fill(sheet, table.columns, part, formats)
                number += 1
    yield kept.getvalue()


def _lay_out(sheet: Any, columns: Sequence[Column], rows: list[Row]) -> None:
    widths = [_width(column, [row[place] for row in rows[:LOOKED_AT]]) for place, column in enumerate(columns)]
    for place, width in enumerate(widths):
        sheet.set_column(place, place, width)
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, len(rows), len(columns) - 1)
    sheet.set_landscape()
    sheet.repeat_rows(0)
    if sum(widths) <= PRINTED:
        sheet.fit_to_pages(1, 0)


def _width(column: Column, values: Sequence[Scalar]) -> int:
    shown = max((len(_shown(column, value)) for value in values if value is not None), default=0)
    return min(max(len(column.name) + BUTTON, shown + 1), WIDEST)


def _shown(column: Column, value: Scalar) -> str:
    if column.kind == "time":
        return TIME
    return f"{value:,.0f}" if _is_whole(column) and isinstance(value, int | float) else str(value)


def _is_whole(column: Column) -> bool:
    """Tell whether values are shown without decimals; the usual format shows from 12 digits on powers of ten."""
    return column.kind == "int" or (column.kind == "float" and column.name.endswith(("_bytes", "_bytes_per_s", "_ns")))


def _fill(sheet: Any, columns: Sequence[Column], rows: list[Row], formats: dict[str, Any]) -> None:
    for place, column in enumerate(columns):
        sheet.write_string(0, place, column.name, formats["heading"])
    for line, row in enumerate(rows, 1):
        for place, (column, value) in enumerate(zip(columns, row, strict=True)):
            if value is not None:
                _write(sheet, (line, place), column, value, formats)


def _write(sheet: Any, at: tuple[int, int], column: Column, value: Scalar, formats: dict[str, Any]) -> None:
    when = parse_utc(value) if column.kind == "time" and isinstance(value, str) else None
    if when is not None:
        sheet.write_datetime(*at, when.replace(tzinfo=None), formats[TIME])
    elif isinstance(value, bool):
        sheet.write_boolean(*at, value, formats[TRUTH])
    elif isinstance(value, str):
        sheet.write_string(*at, value, *([formats["quoted"]] if value.startswith(FORMULA) else []))
    else:
        sheet.write_number(*at, value, *([formats[WHOLE]] if _is_whole(column) else []))


XLSX = Exporter("a workbook, one sheet a table (Excel, LibreOffice)", _files, binary=True, needs="xlsx")
