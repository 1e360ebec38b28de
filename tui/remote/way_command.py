"""The transport `exec`: a command starts a shell on the host."""

from __future__ import annotations

import os
import shlex

from tui.model.address import HostAddress
from tui.remote.transport import HostError, Transport
from tui.remote.way_base import HostTransport, SshOpener
from tui.remote.way_piped import PipedTransport


class ByCommand(HostTransport):
    """`podman exec -i {host} /bin/sh`: split like a shell, run without a shell.

    {host} is the host's address, or its name if it has none.
    """

    async def open(self, address: HostAddress, ssh: SshOpener) -> Transport:
        """Return the host of the command, which is started by the first call."""
        del ssh
        return PipedTransport(address, command_of(address), os.environ)


def command_of(address: HostAddress) -> list[str]:
    """Return the command that starts a shell on a host. Raises HostError for an invalid one."""
    try:
        words = shlex.split(address.through or "")
    except ValueError as error:
        told = f"exec: {str(error).lower()}: {address.through}"
        raise HostError("config", address.name, told) from error
    if not words:
        raise HostError("config", address.name, "exec: no command is given")
    return [word.replace("{host}", address.address or address.name) for word in words]
