"""What a capacity search finds on systems of known capacity: error, points and seconds, beside a
naive grid.

`TRIALS=20` trials of each system from seed `SEED=0` on, then `COVERAGE=200` further ones of the
quick systems. A grid measures as many points as the search may, evenly from 1/15 of the maximum up
to it, each as long as the search's points were in the mean, and takes the highest rate up to which
all points kept the limit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import log
from statistics import fmean, median

import numpy as np

from tests.capacity.systems import System, capacity_of_mmc, measure, p99_limit, searched
from tests.long.bench.kept import Row, told
from tui.capacity.answer import CapacityAnswer
from tui.model.search import Limit, Offer, Search, SearchPoint

NEAR = 0.03
MOST_POINTS = 15


@dataclass(frozen=True)
class Case:
    """A system, the limit on its p99, and its capacity: by formula, or by 4000 s of simulation at
    each rate.
    """

    make: Callable[[], System]
    limit_ms: float
    capacity: float

    def truth(self, system: System) -> float:
        """What it sustained in the middle of a search, where it drifts."""
        if not system.drift:
            return self.capacity
        slower = 1 + system.drift * system.clock / 2 / system.drift_s
        return 1 / (system.service_s * slower) + log(0.01) / (self.limit_ms / 1e3)

    @property
    def limit(self) -> Limit:
        return p99_limit(self.limit_ms)


CASES = {
    "M/M/1": Case(System, 20, capacity_of_mmc(1, 0.0005, 0.020)),
    "M/M/4": Case(lambda: System(servers=4, service_s=0.002), 25, capacity_of_mmc(4, 0.002, 0.025)),
    "M/G/1 with stalls of 15 ms, one per second": Case(
        lambda: System(stall_every_s=1, stall_s=0.015), 20, 1615.8
    ),
    "cliff: four times slower above 2000/s": Case(
        lambda: System(service_s=0.0002, thrash_above=2000), 5, 1890.1
    ),
    "speed differs by 5 % each second": Case(lambda: System(noise=0.05, memory=0.0), 20, 1683.8),
    "the same, correlated by 0.5": Case(lambda: System(noise=0.05, memory=0.5), 20, 1679.6),
    "4 % slower within 300 s": Case(lambda: System(drift=0.04, drift_s=300), 20, 0.0),
}
QUICK = ("M/M/1", "M/G/1 with stalls of 15 ms, one per second", "speed differs by 5 % each second")


@dataclass(frozen=True)
class Trial:
    """One search: its answer over the truth, whether the interval held it, and what it cost."""

    answer: CapacityAnswer
    error: float
    covered: bool
    points: list[SearchPoint]

    @property
    def seconds(self) -> float:
        return sum(each.seconds + each.offer.settle_s for each in self.points)


def trial(case: Case, seed: int) -> Trial:
    """Return what one seeded search finds."""
    system = case.make()
    found, points = searched(
        system, Search("capacity", limits=(case.limit,), points=MOST_POINTS), seed
    )
    truth, capacity = case.truth(system), found.capacity
    if capacity.value is None or capacity.low is None or capacity.high is None:
        return Trial(found, 1.0, False, points)
    return Trial(found, capacity.value / truth - 1, capacity.low <= truth <= capacity.high, points)


def grid(case: Case, seed: int, seconds: float) -> tuple[float, float]:
    """Return the error of a naive grid of as many points, and its seconds."""
    system, search = case.make(), Search("capacity", limits=(case.limit,))
    generators = [np.random.default_rng([seed, 1000 + at]) for at in range(MOST_POINTS)]
    top = measure(system, search, Offer(None, seconds, role="maximum"), 0, generators[0])
    best, spent = 0.0, top.seconds
    for at in range(1, MOST_POINTS):
        offer = Offer(round(top.iops * at / (MOST_POINTS - 1), 1), seconds, role="curve")
        point = measure(system, search, offer, at, generators[at])
        spent += point.seconds
        value = point.measured[0].value or 0.0
        if value > case.limit.most:
            break
        best = point.offer.rate_iops or 0.0
    return best / case.truth(system) - 1, spent


def search_row(name: str, found: list[Trial]) -> Row:
    """Return what the searches of one system came to."""
    trials, errors = len(found), [each.error for each in found]
    hold_median, pairs = agreement([each.answer for each in found])
    return {
        "system": name, "by": "search",
        **errors_row(errors),
        "points": fmean(len(each.points) for each in found),
        "most points": max(len(each.points) for each in found),
        "time, s": fmean(each.seconds for each in found),
        "interval holds the capacity": f"{sum(each.covered for each in found)} of {trials}",
        "interval contains the median answer": f"{hold_median} of {trials}",
        "pairs of intervals that overlap, %": 100 * pairs,
        "called unfinished": f"{sum(each.answer.state != 'found' for each in found)} of {trials}",
    }  # fmt: skip


def grid_row(name: str, grids: list[tuple[float, float]]) -> Row:
    """Return what the grids on one system came to."""
    spent = fmean(seconds for _, seconds in grids)
    errors = [error for error, _ in grids]
    return {
        "system": name,
        "by": "grid",
        **errors_row(errors),
        "points": float(MOST_POINTS),
        "time, s": spent,
    }


def errors_row(errors: list[float]) -> Row:
    """Return how far answers were off."""
    near = sum(abs(error) <= NEAR for error in errors)
    return {
        f"within {NEAR:.0%}".replace("%", " %"): f"{near} of {len(errors)}",
        "rms error, %": 100 * rms(errors),
        "mean error, %": 100 * fmean(errors),
    }  # fmt: skip


def rows_of(name: str, trials: int, first: int) -> list[Row]:
    """Return what trials of one system from a seed on came to, and grids beside them."""
    case, seeds = CASES[name], range(first, first + trials)
    found = [trial(case, seed) for seed in seeds]
    seconds = round(fmean(each.seconds / len(each.points) for each in found))
    return [search_row(name, found), grid_row(name, [grid(case, seed, seconds) for seed in seeds])]


def rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def agreement(answers: list[CapacityAnswer]) -> tuple[int, float]:
    """Return how repetitions agree: intervals that hold the median of all, and the share of pairs
    that overlap.
    """
    middle = median(each.capacity.value or 0.0 for each in answers)
    ends = [(each.capacity.low or 0.0, each.capacity.high or 0.0) for each in answers]
    pairs = list(combinations(ends, 2))
    overlap = sum(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)
    return sum(low <= middle <= high for low, high in ends), overlap / max(len(pairs), 1)


def wanted(name: str, usual: int) -> int:
    """Return a number of the environment."""
    return int(os.environ.get(name, usual))


def main() -> int:
    """Tell a row a system.

    Then how often the interval holds the truth over many trials of the quick ones.
    """
    trials, many, first = wanted("TRIALS", 20), wanted("COVERAGE", 200), wanted("SEED", 0)
    note = (
        f"{trials} searches of each system, seeds {first} to {first + trials - 1}, {MOST_POINTS} points at most;"
        " time is simulated."
    )
    rows: list[Row] = []
    for name in CASES:
        rows += rows_of(name, trials, first)
        print(*rows[-2:], sep="\n", flush=True)
    for row in rows if many else ():
        if row["by"] == "search" and row["system"] in QUICK:
            covered = [
                trial(CASES[row["system"]], first + 1000 + seed).covered for seed in range(many)
            ]
            row[f"holds it in {many} more, %"] = 100 * fmean(covered)
    return told("capacity_search", rows, note)


if __name__ == "__main__":
    main()
