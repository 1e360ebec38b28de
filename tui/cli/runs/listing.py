"""`benchtui runs list`: saved runs, newest first."""

from __future__ import annotations

import argparse
import sys

import msgspec

from tui.cli.runs.arguments import Actions
from tui.results.store.runs import RunStore
from tui.results.store.summary import RunSummary


def configure(actions: Actions) -> None:
    """Add the action."""
    listing = actions.add_parser("list", help="saved runs, newest first")
    listing.add_argument("--json", action="store_true", help="print one JSON array")
    listing.add_argument("--limit", type=_positive, metavar="N", help="the N newest only")
    listing.set_defaults(do=list_runs)


def list_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Print all runs: a table for people, or JSON."""
    summaries = store.list(args.limit)
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(summaries), indent=1).decode())
    elif summaries:
        print("\n".join(table(summaries)))
    else:
        print(f"no runs in {store.runs_dir}", file=sys.stderr)
    return 0


def table(summaries: list[RunSummary]) -> list[str]:
    """Return the lines of a list of runs."""
    from tui.metrics import units
    from tui.results.text.plain import printable

    id_width = max(len("run"), *(len(each.run_id) for each in summaries))
    found_width = max(len("verdict"), *(len(each.judged) for each in summaries))
    lines = [f"{'run':<{id_width}}  {'state':<11} hosts    time  {'verdict':<{found_width}}  headline"]
    for each in summaries:
        begin = f"{each.run_id:<{id_width}}  {each.state:<11} {len(each.hosts):>5} {units.duration(each.duration_s):>7}"
        note = f"  ({' '.join(printable(each.note).split())})" if each.note else ""
        lines.append(f"{begin}  {each.judged or '-':<{found_width}}  {each.headline}{note}".rstrip())
    return lines


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 1, got '{text}'")
    return int(text)
