"""`benchtui clean`: remove the files that a run created on its hosts."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from tui.cli.shared.common import (
    RUN_HELP,
    add_flag,
    add_json,
    ask_to_remove,
    paths,
    report,
    run_store,
    say,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tui.engine.preflight.clean import Cleaning
    from tui.model.plan import Plan
    from tui.model.record import RunRecord
    from tui.remote.connections import Connections

ALL_GONE, SOME_STAYED = 0, 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    add_flag(parser, "--yes", "do not ask")
    add_json(parser)


def main(args: argparse.Namespace) -> int:
    """Show what will be removed, ask, remove it, print the outcome.

    Returns 4 if something was left or a host could not be reached.
    """
    from tui.cli.shared.launching import terminal_asker
    from tui.journal.rundir import load_plan
    from tui.library.load import load_record
    from tui.library.unfinished import check_over
    from tui.remote.fan_out import connections_of

    store = run_store()
    run_dir = store.resolve(args.run, last_of_all=True)
    store.check_hosts_ours(run_dir)
    check_over(run_dir)
    plan, record = load_plan(run_dir), load_record(run_dir)

    async def work() -> tuple[int, list[Cleaning]]:
        async with connections_of(plan, paths().known_hosts, terminal_asker()) as connections:
            return await clean_run(run_dir, plan, record, connections, sure=args.yes)

    code, done = asyncio.run(work())
    hosts, objects = (
        [as_json(each) for each in done],
        [each.model_dump(mode="json") for each in record.objects_left],
    )
    report(args, {"run_id": run_dir.name, "hosts": hosts, "objects_left": objects})
    if not args.json:
        print_cleanings(done, done=True)
    return code


def as_json(cleaned: Cleaning) -> dict[str, object]:
    """Return the outcome on one host as plain data.

    It lists what was removed with its bytes, what was already gone, and what was left and why.
    """
    return {
        "host": cleaned.host,
        "removed": cleaned.goes,
        "absent": cleaned.absent,
        "left": cleaned.stays,
        "error": cleaned.error,
    }


async def clean_run(
    run_dir: Path, plan: Plan, record: RunRecord, connections: Connections, *, sure: bool
) -> tuple[int, list[Cleaning]]:
    """Remove the files of one run; return the exit code and the outcome by host."""
    from tui.engine.preflight.clean import clean, created_of, plan_cleaning
    from tui.library.additions import keep_removed
    from tui.text.objects import left_texts

    created, kept = created_of(plan, record), left_texts(record.objects_left)
    for text in kept:
        say(f"objects remain in bucket {text}; benchtui does not delete objects")
    code_if_gone = SOME_STAYED if kept else ALL_GONE
    if not created:
        say(f"{run_dir.name} left nothing on its hosts")
        return code_if_gone, []
    planned = await plan_cleaning(run_dir, created, connections)
    print_cleanings(planned, done=False)
    of_run = f"the files of {run_dir.name} from its hosts"
    if any(each.goes for each in planned) and not sure and not ask_to_remove(of_run):
        say("nothing was removed")
        return SOME_STAYED, []

    def keep(cleaned: list[Cleaning]) -> None:
        keep_removed(run_dir, {each.host: (each.settled, each.bytes) for each in cleaned})

    done = await clean(run_dir, created, connections, keep)
    say("")
    return (SOME_STAYED if any(each.error or each.stays for each in done) else code_if_gone), done


def print_cleanings(found: list[Cleaning], *, done: bool) -> None:
    """Print what will be removed to stderr or, if `done`, the outcome to stdout."""
    for each in found:
        for line in each.lines(done=done):
            print(line) if done else say(line)
