"""What a tool printed, untouched, compressed while it arrives."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from tui.model.event import Artefact

COMPRESSION = 1  # 64 hosts x 40 KB/s must not cost a core; text this repetitive shrinks tenfold anyway


class RawFile:
    """One stream of one command in `raw/`. `offset` counts the uncompressed bytes taken so far."""

    def __init__(self, run_dir: Path, name: str, host: str, *, keep: bool = False) -> None:
        self.run_dir = run_dir
        self.path = run_dir / "raw" / f"{name}.gz"
        self.host = host
        self.offset = 0
        self._before = self.path.with_suffix(".before") if keep else None
        if self._before is not None and self.path.exists():
            self.path.replace(self._before)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._raw = os.fdopen(descriptor, "wb")
        self._gzip = gzip.GzipFile(filename="", mode="wb", compresslevel=COMPRESSION, fileobj=self._raw)

    def restore(self) -> Iterator[bytes]:
        """Take over, and yield, what a dead engine had written; its file may end anywhere."""
        if self._before is None or not self._before.exists():
            return
        for piece in readable(self._before):
            self.write(piece)
            yield piece
        self._before.unlink()

    def write(self, data: bytes) -> None:
        """Take bytes; they are readable in the file when this returns."""
        self._gzip.write(data)
        self._gzip.flush(zlib.Z_SYNC_FLUSH)
        self.offset += len(data)

    def close(self) -> Artefact:
        """Finish the file and return what is kept."""
        self._gzip.close()
        self._raw.close()
        digest = hashlib.sha256()
        with self.path.open("rb") as stored:
            while block := stored.read(1 << 20):
                digest.update(block)
        return Artefact(
            t=0.0,
            path=str(self.path.relative_to(self.run_dir)),
            bytes=self.path.stat().st_size,
            sha256=digest.hexdigest(),
            host=self.host,
        )


def readable(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a gzip file as far as they can be read: it may have been cut anywhere."""
    inflate = zlib.decompressobj(wbits=31)
    with path.open("rb") as stored:
        while block := stored.read(1 << 16):
            try:
                piece = inflate.decompress(block)
            except zlib.error:
                return
            if piece:
                yield piece
