"""I/O limits of control groups, read again during a load and after a step.

A limit may be lifted for the load only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING

from tui.engine.executors.executor import in_background
from tui.engine.session.context import WRITTEN, on_hosts
from tui.model.event import HostFactsCollected
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.engine.session.context import RunContext
    from tui.engine.session.host_session import HostSession
    from tui.engine.session.task import TaskRun
    from tui.model.hostfacts import Fact
    from tui.model.plan import Step
    from tui.remote.answers import AgentAnswer

READINGS = 3  # evenly spaced within the load
PATIENCE_S = 20.0


def recording_limits(runs: Sequence[TaskRun]) -> AbstractAsyncContextManager[None]:
    """Record I/O limits that have changed since the start of the run, in the background of the with
    block.

    Never fails, and does not wait for answers.
    """
    return in_background(
        _watch(run.session, run.step.expected_s)
        for run in runs
        if run.step.expected_s and "cgroup_version" in run.session.facts
    )


async def _watch(session: HostSession, expected_s: float | None) -> None:
    for _ in range(READINGS):
        await asyncio.sleep((expected_s or 0.0) / (READINGS + 1))
        with suppress(HostError, TimeoutError, OSError, ValueError):
            async with asyncio.timeout(PATIENCE_S):
                answer = await session.agent.call("facts_cgroup")
            if _record(session, answer, "cgroup_io_during", "cgroup_io"):
                return


async def record_changed_limits(ctx: RunContext, step: Step) -> None:
    """Record the I/O limits of hosts whose limits have changed since the last reading."""
    sessions = [each for each in ctx.taking_part(step) if "cgroup_version" in each.facts]
    await on_hosts(ctx, WRITTEN, sessions, _read_limits, _not_known)


async def _read_limits(session: HostSession) -> None:
    async with asyncio.timeout(PATIENCE_S):
        answer = await session.ask(lambda agent: agent.call("facts_cgroup"))
    known = "cgroup_io_after" if "cgroup_io_after" in session.facts else "cgroup_io"
    _record(session, answer, "cgroup_io_after", known)


def _not_known(_session: HostSession, _error: HostError) -> None:
    """Ignore a host that does not answer: a lost host has its own finding."""


def _record(session: HostSession, answer: AgentAnswer, name: str, known: str) -> bool:
    """Record an answer as the fact `name` if it differs from the fact `known`; return whether."""
    limits = list(answer.all("cgroup_io")) or ["none"]
    if limits == (session.facts.get(known) or ["none"]):
        return False
    facts: dict[str, Fact] = {name: limits}
    session.facts |= facts
    session.journal.append(HostFactsCollected(t=0.0, host=session.name, facts=facts))
    return True
