"""Runs whose engine died: their journal has no end, and nobody is writing it."""

from __future__ import annotations

from pathlib import Path

from tui.journal.reader import events_backwards
from tui.model.event import AFTERWORDS, RunEnded
from tui.model.rundir import JOURNAL_FILE
from tui.results.store.runs import is_running


def is_unfinished(run_dir: Path) -> bool:
    """Return whether a run began, has no last event, and has no engine that could write one."""
    journal = run_dir / JOURNAL_FILE
    return journal.is_file() and journal.stat().st_size > 0 and not is_running(run_dir) and not has_ended(journal)


def has_ended(journal: Path) -> bool:
    """Return whether the last event, but for what was added later, ends the run."""
    last = next((event for event in events_backwards(journal) if not isinstance(event, AFTERWORDS)), None)
    return isinstance(last, RunEnded)


def unfinished_runs(runs: Path) -> list[Path]:
    """Return the directories of all such runs, oldest first."""
    return sorted(path for path in runs.iterdir() if is_unfinished(path)) if runs.is_dir() else []
