"""Runs that go on: finished after their engine died, measured further, or proved by another one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tui.cli.runs.arguments import RUN_HELP, Actions
from tui.cli.runs.change import run_on_own_hosts
from tui.cli.shared.common import add_json
from tui.cli.shared.prove import configure as prove_arguments
from tui.cli.shared.searching import span_of
from tui.journal.alive import is_running
from tui.model.problem import BenchtuiError, UsageError
from tui.model.rundir import JOURNAL_FILE
from tui.results.store.runs import RunStore


def configure(actions: Actions) -> None:
    """Add the actions."""
    told = "collect what hosts still hold: of runs whose engine died, or while they were away"
    recover = actions.add_parser("recover", help=told)
    recover.add_argument("runs", metavar="RUN", nargs="*", help=f"{RUN_HELP}; default: all unfinished ones")
    recover.set_defaults(do=recover_runs)
    resume = actions.add_parser("resume", help="measure what a stopped or cut-off run still lacks; what is done stays")
    resume.add_argument("run", metavar="RUN", help=RUN_HELP)
    resume.add_argument("--failed", action="store_true", help="also measure again what ended with errors")
    resume.add_argument("--points", type=int, metavar="N", help="of a search: measure so many points in all at most")
    resume.add_argument("--within", metavar="DURATION", help="of a search: spend so long on it in all at most")
    resume.set_defaults(do=resume_run)
    add_json(resume)
    prove = actions.add_parser("prove", help="confirm what limited a run by one short counter-experiment")
    prove.add_argument("run", metavar="RUN", help=RUN_HELP)
    prove_arguments(prove)
    prove.set_defaults(do=prove_run)


def recover_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Finish unfinished runs one after the other; 4 when one of them is not complete."""
    from tui.cli.shared.launching import restart
    from tui.cli.shared.watching import watch
    from tui.results.store.missing import write_missing
    from tui.results.store.unfinished import is_unfinished, unfinished_runs

    written = write_missing(store.runs_dir) if not args.runs else []
    for run_id in written:
        print(f"{run_id} had come to its end: its record is written", file=sys.stderr)
    chosen = [run_on_own_hosts(store, ref, last_of_all=True) for ref in args.runs] or unfinished_runs(store.runs_dir)
    for run_dir in chosen:
        if not is_unfinished(run_dir):
            check_held(run_dir)
    if not chosen and not written:
        print("no run is unfinished", file=sys.stderr)
    codes = [0]
    for run_dir in chosen:
        print(f"recovering {run_dir.name}", file=sys.stderr)
        try:
            restart(run_dir, "recover")
            codes.append(watch(run_dir, as_json=False))
        except BenchtuiError as error:  # the others have their turn
            print("".join(f"benchtui: {problem}\n" for problem in error.problems), end="", file=sys.stderr)
            codes.append(4)
    return max(codes)


def check_held(run_dir: Path) -> None:
    """Raise UsageError for a run that is over, unless hosts that were away may hold what they measured."""
    from tui.engine.session.history import read_history
    from tui.journal.plan_file import load_plan

    if is_running(run_dir):
        raise UsageError(f"run {run_dir.name} is going on")
    if not read_history(run_dir / JOURNAL_FILE).uncollected(load_plan(run_dir)):
        raise UsageError(f"run {run_dir.name} is finished already")


def resume_run(args: argparse.Namespace, store: RunStore) -> int:
    """Run the steps that a run still lacks, in its own directory."""
    from tui.cli.shared.launching import restart
    from tui.cli.shared.watching import watch
    from tui.engine.process.launch import resume_mode
    from tui.engine.recovery.more import give_more

    run_dir = run_on_own_hosts(store, args.run, last_of_all=True)
    running = is_running(run_dir)
    within_s = span_of("within", args.within)
    if not running and (args.points is not None or within_s is not None):
        give_more(run_dir, args.points, within_s)
    mode, count = resume_mode(run_dir, failed=args.failed, running=running)
    print(f"resuming {run_dir.name}: {count} {'step' if count == 1 else 'steps'} to go", file=sys.stderr)
    restart(run_dir, mode)
    return watch(run_dir, as_json=args.json)


def prove_run(args: argparse.Namespace, store: RunStore) -> int:
    """Make a counter-experiment about what limited a run: a run of its own, on the same hosts and files."""
    from tui.cli.shared.prove import main

    return main(args, run_on_own_hosts(store, args.run))
