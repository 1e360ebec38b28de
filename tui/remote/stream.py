"""Follow a task's output, limit its amount, and measure the host's clock offset."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Literal

from msgspec import Struct

from tui.model.operands import Clause, clause
from tui.remote.answers import parse_answer
from tui.remote.transport import Channel, Completed, HostError, find_mark

READ_BYTES = 65536
QUEUED_PIECES = 2  # a slow reader stalls the host, with at most 128 KiB per host
WRITE_TIMEOUT_S = 10.0
END_TIMEOUT_S = 10.0
Kind = Literal["out", "err"]
Piece = tuple[Kind, bytes]


class AgentStream:
    """Stdout and stderr of a task as spooled on the host, unchanged, from the given offsets.

    `out_offset` and `err_offset` are the positions after the bytes returned so far, for resuming.
    `complete` is True once the agent has reported the end.
    """

    def __init__(
        self, channel: Channel, host: str, token: str, out_offset: int, err_offset: int
    ) -> None:
        self.out_offset = out_offset
        self.err_offset = err_offset
        self.complete = False
        self.begun = False  # whether the agent has begun
        self.noise = bytearray()  # output before that
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
        """Whether the connection, or the host's end of the stream, is known to be gone."""
        return bool(self._pumps) and all(pump.done() for pump in self._pumps)

    async def begin(self) -> None:
        """Read up to the marks that precede the spooled bytes.

        Raises HostError if the agent refuses.
        """
        first_out = await self._past_mark(self._channel.read, self.noise)
        self.begun = True
        first_err = await self._past_mark(self._channel.read_stderr, bytearray())
        self._pumps = [
            asyncio.create_task(self._pump("out", first_out)),
            asyncio.create_task(self._pump("err", first_err)),
        ]

    async def next(self) -> Piece | None:
        """Return the next bytes; None at the end. Raises HostError if the connection broke."""
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
        """Release an armed task."""
        await self._write(b"go\n")

    async def stop(self, *, abort: bool) -> None:
        """Ask the task to end, over the open channel; opening a new one takes seconds on a busy
        host.
        """
        await self._write(b"abort\n" if abort else b"stop\n")

    async def renew(self) -> None:
        """Renew the task's lease."""
        self._beats += 1
        await self._write(f"lease {self._beats}\n".encode())

    async def close(self) -> None:
        """Stop streaming; the task keeps running."""
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
            told = clause("accepts-no-input", limit_s=WRITE_TIMEOUT_S)
            raise HostError("timeout", self._host, told) from None

    async def _ended(self) -> int | None:
        try:
            async with asyncio.timeout(END_TIMEOUT_S):
                return await self._channel.wait()
        except TimeoutError:
            return None

    async def _past_mark(self, read: Callable[[int], Awaitable[bytes]], seen: bytearray) -> bytes:
        """Return the text after the mark; login shells may print text before it."""
        at = await find_mark(f"BT-STREAM {self._token}".encode(), seen, read, self._host)
        end = await find_mark(b"\n", seen, read, self._host, at) if at >= 0 else -1
        if end < 0:
            # raises its reason
            parse_answer(Completed(bytes(seen), b"", await self._ended()), self._token, self._host)
            raise HostError("agent-failed", self._host, clause("agent-without-output"))
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
        except Exception as error:  # whatever the error, the reader must not wait forever
            told = clause("stream-broke", error=type(error).__name__, quote=str(error))
            await self._pieces.put(HostError("lost", self._host, told))


EXCHANGES = 8
STAMP = re.compile(rb"(\d{9,12})\.(\d{3,9})\n")


class ClockOffset(Struct, frozen=True):
    """The host's clock minus this machine's, within ± `uncertainty_s` (half the round trip)."""

    offset_s: float
    uncertainty_s: float
    rtt_s: float


async def measure_clock(channel: Channel, token: str, host: str) -> ClockOffset | None:
    """Return the offset of the host's clock from the agent's `clock`, as measured in the exchange
    with the shortest round trip.

    None if the host's `date` prints no fractions of a second.
    """
    await _until(channel, f"BT-CLOCK {token}\n".encode(), host)
    found: list[ClockOffset] = []
    for _ in range(EXCHANGES):
        before_ns, start = time.time_ns(), time.monotonic()
        await channel.write(b"?\n")
        line = await _until(channel, b"\n", host)
        rtt = time.monotonic() - start
        match = STAMP.search(line)
        if match is None:
            return None
        remote_ns = int(match[1]) * 10**9 + int(match[2].ljust(9, b"0"))
        offset = (remote_ns - before_ns) / 1e9 - rtt / 2
        found.append(ClockOffset(round(offset, 6), round(rtt / 2, 6), round(rtt, 6)))
    return min(found, key=lambda one: one.rtt_s)


async def _until(channel: Channel, mark: bytes, host: str) -> bytes:
    seen = bytearray()
    if await find_mark(mark, seen, channel.read, host) < 0:
        raise HostError("agent-failed", host, clause("agent-without-time"))
    return bytes(seen)


FLOODED = "flooded"  # error code for a host that printed too much
RATE = {"out": 4_000_000.0, "err": 250_000.0}  # bytes per second allowed for a stream
BURST = {"out": 16_000_000.0, "err": 2_000_000.0}  # bytes beyond that, at once
CPU_SHARE = 0.2  # of the engine's single core on the jump host, for reading one host
CPU_BURST_S = 1.0
NAMES = {"out": "stdout", "err": "stderr"}


class OutputBudget:
    """Output limit of one task on one host: a token bucket per stream, and one for the CPU time
    that reading takes.

    A bucket allows a burst. The time since the last chunk refills it, so that output held back by a
    broken connection or a suspended engine does not count as a flood.
    """

    def __init__(self, host: str, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._host, self._what, self._clock = host, what, clock
        self._last = clock()
        self._rates = {**RATE, "cpu": CPU_SHARE}
        self._bursts = {**BURST, "cpu": CPU_BURST_S}
        self._granted = dict.fromkeys(self._rates, 0.0)
        self._left = dict(self._bursts)
        self._taken = dict.fromkeys(self._left, 0.0)

    def grant(self, seconds: float) -> None:
        """Raise the limit by the amount that a host may have spooled in this many seconds."""
        for name, rate in self._rates.items():
            self._granted[name] += rate * seconds

    def take(self, kind: str, size: int, cpu_s: float) -> None:
        """Count received bytes and the CPU seconds spent reading them.

        Raises HostError with code `flooded` beyond the limit.
        """
        now = self._clock()
        gap, self._last = now - self._last, now
        for name, rate in self._rates.items():
            self._left[name] = min(self._left[name], self._bursts[name]) + rate * gap
        for name, amount in ((kind, float(size)), ("cpu", cpu_s)):
            paid = min(self._granted[name], amount)
            self._granted[name] -= paid
            self._left[name] -= amount - paid
            self._taken[name] += amount
        if self._left[kind] < 0:
            raise self._flooded(kind, bounds(kind))
        if self._left["cpu"] < 0:
            raise self._flooded(kind, clause("parsing-limit", share=CPU_SHARE))

    def _flooded(self, kind: str, why: Clause) -> HostError:
        told = clause(
            "floods",
            load=self._what,
            stream=NAMES[kind],
            sent_bytes=round(self._taken[kind]),
            why=why,
        )
        return HostError(FLOODED, self._host, told)


def bounds(kind: str) -> Clause:
    """Return the limits of a stream."""
    return clause("stream-limit", limit_bytes_per_s=RATE[kind], burst_bytes=BURST[kind])


def flooded(load: str, flood: str) -> Clause:
    """Return the message on a flood reported by the agent as stream, kB, seconds."""
    stream, _, rest = flood.partition(" ")
    kb, _, seconds = rest.partition(" ")
    if not (kb.isdigit() and seconds.isdigit()):
        return clause("printed-too-much", load=load)
    return clause(
        "flooded",
        load=load,
        stream=stream,
        sent_bytes=int(kb) * 1000,
        last_s=int(seconds),
        limit=bounds("err" if stream == "stderr" else "out"),
    )
