"""Processes of a load that freeze or are killed: the run ends in time, says what happened, and keeps every byte."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.faults.conftest import Begin
from tests.lab.faults import frozen, kill
from tests.lab.faults_check import Record, problem_codes, violations
from tests.lab.faults_run import LiveRun

pytestmark = pytest.mark.e2e

STOPPED_IN_S = 15.0


@pytest.fixture
def run(begin: Begin) -> Iterator[LiveRun]:
    """A run that would measure for long, and does."""
    run = begin(runtime="60s")
    run.measuring()
    yield run


@pytest.fixture
def short_run(begin: Begin) -> Iterator[LiveRun]:
    run = begin(runtime="5s")
    run.measuring()
    yield run


def assert_only_h1_suffered(run: LiveRun, code: str) -> Record:
    """The other host's result stands, all that was spooled has arrived, nothing is left on the hosts."""
    record = run.finished()
    assert record["state"] == "partial"
    assert code in problem_codes(record, "h1")
    assert problem_codes(record, "h2") == set()
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())
    run.no_process_left(2)
    return record


@pytest.mark.parametrize("verb", [[], ["--abort"]], ids=["stop", "abort"])
@pytest.mark.parametrize("who", ["main", "all"])
def test_frozen_fio_is_ended_in_time(run: LiveRun, verb: list[str], who: str) -> None:
    load = run.load_on("h1")
    with ExitStack() as stack:
        for pid in [load.main, *(load.workers() if who == "all" else [])]:
            stack.enter_context(frozen(pid))
        code, said, _ = run.command("stop", run.run_id, *verb)
    assert code == 0, said
    record = run.finished(5)
    assert run.stop_took() < STOPPED_IN_S
    assert record["state"] == ("aborted" if verb else "partial")
    assert violations(run, record) == []
    run.no_process_left(2)


def test_fio_killed(short_run: LiveRun) -> None:
    kill(short_run.load_on("h1").main)
    assert_only_h1_suffered(short_run, "fio-killed")


def test_fio_worker_killed(short_run: LiveRun) -> None:
    kill(short_run.load_on("h1").workers()[0])
    assert_only_h1_suffered(short_run, "fio-worker-killed")


def test_fio_told_to_end_by_somebody_else(short_run: LiveRun) -> None:
    kill(short_run.load_on("h1").main, signal.SIGTERM)
    assert_only_h1_suffered(short_run, "fio-stopped-by-signal")


def test_supervisor_killed(run: LiveRun) -> None:
    kill(run.load_on("h1").supervisor)
    run.wait(lambda: run.task_end("h1") is not None, "the end on h1", STOPPED_IN_S)
    assert run.task_end("h2") is None, "the other host measures on"
    run.command("stop", run.run_id)
    assert_only_h1_suffered(run, "supervisor-died")


def test_runner_killed(run: LiveRun) -> None:
    kill(run.load_on("h1").runner)
    run.wait(lambda: run.task_end("h1") is not None, "the end on h1", STOPPED_IN_S)
    run.command("stop", run.run_id)
    assert_only_h1_suffered(run, "runner-died")


def test_all_processes_of_a_host_killed(run: LiveRun) -> None:
    load = run.load_on("h1")
    for pid in [load.supervisor, load.runner, load.main, *load.workers()]:
        kill(pid)
    run.wait(lambda: run.task_end("h1") is not None, "the end on h1", STOPPED_IN_S)
    run.command("stop", run.run_id)
    assert_only_h1_suffered(run, "supervisor-died")
