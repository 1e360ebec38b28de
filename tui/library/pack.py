"""Pack a run into one file; read packed runs and verify every checksum."""

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
    """A packed run: its manifest, the manifest's exact text, and its signature if it has one."""

    manifest: Manifest
    text: bytes
    signature: bytes | None


def read_pack(file: Path, into: Path | None = None) -> PackedRun:
    """Read a packed run and verify every byte; with `into`, write its files to that new directory.

    Raises BenchtuiError naming a file that was changed.
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
                _extract(archive, held, wanted, into)
                held = next(members, None)
            if waiting:
                place = next(iter(waiting.values())).path
                raise BenchtuiError("listed in the manifest, but not in the file")
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
    """Return manifest and signature, which come first in the archive, and the next member."""
    member = next(members, None)
    if member is None or member.name.partition("/")[2] != MANIFEST_FILE:
        raise UsageError("not a packed run: its first file is not a manifest")
    text = _whole(archive, member, MOST_MANIFEST_BYTES)
    manifest = parse_manifest(text)
    if member.name != f"{manifest.run_id}/{MANIFEST_FILE}":
        raise UsageError(f"found {member.name!r}; expected {manifest.run_id}/{MANIFEST_FILE}")
    member = next(members, None)
    if member is None or member.name != f"{manifest.run_id}/{SIGNATURE_FILE}":
        return PackedRun(manifest, text, None), member
    return PackedRun(manifest, text, _whole(archive, member, MOST_SIGNATURE_BYTES)), next(
        members, None
    )


def _whole(archive: TarStream, member: tarfile.TarInfo, most: int) -> bytes:
    if not is_plain(member) or member.size > most:
        raise UsageError(f"{member.name!r} is not a regular file, or larger than {most} bytes")
    return b"".join(archive.data(member))


def _check_room(manifest: Manifest, into: Path | None) -> None:
    if into is not None and (free := shutil.disk_usage(into.parent).free) < manifest.bytes:
        raise UsageError(
            f"needs {units.size(manifest.bytes)}, only {units.size(free)} free in {into.parent}"
        )


def _wanted(member: tarfile.TarInfo, waiting: dict[str, PackedFile]) -> PackedFile:
    """Return the manifest's entry for a member; each may occur only once."""
    wanted = waiting.pop(member.name, None)
    if wanted is None:
        raise UsageError(f"{member.name!r} is not in the manifest, or occurs twice")
    if not is_plain(member):
        raise UsageError(f"{member.name!r} is not a regular file")
    if member.size != wanted.bytes:
        raise BenchtuiError(f"has {member.size} bytes; expected {wanted.bytes}, as in the manifest")
    return wanted


def _extract(
    archive: TarStream, member: tarfile.TarInfo, wanted: PackedFile, into: Path | None
) -> None:
    """Verify the checksum of a file while writing it to `into`."""
    digest = hashlib.sha256()
    with _new_file(into, wanted.path) as target:
        for block in archive.data(member):
            digest.update(block)
            if target is not None:
                target.write(block)
    if digest.hexdigest() != wanted.sha256:
        raise BenchtuiError("SHA-256 does not match the manifest")


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
    """Read to the end of the file, which verifies its checksum; only padding may follow the last
    member.
    """
    for block in archive.rest():
        if block.strip(b"\0"):
            raise BenchtuiError("data after the last file")


def pack(
    run_dir: Path, output: Path, key: Path | None = None, report: bytes | None = None
) -> Manifest:
    """Pack a finished run into a new file, with a report if given; sign it if a key is given.

    Raises BenchtuiError.
    """
    check_free(output)
    record = run_dir / RECORD_FILE
    if record.is_symlink() or (record.exists() and not record.is_file()):
        raise UsageError(
            Problem("is not a regular file; the run cannot be packed", file=str(record))
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
    """Raise UsageError if the file exists, because nothing is overwritten."""
    if output.exists():
        raise UsageError(Problem("already exists", file=str(output)))


def _files_of(run_dir: Path) -> Iterator[PackedFile]:
    """Yield the files to pack: regular files, except those specific to this machine.

    Skips an existing report, because a new one is made.
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
                    Problem("is not a regular file; the run cannot be packed", file=str(path))
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
    """Rename a file without overwriting one created meanwhile; also works without hard links.

    Raises OSError, including FileExistsError.
    """
    try:
        os.link(temporary, output)
    except FileExistsError:
        raise
    except OSError:  # EPERM, ENOTSUP, ENOSYS, EXDEV, ...: file systems refuse a link in many ways
        output.touch(mode=0o600, exist_ok=False)  # from here on the name belongs to this pack
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
