"""Latencies of I/Os, as a load generator summarizes them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from tui.metrics.histogram import Histogram
from tui.model.event import LatencyResult


def latency_of(values_ns: Sequence[int]) -> LatencyResult:
    """Return what fio prints of the latencies of all I/Os, with buckets."""
    histogram = Histogram()
    for value in values_ns:
        histogram.record(value)
    return LatencyResult(
        n=len(values_ns),
        min_ns=min(values_ns),
        max_ns=max(values_ns),
        mean_ns=fmean(values_ns),
        stddev_ns=stdev(values_ns) if len(values_ns) > 1 else 0.0,
        percentiles_ns=histogram.percentiles(at_most=max(values_ns)),
        buckets=histogram.buckets,
    )
