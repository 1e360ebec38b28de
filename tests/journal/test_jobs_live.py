"""Jobs while a run goes on: each job's figures merged over the hosts.

What is left of a host that was lost.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.record.test_timing import host_run
from tests.samples.events import closed, histogram, run_of
from tui.journal.fold import fold_all
from tui.journal.reader import Damaged, parse_line, read_events
from tui.journal.state import RunState
from tui.library.build import build_record
from tui.model.event import AnyEvent, DirectionSample, HostResult, Sample, encode

LATENCIES = {"small": [1_000] * 98 + [2_000] * 2, "large": [900_000] * 10}


def part(latencies_ns: list[int]) -> DirectionSample:
    count = len(latencies_ns)
    return DirectionSample(
        count, 4096 * count, sum(latencies_ns), max(latencies_ns), histogram(latencies_ns)
    )


PARTS = {job: {"read": part(latencies)} for job, latencies in LATENCIES.items()}
WHOLE = part([each for latencies in LATENCIES.values() for each in latencies])


def with_jobs(event: AnyEvent) -> AnyEvent:
    return replace(event, dirs={"read": WHOLE}, jobs=PARTS) if isinstance(event, Sample) else event


def events_of(host: str) -> list[AnyEvent]:
    return [with_jobs(event) for event in host_run(host, 5.0, 35.0)]


def run(tmp_path: Path, *, without_result: str = "") -> Path:
    events = [
        event
        for host in ("h1", "h2")
        for event in events_of(host)
        if not (isinstance(event, HostResult) and event.host == without_result)
    ]
    return run_of(tmp_path, ["h1", "h2"], [*events, closed(40.0)])


def test_a_job_is_merged_over_the_hosts(tmp_path: Path) -> None:
    state = fold_all(RunState(), read_events(run(tmp_path) / "journal.jsonl"))
    samples = sum(isinstance(event, Sample) for host in ("h1", "h2") for event in events_of(host))
    small = state.current.jobs["small"].cluster["read"]
    assert small.ios == small.so_far.total == 100 * samples
    assert small.so_far_percentiles["99"] == 2_000  # not above the exact maximum
    assert state.current.jobs["large"].cluster["read"].so_far_percentiles["max"] == 900_000
    assert state.cluster["read"].ios == 110 * samples


def test_a_host_has_figures_of_each_job(tmp_path: Path) -> None:
    state = fold_all(RunState(), read_events(run(tmp_path) / "journal.jsonl"))
    whole, small = state.hosts["h1"].figures(), state.hosts["h1"].figures("small")
    assert small.total.ios * 110 == whole.total.ios * 100
    assert small.dirs["read"].so_far_percentiles["max"] == 2_000
    assert not state.hosts["h1"].figures("unknown").dirs


def test_jobs_of_a_host_without_a_result_are_rebuilt_from_its_samples(tmp_path: Path) -> None:
    results = build_record(run(tmp_path, without_result="h2")).steps[0].results
    assert results.per_job is not None and results.per_job["h2"]["small"]["read"].from_samples
    small = results.per_job["h2"]["small"]["read"].clat
    assert small is not None and small.percentiles_ns["50"] == 1_004


@pytest.mark.parametrize("bad", [-1, 1 << 70])
def test_a_job_whose_counts_cannot_be_is_damage(bad: int) -> None:
    broken = DirectionSample(ios=bad, bytes=0)
    sample = next(event for event in events_of("h1") if isinstance(event, Sample))
    text = encode(replace(sample, jobs={"small": {"read": DirectionSample(ios=4711, bytes=0)}}))
    with pytest.raises(Damaged):
        parse_line(text.replace(b"4711", str(broken.ios).encode()))


def test_a_job_that_names_a_direction_the_sample_lacks_has_nothing() -> None:
    sample = next(event for event in events_of("h1") if isinstance(event, Sample))
    assert replace(sample, jobs={"small": {"trim": None, "read": None}}).of_jobs() == {
        "small": {"read": sample.dirs["read"]}
    }
