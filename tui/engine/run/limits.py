"""I/O limits of control groups, read again after a measurement."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui.engine.session.context import WRITTEN, on_hosts
from tui.model.event import HostFactsCollected

if TYPE_CHECKING:
    from tui.engine.session.context import RunContext
    from tui.engine.session.host_session import HostSession
    from tui.model.hostfacts import Fact
    from tui.model.plan import Step
    from tui.remote.transport import HostError

PATIENCE_S = 20.0


async def record_changed_limits(ctx: RunContext, step: Step) -> None:
    """Record the I/O limits of hosts on which they have changed since they were last read."""
    sessions = [each for each in ctx.taking_part(step) if "cgroup_version" in each.facts]
    await on_hosts(ctx, WRITTEN, sessions, _read_limits, _not_known)


async def _read_limits(session: HostSession) -> None:
    async with asyncio.timeout(PATIENCE_S):
        answer = await session.ask(lambda agent: agent.call("facts_cgroup"))
    limits = list(answer.all("cgroup_io")) or ["none"]
    before = session.facts.get("cgroup_io") or ["none"]
    if limits != session.facts.get("cgroup_io_after", before):
        facts: dict[str, Fact] = {"cgroup_io_after": limits}
        session.facts |= facts
        session.journal.append(HostFactsCollected(t=0.0, host=session.name, facts=facts))


def _not_known(_session: HostSession, _error: HostError) -> None:
    """Ignore a host that cannot be asked: a lost one has a finding of its own."""
