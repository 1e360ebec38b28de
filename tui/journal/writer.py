"""The writer of a run's journal: the single truth of a run, append-only, on disk before anybody acts on it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tui.model.event import Event, HostProblem, encode
from tui.model.rundir import JOURNAL_FILE

SYNC_EVERY_S = 1.0

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Resume:
    """Where another engine's journal ends: whole bytes, last t, wall clock at t = 0, problems so far."""

    intact_bytes: int
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
            os.ftruncate(self._fd, resume.intact_bytes)  # an incomplete last line would spoil the next one
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
