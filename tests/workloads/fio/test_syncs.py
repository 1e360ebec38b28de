"""fsync and fdatasync: a direction of its own, with fio's own histogram, added to no total of reads
and writes.
"""

from __future__ import annotations

import pytest

from tests.workloads.fio.fixtures import objects, recording, snapshots
from tui.metrics.histogram import Histogram, label
from tui.model.dense import listed
from tui.workloads.fio.reader import contradictions_in
from tui.workloads.fio.results import Meter, host_result
from tui.workloads.fio.snapshot import Snapshot, decode

RECORDED = ["stream/fdatasync-3.33", "stream/loops-3.33", "stream/loops-master"]


def final(name: str) -> Snapshot:
    return snapshots(name)[-1]


@pytest.mark.parametrize("name", RECORDED)
def test_the_latency_of_syncs_is_what_fio_printed(name: str) -> None:
    result = host_result(final(name), "h1", 0, final=True)
    sync = final(name).jobs[0].sync
    assert sync is not None and sync.lat is not None
    ours = result.dirs["sync"].lat
    assert ours is not None
    assert (ours.n, ours.max_ns, ours.mean_ns) == (sync.lat.n, sync.lat.max, sync.lat.mean)
    printed = {label(float(key)): value for key, value in (sync.lat.percentile or {}).items()}
    assert ours.percentiles_ns["99"] == min(printed["99"], sync.lat.max)
    assert sum(ours.buckets.n if ours.buckets else []) == sync.lat.n


@pytest.mark.parametrize("name", RECORDED)
def test_syncs_are_counted_by_their_latencies_over_the_time_of_the_writes(name: str) -> None:
    result = host_result(final(name), "h1", 0, final=True)
    write, sync = result.dirs["write"], result.dirs["sync"]
    assert sync.runtime_s == write.runtime_s
    assert sync.iops == pytest.approx(sync.ios / write.runtime_s)
    assert sync.bytes == 0
    assert sync.clat is None


def test_writes_are_as_without_syncs() -> None:
    write = host_result(final("stream/fdatasync-3.33"), "h1", 0, final=True).dirs["write"]
    printed = final("stream/fdatasync-3.33").jobs[0].write
    assert printed is not None
    assert (write.ios, write.iops) == (printed.total_ios, printed.iops)


@pytest.mark.parametrize("name", RECORDED)
def test_samples_of_syncs_add_up_to_the_last_object(name: str) -> None:
    meter = Meter("h1", 0, "measure")
    found = [sample for each in snapshots(name) if (sample := meter.feed(each)) is not None]
    found += [last] if (last := meter.flush()) is not None else []
    merged = Histogram()
    for sample in found:
        if "sync" in sample.dirs:
            merged.add(listed(sample.dirs["sync"].lat))
    sync = final(name).jobs[0].sync
    assert sync is not None and sync.lat is not None
    assert merged == Histogram.from_bins(sync.lat.bins or {})
    assert sum(sample.dirs["sync"].ios for sample in found if "sync" in sample.dirs) == sync.lat.n


def test_syncs_that_an_old_libaio_does_not_time_are_counted_without_a_latency() -> None:
    recorded = final("stream/libaio-fsync-3.33")
    result = host_result(recorded, "h1", 0, final=True).dirs["sync"]
    assert recorded.jobs[0].sync is not None and recorded.jobs[0].sync.lat is not None
    assert (result.ios, result.lat) == (recorded.jobs[0].sync.lat.n, None)
    text = recording("stream/libaio-fsync-3.33").stdout.replace(b"fio-3.33", b"fio-3.41")
    timed = host_result(decode(objects(text)[-1]), "h1", 0, final=True).dirs["sync"]
    assert timed.lat is not None


def test_one_write_or_sync_at_a_time_contradicts_nothing() -> None:
    last = objects(recording("stream/libaio-fsync-3.33").stdout)[-1]
    assert contradictions_in(last) == []


def test_a_load_without_syncs_has_no_such_direction() -> None:
    assert set(host_result(final("stream/mix-3.33"), "h1", 0, final=True).dirs) == {"read", "write"}
