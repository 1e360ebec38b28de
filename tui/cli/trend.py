"""`benchtui trend`: the history of one profile, and where it changed."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.cli.common import run_store, text_width
from tui.model.problem import UsageError, did_you_mean

if TYPE_CHECKING:
    from tui.results.compare.trend import Trend

TREND_SCHEMA = "benchtui.trend/1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("profile", metavar="PROFILE", help="the tag of a profile that runs were made of")
    parser.add_argument("--target", metavar="T", help="runs on this target alone (default: each for itself)")
    parser.add_argument(
        "--point", metavar="TEXT", help="of a sweep or a suite the points that hold TEXT, each with its runs and chart"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(args: argparse.Namespace) -> int:
    """Print the history of each target, of a sweep or a suite that of each point."""
    from tui.results.compare.trend import points_in, trends_of

    store = run_store()
    runs = store.list()
    found = trends_of(runs, args.profile, args.target, lambda run: points_in(store.directory_of(run)))
    if not found:
        near = did_you_mean(args.profile, sorted({run.profile for run in runs}))
        where = f" on {args.target}" if args.target else ""
        raise UsageError(f"no whole run of {args.profile}{where} has a headline{near}; see benchtui runs list")
    if args.point is not None:
        found = pointed(found, args.point)
    if args.json:
        document = {"schema": TREND_SCHEMA, "trends": [as_builtins(each) for each in found]}
        print(msgspec.json.format(msgspec.json.encode(document), indent=1).decode())
        return 0
    print("\n\n".join(told(found, whole=args.point is not None)))
    return 0


def pointed(found: Sequence[Trend], text: str) -> list[Trend]:
    """Return the histories of the points that hold a text. Raises UsageError when there is none."""
    chosen = [each for each in found if each.point and text in each.point]
    if not chosen:
        points = ", ".join(sorted({each.point for each in found if each.point})) or "none, they measure one thing"
        raise UsageError(f"no point of {found[0].profile} holds '{text}'; points: {points}")
    return chosen


def told(found: Sequence[Trend], *, whole: bool) -> Iterator[str]:
    """Yield each history as text: the points of a target as one table, unless each is to be told whole."""
    from tui.results.compare.trend import points_lines
    from tui.text.line import plain_lines

    points = [] if whole else [each for each in found if each.point]
    for target in dict.fromkeys(each.target for each in points):
        lines = points_lines([each for each in points if each.target == target], text_width())
        yield "\n".join(plain_lines(lines)) + "\n\n--point TEXT shows the runs of a point"
    for each in found:
        if each not in points:
            yield whole_text(each)


def whole_text(found: Trend) -> str:
    """Return the runs of one history, and its chart."""
    from tui.results.compare.trend import trend_chart, trend_lines
    from tui.text.line import plain_lines
    from tui.text.plot import coloured

    text = "\n".join(plain_lines(trend_lines(found, text_width())))
    if len(found.runs) < 2:
        return text
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    chart = trend_chart(found, shutil.get_terminal_size((80, 24)).columns, coloured=color)
    return f"{text}\n\n{coloured(chart) if color else chr(10).join(plain_lines(chart))}"


def as_builtins(found: Trend) -> dict[str, object]:
    """Return a trend for JSON: of its runs what tells the history."""
    return {
        "profile": found.profile,
        "point": found.point,
        "target": found.target,
        "unit": found.unit,
        "left_out": found.left_out,
        "runs": [{"run_id": run.run_id, "utc": run.utc, "value": run.headline_value} for run in found.runs],
        "changes": [
            {"run_id": found.runs[each.at].run_id, "at": each.at, "ratio": each.ratio, "p": each.p}
            for each in found.changes
        ],
    }
