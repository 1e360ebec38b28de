"""The gzip stream of a packed run: one whole stream, under one sum.

A file can be inflated by every gzip. The header's extra field (RFC 1952, 2.3.1.1) has the SHA-256 of all that follows
it, for deflate can say the same bytes in several ways: a changed byte of the file need not change what it holds.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from typing import IO

BLOCK = 1 << 20
PIECE = 512  # a block of the archive: so much at once where it is damaged, then byte by byte
COMPRESSION = 6
RAW = -zlib.MAX_WBITS  # header and end are ours
END = struct.Struct("<II")  # behind a gzip stream: the sum of its bytes, and how many they are
OLD_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # of packed runs before there was a sum
SUM_BYTES = hashlib.sha256().digest_size
FIELD = struct.pack("<2sH", b"BT", SUM_BYTES)
HEADER = b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff" + struct.pack("<H", len(FIELD) + SUM_BYTES) + FIELD


class Deflated(io.RawIOBase):
    """Writes a stream; `close` puts its sum into the header. The file must be one that can be positioned."""

    def __init__(self, stored: IO[bytes]) -> None:
        self._stored = stored
        self._deflate = zlib.compressobj(COMPRESSION, wbits=RAW)
        self._length = self._crc = 0
        self._sum = hashlib.sha256()
        stored.write(HEADER + bytes(SUM_BYTES))

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Take all of it."""
        self._length, self._crc = self._length + len(data), zlib.crc32(data, self._crc)
        self._put(self._deflate.compress(data))
        return len(data)

    def close(self) -> None:
        """End the stream, once."""
        if self.closed:
            return
        super().close()
        self._put(self._deflate.flush() + END.pack(self._crc, self._length & 0xFFFFFFFF))
        self._stored.seek(len(HEADER))
        self._stored.write(self._sum.digest())

    def _put(self, data: bytes) -> None:
        self._sum.update(data)
        self._stored.write(data)


class Inflated(io.RawIOBase):
    """The bytes of a gzip file that is one whole stream and nothing else. Raises zlib.error, EOFError.

    Little by little, and its sums last: what is damaged is met where it stands, and its file can be named.
    """

    def __init__(self, stored: IO[bytes]) -> None:
        self._stored = stored
        self._inflate = zlib.decompressobj(wbits=RAW)
        self._ready = b""
        self._at = self._length = self._crc = 0
        self._most, self._over = BLOCK, False
        self._wanted = self._sum_of_header()
        self._sum = hashlib.sha256()

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most so many bytes, none at the end: what is before a damaged place is had before that is told."""
        return self._some(size) if size >= 0 else self.readall()

    def _sum_of_header(self) -> bytes | None:
        """Return the sum that the header has, None for one that has none."""
        start = self._stored.read(len(OLD_HEADER))
        if start == OLD_HEADER:
            return None
        if start + self._stored.read(len(HEADER) - len(start)) != HEADER:
            raise zlib.error("its header is not that of a packed run")
        return self._stored.read(SUM_BYTES)

    def _some(self, wanted: int) -> bytes:
        while self._at >= len(self._ready):
            if self._inflate.eof:
                self._check_end()
                return b""
            fresh = self._inflate.unconsumed_tail or self._fresh(BLOCK)
            self._ready, self._at = self._inflated(fresh), 0
            if not fresh and not self._ready and not self._inflate.eof:
                raise EOFError("it ends too early")
            self._crc, self._length = zlib.crc32(self._ready, self._crc), self._length + len(self._ready)
        piece = self._ready[self._at : self._at + wanted]
        self._at += len(piece)
        return piece

    def _fresh(self, size: int) -> bytes:
        data = self._stored.read(size)
        self._sum.update(data)
        return data

    def _inflated(self, fresh: bytes) -> bytes:
        """Return the next bytes; where they are damaged all those before, that no other file is named for them."""
        while True:
            before = self._inflate.copy()
            try:
                return self._inflate.decompress(fresh, self._most)
            except zlib.error:
                if self._most == 1:
                    raise
            self._inflate, self._most = before, PIECE if self._most > PIECE else 1

    def _check_end(self) -> None:
        if self._over:
            return
        self._over = True
        end = self._inflate.unused_data
        end += self._fresh(max(0, END.size + 1 - len(end)))
        if len(end) < END.size:
            raise EOFError("it ends too early")
        if len(end) > END.size:
            raise zlib.error("something follows its end")
        if END.unpack(end) != (self._crc, self._length & 0xFFFFFFFF):
            raise zlib.error("its sum is not that of its bytes")
        if self._wanted not in (None, self._sum.digest()):
            raise zlib.error("its files are whole, but it is not byte for byte what was packed")
