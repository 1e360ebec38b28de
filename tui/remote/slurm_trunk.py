"""One srun that carries the channels of many nodes: the jump host's side of a trunk.

Slurm sends srun's stdin to all nodes; frames name the node that they are for. Blocks that several
nodes get, such as the agent, are sent once for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import zlib
from asyncio.subprocess import Process
from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b

from tui.model.operands import Clause, clause
from tui.model.plain import printable
from tui.remote.frames import (
    GRANT_BYTES,
    WINDOW_BYTES,
    Framer,
    GarbledError,
    Joiner,
)
from tui.remote.local import drain
from tui.remote.transport import HostError

PING_S = 2.5
SILENT_PINGS = 6  # without a line from a node, after which it is lost
STUCK_S = 10.0  # without progress in writing to srun: a node takes no more
URGENT_BYTES = 3 * GRANT_BYTES
GRANTS_S = 0.5  # between those that are not urgent: every node gets every write to srun
IDLE_S = 20.0  # without news from any node, after which the rest are given up
CLOSE_TIMEOUT_S = 2.0
MOST_UNSENT_BYTES = 1 << 20
MOST_UNREAD_BYTES = 2 * WINDOW_BYTES
MOST_LINE_BYTES = 65536
MOST_BLOCKS_BYTES = 4 << 20
LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES, ONE_LINE_IN = 512, 16384, 16
SAID_BYTES = 16384
QUOTED = 200
STAR = b"*"
NOTICE = re.compile(r"!([a-z-]+) (\S+)")
SUSPECT = re.compile(r"on node ([\w.-]+)")


class TrunkChannel:
    """Channel to a /bin/sh on a node of a trunk."""

    def __init__(self, end: NodeEnd, number: int, host: str) -> None:
        self._end, self._number, self._host = end, number, host
        self._outputs = {b"1": asyncio.StreamReader(), b"2": asyncio.StreamReader()}
        self._owed = dict.fromkeys(self._outputs, 0)  # bytes read and not yet granted
        self._unread = dict.fromkeys(self._outputs, 0)
        self._in_flight = 0  # bytes of stdin that the shell may not have taken
        self._room = asyncio.Event()
        self._status: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._error: HostError | None = None
        self._over = False

    async def read(self, size: int) -> bytes:
        """Return bytes of stdout; empty at end of file."""
        return await self._read(b"1", size)

    async def read_stderr(self, size: int) -> bytes:
        """Return bytes of stderr; empty at end of file."""
        return await self._read(b"2", size)

    async def write(self, data: bytes) -> None:
        """Write to stdin.

        Does not fail if the shell has ended, because its output gives the reason.
        """
        for block in blocks_of(data):
            while not self._over and self._in_flight + len(block) > WINDOW_BYTES:
                self._room.clear()
                await self._room.wait()
            if self._error is not None:
                raise self._error
            if self._over:
                return
            self._in_flight += len(block)
            self._end.send_block(self._number, block)
        await self._end.trunk.drained()

    def end_input(self) -> None:
        """Close stdin."""
        if not self._over:
            self._end.send(self._number, b"e")

    async def wait(self) -> int | None:
        """Return the exit status; None if unknown."""
        status = await asyncio.shield(self._status)
        if self._error is not None:
            raise self._error
        return status

    def drop(self) -> None:
        """Close the channel without waiting for its end."""
        if not self._over:
            self._end.send(self._number, b"d")
            self.finish(None)

    async def close(self) -> None:
        """End the shell by closing its stdin; close the channel if it does not end."""
        self.end_input()
        with contextlib.suppress(TimeoutError, HostError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.wait()
        self.drop()

    def handle(self, kind: bytes, data: bytes) -> None:
        """Act on a frame from the node. Raises GarbledError."""
        if kind in self._outputs:
            self._unread[kind] += len(data)
            if self._unread[kind] > MOST_UNREAD_BYTES:
                raise GarbledError("the node sends more than allowed")
            output = self._outputs[kind]
            output.feed_data(data) if data else output.feed_eof()
        elif kind == b"g":
            self._in_flight -= number_in(data)
            self._room.set()
        elif kind == b"x":
            self.finish(number_in(data))
        elif kind == b"f":
            why = printable(data.decode("utf-8", "replace")[:QUOTED])
            told = clause("cannot-start-shell", quote=why)
            self.fail(HostError("channel-failed", self._host, told))

    def fail(self, error: HostError) -> None:
        """End the channel with an error for its readers and writers."""
        if not self._over:
            self._error = error
            for output in self._outputs.values():
                output.set_exception(error)
            self.finish(None)

    def lose(self, why: Clause) -> None:
        """End the channel because the node is lost."""
        self.fail(HostError("lost", self._host, why))

    def finish(self, status: int | None) -> None:
        """End the channel."""
        self._over = True
        self._end.channels.pop(self._number, None)
        if not self._status.done():
            self._status.set_result(status)
        for output in self._outputs.values():
            if self._error is None and not output.at_eof():
                output.feed_eof()
        self._room.set()

    async def _read(self, kind: bytes, size: int) -> bytes:
        data = await self._outputs[kind].read(size)
        self._owed[kind] += len(data)
        self._unread[kind] -= len(data)
        if self._owed[kind] >= URGENT_BYTES:
            self.grant()
        elif self._owed[kind] >= GRANT_BYTES:
            self._end.trunk.grant_later(self)
        return data

    def grant(self) -> None:
        """Let the node send more, in exchange for what was read."""
        for kind, owed in self._owed.items():
            if owed >= GRANT_BYTES and not self._over:
                self._end.send(self._number, b"g", kind + b"%d" % owed)
                self._owed[kind] = 0


class NodeEnd:
    """A node of a trunk. `lost`: why it can no longer be reached; None while it can."""

    def __init__(self, trunk: Trunk, name: str, ident: bytes) -> None:
        self.trunk, self.name = trunk, name
        self.lost: Clause | None = None
        self.silent_pings = 0
        self.channels: dict[int, TrunkChannel] = {}
        self._framer = Framer(ident)
        self._last = 0

    def open(self, host: str) -> TrunkChannel:
        """Open a shell. Raises HostError."""
        if self.lost:
            raise HostError("lost", host, self.lost)
        self._last += 1
        channel = self.channels[self._last] = TrunkChannel(self, self._last, host)
        self.send(self._last, b"o")
        return channel

    def send(self, channel: int, kind: bytes, data: bytes = b"") -> None:
        """Send a frame to the node."""
        self.trunk.send(self._framer.lines(channel, kind, data))

    def send_block(self, channel: int, block: bytes) -> None:
        """Send a block for a shell's stdin, or a reference to it if nodes have it."""
        known = self.trunk.known_block(block)
        if known is None:
            self.send(channel, b"w", block)
        else:
            self.send(channel, b"r", b"%d" % known)

    def handle(self, channel: int, kind: bytes, data: bytes) -> None:
        """Act on a frame from the node. Raises GarbledError."""
        if channel in self.channels:
            self.channels[channel].handle(kind, data)

    def lose(self, why: Clause) -> None:
        """End all channels to the node."""
        self.lost = self.lost or why
        for channel in list(self.channels.values()):
            channel.lose(why)


class Trunk:
    """An srun over many nodes, and the nodes that have answered.

    `notices`: what a node reported instead of, or after, its answer; `suspects`: nodes to which
    srun attributes its failure, and nodes that stopped answering.
    """

    def __init__(self, process: Process, nodes: Sequence[str]) -> None:
        self.nodes = nodes
        self.ends: dict[str, NodeEnd] = {}
        self.notices: dict[str, str] = {}
        self.suspects: set[str] = set()
        self.over = False
        self._process = process
        self._by_id: dict[bytes, NodeEnd] = {}
        self._joiners = {b"%d" % at: Joiner() for at in range(len(nodes))}
        self._all = Framer(STAR)
        self._blocks = KnownBlocks()
        self._unsent = bytearray()
        self._wake, self._drained, self._news = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._grants: dict[TrunkChannel, None] = {}
        self._said = bytearray()
        self._tasks = [
            asyncio.create_task(work)
            for work in (self._read(), self._read_stderr(), self._write(), self._ping())
        ]

    async def settled(self) -> None:
        """Wait until every node has answered, srun has ended, or nothing has arrived for IDLE_S."""
        with contextlib.suppress(TimeoutError):
            while not self.over and len(self.ends.keys() | self.notices.keys()) < len(self.nodes):
                self._news.clear()
                async with asyncio.timeout(IDLE_S):
                    await self._news.wait()

    def send(self, lines: bytes) -> None:
        """Send lines to all nodes."""
        self._unsent += lines
        self._drained.clear()
        self._wake.set()

    def grant_later(self, channel: TrunkChannel) -> None:
        """Grant a channel more bytes shortly, together with other channels."""
        if not self._grants:
            asyncio.get_running_loop().call_later(GRANTS_S, self._grant)
        self._grants[channel] = None

    def _grant(self) -> None:
        channels, self._grants = self._grants, {}
        for channel in channels:
            channel.grant()

    async def drained(self) -> None:
        """Wait while too much is unsent."""
        while len(self._unsent) > MOST_UNSENT_BYTES and not self.over:
            await self._drained.wait()

    def known_block(self, block: bytes) -> int | None:
        """Return the number under which nodes have a block; None if they do not keep it.

        A long block that is sent for the second time gets a number, and is sent to all nodes.
        """
        number, is_new = self._blocks.number_of(block)
        if is_new:
            self.send(self._all.lines(number or 0, b"b", block))
        return number

    async def close(self, *, leave: bool) -> None:
        """End srun. `leave`: starters on the nodes end once nothing that they started is left."""
        if leave and not self.over:
            self.send(self._all.lines(0, b"q"))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    while self._unsent and not self.over:
                        await self._drained.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                while not self.over:
                    self._news.clear()
                    await self._news.wait()
        self._end(clause("connection-closed"))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await drain(self._process)

    def _end(self, why: Clause) -> None:
        """End srun, and all channels with it."""
        if self.over:
            return
        self.over = True
        kill(self._process)
        for end in self.ends.values():
            end.lose(why)
        for event in (self._news, self._drained, self._wake):
            event.set()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        rest = b""
        while data := await self._process.stdout.read(1 << 18):
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[-MOST_LINE_BYTES:]
            for line in lines:
                self._handle_line(line)
        await asyncio.wait([self._tasks[1]], timeout=CLOSE_TIMEOUT_S)  # its reason
        self._end(clause("srun-ended", quote=self.last_words))

    @property
    def last_words(self) -> str:
        """The last line that srun printed to stderr, or "no message"."""
        lines = self._said.decode("utf-8", "replace").split("\n")
        texts = [line.strip() for line in lines if line.strip()]
        return printable(texts[-1][:QUOTED]) if texts else "no message"

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(4096):
            self._said += data
            del self._said[:-SAID_BYTES]
            for word in SUSPECT.findall(self._said.decode("utf-8", "replace")):
                end = self._by_id.get(word.encode())
                self.suspects |= {end.name} if end else {word} & set(self.nodes)

    def _handle_line(self, line: bytes) -> None:
        """Act on a line; ignore other output, such as that of a prolog."""
        if line.startswith(b"!"):
            self._note(line)
        if not line.startswith(b"~"):
            return
        ident, _, rest = line[1:].partition(b" ")
        end = self._by_id.get(ident)
        if (end is not None and end.lost) or ident not in self._joiners:
            return
        joiner = self._joiners[ident]
        try:
            frame = joiner.frame(rest)
            if end is not None:
                end.silent_pings = 0
                if frame is not None:
                    end.handle(*frame)
            elif frame is not None and frame[1] == b"h":
                self._greet(frame[2].decode("ascii", "replace"), ident)
        except GarbledError as error:
            if end is not None:
                end.lose(clause("srun-damaged", quote=str(error)))

    def _greet(self, name: str, ident: bytes) -> None:
        if name in self.nodes and name not in self.ends:
            self.ends[name] = self._by_id[ident] = NodeEnd(self, name, ident)
            self._news.set()

    def _note(self, line: bytes) -> None:
        match = NOTICE.fullmatch(line.decode("ascii", "replace"))
        if match is not None and match[2] in self.nodes:
            self.notices[match[2]] = match[1]
            if match[2] in self.ends:
                self.ends[match[2]].lose(clause("starter-ended"))
            self._news.set()

    async def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                data, self._unsent = bytes(self._unsent), bytearray()
                self._drained.set()
                stdin.write(data)
                async with asyncio.timeout(STUCK_S):
                    await stdin.drain()
        except TimeoutError:
            self._end(clause("srun-stuck"))
        except OSError:
            return  # it has ended: its output gives the reason

    async def _ping(self) -> None:
        while True:
            self.send(self._all.lines(0, b"p"))
            await asyncio.sleep(PING_S)
            for end in self.ends.values():
                end.silent_pings += 1
                if end.silent_pings > SILENT_PINGS and not end.lost:
                    self.suspects.add(end.name)
                    end.lose(clause("silent-host"))


class KnownBlocks:
    """Blocks that were sent to nodes. A block gets a number when it is sent for the second time."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._numbers: dict[bytes, int] = {}
        self._size = 0

    def number_of(self, block: bytes) -> tuple[int | None, bool]:
        """Return a block's number (None if it has none), and whether the number is new.

        Blocks below 512 bytes, and those beyond 4 MiB in total, get none.
        """
        if len(block) < LEAST_BLOCK_BYTES:
            return None, False
        digest = blake2b(block, digest_size=16).digest()
        if digest in self._numbers:
            return self._numbers[digest], False
        if digest not in self._seen or self._size + len(block) > MOST_BLOCKS_BYTES:
            self._seen.add(digest)
            return None, False
        self._size += len(block)
        self._numbers[digest] = len(self._numbers) + 1
        return self._numbers[digest], True


def blocks_of(data: bytes) -> Iterator[bytes]:
    """Split data into blocks that end at lines chosen by their content.

    Equal parts of two scripts thus become equal blocks, whatever their offsets.
    """
    start = at = 0
    while at < len(data):
        newline = data.find(b"\n", at, start + MOST_BLOCK_BYTES)
        end = newline + 1 if newline >= 0 else min(len(data), start + MOST_BLOCK_BYTES)
        chosen = zlib.crc32(data[at:end]) % ONE_LINE_IN == 0
        at = end
        is_long = at - start >= MOST_BLOCK_BYTES
        if at == len(data) or is_long or (chosen and at - start >= LEAST_BLOCK_BYTES):
            yield data[start:at]
            start = at


def number_in(data: bytes) -> int:
    """Return the number in a frame. Raises GarbledError."""
    if not re.fullmatch(rb"\d{1,9}", data):
        raise GarbledError("not a number")
    return int(data)


async def ready_starters(process: Process, nodes: Collection[str]) -> tuple[dict[str, str], bool]:
    """Return what each node's starter reported, and whether the starters outlive srun.

    Kills srun as soon as all have answered, or none has answered for IDLE_S: starters no longer
    need it, and it would end all of them if one node failed.
    """
    words: dict[str, str] = {}
    stay = True
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError, ValueError):
        while len(words) < len(nodes):
            async with asyncio.timeout(IDLE_S):
                line = await process.stdout.readline()
            if not line:
                stay = False  # it gave up, and with it Slurm cancels the step
                break
            match = NOTICE.fullmatch(line.decode("ascii", "replace").strip())
            if match is not None and match[2] in nodes:
                words[match[2]] = match[1]
    kill(process)
    await drain(process)
    return words, stay


def kill(process: Process) -> None:
    """Kill srun and its helper."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
