"""One host during a run: connection, agent, journalled state, secrets."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tui.model.address import HostAddress
from tui.model.event import (
    ALLOCATION_ENDED,
    FileCreated,
    HostProblem,
    HostState,
    HostStateName,
    Message,
    PhaseName,
    Severity,
)
from tui.model.hostfacts import Fact
from tui.model.operands import Clause, Told, clause
from tui.model.plan import HostTask, Identities, Plan
from tui.remote.agent import Agent
from tui.remote.scripts import is_hidden
from tui.remote.transport import BusyError, DeniedError, GoneError, HostError, Transport

if TYPE_CHECKING:
    from tui.journal.writer import Journal
    from tui.remote.connections import Connections
    from tui.remote.devices import DeviceFacts
    from tui.remote.vault import Asker

MASK = b"*"
REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class Secrets:
    """Secrets of a run: names of environment variables and known values.

    Values never appear in a repr.
    """

    names: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def missing(self) -> list[str]:
        """Names without a value."""
        return [name for name in self.names if name not in self.values]

    def mask(self, task: HostTask) -> Mask | None:
        """Return a mask for a command's output; None if the run has no secrets."""
        return (
            Mask(_options(task.job_file, self.names), list(self.values.values()))
            if self.names
            else None
        )


async def secrets_of(plan: Plan, environ: Mapping[str, str], asker: Asker | None) -> Secrets:
    """Return the secrets of a run, from the environment or by asking the user."""
    from tui.remote.vault import Question

    values = {name: environ[name] for name in plan.secrets if environ.get(name)}
    for name in plan.secrets:
        if name not in values and asker is not None:
            answers = await asker(
                Question(
                    f"secret needed by this run: {name}", ((name, False),), "", f"secret {name}"
                )
            )
            if answers and answers[0]:
                values[name] = answers[0]
    return Secrets(tuple(plan.secrets), values)


def _options(job_file: str, names: Sequence[str]) -> list[str]:
    """Return the options of a job file whose value contains a secret.

    With `description` also `desc`, under which fio repeats it.
    """
    lines = (line.partition("=") for line in job_file.splitlines())
    found = {option for option, _, value in lines if set(REFERENCE.findall(value)) & set(names)}
    return sorted(found | ({"desc"} if "description" in found else set()))


class Mask:
    """Replaces secrets with asterisks of equal length, so that stream offsets do not change.

    Holds back an incomplete last line, because it may end within a secret; its bytes do not count
    as received.
    """

    def __init__(self, options: Sequence[str], values: Sequence[str]) -> None:
        known = {
            text.encode()
            for value in values
            for text in (value, value.replace("\\", "\\\\").replace('"', '\\"'))
        }
        words = [text for text in known if is_hidden(text.decode())]
        patterns = [re.escape(word) for word in sorted(words, key=len, reverse=True)]
        if options:
            either = b"|".join(re.escape(option.encode()) for option in options)
            patterns.append(
                rb'(?<=")(?P<option>' + either + rb')(?P<sign>" : ")(?P<value>(?:[^"\\\n]|\\.)*)'
            )
        self._pattern = re.compile(b"|".join(patterns)) if patterns else None
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """Return the complete lines, masked."""
        lines, end, rest = (self._rest + data).rpartition(b"\n")
        self._rest = rest
        return self._masked(lines + end)

    def flush(self) -> bytes:
        """Return the rest, masked, at the end of the data."""
        rest, self._rest = self._rest, b""
        return self._masked(rest)

    def drop(self) -> None:
        """Discard the incomplete line, because it will be sent again."""
        self._rest = b""

    def _masked(self, text: bytes) -> bytes:
        return self._pattern.sub(_stars, text) if self._pattern else text


def _stars(match: re.Match[bytes]) -> bytes:
    groups = match.groupdict()
    if groups.get("value") is None:
        return MASK * len(match[0])
    return groups["option"] + groups["sign"] + MASK * len(groups["value"])


T = TypeVar("T")
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 5.0
LEAST_TRY_S = 1.0  # a shorter attempt proves nothing about the host
# for connections broken outside a measurement; within one, the lease decides
PATIENCE_S = 30.0
HOST_LOST = "host-lost"
LOSSES = (HOST_LOST, ALLOCATION_ENDED)  # problems: the connection to the host is gone
CONNECT_DEADLINE_S = 300.0  # hundreds of hosts behind one bastion queue for handshakes
# signs of a broken connection; other errors would only repeat
BROKEN = ("lost", "channel-failed")


class HostSession:
    """A host of a run. Hosts that `failed` take no further part."""

    def __init__(
        self, address: HostAddress, connections: Connections, run_id: str, journal: Journal
    ) -> None:
        self.address = address
        self.connections = connections
        self.run_id = run_id
        self.journal = journal
        self.state: HostStateName = "waiting"
        self.secrets = Secrets()
        self.carries = False  # the run copies programs to the host
        self.facts: dict[str, Fact] = {}
        self.missing: set[str] = set()  # files of the plan missing at preflight
        self.short: set[str] = set()  # own files smaller than planned at preflight
        # directories created by the current load, those that were missing before
        self.to_make: list[str] = []
        # files shared with another host that creates them, by path
        self.made_elsewhere: dict[str, str] = {}
        # files of this user's runs, at preflight
        self.ours: frozenset[str] = frozenset()
        self.devices: dict[str, DeviceFacts] = {}  # of the plan, at preflight
        self.reached = False  # whether it was ever connected
        self.gone: Told = ""  # why it will not come back: its allocation has ended
        # why reconnecting failed: the host's last error, not a timeout
        self.refusal: Told = ""
        self.holds: set[int] = set()  # steps with uncollected output on it
        self.created: list[str] = []  # paths this run created on the host, in order
        self.known = Identities()  # their identities
        # identities of all files of the plan, at preflight or after the last step
        self.seen = Identities()
        self._transport: Transport | None = None
        self._agent: Agent | None = None

    @property
    def name(self) -> str:
        """Name of the host in the plan."""
        return self.address.name

    @property
    def agent(self) -> Agent:
        """Client of the host's agent. Raises HostError if the host is not connected."""
        if self._agent is None:
            raise HostError("lost", self.name, clause("not-connected"))
        return self._agent

    @property
    def failed(self) -> bool:
        """Whether the host has dropped out of the run."""
        return self.state in ("failed", "lost")

    def enter(self, state: HostStateName, detail: Clause | str = "") -> None:
        """Set the host's state and journal it."""
        self.state = state
        self.journal.append(HostState(t=0.0, host=self.name, state=state, detail=detail))

    def leave_for_good(self) -> None:
        """Set the state to lost, because the host's allocation has ended."""
        self.enter("lost", clause("allocation-ended", quote=self.gone))

    def say(self, severity: Severity, told: Told) -> None:
        """Report a message about this host to the user."""
        self.journal.append(Message(t=0.0, severity=severity, text=told, host=self.name))

    def problem(self, phase: PhaseName, code: str, told: Told, *, fatal: bool = True) -> None:
        """Record a problem; a fatal one fails the host."""
        self.journal.append(
            HostProblem(t=0.0, host=self.name, phase=phase, code=code, message=told, fatal=fatal)
        )
        if fatal and not self.failed:
            self.enter("lost" if code in LOSSES else "failed", clause("problem", quote=told))

    def remember_created(self, paths: Sequence[str], size_bytes: int = 0) -> None:
        """Record and journal paths that this run created, so that they can be listed and removed.

        `size_bytes` is their total size.
        """
        known = set(self.created)
        self.created += [path for path in paths if path not in known]
        self.missing.difference_update(self.created)
        self.short.difference_update(self.created)
        event = FileCreated(t=0.0, host=self.name, paths=[*paths], bytes=size_bytes)
        self.journal.append(event)

    def forget_created(self, paths: Collection[str]) -> None:
        """Treat paths as missing again: the load did not create them, or removed them itself."""
        self.created = [path for path in self.created if path not in paths]
        self.missing.update(paths)

    async def connect(self, deadline_s: float = CONNECT_DEADLINE_S) -> None:
        """Open the connection. Raises HostError."""
        patient = self.connections.vault.can_ask  # users type as long as they like
        try:
            async with asyncio.timeout(None if patient else deadline_s):
                transport = await self.connections.connect(self.address)
        except TimeoutError:
            told = clause("no-connection-in", limit_s=deadline_s)
            raise HostError("timeout", self.name, told) from None
        self.reached = True
        self._transport = transport
        self._agent = Agent(transport, self.run_id, carries=self.carries)

    async def connect_patiently(self) -> None:
        """Open the first connection; if it breaks, retry for up to PATIENCE_S. Raises HostError."""
        try:
            await self.connect()
        except BusyError:
            raise  # tried often enough
        except HostError as error:
            if error.code not in BROKEN or not await self.reconnect(PATIENCE_S):
                raise

    async def ask(self, call: Callable[[Agent], Awaitable[T]], patience_s: float = PATIENCE_S) -> T:
        """Make a repeatable call; if the connection breaks, reconnect and repeat it.

        Raises HostError: at once for an agent error, for a broken connection after `patience_s`.
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
                if self.gone or error.code not in BROKEN or left <= 0:
                    raise await self.explained(error) from error
                state = self.state
                self.lose(error.told)
                await asyncio.sleep(pause)
                if not await self.reconnect(left):
                    away = clause(
                        "not-back", quote=error.told, limit_s=patience_s, refusal=self.refusal
                    )
                    lost = HostError("lost", self.name, away)
                    raise await self.explained(lost) from error
                self.enter(state, clause("reconnected"))
            pause = min(pause * 2 or FIRST_PAUSE_S, LONGEST_PAUSE_S)

    async def why_gone(self) -> Told:
        """Return how the host's allocation ended; empty if it has not, or if the host needs
        none.
        """
        if not self.gone:
            self.gone = await self.connections.way(self.address).why_ended(self.address)
        return self.gone

    async def explained(self, error: HostError) -> HostError:
        """Return the end of the host's allocation as the cause of an error; else the error."""
        if isinstance(error, GoneError) or not await self.why_gone():
            return error
        return GoneError(ALLOCATION_ENDED, self.name, self.gone)

    def loss(self, told: Told) -> tuple[str, Told]:
        """Return the code and message that report the host as lost."""
        return (ALLOCATION_ENDED, self.gone) if self.gone else (HOST_LOST, told)

    def lose(self, why: Told) -> None:
        """Set the state to connecting, because the host's connection is lost."""
        self.enter("connecting", clause("connection-lost", quote=why))

    async def reconnect(self, patience_s: float) -> bool:
        """Retry, with growing randomized pauses, until connected, rejected, or `patience_s` has
        passed; return whether connected.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience_s
        pause, self.refusal = FIRST_PAUSE_S, ""
        await self.disconnect()
        while loop.time() < deadline:
            try:
                await self.connect(max(deadline - loop.time(), LEAST_TRY_S))
            except (DeniedError, GoneError) as error:
                self.gone = error.told if isinstance(error, GoneError) else ""
                # sshd penalises repeated failed logins
                self.refusal = error.told
                return False
            except HostError as error:
                self.refusal = (
                    self.refusal if self.refusal and error.code == "timeout" else error.told
                )
                self.enter("connecting", clause("retrying", quote=error.told))
                await asyncio.sleep(
                    min(pause * random.uniform(0.5, 1.0), max(0.0, deadline - loop.time()))
                )
                pause = min(pause * 2, LONGEST_PAUSE_S)
            else:
                return True
        return False

    async def disconnect(self) -> None:
        """Close the connection, whatever its state."""
        transport, self._transport, self._agent = self._transport, None, None
        if transport is not None:
            try:
                async with asyncio.timeout(5):
                    await transport.close()
            except (HostError, OSError, TimeoutError):
                return
