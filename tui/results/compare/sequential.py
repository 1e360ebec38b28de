"""When an A/B experiment may stop: looks at its repetitions with an error that holds over all of them. Pure.

Alpha is spent by Lan and DeMets' Pocock-type function (Biometrika 70, 1983); each look gets what is spent since the one
before, so by Bonferroni's inequality all looks together err in 5 % at most, whatever was seen meanwhile. The intervals
are repeated confidence intervals (Jennison and Turnbull, JRSS B 51, 1989): all of them hold together, so the same
interval may say "different" and "no difference as large as that".

How many runs it takes is known from how far apart the runs of each side came out so far, and from a noise floor: that
says nothing of the sides' difference, and what looks have spent stays spent when it changes (Mehta and Tsiatis, Drug
Information Journal 35, 2001). The time that there is has no part in what is spent: an experiment that ran out of it has
kept the rest for the day it goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, e, exp, inf, log, sqrt
from statistics import fmean, pvariance
from typing import Literal

from tui.metrics.student import t_quantile
from tui.results.compare.noise import Floor
from tui.results.compare.stats import ALPHA

Answer = Literal["higher", "lower", "no difference as large", "go on"]
ORDER = "ABBA"  # what drifts in a straight line drifts out
LEAST_RUNS = 4
LEAST_MOST = 10
POWER = 0.9
FAR = 99.0  # of a logarithm: nothing is known
WARY = 2.0  # few runs tell their deviation badly: of n degrees of freedom its square is taken 1 + WARY / n times
PRICE = 95.0  # runs at most, by (deviation / change)², until a change is found in 9 of 10: bench ab_budget


@dataclass(frozen=True, slots=True)
class Look:
    """What is known after `runs` of both sides: B / A with its repeated 95 % interval, and whether that is an answer.

    `detectable` is the least change (a share) that so many runs would have found with a power of 90 %; `most` how many
    runs it takes at most, as far as is known by then; `alpha` how often this look may err, `spent` all looks so far.
    """

    runs: int
    ratio: float
    low: float
    high: float
    alpha: float
    detectable: float
    answer: Answer
    most: int
    spent: float

    @property
    def all_spent(self) -> bool:
        """Whether another look could say nothing."""
        return self.spent > ALPHA * (1 - 1e-9)


@dataclass(frozen=True, slots=True)
class Made:
    """The looks of earlier sittings at the runs that there are, and what those at others have spent (`lost`)."""

    looks: Sequence[Look] = ()
    lost: float = 0.0

    @property
    def spent(self) -> float:
        """The error of all of them together."""
        return self.lost + sum(each.alpha for each in self.looks)


NOTHING_MADE = Made()


def side_of(index: int) -> str:
    """Return which side the run with this number, from 0, is of."""
    return ORDER[index % len(ORDER)]


def spent(share: float) -> float:
    """Return how much of alpha is spent when a share of the runs is made."""
    return ALPHA * log(1 + (e - 1) * min(max(share, 0.0), 1.0))


def runs_for(detect: float, deviation: float, degrees: float = inf) -> int:
    """Return how many runs there must be time for, so that a change of `detect` is found in 9 of 10 experiments.

    Both are shares; the deviation is that between runs, known by so many degrees of freedom. In the mean half as many
    are made when there is such a change.
    """
    needed = PRICE * (deviation / log(1 + detect)) ** 2 * (1 + WARY / degrees)
    return max(LEAST_MOST, 2 * ceil(needed / 2))


def after_looks(
    a: Sequence[float],
    b: Sequence[float],
    room: int,
    detect: float,
    floor: Floor | None = None,
    made: Made = NOTHING_MADE,
) -> tuple[Look | None, list[Look]]:
    """Return what is known of repetitions in their order (None before there are four), and the looks made for that now.

    Looks are made at 4, 6, 8 ... runs. One that was made before stays as it was, whatever is asked by now; one for
    which nothing is left to spend tells only how many runs it takes.
    """
    pairs = min(len(a), len(b))
    if 2 * pairs < LEAST_RUNS:
        return None, []
    known, before = {each.runs: each for each in made.looks}, made.spent
    looked: dict[int, Look] = {}
    for each in range(LEAST_RUNS // 2, pairs + 1):
        if 2 * each not in known:
            looked[2 * each] = look(a[:each], b[:each], room, detect, floor, before)
            before = looked[2 * each].spent
    known |= looked
    newest = looked.get(2 * pairs) or look(a[:pairs], b[:pairs], room, detect, floor, before)
    last = known[max((runs for runs, each in known.items() if each.alpha > 0), default=LEAST_RUNS)]
    answer = _answer(log(last.low), log(last.high), log(1 + detect))
    found = replace(last, answer=answer, most=newest.most, spent=before)
    if not found.all_spent and found.most <= 2 * pairs:  # less is asked for by now: one more look spends the rest
        found = replace(found, most=min(room, 2 * pairs + 2))
    return found, [each for each in looked.values() if each.alpha > 0]


def look(
    a: Sequence[float], b: Sequence[float], room: int, detect: float, floor: Floor | None = None, before: float = 0.0
) -> Look:
    """Return what is known of as many repetitions of both sides; there is time for `room` runs, `before` is spent.

    What this look spends goes by the runs that it takes to find a change of `detect`, not by the time. The deviation is
    that of the repetitions, pooled with a noise floor that was measured before.
    """
    logs = [log(each) for each in a], [log(each) for each in b]
    runs = len(a) + len(b)
    degrees = runs - 2.0
    squares = sum(pvariance(each) * len(each) for each in logs)
    if floor is not None:
        squares, degrees = squares + (floor.n - 1) * floor.cov**2, degrees + floor.n - 1
    needed = runs_for(detect, sqrt(squares / degrees), degrees)
    alpha = max(spent(runs / needed) - before, 0.0)
    error = sqrt(squares / degrees * (1 / len(a) + 1 / len(b)))
    shift = fmean(logs[1]) - fmean(logs[0])
    reach = min(t_quantile(degrees, 1 - alpha / 2) * error, FAR) if alpha > 0 else FAR
    detectable = exp(min(reach + t_quantile(degrees, POWER) * error, FAR)) - 1
    answer = _answer(shift - reach, shift + reach, log(1 + detect))
    low, high, most = exp(shift - reach), exp(shift + reach), min(room, needed)
    return Look(runs, exp(shift), low, high, alpha, detectable, answer, most, before + alpha)


def _answer(low: float, high: float, limit: float) -> Answer:
    if -limit < low and high < limit:  # first: what is surely less than what matters is no difference, though it is one
        return "no difference as large"
    if low > 0 or high < 0:
        return "higher" if low > 0 else "lower"
    return "go on"
