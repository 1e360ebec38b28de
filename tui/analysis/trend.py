"""The history of a profile on a target, by point: lasting changes of the headline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import log, sqrt
from random import Random
from statistics import median

import msgspec

from tui.analysis.setup import UNKNOWN, PointMeasurement, PointSetup
from tui.analysis.stats import ALPHA
from tui.analysis.verdicts import THRESHOLD
from tui.library.summary import RunSummary
from tui.metrics.registry import figure_text

LEAST = 4  # runs before and after a change
SHUFFLES = 999
SEED = 20261122  # deterministic: the same runs always give the same answer
WHOLE = ("complete", "imported")
SetupsOf = Callable[[RunSummary], Sequence[PointMeasurement]]


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A lasting change of the headline that begins with the run at index `at`.

    `ratio`: median after the change over the median before it.
    """

    at: int
    ratio: float
    p: float


@dataclass(frozen=True, slots=True)
class Other:
    """Runs that were left out because they were measured differently.

    `newest` is the last of them; `differs` says how they differ.
    """

    runs: int
    newest: RunSummary
    differs: str


@dataclass(frozen=True, slots=True)
class Trend:
    """Comparable runs of a profile on a target, oldest first, and their lasting changes.

    `left_out`: number of runs that are incomplete, invalid or without a headline. `point`: the
    point of a sweep or suite. `others` were measured differently: other parameters, hosts or tool.
    """

    profile: str
    target: str
    unit: str
    runs: tuple[RunSummary, ...]
    changes: tuple[ChangePoint, ...]
    left_out: int
    point: str = ""
    setup: PointSetup = UNKNOWN
    others: tuple[Other, ...] = ()

    @property
    def values(self) -> list[float]:
        """The headline of each run."""
        return [run.headline_value or 0.0 for run in self.runs]

    @property
    def name(self) -> str:
        """The name of the point, or of the profile if there is no point."""
        return self.point or self.profile

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First and end index of each span between changes."""
        return list(pairwise([0, *(each.at for each in self.changes), len(self.runs)]))


Alike = tuple[PointSetup, str]  # its setup, and the unit of its headline
Place = tuple[str, str]  # target and point


def trends_of(
    runs: Iterable[RunSummary],
    profile: str,
    target: str | None = None,
    setups_of: SetupsOf | None = None,
    like: Mapping[str, PointSetup] | None = None,
    *,
    every: bool = False,
) -> list[Trend]:
    """Return the histories of a profile by target and point, the longest first.

    `setups_of` returns the setup of a run's points; without it all count as equal. A history has
    only runs with one setup: that of the newest run, or of `like` (by point), or each setup with
    `every`.
    """
    places: dict[Place, dict[Alike, list[RunSummary]]] = {}
    left_out: Counter[tuple[Place, PointSetup]] = Counter()
    for run in sorted(runs, key=_when):
        if run.profile == profile and target in (None, run.target):
            for point, setup, each in _by_point(run, setups_of):
                if (
                    each.state in WHOLE
                    and each.verdict != "invalid"
                    and (each.headline_value or 0) > 0
                ):
                    series = places.setdefault((each.target, point), {})
                    series.setdefault((setup, each.headline_unit), []).append(each)
                else:
                    left_out[(each.target, point), setup] += 1
    shown = [
        (place, alike)
        for place, series in places.items()
        for alike in _shown(place, series, like, every=every)
    ]
    tests = Counter(target for (target, _), _ in shown)
    found = []
    for place, alike in shown:
        fit, (setup, unit) = places[place][alike], alike
        changes = change_points([run.headline_value or 0.0 for run in fit], tests[place[0]])
        others = () if every else tuple(_others(places[place], alike))
        found.append(Trend(profile, place[0], unit, tuple(fit), tuple(changes),
            left_out[place, setup], place[1],
                           setup, others))  # fmt: skip
    return sorted(found, key=lambda each: -len(each.runs))


def _when(run: RunSummary) -> tuple[str, str]:
    return run.utc or run.run_id, run.run_id


def _newest_first(series: Mapping[Alike, Sequence[RunSummary]]) -> list[Alike]:
    return sorted(series, key=lambda alike: _when(series[alike][-1]), reverse=True)


def _shown(
    place: Place,
    series: Mapping[Alike, Sequence[RunSummary]],
    like: Mapping[str, PointSetup] | None,
    *,
    every: bool,
) -> list[Alike]:
    found = _newest_first(series)
    if like is not None:
        found = [alike for alike in found if alike[0] == like.get(place[1])]
    return found if every else found[:1]


def _others(series: Mapping[Alike, Sequence[RunSummary]], shown: Alike) -> Iterator[Other]:
    for setup, unit in _newest_first(series):
        if (setup, unit) != shown:
            runs = series[setup, unit]
            differs = (
                setup.differs(shown[0])
                or f"headline in {unit or 'no unit'}, here in {shown[1] or 'no unit'}"
            )
            yield Other(len(runs), runs[-1], differs)


def _by_point(
    run: RunSummary, setups_of: SetupsOf | None
) -> Iterator[tuple[str, PointSetup, RunSummary]]:
    for each in setups_of(run) if setups_of is not None else [PointMeasurement()]:
        head = each.headline
        about = {} if head is None else {
            "headline": figure_text(head), "headline_value": head.value, "headline_unit": head.unit
        }  # fmt: skip
        yield each.point, each.setup, msgspec.structs.replace(run, **about)


def change_points(values: Sequence[float], tests: int = 1) -> list[ChangePoint]:
    """Return lasting changes, in order, by binary segmentation (Vostrikova 1981).

    Each split is compared with the strongest one in shuffled histories; changes below THRESHOLD are
    dropped.
    `tests` histories share the error (Bonferroni).
    """
    places = sorted(_splits([log(each) for each in values], 0, Random(SEED), ALPHA / tests))
    edges = [0, *(at for at, _ in places), len(values)]
    found = []
    for number, (at, p) in enumerate(places):
        ratio = median(values[at : edges[number + 2]]) / median(values[edges[number] : at])
        if abs(ratio - 1) >= THRESHOLD:
            found.append(ChangePoint(at, ratio, p))
    return found


def _splits(
    logs: Sequence[float], begin: int, random: Random, alpha: float
) -> Iterator[tuple[int, float]]:
    if len(logs) < 2 * LEAST:
        return
    strengths = _strengths(logs)
    best = max(range(len(strengths)), key=strengths.__getitem__)
    p = _p_of_shuffles(logs, strengths[best] - 1e-12, random, alpha)
    if p > alpha:
        return
    at = best + LEAST
    yield begin + at, p
    yield from _splits(logs[:at], begin, random, alpha)
    yield from _splits(logs[at:], begin + at, random, alpha)


def _p_of_shuffles(logs: Sequence[float], strength: float, random: Random, alpha: float) -> float:
    """Return the share of shuffled histories with an equally strong split.

    Stops as soon as it is certainly above alpha, and returns 1.
    """
    times = max(SHUFFLES, round(2 / alpha))
    shuffled, as_much = list(logs), 1
    for _ in range(times):
        random.shuffle(shuffled)
        as_much += max(_strengths(shuffled)) >= strength
        if as_much > alpha * (times + 1):
            return 1.0
    return as_much / (times + 1)


def _strengths(logs: Sequence[float]) -> list[float]:
    """Return the strength of a split at each index.

    It is the difference of the means on both sides, weighted by the number of runs.
    """
    n, sums = len(logs), list(accumulate(logs))
    return [
        abs((sums[-1] - sums[at - 1]) / (n - at) - sums[at - 1] / at) * sqrt(at * (n - at) / n)
        for at in range(LEAST, n - LEAST + 1)
    ]


def others_of(found: Sequence[Trend]) -> list[Other]:
    """Return the runs left out because they were measured differently, each group once."""
    return list(
        {
            (each.newest.run_id, each.differs): each for trend in found for each in trend.others
        }.values()
    )
