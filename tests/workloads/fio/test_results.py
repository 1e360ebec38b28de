"""From the last object to the result of one host."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.workloads.fio.fixtures import names, snapshots
from tests.workloads.fio.real import needs_fio, run
from tui.metrics.figures import total_rates, with_mixed
from tui.metrics.histogram import Histogram, label
from tui.model.event import HostResult
from tui.workloads.fio.results import host_result, latency_result
from tui.workloads.fio.snapshot import (
    Snapshot,
    StatusDirection,
    StatusJob,
    StatusLatency,
    decode,
)

RESULTS = [name for name in names("stream", "stall", "size") if snapshots(name)]


def result_of(name: str) -> HostResult:
    return host_result(snapshots(name)[-1], "h1", 2, final=True)


@pytest.mark.parametrize("name", RESULTS)
def test_one_entry_is_reported_as_fio_prints_it(name: str) -> None:
    snapshot = snapshots(name)[-1]
    if len(snapshot.jobs) > 1:
        return
    for direction, part in snapshot.jobs[0].directions().items():
        if direction == "sync" or not part.total_ios:  # fio tells less of syncs: test_syncs.py
            continue
        mine = result_of(name).dirs[direction]
        assert (mine.ios, mine.bytes, mine.iops) == (part.total_ios, part.io_bytes, part.iops)
        assert mine.bw_bytes_per_s == part.bw_bytes
        assert mine.runtime_s == part.runtime / 1000
        assert part.clat is not None
        assert mine.clat is not None
        assert (mine.clat.n, mine.clat.max_ns, mine.clat.mean_ns, mine.clat.stddev_ns) == (
            part.clat.n,
            part.clat.max,
            part.clat.mean,
            part.clat.stddev,
        )
        printed = {label(float(key)): value for key, value in (part.clat.percentile or {}).items()}
        assert printed
        assert {
            key: value for key, value in mine.clat.percentiles_ns.items() if key in printed
        } == {
            key: min(printed[key], part.clat.max)
            for key in mine.clat.percentiles_ns
            if key in printed
        }


def test_entries_of_one_host_are_merged_by_direction() -> None:
    jobs = snapshots("stream/mix-3.33")[-1].jobs
    merged = result_of("stream/mix-3.33").dirs["read"]
    reads = [job.read for job in jobs if job.read]
    assert merged.ios == sum(part.total_ios for part in reads) == 12000
    assert merged.iops == pytest.approx(sum(part.iops for part in reads))
    expected = Histogram()
    for part in reads:
        expected.merge(Histogram.from_bins((part.clat.bins if part.clat else None) or {}))
    assert merged.clat is not None
    assert merged.clat.buckets == expected.buckets
    assert merged.clat.percentiles_ns == expected.percentiles(at_most=merged.clat.max_ns)


def test_jobs_are_also_given_by_name_when_there_are_several() -> None:
    result = result_of("stream/stone-3.33")
    assert {name: list(dirs) for name, dirs in result.jobs.items()} == {
        "w": ["write"],
        "r": ["read"],
        "r2": ["read"],
    }
    assert result.jobs["w"]["write"].ios == 8000


def test_a_single_group_is_not_repeated_by_name() -> None:
    assert result_of("stream/basic-randread-2jobs-3.33").jobs == {}


def wave(name: str, waits: bool) -> StatusJob:
    part = StatusDirection(
        total_ios=1000, io_bytes=4096_000, runtime=2000, iops=500.0, bw_bytes=2048_000
    )
    return StatusJob(jobname=name, options={"stonewall": "1"} if waits else {}, read=part)


def test_rates_of_jobs_that_ran_one_after_another_are_not_added() -> None:
    together = host_result(
        Snapshot(1, jobs=[wave("a", False), wave("b", False)]), "h", 0, final=True
    ).dirs["read"]
    in_turn = host_result(
        Snapshot(1, jobs=[wave("a", False), wave("b", True)]), "h", 0, final=True
    ).dirs["read"]
    assert (together.ios, together.iops, together.runtime_s) == (2000, 1000.0, 2.0)
    assert (in_turn.ios, in_turn.iops, in_turn.runtime_s) == (2000, 500.0, 4.0)


def direction(ios: int, runtime_ms: int) -> StatusDirection:
    """A direction as fio prints it: the rate over its own runtime."""
    rate = ios * 1000 / runtime_ms
    return StatusDirection(ios * 4096, ios, runtime_ms, iops=rate, bw_bytes=rate * 4096)


def verifying(read: StatusDirection, write: StatusDirection, **options: str) -> HostResult:
    """The result of a job with verification in its global options."""
    job = StatusJob("a", options={"size": "1g"}, read=read, write=write)
    text = msgspec.json.encode(Snapshot(1, shared={"verify": "crc32c", **options}, jobs=[job]))
    return host_result(decode(text), "h", 0, final=True)


@pytest.mark.parametrize(
    "read_ms", [1, 10_000], ids=["time of writes left out", "time of writes included"]
)
def test_reads_that_verify_between_writes_are_counted_over_the_time_of_both(read_ms: int) -> None:
    read, write = direction(100_000, read_ms), direction(100_000, 10_000)
    found = verifying(read, write, rw="randwrite", verify_backlog="64").dirs
    whole_s = 10.001 if read_ms == 1 else 10.0
    assert found["read"].runtime_s == whole_s
    assert found["read"].iops == pytest.approx(100_000 / whole_s)
    assert found["read"].bw_bytes_per_s == pytest.approx(100_000 * 4096 / whole_s)
    assert found["write"].iops == 10_000
    assert with_mixed(found)["mixed"].iops == found["read"].iops + 10_000


@needs_fio
def test_fio_that_verifies_between_writes_read_as_long_as_it_wrote(tmp_path: Path) -> None:
    job = "[a]\nioengine=psync\nrw=randwrite\nbs=4k\nsize=2m\nverify=crc32c\nverify_backlog=8\n"
    snapshot = decode(run(f"{job}directory={tmp_path}\n", tmp_path / "job").stdout)
    found = host_result(snapshot, "h", 0, final=True).dirs
    assert found["read"].ios == found["write"].ios == 512
    assert found["read"].runtime_s >= found["write"].runtime_s > 0
    assert found["read"].iops == pytest.approx(512 / found["read"].runtime_s)


def test_writes_and_their_later_verification_are_not_added() -> None:
    found = verifying(direction(1000, 500), direction(1000, 1000), rw="write").dirs
    assert (found["read"].iops, found["write"].iops) == (2000, 1000)
    assert "mixed" not in with_mixed(found) and total_rates(found)[0] == 1000


def test_a_job_that_reads_and_verifies_has_a_total() -> None:
    found = verifying(direction(1000, 1000), direction(1000, 1000), rw="randrw").dirs
    assert with_mixed(found)["mixed"].iops == 2000


@pytest.mark.parametrize("waits", [True, False])
def test_reads_and_writes_have_a_total_only_if_they_ran_at_the_same_time(waits: bool) -> None:
    options = {"stonewall": "1"} if waits else {}
    write = StatusJob("w", write=direction(1000, 1000))
    read = StatusJob("r", options=options, read=direction(1000, 1000))
    found = host_result(Snapshot(1, jobs=[write, read]), "h", 0, final=True).dirs
    assert ("mixed" in with_mixed(found)) is not waits
    assert total_rates(found)[0] == (1000 if waits else 2000)


def test_only_kinds_that_fio_counted_are_there() -> None:
    psync = result_of("stream/basic-randread-2jobs-3.33").dirs["read"]
    libaio = result_of("stream/slat-3.33").dirs["read"]
    assert psync.slat is None
    assert psync.lat is not None
    assert psync.lat.buckets is None
    assert all(
        kind is not None and kind.buckets is not None
        for kind in (libaio.slat, libaio.clat, libaio.lat)
    )


def test_plain_json_keeps_the_percentiles_that_fio_printed() -> None:
    clat = result_of("stream/stdin-3.33").dirs["read"].clat
    assert clat is not None
    assert clat.buckets is None
    assert {"1", "50", "99", "99.5"} <= set(clat.percentiles_ns)


def test_a_percentile_far_above_the_maximum_is_kept_for_the_checks_to_see() -> None:
    told = StatusLatency(1, 1000, 500.0, 1.0, n=10, percentile={"50.0": 500, "99.0": 1004})
    result = latency_result(told)
    assert result is not None and result.percentiles_ns["99"] == 1000  # middle of the last bucket
    doctored = latency_result(replace(told, max=900))
    assert doctored is not None and doctored.percentiles_ns["99"] == 1004


def test_start_and_end_are_those_of_the_load_where_fio_tells_them() -> None:
    new, old = (
        result_of("stream/basic-randread-2jobs-master"),
        result_of("stream/basic-randread-2jobs-3.33"),
    )
    assert new.start_ms is not None
    assert new.end_ms == new.start_ms + 4001
    assert old.start_ms is None
    assert old.end_ms == snapshots("stream/basic-randread-2jobs-3.33")[-1].timestamp_ms


def test_errors_and_version_are_kept() -> None:
    result = result_of("errors/eio-3.33")
    assert (result.errors, result.tool_version) == ([5], "fio-3.33")


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("errors/eio-continue-3.33", 1300),  # the job goes on, and fio counts them
        ("errors/eio-3.33", 1),  # it ends with the first one
        ("stream/basic-randread-2jobs-3.33", 0),
    ],
)
def test_ios_that_failed_are_counted(name: str, count: int) -> None:
    assert result_of(name).failed_ios == count


def test_cpu_is_averaged_over_jobs_by_their_time() -> None:
    jobs = [StatusJob(usr_cpu=10.0, job_runtime=3000), StatusJob(usr_cpu=50.0, job_runtime=1000)]
    assert host_result(Snapshot(1, jobs=jobs), "h", 0, final=True).usr_cpu == 20.0


def test_a_host_without_io_has_no_directions() -> None:
    assert result_of("errors/enoent-nocreate-3.33").dirs == {}
