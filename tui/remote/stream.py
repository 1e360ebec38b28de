"""The output of a running task, as the host spooled it, and the few words we send back to it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Literal

from tui.remote.answers import parse_answer
from tui.remote.transport import Channel, Completed, HostError, place_of

READ_BYTES = 65536
QUEUED_PIECES = 8  # a reader that falls behind holds back the host, 0.5 MiB a host at most
WRITE_TIMEOUT_S = 10.0
END_TIMEOUT_S = 10.0
Kind = Literal["out", "err"]
Piece = tuple[Kind, bytes]


class AgentStream:
    """A task's stdout and stderr as the host spooled them, byte for byte, from the offsets asked for.

    `out_offset` and `err_offset` count what has been handed out, for resuming. `complete` is True when the agent
    said that this was everything.
    """

    def __init__(self, channel: Channel, host: str, token: str, out_offset: int, err_offset: int) -> None:
        self.out_offset = out_offset
        self.err_offset = err_offset
        self.complete = False
        self.begun = False  # whether the host has said anything of ours
        self.noise = bytearray()  # what came before that
        self._channel = channel
        self._host = host
        self._token = token
        self._beats = 0
        self._pieces: asyncio.Queue[Piece | HostError | None] = asyncio.Queue(QUEUED_PIECES)
        self._pumps: list[asyncio.Task[None]] = []

    def __aiter__(self) -> AsyncIterator[Piece]:
        return self

    async def __anext__(self) -> Piece:
        piece = await self.next()
        if piece is None:
            raise StopAsyncIteration
        return piece

    @property
    def broken(self) -> bool:
        """Whether its connection is known to be gone, or the host's end of it."""
        return bool(self._pumps) and all(pump.done() for pump in self._pumps)

    async def begin(self) -> None:
        """Read up to the marks that stand before the spooled bytes. Raises HostError when the agent refuses."""
        first_out = await self._past_mark(self._channel.read, self.noise)
        self.begun = True
        first_err = await self._past_mark(self._channel.read_stderr, bytearray())
        self._pumps = [
            asyncio.create_task(self._pump("out", first_out)),
            asyncio.create_task(self._pump("err", first_err)),
        ]

    async def next(self) -> Piece | None:
        """Return the next bytes, or None at the end. Raises HostError when the connection broke."""
        while True:
            if all(pump.done() for pump in self._pumps) and self._pieces.empty():
                self.complete = await self._ended() == 0
                return None
            piece = await self._pieces.get()
            if isinstance(piece, HostError):
                await self.close()
                raise piece
            if piece is not None:
                self._count(piece)
                return piece

    async def go(self) -> None:
        """Release the barrier of an armed task."""
        await self._write(b"go\n")

    async def stop(self, *, abort: bool) -> None:
        """Ask the task to end over the channel that is open: on a host without a free CPU a new one takes seconds."""
        await self._write(b"abort\n" if abort else b"stop\n")

    async def renew(self) -> None:
        """Renew the task's lease."""
        self._beats += 1
        await self._write(f"lease {self._beats}\n".encode())

    async def close(self) -> None:
        """Stop streaming; the task goes on."""
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        with contextlib.suppress(HostError, OSError):
            await self._channel.close()

    def _count(self, piece: Piece) -> None:
        if piece[0] == "out":
            self.out_offset += len(piece[1])
        else:
            self.err_offset += len(piece[1])

    async def _write(self, words: bytes) -> None:
        try:
            async with asyncio.timeout(WRITE_TIMEOUT_S):
                await self._channel.write(words)
        except TimeoutError:
            raise HostError("timeout", self._host, f"nothing could be sent in {WRITE_TIMEOUT_S:g}s") from None

    async def _ended(self) -> int | None:
        try:
            async with asyncio.timeout(END_TIMEOUT_S):
                return await self._channel.wait()
        except TimeoutError:
            return None

    async def _past_mark(self, read: Callable[[int], Awaitable[bytes]], seen: bytearray) -> bytes:
        """Return what was read after the line of the mark; login shells may print things before it."""
        at = await place_of(f"BT-STREAM {self._token}".encode(), seen, read, self._host)
        end = await place_of(b"\n", seen, read, self._host, at) if at >= 0 else -1
        if end < 0:
            parse_answer(Completed(bytes(seen), b"", await self._ended()), self._token, self._host)  # raises its reason
            raise HostError("agent-failed", self._host, "the stream ended before it began")
        return bytes(seen[end + 1 :])

    async def _pump(self, kind: Kind, first: bytes) -> None:
        read = self._channel.read if kind == "out" else self._channel.read_stderr
        try:
            data = first or await read(READ_BYTES)
            while data:
                await self._pieces.put((kind, data))
                data = await read(READ_BYTES)
            await self._pieces.put(None)
        except HostError as error:
            await self._pieces.put(error)
        except Exception as error:  # whatever it is, the reader must not wait for ever
            await self._pieces.put(HostError("lost", self._host, f"the stream broke: {type(error).__name__}: {error}"))
