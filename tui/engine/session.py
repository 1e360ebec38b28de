"""One host during a run: its connection, its agent, its state in the journal."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui.model.event import HostProblem, HostState, HostStateName, Message, PhaseName, Severity
from tui.model.plan import HostAddress
from tui.remote.agent import Agent
from tui.remote.transport import HostError, Transport

if TYPE_CHECKING:
    from tui.engine.journal import Journal
    from tui.remote.connections import Connections

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 5.0


class HostSession:
    """A host of a run. `failed` hosts take no further part."""

    def __init__(self, address: HostAddress, connections: Connections, run_id: str, journal: Journal) -> None:
        self.address = address
        self.connections = connections
        self.run_id = run_id
        self.journal = journal
        self.state: HostStateName = "waiting"
        self.facts: dict[str, str | int | float | bool | None] = {}
        self.missing: set[str] = set()  # files of the plan that were not there at preflight
        self.created: list[str] = []  # paths this run made on the host, in the order it made them
        self._transport: Transport | None = None
        self._agent: Agent | None = None

    @property
    def name(self) -> str:
        """The host's name in the inventory."""
        return self.address.name

    @property
    def agent(self) -> Agent:
        """The agent's client. Raises HostError when the host is not connected."""
        if self._agent is None:
            raise HostError("lost", self.name, "not connected")
        return self._agent

    @property
    def failed(self) -> bool:
        """Whether the host dropped out."""
        return self.state in ("failed", "lost")

    def enter(self, state: HostStateName, detail: str = "") -> None:
        """Change the state, and say so in the journal."""
        self.state = state
        self.journal.append(HostState(t=0.0, host=self.name, state=state, detail=detail))

    def say(self, severity: Severity, text: str) -> None:
        """Tell the operator something about this host."""
        self.journal.append(Message(t=0.0, severity=severity, text=text, host=self.name))

    def problem(self, phase: PhaseName, code: str, message: str, *, fatal: bool = True) -> None:
        """Record what is wrong; a fatal problem fails the host."""
        self.journal.append(HostProblem(t=0.0, host=self.name, phase=phase, code=code, message=message, fatal=fatal))
        if fatal and not self.failed:
            self.enter("failed", message)

    def remember_created(self, paths: Iterable[str]) -> None:
        """Note paths that this run made, so that they can be named and removed."""
        self.created += [path for path in paths if path not in self.created]
        self.missing.difference_update(paths)

    async def connect(self) -> None:
        """Open the connection. Raises HostError."""
        transport = await self.connections.connect(self.address)
        self._transport = transport
        self._agent = Agent(transport, self.run_id)

    async def reconnect(self, patience_s: float) -> bool:
        """Try again, with pauses that grow and differ, until connected or `patience_s` has passed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience_s
        pause = FIRST_PAUSE_S
        await self.disconnect()
        while loop.time() < deadline:
            try:
                await self.connect()
            except HostError as error:
                self.enter("connecting", f"connection lost, retrying: {error.message}")
                await asyncio.sleep(min(pause * random.uniform(0.5, 1.0), max(0.0, deadline - loop.time())))
                pause = min(pause * 2, LONGEST_PAUSE_S)
            else:
                return True
        return False

    async def disconnect(self) -> None:
        """Close the connection, whatever state it is in."""
        transport, self._transport, self._agent = self._transport, None, None
        if transport is not None:
            try:
                async with asyncio.timeout(5):
                    await transport.close()
            except (HostError, OSError, TimeoutError):
                return
