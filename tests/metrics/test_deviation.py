"""Hosts against their median, and latencies in columns of time."""

from __future__ import annotations

import pytest

from tui.metrics.figures import behind_text, share_text, spread_of, within_text
from tui.metrics.histogram import Histogram, index_to_value, value_to_index
from tui.metrics.series import HeatBins, bucket_edge, column_percentiles, weights_of
from tui.model.event import Buckets

EVEN = {f"h{number}": 1000.0 + number for number in range(7)}


def test_a_host_at_a_quarter_of_the_others_lags_and_they_do_not() -> None:
    spread = spread_of({**EVEN, "slow": 250.0})
    assert spread.stragglers == ["slow"]
    assert share_text(spread.shares["slow"]) == "-75 %"
    assert behind_text(spread.shares["slow"] or 0.0) == "25 % of median"
    assert not any(spread.is_far(host) for host in EVEN)
    assert within_text(spread.widest(list(EVEN))) == "within ±1 %"


def test_the_slowest_straggler_comes_first_and_silent_hosts_are_unlike_the_others() -> None:
    spread = spread_of({**EVEN, "a": 500.0, "b": 100.0, "silent": None})
    assert spread.stragglers == ["b", "a"]
    assert spread.is_far("silent")
    assert not spread.lags("silent")


def test_hosts_that_spread_widely_have_a_wide_band_but_never_hide_a_straggler() -> None:
    spread = spread_of({f"h{number}": 100.0 + 15 * number for number in range(9)})
    assert 0.1 < spread.band <= 0.2
    assert all(spread.is_far(host) for host in spread.stragglers)


@pytest.mark.parametrize("values", [{}, {"a": 5.0}, {"a": None}, {"a": 0.0, "b": 0.0, "c": 0.0}])
def test_without_a_median_nothing_is_reported(values: dict[str, float | None]) -> None:
    spread = spread_of(values)
    assert not spread.stragglers
    assert set(spread.shares.values()) <= {None}


def test_of_two_hosts_none_lags() -> None:
    assert not spread_of({"a": 100.0, "b": 10.0}).stragglers


def filled(seconds: int, most: int) -> HeatBins:
    bins = HeatBins(10.4, most)
    for second in range(seconds):
        bins.add(10.1 + second, 11.1 + second, Buckets(idx=[200, 300 + second % 7], n=[90, 10]))
    return bins


def test_columns_grow_wider_and_lose_nothing() -> None:
    narrow, wide = filled(100, 400), filled(100, 16)
    assert (narrow.width_s, wide.width_s) == (1, 8)
    assert sum(count for _, count in wide.between(10, 10 + 104)) == 100 * 100
    assert wide.between(10, 18) == narrow.between(10, 18)
    assert narrow.span == wide.span == (200, 306)


def test_a_cell_narrower_than_a_column_shows_the_column_that_it_lies_in() -> None:
    wide = filled(100, 16)
    assert wide.between(12, 13) == wide.between(10, 18)


def test_an_interval_counts_once_where_its_middle_lies() -> None:
    bins = HeatBins(0.0)
    bins.add(0.9, 2.9, Buckets(idx=[5], n=[3]))
    bins.add(-3.0, -2.0, Buckets(idx=[5], n=[3]))
    assert bins.between(1, 2) == ((5, 3),)
    assert bins.between(0, 1) == bins.between(2, 3) == ()


def test_percentiles_of_a_column_are_those_of_the_histogram() -> None:
    histogram = Histogram()
    for value in range(1000, 60_000, 13):
        histogram.record(value)
    found = column_percentiles(list(histogram.items()), (50.0, 99.0, 99.9))
    assert (found[50.0], found[99.0]) == (histogram.percentile(50), histogram.percentile(99))
    assert found[99.9] is None  # fewer than ten of 4539 are slower


def test_rows_are_whole_buckets_and_weigh_by_their_share() -> None:
    assert weights_of([(128, 9989), (160, 10), (191, 1)], 128, 32) == {0: 5, 1: 2}
    assert value_to_index(int(bucket_edge(500))) == 500
    assert bucket_edge(500) <= index_to_value(500)
