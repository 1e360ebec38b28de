"""Connections to all hosts of a run: each bastion once, handshakes in measure, host keys strictly."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from tui.model.plan import HostAddress
from tui.remote.local import LocalTransport
from tui.remote.transport import BusyError, HostError, Transport

if TYPE_CHECKING:
    import asyncssh

    from tui.remote.hostkeys import Presented
    from tui.remote.ssh import SshTransport
    from tui.remote.sshconfig import Keyring, Resolved

Opened = TypeVar("Opened")
KEEPALIVE_S = 2.5
KEEPALIVE_COUNT = 3  # a dead connection is noticed after interval x (count + 1) = 10 s
ATTEMPTS = 6  # a busy sshd (MaxStartups) hangs up before its banner: that is worth another try
FIRST_PAUSE_S = 0.2
CLOSE_TIMEOUT_S = 5.0


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
        self._transports: list[SshTransport] = []

    async def __aenter__(self) -> Connections:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.gather(*(transport.close() for transport in self._transports), return_exceptions=True)
        for task in self._bastions.values():
            if usable(task):
                task.result().close()
            else:
                task.cancel()
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
        if address.transport == "local":
            return LocalTransport(address)
        from tui.remote.ssh import SshTransport

        target = await asyncio.to_thread(self.resolve, address)
        transport = SshTransport(address, await self._open(target, ()))
        self._transports = [*(other for other in self._transports if not other.lost()), transport]
        return transport

    async def presented(self, address: HostAddress) -> Presented:
        """Return the key that a host presents, without logging in. Raises HostError, also when it has changed."""
        from tui.remote import hostkeys

        target = await asyncio.to_thread(self.resolve, address)
        tunnel = await self.tunnel(target)
        key = await self._patiently(target, lambda: hostkeys.collect(target, tunnel))
        on_file = (await asyncio.to_thread(self.keyring.trusted, target))[0]
        if on_file and key not in on_file:
            raise hostkeys.changed(target, key, on_file)
        return hostkeys.Presented(address.name, hostkeys.pattern(target), key, key in on_file)

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
            task = self._bastions[key] = asyncio.create_task(self._open_bastion(address, above, through))
        try:
            return await asyncio.shield(task)
        except HostError as error:
            raise HostError(error.code, target.name, f"bastion {jump}: {error.message}") from error

    async def _open_bastion(
        self, address: HostAddress, above: tuple[str, ...], through: asyncssh.SSHClientConnection | None
    ) -> asyncssh.SSHClientConnection:
        return await self._open(await asyncio.to_thread(self.resolve, address), above, through)

    async def _open(
        self, target: Resolved, above: tuple[str, ...], through: asyncssh.SSHClientConnection | None = None
    ) -> asyncssh.SSHClientConnection:
        tunnel = through or await self.tunnel(target, above)
        return await self._patiently(target, lambda: self._handshake(target, tunnel))

    async def _patiently(self, target: Resolved, attempt: Callable[[], Awaitable[Opened]]) -> Opened:
        """Make one of few handshakes at a time on a route, again when the server is too busy to greet."""
        gate = self._gates.setdefault(" ".join(target.jumps), asyncio.Semaphore(self.handshakes))
        pause = FIRST_PAUSE_S
        for _ in range(ATTEMPTS - 1):
            async with gate:
                with contextlib.suppress(BusyError):
                    return await attempt()
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause *= 2
        async with gate:
            return await attempt()

    async def _handshake(
        self, target: Resolved, tunnel: asyncssh.SSHClientConnection | None
    ) -> asyncssh.SSHClientConnection:
        import asyncssh

        from tui.remote import hostkeys
        from tui.remote.ssh import Greeting

        keys, unusable = await asyncio.to_thread(self.keyring.client_keys, target)
        agent_keys = await self.keyring.agent_keys(target.agent).of(target) if target.agent else []
        on_file = await asyncio.to_thread(self.keyring.trusted, target)
        greeting = Greeting()
        try:
            async with asyncio.timeout(self.connect_timeout_s * 2):
                return await asyncssh.connect(
                    target.host,
                    target.port,
                    tunnel=tunnel,
                    proxy_command=target.proxy_command,
                    config=None,
                    client_factory=lambda: greeting,
                    username=target.user,
                    client_keys=[*keys, *agent_keys] or None,
                    agent_path=None,
                    known_hosts=on_file,
                    host_key_alias=target.host_key_alias,
                    gss_host=None,
                    preferred_auth="publickey",
                    compression_algs="none",
                    connect_timeout=self.connect_timeout_s,
                    login_timeout=self.connect_timeout_s * 2,
                    keepalive_interval=self.keepalive_s,
                    keepalive_count_max=self.keepalive_count,
                    **target.algorithm_options,
                )
        except asyncssh.HostKeyNotVerifiable as error:
            raise await hostkeys.explain(target, on_file[0], tunnel, str(error)) from error
        except (asyncssh.KeyExchangeFailed, asyncssh.ConnectionLost, ConnectionResetError) as error:
            if not greeting.heard:
                raise BusyError(target.name, f"{target.host} port {target.port}") from error
            # a server that has no key of the types on file ends the negotiation: it may be another server
            other = await hostkeys.another(target, on_file[0], tunnel)
            raise other or explained(target, error, unusable) from error
        except (asyncssh.Error, OSError, TimeoutError, ValueError) as error:
            raise explained(target, error, [] if agent_keys else unusable) from error


def usable(task: asyncio.Task[asyncssh.SSHClientConnection]) -> bool:
    """Return whether a bastion's connection is there and open."""
    return not task.cancelled() and task.exception() is None and not task.result().is_closed()


def jump_address(jump: str, config: Path | None) -> HostAddress:
    """Return the address in a ProxyJump word: [user@]host[:port]."""
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


def where(target: Resolved) -> str:
    """Return user, address and port as people write them."""
    return f"{target.user}@{target.host}" + (f":{target.port}" if target.port != 22 else "")


def explained(target: Resolved, error: Exception, unusable: list[str]) -> HostError:
    """Return what a failed connection means. `unusable` says why key files could not be offered."""
    import asyncssh

    name, place = target.name, where(target)
    at = f"{target.host} port {target.port}"
    if isinstance(error, asyncssh.PermissionDenied):
        return refused(target, unusable)
    if isinstance(error, ConnectionRefusedError):
        return HostError("refused", name, f"connection refused by {at}")
    if isinstance(error, TimeoutError) or "timeout" in str(error).lower():
        return HostError("timeout", name, f"no answer from {at}")
    if isinstance(error, socket.gaierror):
        return HostError("unreachable", name, f"host name {target.host} is not known")
    if isinstance(error, asyncssh.ConnectionLost | ConnectionResetError):
        return HostError("lost", name, f"{at} hung up during the handshake: {error}")
    if isinstance(error, asyncssh.ChannelOpenError):
        return HostError("unreachable", name, f"the bastion cannot reach {at}: {error.reason}")
    return HostError("unreachable", name, f"cannot connect to {place}: {str(error) or type(error).__name__}")


def refused(target: Resolved, unusable: list[str]) -> HostError:
    """Return why a login was refused, as far as it lies with the key files."""
    why = f"; {'; '.join(unusable)}" if unusable else ""
    encrypted = any(" is encrypted" in text for text in unusable)
    code = "auth-failed"
    if unusable and len(unusable) == len(target.identities):
        code = "key-encrypted" if encrypted else "key-unreadable"
    what = "no key was accepted" if code == "auth-failed" else "there is no usable key"
    return HostError(code, target.name, f"permission denied for {where(target)}: {what}{why}")
