"""Uncertainty of the difference between two sets of measurements.

Student's t loads mpmath at its first use.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import asinh, comb, exp, log, log1p, sinh, sqrt
from statistics import NormalDist, fmean, median
from typing import Literal

from tui.metrics.blocks import LogSpread
from tui.metrics.buckets import TOP_BUCKET, index_to_value
from tui.metrics.repeat import LEAST_RANKED_REPETITIONS

Method = Literal[
    "repetitions", "within one run", "one run, order statistics", "one run, noise floor"
]

ALPHA = 0.05
MOST_ORDERS = 20_000  # permutations of tied repetitions that are enumerated: 8 and 8 have 12,870
HALF_BUCKET = 0.0078  # resolution of fio's buckets
NORMAL = NormalDist()
NOTHING = 700.0  # of -ln(probability): anything smaller is 0 as a float, and slow to sum


@dataclass(frozen=True, slots=True)
class Effect:
    """The ratio B / A, its 95 % interval, and the two-sided p of no difference.

    `method`: the data behind interval and p. `seconds`: length of the shorter of two single runs
    without an interval; None if unknown.
    """

    ratio: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    method: Method = "repetitions"
    seconds: int | None = None


# -- repetitions: the unit is the run


def of_repetitions(a: Sequence[float], b: Sequence[float]) -> Effect:
    """Return the effect between two sets of repetitions with positive figures: Hodges-Lehmann shift
    of logarithms.

    p is from the Mann-Whitney test; the interval contains the ratios that the test does not reject.
    With fewer than LEAST_RANKED_REPETITIONS on a side there is neither p nor interval.
    """
    ratios = sorted(each / other for each in b for other in a)
    ratio = median(ratios)
    if min(len(a), len(b)) < LEAST_RANKED_REPETITIONS:
        return Effect(ratio)
    low, high = _not_rejected(a, b, sorted(set(ratios)))
    return Effect(ratio, low, high, mann_whitney(a, b))


def _not_rejected(
    a: Sequence[float], b: Sequence[float], ratios: Sequence[float]
) -> tuple[float, float]:
    """Return the lowest and the highest of `ratios` that the test does not reject."""
    between = [sqrt(low * high) for low, high in pairwise(ratios)]
    inside = [
        at
        for at, ratio in enumerate(between)
        if mann_whitney([ratio * each for each in a], b) > ALPHA
    ]
    return (ratios[inside[0]], ratios[inside[-1] + 1]) if inside else (ratios[0], ratios[-1])


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the two-sided p of the Mann-Whitney test, exact unless ties give too many
    permutations.

    Ties occur because latencies are in buckets. Then p comes from the permutations of mean ranks
    or, if these exceed MOST_ORDERS, from the normal approximation, corrected for ties and
    continuity (Mann and Whitney 1947).
    """
    ranks, ties = _double_ranks([*a, *b])
    seen = sum(ranks[: len(a)])
    if len(ties) == len(ranks):
        return _two_sided(_ways(len(a), len(b)), (seen - len(a) * (len(a) + 1)) // 2)
    if comb(len(ranks), len(a)) > MOST_ORDERS:
        return _normal_p(seen / 2, len(a), len(b), ties)
    return _two_sided(_tied_ways(tuple(sorted(ranks)), len(a)), seen)


def _double_ranks(values: Sequence[float]) -> tuple[list[int], list[int]]:
    """Return twice the mean rank of each value, and the size of each group of ties.

    Twice the mean rank is an integer.
    """
    counts = Counter(values)
    ends = dict(
        zip(sorted(counts), accumulate(counts[each] for each in sorted(counts)), strict=True)
    )
    return [2 * ends[each] - counts[each] + 1 for each in values], list(counts.values())


def _two_sided(ways: Sequence[int], seen: int) -> float:
    """Return the two-sided p: twice the smaller tail, which includes `seen`.

    `ways`: number of ways to reach each sum.
    """
    tail = min(sum(ways[: seen + 1]), sum(ways[seen:]))
    return float(min(Fraction(1), Fraction(2 * tail, sum(ways))))


@lru_cache(maxsize=64)
def _ways(a: int, b: int) -> tuple[int, ...]:
    """Return the number of ways to reach U = 0, 1, ... a b, without ties.

    These are the Gaussian binomial coefficients.
    """
    ways = [1] + [0] * (a * b)
    for each in range(1, a + 1):
        for at in range(a * b, b + each - 1, -1):
            ways[at] -= ways[at - b - each]
        for at in range(each, a * b + 1):
            ways[at] += ways[at - each]
    return tuple(ways)


@lru_cache(maxsize=256)
def _tied_ways(ranks: tuple[int, ...], chosen: int) -> tuple[int, ...]:
    """Return the number of ways in which `chosen` of the ranks have each sum."""
    ways = [[0] * (sum(ranks) + 1) for _ in range(chosen + 1)]
    ways[0][0] = 1
    for rank in ranks:
        for count in range(chosen, 0, -1):
            fewer, now = ways[count - 1], ways[count]
            for total in range(rank, len(now)):
                now[total] += fewer[total - rank]
    return tuple(ways[chosen])


def _normal_p(rank_sum: float, a: int, b: int, ties: Sequence[int]) -> float:
    both = a + b
    variance = a * b / 12 * (both + 1 - sum(each**3 - each for each in ties) / (both * (both - 1)))
    if variance <= 0:
        return 1.0
    apart = abs(rank_sum - a * (both + 1) / 2) - 0.5
    return min(1.0, 2 * NORMAL.cdf(-apart / sqrt(variance)))


# -- one run: its seconds


def pooled(spreads: Sequence[LogSpread | None]) -> LogSpread | None:
    """Return the uncertainty of one of several repetitions from the seconds of all.

    None if any is unknown. More repetitions do not reduce it, because they share the influences
    that seconds do not show.
    """
    known = [each for each in spreads if each is not None]
    if not known or len(known) < len(spreads):
        return None
    return LogSpread(sqrt(fmean(each.error**2 for each in known)), sum(e.degrees for e in known))


def of_spreads(
    a: float, b: float, spread_a: LogSpread, spread_b: LogSpread, method: Method
) -> Effect:
    """Return the effect between two positive figures with known uncertainty.

    The interval is Welch's, on logarithms.
    """
    variances = spread_a.error**2, spread_b.error**2
    error = sqrt(sum(variances))
    if error == 0:
        return Effect(b / a, b / a, b / a, 1.0 if a == b else 0.0, method)
    parts = (variances[0] ** 2 / spread_a.degrees, variances[1] ** 2 / spread_b.degrees)
    degrees = sum(variances) ** 2 / sum(parts)
    reach = t_reach(degrees, ALPHA / 2) * error
    shift = log(b / a)
    p = 2 * t_beyond(degrees, abs(shift) / error)
    return Effect(b / a, exp(shift - reach), exp(shift + reach), p, method)


def with_noise(effect: Effect, deviation: float, runs: int) -> Effect:
    """Return the effect between two single runs, using the noise floor of `runs` earlier runs.

    `deviation`: deviation of one run, relative to the mean. The interval is Student's for the
    difference of two single runs, on logarithms. If the interval measured within the two runs is
    wider, it is used: they may be noisier than the earlier ones.
    """
    error, degrees = sqrt(2) * deviation, runs - 1
    shift = log(effect.ratio)
    reach = t_reach(degrees, ALPHA / 2) * error
    p = 2 * t_beyond(degrees, abs(shift) / error) if error else float(shift == 0)
    low, high = exp(shift - reach), exp(shift + reach)
    if effect.low is not None and effect.high is not None and effect.p is not None:
        low, high, p = min(low, effect.low), max(high, effect.high), max(p, effect.p)
    return Effect(effect.ratio, low, high, p, "one run, noise floor")


# -- percentiles of one run: ranks in its histogram


def percentile_interval(
    idx: Sequence[int],
    n: Sequence[int],
    percentile: float,
    beyond: LogSpread | None = None,
    at_most: float | None = None,
) -> tuple[float, float] | None:
    """Return the 95 % interval of a percentile in ns by order statistics.

    None without samples. `beyond`: uncertainty of the share of I/Os beyond it, if I/Os are
    correlated in time: a stall of one second is one event, not as many as it has I/Os.
    """
    counts = list(accumulate(n))
    if not counts or counts[-1] <= 0:
        return None
    total, share = counts[-1], percentile / 100
    drawn = total * share * (1 - share)
    alike = (total * (1 - share) * beyond.error) ** 2 if beyond is not None else 0.0
    quantile = (
        NORMAL.inv_cdf(1 - ALPHA / 2) if beyond is None else t_reach(beyond.degrees, ALPHA / 2)
    )
    reach = quantile * sqrt(max(drawn, alike))
    low, high = (_at_rank(idx, counts, total * share + side * reach) for side in (-1, 1))
    top = high * (1 + HALF_BUCKET)
    return low * (1 - HALF_BUCKET), min(
        top, at_most
    ) if at_most and total * share + reach < total else top


def shares_beyond(limit: float, means: Sequence[float], p99s: Sequence[float]) -> list[float]:
    """Return the share of I/Os above `limit` in each second.

    Assumes a lognormal distribution with the second's mean and p99.
    """
    return [_share_beyond(log(limit), mean, p99) for mean, p99 in zip(means, p99s, strict=True)]


def _share_beyond(limit: float, mean: float, p99: float) -> float:
    ninety_nine = NORMAL.inv_cdf(0.99)
    ratio = log(max(p99 / mean, 1.0001))
    sigma = ninety_nine - sqrt(max(ninety_nine**2 - 2 * ratio, 0.0))
    return NORMAL.cdf((log(mean) - limit - sigma**2 / 2) / sigma)


def _at_rank(idx: Sequence[int], counts: Sequence[int], rank: float) -> float:
    place = bisect_left(counts, min(max(rank, 1.0), counts[-1]))
    return float(index_to_value(min(idx[min(place, len(idx) - 1)], TOP_BUCKET)))


def of_interval(interval: tuple[float, float], degrees: float) -> LogSpread:
    """Return the standard error that corresponds to a 95 % interval."""
    reach = 2 * NORMAL.inv_cdf(1 - ALPHA / 2)
    return LogSpread(log(interval[1] / interval[0]) / reach, degrees)


# -- multiple tests


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Return p values corrected for multiple tests (Holm 1979).

    None stays None and is not counted as a test.
    """
    known = sorted((value, at) for at, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    highest = 0.0
    for place, (value, at) in enumerate(known):
        highest = max(highest, min(1.0, value * (len(known) - place)))
        found[at] = highest
    return found


@lru_cache(maxsize=1024)
def t_beyond(degrees: float, t: float) -> float:
    """Return the probability that Student's t exceeds `t`, for t >= 0."""
    if (degrees + 1) / 2 * log1p(t * t / degrees) > NOTHING:
        return 0.0
    import mpmath

    share = degrees / (degrees + mpmath.mpf(t) ** 2)
    return float(mpmath.betainc(degrees / 2, 0.5, 0, share, regularized=True) / 2)


@lru_cache(maxsize=1024)
def t_reach(degrees: float, beyond: float) -> float:
    """Return the value that Student's t exceeds with probability `beyond`, 1e-100 to 0.5.

    Takes the tail, because a small one would be lost in a probability close to 1.
    """
    import mpmath

    if beyond >= 0.5:
        return 0.0
    z = -NORMAL.inv_cdf(beyond)
    # Cornish-Fisher, first term: close enough as a start
    begin = asinh(z + (z**3 + z) / (4 * degrees))

    def wrong(at: mpmath.mpf) -> mpmath.mpf:
        return mpmath.log(t_beyond(degrees, abs(sinh(at))) / beyond)

    # asinh(t): the tail's logarithm is close to a line in t near 0, and in log(t) far out
    found = mpmath.findroot(wrong, (begin, begin * 1.01), tol=1e-20, verify=False)
    return abs(sinh(found))
