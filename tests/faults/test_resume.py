"""Resuming a run whose engine died: what its hosts hold is collected, whatever keeps it from measuring further."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.command import start
from tests.faults.conftest import Begin
from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.proxy import ProxiedLab
from tests.patience import PATIENCE_S
from tui.engine.process.control import request
from tui.model.event import RunResumed, StopRequested

pytestmark = pytest.mark.e2e

LEASE_S = 40


@contextmanager
def resumed(run: LiveRun) -> Iterator[subprocess.Popen[str]]:
    """Resume a run, until h1 is connected."""
    process = start(run.home, "runs", "resume", run.run_id)
    try:
        run.wait(lambda: run.of_type(RunResumed) != [], "another engine")
        since = run.of_type(RunResumed)[-1].t
        run.wait(lambda: any(e.state == "connected" and e.t >= since for e in run.states("h1")), "h1 connected again")
        yield process
    finally:
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("verb", ["stop", pytest.param("abort", marks=pytest.mark.slow)])
def test_a_stop_while_it_connects_leaves_nothing_uncollected(begin: Begin, proxied_lab: ProxiedLab, verb: str) -> None:
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


def test_a_host_that_is_gone_leaves_what_the_others_measured(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin("--no-telemetry", runtime="4s", lease_s=LEASE_S)
    run.measuring(samples=2)
    run.kill_engine()
    proxied_lab.drop()
    proxied_lab.proxies["h2"].refuse()
    with resumed(run) as process:
        pass
    record = run.finished()
    assert process.returncode == 3
    assert record["state"] == "partial" and record["reason"].startswith("no connection to h2")
    assert sorted(record["steps"][0]["results"]["per_host"]) == ["h1", "h2"]
    assert problem_codes(record, "h1") == set()
    assert violations(run, record) == []
