"""`python -m tests.long.lies.nbd ADDRESS DELAY_MS BURN_US SLOTS NAME`: serve zeros by NBD, answered
late, SLOTS requests at a time, or at a CPU cost.

Prints its port; a line on stdin is another delay. Protocol: fixed newstyle, simple replies, as the
NBD project's proto.md has it."""

from __future__ import annotations

import asyncio
import struct
import sys
import time

SIZE = 64 << 20
HAVE_OPTION, OPTION_REPLY = 0x49484156454F5054, 0x3E889045565A9
REQUEST, REPLY = 0x25609513, 0x67446698
EXPORT_NAME, ABORT, INFO, GO = 1, 2, 6, 7
ACK, TOLD, UNSUPPORTED = 1, 3, (1 << 31) + 1
READ, WRITE, DISCONNECT = 0, 1, 2
FLAGS = 1 | 4 | 256  # has flags, takes flushes, many connections


class Server:
    """Answers each request after `delay_s`, at most `slots` of them at a time, or after computing
    for `burn_s`: then one after the other.
    """

    def __init__(self, delay_s: float, burn_s: float, slots: int = 1000) -> None:
        self.delay_s, self.burn_s = delay_s, burn_s
        self.free = asyncio.Semaphore(slots)
        self.written: dict[int, int] = {}  # bytes by offset
        self.answers: set[asyncio.Task[None]] = set()

    def change(self, delay_ms: str) -> None:
        """Answer with another delay; an empty text, the end of stdin, changes nothing any more."""
        if delay_ms:
            self.delay_s = float(delay_ms) / 1000
        else:
            asyncio.get_running_loop().remove_reader(sys.stdin)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        try:
            if await self.negotiate(reader, writer):
                await self.transmit(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def negotiate(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Agree on the export; False when the client only looked."""
        writer.write(b"NBDMAGIC" + struct.pack(">QH", HAVE_OPTION, 3))
        await reader.readexactly(4)
        while True:
            _, option, length = struct.unpack(">QII", await reader.readexactly(16))
            await reader.readexactly(length)
            if option == EXPORT_NAME:
                writer.write(struct.pack(">QH", SIZE, FLAGS))
                return True
            if option in (INFO, GO):
                self._say(writer, option, TOLD, struct.pack(">HQH", 0, SIZE, FLAGS))
            self._say(writer, option, ACK if option in (INFO, GO, ABORT) else UNSUPPORTED)
            if option in (GO, ABORT):
                return bool(option == GO)

    def _say(self, writer: asyncio.StreamWriter, option: int, kind: int, data: bytes = b"") -> None:
        writer.write(struct.pack(">QIII", OPTION_REPLY, option, kind, len(data)) + data)

    async def transmit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests until the client has enough."""
        while True:
            _, _, kind, handle, offset, length = struct.unpack(
                ">IHHQQI", await reader.readexactly(28)
            )
            if kind == DISCONNECT:
                return
            if kind == WRITE:
                await reader.readexactly(length)
                self.written[offset] = length
            answer = struct.pack(">IIQ", REPLY, 0, handle) + bytes(length if kind == READ else 0)
            end = time.perf_counter() + self.burn_s
            while time.perf_counter() < end:
                pass  # what a server does that computes
            task = asyncio.create_task(self._later(writer, answer))
            self.answers.add(task)
            task.add_done_callback(self.answers.discard)

    async def _later(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        async with self.free:
            await asyncio.sleep(self.delay_s)
        writer.write(answer)
        await writer.drain()


async def main(address: str, delay_ms: str, burn_us: str, slots: str, _: str) -> None:
    """Serve until killed."""
    server = Server(float(delay_ms) / 1000, float(burn_us) / 1e6, int(slots))
    asyncio.get_running_loop().add_reader(sys.stdin, lambda: server.change(sys.stdin.readline()))
    listening = await asyncio.start_server(server.serve, address, 0)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
