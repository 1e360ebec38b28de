"""`benchtui runs list`: saved runs, newest first, those that are asked for."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from tui.cli.runs.arguments import Actions
from tui.cli.shared.common import say
from tui.model.problem import UsageError, did_you_mean
from tui.results.store.marks import tags_text
from tui.results.store.runs import RunStore
from tui.results.store.summary import RunSummary


def configure(actions: Actions) -> None:
    """Add the action."""
    from tui.results.store.filter import HELP
    from tui.results.store.order import ORDERS

    listing = actions.add_parser(
        "list",
        help="saved runs, newest first; some of them: runs list WORD profile:weka since:7d",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"FILTER: {HELP}\n(in a shell: behind -- when a part begins with -)",
    )
    listing.add_argument("filter", nargs="*", metavar="FILTER", help="words and key:value, all of which must hold")
    listing.add_argument("--sort", metavar="KEY", help=f"{', '.join(ORDERS)} (default: started, newest first)")
    listing.add_argument("--reverse", action="store_true", help="turn the order round")
    listing.add_argument("--json", action="store_true", help="print one JSON array")
    listing.add_argument("--limit", type=_positive, metavar="N", help="the first N only")
    listing.set_defaults(do=list_runs)


def list_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Print runs: a table for people, or JSON. Directories that cannot be read are named on stderr."""
    with uncollected():
        print_runs(args, store, chosen(args, store))
    return 0


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage: ten thousand runs are many objects, and none of them is any."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def print_runs(args: argparse.Namespace, store: RunStore, summaries: Sequence[RunSummary]) -> None:
    """Print these runs."""
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(summaries), indent=1).decode())
    elif summaries:
        print("\n".join(table(summaries)))
    elif args.filter:
        say(f"no run fits {' '.join(args.filter)}")
    else:
        shared = f", nor in the shared {', '.join(map(str, store.shared))}" if store.shared else ""
        say(f"no runs in {store.runs_dir}{shared}")


def chosen(args: argparse.Namespace, store: RunStore) -> Sequence[RunSummary]:
    """Return the runs that are asked for, in order. Raises UsageError."""
    from tui.results.store.filter import parse
    from tui.results.store.order import ORDERS, ordered

    if args.sort is not None and args.sort not in ORDERS:
        raise UsageError(f"--sort {args.sort}: no such key{did_you_mean(args.sort, ORDERS)}: {', '.join(ORDERS)}")
    wanted = parse(" ".join(args.filter))
    if not (args.filter or args.sort or args.reverse or store.shared):
        return store.list(args.limit)
    listing = store.everything()
    for problem in listing.problems:
        print(f"benchtui: {problem}", file=sys.stderr)
    runs = [run for run in listing.runs if wanted(run)] if wanted.tests else listing.runs
    if args.sort or args.reverse:
        runs = ordered(runs, args.sort or "started", reverse=args.reverse)
    return runs[: args.limit]


def table(summaries: Sequence[RunSummary]) -> list[str]:
    """Return the lines of a list of runs."""
    from tui.metrics import units

    judged = [each.judged or "-" for each in summaries]
    id_width = max(len("run"), *(len(each.run_id) for each in summaries))
    found_width = max(len("verdict"), *map(len, judged))
    lines = [f"{'run':<{id_width}}  {'state':<11} hosts    time  {'verdict':<{found_width}}  headline"]
    for each, verdict in zip(summaries, judged, strict=True):
        begin = f"{each.run_id:<{id_width}}  {each.state:<11} {len(each.hosts):>5} {units.duration(each.duration_s):>7}"
        lines.append(f"{begin}  {verdict:<{found_width}}  {each.headline}{_said(each)}".rstrip())
    return lines


def _said(run: RunSummary) -> str:
    """Return what people said of a run, what is wrong with it and whose it is."""
    from tui.model.plain import printable

    said = "  *" if run.starred else ""
    if run.title:
        said += f'  "{run.title}"'
    if run.note:
        said += f"  ({' '.join(run.note.split())})"
    if run.tags:
        said += f"  [{tags_text(run.tags)}]"
    if run.problem:
        said += f"  {run.problem}"
    if run.owner:
        said += f"  of {run.owner}"
    return printable(said)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 1, got '{text}'")
    return int(text)
