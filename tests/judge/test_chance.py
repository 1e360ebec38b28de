"""Honest loads whose I/Os come at random times, or differ in size, raise no finding; a real change
does.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from statistics import fmean

import pytest

from tests.samples.evidence import direction, evidence
from tui.judge.catalogue import BY_ID
from tui.judge.chance import dispersion
from tui.model.figure_record import SeriesColumns, SeriesRecord
from tui.model.plan import BlockShare, JobLoad

SECONDS, HOSTS = 60, 3
CHECKS = ("straggler", "stall", "steady-state", "offered-rate", "warm-up")
SPLIT = (BlockShare(4096, 4096, 0.9), BlockShare(1 << 20, 1 << 20, 0.1))
MEAN = fmean([4096] * 9 + [1 << 20])


def load(rate: float, *, split: bool) -> JobLoad:
    if split:
        offered = {"write": rate * MEAN}
        return JobLoad(
            "w", ("write",), paced=True, rate_bytes_per_s=offered, blocks={"write": SPLIT}
        )
    return JobLoad("w", ("write",), paced=True, rate_iops={"write": rate}, poisson=True)


def second(rng: Random, rate: float, *, split: bool) -> int:
    """Return the I/Os of one second."""
    if not split:
        arrived, count = rng.expovariate(rate), 0
        while arrived < 1.0:
            arrived, count = arrived + rng.expovariate(rate), count + 1
        return count
    count, left = 0, rate * MEAN
    while left > 0:
        left -= 4096 if rng.random() < 0.9 else 1 << 20
        count += 1
    return count


def named(job: JobLoad, hosts: Sequence[Sequence[int]], check: str) -> bool:
    """Tell whether a check speaks up, of the I/Os of each host and second."""
    rates = {f"h{at}": fmean(counts) for at, counts in enumerate(hosts)}
    dirs = {host: {"write": direction(rate, 1e6)} for host, rate in rates.items()}
    columns = [
        SeriesColumns(host=host, direction="write", iops=counts, bw_bytes_per_s=counts)
        for host, counts in [
            (None, [float(sum(each)) for each in zip(*hosts, strict=True)]),
            *((host, [*map(float, own)]) for host, own in zip(rates, hosts, strict=True)),
        ]
    ]
    series = SeriesRecord(start_s=0.0, columns=columns)
    at = evidence(dirs, jobs=[job], series=series, measured_s=float(SECONDS))
    at.steps[0].results.aggregate = {"write": direction(sum(rates.values()), 1e6)}
    at.steps[0].tasks = {}
    return bool(BY_ID[check].look(at))


@pytest.mark.parametrize("split", [False, True], ids=["Poisson", "split"])
@pytest.mark.parametrize("rate", [0.7, 3.0, 20.0])
def test_chance_raises_no_finding(rate: float, *, split: bool) -> None:
    rng, job = Random(f"{rate} {split}"), load(rate, split=split)
    runs = 50
    wrong = dict.fromkeys(CHECKS, 0)
    for _ in range(runs):
        hosts = [[second(rng, rate, split=split) for _ in range(SECONDS)] for _ in range(HOSTS)]
        for check in CHECKS:
            wrong[check] += named(job, hosts, check)
    assert {name: count for name, count in wrong.items() if count > 0.02 * runs} == {}


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("straggler", lambda host, _: 0.5 if host == 1 else 1.0),
        ("stall", lambda host, at: 0.0 if host == 1 and 20 <= at < 26 else 1.0),
        ("steady-state", lambda _, at: 1.0 - 0.5 * at / SECONDS),
        ("offered-rate", lambda *_: 0.9),
    ],
)
def test_what_is_more_than_chance_is_named(check: str, change: object) -> None:
    rng = Random(check)
    hosts = [
        [second(rng, 90.0 * max(change(host, at), 1e-9), split=False) for at in range(SECONDS)]  # type: ignore[operator]
        for host in range(HOSTS)
    ]
    assert named(load(90.0, split=False), hosts, check)


def test_a_rate_of_equal_blocks_does_not_vary_by_chance() -> None:
    assert dispersion([JobLoad("w", ("write",), rate_iops={"write": 9.0}, block_bytes=4096)]) == 0
