"""Packing a run into one file."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

import tui
from tui.model.bounded import open_plain
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import OF_THIS_MACHINE, RECORD_FILE, REPORT_FILE
from tui.model.utc import format_utc
from tui.results.pack.manifest import MANIFEST_FILE, SCHEMA, SIGNATURE_FILE, Manifest, PackedFile, check_name
from tui.results.pack.signature import sign
from tui.results.pack.stream import Deflated
from tui.results.store.sums import sha256_of


def pack(run_dir: Path, output: Path, key: Path | None = None, report: bytes | None = None) -> Manifest:
    """Put a run that is over into one new file, with a report when there is one, signed when a key is given.

    Raises BenchtuiError.
    """
    check_free(output)
    record = run_dir / RECORD_FILE
    if record.is_symlink() or (record.exists() and not record.is_file()):
        raise UsageError(Problem("is no plain file: a run that holds it cannot be packed", file=str(record)))
    if not record.is_file():
        raise UsageError(f"{run_dir.name} has no {RECORD_FILE}: finish it first (benchtui runs recover)")
    try:
        files = list(_files_of(run_dir))
        if report is not None:
            files.append(PackedFile(REPORT_FILE, len(report), hashlib.sha256(report).hexdigest()))
        manifest = Manifest(SCHEMA, run_dir.name, format_utc(datetime.now(UTC)), tui.__version__, files)
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
        signature = sign(text, key) if key is not None else None
        _write(run_dir, output, manifest, {MANIFEST_FILE: text, SIGNATURE_FILE: signature}, report)
    except OSError as error:
        raise BenchtuiError(Problem(f"{error.strerror or error}", file=str(error.filename or output))) from error
    return manifest


def check_free(output: Path) -> None:
    """Raise UsageError when there is a file of that name: none is written over."""
    if output.exists():
        raise UsageError(Problem("exists already", file=str(output)))


def _files_of(run_dir: Path) -> Iterator[PackedFile]:
    """Yield what is packed of a run: plain files all of them, without what concerns this machine alone.

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
                raise UsageError(Problem("is no plain file: a run that holds it cannot be packed", file=str(path)))
            check_name(relative)
            yield PackedFile(relative, found.st_size, sha256_of(path))


def _write(
    run_dir: Path, output: Path, manifest: Manifest, head: Mapping[str, bytes | None], report: bytes | None
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
                    archive.addfile(_member(f"{manifest.run_id}/{name}", len(data)), io.BytesIO(data))
            for file in manifest.files:
                with _data_of(run_dir, file, report) as data_of:
                    archive.addfile(_member(f"{manifest.run_id}/{file.path}", file.bytes), data_of)
        put_in_place(temporary, output)
    except OSError as error:
        if error.filename != str(temporary):
            raise
        raise BenchtuiError(Problem(f"cannot be written: {error.strerror}", file=str(output))) from error
    finally:
        temporary.unlink(missing_ok=True)


def put_in_place(temporary: Path, output: Path) -> None:
    """Give a file its name, never over one that came meanwhile, whether or not the file system has hard links.

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
    return io.BytesIO(report) if report is not None and file.path == REPORT_FILE else open_plain(run_dir / file.path)


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member
