"""One SSH connection with shells that run scripts; asyncssh's errors become HostError."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from tui.model.address import HostAddress
from tui.model.operands import Clause, clause
from tui.remote.scripts import Script
from tui.remote.ssh_library import asyncssh
from tui.remote.transport import (
    MOST_BYTES,
    MOST_NOISE,
    READ_BYTES,
    SHELL_S,
    Channel,
    Completed,
    HostError,
    read_all,
    read_stderr,
    slow_shell,
    talk_alone,
    too_much,
)

Read = Callable[[int], Awaitable[bytes]]


class Droppable(Channel, Protocol):
    """A channel that can be closed at once."""

    def drop(self) -> None:
        """Close the channel without waiting for its end."""


class Connected(Protocol):
    """A connection on which shells can be opened."""

    async def run(self, script: bytes, timeout_s: float) -> Completed:
        """Run a script in a new shell."""

    async def open(self, script: bytes) -> Droppable:
        """Open a shell."""

    def lost(self) -> bool:
        """Return whether the connection is gone."""


class Shells:
    """Shells on one connection; an idle shell is kept for the next call."""

    def __init__(self, connection: Connected, host: str, *, proven: bool = False) -> None:
        self._connection = connection
        self._host = host
        self._proven = proven  # no login shell or forced command precedes it
        self._idle: list[RemoteShell] = []

    async def call(self, script: Script, timeout_s: float) -> Completed:
        """Make one call. Raises HostError, with code timeout if it takes longer."""
        if not self._proven:
            done = await self._connection.run(script.alone(), timeout_s)
            self._proven = (
                re.search(rf"BT-END {script.token} \d+\n\Z".encode(), done.stdout) is not None
            )
            return done
        try:
            async with asyncio.timeout(timeout_s):
                return await self._call(script)
        except TimeoutError:
            told = clause("no-answer", limit_s=timeout_s)
            raise HostError("timeout", self._host, told) from None

    @asynccontextmanager
    async def talk(self, script: Script) -> AsyncIterator[Channel]:
        """Make a call that reads input from the channel, up to an empty line.

        Raises HostError.
        """
        if not self._proven:
            async with talk_alone(self._connection, script) as channel:
                yield channel
            return
        # the shell exists and has these parts
        await self._call(Script(script.token, ":", script.parts))
        if not self._idle:
            raise HostError("lost", self._host, clause("shell-over"))
        shell = self._idle.pop()
        try:
            await shell.begin(script, talks=True)
            yield shell.channel
            await shell.channel.write(b"\n")
            await shell.end(script.token)
        except BaseException:
            shell.channel.drop()
            raise
        self._keep(shell)

    def drop_idle(self) -> bool:
        """Close the idle shell; return whether there was one."""
        idle, self._idle = self._idle, []
        for shell in idle:
            shell.channel.drop()
        return bool(idle)

    async def close(self) -> None:
        """Close the idle shell and wait for it to end."""
        idle, self._idle = self._idle, []
        for shell in idle:
            await shell.channel.close()

    async def _call(self, script: Script) -> Completed:
        reused = self._idle.pop() if self._idle else None
        shell = reused or RemoteShell(await self._connection.open(b""), self._host)
        try:
            done = await shell.call(script)
        except BaseException:
            shell.channel.drop()
            raise
        self._keep(shell)
        if (
            shell.ended
            and reused
            and b"BT-BEGIN" not in done.stdout
            and not self._connection.lost()
        ):
            # ended while idle: servers close idle channels
            return await self._call(script)
        return done

    def _keep(self, shell: RemoteShell) -> None:
        if not shell.ended:
            self.drop_idle()
            self._idle.append(shell)


class RemoteShell:
    """One /bin/sh on a host. `ended`: it has exited, or its connection is gone."""

    def __init__(self, channel: Droppable, host: str) -> None:
        self.channel = channel
        self.ended = False
        self._host = host
        self._sent: set[str] = set()

    async def call(self, script: Script) -> Completed:
        """Make one call and return its outputs; empty if the shell had already ended.

        Raises HostError if the connection breaks during the call.
        """
        try:
            await self.begin(script)
        except HostError:
            self.ended = True
            return Completed(b"", b"", None)
        return await self.end(script.token)

    async def begin(self, script: Script, *, talks: bool = False) -> None:
        """Send a call. Raises HostError if the shell is gone."""
        await self.channel.write(script.after(self._sent, talks=talks))
        self._sent.update(script.parts)

    async def end(self, token: str) -> Completed:
        """Read the outputs of a call up to their end marks, and return them with the exit code.

        If the shell ends first, sets `ended` and returns the shell's exit status. Raises HostError
        if the connection breaks.
        """
        mark = re.compile(rf"BT-OVER {token} (\d+)\n".encode())
        (out, code), (err, _) = await asyncio.gather(
            self._until(mark, self.channel.read, MOST_BYTES),
            self._until(mark, self.channel.read_stderr, MOST_NOISE),
        )
        if code is None:
            self.ended = True
            code = await self.channel.wait()
        return Completed(out, err, code)

    async def _until(
        self, mark: re.Pattern[bytes], read: Read, most: int
    ) -> tuple[bytes, int | None]:
        """Return (text before the mark, exit code in the mark); the code is None at end of file.

        Raises HostError.
        """
        seen = bytearray()
        while True:
            data = await read(READ_BYTES)
            if not data:
                return bytes(seen), None
            start = max(0, len(seen) - 100)  # the mark is shorter
            seen += data
            if match := mark.search(seen, start):
                return bytes(seen[: match.start()]), int(match[1])
            too_much(len(seen), self._host, most)


Connection = asyncssh.SSHClientConnection
if TYPE_CHECKING:
    Process = asyncssh.SSHClientProcess[bytes]

SHELL = "exec /bin/sh"  # the one command that every login shell understands
WINDOW = 131072  # asyncssh's buffer per channel: 1024 hosts stay below 128 MiB
OPEN_TIMEOUT_S = 60.0  # of a busy host; keepalives detect one that is gone
PAUSES_S = (0.05, 0.2, 0.5, 1.0)  # before a retry after a refused channel
CLOSE_TIMEOUT_S = 3.0


@contextlib.contextmanager
def faults(host: str) -> Iterator[None]:
    """Convert connection errors in the with block to HostError."""
    try:
        yield
    except asyncssh.ChannelOpenError as error:
        told = clause("no-channel", quote=error.reason)
        raise HostError("channel-failed", host, told) from error
    except (asyncssh.Error, OSError, asyncio.IncompleteReadError) as error:
        raise HostError("lost", host, how_lost(error)) from error


def how_lost(error: Exception) -> Clause:
    """Return why a connection was lost."""
    text = str(error)
    if "keepalive" in text:
        return clause("silent-host")
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return clause("connection-reset")
    if isinstance(error, asyncssh.ConnectionLost | asyncio.IncompleteReadError):
        return clause("connection-closed")
    return clause("problem", quote=text or type(error).__name__)


class SshChannel:
    """Channel to a /bin/sh on a host, over SSH."""

    def __init__(self, process: Process, host: str) -> None:
        self._process = process
        self._host = host

    async def read(self, size: int) -> bytes:
        """Return bytes of stdout; empty at end of file."""
        with faults(self._host):
            return await self._process.stdout.read(size)

    async def read_stderr(self, size: int) -> bytes:
        """Return bytes of stderr; empty at end of file."""
        with faults(self._host):
            return await self._process.stderr.read(size)

    async def write(self, data: bytes) -> None:
        """Write to stdin."""
        with faults(self._host):
            self._process.stdin.write(data)
            await self._process.stdin.drain()

    async def wait(self) -> int | None:
        """Return the exit status; None if unknown."""
        with faults(self._host):
            await self._process.wait_closed()
        return None if self._process.exit_signal else self._process.exit_status

    def drop(self) -> None:
        """Close the channel without waiting for its end."""
        self._process.close()

    async def close(self) -> None:
        """Close the channel."""
        self._process.close()
        with contextlib.suppress(TimeoutError, HostError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.wait()


class SshTransport:
    """Runs scripts over one SSH connection."""

    def __init__(self, address: HostAddress, connection: Connection) -> None:
        self.address = address
        self.connection = connection
        self._shells = Shells(self, address.name)

    async def call(self, script: Script, timeout_s: float) -> Completed:
        """Make one agent call in the shell that is kept for calls."""
        return await self._shells.call(script, timeout_s)

    def talk(self, script: Script) -> AbstractAsyncContextManager[Channel]:
        """Make a call that reads input, in the shell that is kept for calls."""
        return self._shells.talk(script)

    async def run(self, script: bytes, timeout_s: float) -> Completed:
        """Run a script to its end. Raises HostError."""
        host, seen, begun = self.address.name, bytearray(), False
        until = asyncio.get_running_loop().time() + timeout_s

        def on_begun() -> None:
            nonlocal begun
            begun = True
            clock.reschedule(until)

        try:
            async with asyncio.timeout(min(timeout_s, SHELL_S)) as clock:
                process = await self._start()
                try:
                    return await self._complete(process, script, seen, on_begun)
                finally:
                    process.close()
        except TimeoutError:
            if not begun and timeout_s >= SHELL_S:
                raise slow_shell(host, SHELL_S, seen) from None
            raise HostError("timeout", host, clause("no-answer", limit_s=timeout_s)) from None

    async def open(self, script: bytes) -> SshChannel:
        """Start a script whose stdin stays open. Raises HostError."""
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                channel = SshChannel(await self._start_patiently(), self.address.name)
                with self._unless_lost():
                    await channel.write(script)
                return channel
        except TimeoutError:
            told = clause("no-channel-in", limit_s=OPEN_TIMEOUT_S)
            raise HostError("timeout", self.address.name, told) from None

    @contextlib.contextmanager
    def _unless_lost(self) -> Iterator[None]:
        """Ignore a channel that closed before it accepted input, because its output gives the
        reason.
        """
        try:
            yield
        except HostError:
            if self.lost():
                raise

    def lost(self) -> bool:
        """Return whether the connection is closed or broken."""
        return self.connection.is_closed()

    async def close(self) -> None:
        """Close the connection."""
        self.connection.close()
        with contextlib.suppress(TimeoutError, OSError, asyncssh.Error):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.connection.wait_closed()

    async def _complete(
        self, process: Process, script: bytes, seen: bytearray, begun: Callable[[], None]
    ) -> Completed:
        host = self.address.name
        with self._unless_lost(), faults(host):
            process.stdin.write(script)
            process.stdin.write_eof()
        with faults(host):
            out, err = await asyncio.gather(
                read_all(process.stdout.read, host, seen, begun),
                read_stderr(process.stderr.read, host),
            )
            await process.wait_closed()
        return Completed(out, err, None if process.exit_signal else process.exit_status)

    async def _start_patiently(self) -> Process:
        """Open a channel; if the server refuses (MaxSessions), close the idle shell and retry."""
        for pause in PAUSES_S:
            try:
                return await self._start()
            except HostError as error:
                if error.code != "channel-failed" or self.lost():
                    raise
            self._shells.drop_idle()
            await asyncio.sleep(pause)
        return await self._start()

    async def _start(self) -> Process:
        """Open a channel.

        Shielded from cancellation, which would leave the channel and its shell behind.
        """
        opening = asyncio.ensure_future(self._create())
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_late)
            raise

    async def _create(self) -> Process:
        with faults(self.address.name):
            return await self.connection.create_process(SHELL, encoding=None, window=WINDOW)


def _close_late(opening: asyncio.Future[Process]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
