"""A TCP proxy between client and sshd that can cut, stall and refuse connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator


class Proxy:
    """Forwards to a port of this machine. `stalled`: bytes are held back.

    `refusing`: new connections are cut.
    """

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.port = 0
        self.refusing = False
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def stalled(self) -> bool:
        return not self._flowing.is_set()

    @stalled.setter
    def stalled(self, value: bool) -> None:
        if value:
            self._flowing.clear()
        else:
            self._flowing.set()

    def reset(self) -> None:
        """Cut every connection with a TCP reset."""
        for writer in self._writers:
            sock: socket.socket = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def hang_up(self) -> None:
        """Close every connection in an orderly way."""
        for writer in self._writers:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        pair = {writer, far_writer}
        self._writers |= pair
        try:
            await asyncio.gather(
                self._forward(reader, far_writer), self._forward(far_reader, writer)
            )
        finally:
            self._writers -= pair

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    """A running proxy to a port."""
    made = Proxy(port)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        made.stalled = False
        made.reset()
        server.close()
