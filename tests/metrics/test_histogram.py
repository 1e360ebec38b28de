"""Histograms: merging, percentiles, results of several hosts."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.latencies import latency_of
from tests.workloads.fio.fixtures import names, snapshots
from tui.metrics.histogram import (
    PERCENTILES,
    Bins,
    Histogram,
    PackedBuckets,
    combine,
    combine_directions,
    index_to_value,
    label,
    value_to_index,
)
from tui.model.event import Buckets, DirectionResult, LatencyResult
from tui.workloads.fio.results import latency_result
from tui.workloads.fio.snapshot import Snapshot, StatusLatency

latencies = st.lists(st.integers(min_value=1, max_value=2**34 - 1), min_size=1, max_size=200)
sparse = st.dictionaries(st.integers(0, 2047), st.integers(1, 10**9), max_size=50)

JSON_PLUS = [
    name
    for name in names("stream", "size", "errors")
    if "json-" not in name and "stdin" not in name
]


def printed_latencies(snapshot: Snapshot) -> list[StatusLatency]:
    parts = [
        part for job in snapshot.jobs for part in (job.read, job.write, job.trim, job.mixed) if part
    ]
    kinds = [kind for part in parts for kind in (part.slat, part.clat, part.lat) if kind]
    return [kind for kind in kinds if kind.bins and kind.percentile]


def bins(counts: dict[int, int]) -> Bins:
    """As fio prints buckets: by their middles."""
    return Bins({index_to_value(index): count for index, count in counts.items()})


def recomputed(latency: StatusLatency) -> dict[str, float]:
    wanted = [float(name) for name in latency.percentile or {}]
    mine = Histogram.from_bins(latency.bins or {}).percentiles(wanted)
    return {name: mine[label(float(name))] for name in latency.percentile or {}}


@pytest.mark.parametrize("name", JSON_PLUS)
def test_percentiles_of_final_objects_are_the_ones_fio_printed(name: str) -> None:
    found = snapshots(name)
    for latency in printed_latencies(found[-1]) if found else []:
        if sum((latency.bins or {}).values()) == latency.n:
            assert recomputed(latency) == latency.percentile


def test_percentiles_of_live_objects_are_fios_too_when_they_are_not_torn() -> None:
    live = [
        each
        for name in JSON_PLUS
        for snapshot in snapshots(name)
        for each in printed_latencies(snapshot)
    ]
    whole = [each for each in live if sum((each.bins or {}).values()) == each.n]
    assert len(whole) > 400
    assert [recomputed(each) for each in whole] == [each.percentile for each in whole]


def test_final_objects_were_checked_for_every_version_at_hand() -> None:
    versions = {snapshots(name)[-1].version for name in JSON_PLUS if snapshots(name)}
    assert versions == {"fio-3.33", "fio-3.42", "fio-3.42-135-gf5344"}


@given(latencies)
def test_a_percentile_is_the_nearest_rank_to_within_a_bucket(values: list[int]) -> None:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    for percentile in (1, 25, 50, 90, 99):
        exact = sorted(values)[math.ceil(percentile * len(values) / 100) - 1]
        assert histogram.percentile(percentile) == index_to_value(value_to_index(exact))


@given(st.lists(sparse, max_size=5))
def test_merging_is_adding_counts(parts: list[dict[int, int]]) -> None:
    merged = Histogram()
    for part in parts:
        merged.merge(Histogram(part))
    expected: Counter[int] = sum((Counter(part) for part in parts), Counter())
    assert dict(merged.items()) == dict(expected)
    assert merged.total == expected.total()


@given(
    st.lists(
        st.dictionaries(
            st.integers(0, 1855), st.integers(1, 10**9) | st.integers(1, 2**34), max_size=50
        ),
        max_size=5,
    )
)
def test_packed_buckets_count_as_they_do_unpacked_whatever_was_asked_meanwhile(
    parts: list[dict[int, int]],
) -> None:
    packed, plain = Histogram(), Histogram()
    for part in parts:
        buckets = Histogram(part).buckets
        packed.add(PackedBuckets(buckets))
        assert PackedBuckets(buckets).buckets == buckets
        plain.add(buckets)
        assert packed.total == plain.total
    joint = Histogram()
    for part in parts:
        joint.add(PackedBuckets(Histogram(part).buckets))
    assert joint == packed == plain
    joint.take_back(plain)
    assert not joint


def test_packed_buckets_of_a_damaged_journal_are_in_order() -> None:
    damaged = Buckets(idx=[900, 3], n=[1, 2])
    assert PackedBuckets(damaged).buckets == Buckets(idx=[3, 900], n=[2, 1])


@given(sparse, sparse)
def test_what_came_after_an_earlier_state_is_the_difference(
    first: dict[int, int], more: dict[int, int]
) -> None:
    later = Histogram(first)
    later.merge(Histogram(more))
    assert bins(dict(later.items())).since(bins(first)) == Histogram(more).buckets


@given(sparse, sparse)
def test_a_difference_never_falls_below_zero(one: dict[int, int], other: dict[int, int]) -> None:
    assert all(count > 0 for count in bins(one).since(bins(other)).n)


@given(sparse)
def test_buckets_of_the_journal_hold_the_whole_histogram(counts: dict[int, int]) -> None:
    histogram = Histogram(counts)
    assert histogram.buckets.idx == sorted(histogram.buckets.idx)
    assert Histogram.from_buckets(histogram.buckets) == histogram


def test_an_empty_histogram_has_no_percentiles() -> None:
    assert Histogram().percentiles() == {}
    assert Histogram().percentile(99) is None


def test_the_hundredth_percentile_is_the_middle_of_the_last_bucket() -> None:
    assert Histogram({600: 5, 700: 1}).percentile(100) == index_to_value(700)


def test_no_percentile_is_above_the_exact_maximum_though_the_middle_of_its_bucket_may_be() -> None:
    histogram = Histogram()
    histogram.record(1_000_000, 2)
    assert histogram.percentile(99) == 1_003_520
    assert histogram.percentiles((50, 99), at_most=1_000_000) == {"50": 1_000_000, "99": 1_000_000}


def test_percentiles_are_given_for_the_thirteen_of_a_record() -> None:
    assert list(Histogram({600: 5}).percentiles()) == [
        "1", "5", "10", "25", "50", "75", "90", "95", "99", "99.5", "99.9", "99.95", "99.99"
    ]  # fmt: skip


@given(st.lists(latencies, min_size=1, max_size=4))
def test_combined_figures_are_those_of_all_samples_together(parts: list[list[int]]) -> None:
    union = [value for part in parts for value in part]
    combined = combine([latency_of(part) for part in parts])
    expected = latency_of(union)
    assert (combined.n, combined.min_ns, combined.max_ns) == (
        expected.n,
        expected.min_ns,
        expected.max_ns,
    )
    assert combined.mean_ns == pytest.approx(expected.mean_ns, rel=1e-9)
    assert combined.stddev_ns == pytest.approx(expected.stddev_ns, rel=1e-6, abs=1e-3)
    assert combined.percentiles_ns == expected.percentiles_ns
    assert combined.buckets == expected.buckets


def test_combining_nothing_is_a_result_without_samples() -> None:
    empty = combine([])
    assert (empty.n, empty.percentiles_ns, empty.buckets) == (0, {}, None)


def test_percentiles_are_absent_when_one_part_has_no_buckets() -> None:
    bare = LatencyResult(n=5, min_ns=1, max_ns=2, mean_ns=1.5, stddev_ns=0.5)
    combined = combine([bare, latency_of([1, 2, 3])])
    assert (combined.n, combined.percentiles_ns, combined.buckets) == (8, {}, None)


def test_a_part_without_samples_changes_nothing() -> None:
    filled = latency_of([10, 20, 30])
    empty = LatencyResult(n=0, min_ns=0, max_ns=0, mean_ns=0.0, stddev_ns=0.0)
    assert combine([empty, filled]) == filled


def test_combined_deviation_reproduces_what_fio_gives_for_two_groups_of_one_host() -> None:
    both = snapshots("stream/mix-3.33")[-1].jobs
    parts = [result for job in both if job.read and (result := latency_result(job.read.clat))]
    combined = combine(parts)
    by_hand = sum(part.n * part.mean_ns for part in parts) / sum(part.n for part in parts)
    assert combined.mean_ns == pytest.approx(by_hand)
    assert combined.n == 12000
    own = [part.stddev_ns or 0.0 for part in parts]
    assert min(own) <= (combined.stddev_ns or 0.0) <= max(own)


def direction(ios: int, runtime_s: float, lat: LatencyResult | None) -> DirectionResult:
    return DirectionResult(
        ios=ios,
        bytes=ios * 4096,
        runtime_s=runtime_s,
        iops=ios / runtime_s,
        bw_bytes_per_s=1.0,
        lat=lat,
    )


def test_directions_add_rates_and_keep_the_longest_runtime() -> None:
    total = combine_directions([direction(100, 2.0, None), direction(50, 1.0, None)])
    assert (total.ios, total.bytes, total.runtime_s, total.iops) == (150, 150 * 4096, 2.0, 100.0)


def test_a_latency_kind_that_one_busy_host_lacks_is_unknown_for_all() -> None:
    known = latency_of([5, 6])
    assert combine_directions([direction(2, 1.0, known), direction(2, 1.0, None)]).lat is None


def test_a_host_without_io_does_not_hide_the_latency_of_the_others() -> None:
    known = latency_of([5, 6])
    assert combine_directions([direction(2, 1.0, known), direction(0, 1.0, None)]).lat == known


def test_buckets_default_to_empty() -> None:
    assert Histogram.from_buckets(Buckets()) == Histogram()
    assert not Histogram()
    assert len(PERCENTILES) == 13


@given(st.lists(st.dictionaries(st.integers(0, 300), st.integers(0, 9)), max_size=4))
def test_what_is_taken_back_was_never_added(parts: list[dict[int, int]]) -> None:
    joint = Histogram()
    for part in parts:
        joint.merge(Histogram(part))
    for part in parts[1:]:
        joint.take_back(Histogram(part))
    assert joint == Histogram(parts[0] if parts else {})
