"""Interface of transports: classes in the entry point group `benchtui.transports`, found by name.

A transport runs /bin/sh on a host with a script on its stdin. The engine needs nothing else: the
agent arrives over stdin, and tasks have their own supervisor on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple, Protocol

from tui.model.address import HostAddress
from tui.model.operands import Clause, Told
from tui.model.problem import UsageError
from tui.model.tool import load_from
from tui.remote.transport import HostError, Transport

GROUP = "benchtui.transports"
PRINTS_KEYS = "cat /etc/ssh/ssh_host_*_key.pub | ssh-keygen -lf -"
"""Prints the fingerprints of a host's keys, on that host."""


class SshOpener(Protocol):
    """Opens SSH connections with this process's configuration, keys and passwords.

    `warn` notes something about a host that its user should know.
    """

    warn: Callable[[str | None, Told], None]

    async def open_ssh(self, address: HostAddress) -> Transport:
        """Return an SSH connection. Raises HostError."""


class HostLimits(NamedTuple):
    """Limits of a host's allocation; None if unlimited or unknown."""

    left_s: float | None = None  # seconds until the allocation ends


class HostTransport:
    """Transport to hosts; one object serves all connections of a process.

    `over_ssh`: hosts have host keys and logins; `hosts trust` and the SSH agent check use it.
    """

    over_ssh: ClassVar[bool] = False

    async def open(self, address: HostAddress, ssh: SshOpener) -> Transport:
        """Return a connection to a host. Raises HostError; GoneError if the host will not come
        back.
        """
        raise NotImplementedError

    async def release(self) -> None:
        """Release resources that are not bound to a connection."""

    async def limits(self, address: HostAddress) -> HostLimits:
        """Return the limits that the host's allocation sets."""
        return HostLimits()

    def notes(self, address: HostAddress) -> tuple[str, ...]:
        """Return notes for the user on how a connected host is reached."""
        return ()

    async def why_ended(self, address: HostAddress) -> Clause | str:
        """Return why a host is gone: ``allocation 4711 ended: time limit``; empty if it is not."""
        return ""


def load_transport(address: HostAddress) -> HostTransport:
    """Return the transport of a host. Raises HostError if it is not installed or fails to load."""
    name = address.transport
    unknown = (f"unknown transport '{name}'", "transports")
    try:
        found: HostTransport = load_from(GROUP, name, "transport", unknown, made=True)
    except UsageError as error:
        raise HostError("config", address.name, error.problems[0].message) from error
    return found


def is_over_ssh(address: HostAddress) -> bool:
    """Return whether a host is reached by SSH, so that it has a host key and a login.

    Raises HostError if its transport is not installed.
    """
    return load_transport(address).over_ssh
