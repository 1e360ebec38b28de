"""How surely one set of measurements is higher than another. Pure; numpy and scipy are loaded by who compares alone.

All effects are ratios B / A with a 95 % interval, because figures of storage differ by shares and not by amounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb, exp, log, sqrt
from typing import Literal

import numpy as np
from scipy import special  # scipy.stats takes a second and a half of CPU to load

from tui.metrics.buckets import TOP_BUCKET, index_to_value
from tui.metrics.ranks import LEAST_REPETITIONS

Method = Literal["repetitions", "within one run", "one run, order statistics", "one run, noise floor"]
Array = np.ndarray

ALPHA = 0.05
LEAST_SECONDS = 10
MOST_ORDERS = 20_000  # ways to deal out tied repetitions that are all looked at: 8 and 8 have 12,870
RESAMPLES = 999
SEED = 20261122  # the same runs always give the same answer
BLOCKS = 5  # a series is cut into so many blocks at least
LEAST_BLOCK = 2
UNCORRELATED = 0.1  # autocorrelation below which seconds are taken as independent
BLOCK_LAGS = 3.0  # a block is as many times the lag at which seconds are no longer correlated
ACROSS = 1.5  # tuned until pairs of the same differ in 5 % at most: tests/bench/same_pairs.py
HALF_BUCKET = 0.0078  # fio's buckets are this exact


@dataclass(frozen=True, slots=True)
class Effect:
    """B / A: the ratio, its 95 % interval, the two-sided p of no difference; `degrees` of freedom where it has some."""

    ratio: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    method: Method = "repetitions"

    @property
    def half_width(self) -> float | None:
        """The further end of the interval, as a share of the ratio; None without an interval."""
        if self.low is None or self.high is None:
            return None
        return max(self.high / self.ratio - 1, 1 - self.low / self.ratio)


@dataclass(frozen=True, slots=True)
class Spread:
    """How well the logarithm of one figure is known: its standard error, by so many degrees of freedom."""

    error: float
    degrees: float


# -- repetitions: the run is what is repeated


def of_repetitions(a: Sequence[float], b: Sequence[float]) -> Effect:
    """Return the effect of repetitions, all of them above 0: Hodges and Lehmann's shift of their logarithms.

    p is Mann and Whitney's; the interval holds the ratios that this test does not reject. Below LEAST_REPETITIONS on
    either side there is no p and no interval.
    """
    every = np.divide.outer(np.asarray(b, float), np.asarray(a, float)).ravel()
    ratio, ratios = float(np.median(every)), np.unique(every)
    if min(len(a), len(b)) < LEAST_REPETITIONS:
        return Effect(ratio)
    p = float(_mann_whitney(np.asarray(a, float), np.asarray(b, float)))
    low, high = _not_rejected(np.asarray(a, float), np.asarray(b, float), ratios)
    return Effect(ratio, low, high, p)


def _not_rejected(a: Array, b: Array, ratios: Array) -> tuple[float, float]:
    """Return the lowest and the highest ratio that the test does not reject."""
    between = np.sqrt(ratios[:-1] * ratios[1:])
    shifted = np.multiply.outer(between, a), np.broadcast_to(b, (len(between), len(b)))
    inside = np.flatnonzero(_mann_whitney(*shifted) > ALPHA) if len(between) else between
    if not len(inside):
        return float(ratios[0]), float(ratios[-1])
    return float(ratios[inside[0]]), float(ratios[inside[-1] + 1])


def _mann_whitney(a: Array, b: Array) -> Array:
    """Return the two-sided p of each row: exact, where values are tied too, as they are in buckets of latency.

    Of tied values p is that of the permutations of their mean ranks; of too many of them the normal one, corrected for
    ties.
    """
    from scipy import stats  # only repetitions need it

    both = np.concatenate((a, b), axis=-1)
    if np.diff(np.sort(both, axis=-1), axis=-1).all():
        return np.asarray(stats.mannwhitneyu(a, b, method="exact", axis=-1).pvalue)
    if comb(a.shape[-1] + b.shape[-1], a.shape[-1]) > MOST_ORDERS:
        return np.asarray(stats.mannwhitneyu(a, b, method="asymptotic", axis=-1).pvalue)
    ranks = stats.rankdata(both, axis=-1)
    dealt, seen = ranks @ _orders(a.shape[-1], b.shape[-1]), ranks[..., : a.shape[-1]].sum(axis=-1, keepdims=True)
    tails = (dealt <= seen).mean(axis=-1), (dealt >= seen).mean(axis=-1)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(*tails)))


@cache
def _orders(a: int, b: int) -> Array:
    """Return a column for each way to deal out a + b repetitions: 1 where one is of the first side."""
    chosen = np.array(list(combinations(range(a + b), a)))
    dealt = np.zeros((a + b, len(chosen)))
    dealt[chosen.T, np.arange(len(chosen))] = 1
    return dealt


# -- one run: its seconds are resampled in blocks


def block_length(values: Array) -> tuple[int, int]:
    """Return for how many seconds blocks hold together, and from which lag on seconds are no longer correlated."""
    centred = values - values.mean()
    power = float(centred @ centred)
    n = len(values)
    lag = 1
    if power > 0:
        lag = next((k for k in range(1, n // 2) if float(centred[:-k] @ centred[k:]) / power < UNCORRELATED), n // 2)
    return max(LEAST_BLOCK, min(round(lag * BLOCK_LAGS), n // BLOCKS)), lag


def within_run(top: Sequence[float], bottom: Sequence[float] | None = None) -> Spread | None:
    """Return how well a mean over the seconds of one run is known; None of fewer than LEAST_SECONDS.

    The mean is sum(`top`) / sum(`bottom`), such as of latency x I/Os and I/Os; without `bottom` that of `top`. By
    moving blocks (Kuensch 1989): each second stays with its neighbours, so that slow changes count as what they are.
    """
    upper = np.asarray(top, float)
    n = len(upper)
    lower = np.ones(n) if bottom is None else np.asarray(bottom, float)
    if n < LEAST_SECONDS or upper.sum() <= 0 or lower.sum() <= 0:
        return None
    length, lag = block_length(upper / np.where(lower > 0, lower, lower.mean()))
    blocks = n / length
    starts = np.random.default_rng(SEED).integers(0, n - length + 1, size=(RESAMPLES, round(blocks)))
    sums = [np.concatenate(([0.0], part.cumsum())) for part in (upper, lower)]
    tops, bottoms = ((total[starts + length] - total[starts]).sum(axis=1) for total in sums)
    across = 1 + ACROSS * lag / length  # what is alike across the ends of blocks is lost by cutting there
    usual = upper.sum() / lower.sum()
    error = float((tops / bottoms).std(ddof=1) / usual) * sqrt(across * blocks / (blocks - 1))
    return Spread(error, blocks - 1)


def of_spreads(a: float, b: float, spread_a: Spread, spread_b: Spread, method: Method) -> Effect:
    """Return the effect of two figures above 0 whose spreads are known: Welch's interval of the logarithms."""
    variances = spread_a.error**2, spread_b.error**2
    error = sqrt(sum(variances))
    if error == 0:
        return Effect(b / a, b / a, b / a, 1.0 if a == b else 0.0, method)
    parts = (variances[0] ** 2 / spread_a.degrees, variances[1] ** 2 / spread_b.degrees)
    degrees = sum(variances) ** 2 / sum(parts)
    reach = float(special.stdtrit(degrees, 1 - ALPHA / 2)) * error
    shift = log(b / a)
    p = 2 * float(special.stdtr(degrees, -abs(shift) / error))
    return Effect(b / a, exp(shift - reach), exp(shift + reach), p, method)


def with_noise(effect: Effect, deviation: float, runs: int) -> Effect:
    """Return the effect of single runs as known between runs, from the deviation of `runs` runs of the same.

    `deviation` is that of one run, as a share. The interval is Student's of a difference of two single runs on
    logarithms, or the one within the runs where that reaches further: these runs may be noisier than those were.
    """
    error, degrees = sqrt(2) * deviation, runs - 1
    shift = log(effect.ratio)
    reach = float(special.stdtrit(degrees, 1 - ALPHA / 2)) * error
    p = 2 * float(special.stdtr(degrees, -abs(shift) / error)) if error else float(shift == 0)
    low, high = exp(shift - reach), exp(shift + reach)
    if effect.low is not None and effect.high is not None and effect.p is not None:
        low, high, p = min(low, effect.low), max(high, effect.high), max(p, effect.p)
    return Effect(effect.ratio, low, high, p, "one run, noise floor")


# -- percentiles of one run: ranks in its histogram


def percentile_interval(
    idx: Sequence[int], n: Sequence[int], percentile: float, beyond: Spread | None = None, at_most: float | None = None
) -> tuple[float, float] | None:
    """Return the 95 % interval of a percentile in ns by order statistics, free of any distribution; None: no samples.

    `beyond` is how well the share of I/Os beyond it is known when neighbours in time are alike: a stall of one second
    is one event, and not as many as there were I/Os in it.
    """
    counts = np.cumsum(np.asarray(n, float))
    if not len(counts) or counts[-1] <= 0:
        return None
    total, share = counts[-1], percentile / 100
    drawn = total * share * (1 - share)
    alike = (total * (1 - share) * beyond.error) ** 2 if beyond is not None else 0.0
    quantile = special.stdtrit(beyond.degrees, 1 - ALPHA / 2) if beyond is not None else special.ndtri(1 - ALPHA / 2)
    reach = float(quantile) * sqrt(max(drawn, alike))
    low, high = (_at_rank(idx, counts, total * share + side * reach) for side in (-1, 1))
    top = high * (1 + HALF_BUCKET)
    return low * (1 - HALF_BUCKET), min(top, at_most) if at_most and total * share + reach < total else top


def shares_beyond(limit: float, means: Sequence[float], p99s: Sequence[float]) -> list[float]:
    """Return which share of each second's I/Os is above `limit`, a second being lognormal by its mean and its p99."""
    mean, p99 = np.asarray(means, float), np.asarray(p99s, float)
    ninety_nine = float(special.ndtri(0.99))
    ratio = np.log(np.maximum(p99 / mean, 1.0001))
    sigma = ninety_nine - np.sqrt(np.maximum(ninety_nine**2 - 2 * ratio, 0.0))
    return [float(each) for each in special.ndtr((np.log(mean) - log(limit) - sigma**2 / 2) / sigma)]


def _at_rank(idx: Sequence[int], counts: Array, rank: float) -> float:
    place = int(np.searchsorted(counts, min(max(rank, 1.0), counts[-1])))
    return float(index_to_value(min(idx[min(place, len(idx) - 1)], TOP_BUCKET)))


def of_interval(interval: tuple[float, float], degrees: float) -> Spread:
    """Return the spread that a 95 % interval stands for."""
    reach = 2 * float(special.ndtri(1 - ALPHA / 2))
    return Spread(log(interval[1] / interval[0]) / reach, degrees)


# -- several at once


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Return p values corrected for being several (Holm 1979); those that are None stay so and do not count."""
    known = sorted((value, at) for at, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    highest = 0.0
    for place, (value, at) in enumerate(known):
        highest = max(highest, min(1.0, value * (len(known) - place)))
        found[at] = highest
    return found
