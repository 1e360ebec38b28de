"""When an A/B test may stop, and its interim looks kept on disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, e, exp, inf, log, sqrt
from pathlib import Path
from statistics import fmean, pvariance
from typing import Literal

import msgspec
from msgspec import Struct, field

from tui.analysis.measured import Floor
from tui.analysis.stats import ALPHA
from tui.journal.rundir import write_atomic
from tui.metrics.student import t_quantile
from tui.model.bounded import MOST_SMALL_BYTES, NO_JSON, read_file
from tui.model.plain_data import PlainDecoder
from tui.model.problem import NotComparableError, Problem
from tui.model.rundir import LOOKS_FILE

Answer = Literal["higher", "lower", "no difference as large", "go on"]
ORDER = "ABBA"  # what drifts in a straight line drifts out
LEAST_RUNS = 4
LEAST_MOST = 10
POWER = 0.9
FAR = 99.0  # of a logarithm: nothing is known
# few runs tell their deviation badly: of n degrees of freedom its square is taken 1 + WARY / n
# times
WARY = 2.0
# runs at most, by (deviation / change)², until a change is found in 9 of 10: bench ab_budget
PRICE = 95.0


@dataclass(frozen=True, slots=True)
class InterimLook:
    """What is known after `runs` of both sides: B / A with its repeated 95 % interval, and whether
    that is an answer.

    `detectable` is the least change (a share) that so many runs would have found with a power of 90
    %; `most` how many runs it takes at most, as far as is known by then; `alpha` how often this
    look may err, `spent` all looks so far.
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
class PastLooks:
    """The looks of earlier sittings at the runs that there are, and what those at others have spent
    (`lost`).
    """

    looks: Sequence[InterimLook] = ()
    lost: float = 0.0

    @property
    def spent(self) -> float:
        """The error of all of them together."""
        return self.lost + sum(each.alpha for each in self.looks)


NOTHING_MADE = PastLooks()


def side_of(index: int) -> str:
    """Return which side the run with this number, from 0, is of."""
    return ORDER[index % len(ORDER)]


def spent(share: float) -> float:
    """Return how much of alpha is spent when a share of the runs is made."""
    return ALPHA * log(1 + (e - 1) * min(max(share, 0.0), 1.0))


def runs_for(detect: float, deviation: float, degrees: float = inf) -> int:
    """Return how many runs there must be time for, so that a change of `detect` is found in 9 of 10
    experiments.

    Both are shares; the deviation is that between runs, known by so many degrees of freedom. In the
    mean half as many are made when there is such a change.
    """
    needed = PRICE * (deviation / log(1 + detect)) ** 2 * (1 + WARY / degrees)
    return max(LEAST_MOST, 2 * ceil(needed / 2))


def after_looks(
    a: Sequence[float],
    b: Sequence[float],
    room: int,
    detect: float,
    floor: Floor | None = None,
    made: PastLooks = NOTHING_MADE,
) -> tuple[InterimLook | None, list[InterimLook]]:
    """Return what is known of repetitions in their order (None before there are four), and the
    looks made for that now.

    Looks are made at 4, 6, 8 ... runs. One that was made before stays as it was, whatever is asked
    by now; one for which nothing is left to spend tells only how many runs it takes.
    """
    pairs = min(len(a), len(b))
    if 2 * pairs < LEAST_RUNS:
        return None, []
    known, before = {each.runs: each for each in made.looks}, made.spent
    looked: dict[int, InterimLook] = {}
    for each in range(LEAST_RUNS // 2, pairs + 1):
        if 2 * each not in known:
            looked[2 * each] = look(a[:each], b[:each], room, detect, floor, before)
            before = looked[2 * each].spent
    known |= looked
    newest = looked.get(2 * pairs) or look(a[:pairs], b[:pairs], room, detect, floor, before)
    last = known[max((runs for runs, each in known.items() if each.alpha > 0), default=LEAST_RUNS)]
    answer = _answer(log(last.low), log(last.high), log(1 + detect))
    found = replace(last, answer=answer, most=newest.most, spent=before)
    # less is asked for by now: one more look spends the rest
    if not found.all_spent and found.most <= 2 * pairs:
        found = replace(found, most=min(room, 2 * pairs + 2))
    return found, [each for each in looked.values() if each.alpha > 0]


def look(
    a: Sequence[float],
    b: Sequence[float],
    room: int,
    detect: float,
    floor: Floor | None = None,
    before: float = 0.0,
) -> InterimLook:
    """Return what is known of as many repetitions of both sides; there is time for `room` runs,
    `before` is spent.

    What this look spends goes by the runs that it takes to find a change of `detect`, not by the
    time. The deviation is that of the repetitions, pooled with a noise floor that was measured
    before.
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
    return InterimLook(runs, exp(shift), low, high, alpha, detectable, answer, most, before + alpha)


def _answer(low: float, high: float, limit: float) -> Answer:
    # first: what is surely less than what matters is no difference, though it is one
    if -limit < low and high < limit:
        return "no difference as large"
    if low > 0 or high < 0:
        return "higher" if low > 0 else "lower"
    return "go on"


LOOK_SCHEMA = "benchtui.looks/1"


class KeptLook(Struct, frozen=True):
    """A look, and the runs of both sides that it was at, in their order."""

    look: InterimLook
    a: list[str]
    b: list[str]


class _LooksFile(Struct):
    schema: str = LOOK_SCHEMA
    looks: list[KeptLook] = field(default_factory=list)


_decoder = PlainDecoder(_LooksFile)


def keep_looks(
    looks: Iterable[InterimLook], a: Sequence[str], b: Sequence[str], runs_dir: Path
) -> list[KeptLook]:
    """Keep looks at the runs of two sides, given by their ids in order, and return what is kept.

    Raises NotComparableError.
    """
    found = [KeptLook(look, list(a[: look.runs // 2]), list(b[: look.runs // 2])) for look in looks]
    for each in found:
        run_dir = runs_dir / max(each.a + each.b)
        text = msgspec.json.format(
            msgspec.json.encode(_LooksFile(looks=[*looks_after(run_dir), each]))
        )
        try:
            write_atomic(run_dir / LOOKS_FILE, text + b"\n")
        except OSError as error:
            told = Problem(f"cannot be written: {error.strerror}", file=str(run_dir / LOOKS_FILE))
            raise NotComparableError(told) from error
    return found


def looks_after(run_dir: Path) -> list[KeptLook]:
    """Return the looks that were kept with a run.

    Raises NotComparableError for what cannot be read.
    """
    path = run_dir / LOOKS_FILE
    try:
        return _decoder.decode(read_file(path, MOST_SMALL_BYTES)).looks
    except FileNotFoundError:
        return []
    except (OSError, *NO_JSON) as error:
        raise NotComparableError(Problem(f"cannot be read: {error}", file=str(path))) from error


def made_at(kept: Iterable[KeptLook], a: Sequence[str], b: Sequence[str]) -> PastLooks:
    """Return what looks are worth at these runs: of one at others nothing is left but what it has
    spent.
    """
    looks, lost = list[InterimLook](), 0.0
    for each in kept:
        if each.a == list(a[: len(each.a)]) and each.b == list(b[: len(each.b)]):
            looks.append(each.look)
        else:
            lost += each.look.alpha
    return PastLooks(looks, lost)
