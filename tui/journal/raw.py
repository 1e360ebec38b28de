"""Raw output of tools, compressed as it arrives."""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from isal import isal_zlib

from tui.model.bounded import open_plain
from tui.model.event import Artefact
from tui.model.rundir import RAW_DIR

if TYPE_CHECKING:
    from tui.journal.writer import Journal

# 0 gives a third more bytes; 3 takes twice the time, and for fio's text gives more bytes, too
COMPRESSION = 1
PIECE_BYTES = 1 << 20  # inflated at a time: 64 KiB may inflate to 64 MiB
GZIP, PLAIN = 31, -15  # zlib's names for a window of 32 KiB in gzip's format, and in none
HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # deflate, no name, no time
LAST_BLOCK = b"\x03\x00"


class _Packer:
    """Compresses chunks of all files, because one compressor per file would take 94 KiB for each
    host.

    Each chunk is flushed completely, so it refers to no earlier bytes and may follow in any file.
    """

    def __init__(self) -> None:
        self._packer = isal_zlib.compressobj(COMPRESSION, isal_zlib.DEFLATED, PLAIN)

    def pack(self, data: bytes) -> bytes:
        """Return a compressed chunk that ends at a byte boundary."""
        return self._packer.compress(data) + self._packer.flush(isal_zlib.Z_FULL_FLUSH)


_packer = _Packer()


class _Stored:
    """A new private file that keeps size and digest of its content, so that it need not be read
    again.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self.digest, self.size = hashlib.sha256(), 0

    def write(self, data: bytes) -> None:
        """Write all of the data. Raises OSError."""
        left = memoryview(data)
        while left:
            written = os.write(self._fd, left)
            self.digest.update(left[:written])
            self.size, left = self.size + written, left[written:]

    def close(self) -> None:
        """Close the file; further calls do nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class RawFile:
    """One stream of one command in `raw/`. `offset` counts the uncompressed bytes so far.

    If the disk fails, the journal records it, and the rest is not saved.
    """

    def __init__(
        self,
        run_dir: Path,
        name: str,
        host: str,
        *,
        keep: bool = False,
        journal: Journal | None = None,
    ) -> None:
        self.run_dir = run_dir
        self.path = run_dir / RAW_DIR / f"{name}.gz"
        self.host = host
        self.offset = 0
        self._journal = journal
        self._refused = False
        # may be missing in a recovered run
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        self._before = self.path.with_suffix(".before") if keep else None
        if self._before is not None and self.path.exists() and not self._before.exists():
            self.path.replace(self._before)
        self._stored = _Stored(self.path)
        self._check = 0  # CRC-32 of all bytes

    def restore(self) -> Iterator[bytes]:
        """Continue the file of a dead engine, which may end anywhere, and yield its content."""
        if self._before is None or not self._before.exists():
            return
        for piece in readable(self._before):
            self.write(piece)
            yield piece
        self._before.unlink()

    def write(self, data: bytes) -> None:
        """Write bytes, which can be read from the file on return.

        A failure fails the journal; without one, raises OSError.
        """
        self.offset += len(data)
        self._try(lambda: self._write(data))

    def _write(self, data: bytes) -> None:
        self._check = isal_zlib.crc32(data, self._check)
        head = b"" if self._stored.size else HEAD
        self._stored.write(head + _packer.pack(data))

    def _finish(self) -> None:
        head = b"" if self._stored.size else HEAD
        end = struct.pack("<II", self._check, self.offset & 0xFFFFFFFF)
        self._stored.write(head + LAST_BLOCK + end)

    def _try(self, work: Callable[[], object]) -> None:
        """Run a file operation, unless one has failed before."""
        if self._refused or (self._journal is not None and self._journal.failed):
            return
        try:
            work()
        except OSError as error:
            self._refused = True
            if self._journal is None:
                raise
            self._journal.fail(error)

    def close(self) -> Artefact:
        """Finish the file and return its artefact."""
        self._try(self._finish)
        self._stored.close()
        return Artefact(
            t=0.0,
            path=str(self.path.relative_to(self.run_dir)),
            bytes=self._stored.size,
            sha256=self._stored.digest.hexdigest(),
            host=self.host,
        )


def readable(path: Path) -> Iterator[bytes]:
    """Yield the readable bytes of a gzip file, which may be truncated."""
    inflate = zlib.decompressobj(GZIP)
    with open_plain(path) as stored:
        while block := stored.read(1 << 16):
            while block:
                try:
                    piece = inflate.decompress(block, PIECE_BYTES)
                except zlib.error:
                    return
                block = inflate.unconsumed_tail
                if piece:
                    yield piece
