"""How many repetitions a rank test needs before it can tell two sets of runs apart. Pure, without numpy."""

from __future__ import annotations

from itertools import count
from math import comb

LEAST_REPETITIONS = 4  # of 3 and 3 the smallest p there can be is 0.10
HEADLINE_ALPHA, OTHERS_ALPHA = 0.04, 0.01  # of the 5 %: what others lack they get from headlines that all differ


def least_p(a: int, b: int) -> float:
    """Return the smallest p that Mann and Whitney's test can give for so many repetitions."""
    return min(1.0, 2 / comb(a + b, a))


def can_decide(a: int, b: int, figures: int, alpha: float) -> bool:
    """Tell whether a test of so many figures at once, corrected by Holm, can call one of them different."""
    return min(a, b) >= LEAST_REPETITIONS and least_p(a, b) * figures <= alpha


def repetitions_needed(figures: int, alpha: float = HEADLINE_ALPHA) -> int:
    """Return how often each of so many figures must be measured on both sides; a point has one headline."""
    return next(times for times in count(LEAST_REPETITIONS) if can_decide(times, times, figures, alpha))
