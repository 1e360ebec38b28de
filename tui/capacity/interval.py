"""Figures with their 95 % interval, and the uncertainty of a single point's figure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from math import exp, inf, log, sqrt
from statistics import NormalDist

from msgspec import Struct

from tui.metrics.buckets import index_to_value, rank, value_to_index
from tui.metrics.repeat import t_975
from tui.model.event import Buckets


class Estimate(Struct, frozen=True):
    """A figure with its 95 % interval; None: unknown."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def times(self, factor: float) -> Estimate:
        """Return the estimate multiplied by `factor`, such as a conversion of units."""
        return Estimate(
            *(None if each is None else each * factor for each in (self.value, self.low, self.high))
        )


def ratio_of(a: Estimate, b: Estimate) -> Estimate:
    """Return B / A of two independent positive figures; unknown if either is unknown or 0.

    An end of the interval is unknown if an end that it depends on is.
    """
    if not a.value or not b.value:
        return Estimate()
    shift = log(b.value / a.value)
    down = _together(_reach(b.value, b.low), _reach(a.value, a.high))
    up = _together(_reach(b.value, b.high), _reach(a.value, a.low))
    return Estimate(
        exp(shift),
        None if down is None else exp(shift - down),
        None if up is None else exp(shift + up),
    )


def _reach(value: float, end: float | None) -> float | None:
    return abs(log(end / value)) if end is not None and end > 0 else None


def _together(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else sqrt(one * one + other * other)


Z_975 = NormalDist().inv_cdf(0.975)
BLOCKS = 12  # blocks per point
LEAST_BLOCKS = 5
ACROSS = 1.5  # tuned in tests/long/bench/same_pairs.py, with the same blocks
UNCORRELATED = 0.1
UNKNOWN = 2.0  # widening factor if autocorrelation is unknown
HALF_BUCKET = 0.0078  # resolution of fio's buckets
LEAST_SLOPE = 0.01


def above(buckets: Buckets, index: int) -> int:
    """Return the number of I/Os in buckets above `index`."""
    return sum(buckets.n[bisect_left(buckets.idx, index + 1) :])


def blocks_of(values: Sequence[float]) -> list[float]:
    """Return the sums of at most BLOCKS equal blocks of seconds, without an incomplete last one."""
    length = max(1, -(-len(values) // BLOCKS))
    return [sum(values[at : at + length]) for at in range(0, len(values) - length + 1, length)]


def error_of_sum(residuals: Sequence[float]) -> tuple[float, float] | None:
    """Return the standard error of a sum over seconds, and Student's quantile for it.

    It is estimated from blocks of seconds; None with too few. `residuals` are deviations of seconds
    from the mean and sum to about 0.
    """
    blocks = blocks_of(residuals)
    if len(blocks) < LEAST_BLOCKS:
        return None
    whole = len(residuals) / (len(blocks) * (-(-len(residuals) // BLOCKS)))
    length = -(-len(residuals) // BLOCKS)
    # correlation across block ends is lost
    across = 1 + ACROSS * lag_of(residuals) / length
    variance = (
        sum(each * each for each in blocks) * len(blocks) / (len(blocks) - 1) * whole * across
    )
    return sqrt(variance), t_975(len(blocks) - 1)


def lag_of(residuals: Sequence[float]) -> int:
    """Return the lag in seconds beyond which residuals are uncorrelated, at least 1."""
    power = sum(each * each for each in residuals)
    for lag in range(1, len(residuals) // LEAST_BLOCKS):
        alike = sum(one * other for one, other in zip(residuals, residuals[lag:], strict=False))
        if alike < UNCORRELATED * power:
            return lag
    return max(1, len(residuals) // LEAST_BLOCKS)


class LatencyInterval(Struct, frozen=True):
    """A latency in ns with its 95 % interval; `high` is infinite if too few I/Os are beyond the
    percentile.

    `share_error`: relative standard error of the share of I/Os beyond a percentile; for a mean, of
    the mean. `slope`: the decrease of ln(latency) when the logarithm of that share rises by 1.
    """

    value: float
    low: float
    high: float
    share_error: float
    slope: float = 1.0


def percentile_interval(
    whole: Buckets, percentile: float, seconds: Sequence[Buckets]
) -> LatencyInterval | None:
    """Return a percentile of latency with its interval; None without I/Os.

    The interval is from order statistics: the number of I/Os beyond a percentile is binomial,
    sqrt(n p (1 - p)). If slow I/Os are bursty, it varies more, by the variation between blocks of
    `seconds`. With few bursts the distribution is skewed: gamma, by Wilson and Hilferty.
    """
    total = sum(whole.n)
    if not total:
        return None
    counts = list(accumulate(whole.n))
    tail = max(1 - percentile / 100, 1e-9)
    value = float(
        index_to_value(
            whole.idx[min(bisect_left(counts, rank(percentile, total)), len(counts) - 1)]
        )
    )
    error, quantile = _share_error(value_to_index(int(value)), total * tail, 1 - tail, seconds)
    few, many = (_gamma(side * quantile, error) for side in (-1, 1))
    high = _behind(whole, counts, tail * few) if total * tail * few >= 1 else inf
    low = _behind(whole, counts, tail * many)
    around = [_behind(whole, counts, tail * factor) for factor in (exp(-0.5), exp(0.5))]
    slope = log(max(around[0], value) / max(min(around[1], value), 1.0))
    return LatencyInterval(
        value, low * (1 - HALF_BUCKET), high * (1 + HALF_BUCKET), error, max(slope, LEAST_SLOPE)
    )


def _share_error(
    index: int, slow: float, kept: float, seconds: Sequence[Buckets]
) -> tuple[float, float]:
    """Return the relative standard error of the I/Os beyond a bucket, and the quantile for it."""
    drawn = sqrt(kept / max(slow, 1e-9))
    ios = [sum(each.n) for each in seconds]
    behind = [above(each, index) for each in seconds]
    if sum(behind) < slow / 2:  # most slow I/Os are in the percentile's own bucket
        behind = [above(each, index - 1) for each in seconds]
    share = sum(behind) / sum(ios) if sum(ios) else 0.0
    alike = (
        error_of_sum([found - share * count for found, count in zip(behind, ios, strict=True)])
        if share
        else None
    )
    if alike is None:
        return drawn * UNKNOWN, Z_975
    error = alike[0] / sum(behind)
    return (error, alike[1]) if error > drawn else (drawn, Z_975)


def _gamma(z: float, error: float) -> float:
    """Return the gamma quantile for normal deviate `z`, mean 1 (Wilson and Hilferty 1931)."""
    return max(1 - error * error / 9 + z * error / 3, 0.0) ** 3


def _behind(whole: Buckets, counts: Sequence[int], tail: float) -> float:
    """Return the latency that a share `tail` of the I/Os exceeds, in ns."""
    place = counts[-1] * (1 - min(tail, 1.0))
    return float(
        index_to_value(whole.idx[min(bisect_left(counts, max(place, 1.0)), len(counts) - 1)])
    )


def mean_interval(
    mean: float, deviation: float | None, total: int, seconds: Sequence[Buckets]
) -> LatencyInterval | None:
    """Return a mean latency with its interval.

    None without I/Os, or if their spread is unknown.
    """
    if not total or mean <= 0 or deviation is None:
        return None
    error, quantile = deviation / sqrt(total) / mean * UNKNOWN, Z_975
    ios = [sum(each.n) for each in seconds]
    if sum(ios):
        sums = [time_in(each) for each in seconds]
        usual = sum(sums) / sum(ios)
        alike = error_of_sum(
            [found - usual * count for found, count in zip(sums, ios, strict=True)]
        )
        if alike is not None and usual:
            error, quantile = max(alike[0] / sum(sums), error / UNKNOWN), alike[1]
    reach = mean * error * quantile
    return LatencyInterval(mean, mean - reach, mean + reach, error)


def time_in(buckets: Buckets) -> float:
    """Return the sum of all latencies in ns, to the resolution of the buckets."""
    return float(sum(index_to_value(at) * n for at, n in zip(buckets.idx, buckets.n, strict=True)))


def over_limit(buckets: Buckets, most_ns: float) -> int:
    """Return how many I/Os certainly took longer than `most_ns`.

    Only buckets above the limit's bucket count.
    """
    return above(buckets, value_to_index(int(most_ns)))


def share_over(buckets: Buckets, most_ns: float) -> float:
    """Return the share of I/Os that took longer than `most_ns`.

    The bucket that contains the limit is split in proportion.
    """
    own = value_to_index(int(most_ns))
    middle, behind = index_to_value(own), above(buckets, own)
    width = index_to_value(own + 1) - middle
    part = min(max((middle - most_ns) / width + 0.5, 0.0), 1.0)
    return (behind + part * (above(buckets, own - 1) - behind)) / max(sum(buckets.n), 1)
