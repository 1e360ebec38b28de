"""Jobs of one profile: each with its own percentiles, merged exactly over the hosts that ran it."""

from __future__ import annotations

from pathlib import Path

from tests.record.test_timing import host_run
from tests.samples.events import closed, histogram, run_of
from tui.library.build import build_record
from tui.metrics.histogram import Histogram
from tui.model.event import AnyEvent, DirectionResult, HostResult, LatencyResult
from tui.view.run_summary import summary_text

FAST, SLOW = [1_000, 2_000] * 50, [900_000] * 10


def part(latencies_ns: list[int], iops: float) -> DirectionResult:
    buckets = histogram(latencies_ns)
    mean = sum(latencies_ns) / len(latencies_ns)
    clat = LatencyResult(
        len(latencies_ns),
        min(latencies_ns),
        max(latencies_ns),
        mean,
        0.0,
        Histogram.from_buckets(buckets).percentiles(),
        buckets,
    )
    return DirectionResult(
        len(latencies_ns), 4096 * len(latencies_ns), 30.0, iops, iops * 4096, clat=clat
    )


def with_jobs(event: AnyEvent) -> AnyEvent:
    if isinstance(event, HostResult):
        event.jobs = {"small": {"read": part(FAST, 10.0)}, "large": {"read": part(SLOW, 1.0)}}
    return event


def run(tmp_path: Path) -> Path:
    events = [with_jobs(event) for host in ("h1", "h2") for event in host_run(host, 5.0, 35.0)]
    return run_of(tmp_path, ["h1", "h2"], [*events, closed(40.0)])


def test_each_job_has_its_own_histogram_over_all_hosts(tmp_path: Path) -> None:
    jobs = build_record(run(tmp_path)).steps[0].results.jobs
    assert jobs is not None
    small, large = jobs["small"]["read"], jobs["large"]["read"]
    assert (small.ios, small.iops, small.hosts) == (200, 20.0, ["h1", "h2"])
    assert small.clat is not None and small.clat.histogram is not None
    assert sum(small.clat.histogram.n) == 200
    assert small.clat.percentiles_ns["99"] == 2_000
    assert large.clat is not None
    assert large.clat.percentiles_ns["50"] == 897_024  # the middle of its bucket


def test_the_summary_has_a_row_a_job_where_several_do_the_same(tmp_path: Path) -> None:
    rows = [
        line.split()
        for line in summary_text(build_record(run(tmp_path))).splitlines()
        if line.startswith("job ")
    ]
    assert [(row[1], row[2]) for row in rows] == [("small", "20"), ("large", "2")]


def test_one_job_alone_is_not_shown_again(tmp_path: Path) -> None:
    record = build_record(run_of(tmp_path, ["h1"], [*host_run("h1", 5.0, 35.0), closed(40.0)]))
    assert record.steps[0].results.jobs is None
    assert "job " not in summary_text(record)
