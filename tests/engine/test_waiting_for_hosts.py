"""Hosts that another run uses are waited for when asked, and hosts that answer late.

Real sshd, real fio.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.lab.course import Course, course
from tests.lab.sshd import SshdLab
from tui.engine.run import preflight
from tui.engine.run.run import execute
from tui.model.operands import clause
from tui.remote.agent import Agent, ClockOffset
from tui.remote.connections import Connections
from tui.remote.fan_out import agent_on
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e


@asynccontextmanager
async def in_use(lab: SshdLab, name: str) -> AsyncIterator[Agent]:
    """Hold a host for another run."""
    run_id = f"other-{uuid.uuid4().hex[:8]}"
    async with (
        Connections(ssh_config=lab.ssh_config) as connections,
        agent_on(lab.address(name), connections, run_id) as agent,
    ):
        while await agent.lock(600.0, "somebody@elsewhere") is not None:
            # a run that waits holds it for a moment, to see whether it gets all
            await asyncio.sleep(0.02)
        yield agent
        await agent.unlock()


def waits(run: Course, host: str) -> bool:
    return any(
        "waiting: in use by run other-" in run_text(event.get("detail", ""))
        for event in run.events("host_state", host)
    )


async def test_a_run_begins_when_its_hosts_are_free(lab: SshdLab, home: Path) -> None:
    async with course(home, lab, "1s", hosts=2, wait_s=600.0) as run:
        async with in_use(lab, "h2"):
            running = asyncio.create_task(execute(run.ctx))
            await run.seen(lambda: waits(run, "h2"))
            assert not run.events("task_started")
        end = await asyncio.wait_for(running, 100)
    assert (end.state, end.exit_code) == ("complete", 0)
    assert run.events("host_problem") == []


async def test_a_run_that_waits_holds_no_host(lab: SshdLab, home: Path) -> None:
    async with course(home, lab, "1s", hosts=2, wait_s=600.0) as run:
        async with in_use(lab, "h2"):
            running = asyncio.create_task(execute(run.ctx))
            await run.seen(lambda: waits(run, "h2"))
            async with in_use(lab, "h1"):
                await run.seen(lambda: waits(run, "h1"))
        await asyncio.wait_for(running, 100)
    assert run.events("run_ended")[0]["state"] == "complete"


async def test_patience_that_is_over_refuses_with_who_holds_the_host(
    lab: SshdLab, home: Path
) -> None:
    async with course(home, lab, "1s", hosts=2, wait_s=0.1) as run, in_use(lab, "h2") as other:
        end = await execute(run.ctx)
    assert (end.state, end.exit_code, end.reason) == (
        "failed",
        3,
        clause("hosts-in-use", hosts=["h2"]),
    )
    (problem,) = run.events("host_problem")
    told = run_text(problem["message"])
    assert problem["code"] == "host-locked" and other.run_id in told and "waited" in told
    assert "--" not in told, "screens show it, where a key is the remedy"


async def test_a_stop_ends_the_wait(lab: SshdLab, home: Path) -> None:
    async with course(home, lab, "1s", hosts=1, wait_s=600.0) as run, in_use(lab, "h1"):
        running = asyncio.create_task(execute(run.ctx))
        await run.seen(lambda: waits(run, "h1"))
        run.ctx.request_stop("stop")
        assert (await asyncio.wait_for(running, 60)).state == "failed"


async def test_a_host_that_answers_late_is_waited_for_and_shown(
    lab: SshdLab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Agent.clock

    async with course(home, lab, "1s", hosts=1) as run:

        def shown() -> bool:
            return any(
                "still waiting" in run_text(event.get("detail", ""))
                for event in run.events("host_state", "h1")
            )

        async def late(agent: Agent) -> ClockOffset | None:
            await run.seen(shown)
            return await clock(agent)

        monkeypatch.setattr(preflight, "SLOW_S", 0.2)
        monkeypatch.setattr(Agent, "clock", late)
        assert (await execute(run.ctx)).state == "complete"
