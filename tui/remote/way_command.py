"""Transport `exec`: a local command starts a shell on the host (podman, kubectl, srun)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from tui.model.address import HostAddress
from tui.model.operands import clause
from tui.model.plain import printable
from tui.remote.local import LocalChannel, LocalTransport
from tui.remote.scripts import Script
from tui.remote.ssh import Shells
from tui.remote.transport import BEGIN, Channel, Completed, HostError, Transport
from tui.remote.way_base import HostTransport, SshOpener

QUOTED = 200
_closing: set[asyncio.Future[None]] = set()  # asyncio itself keeps no reference to a task


class ByCommand(HostTransport):
    """Transport by a command such as `podman exec -i {host} /bin/sh`.

    Its words are split as in a shell, but no shell runs it. {host} is the host's address, or its
    name if it has none.
    """

    async def open(self, address: HostAddress, ssh: SshOpener) -> Transport:
        """Return a connection; the first call starts the command."""
        del ssh
        return PipedTransport(address, command_of(address), os.environ)


def command_of(address: HostAddress) -> list[str]:
    """Return the command that starts a shell on a host. Raises HostError for an invalid command."""
    try:
        words = shlex.split(address.through or "")
    except ValueError as error:
        told = clause("exec-unreadable", quote=str(error).lower(), command=address.through)
        raise HostError("config", address.name, told) from error
    if not words:
        raise HostError("config", address.name, clause("exec-empty"))
    return [word.replace("{host}", address.address or address.name) for word in words]


class PipedChannel(LocalChannel):
    """Channel to a shell started by a local command."""

    async def write(self, data: bytes) -> None:
        """Write to stdin.

        Does not fail if the command has ended, because its output gives the reason.
        """
        with contextlib.suppress(HostError):
            await super().write(data)

    def drop(self) -> None:
        """End the command without waiting."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        closing = asyncio.ensure_future(self.close())
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)


class PipedTransport(LocalTransport):
    """Runs scripts through a command that starts a shell; one shell is kept for calls, as over SSH.

    Tasks are started in the kept shell, because a container may end everything that a finished
    shell has started.
    """

    def __init__(
        self, address: HostAddress, argv: Sequence[str], environ: Mapping[str, str]
    ) -> None:
        super().__init__(address, argv, environ)
        self._shells = Shells(self, address.name, proven=True)

    async def run(self, script: bytes, timeout_s: float) -> Completed:
        """Run a script to its end.

        Raises HostError with the command's last output if it started no shell.
        """
        return self._answered(await super().run(script, timeout_s))

    async def call(self, script: Script, timeout_s: float) -> Completed:
        """Make one agent call in the shell that is kept for calls."""
        return self._answered(await self._shells.call(script, timeout_s))

    def talk(self, script: Script) -> AbstractAsyncContextManager[Channel]:
        """Make a call that reads input, in the shell that is kept for calls."""
        return self._shells.talk(script)

    async def open(self, script: bytes) -> PipedChannel:
        """Start a script whose stdin stays open."""
        channel = PipedChannel(await self._start(), self.address.name)
        await channel.write(script)
        return channel

    def lost(self) -> bool:
        """Return False: only a call shows whether the host is reachable."""
        return False

    async def close(self) -> None:
        """Close the kept shell; tasks keep running under their supervisors."""
        await self._shells.close()

    def _answered(self, done: Completed) -> Completed:
        """Return the output of a call. Raises HostError if the command ended without starting a
        shell.
        """
        if BEGIN in done.stdout:
            return done
        lines = [
            line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()
        ]
        last = printable(lines[-1].strip()[:QUOTED]) if lines else ""
        told = clause("no-shell", program=self.shell[0], status=done.exit_status, quote=last)
        raise HostError("channel-failed", self.address.name, told)
