"""Stopping rules of A/B tests, and the files that keep their interim looks."""

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
from tui.analysis.stats import ALPHA, t_reach
from tui.analysis.verdicts import stays_within
from tui.journal.rundir import write_atomic
from tui.model.bounded import MOST_SMALL_BYTES, NO_JSON, read_file
from tui.model.plain_data import PlainDecoder
from tui.model.problem import NotComparableError, Problem
from tui.model.rundir import LOOKS_FILE

Answer = Literal["higher", "lower", "no difference as large", "go on"]
ORDER = "ABBA"  # in pairs: a linear drift cancels out
LEAST_RUNS = 4
LEAST_MOST = 10
POWER = 0.9
FAR = 99.0  # of a logarithm: unknown
# few runs underestimate their deviation: its square is multiplied by 1 + WARY / degrees of freedom
WARY = 2.0
# runs to plan for, divided by (deviation / change)², to detect a change in 9 of 10 tests; measured
# by bench ab_budget
PRICE = 95.0


@dataclass(frozen=True, slots=True)
class InterimLook:
    """The result after `runs` runs of both sides: B / A with its repeated 95 % interval.

    `answer`: the decision, or `go on`. `detectable`: the smallest change, as a share, that this
    many runs detect with 90 % power. `most`: maximum number of runs, as estimated so far. `alpha`:
    error probability of this look; `spent`: that of all looks so far.
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
        """Whether the error budget is used up, so that another look cannot decide."""
        return self.spent > ALPHA * (1 - 1e-9)


@dataclass(frozen=True, slots=True)
class PastLooks:
    """Earlier looks of a test at runs that still exist.

    `lost`: the error spent on looks at runs that were removed since.
    """

    looks: Sequence[InterimLook] = ()
    lost: float = 0.0

    @property
    def spent(self) -> float:
        """The error spent by all earlier looks, lost ones included."""
        return self.lost + sum(each.alpha for each in self.looks)


NOTHING_MADE = PastLooks()


def side_of(index: int) -> str:
    """Return the side of run number `index`, counted from 0, in ABBA order."""
    return ORDER[index % len(ORDER)]


def spent(share: float) -> float:
    """Return how much of alpha may be spent once a share of the runs is done."""
    return ALPHA * log(1 + (e - 1) * min(max(share, 0.0), 1.0))


def runs_for(detect: float, deviation: float, degrees: float = inf) -> int:
    """Return the number of runs to plan for, to find a change of `detect` in 9 of 10 tests.

    `detect` and `deviation` (run to run) are shares; `degrees`: degrees of freedom of the
    deviation. If there is such a change, half as many runs are needed on average.
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
    """Return the current result (None below four runs), and the new looks.

    Looks are made at 4, 6, 8 ... runs. Earlier looks stay as they were, even if the request
    changes. Once the error budget is spent, a look only estimates the number of runs.
    """
    pairs = min(len(a), len(b))
    if 2 * pairs < LEAST_RUNS:
        return None, []
    known, before = {each.runs: each for each in made.looks}, made.spent
    new: dict[int, InterimLook] = {}
    for each in range(LEAST_RUNS // 2, pairs + 1):
        if 2 * each not in known:
            new[2 * each] = look(a[:each], b[:each], room, detect, floor, before)
            before = new[2 * each].spent
    known |= new
    newest = new.get(2 * pairs) or look(a[:pairs], b[:pairs], room, detect, floor, before)
    last = known[max((runs for runs, each in known.items() if each.alpha > 0), default=LEAST_RUNS)]
    answer = _answer(last.low, last.high, detect)
    found = replace(last, answer=answer, most=newest.most, spent=before)
    # a smaller request: one more look spends the rest
    if not found.all_spent and found.most <= 2 * pairs:
        found = replace(found, most=min(room, 2 * pairs + 2))
    return found, [each for each in new.values() if each.alpha > 0]


def look(
    a: Sequence[float],
    b: Sequence[float],
    room: int,
    detect: float,
    floor: Floor | None = None,
    before: float = 0.0,
) -> InterimLook:
    """Return the result from equally many runs on each side.

    There is time for `room` runs; `before` is the error spent so far. The error spent by this look
    depends on the runs needed to detect a change of `detect`, not on time. The deviation is from
    the runs, pooled with a noise floor measured earlier.
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
    reach = min(t_reach(degrees, alpha / 2) * error, FAR) if alpha > 0 else FAR
    detectable = exp(min(reach + t_reach(degrees, 1 - POWER) * error, FAR)) - 1
    low, high, most = exp(shift - reach), exp(shift + reach), min(room, needed)
    answer = _answer(low, high, detect)
    return InterimLook(runs, exp(shift), low, high, alpha, detectable, answer, most, before + alpha)


def _answer(low: float, high: float, limit: float) -> Answer:
    # first: a difference certainly within the limit counts as none, even if significant
    if stays_within(low, high, limit):
        return "no difference as large"
    if low > 1 or high < 1:
        return "higher" if low > 1 else "lower"
    return "go on"


LOOK_SCHEMA = "benchtui.looks/1"


class KeptLook(Struct, frozen=True):
    """A saved look, and the ids of the runs of both sides that it used, in order."""

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
    """Save looks at the runs of two sides, and return what was saved.

    `a`, `b`: ids of the runs in order. Raises NotComparableError if a file cannot be read or
    written.
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
            what = Problem(f"cannot be written: {error.strerror}", file=str(run_dir / LOOKS_FILE))
            raise NotComparableError(what) from error
    return found


def looks_after(run_dir: Path) -> list[KeptLook]:
    """Return the looks saved with a run.

    Raises NotComparableError if they cannot be read.
    """
    path = run_dir / LOOKS_FILE
    try:
        return _decoder.decode(read_file(path, MOST_SMALL_BYTES)).looks
    except FileNotFoundError:
        return []
    except (OSError, *NO_JSON) as error:
        raise NotComparableError(Problem(f"cannot be read: {error}", file=str(path))) from error


def made_at(kept: Iterable[KeptLook], a: Sequence[str], b: Sequence[str]) -> PastLooks:
    """Return the saved looks that are valid for these runs.

    For looks at other runs, only the error they spent is kept.
    """
    looks, lost = list[InterimLook](), 0.0
    for each in kept:
        if each.a == list(a[: len(each.a)]) and each.b == list(b[: len(each.b)]):
            looks.append(each.look)
        else:
            lost += each.look.alpha
    return PastLooks(looks, lost)
