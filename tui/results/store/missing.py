"""Runs that came to their end, but whose engine died before the record was written: all of it is in the journal."""

from __future__ import annotations

from pathlib import Path

from tui.journal.alive import is_running
from tui.journal.rundir import is_run_dir
from tui.model.problem import BenchtuiError
from tui.model.rundir import RECORD_FILE
from tui.results.store.unfinished import is_unfinished


def lacks_record(run_dir: Path) -> bool:
    """Return whether a run is over by its journal, and has no record."""
    return (
        is_run_dir(run_dir)
        and not (run_dir / RECORD_FILE).exists()
        and not is_running(run_dir)
        and not is_unfinished(run_dir)
    )


def write_missing(runs: Path) -> list[str]:
    """Write the records that are missing, no host is needed; return the runs. Others that cannot be read are left."""
    from tui.results.store.build import write_record

    written = []
    for run_dir in sorted(filter(lacks_record, runs.iterdir())) if runs.is_dir() else []:
        try:
            write_record(run_dir)
        except (BenchtuiError, OSError):
            continue
        written.append(run_dir.name)
    return written
