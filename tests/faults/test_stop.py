"""Stop and abort when a host does not answer: over long before the load is, and it is known of whom
the end is not.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.conftest import Begin
from tests.lab.faults import frozen
from tests.lab.faults_check import problem_codes, violations
from tests.lab.proxy import ProxiedLab
from tui.engine.control import request
from tui.library.build import build_record
from tui.model.event import PhaseStarted, RunEnded, StopRequested, encode

pytestmark = pytest.mark.e2e

LEASE_S = 20


@pytest.mark.parametrize(
    "verb", [[], pytest.param(["--abort"], marks=pytest.mark.slow)], ids=["stop", "abort"]
)
def test_run_ends_though_a_host_does_not_answer(
    begin: Begin, proxied_lab: ProxiedLab, verb: list[str]
) -> None:
    run = begin(runtime="900s", lease_s=LEASE_S)
    run.measuring()
    proxied_lab.proxies["h1"].blackhole()
    code, said, _ = run.command("stop", run.run_id, *verb)
    assert code == 0, said
    record = run.finished()
    assert record["state"] == ("aborted" if verb else "partial")
    assert problem_codes(record, "h1") & {"stop-unconfirmed", "host-lost"}
    assert problem_codes(record, "h2") == set()
    assert violations(run, record) == []
    run.no_process_left()


def test_abort_overtakes_a_stop_that_takes_its_time(begin: Begin) -> None:
    run = begin(runtime="900s", lease_s=LEASE_S)
    run.measuring()
    load = run.load_on("h1")
    with ExitStack() as stack:
        for pid in (load.main, *load.workers()):  # a stop gives it 6 s, then 2 s
            stack.enter_context(frozen(pid))
        request(run.run_dir, {"verb": "stop"})
        run.wait((load.remote_dir / "stop").exists, "the word on the host")
        request(run.run_dir, {"verb": "abort"})
        record = run.finished()
    assert [event.mode for event in run.of_type(StopRequested)] == ["stop", "abort"]
    assert record["state"] == "aborted"
    assert (end := run.task_end("h1")) is not None and end.reason == "abort", (
        "the stop took its time"
    )
    assert violations(run, record) == []
    run.no_process_left()


@pytest.mark.slow
def test_stop_while_a_host_is_reconnecting(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="900s", lease_s=LEASE_S)
    run.measuring()
    proxy = proxied_lab.proxies["h1"]
    proxy.refuse()
    proxy.reset()
    run.wait(lambda: run.why_lost("h1") is not None, "the loss of the connection")
    code, said, _ = run.command("stop", run.run_id)
    assert code == 0, said
    record = run.finished()
    assert record["state"] == "partial"
    assert problem_codes(record, "h1") & {"stop-unconfirmed", "host-lost"}
    assert record["steps"][0]["results"]["per_host"]["h2"]["read"]["ios"] > 0
    assert violations(run, record) == []
    run.no_process_left()


@pytest.mark.parametrize(
    "phase", ["preflight", pytest.param("layout", marks=pytest.mark.slow), "barrier"]
)
def test_stop_before_the_measurement_leaves_no_load(
    begin: Begin, phase: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fresh = str(tmp_path_factory.mktemp("fresh"))
    run = begin("--set", f"directory={fresh}", runtime="900s", lease_s=LEASE_S)
    run.wait(lambda: any(e.phase == phase for e in run.of_type(PhaseStarted)), f"the phase {phase}")
    code, said, _ = run.command("stop", run.run_id)
    assert code == 0, said
    record = run.finished()
    assert record["state"] in ("failed", "partial")  # partial: it had just begun to measure
    assert violations(run, record) == []
    run.no_process_left()


@pytest.mark.slow
def test_one_host_cannot_be_ended_alone_while_its_files_are_written(
    begin: Begin, tmp_path: Path
) -> None:
    run = begin("--set", f"directory={tmp_path}", runtime="2s", size="64m")
    run.wait(lambda: any(state.state == "layout" for state in run.states("h1")), "the layout on h1")
    asked = {"verb": "stop-host", "host": "h1"}
    run.wait(
        lambda: (request(run.run_dir, asked)["error"] or {}).get("code") == "still-writing",
        "the refusal",
    )
    assert run.finished()["state"] == "complete"


def test_abort_that_comes_when_all_is_over_changes_nothing(begin: Begin) -> None:
    run = begin(runtime="2s")
    assert run.finished()["state"] == "complete"
    journal = run.run_dir / "journal.jsonl"
    *lines, last = journal.read_bytes().splitlines(keepends=True)
    # as while the hosts are being left
    late = encode(StopRequested(t=run.of_type(RunEnded)[0].t, mode="abort"))
    journal.write_bytes(b"".join([*lines, late, last]))
    assert build_record(run.run_dir).state == "complete"
