"""Read and write archives block by block, within limits: tar headers, compressed files, packed
runs.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import IO, Protocol, cast

MOST_HEADER_BYTES = 1 << 20  # before one file; a name of 4096 bytes takes 5 KiB
TAR_BLOCK = 1 << 18
# tarfile of Python 3.11 takes time quadratic in their number
DIGITS = re.compile(rb"\d{100}")
# tarfile raises these for some damaged headers
NO_HEADER = (ArithmeticError, LookupError, ValueError, RecursionError)
PLAIN_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE)


class ByteSource(Protocol):
    """A stream from which an archive is read."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; empty at the end."""


class TarStream:
    """An archive as a file object for tarfile: `read` returns headers, `data` yields file
    contents.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source, self._at, self._headers = source, 0, 0
        self._archive: tarfile.TarFile | None = None

    def members(self) -> Iterator[tarfile.TarInfo]:
        """Yield the members of the archive one by one, without keeping them.

        Raises tarfile.TarError.
        """
        try:
            archive = tarfile.TarFile(fileobj=cast(IO[bytes], self), mode="r")
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]
                self._headers = 0
                yield member
        except NO_HEADER:
            raise tarfile.ReadError("an unreadable header") from None

    def data(self, member: tarfile.TarInfo) -> Iterator[bytes]:
        """Yield the content of the regular file that `members` yielded last.

        Raises tarfile.ReadError if it is truncated.
        """
        self.seek(member.offset_data)
        left = member.size
        while left > 0:
            block = self._some(min(left, TAR_BLOCK))
            if not block:
                raise tarfile.ReadError("unexpected end of data")
            left -= len(block)
            yield block

    def rest(self) -> Iterator[bytes]:
        """Yield the bytes after the last file."""
        while block := self._some(TAR_BLOCK):
            yield block

    def tell(self) -> int:
        """Return the number of bytes read so far."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes of a header. Raises tarfile.ReadError."""
        self._headers += size
        if size < 0 or self._headers > MOST_HEADER_BYTES:
            raise tarfile.ReadError(f"a header larger than {MOST_HEADER_BYTES >> 20} MiB")
        found = bytearray()
        while len(found) < size and (block := self._some(size - len(found))):
            found += block
        if DIGITS.search(found):
            raise tarfile.ReadError("a number with more than 100 digits in a header")
        return bytes(found)

    def seek(self, offset: int) -> None:
        """Skip forward to an offset in the stream. Raises tarfile.ReadError."""
        if offset < self._at:
            raise tarfile.ReadError("a file that overlaps the previous one")
        while self._at < offset and self._some(min(offset - self._at, TAR_BLOCK)):
            pass

    def _some(self, size: int) -> bytes:
        block = self._source.read(size)
        self._at += len(block)
        return block


def is_plain(member: tarfile.TarInfo) -> bool:
    """Return whether a member is a regular file: not a link, device or sparse file."""
    return member.type in PLAIN_KINDS and not member.issparse()


UNPACKED_BLOCK = 1 << 18
MOST_DICTIONARY_BYTES = 80 << 20  # xz -9 takes 65 MiB; a header may ask for 4 GiB
BROKEN = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    ValueError,
)


class Machine(Protocol):
    """Interface of a decompressor, as in bz2 and lzma."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether the decompressor needs more input."""

    @property
    def unused_data(self) -> bytes:
        """Data after the end of the stream."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return at most `max_length` decompressed bytes."""


class Gunzip:
    """zlib decompressor with the interface of bz2 and lzma; keeps unconsumed input."""

    def __init__(self) -> None:
        self._machine = zlib.decompressobj(31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""
        return self._machine.eof

    @property
    def unused_data(self) -> bytes:
        """Data after the end of the stream."""
        return self._machine.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return at most `max_length` decompressed bytes."""
        found = self._machine.decompress(self._machine.unconsumed_tail + data, max_length)
        self.needs_input = not self._machine.unconsumed_tail and len(found) < max_length
        return found


MACHINES: dict[str, Callable[[], Machine]] = {
    ".gz": Gunzip,
    ".xz": lambda: lzma.LZMADecompressor(memlimit=MOST_DICTIONARY_BYTES),
    ".bz2": bz2.BZ2Decompressor,
}
SIGNS = {b"\x1f\x8b": ".gz", b"\xfd7zXZ": ".xz", b"BZh": ".bz2"}


def packed_as(name: str) -> str:
    """Return the compression that a file's name implies; empty if none."""
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix in MACHINES else ""


def sign_of(begin: bytes) -> str:
    """Return the compression that a file's first bytes show; empty if none."""
    return next((suffix for sign, suffix in SIGNS.items() if begin.startswith(sign)), "")


def unpacked(blocks: Iterator[bytes], suffix: str) -> Iterator[bytes]:
    """Yield the decompressed content of these blocks; concatenated streams are read as one. Raises
    `BROKEN`.
    """
    machine: Machine | None = None
    for block in blocks:
        data = block
        while data or (machine is not None and not machine.needs_input):
            if machine is None and not (data := data.lstrip(b"\0")):
                break  # padding
            machine = machine or MACHINES[suffix]()
            found = machine.decompress(data, UNPACKED_BLOCK)
            if found:
                yield found
            data = b""
            if machine.eof:
                data, machine = machine.unused_data, None
    if machine is not None:
        raise EOFError("truncated")


class BlockReader:
    """Forward-only file object over blocks."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._ready = blocks, memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; empty at the end."""
        while not self._ready:
            block = next(self._blocks, None)
            if block is None:
                return b""
            self._ready = memoryview(block)
        piece, self._ready = self._ready[:size], self._ready[size:]
        return bytes(piece)


GZIP_BLOCK = 1 << 20
PIECE = 512  # block size of an archive, and of the search for damage before single bytes
COMPRESSION = 6
RAW = -zlib.MAX_WBITS  # benchtui writes header and end itself
END = struct.Struct("<II")  # after a gzip stream: checksum and length of its content
OLD_HEADER = (
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # packed runs of versions without a checksum
)
SUM_BYTES = hashlib.sha256().digest_size
FIELD = struct.pack("<2sH", b"BT", SUM_BYTES)
HEADER = (
    b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff" + struct.pack("<H", len(FIELD) + SUM_BYTES) + FIELD
)


class Deflated(io.RawIOBase):
    """Writes a gzip stream.

    `close` puts a checksum into the header, so the file must be seekable.
    """

    def __init__(self, stored: IO[bytes]) -> None:
        self._stored = stored
        self._deflate = zlib.compressobj(COMPRESSION, wbits=RAW)
        self._length = self._crc = 0
        self._sum = hashlib.sha256()
        stored.write(HEADER + bytes(SUM_BYTES))

    def writable(self) -> bool:
        """Return True, because the stream can only be written."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Compress and write all of the data; return its length."""
        self._length, self._crc = self._length + len(data), zlib.crc32(data, self._crc)
        self._put(self._deflate.compress(data))
        return len(data)

    def close(self) -> None:
        """End the stream; further calls do nothing."""
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
    """Content of a gzip file that must be exactly one complete stream.

    Damage is searched for in small pieces, and the checksum is verified last, so that the damaged
    file can be named. Raises zlib.error, EOFError.
    """

    def __init__(self, stored: IO[bytes]) -> None:
        self._stored = stored
        self._inflate = zlib.decompressobj(wbits=RAW)
        self._ready = b""
        self._at = self._length = self._crc = 0
        self._most, self._over = GZIP_BLOCK, False
        self._wanted = self._sum_of_header()
        self._sum = hashlib.sha256()

    def readable(self) -> bool:
        """Return True, because the stream can only be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes; empty at the end. Intact bytes before damage are returned
        first.
        """
        return self._some(size) if size >= 0 else self.readall()

    def _sum_of_header(self) -> bytes | None:
        """Return the checksum in the header; None if there is none."""
        start = self._stored.read(len(OLD_HEADER))
        if start == OLD_HEADER:
            return None
        if start + self._stored.read(len(HEADER) - len(start)) != HEADER:
            raise zlib.error("not the header of a packed run")
        return self._stored.read(SUM_BYTES)

    def _some(self, wanted: int) -> bytes:
        while self._at >= len(self._ready):
            if self._inflate.eof:
                self._check_end()
                return b""
            fresh = self._inflate.unconsumed_tail or self._fresh(GZIP_BLOCK)
            self._ready, self._at = self._inflated(fresh), 0
            if not fresh and not self._ready and not self._inflate.eof:
                raise EOFError("truncated")
            self._crc, self._length = (
                zlib.crc32(self._ready, self._crc),
                self._length + len(self._ready),
            )
        piece = self._ready[self._at : self._at + wanted]
        self._at += len(piece)
        return piece

    def _fresh(self, size: int) -> bytes:
        data = self._stored.read(size)
        self._sum.update(data)
        return data

    def _inflated(self, fresh: bytes) -> bytes:
        """Return the next bytes.

        Returns all intact bytes before raising an error, so that the right file is named.
        """
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
            raise EOFError("truncated")
        if len(end) > END.size:
            raise zlib.error("data after the end")
        if END.unpack(end) != (self._crc, self._length & 0xFFFFFFFF):
            raise zlib.error("wrong checksum")
        if self._wanted not in (None, self._sum.digest()):
            raise zlib.error("the files are intact, but the archive was changed")
