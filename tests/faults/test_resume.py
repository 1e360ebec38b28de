"""Resuming a run whose engine died: what its hosts hold is collected, whatever keeps it from
measuring further.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.command import start
from tests.faults.conftest import Begin
from tests.lab.faults_check import Record, problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.proxy import ProxiedLab
from tests.patience import PATIENCE_S
from tui.engine.control import request
from tui.model.event import HostResult, RunResumed, StopRequested, TelemetrySample
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e

LEASE_S = 40


@contextmanager
def resumed(run: LiveRun) -> Iterator[subprocess.Popen[str]]:
    """Resume a run, until h1 is connected."""
    process = start(run.home, "runs", "resume", run.run_id)
    try:
        run.wait(lambda: run.of_type(RunResumed) != [], "another engine")
        since = run.of_type(RunResumed)[-1].t
        run.wait(
            lambda: any(e.state == "connected" and e.t >= since for e in run.states("h1")),
            "h1 connected again",
        )
        yield process
    finally:
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("verb", ["stop", pytest.param("abort", marks=pytest.mark.slow)])
def test_a_stop_while_it_connects_leaves_nothing_uncollected(
    begin: Begin, proxied_lab: ProxiedLab, verb: str
) -> None:
    run = begin("--no-telemetry", runtime="900s", lease_s=LEASE_S)
    run.measuring(samples=2)
    run.kill_engine()
    proxied_lab.drop()
    proxied_lab.proxies["h2"].blackhole()
    with resumed(run):
        request(run.run_dir, {"verb": verb})
        run.wait(lambda: run.of_type(StopRequested) != [], "the word")
        proxied_lab.heal()
    record = run.finished()
    assert record["state"] == ("aborted" if verb == "abort" else "partial")
    assert sorted(record["steps"][0]["results"]["per_host"]) == ["h1", "h2"]
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())
    run.no_process_left()


def test_a_host_that_is_gone_leaves_what_the_others_measured(
    begin: Begin, proxied_lab: ProxiedLab
) -> None:
    run = begin("--no-telemetry", runtime="4s", lease_s=LEASE_S)
    run.measuring(samples=2)
    run.kill_engine()
    proxied_lab.drop()
    proxied_lab.proxies["h2"].refuse()
    with resumed(run) as process:
        pass
    record = run.finished()
    assert process.returncode == 3
    assert record["state"] == "partial" and run_text(record["reason"]).startswith(
        "no connection to h2"
    )
    assert sorted(record["steps"][0]["results"]["per_host"]) == ["h1", "h2"]
    assert problem_codes(record, "h1") == set()
    assert violations(run, record) == []


def reads_of(record: Record, host: str, step: int = 0) -> int:
    """Return the I/Os that a record has of a host in a step."""
    found: int = record["steps"][step]["results"]["per_host"][host]["read"]["ios"]
    return found


def recovered(run: LiveRun) -> tuple[Record, str]:
    """Recover the run, and return its record and what was said."""
    _, said, _ = run.command("runs", "recover", run.run_id)
    return run.finished(), said


def test_what_an_unreachable_host_measured_is_collected_once_it_is_back(
    begin: Begin, proxied_lab: ProxiedLab
) -> None:
    run = begin(runtime="6s", lease_s=LEASE_S)
    run.measuring(samples=2)
    run.kill_engine()
    proxied_lab.drop()
    proxied_lab.proxies["h2"].refuse()
    first, _ = recovered(run)
    seconds = sum(each.host == "h2" for each in run.of_type(TelemetrySample))
    again = f"results of h2 are incomplete; once reachable, collect the rest: benchtui runs recover {run.run_id}"
    assert first["state"] == "partial" and again in run_text(first["reason"])
    still, _ = recovered(run)
    assert again in run_text(still["reason"]) and reads_of(still, "h2") == reads_of(first, "h2")
    proxied_lab.heal()
    record, _ = recovered(run)
    assert record["state"] == "partial" and "not all was collected" not in run_text(
        record["reason"]
    )
    assert next(each for each in run.of_type(HostResult) if each.host == "h2").final
    assert reads_of(record, "h2") > reads_of(first, "h2")
    assert reads_of(record, "h1") == reads_of(first, "h1")
    assert sum(each.host == "h2" for each in run.of_type(TelemetrySample)) > seconds
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())
    run.no_process_left()
    assert not run.load_on("h2").remote_dir.exists()
    assert f"{run.run_id} has already finished" in recovered(run)[1]


@pytest.mark.slow
def test_a_host_given_up_in_an_earlier_step_keeps_what_it_measured_until_that_is_collected(
    begin: Begin, proxied_lab: ProxiedLab
) -> None:
    run = begin("--no-telemetry", "--sweep", "rate=50,60", runtime="18s", lease_s=10)
    run.measuring(samples=2)
    proxied_lab.proxies["h2"].refuse()
    proxied_lab.proxies["h2"].reset()
    run.wait(
        lambda: any(run_text(each.detail).startswith("given up") for each in run.states("h2")), "h2 given up"
    )
    proxied_lab.heal()
    first = run.finished()
    assert reads_of(first, "h2", 1) > 0, "it took part in the next step"
    assert "results of h2" in run_text(first["reason"])
    record, _ = recovered(run)
    assert reads_of(record, "h2") > reads_of(first, "h2")
    kept = [each["path"] for each in record["provenance"]["artefacts"]]
    assert sorted(set(kept)) == sorted(kept)
    assert [reads_of(record, "h1", step) for step in (0, 1)] == [
        reads_of(first, "h1", step) for step in (0, 1)
    ]
    assert reads_of(record, "h2", 1) == reads_of(first, "h2", 1)
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())
