"""What a tool printed, untouched, compressed while it arrives."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from pathlib import Path

from tui.model.event import Artefact

COMPRESSION = 1  # 64 hosts x 40 KB/s must not cost a core; text this repetitive shrinks tenfold anyway


class RawFile:
    """One stream of one command in `raw/`. `offset` counts the uncompressed bytes taken so far."""

    def __init__(self, run_dir: Path, name: str, host: str) -> None:
        self.run_dir = run_dir
        self.path = run_dir / "raw" / f"{name}.gz"
        self.host = host
        self.offset = 0
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._raw = os.fdopen(descriptor, "wb")
        self._gzip = gzip.GzipFile(filename="", mode="wb", compresslevel=COMPRESSION, fileobj=self._raw)

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
