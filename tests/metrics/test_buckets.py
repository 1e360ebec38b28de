"""fio's latency buckets."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tui.metrics.buckets import (
    TOP_BUCKET,
    index_to_value,
    key_to_index,
    label,
    rank,
    value_to_index,
)

TOP_KEY = 17112760320


def test_there_are_1856_buckets_and_the_top_one_is_named_17_1_seconds() -> None:
    assert TOP_BUCKET == 1855
    assert index_to_value(TOP_BUCKET) == TOP_KEY


def test_every_key_names_its_own_bucket() -> None:
    assert [key_to_index(index_to_value(index)) for index in range(1856)] == list(range(1856))


def test_keys_of_builds_with_more_groups_follow_the_same_formula() -> None:
    beyond = range(1856, 32 * 64)
    assert [key_to_index(index_to_value(index)) for index in beyond] == list(beyond)


def test_keys_seen_in_fio_output() -> None:
    known = {127: 127, 20352: 591, 65280: 703, 66048: 704}
    assert {key: key_to_index(key) for key in known} == known


def test_a_latency_beyond_the_range_falls_into_the_top_bucket() -> None:
    assert value_to_index(10**12) == TOP_BUCKET


@given(st.integers(min_value=0, max_value=127))
def test_latencies_below_128_ns_are_kept_exactly(value: int) -> None:
    assert index_to_value(value_to_index(value)) == value


@given(st.integers(min_value=128, max_value=2**34 - 1))
def test_the_middle_of_a_bucket_is_within_one_128th_of_any_latency_in_it(value: int) -> None:
    assert abs(index_to_value(value_to_index(value)) - value) <= Fraction(value, 128) + 1


@given(st.integers(min_value=0, max_value=2**34 - 2))
def test_a_longer_latency_never_falls_into_a_lower_bucket(value: int) -> None:
    assert value_to_index(value) <= value_to_index(value + 1)


@given(
    st.sampled_from([1, 5, 10, 25, 50, 75, 90, 95, 99]), st.integers(min_value=1, max_value=10**12)
)
def test_whole_percentiles_need_exactly_their_share_of_the_samples(
    percentile: int, total: int
) -> None:
    reached = rank(percentile, total)
    assert reached * 100 >= percentile * total > (reached - 1) * 100


def test_99_9_percent_of_1000_needs_all_because_the_double_is_a_trace_above() -> None:
    assert rank(99.9, 1000) == 1000
    assert rank(99.5, 1000) == 995


def test_labels_have_no_needless_zeros() -> None:
    assert [label(each) for each in (1, 99.0, 99.5, 99.95)] == ["1", "99", "99.5", "99.95"]
