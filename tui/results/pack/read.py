"""Reading a packed run: nothing of it is believed before its sum was checked, and nothing lands elsewhere."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import struct
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tui.metrics import units
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.results.pack.manifest import (
    MANIFEST_FILE,
    MOST_MANIFEST_BYTES,
    MOST_SIGNATURE_BYTES,
    SIGNATURE_FILE,
    Manifest,
    PackedFile,
    parse_manifest,
)

BLOCK = 1 << 20
PIECE = 512  # a block of the archive: so much at once where it is damaged
END = struct.Struct("<II")  # behind a gzip stream: the sum of its bytes, and how many they are
HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # gzip's, as packed runs have it: no sum protects these bytes
PLAIN_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE)


@dataclass(frozen=True, slots=True)
class Packed:
    """What a packed run is: its manifest, as it stands there, and the signature when there is one."""

    manifest: Manifest
    text: bytes
    signature: bytes | None


class _Inflated(io.RawIOBase):
    """The bytes of a gzip file that is one whole stream and nothing else. Raises zlib.error, EOFError.

    Little by little, and its sum last: what is damaged is met where it stands, and its file can be named.
    """

    def __init__(self, stored: IO[bytes]) -> None:
        self._stored = stored
        self._inflate = zlib.decompressobj(wbits=-15)
        self._ready = b""
        self._at = self._length = self._sum = 0
        self._most, self._over = BLOCK, False
        if stored.read(len(HEADER)) != HEADER:
            raise zlib.error("its header is not that of a packed run")

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer at the end."""
        pieces, wanted = [], size if size >= 0 else 1 << 62
        while wanted and (piece := self._some(wanted)):
            pieces.append(piece)
            wanted -= len(piece)
        return b"".join(pieces)

    def _some(self, wanted: int) -> bytes:
        while self._at >= len(self._ready):
            if self._inflate.eof:
                self._check_end()
                return b""
            fresh = self._inflate.unconsumed_tail or self._stored.read(BLOCK)
            self._ready, self._at = self._inflated(fresh), 0
            if not fresh and not self._ready and not self._inflate.eof:
                raise EOFError("it ends too early")
            self._sum, self._length = zlib.crc32(self._ready, self._sum), self._length + len(self._ready)
        piece = self._ready[self._at : self._at + wanted]
        self._at += len(piece)
        return piece

    def _inflated(self, fresh: bytes) -> bytes:
        """Return the next bytes; where they are damaged only those before, that their file is not named for another."""
        before = self._inflate.copy()
        try:
            return self._inflate.decompress(fresh, self._most)
        except zlib.error:
            if self._most == PIECE:
                raise
        self._inflate, self._most = before, PIECE
        return self._inflate.decompress(fresh, PIECE)

    def _check_end(self) -> None:
        if self._over:
            return
        self._over = True
        end = self._inflate.unused_data
        end += self._stored.read(max(0, END.size + 1 - len(end)))
        if len(end) < END.size:
            raise EOFError("it ends too early")
        if len(end) > END.size:
            raise zlib.error("something follows its end")
        if END.unpack(end) != (self._sum, self._length & 0xFFFFFFFF):
            raise zlib.error("its sum is not that of its bytes")


def read_pack(file: Path, into: Path | None = None) -> Packed:
    """Return what a packed run is after every byte of it was checked; its files are written `into` a new directory.

    Raises BenchtuiError with the name of the file that is not as it was packed.
    """
    place = MANIFEST_FILE
    try:
        with file.open("rb") as stored, tarfile.open(fileobj=_Inflated(stored), mode="r|") as archive:
            members = iter(archive)
            packed, held = _head(archive, members)
            waiting = {f"{packed.manifest.run_id}/{each.path}": each for each in packed.manifest.files}
            _check_room(packed.manifest, into)
            while held is not None:
                wanted = _wanted(held, waiting)
                place = wanted.path
                _take(archive, held, wanted, into)
                held = next(members, None)
            if waiting:
                place = next(iter(waiting.values())).path
                raise BenchtuiError("is in the manifest and not in the file")
            place = "the end"
            _drain(archive)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be read: {error.strerror}", file=str(error.filename or file))) from error
    except (zlib.error, EOFError, tarfile.TarError, ValueError, OverflowError) as error:
        raise BenchtuiError(Problem(f"{place}: damaged: {error}", file=str(file))) from error
    except UsageError as error:
        raise BenchtuiError(Problem(f"refused: {error}", file=str(file))) from error
    except BenchtuiError as error:
        raise BenchtuiError(Problem(f"{place}: {error}", file=str(file))) from error
    return packed


def _head(archive: tarfile.TarFile, members: Iterator[tarfile.TarInfo]) -> tuple[Packed, tarfile.TarInfo | None]:
    """Return the manifest and the signature, which come first, and the member behind them."""
    member = next(members, None)
    if member is None or member.name.partition("/")[2] != MANIFEST_FILE:
        raise UsageError("is no packed run: its first file is no manifest")
    text = _whole(archive, member, MOST_MANIFEST_BYTES)
    manifest = parse_manifest(text)
    if member.name != f"{manifest.run_id}/{MANIFEST_FILE}":
        raise UsageError(f"{member.name!r} is not the directory of {manifest.run_id}")
    member = next(members, None)
    if member is None or member.name != f"{manifest.run_id}/{SIGNATURE_FILE}":
        return Packed(manifest, text, None), member
    return Packed(manifest, text, _whole(archive, member, MOST_SIGNATURE_BYTES)), next(members, None)


def _whole(archive: tarfile.TarFile, member: tarfile.TarInfo, most: int) -> bytes:
    if member.type not in PLAIN_KINDS or member.size > most:
        raise UsageError(f"{member.name!r} is no plain file, or larger than {most} bytes")
    data = archive.extractfile(member)
    return data.read() if data is not None else b""


def _check_room(manifest: Manifest, into: Path | None) -> None:
    if into is not None and (free := shutil.disk_usage(into.parent).free) < manifest.bytes:
        raise UsageError(f"takes {units.size(manifest.bytes)}, {units.size(free)} are left in {into.parent}")


def _wanted(member: tarfile.TarInfo, waiting: dict[str, PackedFile]) -> PackedFile:
    """Return what the manifest says of a member, once."""
    wanted = waiting.pop(member.name, None)
    if wanted is None:
        raise UsageError(f"{member.name!r} is not in the manifest, or twice in the file")
    if member.type not in PLAIN_KINDS or member.issparse():
        raise UsageError(f"{member.name!r} is no plain file")
    if member.size != wanted.bytes:
        raise BenchtuiError(f"has {member.size} bytes, {wanted.bytes} in the manifest")
    return wanted


def _take(archive: tarfile.TarFile, member: tarfile.TarInfo, wanted: PackedFile, into: Path | None) -> None:
    """Check the sum of a file, and write it."""
    digest, data = hashlib.sha256(), archive.extractfile(member)
    with _new_file(into, wanted.path) as target:
        while data is not None and (block := data.read(BLOCK)):
            digest.update(block)
            if target is not None:
                target.write(block)
    if digest.hexdigest() != wanted.sha256:
        raise BenchtuiError("its SHA-256 is not that of the manifest")


@contextmanager
def _new_file(into: Path | None, name: str) -> Iterator[IO[bytes] | None]:
    if into is None:
        yield None
        return
    path = into / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
        yield target


def _drain(archive: tarfile.TarFile) -> None:
    """Read on to the end: a sum stands there, and nothing may follow but the padding of the archive."""
    stream = archive.fileobj
    while stream is not None and (block := stream.read(BLOCK)):
        if block.strip(b"\0"):
            raise BenchtuiError("something follows the last file")
