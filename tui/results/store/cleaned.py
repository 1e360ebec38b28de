"""Keeping in a run's record what was removed from its hosts after its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tui.model.event import FilesRemoved
from tui.model.problem import UsageError
from tui.results.store.added import add_events
from tui.results.store.summary import summarize


def check_over(run_dir: Path) -> None:
    """Raise UsageError while a run goes on."""
    summary = summarize(run_dir)
    if summary is not None and summary.state == "running":
        raise UsageError(f"{run_dir.name} is running; end it first: benchtui stop {run_dir.name}")


def keep_removed(run_dir: Path, removed: Mapping[str, tuple[Sequence[str], int]]) -> None:
    """Have journal and record say what is gone: by host, paths and the bytes they held. Raises BenchtuiError."""
    there = {host: gone for host, gone in removed.items() if gone[0]}
    if there:
        events = [FilesRemoved(t=0.0, host=host, paths=list(gone[0]), bytes=gone[1]) for host, gone in there.items()]
        add_events(run_dir, events)
