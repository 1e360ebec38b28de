"""The writer of a run's journal: the single truth of a run, append-only, on disk before anybody acts on it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from tui.journal.reader import complete_bytes, read_events
from tui.journal.state import parse_utc
from tui.model.event import Event, HostProblem, Note, RunStarted, encode
from tui.model.problem import BenchtuiError, Problem
from tui.model.rundir import JOURNAL_FILE

SYNC_EVERY_S = 1.0

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Resume:
    """Where another engine's journal ends: last t, wall clock at t = 0, problems so far."""

    t: float
    zero_ms: float
    problems: int


class Journal:
    """Appends events, stamped with seconds since the journal was opened (monotonic clock)."""

    def __init__(self, run_dir: Path, resume: Resume | None = None) -> None:
        path = run_dir / JOURNAL_FILE
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        begun_s = 0.0
        self.zero_ms = round(time.time() * 1000, 3)  # this machine's wall clock at t = 0
        if resume is not None:
            os.ftruncate(self._fd, complete_bytes(path))  # an incomplete last line would spoil the next one
            self.zero_ms = resume.zero_ms
            begun_s = max(resume.t, time.time() - resume.zero_ms / 1000)
        self._start = time.monotonic() - begun_s
        self._synced = 0.0
        self.problems = resume.problems if resume else 0  # HostProblem events: a run with any is not complete

    @property
    def now(self) -> float:
        """Seconds since the run started."""
        return round(time.monotonic() - self._start, 4)

    def append(self, event: E) -> E:
        """Stamp an event, write its line in one piece, and return it."""
        event.t = self.now
        self.problems += isinstance(event, HostProblem)
        line = encode(event)
        written = os.write(self._fd, line)
        while written < len(line):  # a signal or a full disk can cut a write short
            written += os.write(self._fd, line[written:])
        if event.t - self._synced >= SYNC_EVERY_S:
            self.sync()
        return event

    def sync(self) -> None:
        """Have the journal on the disk, not only in the page cache."""
        os.fdatasync(self._fd)
        self._synced = self.now

    def close(self) -> None:
        """Sync and close."""
        self.sync()
        os.close(self._fd)


def append_note(run_dir: Path, text: str, now: datetime | None = None) -> None:
    """Append a remark to the journal of a run, as `append_events` does."""
    append_events(run_dir, [Note(t=0.0, text=text)], now)


def append_events(run_dir: Path, events: Sequence[Event], now: datetime | None = None) -> None:
    """Append to the journal of a run that nobody writes to any more; times count from the run's start.

    The rest of a line that was never finished is cut off: it is no event. Raises BenchtuiError when the journal is
    missing, or does not say when the run started.
    """
    path = run_dir / JOURNAL_FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be written: {error.strerror}", file=str(path))) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # two remarks at once
        t = _seconds_since_start(path, now or datetime.now(UTC))
        os.ftruncate(descriptor, complete_bytes(path))
        os.write(descriptor, b"".join(encode(replace(event, t=t)) for event in events))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _seconds_since_start(path: Path, now: datetime) -> float:
    started = next((event for event in read_events(path, stamps=True) if isinstance(event, RunStarted)), None)
    begun = parse_utc(started.utc) if started is not None else None
    if begun is None:
        raise BenchtuiError(Problem("does not say when the run started: nothing can be added", file=str(path)))
    return round(max(0.0, (now - begun).total_seconds()), 3)
