"""This machine as a host: the same agent, the same scripts, no SSH."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from tui.model import rundir
from tui.model.address import HostAddress
from tui.model.distributions import this_os
from tui.model.operands import clause
from tui.remote.scripts import Script
from tui.remote.transport import (
    READ_BYTES,
    Channel,
    Completed,
    HostError,
    read_all,
    read_stderr,
    talk_alone,
)

SHELL = ("/bin/sh",)
# of a load that this process may be part of
MARKS = ("BENCHTUI_RUN", "BENCHTUI_HOST", "BENCHTUI_TASK", "BENCHTUI_AGENT")
CLOSE_TIMEOUT_S = 2.0


class LocalChannel:
    """Channel to a local /bin/sh."""

    def __init__(self, process: Process, host: str) -> None:
        self._process = process
        self._host = host

    async def read(self, size: int) -> bytes:
        """Return bytes of stdout; empty at end of file."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(size)

    async def read_stderr(self, size: int) -> bytes:
        """Return bytes of stderr; empty at end of file."""
        assert self._process.stderr is not None
        return await self._process.stderr.read(size)

    async def write(self, data: bytes) -> None:
        """Write to stdin. Raises HostError."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except OSError as error:
            told = clause("shell-ended", quote=str(error))
            raise HostError("lost", self._host, told) from error

    async def wait(self) -> int | None:
        """Return the exit status; None if unknown."""
        return await self._process.wait()

    async def close(self) -> None:
        """End the shell by closing its stdin; kill it if it does not end."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not await self._gone():
            with contextlib.suppress(ProcessLookupError):
                # only the streamer is in its session
                os.killpg(self._process.pid, signal.SIGKILL)
            await asyncio.gather(
                self._gone(), *map(_emptied, (self._process.stdout, self._process.stderr))
            )

    async def _gone(self) -> bool:
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._process.wait()
        except TimeoutError:
            return False
        return True


async def _emptied(pipe: asyncio.StreamReader | None) -> None:
    """Read and discard a pipe; asyncio reports a process as ended only after its pipes are
    drained.
    """
    with contextlib.suppress(RuntimeError, TimeoutError):  # another task reads it
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            while pipe is not None and await pipe.read(1 << 16):
                pass


class LocalTransport:
    """Runs scripts on this machine with `shell`; `environ`, if given, replaces the environment."""

    def __init__(
        self,
        address: HostAddress,
        shell: Sequence[str] = SHELL,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.address = address
        self.shell = shell
        given = os.environ if environ is None else environ
        self.environ = {name: value for name, value in given.items() if name not in MARKS}

    async def run(self, script: bytes, timeout_s: float) -> Completed:
        """Run a script to its end. Raises HostError."""
        process = await self._start()
        try:
            async with asyncio.timeout(timeout_s):
                out, err = await self._complete(process, script)
        except TimeoutError:
            told = clause("no-answer", limit_s=timeout_s)
            raise HostError("timeout", self.address.name, told) from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    # its children hold its outputs open
                    os.killpg(process.pid, signal.SIGKILL)
                await drain(process)
        return Completed(out, err, process.returncode)

    async def call(self, script: Script, timeout_s: float) -> Completed:
        """Make one agent call in a new shell, which costs no login here."""
        return await self.run(script.alone(), timeout_s)

    def talk(self, script: Script) -> AbstractAsyncContextManager[Channel]:
        """Make a call that reads input."""
        return talk_alone(self, script)

    async def open(self, script: bytes) -> LocalChannel:
        """Start a script whose stdin stays open."""
        channel = LocalChannel(await self._start(), self.address.name)
        await channel.write(script)
        return channel

    async def close(self) -> None:
        """Do nothing: no shell stays open between scripts."""

    async def _complete(self, process: Process, script: bytes) -> tuple[bytes, bytes]:
        assert (
            process.stdin is not None and process.stdout is not None and process.stderr is not None
        )
        host = self.address.name
        reads = [
            asyncio.ensure_future(read_all(process.stdout.read, host)),
            asyncio.ensure_future(read_stderr(process.stderr.read, host)),
        ]
        try:
            await feed(process.stdin, script)
            out, err = await asyncio.gather(*reads)
        finally:
            for each in reads:
                each.cancel()
            await asyncio.gather(*reads, return_exceptions=True)
        await process.wait()
        return out, err

    async def _start(self) -> Process:
        return await start_process(self.shell, self.environ, self.address.name)


async def start_process(
    argv: Sequence[str], environ: Mapping[str, str] | None, host: str
) -> Process:
    """Start a command in a session of its own, with pipes. Raises HostError."""
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
            cwd="/",
            env=environ,
            umask=rundir.original_umask(),  # the load creates its files as if started by hand
        )
    except FileNotFoundError as error:
        told = clause("not-installed", program=argv[0], os=this_os())
        raise HostError("command-missing", host, told) from error
    except OSError as error:
        told = clause("cannot-start", program=argv[0], quote=error.strerror)
        raise HostError("channel-failed", host, told) from error


async def feed(stdin: asyncio.StreamWriter, script: bytes) -> None:
    """Write a script to stdin and close it; ignore a shell that has exited."""
    with contextlib.suppress(OSError):
        stdin.write(script)
        await stdin.drain()
    stdin.close()


async def drain(process: Process) -> None:
    """Wait for a killed process to end.

    asyncio notices its end only after its outputs are drained.
    """
    for pipe in (process.stdout, process.stderr):
        with contextlib.suppress(RuntimeError):  # another task reads it
            while pipe is not None and await pipe.read(READ_BYTES):
                pass
    await process.wait()
