"""Parquet: the tables of a run, typed, a file each."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from tui.model.exporter import Exporter, ExportFile, Source
from tui.model.extras import load_library
from tui.model.utc import parse_utc
from tui.results.export.tables import Kind, Table, tables_of

ROWS = 100_000  # of a row group
TYPES = {"text": "string", "int": "int64", "float": "float64", "bool": "bool_"}
MAKES: dict[str, Callable[[Any], object]] = {"double": float, "int64": int, "timestamp": parse_utc}


def _files(source: Source) -> Iterator[ExportFile]:
    pyarrow = load_library("pyarrow", "the format parquet", "parquet")
    parquet = load_library("pyarrow.parquet", "the format parquet", "parquet")
    for table in tables_of(source.record):
        yield ExportFile(f"{table.name}.parquet", _parts(pyarrow, parquet, table, source.record.run_id))


def _parts(arrow: Any, parquet: Any, table: Table, run_id: str) -> Iterator[bytes]:
    fields = [(column.name, _type_of(arrow, column.kind)) for column in table.columns]
    schema = arrow.schema(fields, metadata={"schema": "benchtui.run/1", "run_id": run_id})
    kept, rows = io.BytesIO(), table.rows
    with parquet.ParquetWriter(kept, schema) as writer:
        while part := list(islice(rows, ROWS)):
            columns = zip(*part, strict=True)
            arrays = [
                arrow.array(_typed(values, kind), kind) for values, (_, kind) in zip(columns, fields, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
    yield kept.getvalue()


def _type_of(arrow: Any, kind: Kind) -> Any:
    return arrow.timestamp("ms", tz="UTC") if kind == "time" else getattr(arrow, TYPES[kind])()


def _typed(values: tuple[Any, ...], kind: Any) -> list[Any]:
    """Return values that the type can hold: a count may stand in the record as a float, and the other way round."""
    make = MAKES.get(str(kind).partition("[")[0])
    return [value if value is None or make is None else make(value) for value in values]


PARQUET = Exporter("Parquet, one file a table (DuckDB, pandas, Spark)", _files, binary=True, needs="parquet")
