"""What Live says of CPUs, links, I/O limits and stalls, the result says too: of any series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.judge.test_live_findings import change_step
from tests.long.lies.early import at_second
from tests.long.lies.retracted import retracted
from tui.judge.catalogue import BY_ID
from tui.judge.check import RunEvidence, StepEvidence, UnknownError
from tui.model.event import HostFactsCollected
from tui.model.host_record import HostRecord
from tui.model.hostfacts import Fact
from tui.model.plan import JobLoad
from tui.model.step_record import HostTelemetryRecord, TelemetryColumn

KEPT = ("client-cpu", "network", "io-limit", "stall")
HOSTS = ("h0", "h1")
FACTS: dict[str, Fact] = {
    "cpus": 8,
    "cgroup_version": "2",
    "cgroup_io": ["8:0 riops=1000"],
    "devices": [{"name": "sda", "number": "8:0", "kind": "disk"}],
    "nics": [{"name": "eth0", "kind": "physical", "mtu": 1500, "speed_mbit": 1000}],
}
RATES = (0.0, 20.0, 39.0, 41.0, 79.0, 150.0, 250.0, 990.0, 1000.0, 1050.0, 4000.0)
VALUES: dict[str, tuple[float, ...]] = {
    "cpu.busy": (10.0, 84.0, 86.0, 100.0),
    "core.busy": (20.0, 94.0, 96.0, 100.0),
    "core.softirq": (0.0, 100.0),
    "gen.thread": (10.0, 90.0, 100.0),
    "cpu.steal": (0.0, 0.0, 10.0),
    "nic.eth0.rx": (1e3, 1.0e8, 1.2e8),
    "nic.eth0.tx": (1e3, 1.2e8),
}
Row = Mapping[str, float]


def telemetry(host: str, rows: Sequence[Row]) -> HostTelemetryRecord:
    """Return the telemetry of a host, a row for each second."""
    columns = []
    for name in VALUES:
        values = [row[name] for row in rows]
        column = TelemetryColumn(name=name, unit="number", values=list(values))
        column.mean, column.max = sum(values) / len(values), max(values)
        columns.append(column)
    return HostTelemetryRecord(
        host=host,
        start_s=0.0,
        end_s=float(len(rows)),
        t_s=[second + 1.0 for second in range(len(rows))],
        interval_s=[1.0] * len(rows),
        columns=columns,
    )


def evidence(
    rates: Sequence[Sequence[float]], rows: Sequence[Sequence[Row]], seconds: int, of_s: int,
    *, running: bool
) -> StepEvidence:  # fmt: skip
    at = at_second([list(each) for each in rates], seconds, of_s, running=running)
    jobs = [JobLoad("load", ("read",), workers=1, held=8, direct=True, queues=True)]
    for column in at.record.series.columns if at.record.series else ():
        column.bw_bytes_per_s = [4096.0 * (value or 0.0) for value in column.iops]
    record = at.record.model_copy(
        update={
            "state": "running" if running else "done" if seconds >= of_s else "cut",
            "telemetry": [
                telemetry(host, each[:seconds]) for host, each in zip(HOSTS, rows, strict=True)
            ],
        }
    )
    step = replace(at.step, jobs=jobs)
    hosts = [HostRecord(name=host, role="client", facts=dict(FACTS)) for host in HOSTS]
    run = RunEvidence(replace(at.run.plan, steps=[step]), hosts, [record], at.run.seen)
    return StepEvidence(run, step, record)


def found(at: StepEvidence) -> set[tuple[str, str, str]]:
    """Return check, severity and host of each finding of the four checks."""
    told = set[tuple[str, str, str]]()
    for name in KEPT:
        try:
            results = [each for each in (BY_ID[name].of_step or (lambda _: ()))(at) if each]
        except UnknownError:
            continue
        for each in results:
            hosts = str(each.scope.get("hosts") or each.scope.get("host") or "").split()
            told |= {(name, each.severity, host) for host in hosts if each.severity != "info"}
    return told


def drawn(rng: Random, seconds: int, values: Sequence[float]) -> list[float]:
    """Return values that stay for some seconds each, and one of which comes most often."""
    usual, made = rng.choice(values), list[float]()
    while len(made) < seconds:
        each = usual if rng.random() < 0.6 else rng.choice(values)
        made += [each] * rng.choice((1, 2, 3, 5, 12))
    return made[:seconds]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 1 << 30), of_s=st.integers(11, 70), more=st.integers(-30, 1))
def test_the_result_has_what_was_shown_at_any_second(seed: int, of_s: int, more: int) -> None:
    rng, ran_s = Random(seed), max(of_s + more, 10)
    rates = [drawn(rng, ran_s, RATES) for _ in HOSTS]
    columns = [{name: drawn(rng, ran_s, VALUES[name]) for name in VALUES} for _ in HOSTS]
    rows = [
        [{name: values[second] for name, values in each.items()} for second in range(ran_s)]
        for each in columns
    ]
    final = found(evidence(rates, rows, ran_s, of_s, running=False))
    for second in range(8, ran_s + 1):
        live = found(evidence(rates, rows, second, of_s, running=True))
        assert live <= final, (second, live - final)


BAD: dict[str, tuple[str, Row, float]] = {
    "a busy host": ("client-cpu", {"cpu.busy": 99.0}, 1000.0),
    "a full link": ("network", {"nic.eth0.rx": 1.2e8}, 1000.0),
    "an I/O limit": ("io-limit", {}, 990.0),
}


@pytest.mark.parametrize("what", BAD)
def test_what_lasts_is_shown_after_little_more_than_half_of_the_time(what: str) -> None:
    name, values, rate = BAD[what]
    quiet = {each: options[0] for each, options in VALUES.items()}
    rows = [[quiet | dict(values)] * 100] * 2

    def shown(seconds: int) -> bool:
        at = evidence([[rate] * 100] * 2, rows, seconds, 100, running=True)
        return name in {check for check, _, _ in found(at)}

    assert not shown(50) and shown(54)


def test_a_host_that_stops_is_shown_at_once() -> None:
    quiet = [[{each: options[0] for each, options in VALUES.items()}] * 300] * 2
    rates = [[500.0] * 300, [500.0] * 20 + [0.0] * 280]
    for second, running in ((25, True), (40, True), (300, False)):
        at = evidence(rates, quiet, second, 300, running=running)
        assert ("stall", "warning", "h1") in found(at)


def test_cpus_that_were_busy_for_most_seconds_are_named_with_their_time() -> None:
    quiet = {each: options[0] for each, options in VALUES.items()}
    rows = [[quiet | {"cpu.busy": 99.0}] * 60 + [quiet] * 40] * 2
    at = evidence([[500.0] * 100] * 2, rows, 100, 100, running=False)
    assert ("client-cpu", "warning", "h0") in found(at)
    rows = [[quiet | {"cpu.busy": 99.0}] * 45 + [quiet] * 55] * 2
    at = evidence([[500.0] * 100] * 2, rows, 100, 100, running=False)
    assert "client-cpu" not in {check for check, _, _ in found(at)}


@pytest.mark.parametrize("seed", range(4))
def test_a_replay_of_a_journal_shows_nothing_that_its_result_does_not_have(
    tmp_path: Path, seed: int
) -> None:
    rng, runtime_s = Random(seed), 50
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), READS, runtime_s=runtime_s)
    maker.begin()
    for host in maker.hosts:
        maker.add(HostFactsCollected(t=maker.t, host=host, facts=dict(FACTS)))
    change_step(maker, jobs=[JobLoad("read_iops", ("read",), workers=1, held=8, direct=True)])
    maker.go()
    for _ in range(rng.choice((runtime_s, 30)) // 2):
        for host in maker.hosts:
            maker.look_at(host, {name: rng.choice(values) for name, values in VALUES.items()})
            maker.pace[host] = rng.choice((0.002, 0.05, 0.3, 1.0, 1.0, 1.0))
        maker.measure(2)
    maker.finish("complete" if rng.random() < 0.5 else "aborted")
    assert not set(retracted(maker.run_dir)) & set(KEPT)
