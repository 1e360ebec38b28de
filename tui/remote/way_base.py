"""The interface of transports: a class in the entry point group `benchtui.transports`.

A transport runs /bin/sh on a host with a script on its stdin. The engine needs no more: the agent
comes over stdin, tasks live under their own supervisor on the host.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

from tui.model.address import HostAddress
from tui.remote.transport import Transport


class SshOpener(Protocol):
    """Access to the SSH configuration, keys and passwords of a process."""

    async def open_ssh(self, address: HostAddress) -> Transport:
        """Return an SSH connection. Raises HostError."""


class HostLimits(NamedTuple):
    """Limits of hosts, in resources and time. None: no limit, or unknown."""

    left_s: float | None = None  # seconds until the allocation ends


class HostTransport:
    """A way to reach hosts; one object serves all connections of a process.

    `over_ssh`: hosts have host keys and log-ins, for `hosts trust` and agent checks.
    """

    over_ssh: ClassVar[bool] = False

    async def open(self, address: HostAddress, ssh: SshOpener) -> Transport:
        """Return a connection to a host. Raises HostError; GoneError if it will not come back."""
        raise NotImplementedError

    async def release(self) -> None:
        """Release resources other than connections."""

    async def limits(self, address: HostAddress) -> HostLimits:
        """Return the host's limits from its allocation."""
        return HostLimits()

    async def why_ended(self, address: HostAddress) -> str:
        """Return why a host is gone: ``allocation 4711 ended: time limit``; else an empty text."""
        return ""
