"""The area between two load curves, by their points alone: no shape is assumed that few points could not tell.

Between neighbours ln(latency) is interpolated over the rate (Fritsch and Carlson 1980: no curve swings beyond its
points). The mean over the load that both have is a weighted sum of points, so its standard error follows from theirs.
Two things more widen the interval: how far latency falls where load grows, which only scatter between points does
(isotonic regression), and what straight lines would give instead, which says how far points are apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import exp, inf, log, sqrt
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui.metrics.repeat import t_975
from tui.model.extras import check_statistics
from tui.sizing.estimate import Estimate

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

LEAST_INSIDE = 3  # points of each curve that have a part in the mean, for an interval
LEAST_SHARE = 0.01
WIDEST = log(2)  # an interval that reaches further to each side says nothing
SAME = 0.01  # rates that are closer are one point, measured again
MANY = 1000  # degrees of freedom from which on Student's t is the normal distribution


class Known(Struct, frozen=True):
    """A point: its rate, its latency, and the standard error of ln(latency) by so many degrees; None: not known."""

    rate: float
    latency_ns: float
    error: float | None = None
    degrees: float = MANY


class Area(Struct, frozen=True):
    """Latency of curve B over that of A, in the mean over the rates from `low` to `high` that both were measured at.

    `remark`: why it is not said how surely that is known.
    """

    ratio: Estimate
    low: float
    high: float
    remark: str = ""


class _Mean(Struct, frozen=True):
    """The mean of ln(latency): smooth, by straight lines, each point's share in it, how many have a real part in it."""

    smooth: float
    straight: float
    shares: list[float]
    inside: int


def between(a: Sequence[Known], b: Sequence[Known]) -> Area | None:
    """Return how latency differs over the load that both curves have; None: there is none."""
    sides = [_merged(side) for side in (a, b)]
    if not all(sides):
        return None
    low, high = max(side[0].rate for side in sides), min(side[-1].rate for side in sides)
    if high <= low:
        return None
    ours, theirs = (_mean(side, low, high) for side in sides)
    value = exp(theirs.smooth - ours.smooth)
    if remark := _too_few(sides, (ours, theirs)):
        return Area(Estimate(value), low, high, remark)
    bent = abs((theirs.smooth - theirs.straight) - (ours.smooth - ours.straight))
    reach = _reach([*_parts(sides[0], ours.shares), *_parts(sides[1], theirs.shares)]) + bent
    if reach > WIDEST:
        return Area(Estimate(value), low, high, "the points scatter too much to say how surely")
    return Area(Estimate(value, value * exp(-reach), value * exp(reach)), low, high)


def _too_few(sides: Sequence[Sequence[Known]], means: Sequence[_Mean]) -> str:
    counts = [mean.inside for mean in means]
    if min(counts) < LEAST_INSIDE:
        return f"of {counts[0]} and {counts[1]} points: {LEAST_INSIDE} each are needed to say how surely"
    if any(all(each.error is None for each in side) for side in sides):
        return "how surely is not known: the points have no seconds"
    return ""


def _scatter(points: Sequence[Known]) -> tuple[float, int]:
    """Return the variance of points around a latency that never falls while load grows, and its degrees of freedom."""
    logs = [log(each.latency_ns) for each in points]
    rising = _rising(logs)
    degrees = len(logs) - len(set(rising))
    squares = sum((one - other) ** 2 for one, other in zip(logs, rising, strict=True))
    return (squares / degrees, degrees) if degrees else (0.0, 1)


def _rising(values: Sequence[float]) -> list[float]:
    """Return the nearest values that never fall: the mean of neighbours that do (pool adjacent violators)."""
    pools: list[list[float]] = []
    for value in values:
        pools.append([value])
        while len(pools) > 1 and fmean(pools[-2]) >= fmean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    return [mean for pool in pools for mean in [fmean(pool)] * len(pool)]


def _merged(points: Sequence[Known]) -> list[Known]:
    """Return the points by ascending rate, those of the same rate as one; without an error they have the usual one."""
    usual = median([each.error for each in points if each.error is not None] or [inf])
    full = [each if each.error is not None or usual == inf else Known(each.rate, each.latency_ns, usual, 1)
            for each in sorted(points, key=lambda each: each.rate)]  # fmt: skip
    starts: list[float] = []
    for each in full:
        starts.append(starts[-1] if starts and each.rate <= starts[-1] * (1 + SAME) else each.rate)
    groups = groupby(zip(starts, full, strict=True), key=lambda pair: pair[0])
    return [_one([each for _, each in group]) for _, group in groups]


def _one(points: Sequence[Known]) -> Known:
    """Return the mean of points of the same rate: as sure as they are themselves, or as far apart as they came out."""
    if len(points) == 1:
        return points[0]
    logs = [log(each.latency_ns) for each in points]
    errors = [each.error for each in points if each.error is not None]
    within = sqrt(sum(each * each for each in errors)) / len(points) if len(errors) == len(points) else None
    apart = stdev(logs) / sqrt(len(logs))
    rate, latency = fmean(each.rate for each in points), exp(fmean(logs))
    if within is None or within >= apart:
        return Known(rate, latency, within, min(each.degrees for each in points))
    return Known(rate, latency, apart, len(logs) - 1)


def _mean(points: Sequence[Known], low: float, high: float) -> _Mean:
    check_statistics("comparing load curves")
    import numpy as np
    from scipy.interpolate import PchipInterpolator

    x = np.array([each.rate for each in points])
    y = np.log(np.array([each.latency_ns for each in points]))
    grid = np.unique(np.concatenate(([low, high], x[(x > low) & (x < high)])))
    widths = np.zeros(len(grid))
    widths[:-1] += np.diff(grid) / 2
    widths[1:] += np.diff(grid) / 2
    shares: Array = widths @ np.array([np.interp(grid, x, row) for row in np.eye(len(x))]).T / (high - low)
    straight = float(shares @ y)
    smooth = float(PchipInterpolator(x, y).integrate(low, high)) / (high - low) if len(x) > 2 else straight
    inside = int((shares > LEAST_SHARE).sum())
    return _Mean(smooth, straight, [float(each) for each in shares], inside)


def _parts(points: Sequence[Known], shares: Sequence[float]) -> list[tuple[float, float]]:
    """Return what the variance of a mean is made of, with degrees of freedom: each point's own, and their scatter."""
    own = [((share * each.error) ** 2, max(each.degrees, 1.0))
           for share, each in zip(shares, points, strict=True) if each.error]  # fmt: skip
    scatter, degrees = _scatter(points)
    return [*own, (scatter * sum(share * share for share in shares), float(degrees))]


def _reach(parts: Sequence[tuple[float, float]]) -> float:
    """Return half the 95 % interval, its degrees of freedom by Welch and Satterthwaite."""
    variance = sum(part for part, _ in parts)
    if not variance:
        return 0.0
    degrees = variance**2 / sum(part**2 / free for part, free in parts)
    return t_975(max(1, int(min(degrees, MANY)))) * sqrt(variance)
