"""What a capacity search finds on systems of known capacity: error, points and seconds, beside a naive grid.

`JSON=FILE` keeps the figures; `TRIALS=20` trials of each system, `COVERAGE=200` of the quick ones. A grid measures as
many points as the search may, evenly from 1/15 of the maximum up to it, each as long as the search's points were in
the mean, and takes the highest rate up to which all points kept the limit.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import log
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from tests.sizing.systems import System, capacity_of_mmc, measure, p99_limit, searched
from tui.model.search import Limit, Offer, Point, Search
from tui.sizing.answer import Answer

NEAR = 0.03
MOST_POINTS = 15


@dataclass(frozen=True)
class Case:
    """A system, the limit on its p99, and its capacity: by formula, or by 4000 s of simulation at each rate."""

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
    "M/G/1 with stalls of 15 ms, one a second": Case(lambda: System(stall_every_s=1, stall_s=0.015), 20, 1615.8),
    "cliff: four times slower above 2000/s": Case(lambda: System(service_s=0.0002, thrash_above=2000), 5, 1890.1),
    "speed differs by 5 % each second": Case(lambda: System(noise=0.05, memory=0.0), 20, 1683.8),
    "the same, correlated by 0.5": Case(lambda: System(noise=0.05, memory=0.5), 20, 1679.6),
    "4 % slower within 300 s": Case(lambda: System(drift=0.04, drift_s=300), 20, 0.0),
}
QUICK = ("M/M/1", "M/G/1 with stalls of 15 ms, one a second", "speed differs by 5 % each second")


@dataclass(frozen=True)
class Trial:
    """One search: its answer over the truth, whether the interval held it, and what it cost."""

    answer: Answer
    error: float
    covered: bool
    points: list[Point]

    @property
    def seconds(self) -> float:
        return sum(each.seconds + each.offer.settle_s for each in self.points)


def trial(case: Case, seed: int) -> Trial:
    """Return what one seeded search finds."""
    system = case.make()
    found, points = searched(system, Search("capacity", limits=(case.limit,), points=MOST_POINTS), seed)
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


def row_of(case: Case, trials: int) -> dict[str, Any]:
    """Return what the trials of one system came to."""
    found = [trial(case, seed) for seed in range(trials)]
    seconds = fmean(each.seconds / len(each.points) for each in found)
    grids = [grid(case, seed, round(seconds)) for seed in range(trials)]
    errors = [each.error for each in found]
    return {
        "trials": trials,
        "near": sum(abs(error) <= NEAR for error in errors),
        "rms": rms(errors), "mean": fmean(errors), "covered": sum(each.covered for each in found),
        "points": fmean(len(each.points) for each in found), "most_points": max(len(each.points) for each in found),
        "seconds": fmean(each.seconds for each in found),
        "found": sum(each.answer.state == "found" for each in found),
        "grid_near": sum(abs(error) <= NEAR for error, _ in grids), "grid_rms": rms([error for error, _ in grids]),
        "grid_seconds": fmean(spent for _, spent in grids),
        **agreement([each.answer for each in found]),
    }  # fmt: skip


def rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def agreement(answers: list[Answer]) -> dict[str, float]:
    """Return how repetitions agree: intervals that hold the median of all, and the share of pairs that overlap."""
    middle = median(each.capacity.value or 0.0 for each in answers)
    ends = [(each.capacity.low or 0.0, each.capacity.high or 0.0) for each in answers]
    pairs = list(combinations(ends, 2))
    overlap = sum(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)
    return {"hold_median": sum(low <= middle <= high for low, high in ends), "pairs": overlap / max(len(pairs), 1)}


def main() -> int:
    """Print a row a system; then how often the interval holds the truth over many trials of the quick ones."""
    trials, many = int(os.environ.get("TRIALS", "20")), int(os.environ.get("COVERAGE", "200"))
    print(f"capacity search, {MOST_POINTS} points at most, {trials} seeded trials each: within {NEAR:.0%} of the truth")
    rows = {}
    for name, case in CASES.items():
        row = rows[name] = row_of(case, trials)
        print(
            f"  {name:<42} {row['near']:>3}/{trials}  rms {row['rms']:5.1%}  mean {row['mean']:+5.1%}"
            f"  {row['points']:4.1f} points  {row['seconds']:4.0f} s  holds truth {row['covered']}/{trials}"
            f"  median {row['hold_median']}/{trials}  pairs overlap {row['pairs']:4.0%}"
            f"  | grid {row['grid_near']:>2}/{trials}  rms {row['grid_rms']:5.1%}  {row['grid_seconds']:4.0f} s",
            flush=True,
        )
    for name in QUICK if many else ():
        covered = [trial(CASES[name], 1000 + seed).covered for seed in range(many)]
        rows[name]["coverage"] = fmean(covered)
        print(f"  {name:<42} interval holds the truth in {fmean(covered):5.1%} of {many}", flush=True)
    if os.environ.get("JSON"):
        Path(os.environ["JSON"]).write_text(json.dumps(rows, indent=2))
    return 0


if __name__ == "__main__":
    main()
