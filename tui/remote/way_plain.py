"""Transports `ssh` and `local`."""

from __future__ import annotations

from tui.model.address import HostAddress
from tui.remote.local import LocalTransport
from tui.remote.transport import Transport
from tui.remote.way_base import HostTransport, SshOpener


class OverSsh(HostTransport):
    """Transport over SSH."""

    over_ssh = True

    async def open(self, address: HostAddress, ssh: SshOpener) -> Transport:
        """Log in to a host and return the connection. Raises HostError."""
        return await ssh.open_ssh(address)


class ThisMachine(HostTransport):
    """Transport to this machine, without SSH."""

    async def open(self, address: HostAddress, ssh: SshOpener) -> Transport:
        """Return a connection to this machine, without a login."""
        del ssh
        return LocalTransport(address)
