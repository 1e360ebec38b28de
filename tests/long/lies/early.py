"""`python -m tests.long.lies.early`: how often Live shows what the result withdraws, and how much
later it shows what lasts.

Simulated hosts, judged by the checks themselves: of a running load, and as if each look were at the
result of a load that ended there. Both report what two looks in a row find.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from math import exp, sqrt
from random import Random
from statistics import median
from typing import NamedTuple

from tui.journal.state import RunState
from tui.judge.catalogue import BY_ID
from tui.judge.check import RunEvidence, StepEvidence, UnknownError
from tui.judge.live import EVERY_S
from tui.model.figure_record import (
    AggregateRecord,
    DirectionRecord,
    ResultsRecord,
    SeriesColumns,
    SeriesRecord,
)
from tui.model.plan import Plan, ProfileRef, Step
from tui.model.step_record import StepRecord
from tui.record.progress import FIRST_S
from tui.record.timeline import JournalData

NAMES = ("straggler", "steady-state", "warm-up", "missing-samples")
LENGTHS_S, HOSTS = (28, 60, 120, 300), (3, 4, 8)
Rows = list[list[float]]  # by host, IOPS in each second
Shape = Callable[[Random, int, int], Rows]


def noise(rng: Random, seconds: int, deviation: float, memory_s: float) -> list[float]:
    """Return deviations that forget each other in so many seconds."""
    kept = exp(-1 / memory_s) if memory_s else 0.0
    values = [rng.gauss(0, deviation)]
    for _ in range(seconds - 1):
        values.append(kept * values[-1] + rng.gauss(0, deviation * sqrt(1 - kept * kept)))
    return values


def alike(rng: Random, hosts: int, seconds: int, most: float = 0.15) -> Rows:
    """Draw hosts that differ by chance only."""
    deviation, memory_s = rng.uniform(0.02, most), rng.choice((0, 3, 10, 30))
    return [
        [max(1.0 + each, 0.0) * 1000 for each in noise(rng, seconds, deviation, memory_s)]
        for _ in range(hosts)
    ]


def by(first: Callable[[Random], Callable[[float], float]], *, every: bool = False) -> Shape:
    """Return hosts of which the first, or every one, has a rate that follows a course."""

    def shape(rng: Random, hosts: int, seconds: int) -> Rows:
        rows, course = alike(rng, hosts, seconds), first(rng)
        for row in rows if every else rows[:1]:
            row[:] = [value * course(at / seconds) for at, value in enumerate(row)]
        return rows

    return shape


def drift(rng: Random) -> Callable[[float], float]:
    low, high = rng.uniform(0.0, 0.9), rng.uniform(0.9, 1.3)
    return lambda at: low + (high - low) * at


def slow_start(rng: Random) -> Callable[[float], float]:
    low, until = rng.uniform(0.0, 0.7), rng.uniform(0.03, 0.6)
    return lambda at: low if at < until else 1.0


def catches_up(rng: Random) -> Callable[[float], float]:
    low, until, high = rng.uniform(0.0, 0.7), rng.uniform(0.03, 0.6), rng.uniform(1.0, 1.5)
    return lambda at: low if at < until else high


def constant(rate: float) -> Callable[[Random], Callable[[float], float]]:
    return lambda _: lambda _: rate


def one_disk(rng: Random, hosts: int, seconds: int) -> Rows:
    """Draw hosts that share a disk: what one gets in a while, the others do not."""
    deviation, memory_s = rng.uniform(0.2, 1.2), rng.choice((3, 10, 30, 100))
    drawn = [noise(rng, seconds, deviation, memory_s) for _ in range(hosts)]
    shares = [[exp(value) for value in now] for now in zip(*drawn, strict=True)]
    return [[hosts * 1000 * now[host] / sum(now) for now in shares] for host in range(hosts)]


SHAPES: dict[str, Shape] = {
    "alike": lambda rng, hosts, seconds: alike(rng, hosts, seconds, most=0.4),
    "a host drifts": by(drift),
    "a host starts slowly": by(slow_start),
    "a host catches up": by(catches_up),
    "one disk": one_disk,
    "all drift": by(drift, every=True),
    "all start slowly": by(slow_start, every=True),
    **{f"a host at {rate:.0%}": by(constant(rate)) for rate in (0.0, 0.25, 0.5, 0.6, 0.7)},
}


class Tally(NamedTuple):
    """What was shown of a check: withdrawn, and when what the result has was shown."""

    withdrawn: list[bool]
    shown: list[float | None]


def at_second(rows: Rows, seconds: int, of_s: int, *, running: bool) -> StepEvidence:
    """Return the evidence of the first seconds of a load."""
    columns = [
        SeriesColumns(host=f"h{at}", direction="read", iops=list(row[:seconds]))
        for at, row in enumerate(rows)
    ]
    total = [sum(now) for now in zip(*(row[:seconds] for row in rows), strict=True)]
    columns.insert(0, SeriesColumns(host=None, direction="read", iops=list(total)))
    results = ResultsRecord(
        aggregate={"read": AggregateRecord(**figures(total), hosts=[])},
        per_host={
            f"h{at}": {"read": DirectionRecord(**figures(row[:seconds]))}
            for at, row in enumerate(rows)
        },
    )
    record = StepRecord(
        index=0,
        name="load",
        tool="fio",
        state="running" if running else "done",
        measured_s=float(seconds),
        results=results,
        series=SeriesRecord(step_s=1.0, start_s=0.0, columns=columns),
    )
    step = Step(0, "load", "fio", {}, [], float(of_s))
    plan = Plan(ProfileRef("lies/early", 1, "", "", ""), {}, [], [step])
    return StepEvidence(RunEvidence(plan, [], [record], JournalData(RunState())), step, record)


def figures(row: Sequence[float]) -> dict[str, float]:
    """Return the figures of a direction."""
    rate, count = sum(row) / len(row), round(sum(row))
    return {"ios": count, "bytes": count * 4096, "iops": rate, "runtime_s": float(len(row))}


def found(at: StepEvidence) -> set[str]:
    """Return the checks that weaken it."""
    return {name for name in NAMES if _finds(name, at)}


def _finds(name: str, at: StepEvidence) -> bool:
    try:
        return any(each is not None for each in (BY_ID[name].of_step or (lambda _: ()))(at))
    except UnknownError:
        return False


def shown(rows: Rows, of_s: int, *, running: bool) -> dict[str, int]:
    """Return the second at which each check is shown before the end."""
    first: dict[str, int] = {}
    before: set[str] = set()
    for seconds in range(int(FIRST_S), of_s, int(EVERY_S)):
        now = found(at_second(rows, seconds, of_s, running=running))
        first = dict.fromkeys(now & before, seconds) | first
        before = now
    return first


def simulated(shape: Shape, runs: int, seed: int) -> Iterator[tuple[str, bool, Tally]]:
    """Yield the tally of each check, as if at a result and of a running load."""
    rng = Random(seed)
    tallies = {(name, running): Tally([], []) for name in NAMES for running in (False, True)}
    for _ in range(runs):
        of_s, hosts = rng.choice(LENGTHS_S), rng.choice(HOSTS)
        rows = shape(rng, hosts, of_s)
        final = found(at_second(rows, of_s, of_s, running=False))
        for running in (False, True):
            first = shown(rows, of_s, running=running)
            for name in NAMES:
                tally = tallies[name, running]
                tally.withdrawn.append(name in first and name not in final)
                if name in final:
                    tally.shown.append(first[name] / of_s if name in first else None)
    yield from ((name, running, tally) for (name, running), tally in tallies.items())


def text_of(tally: Tally) -> str:
    """Return the share withdrawn, and when what the result has was shown, if ever."""
    withdrawn = sum(tally.withdrawn) / len(tally.withdrawn)
    when = [each for each in tally.shown if each is not None]
    share = f"{len(when) / len(tally.shown):.0%} at {median(when):.2f}" if when else "-"
    return f"{withdrawn:6.1%}  {share:<13}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.long.lies.early")
    parser.add_argument("--runs", type=int, default=200, help="of each shape")
    parser.add_argument("--seed", type=int, default=22)
    args = parser.parse_args()
    print("withdrawn; of those that the result has: shown before the end, at which share of it")
    print(f"{'shape':<22}{'check':<16}{'each look is a result':<24}running")
    for name, shape in SHAPES.items():
        made = {(check, running): tally for check, running, tally in
                simulated(shape, args.runs, args.seed)}  # fmt: skip
        for check in NAMES:
            plain, live = (made[check, running] for running in (False, True))
            if any(plain.withdrawn) or plain.shown:
                print(f"{name:<22}{check:<16}{text_of(plain):<24}{text_of(live)}", flush=True)


if __name__ == "__main__":
    main()
