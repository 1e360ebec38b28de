"""What people change of saved runs: remarks, and whether they are kept."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from tui.cli.runs.arguments import RUN_HELP, Actions
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import JOURNAL_FILE
from tui.results.store.alive import is_running
from tui.results.store.runs import RunStore
from tui.results.store.summary import summarize


def configure(actions: Actions) -> None:
    """Add the actions."""
    note = actions.add_parser("note", help="add a remark to a run")
    note.add_argument("run", metavar="RUN", help=RUN_HELP)
    note.add_argument("text", metavar="TEXT", help="the remark")
    note.set_defaults(do=note_run)
    remove = actions.add_parser("rm", help="remove runs from this machine")
    remove.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)
    remove.add_argument("--yes", action="store_true", help="do not ask")
    remove.set_defaults(do=remove_runs)


def note_run(args: argparse.Namespace, store: RunStore) -> int:
    """Add a remark: through its engine while a run lives, else to its journal and its record."""
    run_dir = store.resolve(args.run)
    text = args.text.strip()
    if not text:
        raise UsageError("the note is empty")
    if is_running(run_dir):
        from tui.engine.process.control import request

        answer = request(run_dir, {"verb": "note", "text": text})
        if not answer.get("ok"):
            raise BenchtuiError(f"{run_dir.name}: {answer.get('error', 'the run did not take the note')}")
        return 0
    from tui.journal.writer import append_note
    from tui.results.record.build import load_record, write_record
    from tui.results.record.imported import add_note

    if not (run_dir / JOURNAL_FILE).exists() and (record := load_record(run_dir)).state == "imported":
        add_note(run_dir, record, text)
        return 0
    append_note(run_dir, text)
    write_record(run_dir)
    return 0


def remove_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Remove runs for good, after asking."""
    directories = list(dict.fromkeys(store.resolve(ref) for ref in args.runs))
    for run_dir in directories:
        summary = summarize(run_dir)
        if summary is not None and summary.state == "running":
            raise UsageError(f"{run_dir.name} is running; end it first: benchtui stop {run_dir.name}")
    names = ", ".join(run_dir.name for run_dir in directories)
    if not args.yes and not _confirmed(names):
        print("nothing removed", file=sys.stderr)
        return 1
    for run_dir in directories:
        _remove(run_dir)
    print(f"removed {names}", file=sys.stderr)
    return 0


def _confirmed(names: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"this removes {names}; confirm with --yes")
    print(f"remove {names}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remove(run_dir: Path) -> None:
    """Remove a directory; it leaves the list of runs at once, however long the rest takes."""
    doomed = run_dir.with_name(f".removed-{run_dir.name}")
    try:
        run_dir.rename(doomed)
        shutil.rmtree(doomed)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be removed: {error.strerror}", file=str(run_dir))) from error
