"""Uncertainty of a mean over the correlated seconds of one run: moving blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import sqrt
from operator import mul
from statistics import fmean, pvariance

from msgspec import Struct

LEAST_SECONDS = 10
BLOCKS = 5  # minimum number of blocks of a series
LEAST_BLOCK = 2
UNCORRELATED = 0.1  # autocorrelation below which seconds count as independent
EVERY_LAG = 300  # up to here every lag is tested, then in steps of a twentieth
BLOCK_LAGS = 3.0  # block length, as a multiple of the lag at which seconds are uncorrelated
ACROSS = 1.5  # tuned so that at most 5 % of equal pairs differ: tests/long/bench/same_pairs.py


class LogSpread(Struct, frozen=True):
    """Standard error of a figure's logarithm, with degrees of freedom."""

    error: float
    degrees: float


def block_length(values: Sequence[float]) -> tuple[int, int]:
    """Return the block length, and the lag at which seconds are uncorrelated, in seconds."""
    mean, n = fmean(values), len(values)
    centred = [each - mean for each in values]
    power = sum(map(mul, centred, centred))
    lag = 1
    if power > 0:
        alike = ((lag, sum(map(mul, centred, centred[lag:])) / power) for lag in _lags(n // 2))
        lag = next((lag for lag, share in alike if share < UNCORRELATED), n // 2)
    return max(LEAST_BLOCK, min(round(lag * BLOCK_LAGS), n // BLOCKS)), lag


def _lags(end: int) -> Iterator[int]:
    lag = 1
    while lag < end:
        yield lag
        lag += 1 if lag < EVERY_LAG else lag // 20


def within_run(top: Sequence[float], bottom: Sequence[float] | None = None) -> LogSpread | None:
    """Return the uncertainty of a mean over the seconds of one run.

    None with fewer than LEAST_SECONDS seconds, or if the mean is 0. The mean is sum(`top`) /
    sum(`bottom`), such as latency x I/Os over I/Os; without `bottom` it is that of `top`. The
    method is moving blocks (Kuensch 1989): neighbouring seconds stay together, so that slow changes
    count fully. Nothing is drawn at random: the variance over all blocks is the limit of
    resampling.
    """
    n = len(top)
    lower = [1.0] * n if bottom is None else bottom
    if n < LEAST_SECONDS or sum(top) <= 0 or sum(lower) <= 0:
        return None
    usual, middle = sum(top) / sum(lower), fmean(lower)
    length, lag = block_length(
        [up / (down if down > 0 else middle) for up, down in zip(top, lower, strict=True)]
    )
    blocks = n / length
    tops, bottoms = (_block_sums(part, length) for part in (top, lower))
    ratio, size = sum(tops) / sum(bottoms), fmean(bottoms)
    apart = pvariance([up - ratio * down for up, down in zip(tops, bottoms, strict=True)])
    # correlation across block ends is lost
    across = 1 + ACROSS * lag / length
    error = sqrt(apart / round(blocks)) / size / usual * sqrt(across * blocks / (blocks - 1))
    return LogSpread(error, blocks - 1)


def _block_sums(values: Sequence[float], length: int) -> list[float]:
    """Return the sum of every block of `length` neighbours, at all offsets."""
    sums = [0.0, *accumulate(values)]
    return [end - begin for begin, end in zip(sums, sums[length:], strict=False)]
