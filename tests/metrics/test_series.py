"""Rates over fixed bins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.metrics.series import RateSeries

interval = st.tuples(st.floats(0, 100, allow_nan=False), st.floats(0.001, 10, allow_nan=False), st.integers(0, 10**6))


def series(*intervals: tuple[float, float, float], keep: int | None = None, bin_s: float = 1.0) -> RateSeries:
    made = RateSeries(bin_s, keep)
    for t0, t1, amount in intervals:
        made.add(t0, t1, amount)
    return made


def test_an_interval_is_spread_over_the_bins_it_covers() -> None:
    assert series((0.5, 2.5, 100)).rates() == [25, 50, 25]


def test_an_interval_that_ends_on_an_edge_does_not_touch_the_next_bin() -> None:
    assert series((1, 2, 10)).rates() == [10]


def test_a_bin_without_an_interval_is_a_gap_and_an_idle_one_is_zero() -> None:
    assert series((0, 1, 5), (2, 3, 0), (4, 5, 7)).rates() == [5, None, 0, None, 7]


def test_a_late_interval_lands_where_it_belongs() -> None:
    assert series((5, 6, 50), (3, 4, 30), (4, 5, 40)).rates() == [30, 40, 50]


def test_bunched_intervals_share_their_bin() -> None:
    assert series((0, 0.98, 98), (0.98, 0.99, 1), (0.99, 1.0, 1)).rates() == [pytest.approx(100)]


def test_an_interval_without_length_belongs_to_one_bin() -> None:
    assert series((2.5, 2.5, 8)).rates() == [8]


def test_rates_are_per_second_whatever_the_bin() -> None:
    assert series((0, 2, 100), bin_s=0.5).rates() == [50, 50, 50, 50]


def test_a_bounded_series_keeps_the_newest_bins() -> None:
    bounded = series(*((t, t + 1, t) for t in range(10)), keep=3)
    assert bounded.rates() == [7, 8, 9]
    assert bounded.start_s == 7


def test_a_bounded_series_drops_what_comes_too_late() -> None:
    bounded = series((9, 10, 9), (1, 2, 5), keep=3)
    assert bounded.rates() == [9]


def test_a_long_interval_does_not_fill_bins_that_are_not_kept() -> None:
    assert series((0, 1_000_000, 1_000_000), keep=2).rates() == [1, 1]


def test_several_series_can_be_read_over_the_same_span() -> None:
    assert series((1, 2, 4)).rates(0, 4) == [None, 4, None, None]


def test_an_empty_series_has_no_bins() -> None:
    assert (RateSeries().rates(), RateSeries().start_s, RateSeries().end_s) == ([], None, None)


def test_a_bin_must_have_a_length() -> None:
    with pytest.raises(ValueError, match="positive"):
        RateSeries(0)


@given(st.lists(interval, min_size=1, max_size=30), st.sampled_from([0.25, 1.0, 3.0]))
def test_nothing_is_lost_or_invented(intervals: list[tuple[float, float, int]], bin_s: float) -> None:
    made = series(*((t0, t0 + length, amount) for t0, length, amount in intervals), bin_s=bin_s)
    assert made.total == pytest.approx(sum(amount for _, _, amount in intervals), abs=1e-6)
    assert sum((rate or 0) * bin_s for rate in made.rates()) == pytest.approx(made.total, abs=1e-6)
