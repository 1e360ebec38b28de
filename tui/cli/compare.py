"""`benchtui compare`: compare runs.

Prints text or JSON; the exit code is meant for build servers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.shared.arguments import columns, text_width, wants_colour
from tui.cli.shared.common import ACROSS_HELP, SIDE_HELP, add_flag, paths, run_store, say
from tui.cli.shared.common import side_of as directories_of
from tui.model.problem import BenchtuiError, NotComparableError, UsageError

if TYPE_CHECKING:
    from tui.analysis.compare import Comparison
    from tui.analysis.criteria import JudgedCriterion
    from tui.library.runs import RunStore
    from tui.model.record import RunRecord
    from tui.view.comparison_formats import Judgement

WORSE, NOT_COMPARABLE = 1, 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add("a", metavar="A", help=f"baseline run; {SIDE_HELP}")
    add("others", metavar="B", nargs="+", help="runs to compare with A, in the same syntax")
    add("--across", action="append", default=[], metavar="NAME", help=ACROSS_HELP)
    add("--all", action="store_true", help="print all figures of every point of a sweep or a suite")
    form = parser.add_mutually_exclusive_group()
    add_flag(form, "--json", "print one JSON object")
    add_flag(form, "--plot", "add percentile curves and histograms")
    add(
        "--fail-if",
        action="append",
        default=[],
        metavar="CRITERION",
        dest="criteria",
        help=(
            "fail if this is true, such as 'read.p99 > 2ms' or, relative to A, 'iops < -5%%'; "
            "added to the profile's thresholds"
        ),
    )
    add("--junit", type=Path, metavar="FILE", help="also write JUnit XML")
    add("--allow-undecided", action="store_true", help="exit 0 when inconclusive")
    parser.epilog = (
        "exit codes: 0 no worse, 1 worse, 2 usage error, 3 inconclusive or not comparable; 1"
        " takes precedence over 3"
    )


def main(args: argparse.Namespace) -> int:
    """Compare and return the exit code."""
    from tui.analysis.compare import check_across, compare, differing
    from tui.analysis.criteria import judge_against, named_criteria
    from tui.analysis.measured import NoiseFloors

    named_criteria(args.criteria)  # report their errors before reading anything
    store, floors = run_store(), NoiseFloors.read(paths().noise)
    a, others = sides_of(store, args)
    check_across(args.across, [record for side in (a, *others) for record in side])
    found = [compare(a, other, floors, args.across) for other in others]
    judged = [(each, judge_against(each, args.criteria)) for each in found]
    if args.junit is not None:
        from tui.view.comparison_formats import as_junit

        write_to(args.junit, as_junit(judged, allow_undecided=args.allow_undecided))
    if args.json:
        from tui.view.comparison_formats import as_json

        sys.stdout.write(as_json(judged))
    else:
        show(judged, every=args.all, plot=args.plot)
    code = whole_code(exit_code(*each, allow_undecided=args.allow_undecided) for each in judged)
    if able := differing(found):
        say(f"to compare anyway, use: {' '.join(f'--across {name}' for name in able)}")
    if (
        code == NOT_COMPARABLE
        and not args.allow_undecided
        and any(undecided(*each) for each in judged)
    ):
        say("inconclusive (exit code 3): add repetitions, run longer, or use --allow-undecided")
    return code


def sides_of(
    store: RunStore, args: argparse.Namespace
) -> tuple[list[RunRecord], list[list[RunRecord]]]:
    """Return the records of A, and of each B.

    Raises UsageError for a run that is on both sides.
    """
    a, others = side_of(store, args.a), [side_of(store, other) for other in args.others]
    if both := {each.run_id for each in a} & {each.run_id for other in others for each in other}:
        raise UsageError(f"on both sides: {', '.join(sorted(both))}; choose different runs")
    return a, others


def side_of(store: RunStore, text: str) -> list[RunRecord]:
    """Return the records of one side.

    Raises UsageError for unknown runs, NotComparableError for records that cannot be read.
    """
    from tui.library.load import load_record

    directories = directories_of(store, text)
    try:
        return [load_record(directory) for directory in directories]
    except BenchtuiError as error:  # 1 would mean worse
        raise NotComparableError(error.problems) from error


def show(found: Sequence[Judgement], *, every: bool, plot: bool) -> None:
    """Print comparisons, with charts if asked for."""
    from tui.text.line import LABEL, indented, plain_lines
    from tui.view.comparison import comparison_lines, judged_lines, several_sides_text

    for at, (each, judged) in enumerate(found):
        lines = [*comparison_lines(each, text_width(), every=every), *judged_lines(judged)]
        print(("\n" if at else "") + "\n".join(plain_lines(lines)))
        if plot:
            show_charts(each)
    if text := several_sides_text([each for each, _ in found]):
        print("\n" + "\n".join(plain_lines(indented([(text, LABEL)], text_width() or 120, 0))))


def show_charts(found: Comparison) -> None:
    """Print the charts of a comparison, in colour on a terminal only."""
    from tui.text.line import plain_lines
    from tui.text.plot import coloured
    from tui.view.comparison_charts import charts

    color = wants_colour()
    for lines in charts(found, columns(), coloured=color):
        print("\n" + (coloured(lines) if color else "\n".join(plain_lines(lines))))


def exit_code(
    found: Comparison, judged: Sequence[JudgedCriterion], *, allow_undecided: bool = False
) -> int:
    """Return 1 if B is worse or a threshold is broken, 0 if not, 3 if not comparable or
    inconclusive.

    1 takes precedence. 3 is also returned for thresholds that could not be judged. With
    `allow_undecided`, inconclusive is 0.
    """
    from tui.analysis.criteria import UNJUDGED

    worse = (
        any(change.word == "worse" and change.counts for change in found.changes)
        or found.word == "worse"
    )
    if worse or any(each.outcome == "broken" for each in judged):
        return WORSE
    if found.word == "not comparable" or any(each.outcome in UNJUDGED for each in judged):
        return NOT_COMPARABLE
    return NOT_COMPARABLE if found.undecided and not allow_undecided else 0


def whole_code(codes: Iterable[int]) -> int:
    """Return the exit code of several comparisons: worse takes precedence over inconclusive."""
    found = set(codes)
    return next((code for code in (WORSE, NOT_COMPARABLE) if code in found), 0)


def undecided(found: Comparison, judged: Sequence[JudgedCriterion]) -> bool:
    """Return whether the exit code is 3 only because the comparison is inconclusive."""
    codes = [exit_code(found, judged, allow_undecided=allowed) for allowed in (False, True)]
    return codes == [NOT_COMPARABLE, 0]


def write_to(path: Path, text: str) -> None:
    """Write a file. Raises UsageError with the reason if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
