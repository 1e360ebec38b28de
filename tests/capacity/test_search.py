"""Which point a search measures next, and what it found: known capacity, and each way in which
there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.capacity.makers import LIMIT, TOP, Latency, capacity_search, point, queue, void, went
from tests.long.bench.capacity_search import CASES, NEAR, Trial, trial
from tui.capacity.answer import answer
from tui.capacity.budget import points_planned, seconds_for
from tui.capacity.next_point import next_offer, spent_s
from tui.model.operands import clause
from tui.model.search import HOSTS, RATE, Knob, Limit, Offer, Search, SearchPoint
from tui.text.search_texts import search_text

CLIFF = "cliff: four times slower above 2000/s"


@cache
def one_trial(name: str) -> Trial:
    """One seeded search of a system.

    `python -m tests.long.bench capacity_search` makes many of each.
    """
    return trial(CASES[name], seed=1)


@pytest.mark.parametrize("name", CASES)
def test_capacity_of_a_known_system_is_found_within_3_percent(name: str) -> None:
    found = one_trial(name)
    assert found.answer.state == "found"
    assert abs(found.error) <= NEAR


def test_cliff_beyond_full_load_is_found() -> None:
    full, *_ = one_trial(CLIFF).points  # it thrashes: 1250 IOPS
    assert full.iops < 1400 < (one_trial(CLIFF).answer.capacity.value or 0)


@settings(max_examples=5, deadline=None)
@given(capacity=st.floats(1_000, 9_500), points=st.integers(1, 15), seed=st.integers(0, 5))
def test_search_keeps_to_its_points_and_a_resumed_one_asks_the_same(
    capacity: float, points: int, seed: int
) -> None:
    search = capacity_search(points=points, seed=seed)
    whole = went(search, queue(capacity))
    assert len(whole) <= points
    for at in (0, len(whole) // 2):
        assert next_offer(search, whole[:at]) == whole[at].offer
    assert next_offer(search, whole) is None
    found = answer(search, whole).capacity
    if points >= 12 and found.low is not None and found.high is not None:
        assert found.low <= capacity * 1.01 and found.high >= capacity * 0.99


@pytest.mark.parametrize(("less", "more"), [(2_000, 2_500), (8_000, 9_000)])
def test_system_that_sustains_more_gets_a_higher_answer(less: float, more: float) -> None:
    search = capacity_search()
    values = [
        answer(search, went(search, queue(each))).capacity.value or 0.0 for each in (less, more)
    ]
    assert values == pytest.approx([less, more], rel=0.03)


def test_limit_that_no_load_keeps_is_never_met_in_few_points() -> None:
    search = capacity_search()
    points = went(search, lambda rate: 50e6)
    found = answer(search, points)
    assert found.state == "never-met"
    assert found.capacity.value is None
    assert found.binding == LIMIT.text
    assert len(points) <= 4
    assert (points[-1].offer.rate_iops or 0) == pytest.approx(0.02 * TOP)
    assert found.not_tried == [clause("lower-loads", share=0.02)]


def test_limit_that_full_load_keeps_is_met_at_full_load() -> None:
    search = capacity_search()
    points = went(search, lambda rate: 2e6)
    found = answer(search, points)
    assert found.state == "met-at-full-load"
    assert [each.offer.role for each in points] == ["maximum", "confirm"]
    assert found.capacity.value == TOP
    assert found.headroom == {LIMIT.text: pytest.approx(0.8)}
    assert found.not_tried == [clause("higher-load", heavier=[]), clause("arrivals")]


def test_what_makes_more_load_is_reported_as_the_options_of_the_next_search() -> None:
    search = capacity_search(heavier=("rate numjobs", "rate iodepth=8,16"))
    said, _ = map(search_text, answer(search, went(search, lambda rate: 2e6)).not_tried)
    assert (
        "repeat with --over rate --over numjobs, or with --over rate --over iodepth=8,16 (" in said
    )
    assert "over: rate numjobs or rate iodepth=8,16)" in said


def test_point_that_lost_a_host_is_measured_again_and_counts_for_nothing() -> None:
    search = capacity_search()
    before = went(search, queue(7_000), most=3)
    offer = next_offer(search, before)
    assert offer is not None
    lost = [*before, void(search, offer, 3)]
    again = next_offer(search, lost)
    assert again is not None and again.rate_iops == offer.rate_iops
    assert again.why == clause("again", why=lost[-1].why)
    found = answer(search, went(search, queue(7_000), before=lost))
    assert found.state == "found"
    assert found.capacity.value == pytest.approx(7_000, rel=0.03)


def test_host_that_stays_lost_ends_the_search_with_what_is_known() -> None:
    search = capacity_search()
    points = went(search, queue(7_000), most=4)
    for _ in range(2):
        offer = next_offer(search, points)
        assert offer is not None
        points.append(void(search, offer, len(points)))
    assert next_offer(search, points) is None
    found = answer(search, points)
    assert found.capacity.low is not None and found.capacity.high is not None
    assert found.capacity.low < 7_000 < found.capacity.high
    assert clause("hosts-lost-twice", hosts=["h2"]) in found.not_tried


def test_search_that_was_stopped_tells_what_it_knows() -> None:
    search = capacity_search()
    points = went(search, queue(7_000), most=3)
    found = answer(search, points)
    assert found.state == "unfinished"
    assert found.capacity.low is not None and found.capacity.high is not None
    assert found.capacity.low < 7_000 < found.capacity.high
    assert found.not_tried == [clause("rest-of-search", why=clause("search-stopped"))]
    assert answer(search, []).state == "unfinished"


def test_search_keeps_to_its_time() -> None:
    search = capacity_search(within_s=45.0)
    points = went(search, queue(7_000))
    assert spent_s(points) <= 45.0
    assert len(points) >= 3
    assert clause("more-time", within_s=45.0) in answer(search, points).not_tried


def test_load_before_each_point_that_is_not_measured_is_part_of_its_time() -> None:
    search = capacity_search(
        within_s=600.0, point_s=30.0, lead_s=30.0, own_ramp=True, tolerance=0.001
    )
    points = went(search, queue(7_000))
    assert [each.offer.lead_s for each in points] == [30.0] * len(points)
    assert (
        sum(each.seconds + each.offer.settle_s + 30.0 for each in points)
        == spent_s(points)
        <= 600.0
    )
    assert next_offer(replace(search, within_s=59.0), ()) is None
    (last,) = went(replace(search, within_s=61.0), queue(7_000))
    assert (last.offer.seconds, spent_s([last])) == (30.0, 60.0)
    usual = went(capacity_search(point_s=20.0, most_point_s=20.0), queue(7_000), most=1)
    assert usual[0].offer.lead_s == 2.0, (
        "where the profile has no ramp, a tenth of the point is load before it"
    )


def test_less_than_was_met_before_is_asked_again_after_a_pause_when_it_breaks_after_an_overload() -> (
    None
):
    search = capacity_search()
    points = went(search, queue(7_000), most=4)
    rates = [each.offer.rate_iops or 0.0 for each in points if each.verdict == "meets"]
    over = point(search, Offer(9_900.0, 10.0), 4, queue(7_000))
    sick = point(search, Offer(0.5 * max(rates), 10.0), 5, lambda rate: 80e6)
    offer = next_offer(search, [*points, over, sick])
    assert offer is not None
    assert offer.role == "recover" and offer.settle_s >= 10
    assert offer.rate_iops == sick.offer.rate_iops
    well = point(search, offer, 6, queue(7_000))
    found = answer(search, went(search, queue(7_000), before=[*points, over, sick, well]))
    assert found.capacity.value == pytest.approx(7_000, rel=0.03)


def test_another_setting_is_kept_only_where_it_sustains_more() -> None:
    search = capacity_search(over=(Knob("iodepth", (4, 8, 16)), Knob(RATE)), points=25)
    points: list[SearchPoint] = []
    while (offer := next_offer(search, points)) is not None:
        own = queue({4: 6_000.0, 8: 8_000.0, 16: 7_000.0}[offer.knobs["iodepth"]])
        points.append(point(search, offer, len(points), own))
    found = answer(search, points)
    assert found.knobs == {"iodepth": 8}
    assert found.capacity.value == pytest.approx(8_000, rel=0.03)
    assert not found.not_tried


def by_jobs(search: Search, offer: Offer, step: int, jobs: int) -> SearchPoint:
    return point(search, offer, step, lambda rate: jobs * 1.5e6)


def test_without_a_rate_the_heaviest_setting_that_keeps_the_limits_is_found() -> None:
    search = capacity_search(over=(Knob("numjobs", (1, 2, 4, 8, 16)),))
    points: list[SearchPoint] = []
    while (offer := next_offer(search, points)) is not None:
        jobs = offer.knobs["numjobs"]
        points.append(replace(by_jobs(search, offer, len(points), jobs), iops=jobs * 900.0))
    found = answer(search, points)
    assert (found.state, found.knobs, found.capacity.value) == ("found", {"numjobs": 4}, 3_600.0)
    assert found.capacity.high == 7_200.0, "between 4 and 8 jobs nothing is known"
    assert found.not_tried == [
        clause("settings", settings=[[["numjobs", 1]], [["numjobs", 2]]], implied=True)
    ]
    assert len(points) <= 3


def on_grid(search: Search, meets: Callable[[int, int], bool], most: int = 99) -> list[SearchPoint]:
    """Points of a search over two knobs; heavier settings do more, jobs more than depth."""
    points: list[SearchPoint] = []
    while len(points) < most and (offer := next_offer(search, points)) is not None:
        depth, jobs = offer.knobs["iodepth"], offer.knobs["numjobs"]
        made = point(search, offer, len(points), at_all_loads(1e6 if meets(depth, jobs) else 90e6))
        points.append(replace(made, iops=100.0 * depth * jobs + jobs))
    return points


def at_all_loads(ns: float) -> Latency:
    return lambda rate: ns


def two_knobs(values: tuple[int, ...]) -> Search:
    return capacity_search(over=(Knob("iodepth", values), Knob("numjobs", values)), points=25)


def test_setting_beside_those_on_the_way_is_measured_too() -> None:
    search = two_knobs((1, 8))
    found = answer(search, on_grid(search, lambda depth, jobs: jobs == 1))
    assert (found.state, found.knobs) == ("found", {"iodepth": 8, "numjobs": 1})
    lighter = [["iodepth", 1], ["numjobs", 1]]
    assert found.not_tried == [clause("settings", settings=[lighter], implied=True)]
    assert (found.capacity.value, found.capacity.high) == (801.0, 6408.0)


@pytest.mark.parametrize("most", [(4, 2), (1, 16), (16, 1), (2, 8), (1, 1)])
def test_best_of_all_settings_that_keep_the_limits_is_found(most: tuple[int, int]) -> None:
    """Whatever the depth, so many jobs and no more keep them, or the other way round."""
    values = (1, 2, 4, 8, 16)

    def meets(depth: int, jobs: int) -> bool:
        return (depth <= most[0] and jobs <= most[1]) or (depth == 1 and jobs <= 2)

    search = two_knobs(values)
    points = on_grid(search, meets)
    best = max(
        100.0 * depth * jobs + jobs for depth in values for jobs in values if meets(depth, jobs)
    )
    found = answer(search, points)
    assert (found.state, found.capacity.value) == ("found", best)
    assert len(points) <= 12
    assert all(each["operands"]["implied"] for each in found.not_tried)


def test_settings_that_were_not_measured_are_named_when_points_are_spent() -> None:
    search = replace(two_knobs((1, 8)), points=2)
    found = answer(search, on_grid(search, lambda depth, jobs: jobs == 1))
    assert found.state == "unfinished"
    left = [[["iodepth", depth], ["numjobs", 1]] for depth in (1, 8)]
    assert found.not_tried == [
        clause("settings", settings=left, implied=False),
        clause("more-points", points=2),
    ]
    assert search_text(found.not_tried[0]) == "iodepth=1 numjobs=1, iodepth=8 numjobs=1"


def test_lighter_setting_that_broke_what_a_heavier_one_kept_decides_and_is_a_contradiction() -> (
    None
):
    search = capacity_search(over=(Knob("numjobs", (1, 2, 4)),))
    points = [
        replace(
            point(search, Offer(None, 10.0, {"numjobs": jobs}), at, at_all_loads(ns)),
            iops=jobs * 900.0,
        )
        for at, (jobs, ns) in enumerate(((4, 1e6), (2, 90e6), (1, 1e6)))
    ]
    found = answer(search, points)
    assert (found.knobs, found.capacity.value) == ({"numjobs": 1}, 900.0)
    (contradiction,) = found.contradictions
    assert search_text(contradiction).startswith(
        "point 1 met the limits at numjobs 4, point 2 exceeded them at numjobs 2: "
    )


@pytest.mark.parametrize("gone", [{0}, {0, 3, 10}, {5}, {2, 9}])
def test_points_of_a_curve_that_are_made_again_are_those_that_are_missing(gone: set[int]) -> None:
    search = Search("curve", points=13)
    whole = went(search, queue(7_000))
    kept = [each for at, each in enumerate(whole) if at not in gone]
    first = next_offer(search, kept)
    assert first is not None and (first.rate_iops is None) == (0 in gone), (
        "shares of which maximum?"
    )
    again = went(search, queue(7_000), before=kept)
    assert len(again) == len(whole)
    assert {each.offer.rate_iops for each in again} == {each.offer.rate_iops for each in whole}


def test_maximum_of_a_curve_that_comes_out_a_little_different_leaves_its_shares_measured() -> None:
    search = Search("curve", points=13)
    whole = went(search, queue(7_000))
    top = replace(whole[0], iops=0.98 * TOP)
    assert next_offer(search, [*whole[1:], top]) is None
    offer = next_offer(search, [*whole[2:], top])
    assert offer is not None and offer.rate_iops == pytest.approx(
        (whole[1].offer.rate_iops or 0.0) * 0.98
    )


@pytest.mark.parametrize("gone", [{0}, {1, 4}, {2, 3}, set[int]()])
def test_numbers_of_hosts_that_are_made_again_are_those_that_are_missing(gone: set[int]) -> None:
    search = Search("scaling", over=(Knob(HOSTS, (1, 2, 4)),))
    whole = went(search, queue(7_000))
    again = went(
        search, queue(7_000), before=[each for at, each in enumerate(whole) if at not in gone]
    )
    assert sorted(each.offer.knobs[HOSTS] for each in again) == [1, 1, 2, 2, 4, 4]


def test_full_load_of_a_capacity_search_that_is_made_again_comes_first_and_leaves_the_mixture() -> (
    None
):
    search = capacity_search()
    full = replace(
        went(search, queue(7_000), most=1)[0], jobs={"readers": 7_500.0, "writers": 2_500.0}
    )
    kept = went(search, queue(7_000), most=4, before=[full])[1:]
    offer = next_offer(search, kept)
    assert offer is not None and (offer.rate_iops, offer.role) == (None, "maximum")
    other = replace(
        point(search, offer, 4, queue(7_000)), jobs={"readers": 7_000.0, "writers": 3_000.0}
    )
    following = next_offer(search, [*kept, other])
    assert following is not None and following.shares == {"readers": 0.75, "writers": 0.25}


@pytest.mark.parametrize(
    ("search", "rate", "seconds"),
    [
        (Search("curve"), 80.0, 120.0),  # ten I/Os behind p99.9, as far as a point may last
        (Search("curve"), 500.0, 20.0),
        (Search("curve"), 50_000.0, 10.0),
        (Search("curve", limits=(LIMIT,)), 80.0, 50.0),  # forty behind p99, which is limited
        # ten behind p99
        (Search("curve", limits=(Limit("mean < 1ms", "", "latency", None, 1e6),)), 25.0, 40.0),
        (capacity_search(), 80.0, 50.0),
    ],
)
def test_point_of_a_curve_lasts_until_what_is_drawn_is_known(
    search: Search, rate: float, seconds: float
) -> None:
    assert seconds_for(search, rate) == seconds


def test_points_that_are_planned_leave_those_out_that_have_to_be_made_again() -> None:
    assert points_planned(Search("curve", points=13)) == 11
    assert points_planned(Search("scaling", over=(Knob(HOSTS, (1, 2, 4)),), points=8)) == 6
    assert points_planned(Search("scaling", over=(Knob(HOSTS, (1, 2, 4, 8, 16)),), points=7)) == 5
    assert (
        points_planned(Search("curve", points=4)) == points_planned(capacity_search(points=4)) == 4
    )


@pytest.mark.parametrize("order", ["random", "up-down"])
def test_curve_is_the_maximum_and_then_each_share_of_it_once(order: str) -> None:
    search = Search("curve", order=order)  # type: ignore[arg-type]
    rates = [each.offer.rate_iops for each in went(search, queue(7_000))]
    assert rates[0] is None
    assert sorted(each or 0.0 for each in rates[1:]) == pytest.approx(
        [TOP * part / 10 for part in range(1, 11)]
    )
    assert rates[1:] != sorted(each or 0.0 for each in rates[1:])


def test_scaling_measures_each_number_of_hosts_and_few_of_them_twice() -> None:
    search = Search("scaling", over=(Knob(HOSTS, (1, 2, 4)),))
    points = went(search, queue(7_000))
    assert [each.offer.knobs[HOSTS] for each in points] == [1, 2, 4, 4, 2, 1]
    assert [each.offer.why for each in points][::5] == [
        clause("hosts-at-full-load", hosts=1, again=again) for again in (False, True)
    ]


def test_capacity_in_bytes_is_that_in_operations_times_their_size() -> None:
    search = capacity_search(objective="bandwidth")
    found = answer(search, went(search, queue(7_000)))
    assert found.unit == "bytes_per_s"
    assert found.capacity.value == pytest.approx(7_000 * 4096, rel=0.03)


def test_several_jobs_share_every_rate_as_they_shared_full_load_at_first() -> None:
    search = capacity_search()
    full = replace(
        went(search, queue(7_000), most=1)[0], jobs={"readers": 7_500.0, "writers": 2_500.0}
    )
    points = went(search, queue(7_000), most=3, before=[full])
    assert [each.offer.shares for each in points] == [{}, *[{"readers": 0.75, "writers": 0.25}] * 2]


def test_where_less_is_done_than_offered_while_latency_is_kept_no_limit_is_blamed() -> None:
    search = capacity_search()
    points = went(search, queue(9_000), most=1)
    fast = point(search, Offer(4_000.0, 10.0), 1, lambda rate: 1e6)
    short = replace(
        point(search, Offer(8_000.0, 10.0), 2, lambda rate: 1e6), iops=6_000.0, verdict="breaks"
    )
    assert answer(search, [*points, fast, short]).binding == clause("rate-not-achieved")
    over = point(search, Offer(9_900.0, 10.0), 3, queue(9_000))
    assert answer(search, [*points, fast, over]).binding == LIMIT.text


def test_points_that_contradict_each_other_are_reported_as_a_contradiction() -> None:
    search = capacity_search()
    rates = (None, 5_000.0, 8_000.0, 6_000.0)
    points = [point(search, Offer(rate, 10.0), at, queue(7_000)) for at, rate in enumerate(rates)]
    assert answer(search, points).contradictions == []
    slower = point(search, Offer(3_000.0, 10.0), 4, lambda rate: 40e6)
    (contradiction,) = answer(search, [*points, slower]).contradictions
    assert contradiction == clause("system-changed", met=[4, 6_000.0], exceeded=[5, 3_000.0])
    well = point(search, replace(slower.offer, role="recover"), 5, queue(7_000))
    (told,) = answer(search, [*points, slower, well]).contradictions
    assert told == clause("after-overload", point=5, offered_iops=3_000.0, pause_s=0.0)


def test_full_load_that_kept_the_limits_and_then_broke_them_is_a_contradiction() -> None:
    search = capacity_search()
    points = [
        point(search, Offer(None, 10.0), at, at_all_loads(ns)) for at, ns in enumerate((1e6, 90e6))
    ]
    low = [
        point(search, Offer(rate, 10.0), at, lambda rate: 90e6)
        for at, rate in enumerate((2_000.0, 100.0), 2)
    ]
    (contradiction,) = answer(search, [*points, *low]).contradictions
    assert contradiction == clause("system-changed", met=[1, None], exceeded=[2, None])
    assert answer(search, [points[1], *low]).contradictions == []
