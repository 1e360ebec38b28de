"""A matrix as tables: rows, columns, knees, scaling over hosts, and which points differ beyond
their spread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import log2

from msgspec import Struct

from tui.metrics import units
from tui.model.criteria import default
from tui.model.plain import HOSTS_AXIS
from tui.record.cells import Cell

LEAST_GAIN = 0.10  # of throughput, per doubling of the axis
LEAST_POINTS = 4
Point = tuple[float, float]


class MatrixKnee(Struct, frozen=True):
    """`place` is the index of the knee among the points.

    `gain` what the next one gives on top, as a share.
    """

    place: int
    gain: float


def knee(points: Sequence[Point]) -> MatrixKnee | None:
    """Return the knee of points (x, y), x positive and ascending.

    None: too few points, or no knee.
    """
    ascending = all(before[0] < after[0] for before, after in pairwise(points))
    if len(points) < LEAST_POINTS or not ascending or any(x <= 0 or y <= 0 for x, y in points):
        return None
    place = next(index for index in range(len(points)) if not _still_gains(points, index))
    if place in (0, len(points) - 1):
        return None
    return MatrixKnee(place, points[place + 1][1] / points[place][1] - 1)


def doublings(first: Point, second: Point) -> float:
    """Return how often y doubles with each doubling of x between two points: 1 is in proportion, 0
    is flat.
    """
    return (log2(second[1]) - log2(first[1])) / (log2(second[0]) - log2(first[0]))


def _still_gains(points: Sequence[Point], index: int) -> bool:
    return any(
        doublings(points[index], later) >= log2(1 + LEAST_GAIN) for later in points[index + 1 :]
    )


def efficiency(points: Sequence[Point]) -> list[float]:
    """Return how well each point scales: its value over that of the least x, times how many times
    as large x is.
    """
    if not points or points[0][1] <= 0:
        return []
    x0, y0 = points[0]
    return [(y / y0) / (x / x0) for x, y in points]


APART = default("repetitions.spread")  # of a single measurement nothing better is known


def span(cell: Cell) -> tuple[float, float]:
    """Return from where to where a point's figure reaches."""
    if len(cell.values) > 1:
        return min(cell.values), max(cell.values)
    value = cell.value or 0.0
    return value * (1 - APART / 2), value * (1 + APART / 2)


def same(one: Cell, other: Cell) -> bool:
    """Tell whether two points cannot be told apart."""
    (low, high), (from_, to) = span(one), span(other)
    return low <= to and from_ <= high


def best_of(cells: Sequence[Cell]) -> tuple[Cell | None, list[Cell]]:
    """Return the best of the points that count, and those that are equal to it within the
    spread.
    """
    counted = [cell for cell in cells if cell.fit and cell.value is not None]
    if not counted or len({cell.unit for cell in counted}) > 1:
        return None, []
    sign = 1 if counted[0].larger_is_better else -1
    best = max(counted, key=lambda cell: sign * (cell.value or 0.0))
    return best, [cell for cell in counted if cell is not best and same(cell, best)]


def known_by(cells: Sequence[Cell]) -> str:
    """Return what differences between these points are held against."""
    once = all(len(cell.values) < 2 for cell in cells)
    return (
        f"{units.share(APART)}, as each was measured once" if once else "the spread of repetitions"
    )


class TableRow(Struct, frozen=True):
    """The values of the axes that go down, and a cell a column; None where no point is."""

    labels: tuple[str, ...]
    cells: tuple[Cell | None, ...]


class KneeAt(Struct, frozen=True):
    """A knee: its cell, the axis it lies on, the values of the other axes, and what the next point
    gives on top.

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
    # cell key -> efficiency over the number of hosts
    scaling: Mapping[str, float] = field(default_factory=dict)

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
    """Return the tables of a matrix, in order: one a profile that is swept, one for members that
    are not.

    `compact`, for few lines: one axis goes across, and two axes make a grid also where it has
    holes.
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
    """Return the values of an axis as they came.

    Numbers in their order where points were given one by one.
    """
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
    """Return the values of an axis, ascending when all are numbers and the points have holes."""
    values = _values(cells, axis)
    if all(axis in cell.numbers for cell in cells) and not _is_full(cells, tuple(cells[0].texts)):
        numbers = {cell.texts[axis]: cell.numbers[axis] for cell in cells}
        return sorted(values, key=lambda text: numbers[text])
    return values


def main_axis(cells: Sequence[Cell], axes: Sequence[str]) -> str | None:
    """Return the axis that a chart goes along: the numeric one with the most values, the last of
    equals.
    """
    numeric = [
        axis
        for axis in axes
        if all(axis in cell.numbers for cell in cells) and len(_values(cells, axis)) > 1
    ]
    return max(reversed(numeric), key=lambda axis: len(_values(cells, axis)), default=None)


Others = tuple[tuple[str, str], ...]


def series_over(cells: Sequence[Cell], axes: Sequence[str], axis: str) -> dict[Others, list[Cell]]:
    """Return cells that differ in one axis only, by the values of the others.

    Ascending, those with a figure.
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
    """Yield the knees along an axis; figures that are better when they are small have none.

    A point that is invalid or was cut short is left out; one that cannot be told from the point
    before it is no knee.
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
    """Return by cell how well it scales over hosts: its figure over n times that of one host, or of
    the fewest.
    """
    found: dict[str, float] = {}
    if HOSTS_AXIS not in axes:
        return found
    for series in series_over(cells, axes, HOSTS_AXIS).values():
        if len(series) > 1 and series[0].larger_is_better:
            points = [(cell.numbers[HOSTS_AXIS], cell.value or 0.0) for cell in series]
            found |= dict(zip((cell.key for cell in series), efficiency(points), strict=False))
    return found


SAME = 1.1  # a mixture of sizes comes out a little otherwise each time
BY_NATURE = ("iops", "ns")  # units whose best point is that of the smallest blocks
LINE = 78


def by_block(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the points by the size of their I/Os, ascending; in one group where all are alike."""
    groups: list[list[Cell]] = []
    for cell in sorted(
        (cell for cell in cells if cell.io_bytes), key=lambda cell: cell.io_bytes or 0.0
    ):
        if not groups or (cell.io_bytes or 0.0) > SAME * (groups[-1][0].io_bytes or 0.0):
            groups.append([])
        groups[-1].append(cell)
    return groups if len(groups) > 1 else [list(cells)]


def of_which(cells: Sequence[Cell], step: int | None, unit: str) -> str:
    """Return what the point of a step is the best of: ``best of 6``, ``best of 3 with 4 KiB
    blocks``.

    `unit` is that of the figure by which it is the best.
    """
    groups = by_block(cells) if unit in BY_NATURE else []
    own = next((group for group in groups if any(step in cell.steps for cell in group)), cells)
    if len(groups) < 2 or own is cells:
        return f"best of {len(cells)}"
    blocks = f"{units.size(own[0].io_bytes)} blocks"
    return (
        f"best of {len(own)} with {blocks}"
        if len(own) > 1
        else f"with {blocks}, one of {len(groups)} sizes"
    )


def compared(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the points that are held against each other: those of one block size, where that
    decides the figure.
    """
    alike = {cell.unit for cell in cells} if cells else set()
    return by_block(cells) if len(alike) == 1 and alike <= {*BY_NATURE} else [list(cells)]


def block_texts(cells: Sequence[Cell]) -> list[str]:
    """Return the best point of each block size, and the one with the most bandwidth.

    Nothing where sizes are alike.
    """
    groups = compared(cells)
    if len(groups) < 2:
        return []
    what = "IOPS" if cells[0].unit == "iops" else "latencies"
    bests = [text for group in groups if len(group) > 1 and (text := _best_text(group))]
    told = _in_lines(bests) if bests else [f"{what} of different block sizes do not compare"]
    moved = [cell for cell in cells if cell.fit and cell.bytes_per_s]
    if cells[0].unit == "iops" and moved:
        most = max(moved, key=lambda cell: cell.bytes_per_s or 0.0)
        told.append(f"most bandwidth: {most.name} with {units.bandwidth(most.bytes_per_s)}")
    return told


def _best_text(group: Sequence[Cell]) -> str:
    best, equal = best_of(group)
    as_good = f" ({len(equal)} as good)" if equal else ""
    return f"{best.name}{as_good}" if best is not None else ""


def _in_lines(bests: Sequence[str]) -> list[str]:
    """Return points in as many lines as they need, each of which can be read by itself."""
    lines = [f"best of each block size: {bests[0]}"]
    for text in bests[1:]:
        if len(lines[-1]) + len(text) + 2 > LINE:
            lines.append(f"of larger blocks: {text}")
        else:
            lines[-1] += f"; {text}"
    return lines
