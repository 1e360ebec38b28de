"""`benchtui stop`: stop a live run."""

from __future__ import annotations

import argparse
import getpass
from typing import TYPE_CHECKING

from tui.cli.shared.common import RUN_HELP, add_flag, add_json, report, run_store, say
from tui.model.plain import some

if TYPE_CHECKING:
    from pathlib import Path

    from tui.engine.control import Request
    from tui.library.runs import RunStore

NAMED = 3  # running runs to name


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument(
        "--host", metavar="NAME", help="stop the load on this host only; the others continue"
    )
    add_flag(parser, "--abort", "abort immediately; do not wait for final results")
    add_json(parser)


def main(args: argparse.Namespace) -> int:
    """Ask the engine to stop the run, wait for its end and print the result.

    With --host, only ask it to stop the load on that host.
    """
    from tui.cli.shared.progress import ProgressDisplay, await_record, follow, print_result
    from tui.journal.rundir import readable_plan

    store = run_store()
    run_dir = store.resolve(args.run, last_of_all=True)
    store.check_hosts_ours(run_dir)
    if args.host:
        _demand(store, run_dir, {"verb": "stop-host", "host": args.host})
        say(f"stop requested for {args.host} in {run_dir.name}; the others continue")
        report(args, {"run_id": run_dir.name, "host": args.host, "requested": "stop"})
        return 0
    verb = "abort" if args.abort else "stop"
    _demand(store, run_dir, {"verb": verb, "by": getpass.getuser()})
    say(f"{verb} requested for {run_dir.name}")
    state = follow(run_dir, ProgressDisplay(plan=readable_plan(run_dir)))
    await_record(run_dir)
    print_result(run_dir, as_json=args.json)
    return 0 if state.exit_code is not None else 4


def _demand(store: RunStore, run_dir: Path, message: Request) -> None:
    """Send a request to the engine.

    Raises UsageError if the request is refused, and NotRunning, which names the runs that are
    running, if this run is not.
    """
    from tui.engine.control import NotRunning, demand

    try:
        demand(run_dir, message)
    except NotRunning as error:
        others = [
            run.run_id
            for run in store.list()
            if run.state == "running" and run.run_id != run_dir.name
        ]
        if not others:
            raise
        raise NotRunning(f"{error}; still running: {some(others, NAMED)}") from error
