"""Engines that are killed or frozen: hosts end by their lease, what they spooled can be had,
whole.
"""

from __future__ import annotations

import signal

import pytest

from tests.e2e.command import start
from tests.faults.conftest import Begin
from tests.lab.faults import frozen
from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.patience import PATIENCE_S
from tui.model.event import PhaseStarted
from tui.model.operands import clause

pytestmark = pytest.mark.e2e

LEASE_S = 10
KEEPALIVE_S = 10.0


def freeze_engine(run: LiveRun, seconds: float) -> None:
    pid = run.engine_pid()
    assert pid is not None
    since = run.now()
    with frozen(pid):
        run.wait(lambda: run.now() > since + seconds, f"{seconds:g} seconds", seconds + 10)


def test_load_of_a_killed_engine_ends_by_its_lease_and_is_collected_whole(begin: Begin) -> None:
    run = begin(runtime="60s", lease_s=LEASE_S)
    run.measuring()
    run.kill_engine()
    run.no_process_left()
    assert run.record()["state"] == "partial"
    run.command("runs", "recover", run.run_id)
    record = run.finished()
    assert record["state"] == "partial"
    assert problem_codes(record, "h1") == {"lease-expired"}
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())


def test_takeover_of_a_live_load_loses_nothing(begin: Begin) -> None:
    run = begin(runtime="6s", lease_s=LEASE_S)
    run.measuring()
    run.kill_engine()
    code, said, _ = run.command("runs", "recover", run.run_id)
    assert code == 0, said
    record = run.finished()
    assert record["state"] == "complete"
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())


def test_takeover_of_a_takeover(begin: Begin) -> None:
    run = begin(runtime="12s", lease_s=LEASE_S)
    run.measuring()
    run.kill_engine()
    watcher = start(run.home, "runs", "recover", run.run_id)
    try:
        run.wait(
            lambda: any(state.detail == clause("taken-over") for state in run.states("h1")),
            "the first takeover",
        )
        run.kill_engine()
    finally:
        watcher.communicate(timeout=PATIENCE_S)
    code, said, _ = run.command("runs", "recover", run.run_id)
    assert code == 0, said
    record = run.finished()
    assert record["state"] == "complete"
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())


@pytest.mark.parametrize("phase", ["preflight", "layout", "barrier"])
def test_engine_killed_before_it_measures_leaves_no_load(
    begin: Begin, phase: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fresh = str(tmp_path_factory.mktemp("fresh"))
    run = begin("--set", f"directory={fresh}", runtime="60s", lease_s=LEASE_S)
    run.wait(lambda: any(e.phase == phase for e in run.of_type(PhaseStarted)), f"the phase {phase}")
    run.kill_engine()
    run.no_process_left()
    code, said, _ = run.command("runs", "recover", run.run_id)
    assert code in (3, 4), said
    record = run.finished()
    assert record["state"] == "failed"
    assert violations(run, record) == []


def test_engine_frozen_for_longer_than_the_keepalive_loses_nothing(begin: Begin) -> None:
    run = begin(runtime="5s", lease_s=40)
    run.measuring()
    freeze_engine(run, KEEPALIVE_S + 3)
    record = run.finished()
    assert record["state"] == "complete"
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())


def test_engine_frozen_for_longer_than_the_lease_says_so_and_keeps_what_was_measured(
    begin: Begin,
) -> None:
    run = begin(runtime="60s", lease_s=LEASE_S)
    run.measuring()
    freeze_engine(run, LEASE_S + 5)
    record = run.finished()
    assert record["state"] == "partial"
    assert problem_codes(record, "h1") == problem_codes(record, "h2") == {"lease-expired"}
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())
    run.no_process_left()


def test_engine_that_is_told_to_end_stops_the_run_properly(begin: Begin) -> None:
    run = begin(runtime="60s", lease_s=LEASE_S)
    run.measuring()
    run.kill_engine(signal.SIGTERM)
    record = run.finished()
    assert record["state"] == "partial"
    assert violations(run, record) == []
    run.no_process_left()
