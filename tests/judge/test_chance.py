"""Honest loads whose I/Os come at random times, or differ in size, raise no finding; a real change
does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from random import Random
from statistics import fmean

import pytest
from msgspec.structs import replace

from tests.samples.evidence import direction, evidence
from tests.samples.telemetry import limit, looked
from tui.judge.catalogue import BY_ID
from tui.judge.chance import dispersion, steady_limits
from tui.judge.check import StepEvidence
from tui.metrics.steady import SteadyWindow
from tui.model.figure_record import SeriesColumns, SeriesRecord
from tui.model.plan import BlockShare, JobLoad
from tui.record.running_step import exhaust

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


def seconds_of(rng: Random, rate: float, *, split: bool) -> list[list[int]]:
    """Return the sizes of the I/Os of each second.

    At random times, or of split sizes: then each waits until those before it are paid for.
    """
    done: list[list[int]] = [[] for _ in range(SECONDS)]
    at = 0.0 if split else rng.expovariate(rate)
    while at < SECONDS:
        size = 1 << 20 if split and rng.random() < 0.1 else 4096
        done[int(at)].append(size)
        at += size / (rate * MEAN) if split else rng.expovariate(rate)
    return done


def named(job: JobLoad, hosts: Sequence[Sequence[Sequence[int]]], check: str) -> bool:
    """Tell whether a check speaks up, of the sizes of the I/Os of each host and second."""
    rates = {f"h{at}": fmean(map(len, own)) for at, own in enumerate(hosts)}
    moved = {f"h{at}": fmean(map(sum, own)) for at, own in enumerate(hosts)}
    dirs = {
        host: {"write": direction(rate, 1e6, bw_bytes_per_s=moved[host])}
        for host, rate in rates.items()
    }
    columns = [
        SeriesColumns(
            host=host,
            direction="write",
            iops=[float(len(each)) for each in own],
            bw_bytes_per_s=[float(sum(each)) for each in own],
        )
        for host, own in [
            (None, [[*chain(*each)] for each in zip(*hosts, strict=True)]),
            *zip(rates, hosts, strict=True),
        ]
    ]
    series = SeriesRecord(start_s=0.0, columns=columns)
    at = evidence(dirs, jobs=[job], series=series, measured_s=float(SECONDS))
    total = direction(sum(rates.values()), 1e6, bw_bytes_per_s=sum(moved.values()))
    at.steps[0].results.aggregate = {"write": total}
    at.steps[0].tasks = {}
    return bool(BY_ID[check].examine(at))


@pytest.mark.parametrize("split", [False, True], ids=["Poisson", "split"])
@pytest.mark.parametrize("rate", [0.7, 3.0, 20.0])
def test_chance_raises_no_finding(rate: float, *, split: bool) -> None:
    rng, job = Random(f"{rate} {split}"), load(rate, split=split)
    runs = 50
    wrong = dict.fromkeys(CHECKS, 0)
    for _ in range(runs):
        hosts = [seconds_of(rng, rate, split=split) for _ in range(HOSTS)]
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
def test_what_is_more_than_chance_is_named(check: str, change: Callable[[int, int], float]) -> None:
    rng = Random(check)
    hosts = [
        [
            [size for size in sizes if rng.random() < change(host, at)]
            for at, sizes in enumerate(seconds_of(rng, 90.0, split=False))
        ]
        for host in range(HOSTS)
    ]
    assert named(load(90.0, split=False), hosts, check)


def test_windows_of_few_random_arrivals_may_be_far_apart() -> None:
    limits = steady_limits([2.0] * SECONDS, [load(2.0, split=False)])
    window = SteadyWindow((28.0, 21.0, 27.0, 20.0, 24.0), range=0.33, slope=0.13)
    assert window.within(*limits)
    assert not window.within(*steady_limits([2.0] * SECONDS, []))


@pytest.mark.parametrize("rate", [3.0, 20.0])
def test_a_host_that_stops_for_longer_than_its_largest_block_takes_has_stalled(rate: float) -> None:
    rng = Random(1)
    hosts = [seconds_of(rng, rate, split=True) for _ in range(HOSTS)]
    hosts[1][20:35] = [[] for _ in range(15)]
    assert named(load(rate, split=True), hosts, "stall")


def test_a_rate_of_equal_blocks_does_not_vary_by_chance() -> None:
    assert dispersion([JobLoad("w", ("write",), rate_iops={"write": 9.0}, block_bytes=4096)]) == 0


LOOPING = JobLoad(
    "w", ("write",), block_bytes=4096, paced=True, rate_iops={"write": 1000.0}, poisson=True
)


@pytest.mark.parametrize(
    ("pass_bytes", "rate", "severities"),
    [
        (None, 850.0, ["warning"]),  # 8,500 draws: three deviations are 3 %
        (128 << 10, 850.0, []),  # 32 draws, again and again: three deviations are 53 %
        (128 << 10, 400.0, ["warning"]),
    ],
)
def test_a_load_that_draws_the_same_in_each_loop_is_given_the_chance_of_one(
    pass_bytes: int | None, rate: float, severities: list[str]
) -> None:
    job = replace(LOOPING, redrawn_bytes=pass_bytes)
    at = evidence({"h1": {"write": direction(rate, 1e6)}}, jobs=[job], measured_s=10.0)
    assert [each.severity for each in BY_ID["offered-rate"].examine(at)] == severities


@pytest.mark.parametrize(("same", "found"), [(False, 1), (True, 0)])
def test_hosts_with_the_same_seeds_are_off_together(same: bool, found: int) -> None:
    job = replace(LOOPING, rate_iops={"write": 100.0}, same_draws=same)
    hosts = {f"h{number}": {"write": direction(93.0, 1e6)} for number in range(16)}
    at = evidence(hosts, jobs=[job], measured_s=10.0)
    at.steps[0].results.aggregate = {"write": direction(16 * 93.0, 1e6)}
    assert len(BY_ID["offered-rate"].examine(at)) == found


def test_the_bottleneck_and_the_finding_mean_the_same_by_a_reached_rate() -> None:
    job = JobLoad("r", ("read",), paced=True, rate_iops={"read": 100.0}, poisson=True)
    for rate, kind in ((94.0, "rate"), (60.0, "concurrency")):
        at = looked(cpu_busy=10.0)
        at.plan.steps[0].jobs = [job]
        at.steps[0].results.aggregate["read"].iops = rate
        at.steps[0].measured_s = 10.0
        assert limit(at)[0] == kind
        assert bool(BY_ID["offered-rate"].examine(at)) == (kind != "rate")


def test_stalls_of_many_hosts_are_looked_for_in_slices() -> None:
    rates = [0.0 if 20 <= at < 26 else 100.0 for at in range(SECONDS)]
    columns = [
        SeriesColumns(
            host=host, direction="write", iops=rates, bw_bytes_per_s=[4096 * each for each in rates]
        )
        for host in (None, *(f"h{number}" for number in range(256)))
    ]
    series = SeriesRecord(start_s=0.0, columns=columns)
    at = evidence(jobs=[load(100.0, split=False)], series=series, measured_s=float(SECONDS))
    step = StepEvidence(at, at.plan.steps[0], at.steps[0])
    assert len(list(BY_ID["stall"].examine_step(step))) >= 4
    found = exhaust(BY_ID["stall"].examine_step(step))
    assert [len(str(each.scope["hosts"]).split()) for each in found] == [256]
