"""Histograms of tools with wider buckets of their own: percentiles are the tool's upper edges, also
when merged.
"""

from __future__ import annotations

from tui.journal.intervals import Amounts
from tui.metrics.buckets import value_to_index
from tui.metrics.histogram import Histogram, combine
from tui.model.event import Buckets, DirectionSample, LatencyResult


def edged(counts: dict[int, int]) -> Buckets:
    """Return buckets with these upper edges in ns, and their counts."""
    edges = sorted(counts)
    return Buckets(
        [value_to_index(edge) for edge in edges], [counts[edge] for edge in edges], edges
    )


def latency(counts: dict[int, int], mean_ns: float) -> LatencyResult:
    """Return the latencies of one host."""
    buckets = edged(counts)
    return LatencyResult(sum(buckets.n), 1, 10**9, mean_ns, None, {}, buckets, 0.19)


def test_percentiles_are_the_upper_edges_that_the_tool_prints() -> None:
    told = Histogram.from_buckets(edged({1_722_000: 90, 2_048_000: 10})).percentiles((50, 99))
    assert told == {"50": 1_722_000, "99": 2_048_000}


def test_two_hosts_merge_bucket_by_bucket_and_keep_edges_and_their_width() -> None:
    both = combine(
        [latency({1_722_000: 90, 2_048_000: 10}, 1.5e6), latency({2_048_000: 100}, 1.9e6)]
    )
    assert (both.n, both.percentiles_ns["25"], both.percentiles_ns["99"]) == (
        200,
        1_722_000,
        2_048_000,
    )
    assert both.bucket_width == 0.19
    assert both.mean_ns == 1.7e6


def test_a_deviation_that_one_host_does_not_know_is_unknown_of_all() -> None:
    known = LatencyResult(2, 1, 3, 2.0, 1.0, {}, Buckets([1, 3], [1, 1]))
    assert combine([known, latency({1_722_000: 1}, 1.5e6)]).stddev_ns is None


def test_a_mean_without_a_histogram_is_of_all_ios_of_its_interval() -> None:
    assert Amounts.of(DirectionSample(ios=10, bytes=0, lat_sum_ns=1000)).timed == 10
    assert Amounts.of(DirectionSample(ios=10, bytes=0)).timed == 0
    assert (
        Amounts.of(DirectionSample(ios=10, bytes=0, lat_sum_ns=5, lat=Buckets([5], [1]))).timed == 1
    )
