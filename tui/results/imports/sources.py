"""Kept files as they are given: files, directories, archives; packed or not. Nothing is written anywhere."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from tui.model.problem import Problem, UsageError
from tui.workloads.base import KeptFile

MOST_BYTES = 256 << 20  # of one file, and of all that is in a directory or an archive
MOST_FILES = 20_000
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".zip")
PACKED: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    ".gz": lambda data: gzip.open(data, "rb"),  # type: ignore[dict-item, return-value]  # noqa: SIM115
    ".xz": lambda data: lzma.open(data, "rb"),  # noqa: SIM115
    ".bz2": lambda data: bz2.open(data, "rb"),  # noqa: SIM115  # closed by whom it is given to
}
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, ValueError)
BROKEN_ZIP = (NotImplementedError, RuntimeError)  # a method of packing that is not known, a password


LeftOut = list[tuple[str, Problem]]


@dataclass(frozen=True, slots=True)
class Source:
    """One thing that was given: `files` are what it holds, `is_tree` that it is a directory or an archive.

    `left_out` are the names in a tree that could not be read, each with the reason.
    """

    path: Path
    files: list[KeptFile]
    is_tree: bool
    left_out: LeftOut = field(default_factory=list)


def read_source(path: Path) -> Source:
    """Return what a path holds. Raises UsageError with what cannot be read, or is too large."""
    left_out: LeftOut = []
    try:
        if path.is_dir():
            return Source(path, list(_of_directory(path, left_out)), is_tree=True, left_out=left_out)
        if path.stat().st_size > MOST_BYTES:
            raise _too_large(path)
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from None
    if path.name.lower().endswith(ARCHIVES):
        return Source(path, list(_of_archive(path, data, left_out)), is_tree=True, left_out=left_out)
    name, data = unpacked(path.name, data, str(path))
    return Source(path, [KeptFile(name, str(path), _text(data, str(path)))], is_tree=False)


def unpacked(name: str, data: bytes, place: str) -> tuple[str, bytes]:
    """Return the name and content of a file that may be packed. Raises UsageError."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in PACKED:
        return name, data
    try:
        with PACKED[suffix](io.BytesIO(data)) as stream:
            content = stream.read(MOST_BYTES + 1)
    except BROKEN as error:
        raise UsageError(Problem(f"cannot be unpacked: {error}", file=place)) from None
    if len(content) > MOST_BYTES:
        raise _too_large(place)
    return name[: -len(suffix)], content


def _too_large(place: object) -> UsageError:
    return UsageError(Problem(f"is larger than {MOST_BYTES >> 20} MiB: that is no output", file=str(place)))


def _text(data: bytes, place: str) -> str:
    """Return the text of a file that must be one. Raises UsageError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(Problem(f"not UTF-8 text: byte {error.start}", file=place)) from None


def _of_directory(path: Path, left_out: LeftOut) -> Iterator[KeptFile]:
    names = (found for found in _below(path, left_out) if found.is_file() and not found.is_symlink())
    yield from _bounded(
        ((found.relative_to(path).as_posix(), str(found), found.stat().st_size, found.read_bytes) for found in names),
        str(path),
        left_out,
    )


def _below(path: Path, left_out: LeftOut) -> list[Path]:
    """Return the files below a directory. One that cannot be looked into is `left_out`, `path` itself an OSError."""
    failed: list[OSError] = []
    found = sorted(Path(place, name) for place, _, names in os.walk(path, onerror=failed.append) for name in names)
    for error in failed:
        if error.filename == str(path):
            raise error
        name = Path(error.filename).relative_to(path).as_posix()
        left_out.append((name, Problem(f"cannot be read: {error.strerror}", file=error.filename)))
    return found


def _of_archive(path: Path, data: bytes, left_out: LeftOut) -> Iterator[KeptFile]:
    try:
        if path.name.lower().endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                yield from _bounded(_zipped(packed, path), str(path), left_out)
            return
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
            yield from _bounded(_members(archive, path), str(path), left_out)
    except BROKEN + BROKEN_ZIP as error:
        raise UsageError(Problem(f"cannot be unpacked: {error}", file=str(path))) from None


Entry = tuple[str, str, int, Callable[[], bytes]]  # name, place, size, content


def _zipped(packed: zipfile.ZipFile, path: Path) -> Iterator[Entry]:
    for info in packed.infolist():
        if not info.is_dir():
            yield info.filename, f"{path}:{info.filename}", info.file_size, partial(packed.read, info)


def _members(archive: tarfile.TarFile, path: Path) -> Iterator[Entry]:
    """Yield the files of an archive: links and devices are none."""
    for member in archive:
        stream = archive.extractfile(member) if member.isfile() else None
        if stream is not None:
            yield member.name, f"{path}:{member.name}", member.size, stream.read


def _bounded(entries: Iterator[Entry], place: str, left_out: LeftOut) -> Iterator[KeptFile]:
    """Yield the texts among files; what is no text is none of ours. Raises UsageError when there is too much.

    A file that cannot be read or unpacked is `left_out`: it may be nothing that anybody wanted.
    """
    total = 0
    for count, (name, where, size, content) in enumerate(entries):
        total += size
        if total > MOST_BYTES or count >= MOST_FILES:
            raise UsageError(
                Problem(f"holds more than {MOST_FILES} files, or {MOST_BYTES >> 20} MiB: name a part of it", file=place)
            )
        try:
            plain, data = unpacked(name.removeprefix("./"), content(), where)
        except UsageError as error:
            left_out += [(name, problem) for problem in error.problems]
            continue
        except BROKEN + BROKEN_ZIP as error:
            why = getattr(error, "strerror", None) or error
            left_out.append((name, Problem(f"cannot be read: {why}", file=where)))
            continue
        total += len(data) - size if len(data) > size else 0
        if b"\0" in data[:4096]:
            continue
        yield KeptFile(plain, where, data.decode("utf-8-sig", "replace"))
