"""`benchtui attach`: watch a live run, or replay a finished one."""

from __future__ import annotations

import argparse
import sys

from tui.cli.shared.common import RUN_HELP, add_flag, run_store, say
from tui.model.problem import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("run", nargs="?", default="last", metavar="RUN", help=RUN_HELP)
    add_flag(parser, "--replay", "replay a finished run")
    parser.add_argument(
        "--speed", type=float, default=1.0, metavar="N", help="replay at N times the speed"
    )
    add_flag(parser, "--plain", "without screens: print the progress line and the summary")
    add_flag(parser, "--json", "without screens: print the record as JSON after the run")


def main(args: argparse.Namespace) -> int:
    """Follow or replay a run and return its exit code."""
    from tui.cli.shared.progress import watch
    from tui.journal.rundir import is_running

    run_dir = run_store().resolve(args.run, last_of_all=True)
    if args.speed <= 0:
        raise UsageError(f"--speed {args.speed:g}: expected a number above 0")
    if args.json or args.plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        if args.replay:
            raise UsageError("--replay needs a terminal")
        if is_running(run_dir):
            say(f"run {run_dir.name}; Ctrl+C stops it")
        return watch(run_dir, as_json=args.json)
    from tui.cli.open_app import open_run

    return open_run(run_dir, replay_speed=args.speed if args.replay else None)
