"""A matrix as tables: which point stands in which row and column, where its knees are, how well hosts scale. Pure.

One axis: a row a point. Two axes whose points fill a grid: the first down, the last across. More axes: all but the last
down. Points that fill no grid: a row a point, as they were given. Members of a suite without a sweep: a row each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

from tui.model.matrix import HOSTS_AXIS
from tui.results.matrix.knee import LEAST_POINTS, efficiency, knee
from tui.results.matrix.spread import same
from tui.results.record.cells import Cell


class TableRow(Struct, frozen=True):
    """The values of the axes that go down, and a cell a column; None where no point is."""

    labels: tuple[str, ...]
    cells: tuple[Cell | None, ...]


class KneeAt(Struct, frozen=True):
    """A knee: its cell, the axis it lies on, the values of the other axes, and what the next point gives on top.

    `equal`: the next point cannot be told from it.
    """

    cell: Cell
    axis: str
    others: tuple[tuple[str, str], ...]
    next_text: str
    gain: float
    equal: bool = False


@dataclass(frozen=True)
class MatrixTable:
    """One table. `across` names the axis of the columns; empty: one column, the figure itself."""

    profile: str
    down: tuple[str, ...]
    across: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    axes: tuple[str, ...]
    knees: tuple[KneeAt, ...] = ()
    scaling: Mapping[str, float] = field(default_factory=dict)  # cell key -> efficiency over the number of hosts

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells, row by row."""
        return [cell for row in self.rows for cell in row.cells if cell is not None]

    @property
    def is_grid(self) -> bool:
        """Whether an axis goes across."""
        return bool(self.across)

    @cached_property
    def repeated(self) -> bool:
        """Whether a point was measured more than once."""
        return any(len(cell.values) > 1 for cell in self.cells)

    @cached_property
    def knee_keys(self) -> set[str]:
        """Keys of the cells that are knees."""
        return {found.cell.key for found in self.knees}


def tables_of(cells: Sequence[Cell], *, compact: bool = False) -> list[MatrixTable]:
    """Return the tables of a matrix, in order: one a profile that is swept, one for members that are not.

    `compact`, for few lines: one axis goes across, and two axes make a grid also where it has holes.
    """
    return [_table(group, compact) for group in _groups(cells)]


def _groups(cells: Sequence[Cell]) -> list[list[Cell]]:
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        axes = tuple(cell.texts)
        groups.setdefault((cell.profile, *axes) if axes else (), []).append(cell)
    return list(groups.values())


def _table(cells: Sequence[Cell], compact: bool) -> MatrixTable:
    axes = tuple(cells[0].texts)
    if not axes:
        rows = tuple(TableRow((cell.name,), (cell,)) for cell in cells)
        return MatrixTable("", ("profile",), "", ("",), rows, ())
    scaling = scaling_of(cells, axes)
    if (compact and len(axes) <= 2) or (len(axes) > 1 and _is_full(cells, axes)):
        axis = main_axis(cells, axes)
        knees = tuple(knees_over(cells, axes, axis)) if axis else ()
        return _grid(cells, axes, knees, scaling)
    knees = tuple(found for axis in axes for found in knees_over(cells, axes, axis))
    rows = tuple(TableRow(tuple(cell.texts.values()), (cell,)) for cell in cells)
    return MatrixTable(cells[0].profile, axes, "", ("",), rows, axes, knees, scaling)


def _is_full(cells: Sequence[Cell], axes: Sequence[str]) -> bool:
    """Whether every combination of the values is there, each once."""
    points = {tuple(cell.texts[axis] for axis in axes) for cell in cells}
    combinations = 1
    for axis in axes:
        combinations *= len(_values(cells, axis))
    return len(points) == len(cells) == combinations


def _values(cells: Sequence[Cell], axis: str) -> list[str]:
    """Return the values of an axis as they came; numbers in their order where points were given one by one."""
    return list(dict.fromkeys(cell.texts[axis] for cell in cells))


def _grid(
    cells: Sequence[Cell], axes: tuple[str, ...], knees: tuple[KneeAt, ...], scaling: Mapping[str, float]
) -> MatrixTable:
    *down, across = axes
    columns = _sorted_values(cells, across)
    found = {(tuple(cell.texts[axis] for axis in down), cell.texts[across]): cell for cell in cells}
    labels = dict.fromkeys(place for place, _ in found)
    rows = tuple(TableRow(label, tuple(found.get((label, column)) for column in columns)) for label in labels)
    return MatrixTable(cells[0].profile, tuple(down), across, tuple(columns), rows, axes, knees, scaling)


def _sorted_values(cells: Sequence[Cell], axis: str) -> list[str]:
    """Return the values of an axis, ascending when all are numbers and the points have holes."""
    values = _values(cells, axis)
    if all(axis in cell.numbers for cell in cells) and not _is_full(cells, tuple(cells[0].texts)):
        numbers = {cell.texts[axis]: cell.numbers[axis] for cell in cells}
        return sorted(values, key=lambda text: numbers[text])
    return values


def main_axis(cells: Sequence[Cell], axes: Sequence[str]) -> str | None:
    """Return the axis that a chart goes along: the numeric one with the most values, the last of equals."""
    numeric = [axis for axis in axes if all(axis in cell.numbers for cell in cells) and len(_values(cells, axis)) > 1]
    return max(reversed(numeric), key=lambda axis: len(_values(cells, axis)), default=None)


Others = tuple[tuple[str, str], ...]


def series_over(cells: Sequence[Cell], axes: Sequence[str], axis: str) -> dict[Others, list[Cell]]:
    """Return cells that differ in one axis only, by the values of the others; ascending, those with a figure."""
    series: dict[Others, list[Cell]] = {}
    for cell in cells:
        if axis in cell.numbers and cell.value is not None:
            others = tuple((name, cell.texts[name]) for name in axes if name != axis)
            series.setdefault(others, []).append(cell)
    return {others: sorted(found, key=lambda cell: cell.numbers[axis]) for others, found in series.items()}


def knees_over(cells: Sequence[Cell], axes: Sequence[str], axis: str) -> Iterator[KneeAt]:
    """Yield the knees along an axis; figures that are better when they are small have none.

    A point that is invalid or was cut short is left out; one that cannot be told from the point before it is no knee.
    """
    for others, series in series_over(cells, axes, axis).items():
        found = [cell for cell in series if cell.fit]
        if len(found) < LEAST_POINTS or not found[0].larger_is_better:
            continue
        at = knee([(cell.numbers[axis], cell.value or 0.0) for cell in found])
        if at is not None and not same(found[at.place - 1], found[at.place]):
            before, after = found[at.place], found[at.place + 1]
            equal = len(before.values) > 1 and same(before, after)
            yield KneeAt(before, axis, others, after.texts[axis], at.gain, equal)


def scaling_of(cells: Sequence[Cell], axes: Sequence[str]) -> dict[str, float]:
    """Return by cell how well it scales over hosts: its figure over n times that of one host, or of the fewest."""
    found: dict[str, float] = {}
    if HOSTS_AXIS not in axes:
        return found
    for series in series_over(cells, axes, HOSTS_AXIS).values():
        if len(series) > 1 and series[0].larger_is_better:
            points = [(cell.numbers[HOSTS_AXIS], cell.value or 0.0) for cell in series]
            found |= dict(zip((cell.key for cell in series), efficiency(points), strict=False))
    return found
