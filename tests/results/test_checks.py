"""What each check finds in a step, and what it leaves alone; figures small enough to be checked by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tui.journal.state import RunState
from tui.model.plan import FileSpec, Headline, HostAddress, HostTask, JobLoad, Plan, ProfileRef, Step
from tui.model.record import Finding, HostProblemRecord, HostRecord
from tui.model.step_record import (
    AggregateRecord,
    CacheDropRecord,
    HostTelemetryRecord,
    LatencyRecord,
    SeriesColumns,
    SeriesRecord,
    StepRecord,
    TaskRecord,
    TelemetryColumn,
)
from tui.results.findings.catalogue import BY_ID, CHECKS
from tui.results.findings.check import Check, Evidence, StepEvidence, UnknownError
from tui.results.findings.limiter import limiter_of
from tui.results.record.journal import JournalData

WRITER = JobLoad("w", ("write",), workers=4, held=4, direct=True, bound_s=60.0)


def latency(mean_ns: float, n: int = 1_000_000) -> LatencyRecord:
    return LatencyRecord(n=n, mean_ns=mean_ns)


def direction(iops: float, mean_ns: float, n: int = 1_000_000, **more: Any) -> AggregateRecord:
    whole = latency(mean_ns, n)
    return AggregateRecord(hosts=["h1"], ios=n, bytes=n * 4096, iops=iops, lat=whole, runtime_s=60.0, **more)


def evidence(
    per_host: Mapping[str, Mapping[str, AggregateRecord]] | None = None,
    *,
    jobs: Sequence[JobLoad] | None = None,
    facts: Mapping[str, Any] | None = None,
    task: Mapping[str, object] | None = None,
    plan: Mapping[str, object] | None = None,
    **record: Any,
) -> Evidence:
    """Return what a run of one step left; every host has the same facts and task."""
    hosts = per_host or {"h1": {"write": direction(1000.0, 4_000_000.0)}}
    given = [WRITER] if jobs is None else list(jobs)
    tasks = [HostTask(name, 1, "", [], **(task or {})) for name in hosts]  # type: ignore[arg-type]
    held = sum(job.held for job in given) * len(hosts)
    step = Step(0, "s", "fio", {}, tasks, 60.0, in_flight=held, jobs=given)
    whole = Plan(
        ProfileRef("p", 1, "", "", ""),
        {},
        [HostAddress(name) for name in hosts],
        [step],
        **(plan or {}),  # type: ignore[arg-type]
    )
    fields: dict[str, Any] = {"index": 0, "name": "s", "state": "done", "runtime_s": 60.0, "measured_s": 60.0}
    seen = StepRecord(**(fields | record))
    seen.results.per_host = {name: dict(dirs) for name, dirs in hosts.items()}
    seen.results.aggregate = dict(next(iter(hosts.values())))
    records = [HostRecord(name=name, facts=dict(facts or {})) for name in hosts]
    return Evidence(whole, records, [seen], JournalData(RunState(for_record=True)))


def found(name: str, at: Evidence) -> list[Finding]:
    return BY_ID[name].look(at)


def said(name: str, at: Evidence) -> list[tuple[str, object]]:
    return [(finding.severity, finding.measured) for finding in found(name, at)]


def series(iops: Sequence[float | None], host: str | None = None) -> SeriesRecord:
    return SeriesRecord(start_s=0.0, columns=[SeriesColumns(host=host, direction="write", iops=list(iops))])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_check_explains_itself(check: Check) -> None:
    assert all((check.title, check.rule, check.means, check.advice, check.source))
    assert (check.of_run is None) != (check.of_step is None)


def test_no_two_checks_have_one_id() -> None:
    assert len(BY_ID) == len(CHECKS)


# -- concurrency


@pytest.mark.parametrize(
    ("iops", "mean_ns", "severity"),
    [
        (1000.0, 4_000_000.0, None),  # 4.0 in flight of 4
        (985.0, 4_000_000.0, None),  # 98.5 %
        (970.0, 4_000_000.0, "warning"),
        (943.0, 4_000_000.0, "error"),
        (1030.0, 4_000_000.0, "warning"),
        (2200.0, 4_000_000.0, "error"),
    ],
)
def test_iops_times_latency_is_the_load_that_the_profile_keeps_in_flight(
    iops: float, mean_ns: float, severity: str | None
) -> None:
    result = found("V02", evidence({"h1": {"write": direction(iops, mean_ns)}}))
    assert [each.severity for each in result] == ([severity] if severity else [])


def test_what_the_load_generator_needs_between_two_quick_ios_is_no_missing_load() -> None:
    assert found("V02", evidence({"h1": {"write": direction(100_000.0, 30_000.0)}})) == []  # 75 %, 10 µs between


def test_a_worker_that_waits_for_syncs_is_in_flight() -> None:
    write, sync = direction(100.0, 10_000_000.0), direction(100.0, 30_000_000.0)
    assert found("V02", evidence({"h1": {"write": write, "sync": sync}})) == []
    assert said("V02", evidence({"h1": {"write": write}})) == [("error", 0.25)]


@pytest.mark.parametrize(
    ("jobs", "record", "why"),
    [
        ([JobLoad("w", ("write",), held=4, paced=True)], {}, "rate"),
        ([JobLoad("a", ("write",)), JobLoad("b", ("write",), wave=1)], {}, "one after the other"),
        ([WRITER], {"measured_s": 20.0}, "end with their data"),
        ([], {}, "not known"),
    ],
)
def test_a_load_that_is_not_always_the_same_is_not_judged(
    jobs: list[JobLoad], record: dict[str, Any], why: str
) -> None:
    with pytest.raises(UnknownError, match=why):
        found("V02", evidence(jobs=jobs, **record))


# -- rate, length, tails


@pytest.mark.parametrize(("reached", "doubt"), [(2000.0, False), (1981.0, False), (1900.0, True)])
def test_a_rate_that_is_not_reached_is_told(reached: float, doubt: bool) -> None:
    job = JobLoad("w", ("write",), paced=True, rate_iops={"write": 2000.0})
    result = found("V24", evidence({"h1": {"write": direction(reached, 1e6)}}, jobs=[job]))
    assert [each.message for each in result] == (["write: 1.90k of the 2.00k that were offered (95%)"] if doubt else [])


@pytest.mark.parametrize(("seconds", "severity"), [(5.0, "warning"), (30.0, "info"), (60.0, None)])
def test_a_short_measurement_is_a_remark_and_a_very_short_one_a_warning(seconds: float, severity: str | None) -> None:
    result = found("V09", evidence(runtime_s=seconds, measured_s=seconds))
    assert [each.severity for each in result] == ([severity] if severity else [])


def test_what_is_the_same_of_several_steps_is_one_finding() -> None:
    at = evidence(runtime_s=5.0, measured_s=5.0)
    twice = Evidence(replace_steps(at), at.hosts, [*at.steps, at.steps[0].model_copy(update={"index": 1})], at.seen)
    assert [each.scope for each in found("V09", twice)] == [{"steps": "0 1"}]


def replace_steps(at: Evidence) -> Plan:
    return Plan(at.plan.profile, {}, at.plan.hosts, [*at.plan.steps, at.plan.steps[0]])


def test_percentiles_of_few_ios_are_named() -> None:
    (only,) = found("V23", evidence({"h1": {"write": direction(33.0, 1e6, n=2000)}}))
    assert (only.severity, only.message) == ("info", "write: 2,000 I/Os are too few for p99.9 and above")


def test_a_wait_in_the_submission_that_clat_leaves_out_is_a_warning() -> None:
    hidden = {"write": direction(100.0, 1e6, slat=latency(9e5), clat=latency(1e5))}
    assert said("slat", evidence({"h1": hidden})) == [("warning", 0.9)]
    assert said("slat", evidence({"h1": hidden}, plan={"latency_kind": "lat"})) == []


def test_time_in_syncs_is_a_remark_when_it_is_most_of_it() -> None:
    job = JobLoad("w", ("write",), workers=1, durable="fdatasync=1")
    dirs = {"write": direction(100.0, 20_000.0), "sync": direction(100.0, 8_000_000.0)}
    assert said("sync", evidence({"h1": dirs}, jobs=[job])) == [("info", 0.8)]


# -- errors


def test_an_error_of_the_load_generator_is_an_error_of_the_run() -> None:
    (only,) = found("V01", evidence(tasks={"h1": TaskRecord(exit_code=1, errors=[5])}))
    assert (only.severity, only.message) == ("error", "the load generator failed: h1 EIO (Input/output error)")


def test_a_load_that_was_stopped_on_request_has_no_error() -> None:
    assert found("V01", evidence(state="cut", tasks={"h1": TaskRecord(exit_code=128)})) == []


def test_short_ios_are_an_error() -> None:
    at = evidence({"h1": {"write": direction(1.0, 1.0, short_ios=3)}}, tasks={"h1": TaskRecord(exit_code=0)})
    assert said("V01", at) == [("error", 3)]


def test_a_host_that_was_restarted_is_named() -> None:
    at = evidence(facts={"boot_id": "a"})
    at.hosts[0].problems.append(HostProblemRecord(phase="measure", code="host-rebooted", message=""))
    assert [each.scope for each in found("V29", at)] == [{"hosts": "h1"}]


# -- data


GIB = 1 << 30


@pytest.mark.parametrize(
    ("direct", "size", "doubt"), [(False, 4 * GIB, True), (False, 32 * GIB, False), (True, 4 * GIB, False)]
)
def test_files_that_fit_into_memory_are_told_without_direct_io(direct: bool, size: int, doubt: bool) -> None:
    job = JobLoad("w", ("write",), direct=direct)
    task = {"files": [FileSpec("/d/f", size)]}
    result = found("V06", evidence(jobs=[job], facts={"mem_bytes": 16 * GIB}, task=task))
    assert [each.measured for each in result] == ([0.25] if doubt else [])


def test_a_cache_that_was_not_dropped_is_named_with_its_host() -> None:
    drops = [CacheDropRecord(host="h1", ok=False, method="none", detail="sudo: a password is required")]
    (only,) = found("V07", evidence(plan={"drop_caches": "try"}, cache_drops=drops))
    assert only.message == "the page cache was not dropped: h1: sudo: a password is required"


@pytest.mark.parametrize(
    ("job", "task", "doubt"),
    [
        ({"same_offsets": True}, {"files": [FileSpec("/shared/f", 1)]}, True),
        ({"same_offsets": False}, {"files": [FileSpec("/shared/f", 1)]}, True),  # the same seed on both hosts
        ({"same_offsets": True}, {}, False),
    ],
)
def test_hosts_that_ask_for_the_same_blocks_of_one_file_are_told(
    job: dict[str, bool], task: dict[str, object], doubt: bool
) -> None:
    hosts = {name: {"read": direction(1.0, 1.0)} for name in ("h1", "h2")}
    jobs = [JobLoad("r", ("read",), random=True, **job)]  # type: ignore[arg-type]
    assert bool(found("V21", evidence(hosts, jobs=jobs, task=task))) is doubt


def test_data_that_an_array_can_reduce_is_told() -> None:
    job = JobLoad("w", ("write",), reducible="zero_buffers=1")
    assert said("V22", evidence(jobs=[job])) == [("warning", "zero_buffers=1")]
    assert said("V22", evidence(jobs=[WRITER])) == []


def test_writes_that_are_never_flushed_are_a_remark() -> None:
    assert said("V25", evidence(jobs=[WRITER])) == [("info", "none")]
    assert said("V25", evidence(jobs=[JobLoad("w", ("write",), durable="fsync=1")])) == []


# -- steadiness


@pytest.mark.parametrize(
    ("values", "doubt"),
    [
        ([100.0] * 60, False),
        ([100.0, 104.0, 96.0, 101.0] * 15, False),
        ([100.0 - second * 0.5 for second in range(60)], True),  # drifts by 28 %
        ([100.0] * 36 + [60.0] * 24, True),
    ],
)
def test_a_rate_that_moves_is_no_steady_state(values: Sequence[float | None], doubt: bool) -> None:
    assert bool(found("V10", evidence(series=series(values)))) is doubt


def test_a_short_series_is_not_judged() -> None:
    with pytest.raises(UnknownError, match="under 25 s"):
        found("V10", evidence(series=series([100.0] * 24)))


@pytest.mark.parametrize(("first", "doubt"), [(100.0, False), (95.0, False), (40.0, True), (250.0, True)])
def test_a_warm_up_that_is_in_the_figure_is_told(first: float, doubt: bool) -> None:
    values: Sequence[float | None] = [first] * 6 + [100.0, 101.0, 99.0] * 18
    assert bool(found("V11", evidence(series=series(values)))) is doubt


def test_seconds_without_samples_are_counted() -> None:
    at = evidence(series=series([1.0] * 20 + [None] * 3 + [1.0] * 37, "h1"))
    assert said("V30", at) == [("warning", 3)]


# -- hosts and repetitions


def test_hosts_that_share_unfairly_are_told_though_none_is_a_straggler() -> None:
    rates = {"h1": 84.0, "h2": 100.0, "h3": 118.0}
    hosts = {name: {"write": direction(rate, 1e6)} for name, rate in rates.items()}
    (only,) = found("V14", evidence(hosts))
    assert only.message == "write: hosts are 14% apart, from 84 IOPS (h1) to 118 (h3); Jain's index 0.981"


def test_a_host_with_a_long_tail_is_named() -> None:
    def host(p99: int) -> dict[str, AggregateRecord]:
        lat = LatencyRecord(n=1000, mean_ns=1e6, percentiles_ns={"99": p99})
        return {"write": direction(100.0, 1e6, clat=lat)}

    (only,) = found("V14", evidence({"h1": host(1_000_000), "h2": host(1_000_000), "h3": host(9_000_000)}))
    assert (only.scope["hosts"], only.measured) == ("h3", 9.0)


# -- telemetry


def looked(facts: Any = None, *, quiet: Any = None, **means: Any) -> Evidence:
    """Return a run with telemetry of one client; `_` in names stands for a dot, `quiet` is of before the load."""
    columns = [
        *(TelemetryColumn(name=name.replace("_", ".", 1), unit="number", mean=mean) for name, mean in means.items()),
        *(TelemetryColumn(name=name, unit="number", values=[mean] * 5) for name, mean in (quiet or {}).items()),
    ]
    host = HostTelemetryRecord(
        host="h1", start_s=0.0, end_s=60.0, columns=columns, devices={"sda": "top"}, quiet=5 if quiet else 0
    )
    read = direction(1000.0, 4e6, bw_bytes_per_s=100e6)
    return evidence({"h1": {"read": read}}, jobs=[JobLoad("r", ("read",), direct=True)], facts=facts, telemetry=[host])


@pytest.mark.parametrize(
    ("moved", "severity"), [(100e6, None), (96e6, None), (80e6, "warning"), (12.5e6, "error"), (0.0, "error")]
)
def test_bytes_that_no_device_delivered_came_from_elsewhere(moved: float, severity: str | None) -> None:
    result = found("V03", looked(gen_read_bytes=moved))
    assert [each.severity for each in result] == ([severity] if severity else [])


def test_of_a_mount_the_bytes_from_its_server_count() -> None:
    assert said("V03", looked(gen_read_bytes=100e6, nfs_rd_server=10e6)) == [("error", 0.1)]


def test_without_telemetry_it_is_not_known_where_bytes_came_from() -> None:
    with pytest.raises(UnknownError, match="no telemetry"):
        found("V03", evidence())


@pytest.mark.parametrize(
    ("means", "cpus", "why"),
    [
        ({"cpu_busy": 40.0, "core_busy": 70.0}, 64, ""),
        ({"cpu_busy": 92.0}, 64, "92 % busy"),
        ({"cpu_busy": 3.0, "core_busy": 99.0}, 64, "core is 99 % busy"),
        ({"cpu_busy": 51.0, "core_busy": 99.0}, 2, ""),
        ({"cpu_busy": 3.0, "gen_thread": 99.0}, 64, "a thread of the load uses 99 % of a core"),
        ({"cpu_busy": 3.0, "core_softirq": 93.0}, 64, "a core spends 93 % in soft interrupts"),
    ],
)
def test_a_client_whose_cpu_is_busy_is_told(means: dict[str, float], cpus: int, why: str) -> None:
    result = found("V15", looked({"cpus": cpus}, **means))
    assert [each.message for each in result] == ([f"the client's CPU may hold it back: h1: {why}"] if why else [])


def test_cpu_that_the_hypervisor_took_is_told() -> None:
    assert said("V15", looked(cpu_busy=10.0, cpu_steal=4.0)) == [("warning", 4.0)]


@pytest.mark.parametrize(("received", "doubt"), [(100e6, False), (115e6, True)])
def test_a_link_that_is_full_is_named_with_its_speed(received: float, doubt: bool) -> None:
    nics = {"nics": [{"name": "eth0", "speed_mbit": 1000}]}
    result = found("V16", looked(nics, **{"nic_eth0.rx": received}))
    assert [each.message for each in result] == (
        ["the network may hold it back: h1: eth0 carries 92% of its 1 Gbit/s"] if doubt else []
    )


def test_traffic_beside_the_load_is_not_judged() -> None:
    with pytest.raises(UnknownError, match="does not go over the network"):
        found("V16", looked(**{"nic_eth0.rx": 1e5, "tcp_out": 100.0, "tcp_retrans": 600.0}))


def test_segments_that_were_sent_again_are_told() -> None:
    result = found("V16", looked(**{"nic_eth0.rx": 1e8, "tcp_out": 100.0, "tcp_retrans": 60.0}))
    assert [each.message for each in result] == ["the network loses packets: h1: 1.0% of TCP segments were sent again"]


@pytest.mark.parametrize(
    ("column", "value", "doubt"), [("cpu.busy", 4.0, False), ("cpu.busy", 60.0, True), ("dev.sda.busy", 50.0, True)]
)
def test_a_host_that_was_not_quiet_before_the_load_is_told(column: str, value: float, doubt: bool) -> None:
    assert bool(found("V17", looked(quiet={column: value}))) is doubt


# -- limiter


def limit(at: Evidence) -> tuple[str, str]:
    limiter = limiter_of(StepEvidence(at, at.plan.steps[0], at.steps[0]))
    assert limiter is not None
    return limiter.kind, limiter.text


@pytest.mark.parametrize(
    ("means", "kind"),
    [
        ({"cpu_busy": 92.0}, "client-cpu"),
        ({"cpu_busy": 10.0, "nic_eth0.rx": 120e6}, "network"),
        ({"cpu_busy": 10.0, "dev_sda.busy": 99.0, "dev_sda.queue": 30.0, "dev_sda.rlat": 3.5}, "client-device"),
        ({"cpu_busy": 10.0, "dev_sda.busy": 99.0, "dev_sda.queue": 1.0, "dev_sda.rlat": 3.5}, "concurrency"),
    ],
)
def test_the_limiter_is_the_first_that_is_at_its_limit(means: dict[str, float], kind: str) -> None:
    assert limit(looked({"cpus": 64, "nics": [{"name": "eth0", "speed_mbit": 1000}]}, **means))[0] == kind


def test_without_a_limit_on_the_clients_it_is_the_storage_as_far_as_they_can_tell() -> None:
    at = looked(cpu_busy=10.0)
    at.plan.steps[0].jobs = [JobLoad("r", ("read",), held=64, direct=True)]
    assert limit(at) == ("storage", "the storage, as far as the clients can tell")


def test_a_rate_that_was_reached_is_the_limiter() -> None:
    at = looked(cpu_busy=10.0)
    at.plan.steps[0].jobs = [JobLoad("r", ("read",), paced=True, rate_iops={"read": 1000.0})]
    assert limit(at) == ("rate", "the rate that was offered: read 1.00k IOPS")


def test_a_server_whose_processes_are_busy_is_named_with_them() -> None:
    at = looked(cpu_busy=10.0)
    columns = [("group.OSD.procs", 4.0), ("group.OSD.cpu", 396.0)]
    server = HostTelemetryRecord(
        host="s1",
        role="server",
        start_s=0.0,
        end_s=60.0,
        columns=[TelemetryColumn(name=name, unit="number", mean=mean) for name, mean in columns],
    )
    at.steps[0].telemetry.append(server)
    assert limit(at) == ("server-cpu", "server CPU: s1: OSD uses 99 % of a core in each of 4 processes")


def test_without_telemetry_nobody_knows_the_limiter() -> None:
    at = evidence()
    assert limiter_of(StepEvidence(at, at.plan.steps[0], at.steps[0])) is None


# -- machines


def machines(**facts: Any) -> Evidence:
    """Return a run on two hosts; a fact that is a list has the value of each."""
    at = evidence({name: {"write": direction(1.0, 1.0)} for name in ("h1", "h2")})
    for index, host in enumerate(at.hosts):
        host.facts = {name: value[index] if isinstance(value, tuple) else value for name, value in facts.items()}
    return at


def test_hosts_that_differ_are_shown_as_a_difference() -> None:
    (only,) = found("V20", machines(kernel=("Linux 6.1", "Linux 6.8"), hostname=("h1", "h2"), cpus=8))
    assert only.message == "hosts differ: kernel: Linux 6.1 on h1; Linux 6.8 on h2"
    assert found("V20", machines(kernel="Linux 6.1", hostname=("h1", "h2"))) == []


@pytest.mark.parametrize(
    ("fstype", "severity"), [("ext4", None), ("nfs4", None), ("tmpfs", "error"), ("fuse.ceph-fuse", "info")]
)
def test_a_target_in_memory_is_no_storage(fstype: str, severity: str | None) -> None:
    result = found("V05", machines(target_fstype=fstype))
    assert [each.severity for each in result] == ([severity] if severity else [])


@pytest.mark.parametrize(("share", "doubt"), [(0.8, False), (0.93, True)])
def test_a_target_that_is_nearly_full_is_told(share: float, doubt: bool) -> None:
    assert bool(found("V08", machines(target_full=(0.1, share)))) is doubt


def test_a_raid_that_is_rebuilt_is_named() -> None:
    raid = {"name": "md0", "kind": "md", "md_action": "resync", "md_done": "1024 / 2048"}
    (only,) = found("V18", machines(devices=([], [raid])))
    assert only.message == "h2: md0 is in resync 1024 / 2048"
    assert found("V18", machines(devices=[{**raid, "md_action": "idle"}])) == []


def test_a_cpu_that_saves_power_is_a_remark_and_for_latency_a_warning() -> None:
    at = machines(governor="powersave", clocksource="tsc")
    assert said("V19", at) == [("info", 2)]
    object.__setattr__(at, "plan", Plan(at.plan.profile, {}, at.plan.hosts, at.plan.steps, Headline("latency", "read")))
    assert said("V19", at) == [("warning", 2)]


def test_a_slow_clock_is_a_warning() -> None:
    assert said("V19", machines(clocksource=("tsc", "hpet"))) == [("warning", 1)]


def test_another_load_generator_on_a_host_is_named() -> None:
    (only,) = found("other-load", machines(cpus=2, running=([], [{"name": "dd", "pid": 7}])))
    assert only.message == "other load generators ran already: h2 (dd)"


def repeated(*values: float) -> Evidence:
    at = evidence(plan={"headline": Headline("iops", "write")})
    steps = [Step(index, "s", "fio", {}, [], 60.0) for index in range(len(values))]
    records = [StepRecord(index=index, name="s", state="done", headline=value) for index, value in enumerate(values)]
    plan = Plan(at.plan.profile, {}, at.plan.hosts, steps, headline=Headline("iops", "write"))
    return Evidence(plan, at.hosts, records, at.seen)


def test_one_measurement_says_nothing_of_repeatability() -> None:
    assert said("V28", repeated(100.0)) == [("info", 1)]


def test_repetitions_that_are_far_apart_are_a_warning() -> None:
    assert said("V28", repeated(100.0, 101.0, 99.0)) == []
    (only,) = found("V28", repeated(100.0, 150.0, 50.0))
    assert (only.severity, only.measured) == ("warning", 0.5)


def test_every_check_is_explained_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
    assert [check.id for check in CHECKS if f"| `{check.id}` |" not in text] == []
