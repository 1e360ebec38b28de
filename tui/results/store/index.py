"""The summaries of a whole directory of runs in one file: a list of ten thousand runs must not open as many files.

A cache: what it says of a run holds while the run's directory and its record are as they were, else the run is read
again. It can be deleted, damaged or replaced by another writer's at any time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tui.journal.rundir import write_atomic
from tui.model.bounded import read_file
from tui.model.no_json import NO_JSON
from tui.model.rundir import RECORD_FILE
from tui.results.store.summary import RunSummary, summarize, unreadable

INDEX_FILE = ".index.msgpack"
FORMAT = 3  # what was written before may hold text that is not printable
SETTLED_S = 2.0  # what changed later than this may change again without another time stamp
NOT_JUDGED = -1

Stamp = tuple[int, int, int]
"""When the directory of a run changed (ns), when its record did (ns), and the record's size."""


class Entry(Struct, array_like=True, gc=False):
    """One run. `checks` is a place in the table: most runs had the same ones."""

    stamp: Stamp
    checks: int
    summary: RunSummary


class _Index(Struct, array_like=True):
    format: int
    checks: list[list[str]]
    runs: dict[str, Entry]


_decoder = msgspec.msgpack.Decoder(_Index)


class Index:
    """The index of one directory, in `file`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.changed = False
        self.runs: dict[str, Entry] = {}
        self._checks: dict[tuple[str, ...], int] = {}
        self._table: list[list[str]] = []

    @classmethod
    def read(cls, file: Path) -> Index:
        """Return what the file says; nothing when it cannot be read."""
        index = cls(file)
        with suppress(OSError, *NO_JSON):
            found = _decoder.decode(read_file(file))
            if found.format == FORMAT and all(each.checks < len(found.checks) for each in found.runs.values()):
                index.runs, index._table = found.runs, found.checks
                index._checks = {tuple(checks): place for place, checks in enumerate(found.checks)}
        return index

    def find(self, name: str, stamp: Stamp) -> RunSummary | None:
        """Return the summary of a run that has not changed since it was kept."""
        entry = self.runs.get(name)
        if entry is None or entry.stamp != stamp:
            return None
        if entry.checks != NOT_JUDGED:
            entry.summary.checks = self._table[entry.checks]
        return entry.summary

    def keep(self, name: str, stamp: Stamp, summary: RunSummary) -> None:
        """Keep the summary of a run."""
        place = NOT_JUDGED if summary.checks is None else self._place_of(summary.checks)
        self.runs[name] = Entry(stamp, place, summary)
        self.changed = True

    def _place_of(self, checks: list[str]) -> int:
        place = self._checks.setdefault(tuple(checks), len(self._table))
        if place == len(self._table):
            self._table.append(checks)
        return place

    def forget_others(self, names: Iterable[str]) -> None:
        """Drop the runs that are gone."""
        gone = self.runs.keys() - set(names)
        for name in gone:
            del self.runs[name]
        self.changed = self.changed or bool(gone)

    def write(self) -> None:
        """Put the file in place when anything changed; where that cannot be, the next list takes longer."""
        if self.changed:
            for entry in self.runs.values():
                entry.summary.checks = None
            with suppress(OSError):
                write_atomic(self.file, msgspec.msgpack.encode(_Index(FORMAT, self._table, self.runs)), durable=False)
            for name, entry in self.runs.items():
                self.find(name, entry.stamp)
            self.changed = False


def list_directory(
    runs_dir: Path, names: Sequence[str], file: Path, *, keep: bool = True, limit: int | None = None
) -> list[RunSummary]:
    """Return the summaries of these runs of a directory, or of the first `limit`. `file` is where its index is.

    `keep`: runs that had to be read may keep their own summary beside their record.
    """
    index, base = Index.read(file), str(runs_dir)
    found: list[RunSummary] = []
    settled_ns = time.time_ns() - int(SETTLED_S * 1e9)
    for name in names:
        if limit is not None and len(found) >= limit:
            break
        place = f"{base}/{name}"
        stamp = stamp_of(place)
        summary = index.find(name, stamp) if stamp is not None else None
        if summary is None:
            summary = _summary(Path(place), keep=keep)
            if summary is not None and stamp is not None and _can_be_kept(summary, stamp, settled_ns):
                index.keep(name, stamp, summary)
        if summary is not None:
            found.append(summary)
    else:
        index.forget_others(names)
    index.write()
    return found


def _summary(run_dir: Path, *, keep: bool) -> RunSummary | None:
    try:
        return summarize(run_dir, keep=keep)
    except OSError as error:
        return unreadable(run_dir, error.strerror or str(error))


def stamp_of(run_dir: str) -> Stamp | None:
    """Return what tells whether a run has changed; None when it has no record."""
    try:
        record = os.stat(f"{run_dir}/{RECORD_FILE}")  # noqa: PTH116  (a Path costs as much as the call)
        return os.stat(run_dir).st_mtime_ns, record.st_mtime_ns, record.st_size  # noqa: PTH116
    except OSError:
        return None


def _can_be_kept(summary: RunSummary, stamp: Stamp, settled_ns: int) -> bool:
    return summary.state not in ("running", "unreadable") and max(stamp[:2]) < settled_ns
