"""CSV by RFC 4180, one file a table: UTF-8, units in column names, '.' as decimal point, unknown is empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from tui.model.exporter import Exporter, ExportFile, Source, text_parts
from tui.model.step_record import Scalar
from tui.results.export.tables import Table, tables_of

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def guarded(value: Scalar) -> Scalar:
    """Return a value that no spreadsheet takes for a formula: such a text gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _files(source: Source) -> Iterator[ExportFile]:
    for table in tables_of(source.record):
        yield ExportFile(f"{table.name}.csv", text_parts(_lines(table)))


def _lines(table: Table) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    rows: Iterable[Iterable[Scalar]] = table.rows
    writer.writerow([guarded(column.name) for column in table.columns])
    for row in rows:
        writer.writerow([_cell(value) for value in row])
        yield _taken(buffer)
    yield _taken(buffer)


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def _cell(value: Scalar) -> Scalar:
    return str(value).lower() if isinstance(value, bool) else guarded(value)


CSV = Exporter(
    "tidy tables: summary, hosts, jobs, operations, search, points, scaling, series, histogram, telemetry (pandas)",
    _files,
)
