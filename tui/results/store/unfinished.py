"""Runs whose engine died: their journal has no end, and nobody is writing it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field, json

from tui.journal.alive import is_running
from tui.journal.reader import events_backwards
from tui.journal.rundir import is_run_dir
from tui.model.bounded import read_file
from tui.model.event import AFTERWORDS, RunEnded
from tui.model.no_json import NO_JSON
from tui.model.rundir import JOURNAL_FILE, ORIGIN_FILE, PID_FILE, RECORD_FILE


class _Closed(Struct):
    ended: bool = False


class _Provenance(Struct):
    journal: _Closed | None = None


class _Head(Struct):
    """The part of run.json that says whether the journal had an end when it was made."""

    provenance: _Provenance = field(default_factory=_Provenance)


_heads = json.Decoder(_Head)


def is_unfinished(run_dir: Path) -> bool:
    """Return whether a run began, has no last event, and has no engine that could write one."""
    if is_running(run_dir) or not is_run_dir(run_dir) or (run_dir / ORIGIN_FILE).exists():
        return False
    try:
        last = next(
            (each for each in events_backwards(run_dir / JOURNAL_FILE) if not isinstance(each, AFTERWORDS)), None
        )
    except OSError:
        last = None
    if last is not None:
        return not isinstance(last, RunEnded)
    return (run_dir / PID_FILE).is_file() and not _was_closed(run_dir)  # its journal is empty, or gone


def _was_closed(run_dir: Path) -> bool:
    try:
        found = _heads.decode(read_file(run_dir / RECORD_FILE)).provenance.journal
    except (OSError, *NO_JSON):
        return False
    return found is not None and found.ended


def unfinished_runs(runs: Path) -> list[Path]:
    """Return the directories of all such runs, oldest first."""
    return sorted(path for path in runs.iterdir() if is_unfinished(path)) if runs.is_dir() else []
