"""A fault of ours on one host is that host's problem: the others measure on, and every way to end a
run still works.

Real sshd, real fio; the fault is put into the reader of one host.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.lab.course import course
from tests.lab.faults import marked
from tests.lab.sshd import SshdLab
from tui.engine.executors.executor import stop_host
from tui.engine.run.run import execute
from tui.model.event import RunEnded
from tui.model.operands import clause
from tui.text.run_texts import run_text
from tui.workloads.fio.reader import FioReader

pytestmark = pytest.mark.e2e
FAULTY = "h2"


@pytest.fixture
def faulty_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of one host fails at the second piece of a measurement's output."""
    feed, init = FioReader.feed, FioReader.__init__
    left: dict[FioReader, int] = {}  # pieces until the fault

    def failing(reader: FioReader, data: bytes) -> Any:
        left[reader] = left.get(reader, 0) - 1
        if left[reader] == 0:
            raise ValueError("no such bucket")
        return feed(reader, data)

    def begun(reader: FioReader, host: str, step: Any, phase: Any, *rest: Any) -> None:
        init(reader, host, step, phase, *rest)
        left[reader] = 2 if (host, phase) == (FAULTY, "measure") else 0

    monkeypatch.setattr(FioReader, "__init__", begun)
    monkeypatch.setattr(FioReader, "feed", failing)


@pytest.mark.usefixtures("faulty_reader")
async def test_the_others_bring_their_results_and_the_host_is_named(
    home: Path, lab: SshdLab, capfd: pytest.CaptureFixture[str]
) -> None:
    async with course(home, lab, "5s") as run:
        end = await execute(run.ctx)
    assert (end.state, end.exit_code) == ("partial", 4)
    assert run.codes(FAULTY) == ["internal-error"]
    (problem,) = run.events("host_problem")
    told = run_text(problem["message"])
    assert "ValueError: no such bucket" in told
    assert "engine.log" in told
    assert "Traceback" in capfd.readouterr().err
    finals = {event["host"]: event.get("final", True) for event in run.events("host_result")}
    assert (finals["h1"], finals["h3"]) == (True, True)


@pytest.mark.usefixtures("faulty_reader")
@pytest.mark.parametrize("mode", ["stop", pytest.param("abort", marks=pytest.mark.slow)])
async def test_the_others_hear_a_stop(
    home: Path, lab: SshdLab, mode: Literal["stop", "abort"]
) -> None:
    async with course(home, lab, "90s") as run:
        running = asyncio.create_task(execute(run.ctx))
        await run.seen(lambda: run.codes(FAULTY))
        run.ctx.request_stop(mode)
        end = await asyncio.wait_for(running, 60)
    assert end.state == ("partial" if mode == "stop" else "aborted")
    ends = {
        event["host"]: event["reason"]
        for event in run.events("task_ended")
        if event["phase"] == "measure"
    }
    assert (ends["h1"], ends["h3"]) == (mode, mode)
    assert {event["host"] for event in run.events("host_result")} >= {"h1", "h3"}


@pytest.mark.slow
@pytest.mark.usefixtures("faulty_reader")
async def test_one_of_the_others_can_be_stopped_alone(home: Path, lab: SshdLab) -> None:
    async with course(home, lab, "90s") as run:
        running = asyncio.create_task(execute(run.ctx))
        await run.seen(lambda: run.codes(FAULTY))
        assert stop_host(run.ctx, "h1") is None
        await run.seen(
            lambda: any(event["phase"] == "measure" for event in run.events("task_ended", "h1"))
        )
        assert not any(event["phase"] == "measure" for event in run.events("task_ended", "h3"))
        run.ctx.request_stop("stop")
        await asyncio.wait_for(running, 60)
    assert run.codes("h1") == ["stopped-alone"]


@pytest.mark.usefixtures("faulty_reader")
async def test_a_run_that_ends_with_a_lost_host_ends(home: Path, lab: SshdLab) -> None:
    async with course(home, lab, "90s", on_host_loss="stop") as run:
        end: RunEnded = await asyncio.wait_for(execute(run.ctx), 110)
    assert end.state == "partial"
    ends = {
        event["host"]: event["reason"]
        for event in run.events("task_ended")
        if event["phase"] == "measure"
    }
    assert (ends["h1"], ends["h3"]) == ("stop", "stop")


@pytest.mark.usefixtures("faulty_reader")
async def test_the_host_s_own_load_is_ended(home: Path, lab: SshdLab) -> None:
    async with course(home, lab, "90s") as run:
        running = asyncio.create_task(execute(run.ctx))
        await run.seen(
            lambda: any(event["phase"] == "measure" for event in run.events("task_ended", FAULTY))
        )
        await run.seen(lambda: not marked(run.ctx.run_id, FAULTY))
        assert marked(run.ctx.run_id, "h1")
        run.ctx.request_stop("abort")
        await asyncio.wait_for(running, 60)


async def test_a_fault_while_results_are_taken_leaves_the_others_theirs(
    home: Path, lab: SshdLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = FioReader.result

    def failing(reader: FioReader, exit_code: int | None) -> Any:
        if reader._host == FAULTY:
            raise KeyError("p99")
        return result(reader, exit_code)

    monkeypatch.setattr(FioReader, "result", failing)
    async with course(home, lab, "2s") as run:
        end = await execute(run.ctx)
    assert end.state == "partial"
    assert run.codes(FAULTY) == ["internal-error"]
    assert {event["host"] for event in run.events("host_result")} == {"h1", "h3"}


async def test_a_fault_in_a_look_before_the_load_refuses_with_the_host_s_name(
    home: Path, lab: SshdLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tui.engine.run import preflight

    def failing(session: Any, clock: Any) -> Any:
        if session.name == FAULTY:
            raise OverflowError("a clock from another age")
        return real(session, clock)

    real = preflight.clock_event
    monkeypatch.setattr(preflight, "clock_event", failing)
    async with course(home, lab, "2s") as run:
        end = await execute(run.ctx)
    assert (end.state, end.exit_code, end.reason) == (
        "failed",
        3,
        clause("preflight-refused", hosts=["h2"]),
    )
    assert run.codes(FAULTY) == ["internal-error"]
    states = {name: run.events("host_state", name)[-1]["state"] for name in ("h1", FAULTY, "h3")}
    assert states == {"h1": "ready", FAULTY: "failed", "h3": "ready"}
