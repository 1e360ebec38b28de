"""Find the running run, the newest result, and runs that were cut off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from textual.message import Message

from tui.app.frame.shell import RECENT, WITHOUT_RECORD, AppShell
from tui.model.problem import BenchtuiError


class RunsFound(Message):
    """A result of the search for runs; `is_all`: the last one."""

    def __init__(
        self,
        running: Path | None = None,
        result: Path | None = None,
        cut_off: int = 0,
        *,
        is_all: bool = False,
    ) -> None:
        super().__init__()
        self.running = running
        self.result = result
        self.cut_off = cut_off
        self.is_all = is_all


def find_runs(shell: AppShell) -> Iterator[RunsFound]:
    """Yield results, slow ones last. For a thread: reads files."""
    from tui.library.unfinished import unfinished_runs

    runs = recent_runs(shell)
    running = next((run_dir for run_dir, state in runs if state == "running"), None)
    yield RunsFound(
        running, next((run_dir for run_dir, state in runs if state not in WITHOUT_RECORD), None)
    )
    yield RunsFound(cut_off=len(unfinished_runs(shell.paths.runs)), is_all=True)


def recent_runs(shell: AppShell) -> list[tuple[Path, str]]:
    """Return directory and state of the newest runs, newest first."""
    try:
        runs = shell.store.list(RECENT)
    except BenchtuiError:
        return []  # Runs says why
    return [(shell.paths.runs / run.run_id, run.state) for run in runs]


def cut_off_text(count: int) -> str:
    """Return the notice about runs that were cut off."""
    return (
        f"{count} run was cut off: press R to finish it"
        if count == 1
        else f"{count} runs were cut off: press R to finish them"
    )
