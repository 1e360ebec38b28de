"""Arguments of searches, and the counter-experiment that tests a bottleneck."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.shared.common import say
from tui.model.problem import BenchtuiError, UsageError
from tui.model.quantities import parse_duration

if TYPE_CHECKING:
    from tui.engine.plan.search import Kind, SearchChoice
    from tui.model.plan import Plan

OVER_HELP = (
    "quantities to vary: rate, hosts or count parameters, such as rate,iodepth or"
    " iodepth=1,8,32 (default: rate)"
)


def add_bounds(parser: argparse.ArgumentParser) -> None:
    """Add the options that bound a search."""
    add = parser.add_argument
    add(
        "--slo",
        action="append",
        default=[],
        metavar="LIMIT",
        help="limit to meet, such as 'p99.9<2ms' or 'errors=0'",
    )
    add("--over", action="append", default=[], metavar="NAMES", help=OVER_HELP)
    add("--points", type=int, metavar="N", help="maximum number of points")
    add("--within", metavar="DURATION", help="time limit for load and pauses, such as 30m")
    add(
        "--point",
        metavar="DURATION",
        help="minimum time per point (default: as in the profile, or 10s)",
    )
    add(
        "--most",
        metavar="DURATION",
        help="maximum time per point when a percentile needs more I/Os (default: 2m)",
    )
    add(
        "--hold",
        metavar="DURATION",
        help="time to hold the capacity before it counts (default: 5m); 0: no hold",
    )


def search_choice(args: argparse.Namespace, kind: Kind | None) -> SearchChoice:
    """Return the search that the arguments describe. Raises UsageError."""
    from tui.engine.plan.search import SearchChoice
    from tui.model.profile_parts import over_of, parse_limit

    try:
        for text in args.slo:
            parse_limit(text)
    except ValueError as error:
        raise UsageError(f"--slo {error}") from None
    try:
        over = over_of(args.over)
    except ValueError as error:
        raise UsageError(f"--over {error}") from None
    within, point, most = (
        span_of(name, getattr(args, name)) for name in ("within", "point", "most")
    )
    hold = (
        0.0
        if args.hold is not None and args.hold.strip() in ("0", "0s")
        else span_of("hold", args.hold)
    )
    return SearchChoice(kind, tuple(args.slo), over, args.points, within, point, most, hold)


def span_of(name: str, text: str | None) -> float | None:
    """Return a duration option in seconds; None if it is absent. Raises UsageError."""
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--{name}: {error}") from None
    if seconds <= 0:
        raise UsageError(f"--{name} {text}: must be greater than 0")
    return seconds


def add_proof_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a counter-experiment, which follow RUN."""
    add = parser.add_argument
    add(
        "--step",
        type=int,
        metavar="N",
        help="number of the step, 1 or higher (default: the step of the headline)",
    )
    add(
        "--runtime",
        metavar="DURATION",
        help="runtime of each of the two measurements (default: as in the run, but 5s to 15s)",
    )
    add(
        "--destroy",
        action="append",
        default=[],
        metavar="PATH",
        help="allow this device or file to be overwritten",
    )
    add("--dry-run", action="store_true", help="print the plan and run nothing")
    add("--yes", action="store_true", help="do not ask")
    add(
        "--json",
        action="store_true",
        help="print the record (with --dry-run: the plan) as JSON on stdout",
    )


def run_proof(args: argparse.Namespace, run_dir: Path) -> int:
    """Run the counter-experiment for a run and return its exit code."""
    import msgspec

    from tui.cli.shared.progress import print_result
    from tui.cli.shared.review import review_text

    plan = planned(run_dir, None if args.step is None else args.step - 1, seconds_of(args.runtime))
    if args.dry_run:
        print(
            msgspec.json.format(msgspec.json.encode(plan)).decode()
            if args.json
            else review_text(plan)
        )
        return 0
    made, code = measured(plan, args.destroy, sure=args.yes)
    print_result(made, as_json=args.json)
    return code


def seconds_of(text: str | None) -> float | None:
    """Return the length of a measurement in seconds; None if not given. Raises UsageError."""
    try:
        seconds = parse_duration(text) if text is not None else None
    except ValueError as error:
        raise UsageError(f"--runtime: {error}") from error
    if seconds is not None and seconds < 1:
        raise UsageError(f"--runtime {text}: expected at least 1s")
    return seconds


def planned(run_dir: Path, step: int | None = None, seconds: float | None = None) -> Plan:
    """Return the plan of the counter-experiment.

    Raises UsageError if there is none for this run.
    """
    from tui.engine.plan.search import proof_plan
    from tui.library.additions import question_of

    plan, question = question_of(run_dir, step)
    return proof_plan(plan, question, seconds)


def measured(plan: Plan, destroy: Sequence[str], *, sure: bool) -> tuple[Path, int]:
    """Run a counter-experiment to its end; return its directory and exit code."""
    from tui.cli.shared.launching import agreed, start
    from tui.cli.shared.progress import followed
    from tui.model.search import SAID
    from tui.view.plan import caveats_of

    if plan.proves is not None:
        experiment = plan.proves.experiment
        say(
            f"if the bottleneck is {plan.proves.kind}, {SAID[experiment.change]} should give"
            f" {experiment.prediction.text}"
        )
    for caveat in caveats_of(plan):
        say(f"benchtui: {caveat}")
    run_dir = start(agreed(plan, destroy, sure=sure))
    say(f"run {run_dir.name}")
    return run_dir, followed(run_dir)


def prove_after(run_dir: Path) -> int:
    """Run the counter-experiment for a run that has just ended, or say why there is none.

    Consent to overwrite carries over from the run, because the targets are the same. Returns the
    exit code.
    """
    from tui.cli.shared.progress import INTERRUPTED
    from tui.engine.preflight.preview import targets_named
    from tui.journal.rundir import load_plan

    try:
        check_whole(run_dir)
        plan = planned(run_dir)
        made, code = measured(plan, targets_named(plan, load_plan(run_dir).destroy), sure=True)
        say(f"the counter-experiment is {made.name}{left_open(made)}")
    except BenchtuiError as error:  # the run itself is not affected
        print(f"benchtui: the bottleneck was not tested: {error}", file=sys.stderr)
        return 0 if isinstance(error, UsageError) else error.exit_code
    except KeyboardInterrupt:  # before it was followed; then Ctrl+C stops it
        say("benchtui: interrupted; the bottleneck was not tested, and the run is unchanged")
        return INTERRUPTED
    return code


def check_whole(run_dir: Path) -> None:
    """Raise UsageError for an incomplete run: the user who stopped it wants no more load."""
    from tui.library.load import load_record

    if (state := load_record(run_dir).state) != "complete":
        raise UsageError(f"{run_dir.name} is {state}")


def left_open(run_dir: Path) -> str:
    """Return how to complete an incomplete counter-experiment, as text.

    Empty if it is complete.
    """
    from tui.library.additions import is_whole
    from tui.library.load import load_record

    if is_whole(load_record(run_dir)):
        return ""
    again = f"benchtui runs resume {run_dir.name}"
    return f"; it is incomplete, so the bottleneck was not tested; to repeat both loads: {again}"
