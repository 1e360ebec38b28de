"""Expected number of blocks that random I/O touches, by distribution, without simulation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import erf, exp, expm1, log, sqrt

from msgspec import Struct

EXACT = 256  # each of the hottest blocks is a part of its own; the rest share ever longer parts
LONGER = 1.05
BANDS = 512  # of a bell curve
TERMS = 12  # fio's normal distribution is the mean of this many uniform ones


class Part(Struct, frozen=True):
    """A number of equally likely blocks, and their total share of the I/Os."""

    blocks: float
    share: float


def even(blocks: float) -> list[Part]:
    """Return the parts of a uniform distribution."""
    return [Part(blocks, 1.0)]


def zipf(blocks: float, theta: float) -> list[Part]:
    """Return the parts of a Zipf distribution: block n is chosen n^-theta times as often as the
    first.

    Theta is positive.
    """
    edges = _edges(blocks)
    masses = [_power_sum(low, high, theta) for low, high in itertools.pairwise(edges)]
    return _normal(edges, masses)


def pareto(blocks: float, h: float) -> list[Part]:
    """Return the parts of a Pareto distribution: a share `h` of the blocks gets 1 - h of the I/Os;
    0 < h < 1.
    """
    power, edges = log(1 - h) / log(h), _edges(blocks)
    masses = [
        (high / blocks) ** power - (low / blocks) ** power
        for low, high in itertools.pairwise(edges)
    ]
    return _normal(edges, masses)


def bell(blocks: float, deviation: float) -> list[Part]:
    """Return the parts of fio's `normal:deviation`: the mean of 12 uniform numbers, plus a uniform
    offset that is `deviation` per cent of the blocks wide.
    """
    sigma, width = 1 / TERMS, min(deviation / 100, 0.5)
    middles = [(at + 0.5) / BANDS - 0.5 for at in range(BANDS)]
    if width > 1 / BANDS:
        ends = [((x + width / 2) / sigma, (x - width / 2) / sigma) for x in middles]
        masses = [erf(high / sqrt(2)) - erf(low / sqrt(2)) for high, low in ends]
    else:
        masses = [exp(-((x / sigma) ** 2) / 2) for x in middles]
    return _normal([at * blocks / BANDS for at in range(BANDS + 1)], masses)


def zones(blocks: float, given: Sequence[tuple[float, float]]) -> list[Part]:
    """Return the parts of a distribution by zones: (share of I/Os, share of blocks).

    Shares of I/Os may have any sum; shares of blocks are scaled down if they exceed 1 in total.
    """
    shares, sizes = (
        sum(share for share, _ in given) or 1.0,
        max(sum(size for _, size in given), 1.0),
    )
    return [Part(blocks * size / sizes, share / shares) for share, size in given if size > 0]


def distinct(parts: Sequence[Part], ios: float) -> float:
    """Return the expected number of different blocks touched by this many independent I/Os."""
    return sum(
        -part.blocks * expm1(-ios * part.share / part.blocks) for part in parts if part.blocks > 0
    )


def hottest(parts: Sequence[Part], share: float) -> float:
    """Return the smallest number of blocks that is expected to receive this share of the I/Os."""
    left, count = share, 0.0
    for part in sorted((part for part in parts if part.blocks > 0), key=_density, reverse=True):
        if part.share >= left:
            return count + part.blocks * (left / part.share if part.share else 0.0)
        left, count = left - part.share, count + part.blocks
    return count


def _density(part: Part) -> float:
    return part.share / part.blocks


def _edges(blocks: float) -> list[float]:
    """Return the boundaries of rank ranges: single ranks first, then increasingly longer ranges."""
    edges, at = [0.0], 0.0
    while at < blocks:
        at = min(blocks, max(at + 1.0, float(int(at * LONGER)) if at >= EXACT else 0.0))
        edges.append(at)
    return edges


def _power_sum(low: float, high: float, theta: float) -> float:
    """Return the sum of k^-theta over low < k <= high; exact for a single k, else by the midpoint
    rule.
    """
    if high - low <= 1.0:
        return float((low + 1.0) ** -theta)
    first, last = low + 0.5, high + 0.5
    return (
        log(last / first)
        if theta == 1
        else (last ** (1 - theta) - first ** (1 - theta)) / (1 - theta)
    )


def _normal(edges: Sequence[float], masses: Sequence[float]) -> list[Part]:
    total = sum(masses) or 1.0
    widths = (high - low for low, high in itertools.pairwise(edges))
    return [Part(width, mass / total) for width, mass in zip(widths, masses, strict=True)]
