"""Pack a run into one file, and read one with every sum checked."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import stat
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

import tui
from tui.library.archives import Deflated, Inflated, TarStream, is_plain
from tui.library.manifest import (
    MANIFEST_FILE,
    MOST_MANIFEST_BYTES,
    MOST_SIGNATURE_BYTES,
    SCHEMA,
    SIGNATURE_FILE,
    Manifest,
    PackedFile,
    check_name,
    parse_manifest,
    sha256_of,
    sign,
)
from tui.metrics import units
from tui.model.bounded import open_plain
from tui.model.plain_data import format_utc
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import OF_THIS_MACHINE, RECORD_FILE, REPORT_FILE


@dataclass(frozen=True, slots=True)
class PackedRun:
    """What a packed run is: its manifest, as it stands there, and the signature when there is
    one.
    """

    manifest: Manifest
    text: bytes
    signature: bytes | None


def read_pack(file: Path, into: Path | None = None) -> PackedRun:
    """Return what a packed run is after every byte of it was checked; its files are written `into`
    a new directory.

    Raises BenchtuiError with the name of the file that is not as it was packed.
    """
    place = MANIFEST_FILE
    try:
        with open_plain(file, pipes=True) as stored:
            archive = TarStream(Inflated(stored))
            members = archive.members()
            packed, held = _head(archive, members)
            waiting = {
                f"{packed.manifest.run_id}/{each.path}": each for each in packed.manifest.files
            }
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
        raise BenchtuiError(
            Problem(f"cannot be read: {error.strerror}", file=str(error.filename or file))
        ) from error
    except (zlib.error, EOFError, tarfile.TarError, ValueError, OverflowError) as error:
        raise BenchtuiError(Problem(f"{place}: damaged: {error}", file=str(file))) from error
    except UsageError as error:
        raise BenchtuiError(Problem(f"refused: {error}", file=str(file))) from error
    except BenchtuiError as error:
        raise BenchtuiError(Problem(f"{place}: {error}", file=str(file))) from error
    return packed


def _head(
    archive: TarStream, members: Iterator[tarfile.TarInfo]
) -> tuple[PackedRun, tarfile.TarInfo | None]:
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
        return PackedRun(manifest, text, None), member
    return PackedRun(manifest, text, _whole(archive, member, MOST_SIGNATURE_BYTES)), next(
        members, None
    )


def _whole(archive: TarStream, member: tarfile.TarInfo, most: int) -> bytes:
    if not is_plain(member) or member.size > most:
        raise UsageError(f"{member.name!r} is no plain file, or larger than {most} bytes")
    return b"".join(archive.data(member))


def _check_room(manifest: Manifest, into: Path | None) -> None:
    if into is not None and (free := shutil.disk_usage(into.parent).free) < manifest.bytes:
        raise UsageError(
            f"takes {units.size(manifest.bytes)}, {units.size(free)} are left in {into.parent}"
        )


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


def _take(
    archive: TarStream, member: tarfile.TarInfo, wanted: PackedFile, into: Path | None
) -> None:
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
    """Read on to the end: a sum stands there, and nothing may follow but the padding of the
    archive.
    """
    for block in archive.rest():
        if block.strip(b"\0"):
            raise BenchtuiError("something follows the last file")


def pack(
    run_dir: Path, output: Path, key: Path | None = None, report: bytes | None = None
) -> Manifest:
    """Put a run that is over into one new file, with a report when there is one, signed when a key
    is given.

    Raises BenchtuiError.
    """
    check_free(output)
    record = run_dir / RECORD_FILE
    if record.is_symlink() or (record.exists() and not record.is_file()):
        raise UsageError(
            Problem("is no plain file: a run that holds it cannot be packed", file=str(record))
        )
    if not record.is_file():
        raise UsageError(
            f"{run_dir.name} has no {RECORD_FILE}: finish it first (benchtui runs recover)"
        )
    try:
        files = list(_files_of(run_dir))
        if report is not None:
            files.append(PackedFile(REPORT_FILE, len(report), hashlib.sha256(report).hexdigest()))
        manifest = Manifest(
            SCHEMA, run_dir.name, format_utc(datetime.now(UTC)), tui.__version__, files
        )
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
        signature = sign(text, key) if key is not None else None
        _write(run_dir, output, manifest, {MANIFEST_FILE: text, SIGNATURE_FILE: signature}, report)
    except OSError as error:
        raise BenchtuiError(
            Problem(f"{error.strerror or error}", file=str(error.filename or output))
        ) from error
    return manifest


def check_free(output: Path) -> None:
    """Raise UsageError when there is a file of that name: none is written over."""
    if output.exists():
        raise UsageError(Problem("exists already", file=str(output)))


def _files_of(run_dir: Path) -> Iterator[PackedFile]:
    """Yield what is packed of a run: plain files all of them, without what concerns this machine
    alone.

    A report that lies there is of another time: it is made anew.
    """
    for folder, folders, names in os.walk(run_dir):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            relative = path.relative_to(run_dir).as_posix()
            if relative in (*OF_THIS_MACHINE, REPORT_FILE) or name.startswith("."):
                continue
            found = path.lstat()
            if not stat.S_ISREG(found.st_mode):
                raise UsageError(
                    Problem(
                        "is no plain file: a run that holds it cannot be packed", file=str(path)
                    )
                )
            check_name(relative)
            yield PackedFile(relative, found.st_size, sha256_of(path))


def _write(
    run_dir: Path,
    output: Path,
    manifest: Manifest,
    head: Mapping[str, bytes | None],
    report: bytes | None,
) -> None:
    temporary = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    try:
        with (
            temporary.open("xb") as stored,
            Deflated(stored) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
        ):
            for name, data in head.items():
                if data is not None:
                    archive.addfile(
                        _member(f"{manifest.run_id}/{name}", len(data)), io.BytesIO(data)
                    )
            for file in manifest.files:
                with _data_of(run_dir, file, report) as data_of:
                    archive.addfile(_member(f"{manifest.run_id}/{file.path}", file.bytes), data_of)
        put_in_place(temporary, output)
    except OSError as error:
        if error.filename != str(temporary):
            raise
        raise BenchtuiError(
            Problem(f"cannot be written: {error.strerror}", file=str(output))
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def put_in_place(temporary: Path, output: Path) -> None:
    """Give a file its name, never over one that came meanwhile, whether or not the file system has
    hard links.

    Raises OSError, FileExistsError among them.
    """
    try:
        os.link(temporary, output)
    except FileExistsError:
        raise
    except OSError:  # EPERM, ENOTSUP, ENOSYS, EXDEV, ...: file systems refuse a link in many ways
        output.touch(mode=0o600, exist_ok=False)  # the name is ours from here on
        try:
            temporary.replace(output)
        except OSError:
            output.unlink()
            raise


def _data_of(run_dir: Path, file: PackedFile, report: bytes | None) -> IO[bytes]:
    return (
        io.BytesIO(report)
        if report is not None and file.path == REPORT_FILE
        else open_plain(run_dir / file.path)
    )


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member
