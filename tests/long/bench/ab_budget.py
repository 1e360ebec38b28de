"""What `ab` finds and what it costs, simulated: a true change of 5 % and none, against a fixed n =
5 of both.
"""

from __future__ import annotations

import numpy as np

from tui.analysis.ab import InterimLook, PastLooks, after_looks, side_of
from tui.analysis.measured import Floor

FIXED = 10  # runs of a fixed n = 5 of both
ROOM = 48  # for a profile of 60 s within an hour
FLOOR_RUNS = 6
Sittings = tuple[tuple[int, float], ...]
"""When somebody goes on with an experiment: runs that there is time for by then, the change that is
looked for.
"""

PLAIN: Sittings = ((ROOM, 0.05),)


def experiment(
    random: np.random.Generator,
    change: float,
    cov: float,
    sittings: Sittings = PLAIN,
    floor_runs: int = 0,
) -> tuple[bool, int]:
    """Return whether an experiment said that the sides differ, and how many runs it took.

    It is sized as `ab` does.
    """
    floor = None
    if floor_runs:
        before = np.exp(random.normal(0, cov, floor_runs))
        floor = Floor(floor_runs, float(before.std(ddof=1) / before.mean()))
    values: dict[str, list[float]] = {"A": [], "B": []}
    made: list[InterimLook] = []
    runs = 0
    for room, detect in sittings:
        while True:
            found, new = after_looks(values["A"], values["B"], room, detect, floor, PastLooks(made))
            made += new
            if found is not None and found.answer in ("higher", "lower"):
                return True, runs
            if runs >= room or (
                found is not None and (found.answer != "go on" or runs >= found.most)
            ):
                break
            for side in (side_of(runs), side_of(runs + 1)):
                values[side].append(
                    float(np.exp(random.normal(np.log(1 + change) if side == "B" else 0.0, cov)))
                )
            runs += 2
    return False, runs


def shares(
    change: float,
    cov: float,
    times: int = 1000,
    seed: int = 1,
    sittings: Sittings = PLAIN,
    floor_runs: int = 0,
) -> tuple[float, float]:
    """Return how often a difference was said, and the runs in the mean, as a share of a fixed n = 5
    of both.
    """
    random = np.random.default_rng(seed)
    found = [experiment(random, change, cov, sittings, floor_runs) for _ in range(times)]
    return sum(said for said, _ in found) / times, sum(runs for _, runs in found) / times / FIXED


def main() -> int:
    """Print them for several deviations between runs."""
    print("ab: a change of 5 % found, its machine time against n = 5 of both; no change called one")
    for floor_runs in (0, FLOOR_RUNS):
        for cov, room in (
            (0.005, ROOM),
            (0.01, ROOM),
            (0.015, ROOM),
            (0.02, ROOM),
            (0.03, ROOM),
            (0.05, 2 * ROOM),
        ):
            found, time = shares(0.05, cov, sittings=((room, 0.05),), floor_runs=floor_runs)
            wrong, _ = shares(0.0, cov, sittings=((room, 0.05),), floor_runs=floor_runs)
            known = f"floor of {floor_runs} runs" if floor_runs else "no floor"
            runs = f"{time * FIXED:4.1f} runs in the mean, {time:.0%}"
            print(
                f"  deviation {cov:.1%}, {known:<15} found {found:6.1%}  {runs}  wrong {wrong:5.1%}"
            )
    return 0


if __name__ == "__main__":
    main()
