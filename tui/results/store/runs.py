"""The runs on disk: one directory each, listed quickly, found by what people type."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from tui.model.problem import UsageError, did_you_mean
from tui.model.rundir import JOURNAL_FILE, PLAN_FILE, RECORD_FILE
from tui.results.store.rundir import is_run_dir
from tui.results.store.summary import RunSummary, summarize

LAST = re.compile(r"last(?:~(\d{1,6}))?")


class RunStore:
    """All runs of a user. Nothing is kept in memory: every call looks at the disk."""

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir

    def ids(self) -> list[str]:
        """Return the ids of all runs, newest first."""
        try:
            with os.scandir(self.runs_dir) as entries:
                names = [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(names, reverse=True)

    def list(self, limit: int | None = None) -> list[RunSummary]:
        """Return the summaries of all runs, or of the `limit` newest, newest first."""
        found: list[RunSummary] = []
        for run_id in self.ids():
            if limit is not None and len(found) >= limit:
                break
            summary = summarize(self.runs_dir / run_id)
            if summary is not None:
                found.append(summary)
        return found

    def resolve(self, ref: str) -> Path:
        """Return the directory of a run: by id, unique prefix, path, ``last``, ``last~1`` (the one before it).

        Raises UsageError.
        """
        if back := LAST.fullmatch(ref):
            return self._last(int(back[1] or 0))
        path = Path(ref).expanduser()
        if "/" in ref or ref in (".", ".."):
            return _run_at(path)
        ids = self.ids()
        matches = [ref] if ref in ids else [run_id for run_id in ids if run_id.startswith(ref)]
        if len(matches) == 1 and ref:
            return self.runs_dir / matches[0]
        if not matches and path.exists():
            return _run_at(path)
        raise UsageError(_no_single_match(ref, matches, ids))

    def _last(self, back: int) -> Path:
        found = (self.runs_dir / run_id for run_id in self.ids() if is_run_dir(self.runs_dir / run_id))
        if (run_dir := next(islice(found, back, None), None)) is None:
            raise UsageError(f"{'so few' if back else 'no'} runs in {self.runs_dir}")
        return run_dir


def _run_at(path: Path) -> Path:
    if path.name == RECORD_FILE and path.is_file():
        path = path.parent
    if not path.is_dir():
        raise UsageError(f"{path}: no such directory")
    if not is_run_dir(path):
        raise UsageError(f"{path}: not a run: neither {PLAN_FILE} nor {RECORD_FILE} nor {JOURNAL_FILE} in it")
    return path.absolute()


def _no_single_match(ref: str, matches: list[str], ids: list[str]) -> str:
    if not matches:
        return f"no run '{ref}'{did_you_mean(ref, ids)}; see benchtui runs list"
    shown = ", ".join(matches[:5]) + (f" and {len(matches) - 5} more" if len(matches) > 5 else "")
    return f"'{ref}' is the beginning of {len(matches)} runs: {shown}"
