"""A table to export: typed columns and rows, and the columns common to all tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tui.model.step_record import Scalar

Kind = Literal["text", "int", "float", "bool", "time"]  # time: RFC 3339 in UTC
Row = tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """A column: its name, which ends in the unit, and the type of its values."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A table with rows that are generated on demand: a long run is not in memory twice."""

    name: str
    columns: tuple[ExportColumn, ...]
    make: Callable[[], Iterable[Row]]

    @property
    def rows(self) -> Iterator[Row]:
        """Generate the rows, values in column order."""
        return iter(self.make())


RUN = (
    ExportColumn("run_id", "text"),
    ExportColumn("created_utc", "time"),
    ExportColumn("profile", "text"),
    ExportColumn("target", "text"),
    ExportColumn("run_state", "text"),
    ExportColumn("verdict", "text"),
)


def percentile_name(name: str) -> str:
    """Return a percentile's label as part of a column name: 99.5 becomes ``p99_5``."""
    return "p" + name.replace(".", "_")
