"""Remember which files this user's runs created on hosts; later runs may overwrite them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct, field

from tui.model.bounded import NO_JSON, check_plain, read_file
from tui.model.plan import FileSpec

MADE_FILES = "made-files.jsonl"  # next to the directory of all runs
COMPACT_BYTES = 8 << 20


class MadeFilesEntry(Struct, omit_defaults=True):
    """Files of one size created on a host, or removed. Size 0 means unknown."""

    host: str
    size: int = 0
    made: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    # their identities by path: see tui/model/plan.py
    known: dict[str, str] = field(default_factory=dict)


class Files(Struct):
    """Files of a host: sizes when created, and identities."""

    sizes: dict[str, int] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)


_decoder = msgspec.json.Decoder(MadeFilesEntry)


class MadeFiles:
    """Files that runs created, by host and path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # read once; entries that other engines add meanwhile belong to their runs
        self._read_files: dict[str, Files] | None = None

    @classmethod
    def beside(cls, run_dir: Path) -> MadeFiles:
        """Return the file list stored next to the runs directory that contains `run_dir`."""
        return cls(run_dir.absolute().parent.parent / MADE_FILES)

    def sizes(self, host: str) -> dict[str, int]:
        """Return the files created on a host with their original sizes in bytes; 0: unknown."""
        return self.on(host).sizes

    def identities(self, host: str) -> dict[str, str]:
        """Return the known identities of files created on a host; none for files of a run that was
        interrupted before it recorded them.
        """
        return self.on(host).known

    def on(self, host: str) -> Files:
        """Return the files created on a host, with sizes and identities."""
        if self._read_files is None:
            self._read_files = self._read()
        return self._read_files.setdefault(host, Files())

    def add(self, host: str, specs: Iterable[FileSpec]) -> None:
        """Remember files that are about to be written."""
        wanted: dict[int, list[str]] = {}
        files = self.on(host)
        for spec in specs:
            # a change time, which writing will update
            changes = " c:" in files.known.get(spec.path, "")
            if files.sizes.get(spec.path, -1) < spec.size_bytes or changes:
                wanted.setdefault(spec.size_bytes, []).append(spec.path)
        self._append([MadeFilesEntry(host, size, made=paths) for size, paths in wanted.items()])

    def identify(self, host: str, known: Mapping[str, str]) -> None:
        """Remember the identities of created files."""
        before = self.on(host)
        if new := {
            path: what
            for path, what in known.items()
            if path in before.sizes and before.known.get(path) != what
        }:
            self._append([MadeFilesEntry(host, known=new)])

    def forget(self, host: str, paths: Iterable[str]) -> None:
        """Forget removed files; a new file at such a path is foreign."""
        known = self.sizes(host)
        if gone := [path for path in paths if path in known]:
            self._append([MadeFilesEntry(host, gone=gone)])

    def _read(self) -> dict[str, Files]:
        found: dict[str, Files] = {}
        with suppress(OSError):
            for line in read_file(self.path).splitlines():
                with suppress(*NO_JSON):
                    _apply(found, _decoder.decode(line))
        return found

    def _append(self, entries: list[MadeFilesEntry]) -> None:
        if not entries:
            return
        for entry in entries:
            _apply(self._read_files if self._read_files is not None else {}, entry)
        with suppress(OSError), self._locked() as descriptor:
            os.write(descriptor, b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
            if os.fstat(descriptor).st_size > COMPACT_BYTES:
                self._compact(descriptor)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o600)
        try:
            check_plain(descriptor, self.path)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _compact(self, descriptor: int) -> None:
        """Rewrite the file with current entries only.

        An interruption can lose entries but never adds wrong ones.
        """
        found = self._read()
        os.ftruncate(descriptor, 0)
        for host, files in found.items():
            by_size: dict[int, list[str]] = {}
            for path, size in files.sizes.items():
                by_size.setdefault(size, []).append(path)
            entries = [MadeFilesEntry(host, size, made=paths) for size, paths in by_size.items()]
            entries += [MadeFilesEntry(host, known=files.known)] if files.known else []
            os.write(descriptor, b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))


def _apply(found: dict[str, Files], entry: MadeFilesEntry) -> None:
    files = found.setdefault(entry.host, Files())
    for path in entry.made:
        files.sizes[path] = max(entry.size, files.sizes.get(path, 0))
        files.known.pop(path, None)  # about to be created; recorded again afterwards
    files.known.update(entry.known)
    for path in entry.gone:
        files.sizes.pop(path, None)
        files.known.pop(path, None)
