"""Tables of a matrix: rows, columns, knees, scaling over hosts, points that differ by more than
noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import log2
from typing import Literal

from msgspec import Struct

from tui.metrics import units
from tui.model.criteria import default
from tui.model.plain import HOSTS_AXIS
from tui.record.cells import Cell

LEAST_GAIN = 0.10  # throughput per doubling of the axis
LEAST_POINTS = 4
Point = tuple[float, float]


class MatrixKnee(Struct, frozen=True):
    """A knee: `place` is the index of its point, `gain` the relative increase from it to the next
    point.
    """

    place: int
    gain: float


def knee(points: Sequence[Point]) -> MatrixKnee | None:
    """Return the knee of points (x, y), x positive and ascending; None if there is none or too few
    points.
    """
    ascending = all(before[0] < after[0] for before, after in pairwise(points))
    if len(points) < LEAST_POINTS or not ascending or any(x <= 0 or y <= 0 for x, y in points):
        return None
    place = next(index for index in range(len(points)) if not _still_gains(points, index))
    if place in (0, len(points) - 1):
        return None
    return MatrixKnee(place, points[place + 1][1] / points[place][1] - 1)


def doublings(first: Point, second: Point) -> float:
    """Return the number of doublings of y per doubling of x: 1 is proportional, 0 is flat."""
    return (log2(second[1]) - log2(first[1])) / (log2(second[0]) - log2(first[0]))


def _still_gains(points: Sequence[Point], index: int) -> bool:
    return any(
        doublings(points[index], later) >= log2(1 + LEAST_GAIN) for later in points[index + 1 :]
    )


def efficiency(points: Sequence[Point]) -> list[float]:
    """Return the scaling efficiency of each point: its value divided by linear scaling from the
    lowest x.
    """
    if not points or points[0][1] <= 0:
        return []
    x0, y0 = points[0]
    return [(y / y0) / (x / x0) for x, y in points]


APART = default("repetitions.spread")  # assumed noise of a point measured once


def span(cell: Cell) -> tuple[float, float]:
    """Return the lowest and highest value of a point; for a single value, the range of assumed
    noise around it.
    """
    if len(cell.values) > 1:
        return min(cell.values), max(cell.values)
    value = cell.value or 0.0
    return value * (1 - APART / 2), value * (1 + APART / 2)


def same(one: Cell, other: Cell) -> bool:
    """Return whether two points differ by no more than noise."""
    (low, high), (from_, to) = span(one), span(other)
    return low <= to and from_ <= high


def best_of(cells: Sequence[Cell]) -> tuple[Cell | None, list[Cell]]:
    """Return the best valid point, and the points within noise of it.

    None and empty if no point is valid, or if the points have different units.
    """
    counted = [cell for cell in cells if cell.fit and cell.value is not None]
    if not counted or len({cell.unit for cell in counted}) > 1:
        return None, []
    sign = 1 if counted[0].larger_is_better else -1
    best = max(counted, key=lambda cell: sign * (cell.value or 0.0))
    return best, [cell for cell in counted if cell is not best and same(cell, best)]


def noise_of(cells: Sequence[Cell]) -> Literal["assumed", "repetitions"]:
    """Return whether the noise of these points is assumed, or known from repetitions."""
    return "assumed" if all(len(cell.values) < 2 for cell in cells) else "repetitions"


class TableRow(Struct, frozen=True):
    """One row: values of the row axes, and one cell per column; None where there is no point."""

    labels: tuple[str, ...]
    cells: tuple[Cell | None, ...]


class KneeAt(Struct, frozen=True):
    """A knee: its cell, its axis, the values of the other axes, and the relative gain of the next
    point.

    `equal`: the next point is within noise of it.
    """

    cell: Cell
    axis: str
    others: tuple[tuple[str, str], ...]
    next_text: str
    gain: float
    equal: bool = False


@dataclass(frozen=True)
class MatrixTable:
    """One table. `across` is the column axis; if empty, the only column is the figure."""

    profile: str
    down: tuple[str, ...]
    across: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    axes: tuple[str, ...]
    knees: tuple[KneeAt, ...] = ()
    # cell key -> efficiency over the number of hosts
    scaling: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells in row order."""
        return [cell for row in self.rows for cell in row.cells if cell is not None]

    @property
    def is_grid(self) -> bool:
        """Whether the table has a column axis."""
        return bool(self.across)

    @cached_property
    def repeated(self) -> bool:
        """Whether any point was measured more than once."""
        return any(len(cell.values) > 1 for cell in self.cells)

    @cached_property
    def knee_keys(self) -> set[str]:
        """Keys of the cells that are knees."""
        return {found.cell.key for found in self.knees}


def tables_of(cells: Sequence[Cell], *, compact: bool = False) -> list[MatrixTable]:
    """Return the tables of a matrix in order: one per swept profile, and one for members without a
    sweep.

    `compact` saves lines: one axis becomes the columns, and two axes become a grid even if some
    points are missing.
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
    """Return whether every combination of values exists exactly once."""
    points = {tuple(cell.texts[axis] for axis in axes) for cell in cells}
    combinations = 1
    for axis in axes:
        combinations *= len(_values(cells, axis))
    return len(points) == len(cells) == combinations


def _values(cells: Sequence[Cell], axis: str) -> list[str]:
    """Return the distinct values of an axis in plan order."""
    return list(dict.fromkeys(cell.texts[axis] for cell in cells))


def _grid(
    cells: Sequence[Cell],
    axes: tuple[str, ...],
    knees: tuple[KneeAt, ...],
    scaling: Mapping[str, float],
) -> MatrixTable:
    *down, across = axes
    columns = _sorted_values(cells, across)
    found = {(tuple(cell.texts[axis] for axis in down), cell.texts[across]): cell for cell in cells}
    labels = dict.fromkeys(place for place, _ in found)
    rows = tuple(
        TableRow(label, tuple(found.get((label, column)) for column in columns)) for label in labels
    )
    return MatrixTable(
        cells[0].profile, tuple(down), across, tuple(columns), rows, axes, knees, scaling
    )


def _sorted_values(cells: Sequence[Cell], axis: str) -> list[str]:
    """Return the values of an axis, sorted if all are numbers and some combinations are missing."""
    values = _values(cells, axis)
    if all(axis in cell.numbers for cell in cells) and not _is_full(cells, tuple(cells[0].texts)):
        numbers = {cell.texts[axis]: cell.numbers[axis] for cell in cells}
        return sorted(values, key=lambda text: numbers[text])
    return values


def main_axis(cells: Sequence[Cell], axes: Sequence[str]) -> str | None:
    """Return the axis for charts: the numeric one with the most values, the last one in a tie; None
    if there is none.
    """
    numeric = [
        axis
        for axis in axes
        if all(axis in cell.numbers for cell in cells) and len(_values(cells, axis)) > 1
    ]
    return max(reversed(numeric), key=lambda axis: len(_values(cells, axis)), default=None)


Others = tuple[tuple[str, str], ...]


def series_over(cells: Sequence[Cell], axes: Sequence[str], axis: str) -> dict[Others, list[Cell]]:
    """Return the cells with a figure in ascending order along one axis, grouped by the values of
    the other axes.
    """
    series: dict[Others, list[Cell]] = {}
    for cell in cells:
        if axis in cell.numbers and cell.value is not None:
            others = tuple((name, cell.texts[name]) for name in axes if name != axis)
            series.setdefault(others, []).append(cell)
    return {
        others: sorted(found, key=lambda cell: cell.numbers[axis])
        for others, found in series.items()
    }


def knees_over(cells: Sequence[Cell], axes: Sequence[str], axis: str) -> Iterator[KneeAt]:
    """Yield the knees along an axis; nothing if a smaller figure is better.

    Skips invalid and shortened points. A point within noise of the previous one is not a knee.
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
    """Return the scaling efficiency by cell: its figure relative to linear scaling from the fewest
    hosts.

    Empty without an axis over hosts, or if a smaller figure is better.
    """
    found: dict[str, float] = {}
    if HOSTS_AXIS not in axes:
        return found
    for series in series_over(cells, axes, HOSTS_AXIS).values():
        if len(series) > 1 and series[0].larger_is_better:
            points = [(cell.numbers[HOSTS_AXIS], cell.value or 0.0) for cell in series]
            found |= dict(zip((cell.key for cell in series), efficiency(points), strict=False))
    return found


SAME = 1.1  # actual mean sizes of mixed block sizes vary a little
BY_NATURE = ("iops", "ns")  # in these units the smallest blocks always win
LINE = 78


def by_block(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Group the points by mean I/O size, ascending; one group if all sizes are equal."""
    groups: list[list[Cell]] = []
    for cell in sorted(
        (cell for cell in cells if cell.io_bytes), key=lambda cell: cell.io_bytes or 0.0
    ):
        if not groups or (cell.io_bytes or 0.0) > SAME * (groups[-1][0].io_bytes or 0.0):
            groups.append([])
        groups[-1].append(cell)
    return groups if len(groups) > 1 else [list(cells)]


def of_which(cells: Sequence[Cell], step: int | None, unit: str) -> str:
    """Return the group in which a step's point is the best: ``best of 6 points``, ``best of 3
    points with 4 KiB blocks``.

    `unit` is the unit of the compared figure.
    """
    groups = by_block(cells) if unit in BY_NATURE else []
    own = next((group for group in groups if any(step in cell.steps for cell in group)), cells)
    if len(groups) < 2 or own is cells:
        return f"best of {len(cells)} points"
    blocks = f"{units.size(own[0].io_bytes)} blocks"
    return (
        f"best of {len(own)} points with {blocks}"
        if len(own) > 1
        else f"with {blocks}, one of {len(groups)} sizes"
    )


def compared(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return groups of points to compare with each other: by block size, if it determines the
    figure.
    """
    alike = {cell.unit for cell in cells} if cells else set()
    return by_block(cells) if len(alike) == 1 and alike <= {*BY_NATURE} else [list(cells)]


def block_texts(cells: Sequence[Cell]) -> list[str]:
    """Return the best point of each block size, and the point with the most bandwidth, as text.

    Empty if all block sizes are equal.
    """
    groups = compared(cells)
    if len(groups) < 2:
        return []
    what = "IOPS" if cells[0].unit == "iops" else "latencies"
    bests = [text for group in groups if len(group) > 1 and (text := _best_text(group))]
    lines = _in_lines(bests) if bests else [f"{what} of different block sizes cannot be compared"]
    moved = [cell for cell in cells if cell.fit and cell.bytes_per_s]
    if cells[0].unit == "iops" and moved:
        most = max(moved, key=lambda cell: cell.bytes_per_s or 0.0)
        lines.append(f"most bandwidth: {most.name} with {units.bandwidth(most.bytes_per_s)}")
    return lines


def _best_text(group: Sequence[Cell]) -> str:
    best, equal = best_of(group)
    as_good = f" ({len(equal)} equally good)" if equal else ""
    return f"{best.name}{as_good}" if best is not None else ""


def _in_lines(bests: Sequence[str]) -> list[str]:
    """Return the points as separate lines, each readable on its own."""
    lines = [f"best of each block size: {bests[0]}"]
    for text in bests[1:]:
        if len(lines[-1]) + len(text) + 2 > LINE:
            lines.append(f"larger blocks: {text}")
        else:
            lines[-1] += f"; {text}"
    return lines
