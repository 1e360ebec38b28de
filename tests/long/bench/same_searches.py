"""How often `compare` says that capacities of the same system differ: simulated searches, repeated
on each side, or single ones with a noise floor.
"""

from __future__ import annotations

import numpy as np

from tui.analysis.measured import Floor, floor_of
from tui.analysis.searches import FloorOf, compare_searches
from tui.model.search_record import AnswerRecord, ConfidenceInterval, SearchRecord

FLOOR_RUNS = 6
NOISE = (0.005, 0.02, 0.05, 0.1)  # deviation of the capacity between searches, as a share
REPEATED = (4, 5, 6, 8)
DIFFERENT = ("better", "worse")
WITHIN = 0.02  # half the width of a search's own interval, as a share
Random = np.random.Generator


def search(random: Random, noise: float, factor: float = 1.0) -> SearchRecord:
    """Return a search that found a capacity near `factor` times 10,000 IOPS."""
    value = 10_000 * factor * float(np.exp(random.normal(0.0, noise)))
    ends = ConfidenceInterval(value=value, low=value * (1 - WITHIN), high=value * (1 + WITHIN))
    answer = AnswerRecord(state="found", capacity=ends, unit="iops", step=0)
    return SearchRecord(kind="capacity", most_points=10, answer=answer)


def floor(random: Random, noise: float) -> Floor:
    """Return the noise floor of some earlier searches of the same."""
    found = (search(random, noise).answer for _ in range(FLOOR_RUNS))
    return floor_of([each.capacity.value or 0.0 for each in found if each is not None])


def always(known: Floor | None) -> FloorOf:
    """Return a function that knows this floor for every figure."""
    return lambda _: known


def share(
    searches: int, noise: float, times: int, factor: float = 1.0, *, floors: bool, seed: int = 1
) -> float:
    """Return in what share of comparisons B is called better or worse."""
    random, said = np.random.default_rng(seed), 0
    for _ in range(times):
        known = floor(random, noise) if floors else None
        a, b = ([search(random, noise, each) for _ in range(searches)] for each in (1.0, factor))
        said += compare_searches(a, b, noise=always(known)).word in DIFFERENT
    return said / times


def main(times: int = 2000) -> int:
    """Print how often no change, and one of 10 %, is called a difference."""
    print(f"searches of one system, {times} comparisons each: called different; 10 % more, found")
    for searches in (1, *REPEATED):
        for noise in NOISE:
            for floors in (True,) if searches == 1 else (False, True):
                same, more = (
                    share(searches, noise, times, factor, floors=floors) for factor in (1.0, 1.1)
                )
                known = f"floor of {FLOOR_RUNS}" if floors else "no floor"
                print(
                    f"  {searches} and {searches}, {noise:5.1%} noise, {known:<11} {same:5.1%}"
                    f"  {more:6.1%}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    main()
