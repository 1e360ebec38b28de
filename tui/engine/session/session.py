"""One host during a run: its connection, its agent, its state in the journal."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from tui.engine.session.secrets import Secrets
from tui.model.address import HostAddress
from tui.model.event import HostProblem, HostState, HostStateName, Message, PhaseName, Severity
from tui.model.hostfacts import Fact
from tui.model.made import Identities
from tui.remote.agent import Agent
from tui.remote.transport import BusyError, DeniedError, HostError, Transport

if TYPE_CHECKING:
    from tui.journal.writer import Journal
    from tui.remote.connections import Connections
    from tui.remote.devices import DeviceFacts

T = TypeVar("T")
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 5.0
LEAST_TRY_S = 1.0  # an attempt that is given less says nothing of the host
PATIENCE_S = 30.0  # for a connection that broke outside a measurement; within one, the lease is the measure
CONNECT_DEADLINE_S = 300.0  # hundreds of hosts behind one bastion wait for each other's handshakes
BROKEN = ("lost", "channel-failed")  # what a broken connection looks like; anything else would only fail again


class HostSession:
    """A host of a run. `failed` hosts take no further part."""

    def __init__(self, address: HostAddress, connections: Connections, run_id: str, journal: Journal) -> None:
        self.address = address
        self.connections = connections
        self.run_id = run_id
        self.journal = journal
        self.state: HostStateName = "waiting"
        self.secrets = Secrets()
        self.facts: dict[str, Fact] = {}
        self.missing: set[str] = set()  # files of the plan that were not there at preflight
        self.short: set[str] = set()  # files of ours that were smaller than planned at preflight
        self.made_elsewhere: dict[str, str] = {}  # files shared with another host, which makes them, by path
        self.ours: frozenset[str] = frozenset()  # files that runs of ours had made, as of the preflight
        self.devices: dict[str, DeviceFacts] = {}  # those of the plan, as the preflight found them
        self.reached = False  # whether it has ever been connected
        self.refusal = ""  # why attempts to reconnect failed: what a host said last, not that time was up
        self.holds: set[int] = set()  # steps of which it has output that could not be collected
        self.created: list[str] = []  # paths this run made on the host, in the order it made them
        self.known = Identities()  # what these are
        self.seen = Identities()  # what all files of the plan are, as of the preflight or our last step
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
        self.missing.difference_update(self.created)
        self.short.difference_update(self.created)

    async def connect(self, deadline_s: float = CONNECT_DEADLINE_S) -> None:
        """Open the connection. Raises HostError."""
        patient = self.connections.vault.can_ask  # a person types as long as they like
        try:
            async with asyncio.timeout(None if patient else deadline_s):
                transport = await self.connections.connect(self.address)
        except TimeoutError:
            raise HostError("timeout", self.name, f"no connection in {deadline_s:.0f}s") from None
        self.reached = True
        self._transport = transport
        self._agent = Agent(transport, self.run_id)

    async def connect_patiently(self) -> None:
        """Open the first connection, once more when it breaks in the middle. Raises HostError."""
        try:
            await self.connect()
        except BusyError:
            raise  # it was tried often enough
        except HostError as error:
            if error.code not in BROKEN or not await self.reconnect(PATIENCE_S):
                raise

    async def ask(self, call: Callable[[Agent], Awaitable[T]], patience_s: float = PATIENCE_S) -> T:
        """Make a call that may be repeated; when the connection breaks, again over another one.

        Raises HostError: that of the agent at once, that of the connection when the host stays away for `patience_s`.
        """
        loop = asyncio.get_running_loop()
        deadline: float | None = None
        pause = 0.0
        while True:
            try:
                return await call(self.agent)
            except HostError as error:
                deadline = deadline or loop.time() + patience_s
                left = deadline - loop.time() - pause
                if error.code not in BROKEN or left <= 0:
                    raise
                state = self.state
                self.lose(error.message)
                await asyncio.sleep(pause)
                if not await self.reconnect(left):
                    away = f"{error.message}; not back in {patience_s:g}s: {self.refusal}"
                    raise HostError("lost", self.name, away) from error
                self.enter(state, "reconnected")
            pause = min(pause * 2 or FIRST_PAUSE_S, LONGEST_PAUSE_S)

    def lose(self, why: str) -> None:
        """Show that the connection broke."""
        self.enter("connecting", f"connection lost: {why.removeprefix('connection lost: ')}")

    async def reconnect(self, patience_s: float) -> bool:
        """Try again, with pauses that grow and differ, until connected, turned down, or `patience_s` has passed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience_s
        pause, self.refusal = FIRST_PAUSE_S, ""
        await self.disconnect()
        while loop.time() < deadline:
            try:
                await self.connect(max(deadline - loop.time(), LEAST_TRY_S))
            except DeniedError as error:
                self.refusal = error.message  # sshd penalises a machine that fails to log in again and again
                return False
            except HostError as error:
                self.refusal = self.refusal if self.refusal and error.code == "timeout" else error.message
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
