"""Storage nodes of a run: looked at while the hosts generate load. What is wrong with one is a warning, no more."""

from __future__ import annotations

import asyncio

from tui.engine.session.context import RunContext
from tui.engine.session.on_hosts import LEAVE, REACH, on_hosts
from tui.engine.session.session import HostSession
from tui.model.event import HostFacts, HostStateName, PhaseName
from tui.remote.agent import AgentError
from tui.remote.transport import HostError

CONNECT_S = 20.0
LEAVE_S = 10.0


class ServerSession(HostSession):
    """A storage node: it is no host of the run, so the journal has neither states nor problems of it."""

    def enter(self, state: HostStateName, detail: str = "") -> None:  # noqa: ARG002  (nobody reads it)
        """Change the state."""
        self.state = state

    def problem(self, phase: PhaseName, code: str, message: str, *, fatal: bool = True) -> None:  # noqa: ARG002
        """Say what is wrong; a fatal problem leaves the node out."""
        self.say("warning", message)
        if fatal:
            self.state = "failed"


async def connect_servers(ctx: RunContext) -> None:
    """Connect to the storage nodes and read what they are; one that cannot be reached is named and left out."""
    if ctx.plan.telemetry:
        await on_hosts(ctx, REACH, ctx.servers, _connect, _not_looked_at)


async def _connect(server: HostSession) -> None:
    await server.connect(CONNECT_S)
    probe = await server.ask(lambda agent: agent.probe())
    server.facts = await server.ask(lambda agent: agent.facts(probe))
    server.journal.append(HostFacts(t=0.0, host=server.name, facts=server.facts, role="server"))


def _not_looked_at(server: HostSession, error: HostError) -> None:
    server.enter("failed")
    server.say("warning", f"server not reached, it is not looked at: {error.message}")


async def leave_servers(ctx: RunContext) -> None:
    """Remove what the agent had on the storage nodes, and disconnect."""
    reached = [server for server in ctx.servers if server.reached]
    await on_hosts(ctx, LEAVE, reached, _leave, _stays_behind)
    await on_hosts(ctx, LEAVE, reached, HostSession.disconnect, lambda *_: None)


async def _leave(server: HostSession) -> None:
    async with asyncio.timeout(LEAVE_S):
        try:
            await server.agent.clean()
        except AgentError:
            await server.agent.sweep(kill=True)
            await server.agent.clean()


def _stays_behind(server: HostSession, error: HostError) -> None:
    server.say("warning", f"the agent's directory under /tmp may stay behind: {error.message}")
