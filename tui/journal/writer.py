"""Writer of a run's journal, the append-only source of truth for a run.

An event is in the file when `append` returns, so it survives this process. It survives a crash of
this machine once it is synced: a thread does that once a second and at the end of each phase, and
`settled` waits for it. The engine waits before it releases a load, before it lays out files, and
before it lets hosts remove their spools.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tui.journal.measured import FigureEvent, has_figures
from tui.journal.reader import complete_bytes, read_events
from tui.model.bounded import check_plain
from tui.model.dense import as_kept
from tui.model.event import (
    Artefact,
    Event,
    HostProblem,
    HostResult,
    Message,
    MetadataIteration,
    MetadataPhase,
    MetadataResult,
    RunEnded,
    RunStarted,
    Sample,
    StepEnded,
    StepStarted,
    TelemetryColumns,
    TelemetrySample,
    encode,
)
from tui.model.operands import clause
from tui.model.plain_data import parse_utc
from tui.model.problem import BenchtuiError, Problem
from tui.model.rundir import JOURNAL_FILE, RESERVE_FILE

SYNC_EVERY_S = 1.0
RESERVE_BYTES = 1 << 20
LEFT_TO_RECOVERY = (
    Sample, HostResult, MetadataPhase, MetadataIteration, MetadataResult, TelemetryColumns,
    TelemetrySample, Artefact,
    StepEnded, RunEnded,
)  # fmt: skip

E = TypeVar("E", bound=Event)


class Resume(Struct, frozen=True):
    """End of another engine's journal: last t, wall clock at t = 0 in ms, number of problems and
    measured steps so far.
    """

    t: float
    zero_ms: float
    problems: int
    measured: frozenset[int] = frozenset()


class Journal:
    """Appends events, stamped with seconds since the journal was opened (monotonic clock).

    If a write fails, the journal frees its reserve file for the final events, sets `failed` to the
    cause, calls `on_failure` and drops further measurements. The run then has no end event;
    benchtui runs recover collects the rest from the hosts.
    """

    def __init__(self, run_dir: Path, resume: Resume | None = None) -> None:
        self.run_dir = run_dir
        path = run_dir / JOURNAL_FILE
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600)
        check_plain(self._fd, path)
        begun_s = 0.0
        self.zero_ms = round(time.time() * 1000, 3)  # this machine's wall clock at t = 0
        if resume is not None:
            # an incomplete last line would spoil the next one
            os.ftruncate(self._fd, complete_bytes(path))
            self.zero_ms = resume.zero_ms
            begun_s = max(resume.t, time.time() - resume.zero_ms / 1000)
        self._start = time.monotonic() - begun_s
        self._synced = 0.0
        self._unwritten = b""
        self._unsynced: list[Path] = []  # files that were kept since the last sync
        self._thread = ThreadPoolExecutor(1, "journal")
        self._syncing: Future[None] | None = None
        # HostProblem events: a run with any is not complete
        self.problems = resume.problems if resume else 0
        self._problems_on: Counter[str] = Counter()
        # steps in which an I/O or operation completed
        self.measured = set(resume.measured if resume else ())
        self.failed = ""
        self.on_failure: Callable[[str], object] = lambda _: None
        _reserve(run_dir / RESERVE_FILE)

    @property
    def now(self) -> float:
        """Seconds since the run started."""
        return round(time.monotonic() - self._start, 4)

    def problems_on(self, hosts: Iterable[str]) -> int:
        """Return the number of problems of these hosts that this engine has journalled."""
        return sum(self._problems_on[host] for host in hosts)

    def append(self, event: E) -> E:
        """Stamp an event, write its line in one piece, and return the event.

        Starts a sync once a second. Disk errors do not raise; they set `failed`, after which
        measurements are not written.
        """
        event.t = self.now
        if isinstance(event, HostProblem):
            self.problems += 1
            self._problems_on[event.host] += 1
        if self.failed and isinstance(event, LEFT_TO_RECOVERY):
            return event
        if isinstance(event, StepStarted):
            self.measured.discard(event.step)
        elif isinstance(event, FigureEvent) and has_figures(event):
            self.measured.add(event.step)
        elif isinstance(event, Artefact):
            self._unsynced.append(self.run_dir / event.path)
        self._unwritten += encode(as_kept(event))
        self._write()
        if event.t - self._synced >= SYNC_EVERY_S:
            self.sync()
        return event

    def _write(self) -> None:
        try:
            while self._unwritten:  # a signal or a full disk can cut a write short
                self._unwritten = self._unwritten[os.write(self._fd, self._unwritten) :]
        except OSError as error:
            self.fail(error)

    def fail(self, error: OSError) -> None:
        """Report once that journal or raw files cannot be written, using the reserved disk space;
        then call `on_failure`.
        """
        if self.failed:
            return
        self.failed = f"{self.run_dir}: {error.strerror or error}"
        self._free_reserve()
        self._write()
        told = clause("measurements-lost", quote=self.failed)
        self.append(Message(t=0.0, severity="error", text=told))
        self.on_failure(self.failed)

    def _free_reserve(self) -> None:
        with suppress(OSError):  # a file system that became read-only gives nothing back
            (self.run_dir / RESERVE_FILE).unlink()

    def sync(self) -> None:
        """Let the thread sync data that is only in the page cache so far, unless it is still
        syncing.
        """
        if self._syncing is not None and not self._syncing.done():
            return  # a slow disk is not asked twice
        self._synced = self.now
        self._hear_of_sync()
        files, self._unsynced = self._unsynced, []
        self._syncing = self._thread.submit(_sync, self._fd, files)

    def _hear_of_sync(self) -> None:
        done, self._syncing = self._syncing, None
        if done is not None and isinstance(error := done.exception(), OSError):
            self.fail(error)

    async def settled(self) -> None:
        """Wait until everything written so far, including raw files, would survive a power cut."""
        if self._syncing is not None:  # it may have begun before the newest event
            await asyncio.wait([asyncio.wrap_future(self._syncing)])
        self.sync()
        if self._syncing is not None:
            await asyncio.wait([asyncio.wrap_future(self._syncing)])
        self._hear_of_sync()

    def close(self) -> None:
        """Sync and close the journal."""
        self._thread.shutdown()
        self._hear_of_sync()
        self._write()
        with suppress(OSError):
            _sync(self._fd, self._unsynced)
        os.close(self._fd)
        self._free_reserve()


def _reserve(path: Path) -> None:
    """Reserve disk space for the last events; failure to do so does not stop the run."""
    with suppress(OSError), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)


def _sync(journal: int, files: Sequence[Path]) -> None:
    os.fdatasync(journal)
    for place in (*files, *{path.parent for path in files}):
        with suppress(FileNotFoundError):
            descriptor = os.open(place, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def append_events(run_dir: Path, events: Sequence[Event]) -> None:
    """Append to the journal of a run without an engine; times count from the start of the run.

    An incomplete last line is removed. Raises BenchtuiError if the journal cannot be written or
    does not contain the start time.
    """
    path = run_dir / JOURNAL_FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK)
        try:
            check_plain(descriptor, path)
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # two notes at once
            t = _seconds_since_start(path, datetime.now(UTC))
            os.ftruncate(descriptor, complete_bytes(path))
            os.write(descriptor, b"".join(encode(replace(event, t=t)) for event in events))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise BenchtuiError(
            Problem(f"cannot be written: {error.strerror}", file=str(path))
        ) from error


def _seconds_since_start(path: Path, now: datetime) -> float:
    started = next(
        (event for event in read_events(path, stamps=True) if isinstance(event, RunStarted)), None
    )
    begun = parse_utc(started.utc) if started is not None else None
    if begun is None:
        raise BenchtuiError(
            Problem("does not contain the run's start time: nothing can be added", file=str(path))
        )
    return round(max(0.0, (now - begun).total_seconds()), 3)
