"""`benchtui ab`: A/B-test two settings of a profile.

The sides alternate until the test is decided or time runs out.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli import run
from tui.cli.shared.arguments import text_width
from tui.cli.shared.common import pairs, paths, run_store, say
from tui.cli.shared.launching import agreed
from tui.cli.shared.progress import INTERRUPTED, followed
from tui.metrics import units
from tui.model.plain import AB_SIDE_TAG, AB_TAG
from tui.model.plan import Plan
from tui.model.problem import BenchtuiError, UsageError
from tui.model.quantities import parse_duration, short_duration

if TYPE_CHECKING:
    from tui.analysis.ab import InterimLook, KeptLook
    from tui.analysis.compare import Comparison
    from tui.analysis.measured import Floor
    from tui.model.record import RunRecord

WORSE, NOT_KNOWN, FAILED = 1, 3, 4
NOT_COMPARABLE = "not comparable"
OVERHEAD_S = 15.0  # overhead of a run before the first one is measured
TAKEN = ("repeat", "sweep", "detach", "prove_bottleneck", "skip_missing", "stream")
AB_SCHEMA = "benchtui.ab/1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `run`, and the settings of sides A and B."""
    run.add_all(parser)
    add = parser.add_argument
    add(
        "--set-a",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="set_a",
        help="change a parameter of side A",
    )
    add(
        "--set-b",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="set_b",
        help="change a parameter of side B",
    )
    add(
        "--detect",
        default="5%",
        metavar="SHARE",
        help="smallest change that matters (default: 5%%)",
    )
    add("--within", default="1h", metavar="DURATION", help="time limit (default: 1h)")
    add(
        "--name",
        metavar="NAME",
        help="experiment name; complete runs already saved under it count",
    )
    parser.epilog = (
        "exit codes: 0 B is no worse, 1 worse, 2 usage error, 3 not comparable or undecided, 4"
        " runs failed"
    )


@dataclass
class AbTest:
    """An A/B test: its two sides, their complete runs, and the time budget."""

    name: str
    sides: dict[str, argparse.Namespace]
    plans: dict[str, Plan]  # by side
    detect: float
    until_s: float
    room: int  # runs that fit into the time, including existing ones
    as_json: bool = False
    within_s: float = 0.0
    needed_printed: bool = False  # whether the number of runs that the test needs was printed
    look: InterimLook | None = None
    records: dict[str, list[RunRecord]] = field(default_factory=lambda: {"A": [], "B": []})
    kept: list[KeptLook] = field(
        default_factory=list
    )  # looks of earlier invocations and of this one

    @property
    def most(self) -> int:
        """Maximum number of runs of both sides together, as estimated so far."""
        return self.room if self.look is None else self.look.most

    @property
    def load_s(self) -> float:
        """Mean expected duration of a run's load in seconds, over both sides."""
        return sum(plan.expected_s or 0.0 for plan in self.plans.values()) / len(self.plans)

    @property
    def fits(self) -> int:
        """Number of runs of both sides together that fit into the time budget."""
        return int(self.within_s / (self.load_s + OVERHEAD_S)) // 2 * 2

    @property
    def across(self) -> list[str]:
        """Parameters that may differ between the sides.

        These are set for a side, or derived from parameters that are.
        """
        given = {name for side in self.sides.values() for name in pairs(side.overrides, "--set")}
        params = [self.plans[side].params for side in "AB"]
        return sorted(
            given
            | {name for name in params[0] | params[1] if params[0].get(name) != params[1].get(name)}
        )

    @property
    def runs(self) -> int:
        """Number of complete runs, both sides together."""
        return sum(map(len, self.records.values()))


def main(args: argparse.Namespace) -> int:
    """Run both sides alternately and return the exit code."""
    if args.dry_run and args.json:
        raise UsageError("--json and --dry-run cannot be combined")
    experiment = experiment_of(args)
    if args.dry_run:
        from tui.cli.shared.review import review_text

        for side, each in experiment.plans.items():
            print(f"side {side}\n{review_text(each)}")
        return 0
    count_earlier_runs(experiment)
    say(f"experiment {experiment.name}: {time_text(experiment)}")
    return measured(experiment)


def experiment_of(args: argparse.Namespace) -> AbTest:
    """Return the A/B test that the arguments describe. Raises UsageError."""
    for name in TAKEN:
        if getattr(args, name):
            raise UsageError(
                f"--{name.replace('_', '-')} cannot be used with ab, which plans the runs itself"
            )
    sets = [pairs(args.set_a, "--set-a"), pairs(args.set_b, "--set-b")]
    if sets[0] == sets[1]:
        raise UsageError(
            "both sides have the same settings; use --set-a NAME=VALUE or --set-b NAME=VALUE"
        )
    within_s = seconds_of(args.within)
    name = args.name or f"ab-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    given = {"A": args.set_a, "B": args.set_b}
    sides = {side: side_args(args, side, name, words) for side, words in given.items()}
    plans = {side: run.plan_from(each) for side, each in sides.items()}
    plan = plans["A"]
    if plan.headline is None or len([step for step in plan.steps if not step.warmup]) != 1:
        raise UsageError(
            f"{plan.profile.tag} measures several points, but ab only one: fix the swept"
            " parameters with --set NAME=VALUE, or run the sweep several times for both sides"
            " and compare them point by point with benchtui compare"
        )
    until_s = time.monotonic() + within_s
    return AbTest(name, sides, plans, share_of(args.detect), until_s, 0, args.json, within_s)


def side_args(
    args: argparse.Namespace, side: str, name: str, given: Sequence[str]
) -> argparse.Namespace:
    """Return the arguments of `run` for one side."""
    found = copy(args)
    found.overrides = [*args.overrides, *given]
    found.tags = [*args.tags, f"{AB_TAG}={name}", f"{AB_SIDE_TAG}={side}"]
    return found


def share_of(text: str) -> float:
    """Return a share above 0 and below 1, given as 5% or 0.05. Raises UsageError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *(%?)", text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < share < 1:
        raise UsageError(
            f"--detect {text}: expected a percentage above 0% and below 100%, such as 5%"
        )
    return share


def seconds_of(text: str) -> float:
    """Return a typed duration in seconds. Raises UsageError."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--within: {error}") from error


def count_earlier_runs(experiment: AbTest) -> None:
    """Add the complete valid runs and the interim looks of an earlier test with this name.

    Raises UsageError for a run that was measured differently from its side.
    """
    from tui.analysis.ab import LEAST_RUNS, looks_after
    from tui.library.load import load_record

    store = run_store()
    for summary in reversed(store.list()):
        side = summary.tags.get(AB_SIDE_TAG, "")
        if summary.tags.get(AB_TAG) != experiment.name or side not in experiment.records:
            continue
        experiment.kept += looks_after(store.directory_of(summary))
        if summary.state != "complete":
            say(
                f"{summary.run_id} is {summary.state} and does not count; use benchtui runs recover"
                " or runs resume"
            )
        elif summary.verdict == "invalid":
            say(f"{summary.run_id} is invalid and does not count")
        else:
            record = load_record(store.directory_of(summary))
            check_belongs(experiment, side, record)
            experiment.records[side].append(record)
    if experiment.runs:
        say(f"earlier runs counted: {experiment.runs}")
    experiment.room = max(LEAST_RUNS, experiment.fits) + experiment.runs // 2 * 2


def time_text(experiment: AbTest) -> str:
    """Return how many runs fit into the time, as text.

    Raises UsageError if an answer needs more runs than fit.
    """
    from tui.analysis.ab import LEAST_RUNS

    needed, more = max(LEAST_RUNS - experiment.runs, 0), " more" if experiment.runs else ""
    runs = f"{needed}{more} run{'' if needed == 1 else 's'}"
    if needed * experiment.load_s > experiment.within_s:
        within, each = short_duration(experiment.within_s), units.seconds(experiment.load_s)
        raise UsageError(
            f"--within {within}: too short for the minimum of {runs} with {each} of load each"
        )
    if experiment.fits < max(needed, 2):
        if not needed:
            return "the time limit is too short for another pair of runs"
        return f"the time limit is tight for the minimum of {runs}"
    return f"up to {experiment.fits}{more} runs fit in the time limit, in ABBA order"


def check_belongs(experiment: AbTest, side: str, record: RunRecord) -> None:
    """Raise UsageError, with the differences, if a run is not a repetition of its side."""
    plan, was = experiment.plans[side], record.profile
    then_on, now_on = (
        ", ".join(sorted(each.name for each in hosts)) for hosts in (record.hosts, plan.hosts)
    )
    parts: list[tuple[str, object, object]] = [
        ("profile", was.tag, plan.profile.tag),
        ("version", was.version, plan.profile.version),
        ("hosts", then_on, now_on),
    ]
    parts += [
        (name, was.params.get(name), plan.params.get(name))
        for name in sorted(was.params | plan.params)
    ]
    if differs := [
        f"{name} {then}, now {now}" for name, then, now in parts if str(then) != str(now)
    ]:
        raise UsageError(
            f"{record.run_id} is on side {side} of {experiment.name}, but was measured differently:"
            f" {'; '.join(differs)}; choose another --name"
        )


def measured(experiment: AbTest) -> int:
    """Measure both sides until decided or out of time; return the exit code."""
    longest, failed, found = experiment.load_s, 0, interim_result(experiment)
    while is_undecided(found) and experiment.runs < experiment.most:
        if obstacles_of(experiment):
            break
        if time.monotonic() + longest > experiment.until_s:
            say("out of time")
            break
        begun = time.monotonic()
        try:
            code, record = one_run(experiment, next_side(experiment))
        except KeyboardInterrupt:  # while nothing runs
            code, record = INTERRUPTED, None
        longest = max(longest, time.monotonic() - begun)
        if code == INTERRUPTED:
            return interrupted(experiment, found)
        failed = 0 if record is not None else failed + 1
        if failed == 2:
            raise_failed(experiment)
        found = interim_result(experiment)
    return concluded(experiment, found)


def is_undecided(found: InterimLook | None) -> bool:
    """Return whether the test is undecided and more runs may decide it."""
    return found is None or (found.answer == "go on" and not found.all_spent)


def interrupted(experiment: AbTest, found: InterimLook | None) -> int:
    """Print how to continue an interrupted test; return the exit code."""
    whole = " and ".join(
        f"{units.plural(len(experiment.records[side]), 'run')} of {side}" for side in "AB"
    )
    say(f"interrupted; {whole} kept; to continue, repeat the command with --name {experiment.name}")
    if experiment.as_json:
        print(document(experiment, found, "interrupted"))
    return INTERRUPTED


def next_side(experiment: AbTest) -> str:
    """Return the side of the next run.

    Sides alternate in ABBA order; a side that is two or more runs behind goes first.
    """
    from tui.analysis.ab import side_of

    a, b = (len(experiment.records[side]) for side in "AB")
    if abs(a - b) > 1:
        return "A" if a < b else "B"
    return side_of(experiment.runs)


def one_run(experiment: AbTest, side: str) -> tuple[int, RunRecord | None]:
    """Measure one side once; return the exit code, and the record if the run counts.

    Adds the record to the test.
    """
    from tui.cli.shared.launching import start
    from tui.library.load import load_record

    args = experiment.sides[side]
    run_dir: Path = start(agreed(run.plan_from(args), args.destroy, sure=args.yes))
    say(f"{side}{len(experiment.records[side]) + 1}: run {run_dir.name}")
    code = followed(run_dir)
    record = load_record(run_dir) if code != INTERRUPTED else None
    if record is None or code != 0:
        say(f"run {run_dir.name} exited with code {code} and does not count")
        return code, None
    experiment.records[side].append(record)
    return code, record


def raise_failed(experiment: AbTest) -> None:
    """Raise BenchtuiError after two failed runs in a row."""
    error = BenchtuiError(f"two runs in a row did not count; to continue: --name {experiment.name}")
    error.exit_code = FAILED
    raise error


def interim_result(experiment: AbTest) -> InterimLook | None:
    """Return the interim result, print it if it is new, and save new looks with their runs.

    Uses the same number of runs from both sides. None with fewer than four runs in total. Raises
    BenchtuiError for a run without a headline.
    """
    from tui.analysis.ab import after_looks, keep_looks, made_at

    a, b = experiment.records["A"], experiment.records["B"]
    print_runs_needed(experiment)
    values = [
        [each.headline.value for each in side if each.headline and each.headline.value]
        for side in (a, b)
    ]
    for each in (*a, *b):
        if not (each.headline and each.headline.value):
            raise BenchtuiError(f"{each.run_id} has no headline to compare")
    room = max(experiment.room, experiment.runs)
    of_a, of_b = ([each.run_id for each in side] for side in (a, b))
    made, floor = made_at(experiment.kept, of_a, of_b), floor_of(a[0]) if a else None
    found, new = after_looks(values[0], values[1], room, experiment.detect, floor, made)
    experiment.kept += keep_looks(new, of_a, of_b, run_store().runs_dir)
    if found is not None and found != experiment.look:
        interval = f"{units.change(found.low)} … {units.change(found.high)}"
        going = (
            f"undecided, continuing to at most {found.most} runs"
            if found.answer == "go on"
            else found.answer
        )
        say(
            f"after {found.runs} runs: B compared with A {units.change(found.ratio)} ({interval}),"
            f" {going}"
        )
    experiment.look = found
    return found


def print_runs_needed(experiment: AbTest) -> None:
    """Print once, after the first run, how many runs the test needs.

    The number follows from the profile's noise floor; without a noise floor, nothing is printed.
    """
    from tui.analysis.ab import runs_for

    if experiment.needed_printed or not experiment.records["A"]:
        return
    experiment.needed_printed = True
    if (floor := floor_of(experiment.records["A"][0])) is None:
        return
    wanted = runs_for(experiment.detect, floor.cov, floor.n - 1)
    short = (
        f"; only {experiment.room} fit in the time limit, so the result may stay undecided"
        if wanted > experiment.room
        else ""
    )
    say(f"identical runs differ by {floor.cov * 100:.2g} % (noise floor): "
        f"detecting a change of {experiment.detect * 100:g} % with 90 % power "
        f"needs at most {wanted} runs, half of that on average{short}")  # fmt: skip


def obstacles_of(experiment: AbTest) -> list[str]:
    """Return the differences that make the sides incomparable.

    Empty if they are comparable, or if a side has no run yet. More runs cannot remove a difference.
    """
    from tui.analysis.setup_differences import differences

    a, b = experiment.records["A"], experiment.records["B"]
    return (
        [each.text for each in differences(a, b, experiment.across) if each.blocks]
        if a and b
        else []
    )


def floor_of(record: RunRecord) -> Floor | None:
    """Return the measured noise floor of the run's headline; None if never measured."""
    from tui.analysis.measured import NoiseFloors, name_of, points_of

    (point,) = points_of([record]).values()
    figure = point.headline
    return (
        NoiseFloors.read(paths().noise).floor(record, name_of(point, figure))
        if figure is not None
        else None
    )


def concluded(experiment: AbTest, found: InterimLook | None) -> int:
    """Print both sides and the answer; return the exit code."""
    from tui.text.line import plain_lines
    from tui.view.comparison import comparison_lines

    word = NOT_COMPARABLE if obstacles_of(experiment) else word_of(experiment, found)
    if experiment.as_json:
        print(document(experiment, found, word))
    else:
        if (compared := compared_sides(experiment)) is not None:
            print(
                "\n".join(plain_lines(comparison_lines(compared, text_width(), advice=False)))
                + "\n"
            )
        print(answer_text(experiment, found, word))
    return {"worse": WORSE, "not known": NOT_KNOWN, NOT_COMPARABLE: NOT_KNOWN}.get(word, 0)


def word_of(experiment: AbTest, found: InterimLook | None) -> str:
    """Return the answer: ``better``, ``worse``, ``no difference as large``, ``not known``."""
    from tui.metrics.registry import METRICS

    headline = experiment.plans["A"].headline
    assert headline is not None
    if found is None or found.answer == "go on":
        return "not known"
    if found.answer == "no difference as large":
        return found.answer
    return (
        "better"
        if (found.answer == "higher") == (METRICS[headline.metric].better == "higher")
        else "worse"
    )


def compared_sides(experiment: AbTest) -> Comparison | None:
    """Return the comparison of all figures of B with A; None if a side has no run."""
    from tui.analysis.compare import compare

    a, b = experiment.records["A"], experiment.records["B"]
    return compare(a, b, across=experiment.across) if a and b else None


def answer_text(experiment: AbTest, found: InterimLook | None, word: str) -> str:
    """Return the answer as a sentence, with the smallest detectable change."""
    if word == NOT_COMPARABLE:
        return f"the sides are not comparable: {'; '.join(obstacles_of(experiment))}"
    if found is None:
        return f"undecided: out of time. To continue: --name {experiment.name} --within DURATION"
    if word == "not known":
        least = f"{found.runs} runs can detect a change of {found.detectable * 100:.1f} %"
        if found.all_spent and experiment.runs < found.most:
            return (
                f"undecided: the error budget for interim looks is used up; {least}; to start"
                " again, use another --name"
            )
        if found.runs >= found.most < experiment.room:
            return (
                f"undecided after as many runs as needed to detect {experiment.detect * 100:g}"
                " % with"
                f" 90 % power; {least}"
            )
        return (
            f"undecided: out of time; {least}. To continue: --name {experiment.name} --within"
            " DURATION"
        )
    interval = f"({units.change(found.low)} … {units.change(found.high)})"
    if word == "no difference as large":
        return f"no difference of {experiment.detect * 100:g} % or more {interval}"
    return (f"B is {word}: {units.change(found.ratio)} {interval}, decided after {found.runs} runs;"
            f" detectable change {found.detectable * 100:.1f} %")  # fmt: skip


def document(experiment: AbTest, found: InterimLook | None, word: str) -> str:
    """Return the result as JSON: the answer, the last look, and both sides with all figures."""
    import msgspec

    from tui.view.comparison_formats import as_builtins

    compared = compared_sides(experiment)
    whole = {
        "schema": AB_SCHEMA,
        "name": experiment.name,
        "answer": word,
        "detect": experiment.detect,
        "most_runs": experiment.most,
        "look": None if found is None else msgspec.to_builtins(found),
        "runs": {side: [each.run_id for each in experiment.records[side]] for side in "AB"},
        "comparison": None if compared is None else as_builtins(compared),
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=1).decode()
