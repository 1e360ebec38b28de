"""Shells that answer one call after another: a call costs no log-in shell of its own, with whatever its user has in it.

The first call of a connection is made in a shell of its own all the same: only one whose input ends shows a forced
command, or a log-in shell that talks when all is over.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from tui.remote.scripts import Script
from tui.remote.transport import MOST_BYTES, MOST_NOISE, Channel, Completed, HostError, talk_alone, too_much

READ_BYTES = 65536
Read = Callable[[int], Awaitable[bytes]]


class Droppable(Channel, Protocol):
    """A channel that can be left at once."""

    def drop(self) -> None:
        """Close it without waiting for its end."""


class Connected(Protocol):
    """What shells are opened on."""

    async def run(self, script: bytes, timeout_s: float) -> Completed:
        """Run a script in a shell of its own."""

    async def open(self, script: bytes) -> Droppable:
        """Open a shell."""

    def lost(self) -> bool:
        """Whether the connection is gone."""


class Shells:
    """The shells of one connection. One that is not busy is kept for the next call."""

    def __init__(self, connection: Connected, host: str) -> None:
        self._connection = connection
        self._host = host
        self._proven = False
        self._idle: list[Shell] = []

    async def call(self, script: Script, timeout_s: float) -> Completed:
        """Make one call. Raises HostError, code timeout when it takes longer."""
        if not self._proven:
            done = await self._connection.run(script.alone(), timeout_s)
            self._proven = re.search(rf"BT-END {script.token} \d+\n\Z".encode(), done.stdout) is not None
            return done
        try:
            async with asyncio.timeout(timeout_s):
                return await self._call(script)
        except TimeoutError:
            raise HostError("timeout", self._host, f"no answer in {timeout_s:g}s") from None

    @asynccontextmanager
    async def talk(self, script: Script) -> AsyncIterator[Channel]:
        """Make a call that answers what is written to the channel, up to an empty line. Raises HostError."""
        if not self._proven:
            async with talk_alone(self._connection, script) as channel:
                yield channel
            return
        await self._call(Script(script.token, ":", script.parts))  # so there is a shell, and it has these parts
        if not self._idle:
            raise HostError("lost", self._host, "the shell ended")
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
        """Close the shell that waits for a call; return whether there was one."""
        idle, self._idle = self._idle, []
        for shell in idle:
            shell.channel.drop()
        return bool(idle)

    async def _call(self, script: Script) -> Completed:
        reused = self._idle.pop() if self._idle else None
        shell = reused or Shell(await self._connection.open(b""), self._host)
        try:
            done = await shell.call(script)
        except BaseException:
            shell.channel.drop()
            raise
        self._keep(shell)
        if shell.ended and reused and b"BT-BEGIN" not in done.stdout and not self._connection.lost():
            return await self._call(script)  # it had ended while nobody called: servers end channels that are idle
        return done

    def _keep(self, shell: Shell) -> None:
        if not shell.ended:
            self.drop_idle()
            self._idle.append(shell)


class Shell:
    """One /bin/sh on a host. `ended`: it is gone, by itself or with its connection."""

    def __init__(self, channel: Droppable, host: str) -> None:
        self.channel = channel
        self.ended = False
        self._host = host
        self._sent: set[str] = set()

    async def call(self, script: Script) -> Completed:
        """Make one call and return its outputs. Raises HostError when the connection breaks."""
        try:
            await self.begin(script)
        except HostError:
            self.ended = True
            return Completed(b"", b"", None)
        return await self.end(script.token)

    async def begin(self, script: Script, *, talks: bool = False) -> None:
        """Send a call. Raises HostError when the shell is gone."""
        await self.channel.write(script.after(self._sent, talks=talks))
        self._sent.update(script.parts)

    async def end(self, token: str) -> Completed:
        """Return the outputs of a call up to its end. Raises HostError when the connection breaks."""
        mark = re.compile(rf"BT-OVER {token} (\d+)\n".encode())
        (out, code), (err, _) = await asyncio.gather(
            self._until(mark, self.channel.read, MOST_BYTES), self._until(mark, self.channel.read_stderr, MOST_NOISE)
        )
        if code is None:
            self.ended = True
            code = await self.channel.wait()
        return Completed(out, err, code)

    async def _until(self, mark: re.Pattern[bytes], read: Read, most: int) -> tuple[bytes, int | None]:
        """Return (what came before the mark, the code in it); None at the end of the output. Raises HostError."""
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
