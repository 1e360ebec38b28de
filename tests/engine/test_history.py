"""What a journal says another engine had done, and what the run still lacks."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tui.capacity.next_point import next_offer
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.session.history import History
from tui.judge.proof import NO_MORE
from tui.model.address import HostAddress
from tui.model.event import (
    AnyEvent,
    HostProblem,
    HostResult,
    PointDecided,
    RunEnded,
    RunResumed,
    StepEnded,
    StepStarted,
    StopRequested,
)
from tui.model.plan import Plan
from tui.model.search import LoadChange, Offer, Proof, Search, SearchPoint, Verdict

H1 = HostAddress(name="h1")


def plan(repeat: int = 3) -> Plan:
    return build_plan(Catalogue(Path("/nowhere")).load("demo/quick"), Choices([H1], repeat=repeat))


def history(*events: AnyEvent) -> History:
    past = History()
    for event in events:
        past.take(event)
    return past


def begun(step: int, attempt: int = 1) -> StepStarted:
    return StepStarted(t=0.0, step=step, attempt=attempt)


def over(step: int, *, ok: bool = True, cut: bool = False, skipped: bool = False) -> StepEnded:
    return StepEnded(t=0.0, step=step, ok=ok, cut=cut, skipped=skipped)


def problem() -> HostProblem:
    return HostProblem(t=0.0, host="h1", phase="measure", code="x", message="y", fatal=False)


def result(step: int) -> HostResult:
    return HostResult(t=0.0, host="h1", step=step, dirs={})


def missing(past: History, *, failed: bool = False) -> list[int]:
    return [step.index for step in past.missing(plan(), failed=failed)]


def test_a_step_that_never_began_is_missing() -> None:
    assert missing(history(begun(0), over(0))) == [1, 2]


def test_a_point_that_was_clearly_over_is_not_missing_and_one_that_could_not_be_measured_is() -> (
    None
):
    def decided(step: int, verdict: Verdict, *, cut: bool) -> PointDecided:
        return PointDecided(
            t=0.0, point=SearchPoint(step, Offer(9.0, 1.0), 1.0, 9.0, 9.0, verdict=verdict, cut=cut)
        )

    past = history(begun(0), over(0, cut=True), decided(0, "breaks", cut=True))
    past.take(begun(1))
    past.take(over(1))
    past.take(decided(1, "void", cut=False))
    assert missing(past) == [1, 2]


def test_a_curve_whose_full_load_ended_with_errors_measures_that_again_and_keeps_its_shares() -> (
    None
):
    past, search = history(), Search("curve", shares=(0.5, 1.0), points=5)
    for at, rate in enumerate((None, 5_000.0, 10_000.0)):
        point = SearchPoint(at, Offer(rate, 1.0), 1.0, rate or 10_000.0, 0.0, verdict="meets")
        past.take(begun(at))
        past.take(over(at, ok=at > 0))
        past.take(PointDecided(t=0.0, point=point))
    assert [step.index for step in past.make_again(past.missing(plan(), failed=True))] == [0]
    offer = next_offer(search, past.seen.search.points)
    assert offer is not None and (offer.rate_iops, offer.role) == (None, "maximum")
    again = SearchPoint(0, offer, 1.0, 9_900.0, 0.0, verdict="meets")
    assert next_offer(search, [*past.seen.search.points, again]) is None


def test_a_step_that_was_cut_is_missing() -> None:
    assert missing(history(begun(0), over(0, ok=False, cut=True), begun(1), over(1))) == [0, 2]


def test_a_step_with_errors_is_missing_only_when_these_are_asked_for() -> None:
    past = history(begun(0), over(0, ok=False), begun(1), over(1), begun(2), over(2))
    assert (missing(past), missing(past, failed=True)) == ([], [0])


def test_a_repetition_that_was_not_needed_is_not_missing() -> None:
    assert missing(history(begun(0), over(0), over(1, skipped=True), over(2, skipped=True))) == []


def test_a_step_that_is_made_again_is_its_next_attempt_and_loses_its_problems() -> None:
    past = history(begun(0), problem(), result(0), over(0, ok=False))
    (again,) = past.make_again(plan().steps[:1])
    assert (again.attempt, past.problems, past.results) == (2, 0, {})


def test_problems_of_other_steps_stay() -> None:
    past = history(begun(0), problem(), over(0, ok=False), begun(1), problem())
    past.make_again(plan().steps[1:2])
    assert past.problems == 1


def test_a_warm_up_is_made_again_with_its_point(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "profile: my/own\nextends: demo/quick\nwarmup: 1s\nrepeat: 2\n"
    )
    made = build_plan(Catalogue(tmp_path).load("my/own"), Choices([H1]))
    past = history(begun(0), over(0), begun(1), over(1), begun(2), over(2, ok=False, cut=True))
    assert [(step.index, step.warmup) for step in past.missing(made, failed=False)] == [
        (0, True),
        (2, False),
    ]


def test_a_running_run_forgets_a_stop_and_what_kept_it_from_starting() -> None:
    end = RunEnded(t=0.0, state="partial", exit_code=4)
    past = history(
        problem(),
        StopRequested(t=0.0, mode="stop"),
        end,
        RunResumed(t=0.0, utc="", gap_s=1, going_on=True),
    )
    assert (past.ended, past.seen.stop_mode, past.problems) == (False, None, 0)


def test_a_run_that_is_taken_over_is_still_to_be_stopped() -> None:
    past = history(StopRequested(t=0.0, mode="stop"), RunResumed(t=0.0, utc="", gap_s=1.0))
    assert past.seen.stop_mode == "stop"


def test_both_loads_of_a_counter_experiment_are_made_again_when_one_is_missing() -> None:
    made = msgspec.structs.replace(
        plan(2), proves=Proof("r1", 0, "storage", "w", LoadChange("half-hosts", NO_MORE))
    )
    past = history(
        begun(0), StepEnded(t=1.0, step=0), begun(1), StepEnded(t=2.0, step=1, cut=True, ok=False)
    )
    assert [step.index for step in past.missing(made, failed=False)] == [0, 1]
    past = history(begun(0), StepEnded(t=1.0, step=0), begun(1), StepEnded(t=2.0, step=1))
    assert past.missing(made, failed=False) == []
