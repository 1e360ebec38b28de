"""Which point a search measures next, and what it found: known capacity, and each way in which there is none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.makers import LIMIT, TOP, capacity_search, point, queue, void, went
from tests.sizing.systems import System, capacity_of_mmc, p99_limit, searched
from tui.model.search import HOSTS, RATE, Knob, Offer, Point, Search
from tui.sizing.answer import answer
from tui.sizing.search import next_offer, spent_s


@pytest.mark.parametrize("seed", [1, 2])
def test_capacity_of_a_queue_is_found_within_3_percent(seed: int) -> None:
    found, points = searched(System(), Search("capacity", limits=(p99_limit(20),)), seed)
    assert found.state == "found"
    assert found.capacity.value == pytest.approx(capacity_of_mmc(1, 0.0005, 0.020), rel=0.03)
    assert len(points) <= 15


def test_cliff_beyond_full_load_is_found() -> None:
    system = System(service_s=0.0002, thrash_above=2000)  # full load thrashes: 1250 IOPS
    found, points = searched(system, Search("capacity", limits=(p99_limit(5),)), 1)
    assert points[0].iops < 1400
    assert found.capacity.value == pytest.approx(1890, rel=0.04)


@settings(max_examples=5, deadline=None)
@given(capacity=st.floats(1_000, 9_500), points=st.integers(1, 15), seed=st.integers(0, 5))
def test_search_keeps_to_its_points_and_a_resumed_one_asks_the_same(capacity: float, points: int, seed: int) -> None:
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
    values = [answer(search, went(search, queue(each))).capacity.value or 0.0 for each in (less, more)]
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
    assert found.not_tried == ["less load than 2% of the maximum"]


def test_limit_that_full_load_keeps_is_met_at_full_load() -> None:
    search = capacity_search()
    points = went(search, lambda rate: 2e6)
    found = answer(search, points)
    assert found.state == "met-at-full-load"
    assert [each.offer.role for each in points] == ["maximum", "confirm"]
    assert found.capacity.value == TOP
    assert found.headroom == {LIMIT.text: pytest.approx(0.8)}


def test_point_that_lost_a_host_is_measured_again_and_counts_for_nothing() -> None:
    search = capacity_search()
    before = went(search, queue(7_000), most=3)
    offer = next_offer(search, before)
    assert offer is not None
    lost = [*before, void(search, offer, 3)]
    again = next_offer(search, lost)
    assert again is not None and again.rate_iops == offer.rate_iops and again.why.startswith("again")
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
    assert any("h2" in each for each in found.not_tried)


def test_search_that_was_stopped_tells_what_it_knows() -> None:
    search = capacity_search()
    points = went(search, queue(7_000), most=3)
    found = answer(search, points)
    assert found.state == "unfinished"
    assert found.capacity.low is not None and found.capacity.high is not None
    assert found.capacity.low < 7_000 < found.capacity.high
    assert found.not_tried == ["what is left of the search: it was stopped"]
    assert answer(search, []).state == "unfinished"


def test_search_keeps_to_its_time() -> None:
    search = capacity_search(within_s=45.0)
    points = went(search, queue(7_000))
    assert spent_s(points) <= 45.0
    assert len(points) >= 3
    assert "more than 45 s of load" in answer(search, points).not_tried


def test_less_than_was_met_before_is_asked_again_after_a_pause_when_it_breaks_after_an_overload() -> None:
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
    points: list[Point] = []
    while (offer := next_offer(search, points)) is not None:
        own = queue({4: 6_000.0, 8: 8_000.0, 16: 7_000.0}[offer.knobs["iodepth"]])
        points.append(point(search, offer, len(points), own))
    found = answer(search, points)
    assert found.knobs == {"iodepth": 8}
    assert found.capacity.value == pytest.approx(8_000, rel=0.03)
    assert not found.not_tried


def by_jobs(search: Search, offer: Offer, step: int, jobs: int) -> Point:
    return point(search, offer, step, lambda rate: jobs * 1.5e6)


def test_without_a_rate_the_heaviest_setting_that_keeps_the_limits_is_found() -> None:
    search = capacity_search(over=(Knob("numjobs", (1, 2, 4, 8, 16)),))
    points: list[Point] = []
    while (offer := next_offer(search, points)) is not None:
        jobs = offer.knobs["numjobs"]
        points.append(replace(by_jobs(search, offer, len(points), jobs), iops=jobs * 900.0))
    found = answer(search, points)
    assert (found.state, found.knobs, found.capacity.value) == ("found", {"numjobs": 4}, 3_600.0)
    assert len(points) <= 4


@pytest.mark.parametrize("order", ["random", "up-down"])
def test_curve_is_the_maximum_and_then_each_share_of_it_once(order: str) -> None:
    search = Search("curve", order=order)  # type: ignore[arg-type]
    rates = [each.offer.rate_iops for each in went(search, queue(7_000))]
    assert rates[0] is None
    assert sorted(each or 0.0 for each in rates[1:]) == pytest.approx([TOP * part / 10 for part in range(1, 11)])
    assert rates[1:] != sorted(each or 0.0 for each in rates[1:])


def test_scaling_measures_each_number_of_hosts_and_few_of_them_twice() -> None:
    search = Search("scaling", over=(Knob(HOSTS, (1, 2, 4)),))
    points = went(search, queue(7_000))
    assert [each.offer.knobs[HOSTS] for each in points] == [1, 2, 4, 4, 2, 1]
    assert [each.offer.why for each in points][::5] == ["1 host at full load", "1 host at full load again"]


def test_capacity_in_bytes_is_that_in_operations_times_their_size() -> None:
    search = capacity_search(objective="bandwidth")
    found = answer(search, went(search, queue(7_000)))
    assert found.unit == "bytes_per_s"
    assert found.capacity.value == pytest.approx(7_000 * 4096, rel=0.03)


def test_several_jobs_share_every_rate_as_they_shared_full_load_at_first() -> None:
    search = capacity_search()
    full = replace(went(search, queue(7_000), most=1)[0], jobs={"readers": 7_500.0, "writers": 2_500.0})
    points = went(search, queue(7_000), most=3, before=[full])
    assert [each.offer.shares for each in points] == [{}, *[{"readers": 0.75, "writers": 0.25}] * 2]


def test_where_less_is_done_than_offered_while_latency_is_kept_no_limit_is_blamed() -> None:
    search = capacity_search()
    points = went(search, queue(9_000), most=1)
    fast = point(search, Offer(4_000.0, 10.0), 1, lambda rate: 1e6)
    short = replace(point(search, Offer(8_000.0, 10.0), 2, lambda rate: 1e6), iops=6_000.0, verdict="breaks")
    assert answer(search, [*points, fast, short]).binding == "the offered rate"
    over = point(search, Offer(9_900.0, 10.0), 3, queue(9_000))
    assert answer(search, [*points, fast, over]).binding == LIMIT.text


def test_points_that_contradict_each_other_are_told_as_a_doubt() -> None:
    search = capacity_search()
    rates = (None, 5_000.0, 8_000.0, 6_000.0)
    points = [point(search, Offer(rate, 10.0), at, queue(7_000)) for at, rate in enumerate(rates)]
    assert answer(search, points).doubts == []
    slower = point(search, Offer(3_000.0, 10.0), 4, lambda rate: 40e6)
    (doubt,) = answer(search, [*points, slower]).doubts
    assert "point 5 broke them at 3.00k: the system was not the same all the time" in doubt
    well = point(search, replace(slower.offer, role="recover"), 5, queue(7_000))
    assert answer(search, [*points, slower, well]).doubts == []
