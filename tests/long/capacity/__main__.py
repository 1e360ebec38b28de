"""`make sustained`: 100 searches with a hold over systems that short points misjudge, and 100 over
the same kinds with other parameters.

`SEARCHES=100` of each set, `SEED=0`, `HOLD=300`, `ONLY=second` for one set. `--write` keeps every
search in docs/capacity.jsonl and puts the tables of all that are kept into docs/capacity-method.md.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path
from statistics import median

from tests.capacity.systems import System, p99_limit
from tests.long.capacity.systems import LastingSystem, searched, sustained
from tui.model.search import Limit, Search

MOST_POINTS = 40
PAGE = Path(__file__).parents[3] / "docs" / "capacity-method.md"
KEPT = PAGE.with_name("capacity.jsonl")  # one search per line
NO_ERRORS = Limit("errors = 0", "", "errors", None, 0)  # as in the presets
BEGIN, END = "<!-- sustained: generated -->", "<!-- /sustained -->"


@dataclass(frozen=True)
class Kind:
    """A kind of system, the limit on its p99 in ms."""

    name: str
    make: Callable[[], System]
    limit_ms: float = 20.0


def _credits(fast: float, slow: float, stored: float) -> Callable[[], System]:
    return lambda: LastingSystem(
        1 / fast, slow_s=1 / slow, most_credits=stored, refill=slow * 0.5, credits=stored
    )


WRITTEN = (
    Kind("stationary", LastingSystem),
    Kind("burst credits: 2200/s, then 1000/s", _credits(2500, 1000, 150_000)),
    Kind("stall of 120 ms every 17 s", lambda: LastingSystem(1 / 2000, period_s=17, pause_s=0.12)),
    Kind("drift to 20 % slower", lambda: LastingSystem(1 / 2000, drift=0.2, drift_s=200)),
    Kind("cliff above 2000/s", lambda: System(service_s=0.0002, thrash_above=2000), 5.0),
    Kind("cache tier: 60 s fast, then four times slower", _credits(4000, 900, 200_000)),
)
VARIED = (
    Kind("stationary, 3000/s", lambda: LastingSystem(1 / 3000), 12.0),
    Kind("burst credits: 1500/s, then 400/s", _credits(1500, 400, 90_000), 40.0),
    Kind(
        "stall of 500 ms every 70 s",
        lambda: LastingSystem(1 / 1500, period_s=70, pause_s=0.5),
        30.0,
    ),
    Kind("drift to 35 % slower", lambda: LastingSystem(1 / 1500, drift=0.35, drift_s=350), 25.0),
    Kind(
        "cliff above 1200/s", lambda: System(service_s=0.0004, thrash_above=1200, thrash=6.0), 8.0
    ),
    Kind("cache tier: half as fast when full", _credits(2000, 1000, 60_000), 25.0),
)
SETS = {"First set": WRITTEN, "Second set, other parameters": VARIED}


@cache
def truth(name: str) -> float:
    """Return what a system sustains, of its percentile from the intended start."""
    kind = next(each for kinds in SETS.values() for each in kinds if each.name == name)
    system = kind.make()
    if isinstance(system, LastingSystem) and not (system.most_credits or system.period_s):
        return 1 / (system.service_s * (1 + system.drift)) + log(0.01) / (kind.limit_ms / 1e3)
    return sustained(kind.make, kind.limit_ms / 1e3)


def one(name: str, seed: int, hold_s: float) -> dict[str, object]:
    """Return what one search found, beside the truth."""
    kind = next(each for kinds in SETS.values() for each in kinds if each.name == name)
    limits = (p99_limit(kind.limit_ms), NO_ERRORS)
    search = Search("capacity", limits=limits, points=MOST_POINTS, hold_s=hold_s)
    found, points = searched(kind.make(), search, seed)
    true, figure = truth(name), found.capacity
    low, high, value = figure.low or 0.0, figure.high or float("inf"), figure.value or 0.0
    return {
        "system": name, "seed": seed, "state": found.state, "covered": low <= true <= high,
        "error": value / true - 1,
        "points": len(points), "low": low, "high": high, "truth": true,
        "seconds": sum(each.offer.settle_s + each.offer.lead_s + each.seconds for each in points),
        "hold": found.hold, "holds": sum(each.offer.role == "hold" for each in points),
    }  # fmt: skip


Row = dict[str, object]


def played(kinds: Sequence[Kind], searches: int, first: int, hold_s: float) -> list[Row]:
    """Search systems in turn, with seeds from `first` on."""
    asked = [(kinds[at % len(kinds)].name, first + at) for at in range(searches)]
    with ProcessPoolExecutor(int(os.environ.get("WORKERS", "2"))) as pool:
        return list(pool.map(one, *zip(*asked, strict=True), [hold_s] * searches))


def tables(rows: Sequence[Row]) -> list[str]:
    """Return a table for each set, as lines of Markdown; the last row sums it up."""
    lines: list[str] = []
    for title, kinds in SETS.items():
        names = [kind.name for kind in kinds]
        own = [(name, [row for row in rows if row["system"] == name]) for name in names]
        every = ("all", [row for row in rows if row["system"] in names])
        if every[1]:
            made = [_row(name, found) for name, found in [*own, every] if found]
            lines += [
                f"{title}:",
                "",
                HEAD,
                "|---" * HEAD.count(" | ") + "|---|",
                *made,
                "",
            ]
    return lines


HEAD = (
    "| system | found and held | of these: interval contains the truth | all: interval contains the truth"
    " | median error | points | holds | time |"
)


def _row(name: str, own: Sequence[Row]) -> str:
    count = len(own)
    error, points, holds, seconds = (median(float(str(each[key])) for each in own)
                                     for key in ("error", "points", "holds",
                                         "seconds"))  # fmt: skip
    held = [bool(each["covered"]) for each in own if each["state"] == "found"]
    covered = sum(bool(each["covered"]) for each in own)
    right = f"{sum(held)} of {len(held)}" if held else "–"
    return (f"| {name} | {len(held)} of {count} | {right} | {covered} of {count} | "
            f"{error * 100:+.1f} % | {points:.0f} | {holds:.0f} | {seconds / 60:.0f} min |")  # fmt: skip


def kept_with(rows: Sequence[Row]) -> list[Row]:
    """Add searches to those that are kept, and return all; a repeated seed replaces the older one."""
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    every = {(row["system"], row["seed"]): row for row in (*map(json.loads, lines), *rows)}
    KEPT.write_text("".join(json.dumps(row) + "\n" for row in every.values()))
    return list(every.values())


def main(arguments: Sequence[str]) -> int:
    """Print the tables, and write them into the page when asked."""
    searches, first, hold_s = (int(os.environ.get(name, usual))
                               for name, usual in (("SEARCHES", "100"), ("SEED", "0"), ("HOLD",
                                   "300")))  # fmt: skip
    only = os.environ.get("ONLY", "")
    sets = [kinds for title, kinds in SETS.items() if only in title]
    rows = [row for kinds in sets for row in played(kinds, searches, first, float(hold_s))]
    if "--write" not in arguments:
        print(*tables(rows), sep="\n")
        return 0
    lines = tables(kept_with(rows))
    print(*lines, sep="\n")
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n{END}{rest.split(END)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
