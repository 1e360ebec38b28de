"""Record I/O limits of control groups during a load: a limit may be lifted for the load only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING

from tui.engine.executors.executor import in_background
from tui.model.event import HostFactsCollected
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.engine.session.host_session import HostSession
    from tui.engine.session.task import TaskRun
    from tui.model.hostfacts import Fact

READINGS = 3  # evenly spaced within the load
PATIENCE_S = 20.0


def recording_limits(runs: Sequence[TaskRun]) -> AbstractAsyncContextManager[None]:
    """Record I/O limits that differ from those before the run, in the background of the with block.

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
            limits = list(answer.all("cgroup_io")) or ["none"]
            if limits != (session.facts.get("cgroup_io") or ["none"]):
                facts: dict[str, Fact] = {"cgroup_io_during": limits}
                session.facts |= facts
                session.journal.append(HostFactsCollected(t=0.0, host=session.name, facts=facts))
                return
