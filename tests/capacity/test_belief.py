"""How surely the capacity is known, by points that differ from each other."""

from __future__ import annotations

import pytest

from tests.capacity.systems import System, bucket_of, buckets_of, p99_limit, searched
from tui.capacity.belief import evidence_of
from tui.capacity.interval import share_over
from tui.model.search import MeasuredLimit, Offer, Search, SearchPoint

TRUTH = 1683.8  # of the system whose speed differs by 5 % each second, by 96,000 s of simulation


def test_share_above_a_limit_counts_of_its_own_bucket_what_lies_above() -> None:
    import numpy as np

    values = np.arange(1_000_000, 3_000_000, 1_000)  # ns, evenly
    for limit in (1_500_000, 2_000_000, 2_900_000):
        assert share_over(buckets_of(bucket_of(values)), limit) == pytest.approx(
            (3e6 - limit) / 2e6, abs=0.002
        )


# missed by intervals of what is within points alone
@pytest.mark.parametrize("seed", [50001, 50012])
def test_interval_holds_the_capacity_of_a_system_whose_speed_differs_from_second_to_second(
    seed: int,
) -> None:
    found, points = searched(
        System(noise=0.05, memory=0.0), Search("capacity", limits=(p99_limit(20),)), seed
    )
    low, high = found.capacity.low, found.capacity.high
    assert low is not None and high is not None
    assert low <= TRUTH <= high
    assert len(points) <= 15


# missed where each point told how much seconds differ
@pytest.mark.parametrize("seed", [91064, 91038])
def test_interval_holds_the_capacity_where_slow_seconds_come_one_after_another(seed: int) -> None:
    found, points = searched(
        System(noise=0.05, memory=0.5), Search("capacity", limits=(p99_limit(20),)), seed
    )
    low, high = found.capacity.low, found.capacity.high
    assert low is not None and high is not None
    assert low <= 1679.6 <= high
    assert len(points) <= 15


def test_how_much_seconds_differ_is_reported_by_the_points_that_met_a_slow_spell() -> None:
    limit = p99_limit(20)
    found = [(0.2, 0.2), (2.0, 1.0)]  # I/Os above the limit, and how surely by what the point met
    points = [
        SearchPoint(at, Offer(1680.0, 10.0), 10.0, 1680.0, 0.0, (
            MeasuredLimit(limit.text, "read", 20e6, 18e6, 22e6, "unclear", error, 0.14, over),),
            "unclear", hosts=1)
        for at, (over, error) in enumerate(found)
    ]  # fmt: skip
    errors = [each.share_error for each in evidence_of(Search("capacity", limits=(limit,)), points)]
    assert errors == pytest.approx([((0.2 * 0.2**2 + 2.0 * 1.0**2) / 2.2) ** 0.5] * 2)
