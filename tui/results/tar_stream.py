"""A tar archive read forward, with a limit for its headers: tarfile takes each whole, however long it is.

A header of pax is any number of bytes, and there can be any number of them before a file.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from typing import IO, Protocol, cast

MOST_HEADER_BYTES = 1 << 20  # before one file; a name of 4096 bytes takes 5 KiB
BLOCK = 1 << 18
DIGITS = re.compile(rb"\d{100}")  # tarfile of Python 3.11 looks through them in the square of their number
PLAIN_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE)


class Source(Protocol):
    """Where the bytes of the archive come from."""

    def read(self, size: int, /) -> bytes:
        """Return at most so many bytes; none at the end."""


class TarStream:
    """What tarfile reads an archive of: its reads are headers, files are read with `data`."""

    def __init__(self, source: Source) -> None:
        self._source, self._at, self._headers = source, 0, 0
        self._archive: tarfile.TarFile | None = None

    def members(self) -> Iterator[tarfile.TarInfo]:
        """Yield what the archive holds, one after the other; none is remembered. Raises tarfile.TarError."""
        try:
            archive = tarfile.TarFile(fileobj=cast(IO[bytes], self), mode="r")
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]
                self._headers = 0
                yield member
        except RecursionError:
            raise tarfile.ReadError("headers of headers") from None

    def data(self, member: tarfile.TarInfo) -> Iterator[bytes]:
        """Yield the bytes of a plain file that `members` has just given. Raises tarfile.ReadError where it is cut."""
        self.seek(member.offset_data)
        left = member.size
        while left > 0:
            block = self._some(min(left, BLOCK))
            if not block:
                raise tarfile.ReadError("unexpected end of data")
            left -= len(block)
            yield block

    def rest(self) -> Iterator[bytes]:
        """Yield what follows the last file."""
        while block := self._some(BLOCK):
            yield block

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return bytes of a header."""
        self._headers += size
        if size < 0 or self._headers > MOST_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of more than {MOST_HEADER_BYTES >> 20} MiB")
        found = bytearray()
        while len(found) < size and (block := self._some(size - len(found))):
            found += block
        if DIGITS.search(found):
            raise tarfile.ReadError("a number of more than 100 digits in a header")
        return bytes(found)

    def seek(self, offset: int) -> None:
        """Go on to a place further on."""
        if offset < self._at:
            raise tarfile.ReadError("a file that begins before the one before it ends")
        while self._at < offset and self._some(min(offset - self._at, BLOCK)):
            pass

    def _some(self, size: int) -> bytes:
        block = self._source.read(size)
        self._at += len(block)
        return block


def is_plain(member: tarfile.TarInfo) -> bool:
    """Return whether a member is a file as it stands there: no link, no device, no file with holes."""
    return member.type in PLAIN_KINDS and not member.issparse()
