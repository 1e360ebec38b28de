"""The tables of a run as CSV, XLSX and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from tui.export.export_table import ExportColumn, ExportTable, Kind, Row
from tui.export.tables import tables_of
from tui.model.exporter import Exporter, ExportFile, ExportSource, text_parts
from tui.model.extras import load_library
from tui.model.plain_data import parse_utc
from tui.model.step_record import Scalar

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def guarded(value: Scalar) -> Scalar:
    """Return a value that spreadsheets do not execute as a formula.

    A text that looks like a formula gets an apostrophe in front.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _csv_files(source: ExportSource) -> Iterator[ExportFile]:
    for table in tables_of(source.record):
        yield ExportFile(f"{table.name}.csv", text_parts(csv_lines(table)))


def csv_lines(table: ExportTable, end: str = "\r\n") -> Iterator[str]:
    """Yield a table as CSV, row by row."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator=end)
    rows: Iterable[Iterable[Scalar]] = table.rows
    writer.writerow([guarded(column.name) for column in table.columns])
    for row in rows:
        writer.writerow([_cell(value) for value in row])
        yield _drained(buffer)
    yield _drained(buffer)


def _drained(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def _cell(value: Scalar) -> Scalar:
    return str(value).lower() if isinstance(value, bool) else guarded(value)


TABLES = "summary, hosts, jobs, operations, search, points, scaling, series, histogram, telemetry"
CSV = Exporter(
    "tables as text files",
    _csv_files,
    tools="pandas, R, spreadsheets",
    details=f"one file per table: {TABLES}",
)


MOST_ROWS = 1 << 20  # of a sheet, including the heading
WHOLE = "#,##0"
TIME = "yyyy-mm-dd hh:mm:ss.000"
TRUTH = '"true";"true";"false"'  # LibreOffice prints 1 and 0 otherwise
BUTTON = 3  # width of the filter button in a heading, in characters
WIDEST = 48
MEASURED_ROWS = 1000  # rows inspected for a column's width
PRINTED = 260  # characters that fit on a printed page and are still readable


def _xlsx_files(source: ExportSource) -> Iterator[ExportFile]:
    xlsxwriter = load_library("xlsxwriter", "the format xlsx", "xlsx")
    yield ExportFile(
        f"{source.record.run_id}.xlsx", _workbook(xlsxwriter, tables_of(source.record))
    )


def _workbook(library: Any, tables: list[ExportTable]) -> Iterator[bytes]:
    kept = io.BytesIO()
    with library.Workbook(kept, {"constant_memory": True}) as book:
        formats = {
            code: book.add_format({"num_format": code, "align": "left"}) for code in (TIME, TRUTH)
        }
        formats[WHOLE] = book.add_format({"num_format": WHOLE})
        formats |= {
            "heading": book.add_format({"bold": True}),
            "quoted": book.add_format({"quote_prefix": True}),
        }
        for table in tables:
            rows = table.rows
            number = 1
            while (part := list(islice(rows, MOST_ROWS - 1))) or number == 1:
                sheet = book.add_worksheet(table.name if number == 1 else f"{table.name} {number}")
                _lay_out(sheet, table.columns, part)
                _fill(sheet, table.columns, part, formats)
                number += 1
    yield kept.getvalue()


def _lay_out(sheet: Any, columns: Sequence[ExportColumn], rows: list[Row]) -> None:
    widths = [
        _width(column, [row[place] for row in rows[:MEASURED_ROWS]])
        for place, column in enumerate(columns)
    ]
    for place, width in enumerate(widths):
        sheet.set_column(place, place, width)
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, len(rows), len(columns) - 1)
    sheet.set_landscape()
    sheet.repeat_rows(0)
    if sum(widths) <= PRINTED:
        sheet.fit_to_pages(1, 0)


def _width(column: ExportColumn, values: Sequence[Scalar]) -> int:
    shown = max((len(_shown(column, value)) for value in values if value is not None), default=0)
    return min(max(len(column.name) + BUTTON, shown + 1), WIDEST)


def _shown(column: ExportColumn, value: Scalar) -> str:
    if column.kind == "time":
        return TIME
    return f"{value:,.0f}" if _is_whole(column) and isinstance(value, int | float) else str(value)


def _is_whole(column: ExportColumn) -> bool:
    """Return whether values of a column are shown without decimals.

    The default number format switches to powers of ten at 12 digits.
    """
    return column.kind == "int" or (
        column.kind == "float" and column.name.endswith(("_bytes", "_bytes_per_s", "_ns"))
    )


def _fill(
    sheet: Any, columns: Sequence[ExportColumn], rows: list[Row], formats: dict[str, Any]
) -> None:
    for place, column in enumerate(columns):
        sheet.write_string(0, place, column.name, formats["heading"])
    for line, row in enumerate(rows, 1):
        for place, (column, value) in enumerate(zip(columns, row, strict=True)):
            if value is not None:
                _write(sheet, (line, place), column, value, formats)


def _write(
    sheet: Any, at: tuple[int, int], column: ExportColumn, value: Scalar, formats: dict[str, Any]
) -> None:
    when = parse_utc(value) if column.kind == "time" and isinstance(value, str) else None
    if when is not None:
        sheet.write_datetime(*at, when.replace(tzinfo=None), formats[TIME])
    elif isinstance(value, bool):
        sheet.write_boolean(*at, value, formats[TRUTH])
    elif isinstance(value, str):
        sheet.write_string(*at, value, *([formats["quoted"]] if value.startswith(FORMULA) else []))
    else:
        sheet.write_number(*at, value, *([formats[WHOLE]] if _is_whole(column) else []))


XLSX = Exporter(
    "tables in a workbook",
    _xlsx_files,
    tools="Excel, LibreOffice",
    details=f"one sheet per table: {TABLES}",
    binary=True,
    needs="xlsx",
)


ROWS = 100_000  # per row group
TYPES = {"text": "string", "int": "int64", "float": "float64", "bool": "bool_"}
MAKES: dict[str, Callable[[Any], object]] = {"double": float, "int64": int, "timestamp": parse_utc}


def _parquet_files(source: ExportSource) -> Iterator[ExportFile]:
    pyarrow = load_library("pyarrow", "the format parquet", "parquet")
    parquet = load_library("pyarrow.parquet", "the format parquet", "parquet")
    for table in tables_of(source.record):
        yield ExportFile(
            f"{table.name}.parquet", _parts(pyarrow, parquet, table, source.record.run_id)
        )


def _parts(arrow: Any, parquet: Any, table: ExportTable, run_id: str) -> Iterator[bytes]:
    fields = [(column.name, _type_of(arrow, column.kind)) for column in table.columns]
    schema = arrow.schema(fields, metadata={"schema": "benchtui.run/1", "run_id": run_id})
    kept, rows = io.BytesIO(), table.rows
    with parquet.ParquetWriter(kept, schema) as writer:
        while part := list(islice(rows, ROWS)):
            columns = zip(*part, strict=True)
            arrays = [
                arrow.array(_typed(values, kind), kind)
                for values, (_, kind) in zip(columns, fields, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
    yield kept.getvalue()


def _type_of(arrow: Any, kind: Kind) -> Any:
    return arrow.timestamp("ms", tz="UTC") if kind == "time" else getattr(arrow, TYPES[kind])()


def _typed(values: tuple[Any, ...], kind: Any) -> list[Any]:
    """Return values converted to the type of their column.

    A record may contain a count as a float, or a float as an integer.
    """
    make = MAKES.get(str(kind).partition("[")[0])
    return [value if value is None or make is None else make(value) for value in values]


PARQUET = Exporter(
    "typed tables",
    _parquet_files,
    tools="DuckDB, pandas, Spark",
    details=f"one Parquet file per table: {TABLES}",
    binary=True,
    needs="parquet",
)
