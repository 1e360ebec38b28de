"""`benchtui stop`: finish a run now."""

from __future__ import annotations

import argparse
import getpass

from tui.cli.common import RUN_HELP, run_store, say
from tui.model.problem import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument("--host", metavar="NAME", help="end the load of this host alone; the others go on")
    parser.add_argument("--abort", action="store_true", help="end at once instead of finishing properly")


def main(args: argparse.Namespace) -> int:
    """Ask the run to end, wait until it has, print what was measured."""
    from tui.cli.progress import ProgressDisplay, follow, plan_of
    from tui.cli.watching import await_record, print_result
    from tui.engine.process.control import request

    store = run_store()
    run_dir = store.resolve(args.run)
    store.check_hosts_ours(run_dir)
    if args.host:
        answer = request(run_dir, {"verb": "stop-host", "host": args.host})
        if not answer.get("ok"):
            raise UsageError(str(answer.get("error")))
        say(f"stop requested for {args.host} in {run_dir.name}; the others go on")
        return 0
    verb = "abort" if args.abort else "stop"
    request(run_dir, {"verb": verb, "by": getpass.getuser()})
    say(f"{verb} requested for {run_dir.name}")
    state = follow(run_dir, ProgressDisplay(plan=plan_of(run_dir)))
    await_record(run_dir)
    print_result(run_dir, as_json=False)
    return 0 if state.exit_code is not None else 4
