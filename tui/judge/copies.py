"""Results that are modified copies of another: noise on the counts, or all figures multiplied by a
factor.

Two loads never share what chance decides: how many I/Os fall into each rare bucket of a histogram,
and the last digits of mean, deviation and maximum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import comb, gcd, isnan, log, pi, sqrt
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tui.metrics.figures import Latency
from tui.model.event import DirectionResult, MetadataResult
from tui.model.operands import Clause, clause

LEAST_IOS = 100
LEAST_EQUAL = 16
UNLIKELY = -log(1e-12)
EXACT_CHANCE = 64  # I/Os in a bucket of both, up to which the chance is computed exactly
LEAST_NS = 1000.0  # of means and deviations, which are printed to 10^-6 ns
DIGIT_NS = 1e-6
DIGITS, LEAST_RATES = 6, 4  # repeated runs hardly ever agree in the third
ROUGH_STEPS = 1000  # of 10 ns or 10 us, to which reports print means
PAIRS = 20_000
if TYPE_CHECKING:
    from tui.model.record import CopyRecord

Place = tuple[str, str]  # direction, kind of latency


class Copied(Struct, frozen=True):
    """How two results agree: in `equal` of `counts` histogram counts (`expected` by chance); in
    mean, deviation and maximum, apart from a `factor`; or in `figures` rates.
    """

    equal: int = 0
    counts: int = 0
    expected: float = 0.0
    factor: float | None = None
    figures: int = 0


class Fingerprint(Struct, frozen=True):
    """Figures of one result that depend on chance.

    `rough`: latencies with few digits. `rates`: by operation and statistic.
    """

    name: str
    latencies: dict[Place, Latency]
    counts: dict[Place, dict[int, int]]
    rough: bool = False
    rates: dict[Place, float] = field(default_factory=dict)


def fingerprint(name: str, dirs: Mapping[str, DirectionResult]) -> Fingerprint | None:
    """Return the figures of a result to compare with others; None with too few I/Os or without
    latencies.
    """
    found: dict[Place, Latency] = {}
    for direction, part in dirs.items():
        for kind in ("slat", "clat", "lat"):
            latency: Latency | None = getattr(part, kind)
            if latency is not None and latency.n >= LEAST_IOS:
                found[direction, kind] = latency
    if not found:
        return None
    counts = {
        place: dict(zip(each.buckets.idx, each.buckets.n, strict=True))
        for place, each in found.items()
        if each.buckets is not None and len(each.buckets.n) >= LEAST_EQUAL
    }
    return Fingerprint(name, found, counts, any(part.rounded for part in dirs.values()))


def of_operations(name: str, result: MetadataResult) -> Fingerprint | None:
    """Return an MPI benchmark's figures to compare with others; None with fewer than LEAST_RATES
    rates of six digits.

    With one or two iterations, only that many statistics are independent.
    """
    names = {1: ("mean",), 2: ("max", "min")}.get(
        result.iterations, ("max", "min", "mean", "stddev")
    )
    rates = {
        (operation, each): value
        for operation, figures in result.operations.items()
        for each in names
        if (value := getattr(figures, each)) and len(f"{value:.12g}".replace(".", "")) >= DIGITS
    }
    return Fingerprint(name, {}, {}, rates=rates) if len(rates) >= LEAST_RATES else None


def pairs(found: Sequence[Fingerprint]) -> Iterator[tuple[int, int]]:
    """Yield the indices of results to compare: all pairs or, if there are many results, only close
    ones.
    """
    width = max(PAIRS // max(len(found), 1), 1)
    for one in range(len(found)):
        for other in range(one + 1, min(len(found), one + 1 + width)):
            yield one, other


def how(found: Copied | CopyRecord) -> Clause:
    """Return how two results agree, as part of a finding."""
    if found.figures:
        return clause("rates", count=found.figures)
    if found.factor is None:
        return clause("counts", equal=found.equal, of=found.counts, by_chance=found.expected)
    return clause("equal") if found.factor == 1 else clause("factor", factor=found.factor)


def copied(one: Fingerprint, other: Fingerprint) -> Copied | None:
    """Return how one result is a copy of another; None if it is not."""
    for place, latency in one.latencies.items():
        if place not in other.latencies:
            continue
        factor = _factor(latency, other.latencies[place], rough=one.rough or other.rough)
        if factor is not None:
            return Copied(factor=factor)
    for place, counts in one.counts.items():
        if place in other.counts and (found := _in_common(counts, other.counts[place])) is not None:
            return found
    same = len(one.rates.items() & other.rates.items())
    whole = 2 * same >= min(len(one.rates), len(other.rates))
    return Copied(figures=same) if same >= LEAST_RATES and whole else None


def _factor(one: Latency, other: Latency, *, rough: bool) -> float | None:
    """Return the factor by which all figures of one latency differ from those of another; None if
    they differ otherwise.

    Deviation over mean varies by more than a ten thousandth between loads, and is equal to 10^-9 by
    chance once in 10^5; the maximum, which varies at least as much, then agrees to the ns as well.
    """
    known = [one.mean_ns, other.mean_ns, one.stddev_ns, other.stddev_ns, one.max_ns, other.max_ns]
    if any(value is None or isnan(value) for value in known):
        return None
    mean, mean2, spread, spread2, most, most2 = (float(value or 0.0) for value in known)
    if min(mean, mean2, spread, spread2) < LEAST_NS:
        return None
    if rough:
        step = 10.0 if most % 1e6 else 1e4
        same = (mean, spread, most, one.min_ns) == (mean2, spread2, most2, other.min_ns)
        return 1.0 if same and min(mean, spread) >= ROUGH_STEPS * step else None
    if min(most - mean, most2 - mean2) < LEAST_NS:
        return None
    factor = mean / mean2
    off = DIGIT_NS * (1 / mean + 1 / mean2 + 1 / spread + 1 / spread2)
    same = abs(spread / spread2 / factor - 1) <= off and abs(most - factor * most2) <= 1 + factor
    return factor if same else None


def _in_common(one: Mapping[int, int], other: Mapping[int, int]) -> Copied | None:
    """Return how many counts are equal in two histograms, if more than chance allows; else None.

    Each of n I/Os in a bucket of both may come from either: they are split evenly with a
    probability of no more than C(n, n/2) / 2^n, whatever the loads. Loads whose latencies come in
    bursts split them less evenly. Chernoff's bound limits the number of equal counts due to chance.
    """
    equal = sum(count > 0 for _, count in one.items() & other.items())
    if equal < LEAST_EQUAL or 4 * equal < min(len(one), len(other)):
        return None
    every, clump = {*one, *other}, gcd(*one.values(), *other.values()) or 1
    expected = sum(_even((one.get(at, 0) + other.get(at, 0)) // clump) for at in every)
    if equal <= expected:
        return None
    bound = equal * log(equal / expected) - equal + expected if expected else float("inf")
    return Copied(equal, len(every), expected) if bound >= UNLIKELY else None


def _even(total: int) -> float:
    """Return the largest probability that this many I/Os are split evenly."""
    if total % 2:
        return 0.0
    if total <= EXACT_CHANCE:
        return comb(total, total // 2) / 2.0**total
    return sqrt(2 / (pi * total))
