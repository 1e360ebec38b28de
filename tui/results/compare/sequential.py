"""When an A/B experiment may stop: looks at its repetitions with an error that holds over all of them. Pure.

Alpha is spent by Lan and DeMets' Pocock-type function (Biometrika 70, 1983); each look gets what is spent since the one
before, so by Bonferroni's inequality all looks together err in 5 % at most, whatever was seen meanwhile. The intervals
are repeated confidence intervals (Jennison and Turnbull, JRSS B 51, 1989): all of them hold together, so the same
interval may say "different" and "no difference as large as that".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, e, exp, log, sqrt
from typing import Literal

import numpy as np
from scipy import special

from tui.results.compare.noise import Floor
from tui.results.compare.stats import ALPHA

Answer = Literal["higher", "lower", "no difference as large", "go on"]
ORDER = "ABBA"  # what drifts in a straight line drifts out
LEAST_RUNS = 4
LEAST_MOST = 10
POWER = 0.9
PRICE = 95.0  # runs at most, by (deviation / change)², until a change is found in 9 of 10: tests/bench/ab_budget.py


@dataclass(frozen=True, slots=True)
class Look:
    """What is known after `runs` of both sides: B / A with its repeated 95 % interval, and whether that is an answer.

    `detectable` is the least change that so many runs would have found with a power of 90 %, as a share.
    """

    runs: int
    ratio: float
    low: float
    high: float
    alpha: float
    detectable: float
    answer: Answer


def side_of(index: int) -> str:
    """Return which side the run with this number, from 0, is of."""
    return ORDER[index % len(ORDER)]


def spent(share: float) -> float:
    """Return how much of alpha is spent when a share of the runs is made."""
    return ALPHA * log(1 + (e - 1) * min(max(share, 0.0), 1.0))


def runs_for(detect: float, deviation: float) -> int:
    """Return how many runs there must be time for, so that a change of `detect` is found in 9 of 10 experiments.

    Both are shares; the deviation is that between runs. In the mean half as many are made when there is such a change.
    """
    return max(LEAST_MOST, 2 * ceil(PRICE * (deviation / log(1 + detect)) ** 2 / 2))


def look(a: Sequence[float], b: Sequence[float], most: int, detect: float, floor: Floor | None = None) -> Look:
    """Return what is known of repetitions of both sides, of `most` runs in all. Looks are made at 4, 6, 8 ... runs.

    The deviation is that of the repetitions, pooled with a noise floor that was measured before.
    """
    logs = np.log(np.asarray(a, float)), np.log(np.asarray(b, float))
    runs = len(a) + len(b)
    alpha = spent(runs / most) - (spent((runs - 2) / most) if runs > LEAST_RUNS else 0.0)
    degrees = runs - 2.0
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in logs)
    if floor is not None:
        squares, degrees = squares + (floor.n - 1) * floor.cov**2, degrees + floor.n - 1
    error = sqrt(squares / degrees * (1 / len(a) + 1 / len(b)))
    shift = float(logs[1].mean() - logs[0].mean())
    reach = float(special.stdtrit(degrees, 1 - alpha / 2)) * error
    detectable = exp(reach + float(special.stdtrit(degrees, POWER)) * error) - 1
    answer = _answer(shift - reach, shift + reach, log(1 + detect))
    return Look(runs, exp(shift), exp(shift - reach), exp(shift + reach), alpha, detectable, answer)


def _answer(low: float, high: float, limit: float) -> Answer:
    if -limit < low and high < limit:  # first: what is surely less than what matters is no difference, though it is one
        return "no difference as large"
    if low > 0 or high < 0:
        return "higher" if low > 0 else "lower"
    return "go on"
