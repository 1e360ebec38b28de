"""Which points of a sweep differ: by more than repetitions of one point do. Pure.

A point that was repeated reaches from its lowest to its highest figure. One that was measured once is known as little
as repetitions may be apart before they are called so (V28): differences below that say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics import units
from tui.model.thresholds import default
from tui.results.record.cells import Cell

APART = default("V28.spread")  # of a single measurement nothing better is known


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
    """Return the best of the points that count, and those that are equal to it within the spread."""
    counted = [cell for cell in cells if cell.fit and cell.value is not None]
    if not counted or len({cell.unit for cell in counted}) > 1:
        return None, []
    sign = 1 if counted[0].larger_is_better else -1
    best = max(counted, key=lambda cell: sign * (cell.value or 0.0))
    return best, [cell for cell in counted if cell is not best and same(cell, best)]


def known_by(cells: Sequence[Cell]) -> str:
    """Return what differences between these points are held against."""
    once = all(len(cell.values) < 2 for cell in cells)
    return f"{units.share(APART)}, as each was measured once" if once else "the spread of repetitions"
