"""The knee of a curve: the point after which more load gives little. Pure.

The rule, for throughput over a numeric axis: gain is told per doubling of the axis, so that it does not matter how
the points are spaced. The knee is the first point from which no later point is reached with LEAST_GAIN or more per
doubling. A curve that still rises at its end, one that is flat from its begin, and every straight line have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log2

from msgspec import Struct

LEAST_GAIN = 0.10  # of throughput, per doubling of the axis
LEAST_POINTS = 4
Point = tuple[float, float]


class Knee(Struct, frozen=True):
    """`place` is the index of the knee among the points; `gain` what the next one gives on top, as a share."""

    place: int
    gain: float


def knee(points: Sequence[Point]) -> Knee | None:
    """Return the knee of points (x, y), x positive and ascending; None: too few points, or no knee."""
    ascending = all(before[0] < after[0] for before, after in pairwise(points))
    if len(points) < LEAST_POINTS or not ascending or any(x <= 0 or y <= 0 for x, y in points):
        return None
    place = next(index for index in range(len(points)) if not _still_gains(points, index))
    if place in (0, len(points) - 1):
        return None
    return Knee(place, points[place + 1][1] / points[place][1] - 1)


def doublings(first: Point, second: Point) -> float:
    """Return how often y doubles with each doubling of x between two points: 1 is in proportion, 0 is flat."""
    return (log2(second[1]) - log2(first[1])) / (log2(second[0]) - log2(first[0]))


def _still_gains(points: Sequence[Point], index: int) -> bool:
    return any(doublings(points[index], later) >= log2(1 + LEAST_GAIN) for later in points[index + 1 :])


def efficiency(points: Sequence[Point]) -> list[float]:
    """Return how well each point scales: its value over that of the least x, times how many times as large x is."""
    if not points or points[0][1] <= 0:
        return []
    x0, y0 = points[0]
    return [(y / y0) / (x / x0) for x, y in points]
