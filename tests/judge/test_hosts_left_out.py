"""No check leaves out a host without saying so: whatever it would have judged by data of a host, it
names that host if the data is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.judge.test_hosts_without_data import FACTS
from tests.samples.evidence import evidence
from tui.judge.catalogue import CHECKS, examine
from tui.judge.check import RunEvidence
from tui.model.event import DirectionResult, HostResult, LatencyResult
from tui.model.figure_record import (
    AggregateRecord,
    DirectionRecord,
    LatencyRecord,
    SeriesColumns,
    SeriesRecord,
    WindowRecord,
)
from tui.model.plan import JobLoad
from tui.model.record import Finding
from tui.model.step_record import (
    HostTelemetryRecord,
    HostTimingRecord,
    TelemetryColumn,
    TimingRecord,
)

NAMES = ("h1", "h2", "h3", "h4", "h5")
SECONDS, IOS = 60, 60_000
READER = JobLoad("r", ("read",), workers=4, held=4, direct=True, bound_s=60.0, block_bytes=4096)
WRITER = JobLoad(
    "w", ("write",), workers=8, held=8, bound_s=60.0, block_bytes=4096, durable="fsync=1",
    synced_every=1,
)  # fmt: skip
CPU = {"cpu.busy": 20.0, "cpu.steal": 0.0, "tcp.out": 1000.0, "tcp.retrans": 0.0}
LINK = {"nic.eth0.rx": 5e6, "nic.eth0.tx": 5e6}
DISK = {"name": "sda", "kind": "disk", "number": "8:0", "write_cache": "write back"}


def latency(mean_ns: float) -> LatencyRecord:
    tail = {"50": round(mean_ns), "99": round(2 * mean_ns)}
    return LatencyRecord(
        n=IOS, min_ns=round(mean_ns / 2), max_ns=round(3 * mean_ns), mean_ns=mean_ns,
        stddev_ns=mean_ns / 4, percentiles_ns=tail, percentiles_behind={"50": IOS / 2, "99": IOS / 100},
    )  # fmt: skip


def part(mean_ns: float, hosts: int = 1) -> AggregateRecord:
    return AggregateRecord(
        hosts=[*NAMES[:hosts]], ios=IOS * hosts, bytes=4096 * IOS * hosts, runtime_s=float(SECONDS),
        iops=1000.0 * hosts, bw_bytes_per_s=4.096e6 * hosts, lat=latency(mean_ns),
    )  # fmt: skip


def printed(own: DirectionRecord) -> DirectionResult:
    lat = own.lat
    assert lat is not None and lat.mean_ns is not None
    whole = LatencyResult(lat.n, lat.min_ns or 0, lat.max_ns or 0, lat.mean_ns, lat.stddev_ns)
    rates = own.iops or 0.0, own.bw_bytes_per_s or 0.0
    return DirectionResult(own.ios, own.bytes, float(SECONDS), *rates, lat=whole)


def counters(host: str, name: str, *, nfs: bool) -> HostTelemetryRecord:
    """Return what a host's kernel counted under a load of 1000 I/Os per second."""
    way, server = ("rd", "rd_server") if name == "read" else ("wr", "wr_server")
    disk = {f"dev.sda.{way}": 4.1e6, "dev.sda.busy": 20.0, "dev.sda.flushes": 500.0}
    own = {f"nfs.{server}": 4.1e6, "nfs.retrans": 0.0} if nfs else disk
    ends_s = [float(second + 1) for second in range(SECONDS)]
    columns = [
        TelemetryColumn(name=each, unit="number", mean=mean, max=mean, values=[mean] * SECONDS)
        for each, mean in (CPU | LINK | own).items()
    ]
    return HostTelemetryRecord(
        host=host, start_s=0.0, end_s=60.0, devices={} if nfs else {"sda": "top"}, t_s=ends_s,
        interval_s=[1.0] * SECONDS, columns=columns,
    )  # fmt: skip


def facts(host: str, *, nfs: bool) -> dict[str, Any]:
    own = {"target_fstype": "nfs4" if nfs else "ext4", "devices": [] if nfs else [DISK]}
    names = {"boot_id": host, "hostname": host, "nics": [{"name": "eth0", "speed_mbit": 10_000}]}
    return dict(FACTS) | own | names


def measured(hosts: int, *, writes: bool, nfs: bool) -> RunEvidence:
    """Return a run of which every host left everything, and that no check doubts."""
    name, names = ("write" if writes else "read"), NAMES[:hosts]
    means = {name: 4e6, **({"sync": 4e6} if writes else {})}
    spans = {
        host: HostTimingRecord(start_s=0.0, end_s=60.0, start_uncertainty_s=0.001,
                               end_uncertainty_s=0.001, source="tool")
        for host in names
    }  # fmt: skip
    window = WindowRecord(start_s=0.0, end_s=60.0, length_s=60.0)
    rates = {"iops": [1000.0] * SECONDS, "bw_bytes_per_s": [4.096e6] * SECONDS}
    at = evidence(
        {
            host: {key: part(mean_ns + 1000 * place) for key, mean_ns in means.items()}
            for place, host in enumerate(names)
        },
        jobs=[WRITER if writes else READER],
        plan={"latency_kind": "lat"},
        series=SeriesRecord(start_s=0.0, columns=[
            SeriesColumns(host=host, direction=name, **rates) for host in (*names, None)
        ]),
        telemetry=[counters(host, name, nfs=nfs) for host in names],
        timing=TimingRecord(start_skew_s=0.0, start_skew_uncertainty_s=0.001, hosts=spans,
                            window=window),
    )  # fmt: skip
    results = at.steps[0].results
    results.aggregate = {key: part(mean_ns, hosts) for key, mean_ns in means.items()}
    for host in at.hosts:
        host.facts = facts(host.name, nfs=nfs)
    at.seen.state.at_step(0).results = {
        host: HostResult(
            t=0.0, host=host, step=0, contradictions=[],
            dirs={key: printed(each) for key, each in dirs.items()},
        )
        for host, dirs in results.per_host.items()
    }  # fmt: skip
    return at


Change = Callable[[RunEvidence, str, float], None]
"""Changes, or removes, what one host left."""


def _telemetry(at: RunEvidence, host: str, by: float) -> None:
    (own,) = (each for each in at.steps[0].telemetry if each.host == host)
    for column in own.columns:
        column.mean = (column.mean or 1.0) * by
        column.max, column.values = column.mean, [column.mean] * SECONDS


def _no_telemetry(at: RunEvidence, host: str, _: float) -> None:
    at.steps[0].telemetry = [each for each in at.steps[0].telemetry if each.host != host]


def _latencies(at: RunEvidence, host: str, by: float) -> None:
    for name, own in at.steps[0].results.per_host[host].items():
        own.lat = latency((own.lat.mean_ns or 0.0) * by) if own.lat is not None else None
        at.seen.state.at_step(0).results[host].dirs[name] = printed(own)


def _no_latencies(at: RunEvidence, host: str, _: float) -> None:
    dirs = at.seen.state.at_step(0).results[host].dirs
    for name, own in at.steps[0].results.per_host[host].items():
        own.lat, dirs[name] = None, replace(dirs[name], lat=None)


def _syncs(at: RunEvidence, host: str, by: float) -> None:
    sync = at.steps[0].results.per_host[host]["sync"]
    sync.iops = (sync.iops or 0.0) / by
    sync.lat = latency(4e6 * by)


def _no_syncs(at: RunEvidence, host: str, _: float) -> None:
    del at.steps[0].results.per_host[host]["sync"]
    del at.seen.state.at_step(0).results[host].dirs["sync"]


def _results(at: RunEvidence, host: str, by: float) -> None:
    for name, own in at.steps[0].results.per_host[host].items():
        own.iops, own.bw_bytes_per_s = 1000.0 * by, 4.096e6 * by
        at.seen.state.at_step(0).results[host].dirs[name] = printed(own)


def _no_results(at: RunEvidence, host: str, _: float) -> None:
    del at.steps[0].results.per_host[host], at.seen.state.at_step(0).results[host]


def _samples(at: RunEvidence, host: str, by: float) -> None:
    series = at.steps[0].series
    assert series is not None
    for column in series.columns:
        if column.host == host:
            column.iops = [1000.0 * by if 20 < each < 30 else 1000.0 for each in range(SECONDS)]
            column.bw_bytes_per_s = [4096 * (each or 0.0) for each in column.iops]


def _no_samples(at: RunEvidence, host: str, _: float) -> None:
    series = at.steps[0].series
    assert series is not None
    series.columns = [column for column in series.columns if column.host != host]


def _times(at: RunEvidence, host: str, by: float) -> None:
    timing = at.steps[0].timing
    assert timing is not None
    timing.hosts[host].start_s, timing.hosts[host].end_s = 0.0, 60.0 * by
    timing.end_skew_s = abs(60.0 - 60.0 * by)


def _no_times(at: RunEvidence, host: str, _: float) -> None:
    timing = at.steps[0].timing
    assert timing is not None
    del timing.hosts[host]


def _facts(at: RunEvidence, host: str, by: float) -> None:
    (own,) = (each for each in at.hosts if each.name == host)
    other = next(each.name for each in at.hosts if each is not own)
    written = [{"step": 0, "files": 1, "size_bytes": 4096, "never_written_bytes": 4000}]
    own.facts |= {
        "boot_id": other, "cpus": 8 * by, "governor": "powersave", "target_full": 0.99,
        "target_fstype": "tmpfs", "target_mount": "/", "fio_packaged": "changed", "written": written,
        "shares_files_with": " ".join(sorted((host, other))), "cgroup_io": ["8:0 wbps=4200000"],
        "open_files": [{"step": 0, "path": "/mnt/f", "flags": 0o100000}],
        "load_commands": [{"step": 0, "words": "other fio j.fio", "other_job": True}],
    }  # fmt: skip


def _no_facts(at: RunEvidence, host: str, _: float) -> None:
    (own,) = (each for each in at.hosts if each.name == host)
    own.facts = {}


CHANGES: dict[str, tuple[Change, Change]] = {
    "telemetry": (_telemetry, _no_telemetry),
    "latencies": (_latencies, _no_latencies),
    "syncs": (_syncs, _no_syncs),
    "results": (_results, _no_results),
    "samples": (_samples, _no_samples),
    "times": (_times, _no_times),
    "facts": (_facts, _no_facts),
}


# judged by other data of the host: rates of the result, flushes of its devices
OTHERWISE = {("samples", "storage-traffic"), ("latencies", "flush-no-op")}
WITHOUT_PACE = {"tool-clock"}  # runs made by hand have none


def by_check(findings: list[Finding]) -> dict[str, list[Finding]]:
    return {check.id: [each for each in findings if each.id == check.id] for check in CHECKS}


@pytest.mark.parametrize("kind", CHANGES)
@settings(max_examples=15)
@given(
    hosts=st.integers(3, 5), place=st.integers(0, 4), writes=st.booleans(), nfs=st.booleans(),
    by=st.sampled_from([0.0001, 0.01, 0.5, 3.0, 100.0, 10_000.0]),
)  # fmt: skip
def test_a_host_whose_data_would_change_a_finding_is_named_if_it_has_none(
    kind: str, hosts: int, place: int, writes: bool, nfs: bool, by: float
) -> None:
    assume(place < hosts and (writes or kind != "syncs"))
    change, remove = CHANGES[kind]
    host = NAMES[place]
    whole, changed, without = (measured(hosts, writes=writes, nfs=nfs) for _ in range(3))
    change(changed, host, by)
    remove(without, host, by)
    full, seen = examine(whole), examine(without)
    before, after = by_check(full.findings), by_check(examine(changed).findings)
    assert full.findings == [] and full.hosts_not_checked.keys() <= WITHOUT_PACE
    silent = [
        check
        for check in seen.made
        if before[check] != after[check]
        and (kind, check) not in OTHERWISE
        and not any(host in gap.hosts for gap in seen.hosts_not_checked.get(check, ()))
    ]
    assert silent == []
