"""Telemetry while connections break, hosts lose it, and runs are aborted: it goes on, or it is
missed once.
"""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.command import environ_of
from tests.faults.conftest import Begin
from tests.lab.faults import marked
from tests.lab.faults_check import violations
from tests.lab.faults_run import LiveRun
from tests.lab.proxy import ProxiedLab
from tui.model.event import Message, TelemetrySample
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e


def samples(run: LiveRun, host: str) -> list[TelemetrySample]:
    return [event for event in run.of_type(TelemetrySample) if event.host == host]


def looked_at(run: LiveRun, host: str, count: int) -> None:
    run.wait(lambda: len(samples(run, host)) >= count, f"{count} seconds of telemetry of {host}")


def complaints(run: LiveRun, host: str) -> list[str]:
    said = (
        event
        for event in run.of_type(Message)
        if event.host == host and "telemetry" in run_text(event.text)
    )
    return [run_text(event.text) for event in said if event.severity == "warning"]


def test_a_broken_connection_loses_no_second(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="900s", lease_s=20)
    run.measuring()
    looked_at(run, "h1", 2)
    proxied_lab.proxies["h1"].reset()
    run.wait(lambda: run.why_lost("h1") is not None, "the loss of the connection")
    looked_at(run, "h1", len(samples(run, "h1")) + 5)
    run.command("stop", run.run_id)
    run.finished()
    assert_no_gap(samples(run, "h1"))
    assert complaints(run, "h1") == []


def assert_no_gap(seen: list[TelemetrySample]) -> None:
    """Each interval begins where the one before it ended."""
    for before, after in itertools.pairwise(seen):
        assert after.host_time_ms - before.host_time_ms == pytest.approx(
            1000 * after.interval_s, abs=20
        )


def test_another_engine_journals_what_the_first_one_missed(begin: Begin) -> None:
    run = begin(runtime="20s", lease_s=60)
    run.measuring()
    looked_at(run, "h1", 2)
    run.kill_engine()
    code, said, _ = run.command("runs", "recover", run.run_id)
    assert code == 0, said
    assert run.finished()["state"] == "complete"
    assert len(samples(run, "h1")) >= 8
    assert_no_gap(samples(run, "h1"))
    assert complaints(run, "h1") == []


def test_an_abort_leaves_nothing_of_it(begin: Begin) -> None:
    run = begin(runtime="900s", lease_s=20)
    run.measuring()
    looked_at(run, "h1", 1)
    code, said, _ = run.command("stop", run.run_id, "--abort")
    assert code == 0, said
    record = run.finished()
    assert record["state"] == "aborted"
    assert violations(run, record) == []
    run.no_process_left()
    assert not list(Path("/tmp").glob(f".benchtui-*/{run.run_id}"))


def test_telemetry_that_is_killed_is_missed_once_and_the_run_is_complete(begin: Begin) -> None:
    run = begin(runtime="8s", lease_s=20)
    run.measuring()
    looked_at(run, "h1", 1)
    for pid in marked(run.run_id, "h1"):
        if b"BENCHTUI_TASK=0.telemetry" in environ_of(pid):
            os.kill(pid, signal.SIGKILL)
            break
    record = run.finished()
    assert record["state"] == "complete", record["reason"]
    assert len(complaints(run, "h1")) == 1 and complaints(run, "h2") == []
    assert record["exit_code"] == 0
