"""Metrics, directions, and how a headline is read from results."""

from __future__ import annotations

import pytest

from tests.samples.latencies import latency_of
from tui.metrics.figures import over_hosts, percentile_of, value_of
from tui.metrics.registry import BY_UNIT, METRICS, headline_text, in_order, meaning
from tui.model.event import DirectionResult, LatencyResult
from tui.model.plan import Headline


def result(
    iops: float = 100.0, clat: LatencyResult | None = None, lat: LatencyResult | None = None
) -> DirectionResult:
    return DirectionResult(1000, 4096000, 10.0, iops, 409600.0, clat=clat, lat=lat)


@pytest.mark.parametrize(
    ("metric", "value", "text", "alone", "split"),
    [
        ("iops", 390_494.0, "390k", "390k IOPS", ("390", "k IOPS")),
        ("bandwidth", 9_846_000_000.0, "9.17 GiB/s", "9.17 GiB/s", ("9.17", "GiB/s")),
        ("latency", 229_000.0, "229 µs", "229 µs", ("229", "µs")),
        ("ops", 12_000.0, "12.0k", "12.0k ops/s", ("12.0", "k ops/s")),
        ("ops", None, "–", "–", ("–", "")),
    ],
)
def test_a_value_is_written_the_same_wherever_it_is_shown(
    metric: str, value: float | None, text: str, alone: str, split: tuple[str, str]
) -> None:
    found = METRICS[metric]
    assert (found.text(value), found.with_unit(value), found.split(value)) == (text, alone, split)


def test_latencies_are_better_when_they_are_small() -> None:
    assert {name: metric.better for name, metric in METRICS.items()} == {
        "iops": "higher",
        "bandwidth": "higher",
        "latency": "lower",
        "ops": "higher",
        "score": "higher",
    }
    assert BY_UNIT["ns"].best([3.0, 1.0, 2.0]) == 1.0
    assert BY_UNIT["iops"].best([(3.0, 7), (1.0, 9)]) == (3.0, 7)


def test_syncs_are_shown_first_and_unknown_directions_last() -> None:
    assert in_order(["copy", "write", "mixed", "read", "sync"]) == [
        "sync",
        "read",
        "write",
        "mixed",
        "copy",
    ]


def test_a_headline_in_words_and_with_its_value() -> None:
    assert meaning(Headline("latency", "write", 99.5)) == "write p99.5 latency"
    assert meaning(Headline("latency", "read")) == "read mean latency"
    assert headline_text(Headline("latency", "write", 99.5), 432_000) == "write p99.5 432 µs"
    assert headline_text(Headline("iops", "read"), 390_494) == "read 390k IOPS"
    assert headline_text(Headline("iops", "sync"), 680) == "sync 680 syncs/s"
    assert headline_text(Headline("ops", "create"), 12_000) == "creates 12.0k ops/s"


def test_of_syncs_there_is_one_latency_kind_whatever_the_step_shows() -> None:
    dirs = {
        "sync": result(lat=latency_of([1000, 2000])),
        "write": result(clat=latency_of([10]), lat=latency_of([30])),
    }
    assert value_of(Headline("latency", "sync"), dirs, "clat") == 1500
    assert value_of(Headline("latency", "write"), dirs, "clat") == 10
    assert value_of(Headline("latency", "write"), dirs, "lat") == 30


def test_reads_and_writes_together_leave_syncs_out() -> None:
    mixed = Headline("iops", "mixed")
    dirs = {"sync": result(7.0), "read": result(100.0), "write": result(30.0)}
    assert value_of(mixed, over_hosts([dirs, dirs]), "clat") == 260.0
    assert value_of(mixed, {"sync": result(7.0), "write": result(30.0)}, "clat") == 30.0


def test_a_direction_that_a_host_lacks_has_no_figure_over_all_hosts() -> None:
    found = over_hosts([{"read": result(1.0)}, {"write": result(1.0)}])
    assert value_of(Headline("iops", "read"), found, "clat") is None


def test_percentiles_that_were_not_computed_come_from_the_histogram() -> None:
    found = latency_of(range(1000, 101_000, 1000))
    assert "20" not in found.percentiles_ns
    assert percentile_of(found, 20) == pytest.approx(20_000, rel=1 / 128)
    assert percentile_of(found, 100) == found.max_ns
