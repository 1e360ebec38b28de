"""How often comparing says that the same differs (A/A), and that what differs does (power),
simulated.
"""

from __future__ import annotations

from typing import Any

from tests.long.bench import ab_budget, same_pairs
from tests.long.lies.tally import share_text

Row = dict[str, Any]
SOURCES = (
    "autocorrelation 0",
    "autocorrelation 0.5",
    "autocorrelation 0.9",
    "random reads at full speed, resampled",
)
DEVIATIONS = (0.005, 0.01, 0.02, 0.03, 0.05)
AB_TIMES = 5  # experiments of `ab` for each pair of runs: they cost less


def pairs_of_runs(pairs: int) -> list[Row]:
    """Return, for `compare`, how often single runs are called different: the same ones, and 10 %
    quicker ones.
    """
    found = same_pairs.sources()
    rows: list[Row] = []
    for name in SOURCES:
        for between in same_pairs.BETWEEN:
            same, _ = same_pairs.shares(found[name], pairs, 1, between=between)
            other, _ = same_pairs.shares(found[name], pairs, 2, 1.1, between=between)
            rows.append({
                "seconds": name, "run-to-run noise": f"{100 * between:g} %", "pairs": pairs,
                "A/A called different (95 %)": share_text(round(same * pairs), pairs),
                "10 % faster, found (95 %)": share_text(round(other * pairs), pairs),
            })  # fmt: skip
    return rows


def experiments(pairs: int) -> list[Row]:
    """Return, for `ab`, how often a change of 5 % and none is called one, and what it costs."""
    times = pairs * AB_TIMES
    rows: list[Row] = []
    for floor in (0, ab_budget.FLOOR_RUNS):
        for deviation in DEVIATIONS:
            room = ((2 if deviation > 0.03 else 1) * ab_budget.ROOM, 0.05)
            wrong, _ = ab_budget.shares(
                0.0, deviation, times=times, sittings=(room,), floor_runs=floor
            )
            power, cost = ab_budget.shares(
                0.05, deviation, times=times, sittings=(room,), floor_runs=floor
            )
            rows.append({
                "run-to-run noise": f"{100 * deviation:g} %",
                "noise floor": f"{floor} runs" if floor else "none",
                "experiments": times,
                "A/A called different (95 %)": share_text(round(wrong * times), times),
                "5 % faster, found (95 %)": share_text(round(power * times), times),
                "mean runs": round(cost * ab_budget.FIXED, 1),
            })  # fmt: skip
    return rows
