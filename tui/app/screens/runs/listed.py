"""A list of runs: which they are, which one is under the cursor, and where the cursor begins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.frame.filtered import FilteredScreen
from tui.app.screens.runs.rows import key_of, with_run

if TYPE_CHECKING:
    from tui.results.store.summary import RunSummary


class RunListScreen(FilteredScreen):
    """A screen that lists runs."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[RunSummary] = []

    @property
    def run_at_hand(self) -> Path | None:
        """The directory of the run under the cursor."""
        key = self.picklist.cursor_key
        return self.shell.paths.runs / key if key else None

    @property
    def summary_at_hand(self) -> RunSummary | None:
        """What the list knows of the run under the cursor."""
        return next((run for run in self.runs if key_of(run) == self.picklist.cursor_key), None)

    def state_of(self, run_dir: Path) -> str:
        """Return the state a run had when the list was read."""
        found = (run.state for run in self.runs if self.shell.paths.runs / key_of(run) == run_dir)
        return next(found, "")

    def find_run(self) -> None:
        """Put the cursor on the run that was watched last, once: keys that follow are about it."""
        from tui.results.store.summary import summarize

        run_dir, self.shell.run_to_find = self.shell.run_to_find, None
        ours = run_dir is not None and run_dir.parent == self.shell.paths.runs
        run = summarize(run_dir, keep=False) if run_dir is not None and ours else None
        if run is not None:
            self.runs = with_run(self.runs, run)
            self.show_rows()
            self.go_to(key_of(run))

    @property
    def back(self) -> str:
        """The screen that Runs was called from."""
        return self.shell.runs_from or super().back
