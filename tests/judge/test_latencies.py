"""What one latency says of itself: what is told at a glance is what looking closely tells."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.samples.latencies import latency_of
from tui.judge import latencies
from tui.judge.latencies import Disagreement, disagreements
from tui.metrics.histogram import Histogram
from tui.model.event import Buckets, LatencyResult

# by what a figure is multiplied: 1, next to it, or far from it
OFF = st.just(1.0) | st.floats(0.98, 1.02) | st.floats(0.2, 5.0)
VALUES = st.integers(0, 10**5).flatmap(
    lambda least: st.lists(st.integers(least, least * 2 + 9), min_size=2, max_size=60)
)


def looked_at_closely(latency: LatencyResult) -> list[Disagreement]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_rises", "_has_moments", "_has_percentiles"):
            patch.setattr(latencies, name, lambda *_: False)
        return list(disagreements(latency, 0.0))


@given(VALUES, OFF, OFF, OFF, OFF)
def test_a_glance_finds_what_a_close_look_finds(
    values: Sequence[int], mean: float, deviation: float, top: float, median: float
) -> None:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    percentiles = histogram.percentiles((50, 99), max(values))
    percentiles["50"] = round(percentiles["50"] * median)
    latency = LatencyResult(
        n=len(values),
        min_ns=min(values),
        max_ns=round(max(values) * top),
        mean_ns=fmean(values) * mean,
        stddev_ns=stdev(values) * deviation,
        percentiles_ns=percentiles,
        buckets=histogram.buckets,
    )
    assert list(disagreements(latency, 0.0)) == looked_at_closely(latency)


@given(st.lists(st.integers(1, 10**9), min_size=2, max_size=60))
def test_a_deviation_that_was_computed_is_possible_with_its_percentiles(
    values: Sequence[int],
) -> None:
    assert list(disagreements(printed(values), 0.0)) == []


def test_a_deviation_below_what_the_percentiles_need_is_named() -> None:
    values = [100_000] * 90 + [10_000_000] * 10
    (found,) = disagreements(replace(printed(values), stddev_ns=1000.0), 0.0)
    assert found[1] == 1000.0 and found[2] < stdev(values)


def printed(values: Sequence[int]) -> LatencyResult:
    """Return a latency as plain JSON has it, with percentiles but without buckets."""
    return replace(latency_of(values), buckets=None)


def test_a_mean_that_the_upper_edges_of_its_buckets_do_not_allow() -> None:
    buckets = Buckets(idx=[1, 2, 3], n=[10, 70, 20], upper_ns=[100_000, 119_000, 141_000])
    for mean_us, told in ((90, True), (110, False), (118, False), (130, True)):
        latency = LatencyResult(
            100, 90_000, 130_000, mean_us * 1000.0, None, {"50": 119_000}, buckets, 0.19
        )
        assert any(disagreements(latency, 0.0005)) == told, mean_us
