"""Long series made short enough for a chart, without losing their extremes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from tui.text.timeaxis import merged

MOST_POINTS = 180
Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Point:
    """So many seconds of a series: their mean, the lowest and the highest. `t_s` is their middle."""

    t_s: float
    mean: float | None
    low: float | None
    high: float | None


def seconds_a_point(seconds: float, most: int = MOST_POINTS) -> int:
    """Return how many seconds a point of a chart stands for."""
    return max(1, ceil(seconds / most))


def points_of(values: Values, step_s: float = 1.0, most: int = MOST_POINTS, weights: Values = ()) -> list[Point]:
    """Return a series in at most `most` points: the mean of the known values, and the extremes among them.

    A point whose values are all unknown is unknown. Means of latencies have the I/Os of their seconds as `weights`.
    """
    width = seconds_a_point(len(values), most)
    return [
        _point(values[at : at + width], weights[at : at + width], (at + width / 2) * step_s)
        for at in range(0, len(values), width)
    ]


def _point(values: Values, weights: Values, t_s: float) -> Point:
    known = [value for value in values if value is not None]
    if not known:
        return Point(t_s, None, None, None)
    return Point(t_s, merged(values, weights, peaks=False), min(known), max(known))


def reading_note(seconds: int, what: str = "the seconds in it") -> str:
    """Return how a down-sampled series is to be read; empty when nothing was left out."""
    width = seconds_a_point(seconds)
    return f"Each point is {width} s: the line is their mean, the band reaches over all {what}." if width > 1 else ""


def rows_over(columns: Sequence[Values], step_s: float = 1.0, most: int = MOST_POINTS) -> list[Point]:
    """Return several series of one length as one: the mean over all of them, the lowest and the highest of any."""
    length = max(map(len, columns), default=0)
    width = seconds_a_point(length, most)
    found = []
    for at in range(0, length, width):
        values = [value for column in columns for value in column[at : at + width]]
        found.append(_point(values, (), (at + width / 2) * step_s))
    return found
