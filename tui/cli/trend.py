"""`benchtui trend`: the history of a profile, and where its figures changed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui.cli.shared.arguments import columns, text_width, wants_colour
from tui.cli.shared.common import add_flag, paths, run_store, say
from tui.model.problem import UsageError, did_you_mean

if TYPE_CHECKING:
    from tui.analysis.setup import PointSetup
    from tui.analysis.trend import Trend

TREND_SCHEMA = "benchtui.trend/1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.description = (
        "Shows the runs of a profile on a target, oldest first, and where"
        " the figure changed. Runs with different parameters, hosts or tools are separate"
        " histories; the default is the history of the newest run."
    )
    parser.add_argument("profile", metavar="PROFILE", help="name of a profile that has runs")
    parser.add_argument(
        "--target", metavar="T", help="only runs on this target (default: each target separately)"
    )
    parser.add_argument(
        "--point",
        metavar="TEXT",
        help=(
            "sweeps and suites: only points whose name contains TEXT, each with its runs and chart"
        ),
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--like", metavar="RUN", help="show the history of runs measured like this one"
    )
    add_flag(which, "--all", "show all histories, including those with earlier parameters")
    add_flag(parser, "--json", "print one JSON object")


def main(args: argparse.Namespace) -> int:
    """Print each target's history; for a sweep or a suite, each point's history."""
    found = asked_for(args)
    if args.point is not None:
        found = pointed(found, args.point)
    if args.json:
        document = {"schema": TREND_SCHEMA, "trends": [as_builtins(each) for each in found]}
        print(msgspec.json.format(msgspec.json.encode(document), indent=1).decode())
        return 0
    print(
        "\n\n".join(
            history_lines(
                found, whole=args.point is not None, which=args.all or args.like is not None
            )
        )
    )
    return 0


def asked_for(args: argparse.Namespace) -> list[Trend]:
    """Return the histories that the arguments select.

    Raises UsageError if there is none.
    """
    from tui.analysis.setup import measured_at
    from tui.analysis.trend import trends_of

    store = run_store()
    target, like = (
        like_run(store.resolve(args.like), args) if args.like is not None else (args.target, None)
    )
    listing = store.everything()
    for problem in listing.problems:
        say(str(problem))
    runs = listing.runs
    found = trends_of(
        runs,
        args.profile,
        target,
        lambda run: measured_at(store.directory_of(run)),
        like,
        every=args.all,
    )
    if not found:
        near = nearest_profile(args.profile, {run.profile for run in runs})
        where = f" on {target}" if target else ""
        how = f" measured like {args.like}" if like is not None else ""
        raise UsageError(
            f"no complete run of {args.profile}{where}{how} has a headline{near}; see benchtui runs"
            " list"
        )
    return found


def nearest_profile(name: str, measured: set[str]) -> str:
    """Return a hint with the nearest profile name: one with runs, otherwise any."""
    if name in measured:
        return ""
    from tui.engine.inputs.profile_texts import Shelf

    every = Shelf(paths().profiles).tags
    return did_you_mean(name, measured) or (did_you_mean(name, every) if name not in every else "")


def like_run(run_dir: Path, args: argparse.Namespace) -> tuple[str, dict[str, PointSetup]]:
    """Return the target of the run named by --like, and how each of its points was measured.

    Raises UsageError.
    """
    from tui.analysis.setup import head_at, measured

    head = head_at(run_dir)
    if head is None:
        raise UsageError(
            f"--like {args.like}: no record yet; if it was interrupted: benchtui runs recover"
        )
    if head.profile.tag != args.profile:
        raise UsageError(
            f"--like {args.like}: run of profile {head.profile.tag}; expected {args.profile}"
        )
    if args.target not in (None, head.target or ""):
        raise UsageError(
            f"--like {args.like}: run on {head.target or 'no target'}; expected {args.target}"
        )
    return head.target or "", {each.point: each.setup for each in measured(head)}


def pointed(found: Sequence[Trend], text: str) -> list[Trend]:
    """Return the histories of points whose name contains a text.

    Raises UsageError if there is none.
    """
    chosen = [each for each in found if each.point and text in each.point]
    if not chosen:
        points = (
            ", ".join(sorted({each.point for each in found if each.point}))
            or "none; the profile has a single point"
        )
        raise UsageError(f"no point of {found[0].profile} contains '{text}'; points: {points}")
    return chosen


def history_lines(found: Sequence[Trend], *, whole: bool, which: bool) -> Iterator[str]:
    """Yield each history as text.

    The points of one target are one table, unless `whole`. `which`: also print how the runs of a
    history were measured.
    """
    from tui.text.line import plain_lines
    from tui.view.trend import others_lines, points_lines

    points = [] if whole or which else [each for each in found if each.point]
    for target in dict.fromkeys(each.target for each in points):
        of_target = [each for each in points if each.target == target]
        lines = [*points_lines(of_target, text_width()), *others_lines(of_target, text_width())]
        yield "\n".join(plain_lines(lines)) + "\n\nto show the runs of a point: --point TEXT"
    for each in found:
        if each not in points:
            yield whole_text(each, which=which)


def whole_text(found: Trend, *, which: bool) -> str:
    """Return one history: its runs, runs that were measured differently, and a chart."""
    from tui.text.line import plain_lines
    from tui.text.plot import coloured
    from tui.view.trend import others_lines, setup_lines, trend_chart, trend_lines

    width = text_width()
    lines = [
        *trend_lines(found, width),
        *(setup_lines(found, width) if which else ()),
        *others_lines([found], width),
    ]
    text = "\n".join(plain_lines(lines))
    if len(found.runs) < 2:
        return text
    color = wants_colour()
    chart = trend_chart(found, columns(), coloured=color)
    return f"{text}\n\n{coloured(chart) if color else chr(10).join(plain_lines(chart))}"


def as_builtins(found: Trend) -> dict[str, object]:
    """Return a history for JSON: its runs, how they were measured, and runs left out."""
    return {
        "profile": found.profile,
        "point": found.point,
        "target": found.target,
        "unit": found.unit,
        "left_out": found.left_out,
        "setup": dict(found.setup.parts),
        "runs": [
            {"run_id": run.run_id, "utc": run.utc, "value": run.headline_value}
            for run in found.runs
        ],
        "changes": [
            {"run_id": found.runs[each.at].run_id, "at": each.at, "ratio": each.ratio, "p": each.p}
            for each in found.changes
        ],
        "others": [
            {"runs": each.runs, "newest": each.newest.run_id, "differs": each.differs}
            for each in found.others
        ],
    }
