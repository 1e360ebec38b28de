"""What a load curve or a scaling lacks that was not measured to its end."""

from __future__ import annotations

import pytest

from tests.capacity.makers import LIMIT, queue, void, went
from tui.capacity.budget import lacking
from tui.capacity.next_point import next_offer, points_left, why_over
from tui.model.operands import clause
from tui.model.search import HOSTS, Knob, Search
from tui.text.search_texts import search_text

CURVE = Search("curve", shares=(0.25, 0.5, 0.75, 1.0), points=7)
HOSTS_124 = Search("scaling", over=(Knob(HOSTS, (1, 2, 4)),), points=8)


@pytest.mark.parametrize(("search", "points"), [(CURVE, 5), (HOSTS_124, 6)])
def test_a_search_of_known_points_lacks_all_of_them_at_first_and_none_at_its_end(
    search: Search, points: int
) -> None:
    assert len(lacking(search, ())) == points == len(went(search, queue(7_000)))
    assert points_left(search, went(search, queue(7_000))) == []


def test_what_is_lacking_is_what_is_measured_next_and_is_reported_in_words() -> None:
    points = went(CURVE, queue(7_000), most=3)
    offer = next_offer(CURVE, points)
    assert offer is not None and lacking(CURVE, points)[0].rate_iops == offer.rate_iops
    (left,) = points_left(CURVE, [*points, void(CURVE, offer, 3)])
    whys = [each.why for each in lacking(CURVE, points)]
    assert [clause("share-of-maximum", share=each) for each in left["operands"]["shares"]] == whys
    (left,) = points_left(HOSTS_124, went(HOSTS_124, queue(7_000), most=4))
    assert search_text(left).startswith("2 hosts at full load again, 1 host at full load again: ")
    assert lacking(Search("capacity", limits=(LIMIT,)), ()) == []


def test_why_a_search_went_no_further_is_reported() -> None:
    few = Search("curve", points=2)
    assert why_over(few, went(few, queue(7_000))) == clause("points-used", points=2)
    short = Search("curve", within_s=25.0, points=13)
    assert why_over(short, went(short, queue(7_000))) == clause("time-used", within_s=25.0)
    whole = Search("curve", points=13)
    points = went(whole, queue(7_000))
    assert why_over(whole, points) == clause("answered")
    assert why_over(whole, points[:4]) == clause("search-stopped")
    offer = points[4].offer
    failed = [*points[:4], void(whole, offer, 4), void(whole, offer, 5)]
    assert why_over(whole, failed) == clause("points-failed", points=2)
