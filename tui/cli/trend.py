"""`benchtui trend`: the history of one profile, and where it changed."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

import msgspec

from tui.cli.common import run_store, text_width
from tui.model.problem import UsageError, did_you_mean

TREND_SCHEMA = "benchtui.trend/1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("profile", metavar="PROFILE", help="the tag of a profile that runs were made of")
    parser.add_argument("--target", metavar="T", help="runs on this target alone (default: each for itself)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(args: argparse.Namespace) -> int:
    """Print the history of each target."""
    from tui.results.compare.trend import trend_chart, trend_lines, trends_of
    from tui.text.line import plain_lines
    from tui.text.plot import coloured

    runs = run_store().list()
    found = trends_of(runs, args.profile, args.target)
    if not found:
        near = did_you_mean(args.profile, sorted({run.profile for run in runs}))
        where = f" on {args.target}" if args.target else ""
        raise UsageError(f"no whole run of {args.profile}{where} has a headline{near}; see benchtui runs list")
    if args.json:
        document = {"schema": TREND_SCHEMA, "trends": [as_builtins(each) for each in found]}
        print(msgspec.json.format(msgspec.json.encode(document), indent=1).decode())
        return 0
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for at, each in enumerate(found):
        print(("\n" if at else "") + "\n".join(plain_lines(trend_lines(each, text_width()))))
        if len(each.runs) > 1:
            chart = trend_chart(each, shutil.get_terminal_size((80, 24)).columns, coloured=color)
            print("\n" + (coloured(chart) if color else "\n".join(plain_lines(chart))))
    return 0


def as_builtins(found: object) -> dict[str, object]:
    """Return a trend for JSON: of its runs what tells the history."""
    from tui.results.compare.trend import Trend

    assert isinstance(found, Trend)
    return {
        "profile": found.profile,
        "target": found.target,
        "unit": found.unit,
        "left_out": found.left_out,
        "runs": [{"run_id": run.run_id, "utc": run.utc, "value": run.headline_value} for run in found.runs],
        "changes": [
            {"run_id": found.runs[each.at].run_id, "at": each.at, "ratio": each.ratio, "p": each.p}
            for each in found.changes
        ],
    }
