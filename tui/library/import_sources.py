"""Read files to import from files, directories and archives, compressed or not; find impossible
numbers.
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO

from msgspec import Struct
from msgspec.structs import fields

from tui.library.archives import (
    BROKEN,
    UNPACKED_BLOCK,
    BlockReader,
    TarStream,
    is_plain,
    packed_as,
    sign_of,
    unpacked,
)
from tui.model.bounded import MOST_NUMBER, MOST_STAMP_MS, open_plain
from tui.model.event import HostResult, MetadataResult
from tui.model.problem import Problem, UsageError
from tui.workloads.base import ImportedOutput, KeptFile
from tui.workloads.reading import TooMuchError, budget

MAY_BE_NAN = ("mean_ns", "stddev_ns")  # NaN: not reported
MAY_BE_LESS = ("shift", "t", "step", "place")  # -1: unknown; benchtui sets indices itself
MOST_OF = {
    "start_ms": MOST_STAMP_MS,
    "end_ms": MOST_STAMP_MS,
    "host_time_ms": MOST_STAMP_MS,
    "min_ns": 2**64,
}


def impossible(output: ImportedOutput) -> str:
    """Return key and value of the first impossible number in an output; empty if none."""
    parts: list[tuple[str, HostResult | MetadataResult | None]] = [
        ("", output.result),
        ("", output.metadata),
    ]
    for key, part in parts:
        for name, value in _numbers(part, key):
            if not _can_be(name.rpartition(".")[2], value):
                return f"{name} is {value}"
    for sample in output.samples:
        for name, value in _numbers(sample, "sample"):
            if not _can_be(name.rpartition(".")[2], value):
                return f"{name} is {value}"
    return ""


def _can_be(name: str, value: float) -> bool:
    if value != value:
        return name in MAY_BE_NAN
    if name in MAY_BE_LESS:
        return abs(value) <= MOST_NUMBER
    return 0 <= value <= MOST_OF.get(name, MOST_NUMBER)


def _numbers(value: object, key: str) -> Iterator[tuple[str, float]]:
    """Yield the numbers inside a value, each with its key path."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield key, value
    elif isinstance(value, Struct):
        for each in fields(value):
            yield from _numbers(
                getattr(value, each.name), f"{key}.{each.name}" if key else each.name
            )
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _numbers(each, f"{key}.{name}")
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _numbers(each, key)


MOST_BYTES = 64 << 20  # text read at a time, in total
MOST_FILES = 20_000
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".zip")
ZIP_ENTRY = b"PK\x01\x02"  # signature of an entry in the directory of a zip archive
# others take as much memory as they declare
ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
BROKEN_ZIP = (NotImplementedError, RuntimeError, LookupError, ArithmeticError, struct.error)
"""Exceptions that zipfile raises for unknown compression, passwords, or an unreadable directory."""
TEXT_CHECK_BYTES = 4096  # of a file's start: with a NUL byte there, it is not text

LeftOut = list[tuple[str, Problem]]
Blocks = Callable[[], Iterator[bytes]]
Entry = tuple[str, str, Blocks]  # name, place, content


@dataclass(frozen=True, slots=True)
class ImportSource:
    """One path to import: its `files`; `is_tree` if it is a directory or archive.

    `left_out`: files in the tree that could not be read, with reasons.
    """

    path: Path
    files: list[KeptFile]
    is_tree: bool
    left_out: LeftOut = field(default_factory=list)


class Room:
    """Remaining limit on the amount of text read, over all paths."""

    def __init__(self, most: int | None = None) -> None:
        self._most = self._left = MOST_BYTES if most is None else most

    def read(self, blocks: Iterator[bytes], place: str, *, plain: bool) -> bytearray | None:
        """Return the content of a file; None if `plain` text is required and the file is not text.

        Raises TooMuchError.
        """
        data, limits = bytearray(), budget()
        for block in blocks:
            checked = len(data) >= TEXT_CHECK_BYTES
            data += block
            if plain and not checked and b"\0" in data[:TEXT_CHECK_BYTES]:
                self._left += len(data) - len(block)
                return None
            self._left -= len(block)
            if self._left < 0:
                why = (
                    f"more than {self._most >> 20} MiB of text: if it is output of a load "
                    f"generator, import it in parts"
                )
                raise TooMuchError(Problem(why, file=place))
            limits.check(place, len(block))
        return data


def read_source(path: Path, room: Room | None = None) -> ImportSource:
    """Read the content of a path. Raises UsageError if it is unreadable or too large."""
    left_out: LeftOut = []
    room = room or Room()
    try:
        if path.is_dir():
            return ImportSource(
                path, list(_texts(_of_directory(path, left_out), left_out, room)), True, left_out
            )
        with open_plain(path, pipes=True) as file:
            if path.name.lower().endswith(ARCHIVES):
                return ImportSource(
                    path,
                    list(_of_archive(path, file, left_out, room)),
                    is_tree=True,
                    left_out=left_out,
                )
            name, data = _content(path.name, str(path), partial(_blocks, file), room, plain=False)
            return ImportSource(
                path, [KeptFile(name, str(path), _text(data, str(path)))], is_tree=False
            )
    except OSError as error:
        raise UsageError(
            Problem(f"cannot be read: {error.strerror or error}", file=str(path))
        ) from None


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(file.read, UNPACKED_BLOCK), b"")


def _of_file(path: Path) -> Iterator[bytes]:
    with open_plain(path) as file:
        yield from _blocks(file)


def _content(
    name: str, place: str, blocks: Blocks, room: Room, *, plain: bool
) -> tuple[str, bytearray | None]:
    """Return name and content of a file, decompressed. Raises UsageError, `BROKEN`."""
    suffix = packed_as(name)
    if not suffix:
        return name, room.read(blocks(), place, plain=plain)
    try:
        return name[: -len(suffix)], room.read(unpacked(blocks(), suffix), place, plain=plain)
    except BROKEN as error:
        raise UsageError(Problem(f"cannot be unpacked: {error}", file=place)) from None


def _text(data: bytearray | None, place: str) -> str:
    """Decode the text of a file. Raises UsageError if it is not text."""
    try:
        return budget().text(data or b"", place)
    except UnicodeDecodeError as error:
        raise UsageError(
            Problem(f"not UTF-8 text: invalid byte at offset {error.start}", file=place)
        ) from None


def _of_directory(path: Path, left_out: LeftOut) -> Iterator[Entry]:
    for found in _below(path, left_out):
        if found.is_file() and not found.is_symlink():
            yield found.relative_to(path).as_posix(), str(found), partial(_of_file, found)


def _below(path: Path, left_out: LeftOut) -> list[Path]:
    """Return the files below a directory; unreadable ones are added to `left_out`.

    Raises OSError for `path` itself.
    """
    failed: list[OSError] = []
    found: list[Path] = []
    for place, _, names in os.walk(path, onerror=failed.append):
        found += [Path(place, name) for name in names]
        if len(found) > MOST_FILES:
            raise _too_many(str(path))
    for error in failed:
        if error.filename == str(path):
            raise error
        name = Path(error.filename).relative_to(path).as_posix()
        left_out.append((name, Problem(f"cannot be read: {error.strerror}", file=error.filename)))
    return sorted(found)


def _too_many(place: str) -> UsageError:
    return TooMuchError(
        Problem(f"contains more than {MOST_FILES} files: import it in parts", file=place)
    )


def _of_archive(path: Path, file: IO[bytes], left_out: LeftOut, room: Room) -> Iterator[KeptFile]:
    try:
        if path.name.lower().endswith(".zip"):
            _check_zip(file, path)
            with zipfile.ZipFile(file) as packed:
                yield from _texts(_zipped(packed, path), left_out, room)
            return
        blocks = _blocks(file)
        begin = next(blocks, b"")
        whole, suffix = chain([begin], blocks), sign_of(begin)
        stream = TarStream(BlockReader(unpacked(whole, suffix) if suffix else whole))
        yield from _texts(_members(stream, path), left_out, room)
    except BROKEN + BROKEN_ZIP as error:
        raise UsageError(Problem(f"cannot be unpacked: {error}", file=str(path))) from None


def _check_zip(file: IO[bytes], path: Path) -> None:
    """Raise UsageError for an archive with too many files, because zipfile reads the whole
    directory.
    """
    count, tail = 0, b""
    for block in _blocks(file):
        count += (tail + block).count(ZIP_ENTRY)
        tail = block[-len(ZIP_ENTRY) + 1 :]
        if count > MOST_FILES:
            raise _too_many(str(path))
    file.seek(0)


def _zipped(packed: zipfile.ZipFile, path: Path) -> Iterator[Entry]:
    def content(info: zipfile.ZipInfo) -> Iterator[bytes]:
        if info.compress_type not in ZIP_METHODS:
            raise NotImplementedError("That compression method is not supported")
        with packed.open(info) as file:
            yield from _blocks(file)

    for info in packed.infolist():
        if not info.is_dir():
            yield info.filename, f"{path}:{info.filename}", partial(content, info)


def _members(stream: TarStream, path: Path) -> Iterator[Entry]:
    """Yield the regular files of an archive."""
    for count, member in enumerate(stream.members()):
        if count >= MOST_FILES:
            raise _too_many(str(path))
        budget().check(str(path))
        if is_plain(member):
            yield member.name, f"{path}:{member.name}", partial(stream.data, member)


def _texts(entries: Iterator[Entry], left_out: LeftOut, room: Room) -> Iterator[KeptFile]:
    """Yield the text files; skip others.

    A file that cannot be read or decompressed is added to `left_out`, because it may be irrelevant.
    Raises UsageError if there is too much text.
    """
    for name, where, blocks in entries:
        try:
            plain, data = _content(name.removeprefix("./"), where, blocks, room, plain=True)
        except TooMuchError:
            raise
        except UsageError as error:
            left_out += [(name, problem) for problem in error.problems]
        except BROKEN + BROKEN_ZIP as error:
            why = getattr(error, "strerror", None) or error
            left_out.append((name, Problem(f"cannot be read: {why}", file=where)))
        else:
            if data is not None:
                yield KeptFile(plain, where, budget().text(data, where, "replace"))
