"""How well a figure of one point is known: order statistics, with fewer I/Os than there were where seconds are alike.

Pure Python: the engine asks at the end of each point.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from math import inf, sqrt
from statistics import NormalDist

from tui.metrics.buckets import index_to_value, rank, value_to_index
from tui.metrics.repeat import t_975
from tui.model.event import Buckets

Z_975 = NormalDist().inv_cdf(0.975)
BLOCKS = 12  # a point's seconds are cut into so many blocks
LEAST_BLOCKS = 5
UNKNOWN = 2.0  # an interval is so much wider where it is not known how alike neighbours are
HALF_BUCKET = 0.0078  # fio's buckets are this exact

Interval = tuple[float, float]


def above(buckets: Buckets, index: int) -> int:
    """Return how many I/Os lie in buckets behind `index`."""
    return sum(buckets.n[bisect_left(buckets.idx, index + 1) :])


def blocks_of(values: Sequence[float]) -> list[float]:
    """Return sums over blocks of neighbouring seconds, BLOCKS of them at most."""
    length = max(1, -(-len(values) // BLOCKS))
    return [sum(values[at : at + length]) for at in range(0, len(values) - length + 1, length)]


def error_of_sum(residuals: Sequence[float]) -> float | None:
    """Return half the width of the 95 % interval of a sum of seconds, by blocks; None: too few of them.

    `residuals` are each second's differences from what it would be were all seconds alike: their sum is about 0.
    """
    blocks = blocks_of(residuals)
    if len(blocks) < LEAST_BLOCKS:
        return None
    whole = len(residuals) / (len(blocks) * (-(-len(residuals) // BLOCKS)))
    variance = sum(each * each for each in blocks) * len(blocks) / (len(blocks) - 1) * whole
    return t_975(len(blocks) - 1) * sqrt(variance)


def percentile_interval(whole: Buckets, percentile: float, seconds: Sequence[Buckets]) -> tuple[float, Interval] | None:
    """Return a percentile in ns with the interval that holds it with 95 %; None without I/Os.

    The upper end is infinite where too few I/Os lie behind it to tell. Ranks n p ± 1.96 sqrt(n p (1 - p)); where the
    I/Os behind it come in bunches, second by second, as far apart as blocks of `seconds` are.
    """
    total = sum(whole.n)
    if not total:
        return None
    counts = list(accumulate(whole.n))
    at = min(bisect_left(counts, rank(percentile, total)), len(counts) - 1)
    share = percentile / 100
    reach = Z_975 * sqrt(total * share * (1 - share))
    alike = _bunched(whole.idx[at], seconds)
    reach = reach * UNKNOWN if alike is None else max(reach, alike)
    low = _value_at(whole, counts, total * share - reach)
    high = _value_at(whole, counts, total * share + reach) if total * share + reach < total else inf
    return float(index_to_value(whole.idx[at])), (low * (1 - HALF_BUCKET), high * (1 + HALF_BUCKET))


def _bunched(index: int, seconds: Sequence[Buckets]) -> float | None:
    """Return by how many ranks a percentile is unsure because seconds differ; None: the seconds do not tell."""
    ios = [sum(each.n) for each in seconds]
    if not sum(ios):
        return None
    slow = [above(each, index) for each in seconds]
    share = sum(slow) / sum(ios)
    return error_of_sum([found - share * count for found, count in zip(slow, ios, strict=True)])


def _value_at(whole: Buckets, counts: Sequence[int], place: float) -> float:
    return float(index_to_value(whole.idx[min(bisect_left(counts, max(place, 1.0)), len(counts) - 1)]))


def mean_interval(mean: float, deviation: float, total: int, seconds: Sequence[Buckets]) -> Interval | None:
    """Return the interval that holds a mean latency in ns with 95 %; None without I/Os."""
    if not total:
        return None
    reach = Z_975 * deviation / sqrt(total)
    ios = [sum(each.n) for each in seconds]
    alike = None
    if sum(ios):
        sums = [sum(index_to_value(at) * n for at, n in zip(each.idx, each.n, strict=True)) for each in seconds]
        usual = sum(sums) / sum(ios)
        error = error_of_sum([found - usual * count for found, count in zip(sums, ios, strict=True)])
        alike = None if error is None else error / sum(ios)
    reach = reach * UNKNOWN if alike is None else max(reach, alike)
    return mean - reach, mean + reach


def over_limit(buckets: Buckets, most_ns: float) -> int:
    """Return how many I/Os took surely longer than that: those in buckets behind the limit's own."""
    return above(buckets, value_to_index(int(most_ns)))
