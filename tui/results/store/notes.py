"""Remarks on runs that are over, and what has become of their files."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from tui.journal.reader import read_events
from tui.model.event import Event, Note, RunStarted, encode
from tui.model.problem import BenchtuiError, Problem
from tui.model.rundir import JOURNAL_FILE
from tui.results.record.gather import parse_utc


def append_note(run_dir: Path, text: str, now: datetime | None = None) -> None:
    """Append a remark to the journal of a run, as `append_events` does."""
    append_events(run_dir, [Note(t=0.0, text=text)], now)


def append_events(run_dir: Path, events: Sequence[Event], now: datetime | None = None) -> None:
    """Append to the journal of a run that nobody writes to any more; times count from the run's start.

    The rest of a line that was never finished is cut off: it is no event. Raises BenchtuiError when the journal is
    missing or damaged.
    """
    path = run_dir / JOURNAL_FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be written: {error.strerror}", file=str(path))) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # two remarks at once
        started, complete_bytes = _read(path)
        os.ftruncate(descriptor, complete_bytes)
        t = _seconds_since(started, now)
        os.write(descriptor, b"".join(encode(replace(event, t=t)) for event in events))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> tuple[RunStarted, int]:
    """Return the first event and the size of all complete lines."""
    reader = read_events(path)
    first = next(reader, None)
    for _ in reader:
        pass
    if reader.damaged or not isinstance(first, RunStarted):
        where = f"damaged after {reader.read_bytes} bytes" if reader.damaged else "empty"
        raise BenchtuiError(Problem(f"is {where}: a note would not be read", file=str(path)))
    return first, reader.read_bytes


def _seconds_since(started: RunStarted, now: datetime | None) -> float:
    begun = parse_utc(started.utc)
    when = now or datetime.now(UTC)
    return round(max(0.0, (when - begun).total_seconds()), 3) if begun is not None else 0.0
