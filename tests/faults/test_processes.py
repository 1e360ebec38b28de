"""Processes of a load that freeze or are killed: the run ends in time, says what happened, and
keeps every byte.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.faults.conftest import Begin, Begun
from tests.lab.faults import HostLoad, frozen, kill
from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.proxy import ProxiedLab

pytestmark = pytest.mark.e2e


KILLS: dict[str, tuple[Callable[[HostLoad], object], str]] = {
    "fio": (lambda load: kill(load.main), "fio-killed"),
    "fio-worker": (lambda load: kill(load.workers()[0]), "fio-worker-killed"),
    "fio-by-sigterm": (lambda load: kill(load.main, signal.SIGTERM), "fio-stopped-by-signal"),
    "supervisor": (lambda load: kill(load.supervisor), "supervisor-died"),
    "runner": (lambda load: kill(load.runner), "runner-died"),
    "supervisor-runner-and-fio": (
        lambda load: [
            kill(pid) for pid in [load.supervisor, load.runner, load.main, *load.workers()]
        ],
        "supervisor-died",
    ),
}
HOST_OF = {name: f"h{number}" for number, name in enumerate(KILLS, start=1)}
UNTOUCHED = f"h{len(KILLS) + 1}"


@pytest.fixture(scope="module")
def killed(begun: Begun, proxied_lab: ProxiedLab) -> Iterator[LiveRun]:
    """A run, over, in which another process was killed on every host but the last one."""
    with begun(f"h[1-{len(KILLS) + 1}]", runtime="9s") as run:
        run.measuring(len(KILLS) + 1)
        for name, host in HOST_OF.items():
            KILLS[name][0](run.load_on(host))
        run.finished()
        yield run


@pytest.mark.parametrize("name", list(KILLS))
def test_killed_process_is_named_and_what_was_spooled_is_kept(killed: LiveRun, name: str) -> None:
    assert KILLS[name][1] in problem_codes(killed.record(), HOST_OF[name])
    assert killed.spool.of(HOST_OF[name]).whole


@pytest.mark.parametrize("name", ["supervisor", "runner", "supervisor-runner-and-fio"])
def test_load_that_nobody_looks_after_is_ended(killed: LiveRun, name: str) -> None:
    end, others = killed.task_end(HOST_OF[name]), killed.task_end(UNTOUCHED)
    assert end is not None and others is not None
    assert end.t < others.t, "it ended before its time"


def test_other_hosts_do_not_suffer(killed: LiveRun) -> None:
    assert problem_codes(killed.record(), UNTOUCHED) == set()
    assert UNTOUCHED in killed.record()["steps"][0]["results"]["per_host"]
    assert killed.spool.of(UNTOUCHED).whole


def test_run_with_killed_processes_is_partial_and_leaves_none(killed: LiveRun) -> None:
    assert killed.record()["state"] == "partial"
    assert violations(killed, killed.record()) == []
    killed.no_process_left()


@pytest.mark.parametrize("verb", [[], ["--abort"]], ids=["stop", "abort"])
@pytest.mark.parametrize("who", ["main", "all"])
def test_frozen_fio_is_ended_by_the_stop(begin: Begin, verb: list[str], who: str) -> None:
    run = begin(runtime="60s")
    run.measuring()
    load = run.load_on("h1")
    with ExitStack() as stack:
        for pid in [load.main, *(load.workers() if who == "all" else [])]:
            stack.enter_context(frozen(pid))
        code, said, _ = run.command("stop", run.run_id, *verb)
    assert code == 0, said
    record = run.finished()
    assert (end := run.task_end("h1")) is not None
    assert end.reason == ("abort" if verb else "stop"), "it was waited for"
    assert record["state"] == ("aborted" if verb else "partial")
    assert violations(run, record) == []
    run.no_process_left()
