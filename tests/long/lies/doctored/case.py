"""What a doctored case is, and what came of judging it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random

from tests.long.lies.classes import Kind

LARGEST = 9.0  # a figure is made up to ten times as large, or a tenth
SMALLEST = 0.002
UNSEEN = "below what is printed"


@dataclass(frozen=True, slots=True)
class Case:
    """One doctored result. `aims`: checks of which one must name it, its own first; none: it cannot
    be seen, for the reason `unseen`, which follows from what was changed and by how much.

    `judge` returns the checks that speak up in a folder of its own; those of the undoctored result
    are `before`.
    """

    kind: Kind
    lie: str
    what: str
    aims: tuple[str, ...]
    judge: Callable[[Path], frozenset[str]]
    before: frozenset[str] = frozenset()
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """What was said of a case beyond what was said before."""

    case: Case
    said: frozenset[str] = field(default_factory=frozenset)
    failed: str = ""

    @property
    def named(self) -> bool:
        """Whether one of its checks spoke up."""
        return bool(self.said & set(self.case.aims))


def judged(case: Case, folder: Path) -> JudgedCase:
    """Judge a case."""
    from tui.model.problem import BenchtuiError, UsageError

    try:
        return JudgedCase(case, case.judge(folder) - case.before)
    except (BenchtuiError, UsageError) as error:  # refused: it is no result, and the reason says so
        return JudgedCase(case, frozenset({"refused"}), str(error)[:200])


def thinned(counts: Sequence[int], by: float) -> list[int]:
    """Return counts times a factor whose sum is that of all times the factor, to one."""
    edges = [round(total * by) for total in accumulate(counts, initial=0)]
    return [after - before for before, after in pairwise(edges)]


def factor(rng: Random, least: float = SMALLEST, most: float = LARGEST) -> float:
    """Draw by what a figure is multiplied or divided: 1 + m, with log m even between `least` and
    `most`.
    """
    more = 1 + math.exp(rng.uniform(math.log(least), math.log(max(most, least * 2))))
    return more if rng.random() < 0.5 else 1 / more
