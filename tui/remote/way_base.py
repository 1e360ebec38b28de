"""The interface of transports: an entry point of the group `benchtui.transports` is a class of it.

A transport gives a way to run /bin/sh on a host with a script on its stdin. The engine needs no
more: the agent comes over stdin, tasks live under a supervisor of their own on the host."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

from tui.model.address import HostAddress
from tui.remote.transport import Transport


class SshOpener(Protocol):
    """What has the SSH configuration, keys and passwords of a process."""

    async def open_ssh(self, address: HostAddress) -> Transport:
        """Return an SSH connection. Raises HostError."""


class HostLimits(NamedTuple):
    """What hosts may use, and for how long. None: no limit, or not known."""

    left_s: float | None = None  # seconds until they are taken away


class HostTransport:
    """A way to reach hosts; one object serves all connections of a process.

    `over_ssh`: hosts have keys and a log-in, which `hosts trust` and the look at agents are about.
    """

    over_ssh: ClassVar[bool] = False

    async def open(self, address: HostAddress, ssh: SshOpener) -> Transport:
        """Return a connection to a host. Raises HostError; GoneError when it will not come back."""
        raise NotImplementedError

    async def release(self) -> None:
        """Give back what it holds beside its connections."""

    async def limits(self, address: HostAddress) -> HostLimits:
        """Return what the host is limited to by what it was allocated by."""
        return HostLimits()

    async def why_ended(self, address: HostAddress) -> str:
        """Return why a host is gone: ``allocation 4711 ended: time limit``; else an empty text."""
        return ""
