"""Hosts that a local command gives a shell on: podman exec, kubectl exec, nsenter, srun."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from tui.model.address import HostAddress
from tui.model.plain import printable
from tui.remote.local import LocalChannel, LocalTransport
from tui.remote.scripts import Script
from tui.remote.ssh import Shells
from tui.remote.transport import BEGIN, Channel, Completed, HostError

QUOTED = 200
_closing: set[asyncio.Future[None]] = set()  # the loop itself keeps no task alive


class PipedChannel(LocalChannel):
    """A shell behind a command of this machine."""

    async def write(self, data: bytes) -> None:
        """Write to stdin; where the command is over, what it has printed says why."""
        with contextlib.suppress(HostError):
            await super().write(data)

    def drop(self) -> None:
        """End the command without waiting for it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        closing = asyncio.ensure_future(self.close())
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)


class PipedTransport(LocalTransport):
    """Runs scripts by a command that gives a shell; one shell is kept for calls, as over SSH.

    Tasks are started in the kept shell, never in one that ends with its call: what contains the
    shell may end what it has started.
    """

    def __init__(
        self, address: HostAddress, argv: Sequence[str], environ: Mapping[str, str]
    ) -> None:
        super().__init__(address, argv, environ)
        self._shells = Shells(self, address.name, proven=True)

    async def run(self, script: bytes, timeout_s: float) -> Completed:
        """Run a script to its end.

        Raises HostError with the command's last words when there was no shell.
        """
        return self._answered(await super().run(script, timeout_s))

    async def call(self, script: Script, timeout_s: float) -> Completed:
        """Make one call of the agent, in the shell that stays."""
        return self._answered(await self._shells.call(script, timeout_s))

    def talk(self, script: Script) -> AbstractAsyncContextManager[Channel]:
        """Make a call that answers what is written to it, in the shell that stays."""
        return self._shells.talk(script)

    async def open(self, script: bytes) -> PipedChannel:
        """Start a script whose stdin stays open."""
        channel = PipedChannel(await self._start(), self.address.name)
        await channel.write(script)
        return channel

    def lost(self) -> bool:
        """Whether the way to the host is known to be gone; each call finds out by itself."""
        return False

    async def close(self) -> None:
        """End the shell that is kept open; tasks keep running under their supervisors."""
        await self._shells.close()

    def _answered(self, done: Completed) -> Completed:
        """Return what a call printed. Raises HostError when the command ended without a shell."""
        if BEGIN in done.stdout:
            return done
        lines = [
            line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()
        ]
        said = printable(lines[-1].strip()[:QUOTED]) if lines else "it said nothing"
        told = f"{self.shell[0]} ended with {done.exit_status} and gave no shell: {said}"
        raise HostError("channel-failed", self.address.name, told)
