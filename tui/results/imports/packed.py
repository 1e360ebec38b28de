"""Files that are packed, unpacked block by block: never more of them is in memory than somebody asks for."""

from __future__ import annotations

import bz2
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Protocol

BLOCK = 1 << 18
MOST_DICTIONARY_BYTES = 80 << 20  # xz -9 takes 65 MiB; a header may ask for 4 GiB
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, ValueError)


class Machine(Protocol):
    """What unpacks one stream, as bz2 and lzma have it."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether nothing more comes of what it was given."""

    @property
    def unused_data(self) -> bytes:
        """What follows the end of the stream."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return at most so many bytes."""


class Gunzip:
    """zlib as bz2 and lzma are: it keeps what it has not taken yet."""

    def __init__(self) -> None:
        self._machine = zlib.decompressobj(31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""
        return self._machine.eof

    @property
    def unused_data(self) -> bytes:
        """What follows the end of the stream."""
        return self._machine.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return at most so many bytes."""
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
    """Return how a file of this name is packed; empty: it is not."""
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix in MACHINES else ""


def sign_of(begin: bytes) -> str:
    """Return how a file that begins so is packed; empty: it is not."""
    return next((suffix for sign, suffix in SIGNS.items() if begin.startswith(sign)), "")


def unpacked(blocks: Iterator[bytes], suffix: str) -> Iterator[bytes]:
    """Yield what blocks of a packed file hold, streams that follow each other as one. Raises what `BROKEN` has."""
    machine: Machine | None = None
    for block in blocks:
        data = block
        while data or (machine is not None and not machine.needs_input):
            if machine is None and not (data := data.lstrip(b"\0")):
                break  # what pads a file
            machine = machine or MACHINES[suffix]()
            found = machine.decompress(data, BLOCK)
            if found:
                yield found
            data = b""
            if machine.eof:
                data, machine = machine.unused_data, None
    if machine is not None:
        raise EOFError("it ends too early")


class Reader:
    """Blocks as a file that is read forward."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._ready = blocks, memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """Return at most so many bytes; none at the end."""
        while not self._ready:
            block = next(self._blocks, None)
            if block is None:
                return b""
            self._ready = memoryview(block)
        piece, self._ready = self._ready[:size], self._ready[size:]
        return bytes(piece)
