"""`benchtui ab`: one profile with two settings, in turns, until it is known which is better or the
time is up.
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
OVERHEAD_S = 15.0  # of a run beside its load, until the first one tells
TAKEN = ("repeat", "sweep", "detach", "prove_bottleneck", "skip_missing", "stream")
AB_SCHEMA = "benchtui.ab/1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments: those of `run`, and the two sides."""
    run.add_all(parser)
    add = parser.add_argument
    add(
        "--set-a",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="set_a",
        help="a parameter of side A",
    )
    add(
        "--set-b",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="set_b",
        help="a parameter of side B",
    )
    add("--detect", default="5%", metavar="SHARE", help="the least change that matters (5%%)")
    add("--within", default="1h", metavar="DURATION", help="the time there is (1h)")
    add(
        "--name",
        metavar="NAME",
        help="name of the experiment; whole runs of it that are there already count",
    )
    parser.epilog = (
        "exit codes: 0 B is no worse, 1 worse, 2 wrong usage, 3 not comparable, or not known within"
        " the time, 4 runs failed"
    )


@dataclass
class AbTest:
    """Two sides, the runs of each that are whole, and what may be spent."""

    name: str
    sides: dict[str, argparse.Namespace]
    plans: dict[str, Plan]  # by side
    detect: float
    until_s: float
    room: int  # runs that there is time for, those that are there already included
    as_json: bool = False
    within_s: float = 0.0
    told: bool = False  # how many runs it takes by the noise floor
    look: InterimLook | None = None
    records: dict[str, list[RunRecord]] = field(default_factory=lambda: {"A": [], "B": []})
    kept: list[KeptLook] = field(default_factory=list)  # looks of earlier sittings and of this one

    @property
    def most(self) -> int:
        """Runs of both sides that it takes at most, as far as is known."""
        return self.room if self.look is None else self.look.most

    @property
    def load_s(self) -> float:
        """Seconds of load in one run, in the mean of both sides: it takes longer by what is beside
        it.
        """
        return sum(plan.expected_s or 0.0 for plan in self.plans.values()) / len(self.plans)

    @property
    def fits(self) -> int:
        """Runs that there is time for in this sitting, two sides of them."""
        return int(self.within_s / (self.load_s + OVERHEAD_S)) // 2 * 2

    @property
    def across(self) -> list[str]:
        """Parameters that are meant to differ: those that somebody set, and those that follow from
        them.
        """
        given = {name for side in self.sides.values() for name in pairs(side.overrides, "--set")}
        params = [self.plans[side].params for side in "AB"]
        return sorted(
            given
            | {name for name in params[0] | params[1] if params[0].get(name) != params[1].get(name)}
        )

    @property
    def runs(self) -> int:
        """Whole runs of both sides."""
        return sum(map(len, self.records.values()))


def main(args: argparse.Namespace) -> int:
    """Run both sides in turns and return what came out."""
    if args.dry_run and args.json:
        raise UsageError("--json tells what came out, --dry-run runs nothing: one of them")
    experiment = experiment_of(args)
    if args.dry_run:
        from tui.cli.shared.review import review_text

        for side, each in experiment.plans.items():
            print(f"side {side}\n{review_text(each)}")
        return 0
    take_known(experiment)
    say(f"experiment {experiment.name}: {time_text(experiment)}")
    return measured(experiment)


def experiment_of(args: argparse.Namespace) -> AbTest:
    """Return the experiment that the arguments ask for. Raises UsageError."""
    for name in TAKEN:
        if getattr(args, name):
            raise UsageError(
                f"--{name.replace('_', '-')} does not go with ab: it plans the runs itself"
            )
    sets = [pairs(args.set_a, "--set-a"), pairs(args.set_b, "--set-b")]
    if sets[0] == sets[1]:
        raise UsageError("the sides are the same: --set-a NAME=VALUE, --set-b NAME=VALUE")
    within_s = seconds_of(args.within)
    name = args.name or f"ab-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    given = {"A": args.set_a, "B": args.set_b}
    sides = {side: side_args(args, side, name, words) for side, words in given.items()}
    plans = {side: run.plan_from(each) for side, each in sides.items()}
    plan = plans["A"]
    if plan.headline is None or len([step for step in plan.steps if not step.warmup]) != 1:
        raise UsageError(
            f"{plan.profile.tag} measures several points; ab takes one, and repeats it itself: fix"
            " what is swept with --set NAME=VALUE, or run the sweep for both sides with --repeat 4"
            " and hold them against each other, point by point, with benchtui compare"
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
    """Return a share above 0: 5% or 0.05. Raises UsageError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *(%?)", text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < share < 1:
        raise UsageError(f"--detect {text}: expected a share such as 5%")
    return share


def seconds_of(text: str) -> float:
    """Return a duration in seconds. Raises UsageError."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--within: {error}") from error


def take_known(experiment: AbTest) -> None:
    """Take the whole runs that an experiment of this name has already, and its looks: after a stop,
    or a power cut.

    Raises UsageError for one that was measured otherwise than its side would be now.
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
                f"{summary.run_id} is {summary.state}: it does not count; benchtui runs recover, or"
                " runs resume"
            )
        elif summary.verdict == "invalid":
            say(f"{summary.run_id} is invalid: it does not count")
        else:
            record = load_record(store.directory_of(summary))
            check_belongs(experiment, side, record)
            experiment.records[side].append(record)
    if experiment.runs:
        say(f"{experiment.runs} runs of it are there already")
    experiment.room = max(LEAST_RUNS, experiment.fits) + experiment.runs // 2 * 2


def time_text(experiment: AbTest) -> str:
    """Return how many runs there is time for.

    Raises UsageError when it cannot be enough for an answer.
    """
    from tui.analysis.ab import LEAST_RUNS

    needed, more = max(LEAST_RUNS - experiment.runs, 0), " more" if experiment.runs else ""
    runs = f"{needed}{more} run{'' if needed == 1 else 's'}"
    if needed * experiment.load_s > experiment.within_s:
        within, each = short_duration(experiment.within_s), units.seconds(experiment.load_s)
        raise UsageError(
            f"--within {within}: {runs} of {each} of load take longer, and fewer tell nothing"
        )
    if experiment.fits < max(needed, 2):
        return (
            "there is hardly time for"
            f" {f'{runs}, and fewer tell nothing' if needed else 'more runs'}"
        )
    return f"there is time for up to {experiment.fits}{more} runs, in the order ABBA"


def check_belongs(experiment: AbTest, side: str, record: RunRecord) -> None:
    """Raise UsageError for a run that is no repetition of its side: what differs is named."""
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
            f"{record.run_id} is of side {side} of {experiment.name}, and was measured otherwise: "
            f"{'; '.join(differs)}; take another --name"
        )


def measured(experiment: AbTest) -> int:
    """Make runs until the answer is known or the budget is spent; return the exit code."""
    longest, failed, found = experiment.load_s, 0, looked(experiment)
    while goes_on(found) and experiment.runs < experiment.most:
        if obstacles_of(experiment):
            break
        if time.monotonic() + longest > experiment.until_s:
            say("the time is up")
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
        found = looked(experiment)
    return concluded(experiment, found)


def goes_on(found: InterimLook | None) -> bool:
    """Whether more runs could give an answer that there is not yet."""
    return found is None or (found.answer == "go on" and not found.all_spent)


def interrupted(experiment: AbTest, found: InterimLook | None) -> int:
    """Say what stays of an experiment that somebody stopped; return the exit code."""
    whole = " and ".join(f"{len(experiment.records[side])} of {side}" for side in "AB")
    say(
        f"interrupted; {whole} are whole and stay. To go on: the same command with --name"
        f" {experiment.name}"
    )
    if experiment.as_json:
        print(document(experiment, found, "interrupted"))
    return INTERRUPTED


def next_side(experiment: AbTest) -> str:
    """Return whose turn it is: as ABBA has it, but the side that lacks runs first."""
    from tui.analysis.ab import side_of

    a, b = (len(experiment.records[side]) for side in "AB")
    if abs(a - b) > 1:
        return "A" if a < b else "B"
    return side_of(experiment.runs)


def one_run(experiment: AbTest, side: str) -> tuple[int, RunRecord | None]:
    """Make a run of one side and return its exit code, and its record when it counts."""
    from tui.cli.shared.launching import start
    from tui.library.load import load_record

    args = experiment.sides[side]
    run_dir: Path = start(agreed(run.plan_from(args), args.destroy, sure=args.yes))
    say(f"{side}{len(experiment.records[side]) + 1}: run {run_dir.name}")
    code = followed(run_dir)
    record = load_record(run_dir) if code != INTERRUPTED else None
    if record is None or code != 0:
        say(f"run {run_dir.name} ended with {code} and does not count")
        return code, None
    experiment.records[side].append(record)
    return code, record


def raise_failed(experiment: AbTest) -> None:
    """Give up: two runs after each other did not count. Raises BenchtuiError."""
    error = BenchtuiError(
        f"two runs after each other did not count; to go on: --name {experiment.name}"
    )
    error.exit_code = FAILED
    raise error


def looked(experiment: AbTest) -> InterimLook | None:
    """Return what is known of as many runs as both sides have, four or more in all.

    Say it when it is new.
    """
    from tui.analysis.ab import after_looks, keep_looks, made_at

    a, b = experiment.records["A"], experiment.records["B"]
    tell_budget(experiment)
    values = [
        [each.headline.value for each in side if each.headline and each.headline.value]
        for side in (a, b)
    ]
    if [len(values[0]), len(values[1])] != [len(a), len(b)]:
        raise BenchtuiError("a run has no headline: nothing can be compared")
    room = max(experiment.room, experiment.runs)
    of_a, of_b = ([each.run_id for each in side] for side in (a, b))
    made, floor = made_at(experiment.kept, of_a, of_b), floor_of(a[0]) if a else None
    found, new = after_looks(values[0], values[1], room, experiment.detect, floor, made)
    experiment.kept += keep_looks(new, of_a, of_b, run_store().runs_dir)
    if found is not None and found != experiment.look:
        interval = f"{said(found.low)} … {said(found.high)}"
        going = (
            f"{found.answer}, {found.most} runs at most"
            if found.answer == "go on"
            else found.answer
        )
        say(f"after {found.runs} runs: B against A {said(found.ratio)} ({interval}), {going}")
    experiment.look = found
    return found


def tell_budget(experiment: AbTest) -> None:
    """Say how many runs a change takes by the noise floor, once a run says whether somebody
    measured one.
    """
    from tui.analysis.ab import runs_for

    if experiment.told or not experiment.records["A"]:
        return
    experiment.told = True
    if (floor := floor_of(experiment.records["A"][0])) is None:
        return
    wanted = runs_for(experiment.detect, floor.cov, floor.n - 1)
    short = (
        f"; there is time for {experiment.room}, so it may stay unknown"
        if wanted > experiment.room
        else ""
    )
    say(f"runs of the same differ by {floor.cov * 100:.2g} % (noise floor): "
        f"a change of {experiment.detect * 100:g} % "
        f"takes {wanted} runs at most, half as many in the mean, "
        f"to be found in 9 of 10 cases{short}")  # fmt: skip


def obstacles_of(experiment: AbTest) -> list[str]:
    """Return why the runs of the sides cannot be held against each other.

    More of them would not help.
    """
    from tui.analysis.setup import differences

    a, b = experiment.records["A"], experiment.records["B"]
    return (
        [each.text for each in differences(a, b, experiment.across) if each.blocks]
        if a and b
        else []
    )


def floor_of(record: RunRecord) -> Floor | None:
    """Return the noise floor of side A's headline, when somebody measured it."""
    from tui.analysis.measured import NoiseFloors, name_of, points_of

    (point,) = points_of([record]).values()
    figure = point.headline
    return (
        NoiseFloors.read(paths().noise).floor(record, name_of(point, figure))
        if figure is not None
        else None
    )


def said(ratio: float) -> str:
    """Return a ratio as a change: ``+3.1 %``."""
    return f"{(ratio - 1) * 100:+.1f} %"


def concluded(experiment: AbTest, found: InterimLook | None) -> int:
    """Print the sides beside each other and the answer; return the exit code."""
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
    """Return the answer in a word: better, worse, no difference as large, not known."""
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
    """Return B against A with all figures; None when a side has no run."""
    from tui.analysis.compare import compare

    a, b = experiment.records["A"], experiment.records["B"]
    return compare(a, b, across=experiment.across) if a and b else None


def answer_text(experiment: AbTest, found: InterimLook | None, word: str) -> str:
    """Return the answer as a sentence, with what would have been found."""
    if word == NOT_COMPARABLE:
        return f"the sides are not comparable: {'; '.join(obstacles_of(experiment))}"
    if found is None:
        return f"not known within the time. To go on: --name {experiment.name} --within DURATION"
    if word == "not known":
        least = f"{found.runs} runs would have found a change of {found.detectable * 100:.1f} %"
        if found.all_spent and experiment.runs < found.most:
            return (
                f"not decided: the error budget for interim looks is used up; {least}. To go on:"
                " another --name"
            )
        if found.runs >= found.most < experiment.room:
            return (
                f"not known after as many runs as find {experiment.detect * 100:g} % in 9 of 10"
                f" cases; {least}"
            )
        return (
            f"not known within the time; {least}. To go on: --name {experiment.name} --within"
            " DURATION"
        )
    interval = f"({said(found.low)} … {said(found.high)})"
    if word == "no difference as large":
        return f"no difference as large as {experiment.detect * 100:g} % {interval}"
    return (f"B is {word}: {said(found.ratio)} {interval}, known after {found.runs} runs;"
            f" a change of {found.detectable * 100:.1f} % would have been found")  # fmt: skip


def document(experiment: AbTest, found: InterimLook | None, word: str) -> str:
    """Return what came out as JSON: the answer, the last look, the runs of both sides and all their
    figures.
    """
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
