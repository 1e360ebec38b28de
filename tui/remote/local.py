"""This machine as a host: the same agent, the same scripts, no SSH."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import PIPE, Process

from tui.model.plan import HostAddress
from tui.remote.transport import Completed, HostError

SHELL = "/bin/sh"


class LocalChannel:
    """A /bin/sh of our own."""

    def __init__(self, process: Process, host: str) -> None:
        self._process = process
        self._host = host

    async def read(self, size: int) -> bytes:
        """Return bytes of stdout; empty at its end."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(size)

    async def read_stderr(self, size: int) -> bytes:
        """Return bytes of stderr; empty at its end."""
        assert self._process.stderr is not None
        return await self._process.stderr.read(size)

    async def write(self, data: bytes) -> None:
        """Write to stdin."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except OSError as error:
            raise HostError("lost", self._host, f"the shell is gone: {error}") from error

    async def wait(self) -> int | None:
        """Return the exit status."""
        return await self._process.wait()

    async def close(self) -> None:
        """End the shell by closing its stdin, then by force."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(2):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


class LocalTransport:
    """Runs scripts on this machine."""

    def __init__(self, address: HostAddress) -> None:
        self.address = address

    async def run(self, script: bytes, timeout_s: float) -> Completed:
        """Run a script to its end."""
        process = await self._start()
        try:
            async with asyncio.timeout(timeout_s):
                out, err = await process.communicate(script)
        except TimeoutError:
            raise HostError("timeout", self.address.name, f"no answer in {timeout_s:g}s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Completed(out, err, process.returncode)

    async def open(self, script: bytes) -> LocalChannel:
        """Start a script whose stdin stays open."""
        channel = LocalChannel(await self._start(), self.address.name)
        await channel.write(script)
        return channel

    async def close(self) -> None:
        """Nothing is held open between scripts."""

    async def _start(self) -> Process:
        try:
            return await asyncio.create_subprocess_exec(
                SHELL, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True, cwd="/"
            )
        except OSError as error:
            raise HostError("channel-failed", self.address.name, f"{SHELL} cannot be started: {error}") from error
