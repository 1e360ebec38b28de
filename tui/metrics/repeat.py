"""Repetitions: confidence interval of the mean, and number of repetitions that a rank test
needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import comb, sqrt
from statistics import NormalDist, fmean, stdev

# quantiles 0.975 of Student's t distribution by degrees of freedom, 1 to 30
T_975 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip

LEAST_REPETITIONS = 3  # with two values, Student's interval is ±13 standard errors


def t_975(degrees: int) -> float:
    """Return the 0.975 quantile of Student's t; beyond the table, by the Cornish-Fisher
    expansion.
    """
    if degrees <= len(T_975):
        return T_975[degrees - 1]
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def relative_ci(values: Sequence[float]) -> float | None:
    """Return half the width of the mean's 95 % confidence interval, relative to the mean.

    None for fewer than two values, or a mean of 0.
    """
    if len(values) < 2:
        return None
    mean = fmean(values)
    return t_975(len(values) - 1) * stdev(values) / sqrt(len(values)) / abs(mean) if mean else None


def shows_ci(values: Sequence[float], half_width: float | None) -> bool:
    """Return whether to print mean ± half width: three or more values, and the interval excludes
    zero.
    """
    return len(values) >= LEAST_REPETITIONS and half_width is not None and half_width < 1.0


LEAST_RANKED_REPETITIONS = 4  # with 3 against 3, the smallest possible p is 0.10
# error allowed for headlines and for all other figures, 5 % in total
HEADLINE_ALPHA, OTHERS_ALPHA = 0.04, 0.01


def least_p(a: int, b: int) -> float:
    """Return the smallest p value that a Mann-Whitney test can give for these numbers of
    repetitions.
    """
    return min(1.0, 2 / comb(a + b, a))


def can_decide(a: int, b: int, figures: int, alpha: float) -> bool:
    """Return whether a Holm-corrected test of this many figures can find a significant difference
    between `a` and `b` repetitions.
    """
    return min(a, b) >= LEAST_RANKED_REPETITIONS and least_p(a, b) * figures <= alpha


def repetitions_needed(figures: int, alpha: float = HEADLINE_ALPHA) -> int:
    """Return the number of repetitions that each side needs to test this many figures."""
    return next(
        times
        for times in count(LEAST_RANKED_REPETITIONS)
        if can_decide(times, times, figures, alpha)
    )
