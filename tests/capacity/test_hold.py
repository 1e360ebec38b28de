"""Holds: the pattern of bad seconds, failed holds that lower the answer, and the text on what was
held.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.capacity.makers import LIMIT, capacity_search, point, queue, went
from tests.capacity.systems import p99_limit
from tests.long.capacity.systems import LastingSystem, searched
from tui.capacity.answer import answer
from tui.capacity.hold import HOLDS, change_point, held, in_state, spells_of
from tui.model.operands import clause
from tui.model.search import Limit, MeasuredLimit, Offer, Search, SearchPoint, Steadiness


@settings(max_examples=30, deadline=None)
@given(
    before=st.integers(30, 250),
    after=st.integers(10, 200),
    odd=st.sets(st.integers(0, 29), max_size=2),
)
def test_a_lasting_change_is_found_where_it_happened(
    before: int, after: int, odd: set[int]
) -> None:
    bad = [at in odd for at in range(before)] + [True] * after
    found = change_point(bad)
    assert found is not None and abs(found - before) <= 3


@settings(max_examples=30, deadline=None)
@given(every=st.integers(10, 60), count=st.integers(3, 8))
def test_stalls_that_come_and_go_are_no_change(every: int, count: int) -> None:
    bad = [at % every == every // 2 for at in range(every * count)]
    assert change_point(bad) is None
    assert len(spells_of(bad)) == count


@settings(max_examples=5, deadline=None)
@given(capacity=st.floats(2_000, 9_000))
def test_the_answer_is_held_just_below_and_only_then_found(capacity: float) -> None:
    search = capacity_search(hold_s=300.0, points=25)
    points = went(search, queue(capacity))
    (hold,) = [each for each in points if each.offer.role == "hold"]
    found = answer(search, points)
    assert (
        hold.offer.seconds == 300.0
        and 0.9 * capacity < (hold.offer.rate_iops or 0.0) < 1.01 * capacity
    )
    assert found.state == "found" and found.held_s == 300.0
    assert answer(search, points[: points.index(hold)]).state == "unfinished"
    assert "can-be-missed" in [each["code"] for each in found.notes]


@pytest.mark.parametrize(("errors", "passed"), [(0.0, True), (3.0, False)])
def test_a_hold_within_its_limits_passes_beside_a_limit_on_errors(
    errors: float, passed: bool
) -> None:
    none = Limit("errors = 0", "", "errors", None, 0.0)
    search = capacity_search(limits=(LIMIT, none), hold_s=300.0)
    offer = Offer(rate_iops=1000.0, seconds=300.0, role="hold")
    hold = point(search, offer, 0, lambda _: LIMIT.most * 0.995)
    assert hold.verdict == "unclear" and held(search, hold)
    counted = MeasuredLimit(none.text, "", errors, verdict="breaks" if errors else "meets")
    assert held(search, replace(hold, measured=(*hold.measured, counted))) == passed


def test_a_failed_hold_sets_points_of_another_state_aside_and_a_lower_answer_names_it() -> None:
    search = capacity_search(hold_s=300.0, points=40)
    points = went(search, queue(8_000))
    *before, hold = points
    failed = replace(
        point(search, hold.offer, hold.step, lambda rate: 90e6),
        steadiness=Steadiness("changed", 120.0),
    )
    failed = replace(failed, measured=tuple(replace(each, over=40.0) for each in failed.measured))
    assert in_state(search, [*before, failed]) == [failed]
    points = went(search, queue(3_000), before=[*before, failed])
    found = answer(search, points)
    assert found.state == "found"
    assert found.capacity.value == pytest.approx(3_000, rel=0.03)
    assert any(
        each["code"] == "capacity-lowered"
        and each["operands"]["failure"]["operands"]["point"] == len(before) + 1
        for each in found.notes
    )


def test_the_answer_is_between_the_load_that_was_held_and_the_one_that_failed() -> None:
    search = capacity_search(hold_s=300.0, points=40)
    *before, hold = went(search, queue(5_000))
    failed = point(search, hold.offer, hold.step, lambda rate: LIMIT.most * 1.2)
    points = went(search, queue(5_000), before=[*before, failed])
    found = answer(search, points)
    passed = points[-1].offer.rate_iops
    assert found.state == "found" and passed is not None
    assert found.capacity.value is not None and hold.offer.rate_iops is not None
    assert passed < found.capacity.value < hold.offer.rate_iops
    assert found.capacity.low is not None and found.capacity.low <= passed


def test_holds_are_bounded() -> None:
    search = capacity_search(hold_s=60.0, points=200)
    points: list[SearchPoint] = []
    while (following := went(search, queue(5_000), most=len(points) + 1, before=points)) != points:
        points = following
        if points[-1].offer.role == "hold":
            points[-1] = replace(
                point(search, points[-1].offer, points[-1].step, lambda rate: 10.3e6)
            )
    assert sum(each.offer.role == "hold" for each in points) == HOLDS
    assert answer(search, points).state == "unfinished"


def test_a_search_without_a_hold_is_found_and_says_that_it_was_not_held() -> None:
    search = capacity_search()
    found = answer(search, went(search, queue(5_000)))
    assert (found.state, found.held_s) == ("found", None)
    longest_s = max(each.seconds for each in went(search, queue(5_000)))
    assert found.hold == clause("hold-not-requested", longest_s=longest_s)


def test_full_load_within_the_limits_is_held_too() -> None:
    search = capacity_search(hold_s=300.0)
    points = went(search, lambda rate: 1e6)
    assert [each.offer.seconds for each in points] == [10.0, 300.0]
    found = answer(search, points)
    assert found.state == "met-at-full-load" and found.held_s == 300.0
    broken = replace(point(search, Offer(None, 300.0, role="hold"), 1, lambda rate: 90e6))
    assert answer(search, [points[0], broken]).state == "unfinished"


def test_burst_credits_do_not_make_a_capacity() -> None:
    system = LastingSystem(
        1 / 1500, slow_s=1 / 400, most_credits=90_000, refill=200, credits=90_000
    )
    found, points = searched(
        system, Search("capacity", limits=(p99_limit(40),), points=60, hold_s=120.0), 7
    )
    assert found.capacity.value is not None
    assert found.capacity.value < 480 or found.state != "found"
    assert [*found.contradictions, *found.notes] and points
