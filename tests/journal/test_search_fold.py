"""What the fold of a journal keeps of a search."""

from __future__ import annotations

from msgspec.structs import replace

from tests.app.journal_maker import plan_of
from tui.journal.fold import fold
from tui.journal.progress import plan_as_run
from tui.journal.state import RunState
from tui.model.event import PointDecided, PointOffered, StepStarted
from tui.model.plan import Plan
from tui.model.search import Offer, Search, SearchPoint

OFFER = Offer(rate_iops=1000.0, seconds=10.0)


def slots(count: int) -> Plan:
    plan = plan_of(["h1"], ["read"], 10.0)
    return replace(
        plan,
        steps=[replace(plan.steps[0], index=at) for at in range(count)],
        search=Search("capacity"),
    )


def test_a_step_is_planned_as_it_was_offered_last_and_points_keep_their_order() -> None:
    plan = slots(3)
    state = RunState()
    for step, name in ((0, "first"), (1, "second"), (0, "again")):
        fold(
            state,
            PointOffered(
                t=1.0, step=step, offer=OFFER, planned=replace(plan.steps[step], name=name)
            ),
        )
        fold(state, PointDecided(t=2.0, point=SearchPoint(step, OFFER, 10.0, 990.0, 0.0)))
    assert [step.name for step in plan_as_run(plan, state.search).steps] == [
        "again",
        "second",
        plan.steps[2].name,
    ]
    assert [point.step for point in state.search.points] == [1, 0]
    assert state.search.open is None


def test_what_was_decided_of_a_step_that_is_made_again_counts_for_nothing() -> None:
    plan = slots(1)
    state = RunState()
    fold(state, PointOffered(t=1.0, step=0, offer=OFFER, planned=plan.steps[0]))
    fold(state, PointDecided(t=2.0, point=SearchPoint(0, OFFER, 10.0, 990.0, 0.0)))
    fold(state, StepStarted(t=3.0, step=0, attempt=2))
    assert not state.search.points
    assert state.search.open is not None


def test_a_run_without_a_search_keeps_its_plan() -> None:
    plan = plan_of(["h1"], ["read"], 10.0)
    assert plan_as_run(plan, RunState().search) is plan
