"""Rates by the second."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.metrics.series import RateSeries

interval = st.tuples(
    st.floats(0, 100, allow_nan=False), st.floats(0.001, 10, allow_nan=False), st.integers(0, 10**6)
)


def series(*intervals: tuple[float, float, float]) -> RateSeries:
    made = RateSeries()
    for t0, t1, amount in intervals:
        made.add(t0, t1, amount)
    return made


def test_an_interval_is_spread_over_the_seconds_it_covers() -> None:
    assert series((0.5, 2.5, 100)).rates(0, 3) == [25, 50, 25]


def test_an_interval_that_ends_on_an_edge_does_not_touch_the_next_second() -> None:
    assert series((1, 2, 10)).rates(0, 4) == [None, 10, None, None]


def test_a_second_without_an_interval_is_a_gap_and_an_idle_one_is_zero() -> None:
    assert series((0, 1, 5), (2, 3, 0), (4, 5, 7)).rates(0, 5) == [5, None, 0, None, 7]


def test_a_late_interval_lands_where_it_belongs() -> None:
    assert series((5, 6, 50), (3, 4, 30), (4, 5, 40)).rates(3, 6) == [30, 40, 50]


def test_bunched_intervals_share_their_second() -> None:
    assert series((0, 0.98, 98), (0.98, 0.99, 1), (0.99, 1.0, 1)).rates(0, 1) == [
        pytest.approx(100)
    ]


def test_an_interval_without_length_belongs_to_one_second() -> None:
    assert series((2.5, 2.5, 8)).rates(2, 3) == [8]


def test_seconds_far_apart_take_no_room_between_them() -> None:
    made = series((-0.5, 0.5, 4), (63, 65, 6), (1e12, 1e12 + 1, 5))
    assert made.rates(-1, 1) == [2, 2]
    assert made.rates(62, 66) == [None, 3, 3, None]
    assert made.rates(1e12, 1e12 + 2) == [5, None]
    assert made.rates(5, 3) == []


def test_an_empty_series_is_a_gap() -> None:
    assert series().rates(0, 2) == [None, None]


@given(st.lists(interval, min_size=1, max_size=30))
def test_nothing_is_lost_or_invented(intervals: list[tuple[float, float, int]]) -> None:
    made = series(*((t0, t0 + length, amount) for t0, length, amount in intervals))
    assert sum(rate or 0 for rate in made.rates(0, 111)) == pytest.approx(
        sum(i[2] for i in intervals), abs=1e-6
    )
