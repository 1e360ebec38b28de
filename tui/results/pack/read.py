"""Reading a packed run: nothing of it is believed before its sum was checked, and nothing lands elsewhere."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tui.metrics import units
from tui.model.bounded import open_plain
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
from tui.results.pack.stream import Inflated
from tui.results.tar_stream import TarStream, is_plain


@dataclass(frozen=True, slots=True)
class Packed:
    """What a packed run is: its manifest, as it stands there, and the signature when there is one."""

    manifest: Manifest
    text: bytes
    signature: bytes | None


def read_pack(file: Path, into: Path | None = None) -> Packed:
    """Return what a packed run is after every byte of it was checked; its files are written `into` a new directory.

    Raises BenchtuiError with the name of the file that is not as it was packed.
    """
    place = MANIFEST_FILE
    try:
        with open_plain(file, pipes=True) as stored:
            archive = TarStream(Inflated(stored))
            members = archive.members()
            packed, held = _head(archive, members)
            waiting = {f"{packed.manifest.run_id}/{each.path}": each for each in packed.manifest.files}
            _check_room(packed.manifest, into)
            while held is not None:
                place = held.name.partition("/")[2]
                wanted = _wanted(held, waiting)
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


def _head(archive: TarStream, members: Iterator[tarfile.TarInfo]) -> tuple[Packed, tarfile.TarInfo | None]:
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


def _whole(archive: TarStream, member: tarfile.TarInfo, most: int) -> bytes:
    if not is_plain(member) or member.size > most:
        raise UsageError(f"{member.name!r} is no plain file, or larger than {most} bytes")
    return b"".join(archive.data(member))


def _check_room(manifest: Manifest, into: Path | None) -> None:
    if into is not None and (free := shutil.disk_usage(into.parent).free) < manifest.bytes:
        raise UsageError(f"takes {units.size(manifest.bytes)}, {units.size(free)} are left in {into.parent}")


def _wanted(member: tarfile.TarInfo, waiting: dict[str, PackedFile]) -> PackedFile:
    """Return what the manifest says of a member, once."""
    wanted = waiting.pop(member.name, None)
    if wanted is None:
        raise UsageError(f"{member.name!r} is not in the manifest, or twice in the file")
    if not is_plain(member):
        raise UsageError(f"{member.name!r} is no plain file")
    if member.size != wanted.bytes:
        raise BenchtuiError(f"has {member.size} bytes, {wanted.bytes} in the manifest")
    return wanted


def _take(archive: TarStream, member: tarfile.TarInfo, wanted: PackedFile, into: Path | None) -> None:
    """Check the sum of a file, and write it."""
    digest = hashlib.sha256()
    with _new_file(into, wanted.path) as target:
        for block in archive.data(member):
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


def _drain(archive: TarStream) -> None:
    """Read on to the end: a sum stands there, and nothing may follow but the padding of the archive."""
    for block in archive.rest():
        if block.strip(b"\0"):
            raise BenchtuiError("something follows the last file")
