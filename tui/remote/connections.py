"""Connections to all hosts of a run: each bastion once, handshakes in measure, host keys strictly."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from tui.model.plan import HostAddress
from tui.remote.local import LocalTransport
from tui.remote.transport import HostError, Transport

if TYPE_CHECKING:
    import asyncssh

    from tui.remote.sshconfig import Keyring, Resolved

KEEPALIVE_S = 2.5
KEEPALIVE_COUNT = 3  # a dead connection is noticed after interval x (count + 1) = 10 s
ATTEMPTS = 6  # a busy sshd (MaxStartups) hangs up before its banner: that is worth another try
FIRST_PAUSE_S = 0.2


class Connections:
    """Opens connections; an async context manager that closes what is left of them."""

    def __init__(
        self,
        *,
        ssh_config: Path | None = None,
        known_hosts: Sequence[Path] = (),
        handshakes: int = 16,
        connect_timeout_s: float = 10.0,
        keepalive_s: float = KEEPALIVE_S,
        keepalive_count: int = KEEPALIVE_COUNT,
    ) -> None:
        self.ssh_config = ssh_config
        self.pins = known_hosts
        self.handshakes = handshakes
        self.connect_timeout_s = connect_timeout_s
        self.keepalive_s = keepalive_s
        self.keepalive_count = keepalive_count
        self._keyring: Keyring | None = None
        self._bastions: dict[str, asyncio.Task[asyncssh.SSHClientConnection]] = {}
        self._gates: dict[str, asyncio.Semaphore] = {}

    async def __aenter__(self) -> Connections:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._bastions.values():
            if task.done() and not task.cancelled() and task.exception() is None:
                task.result().close()
            else:
                task.cancel()

    @property
    def keyring(self) -> Keyring:
        """Keys and known_hosts files, loaded once."""
        if self._keyring is None:
            from tui.remote.sshconfig import Keyring

            self._keyring = Keyring()
        return self._keyring

    async def connect(self, address: HostAddress) -> Transport:
        """Return a connection to a host. Raises HostError."""
        if address.transport == "local":
            return LocalTransport(address)
        from tui.remote.ssh import SshTransport

        target = self.resolve(address)
        return SshTransport(address, await self._open(target, ()))

    def resolve(self, address: HostAddress) -> Resolved:
        """Return how a host is reached. Raises HostError for a broken configuration."""
        from tui.remote.sshconfig import resolve, user_config

        own = Path(address.ssh_config) if address.ssh_config else None
        return resolve(address, own or self.ssh_config or user_config(), self.pins)

    async def tunnel(self, target: Resolved, above: tuple[str, ...] = ()) -> asyncssh.SSHClientConnection | None:
        """Return the connection to a target's last bastion, shared by all who need it; None without bastion."""
        connection = None
        path = ""
        for jump in target.jumps:
            if jump in above:
                raise HostError("config", target.name, f"ProxyJump {jump} leads back to itself")
            path = f"{path} {jump}".strip()
            connection = await self._bastion(path, jump, target.name, connection, (*above, jump))
        return connection

    async def _bastion(
        self,
        path: str,
        jump: str,
        wanted_by: str,
        through: asyncssh.SSHClientConnection | None,
        above: tuple[str, ...],
    ) -> asyncssh.SSHClientConnection:
        task = self._bastions.get(path)
        if task is None or (task.done() and not usable(task)):
            hop = self.resolve(jump_address(jump))
            task = asyncio.create_task(self._open(hop, above, through))
            self._bastions[path] = task
        try:
            return await asyncio.shield(task)
        except HostError as error:
            raise HostError(error.code, wanted_by, f"bastion {jump}: {error.message}") from error

    async def _open(
        self, target: Resolved, above: tuple[str, ...], through: asyncssh.SSHClientConnection | None = None
    ) -> asyncssh.SSHClientConnection:
        tunnel = through or await self.tunnel(target, above)
        gate = self._gates.setdefault(" ".join(target.jumps) or "direct", asyncio.Semaphore(self.handshakes))
        pause = FIRST_PAUSE_S
        for attempt in range(1, ATTEMPTS + 1):
            async with gate:
                try:
                    return await self._handshake(target, tunnel)
                except BusyError:
                    if attempt == ATTEMPTS:
                        message = f"{where(target)} hangs up before the handshake; is its MaxStartups too low?"
                        raise HostError("unreachable", target.name, message) from None
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause *= 2
        raise AssertionError("unreachable")

    async def _handshake(
        self, target: Resolved, tunnel: asyncssh.SSHClientConnection | None
    ) -> asyncssh.SSHClientConnection:
        import asyncssh

        from tui.remote import hostkeys

        keys, unusable = self.keyring.client_keys(target)
        try:
            async with asyncio.timeout(self.connect_timeout_s * 2):
                return await asyncssh.connect(
                    target.host,
                    target.port,
                    tunnel=tunnel,
                    proxy_command=list(target.proxy_command) or None,
                    config=None,
                    username=target.user,
                    client_keys=keys or None,
                    agent_path=None if target.identities_only and keys else target.agent,
                    known_hosts=self.keyring.known_hosts(target),
                    host_key_alias=target.host_key_alias,
                    gss_host=None,
                    connect_timeout=self.connect_timeout_s,
                    login_timeout=self.connect_timeout_s * 2,
                    keepalive_interval=self.keepalive_s,
                    keepalive_count_max=self.keepalive_count,
                )
        except asyncssh.HostKeyNotVerifiable as error:
            raise await hostkeys.explain(target, self.keyring.known_hosts(target), tunnel, str(error)) from error
        except (asyncssh.Error, OSError, TimeoutError, ValueError) as error:
            raise explained(target, error, unusable) from error


class BusyError(Exception):
    """The server hung up before it said anything."""


def usable(task: asyncio.Task[asyncssh.SSHClientConnection]) -> bool:
    """Return whether a bastion's connection is there and open."""
    return not task.cancelled() and task.exception() is None and not task.result().is_closed()


def jump_address(jump: str) -> HostAddress:
    """Return the address in a ProxyJump word: [user@]host[:port]."""
    user, _, rest = jump.rpartition("@")
    host, colon, port = rest.rpartition(":")
    if not colon or not port.isdigit():
        host, port = rest, ""
    return HostAddress(name=host.strip("[]"), user=user or None, port=int(port) if port else None)


def where(target: Resolved) -> str:
    """Return user, address and port as people write them."""
    return f"{target.user}@{target.host}" + (f":{target.port}" if target.port != 22 else "")


def explained(target: Resolved, error: Exception, unusable: list[str]) -> Exception:
    """Return what a failed connection means."""
    import asyncssh

    name, place = target.name, where(target)
    if isinstance(error, asyncssh.PermissionDenied):
        keys = f"; {'; '.join(unusable)}" if unusable else ""
        code = "key-encrypted" if any("encrypted" in why for why in unusable) else "auth-failed"
        return HostError(code, name, f"permission denied for {place}: no key was accepted{keys}")
    if isinstance(error, asyncssh.KeyExchangeFailed):
        return HostError("unreachable", name, f"no common algorithm with {place}: {error.reason}")
    if isinstance(error, ConnectionRefusedError):
        return HostError("refused", name, f"connection refused by {target.host} port {target.port}")
    if isinstance(error, TimeoutError):
        return HostError("timeout", name, f"no answer from {target.host} port {target.port}")
    if isinstance(error, socket.gaierror):
        return HostError("unreachable", name, f"host name {target.host} is not known")
    if isinstance(error, asyncssh.ConnectionLost | ConnectionResetError):
        return BusyError()
    return HostError("unreachable", name, f"cannot connect to {place}: {str(error) or type(error).__name__}")
