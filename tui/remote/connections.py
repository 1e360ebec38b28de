"""Connections to all hosts: shared bastions, limited handshakes, strict host keys, one question per
secret.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import resource
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tui.model.address import HostAddress
from tui.model.operands import Operands, Told, clause
from tui.remote.transport import HUNG_UP, BusyError, DeniedError, HostError, Transport
from tui.remote.vault import Asker, Vault
from tui.remote.way_base import HostTransport, load_transport

if TYPE_CHECKING:
    from tui.remote.hostkeys import Presented
    from tui.remote.keys import LockedKey
    from tui.remote.login import Entered, LoginAttempt
    from tui.remote.proxy import ProxyCommand, Tunnel
    from tui.remote.ssh import SshTransport
    from tui.remote.ssh_library import asyncssh
    from tui.remote.sshconfig import Keyring, Resolved
    from tui.remote.sshfile import ConfigFiles

Opened = TypeVar("Opened")
KEEPALIVE_S = 2.5
KEEPALIVE_COUNT = 3  # detects a dead connection after interval x (count + 1) = 10 s
ATTEMPTS = 6  # a busy sshd (MaxStartups) hangs up before its banner: retry
MOST_ATTEMPTS = 60  # while other logins succeed
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0
PENALTY_WAIT_S = 40.0  # sshd's shortest penalty is 15 s; more may be added meanwhile
CLOSE_TIMEOUT_S = 5.0
FILES_OF_A_HOST, OTHER_FILES = 4, 256  # open at a time


# (host, None for all; note on its login)
WarnAbout = Callable[[str | None, Told], None]
START = 8.0  # below sshd's default of 10, above which it may drop
# per greeted handshake; measured: larger steps hit the limit more often and gain nothing
STEP = 0.1
BACKOFF = 0.5


def unheard(_host: str | None, _told: Told) -> None:
    """Ignore a note about a host."""


class Timeouts(Struct, frozen=True):
    """Time limit for connecting, and the keepalives after which a connection counts as lost."""

    connect_s: float = 10.0
    keepalive_s: float = KEEPALIVE_S
    keepalive_count: int = KEEPALIVE_COUNT  # unanswered keepalives


TIMEOUTS = Timeouts()


class Connections:
    """Opens connections; as an async context manager, closes the remaining ones.

    `handshakes`: maximum in parallel, in total and per server. `asker` asks for passwords,
    passphrases and codes; without it, or after `stop_asking`, a host that needs one is an error.
    `directory`: base of relative names in the SSH configuration; None means this process's working
    directory.
    """

    def __init__(
        self,
        *,
        ssh_config: Path | None = None,
        directory: Path | None = None,
        known_hosts: Sequence[Path] = (),
        handshakes: int = 32,
        timeouts: Timeouts = TIMEOUTS,
        asker: Asker | None = None,
    ) -> None:
        self.ssh_config = ssh_config
        self.directory = directory
        self.pins = known_hosts
        self.handshakes = handshakes
        self.timeouts = timeouts
        self._keyring: Keyring | None = None
        self._files: ConfigFiles | None = None
        self._bastions: dict[str, asyncio.Task[asyncssh.SSHClientConnection]] = {}
        self.vault = Vault(asker)
        self.warn: WarnAbout = unheard
        # servers that accepted a key of an SSH agent, and its socket
        self.by_agent: dict[str, str] = {}
        self.gates: dict[str, Gate] = {}
        self._all = asyncio.Semaphore(handshakes)
        self.turn = asyncio.Lock()  # of tasks with work for the loop: see `in_turn`
        self._asked: set[str] = set()  # hosts
        self._ways: dict[str, HostTransport] = {}
        self._transports: list[SshTransport] = []
        self._proxies: list[ProxyCommand] = []
        self._keys: dict[str, asyncio.Task[asyncssh.SSHKey]] = {}

    async def __aenter__(self) -> Connections:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.gather(
                    *(transport.close() for transport in self._transports), return_exceptions=True
                )
        for task in self._bastions.values():
            if usable(task):
                task.result().close()
            else:
                task.cancel()
        for key in self._keys.values():
            key.cancel()
        await asyncio.gather(*self._bastions.values(), *self._keys.values(), return_exceptions=True)
        await asyncio.gather(*(proxy.over() for proxy in self._proxies))
        await asyncio.gather(
            *(way.release() for way in self._ways.values()), return_exceptions=True
        )
        if self._keyring is not None:
            self._keyring.close()

    @property
    def keyring(self) -> Keyring:
        """Keys and known_hosts files, loaded once."""
        if self._keyring is None:
            from tui.remote.sshconfig import Keyring

            self._keyring = Keyring()
        return self._keyring

    async def connect(self, address: HostAddress) -> Transport:
        """Return a connection to a host. Raises HostError."""
        self._expect(address)
        return await self.way(address).open(address, self)

    def _expect(self, address: HostAddress) -> None:
        self._asked.add(address.name)
        allow_open_files(len(self._asked))

    def way(self, address: HostAddress) -> HostTransport:
        """Return the transport of a host; there is one object per kind of transport.

        Raises HostError.
        """
        if address.transport not in self._ways:
            self._ways[address.transport] = load_transport(address)
        return self._ways[address.transport]

    async def open_ssh(self, address: HostAddress) -> Transport:
        """Return an SSH connection to a host. Raises HostError."""
        from tui.remote.ssh import SshTransport

        target = await asyncio.to_thread(self.resolve, address)
        transport = SshTransport(address, await self._open(target, (), shared=True))
        self._transports = [*(other for other in self._transports if not other.lost()), transport]
        return transport

    def stop_asking(self) -> None:
        """Stop asking the user; answers given so far are still used."""
        self.vault.asker = None

    async def presented(self, address: HostAddress) -> Presented:
        """Return a host's key without logging in.

        Raises HostError, also if the key has changed.
        """
        from tui.remote import hostkeys

        self._expect(address)
        target = await asyncio.to_thread(self.resolve, address)
        key = await self._collected(target)
        on_file = (await asyncio.to_thread(self.keyring.trusted, target))[0]
        if on_file and key not in on_file:
            raise hostkeys.changed(target, key, on_file)
        return hostkeys.Presented(address.name, hostkeys.pattern(target), key, key in on_file)

    async def _collected(self, target: Resolved) -> asyncssh.SSHKey:
        """Return a server's key, collected once for all of its names, because sshd limits
        connections without a login.
        """
        from tui.remote import hostkeys

        tunnel = await self.tunnel(target)

        async def collect() -> asyncssh.SSHKey:
            return await self._patiently(target, lambda: hostkeys.collect(target, tunnel))

        place = f"{target.config} {target.proxy_command} {target.jumps} {target.host} {target.port}"
        task = self._keys.get(place)
        if task is None:
            task = self._keys[place] = asyncio.create_task(collect())
        try:
            return await asyncio.shield(task)
        except HostError as error:
            raise HostError(error.code, target.name, error.told) from error

    def resolve(self, address: HostAddress) -> Resolved:
        """Return the settings for connecting to a host. Raises HostError for an invalid
        configuration.
        """
        from tui.remote.sshconfig import resolve
        from tui.remote.sshfile import ConfigFiles

        self._files = self._files or ConfigFiles()
        own = Path(address.ssh_config) if address.ssh_config else None
        return resolve(address, own or self.ssh_config, self.pins, self._files, self.directory)

    async def tunnel(
        self, target: Resolved, above: tuple[str, ...] = ()
    ) -> asyncssh.SSHClientConnection | None:
        """Return the connection to a target's last bastion, shared by all hosts behind it; None
        without a bastion. Raises HostError.
        """
        connection = None
        path = ""
        for jump in target.jumps:
            if jump in above:
                raise HostError("config", target.name, clause("jump-loop", name=jump))
            path = f"{path} {jump}".strip()
            connection = await self._bastion(path, jump, target, connection, (*above, jump))
        return connection

    async def _bastion(
        self,
        path: str,
        jump: str,
        target: Resolved,
        through: asyncssh.SSHClientConnection | None,
        above: tuple[str, ...],
    ) -> asyncssh.SSHClientConnection:
        key = f"{target.config} {path}"
        task = self._bastions.get(key)
        if task is None or (task.done() and not usable(task)):
            address = jump_address(jump, target.config)
            task = self._bastions[key] = asyncio.create_task(
                self._open_bastion(address, above, through)
            )
        try:
            return await asyncio.shield(task)
        except HostError as error:
            told = clause("of-bastion", name=jump, quote=error.told)
            raise HostError(error.code, target.name, told) from error

    async def _open_bastion(
        self,
        address: HostAddress,
        above: tuple[str, ...],
        through: asyncssh.SSHClientConnection | None,
    ) -> asyncssh.SSHClientConnection:
        return await self._open(await asyncio.to_thread(self.resolve, address), above, through)

    async def _open(
        self,
        target: Resolved,
        above: tuple[str, ...],
        through: asyncssh.SSHClientConnection | None = None,
        *,
        shared: bool = False,
    ) -> asyncssh.SSHClientConnection:
        from tui.remote.login import LogIn

        tunnel = through or await self.tunnel(target, above)

        async def knock(attempt: LoginAttempt) -> asyncssh.SSHClientConnection:
            return await self._patiently(target, lambda: self._handshake(target, tunnel, attempt))

        entered = await LogIn(target, self.vault, self.keyring, shared=shared).through(knock)
        self._remember(target, entered)
        return entered.connection

    def _remember(self, target: Resolved, entered: Entered) -> None:
        """Record the SSH agent of a login; warn if its answers are valid only once."""
        if entered.by_agent and target.agent:
            self.by_agent[target.name] = target.agent
        if entered.one_time:
            told = clause("answers-once", place=target.place, asked=list(entered.one_time))
            self.warn(target.name, told)

    async def _patiently(
        self, target: Resolved, attempt: Callable[[], Awaitable[Opened]]
    ) -> Opened:
        """Attempt a handshake within the server's limit of parallel ones; retry while the server is
        too busy.
        """
        gate = self.gates.setdefault(gate_of(target), Gate(self.handshakes))
        pause, tries_left, passed = FIRST_PAUSE_S, ATTEMPTS, gate.passed
        clock = asyncio.get_running_loop().time
        began = clock()
        for _ in range(MOST_ATTEMPTS):
            try:
                return await self._in_turn(gate, attempt)
            except BusyError as error:
                # if another login succeeded, it is busy, not dead
                tries_left -= gate.passed == passed
                passed = gate.passed
                if tries_left <= 0:
                    self._wait_out(target, error, clock() - began)
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, LONGEST_PAUSE_S)
        raise BusyError(target.name, clause("hangs-up", host=target.host, port=target.port))

    def _wait_out(self, target: Resolved, error: BusyError, waited_s: float) -> None:
        """Note a server's penalty and allow another attempt; refused attempts do not extend the
        penalty.

        Raises the error if it is not a penalty, or if the penalty lasts too long.
        """
        if not error.not_allowed:
            raise error
        told = clause("penalised", host=target.host, port=target.port, waited_s=waited_s)
        if waited_s > PENALTY_WAIT_S:
            raise BusyError(target.name, told, not_allowed=True) from error
        self.warn(target.name, clause("retrying-for", quote=told, limit_s=PENALTY_WAIT_S))

    async def _in_turn(self, gate: Gate, attempt: Callable[[], Awaitable[Opened]]) -> Opened:
        async with gate.turn() as began, self._all:
            try:
                opened = await attempt()
            except BusyError:
                gate.hung_up(began)
                raise
            except HostError:
                gate.greeted()  # whatever the error: it was not too busy
                raise
            gate.greeted()
            return opened

    async def _handshake(
        self, target: Resolved, tunnel: asyncssh.SSHClientConnection | None, attempt: LoginAttempt
    ) -> asyncssh.SSHClientConnection:
        """Open a connection.

        If the host certificate is refused, retries with the plain host key on file, as ssh does.
        """
        from tui.remote.hostkeys import CertificateRefusedError

        try:
            return await self._handshake_over(target, tunnel, attempt)
        except CertificateRefusedError as error:
            if not error.algorithms or "server_host_key_algs" in target.algorithm_options:
                raise
            algorithms = (*target.algorithms, ("server_host_key_algs", error.algorithms))
            return await self._handshake_over(
                replace(target, algorithms=algorithms), tunnel, attempt
            )

    async def _handshake_over(
        self, target: Resolved, tunnel: asyncssh.SSHClientConnection | None, attempt: LoginAttempt
    ) -> asyncssh.SSHClientConnection:
        from tui.remote.proxy import ProxyCommand, way_to

        async with way_to(target, tunnel) as way:
            connection = await self._shake_hands(target, tunnel, way, attempt)
        if isinstance(way, ProxyCommand):
            self._proxies = [*(other for other in self._proxies if other.status is None), way]
        return connection

    async def _shake_hands(
        self,
        target: Resolved,
        tunnel: asyncssh.SSHClientConnection | None,
        way: Tunnel | None,
        attempt: LoginAttempt,
    ) -> asyncssh.SSHClientConnection:
        from tui.remote import hostkeys
        from tui.remote.ssh_library import asyncssh

        keys, unusable = await asyncio.to_thread(self.keyring.client_keys, target)
        attempt.locked, _ = await asyncio.to_thread(self.keyring.locked, target)
        if target.agent:
            certificates = await asyncio.to_thread(self.keyring.certificates, target)
            attempt.agent_keys = await self.keyring.agent_keys(target.agent).of(
                target, certificates
            )
        on_file = await asyncio.to_thread(self.keyring.trusted, target)
        connect_timeout_s = target.connect_timeout_s or self.timeouts.connect_s
        attempt.time_limit_s = connect_timeout_s * 2
        try:
            async with asyncio.timeout(attempt.time_limit_s) as attempt.clock:
                return await asyncssh.connect(
                    target.host,
                    target.port,
                    tunnel=way,
                    config=None,
                    client_factory=lambda: attempt,
                    username=target.user,
                    client_keys=[*keys, *attempt.agent_keys, *attempt.locked] or None,
                    agent_path=None,
                    known_hosts=on_file,
                    host_key_alias=target.host_key_alias,
                    gss_host=None,
                    preferred_auth=target.methods,
                    compression_algs="none",
                    connect_timeout=None if attempt.interview else connect_timeout_s,
                    login_timeout=0,  # the time limit covers it, and pauses for input
                    keepalive_interval=self.timeouts.keepalive_s,
                    keepalive_count_max=self.timeouts.keepalive_count,
                    **target.local,
                    **target.algorithm_options,
                )
        except asyncssh.HostKeyNotVerifiable as error:
            raise hostkeys.explain(target, on_file[0], attempt.presented, str(error)) from error
        except (asyncssh.KeyExchangeFailed, asyncssh.ConnectionLost, *HUNG_UP) as error:
            if not attempt.heard:
                told = clause("hangs-up", host=target.host, port=target.port)
                raise BusyError(target.name, told, not_allowed=attempt.not_allowed) from error
            # a server without a key of the types on file ends the negotiation: it may be another
            # server
            other = await hostkeys.another(target, on_file[0], tunnel)
            raise other or explained(target, error, unusable) from error
        except (asyncssh.Error, OSError, TimeoutError, ValueError) as error:
            raise explained(target, error, [] if attempt.agent_keys else unusable) from error


def gate_of(target: Resolved) -> str:
    """Return the key under which a server's handshakes are counted.

    A ProxyCommand usually runs ssh to a bastion for every host, so commands that differ only in the
    host's name share a key.
    """
    if target.proxy_command is not None:
        words = (target.host, target.name, str(target.port))
        return " ".join(
            "%" if any(word in part for word in words) else part
            for part in target.proxy_command.split()
        )
    return " ".join((*target.jumps, target.host, str(target.port)))


def usable(task: asyncio.Task[asyncssh.SSHClientConnection]) -> bool:
    """Return whether a bastion's connection is still open."""
    return (
        task.done()
        and not task.cancelled()
        and task.exception() is None
        and not task.result().is_closed()
    )


def jump_address(jump: str, config: Path | None) -> HostAddress:
    """Parse a ProxyJump entry, [user@]host[:port]."""
    user, _, rest = jump.rpartition("@")
    host, colon, port = rest.rpartition(":")
    if not colon or not port.isdigit():
        host, port = rest, ""
    return HostAddress(
        name=host.strip("[]"),
        user=user or None,
        port=int(port) if port else None,
        ssh_config=str(config) if config else None,
    )


def explained(target: Resolved, error: Exception, unusable: Sequence[LockedKey | str]) -> HostError:
    """Return the error for a failed connection.

    `unusable`: reasons why key files could not be offered.
    """
    from tui.remote.ssh_library import asyncssh

    name = target.name
    at: Operands = {"host": target.host, "port": target.port}
    if isinstance(error, asyncssh.PermissionDenied) or "many authentication failures" in str(error):
        return refused(target, unusable)
    if isinstance(error, ConnectionRefusedError):
        return HostError("refused", name, clause("refused-by", **at))
    if isinstance(error, TimeoutError) or "timeout" in str(error).lower():
        return HostError("timeout", name, clause("no-answer-from", **at))
    if isinstance(error, socket.gaierror):
        return HostError("unreachable", name, clause("unknown-name", host=target.host))
    if isinstance(error, asyncssh.ConnectionLost | ConnectionResetError):
        return HostError("lost", name, clause("closed-in-handshake", **at, quote=str(error)))
    if isinstance(error, asyncssh.ChannelOpenError):
        told = clause("bastion-cannot-reach", **at, quote=error.reason)
        return HostError("unreachable", name, told)
    quote = str(error) or type(error).__name__
    told = clause("cannot-connect", place=target.place, quote=quote)
    return HostError("unreachable", name, told)


def refused(target: Resolved, unusable: Sequence[LockedKey | str]) -> DeniedError:
    """Return the error for a refused login, naming the key files if they are the cause."""
    encrypted = not all(isinstance(each, str) for each in unusable)
    code = "auth-failed"
    if unusable and len(unusable) == len(target.identities):
        code = "key-encrypted" if encrypted else "key-unreadable"
    reason = clause(
        "no-key-accepted" if code == "auth-failed" else "no-usable-key",
        unusable=[
            each if isinstance(each, str) else clause("encrypted-key", path=each.path)
            for each in unusable
        ],
        ignored=list(target.ignored_at_log_in),
    )
    return DeniedError(code, target.name, target.place, reason)


def allow_open_files(hosts: int) -> None:
    """Raise this process's limit on open files for this many hosts, up to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = hosts * FILES_OF_A_HOST + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class Gate:
    """Limit of parallel handshakes at one server: grows while the server answers, halves when it
    hangs up.

    sshd drops connections while too many have not logged in (MaxStartups: by default, more than
    10). Its limit is unknown and shared with others, so it is probed: additive increase,
    multiplicative decrease, as in TCP.

    `refused` and `passed` count results; `limit` is the current maximum.
    """

    def __init__(self, widest: int) -> None:
        self.widest = float(widest)
        self.limit = min(START, self.widest)
        self.passed = 0
        self.refused = 0
        self._under_way = 0
        self._round = 0  # counts decreases: handshakes started before the last one are ignored
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Hold a slot during the with block; yields the value to pass to `hung_up`."""
        await self._enter()
        try:
            yield self._round
        finally:
            self._under_way -= 1
            self._let_in()

    def greeted(self) -> None:
        """Raise the limit a little, because the server has answered."""
        self.passed += 1
        self.limit = min(self.limit + STEP, self.widest)
        self._let_in()

    def hung_up(self, began: int) -> None:
        """Halve the limit, because the server hung up before greeting; once per group of parallel
        handshakes.
        """
        self.refused += 1
        if began == self._round:
            self._round += 1
            self.limit = max(1.0, self.limit * BACKOFF)

    async def _enter(self) -> None:
        if not self._waiting and self._free:
            self._under_way += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was just admitted
                self._under_way -= 1
                self._let_in()
            raise

    @property
    def _free(self) -> bool:
        return self._under_way < int(self.limit)

    def _let_in(self) -> None:
        while self._waiting and self._free:
            place = self._waiting.popleft()
            if not place.done():
                self._under_way += 1
                place.set_result(None)
