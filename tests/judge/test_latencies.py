"""What one latency says of itself: what is told at a glance is what looking closely tells."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.judge import latencies
from tui.judge.latencies import Disagreement, disagreements
from tui.metrics.histogram import Histogram
from tui.model.event import LatencyResult

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
