"""What telemetry and control groups of hosts say of a run, and what limited it.

Figures small enough to be checked by hand.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples.evidence import direction, evidence, found, said
from tests.samples.telemetry import limit, looked
from tui.judge.catalogue import BY_ID
from tui.judge.check import UnknownError
from tui.judge.wording import message_of
from tui.model.figure_record import SeriesColumns, SeriesRecord
from tui.model.plan import FileSpec, JobLoad, MpiLaunch
from tui.model.step_record import TaskRecord, TelemetryColumn

# -- telemetry


@pytest.mark.parametrize(
    ("moved", "severity"),
    [(100e6, None), (96e6, None), (80e6, "warning"), (12.5e6, "error"), (0.0, "error")],
)
def test_bytes_that_no_device_delivered_came_from_elsewhere(
    moved: float, severity: str | None
) -> None:
    result = found("storage-traffic", looked(gen_read_bytes=moved, gen_procs=2.0))
    assert [each.severity for each in result] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("name", "direct", "severity"),
    [("read", True, "error"), ("read", False, "error"), ("write", True, "error"),
     ("write", False, "warning")],
)  # fmt: skip
def test_only_buffered_writes_may_reach_storage_later(
    name: str, direct: bool, severity: str
) -> None:
    telemetry = looked(gen_read_bytes=1e6, gen_write_bytes=1e6, gen_procs=2.0).steps[0].telemetry
    moved = direction(1000.0, 4e6, bw_bytes_per_s=100e6)
    job = JobLoad("a", (name,), direct=direct)
    at = evidence({"h1": {name: moved}}, jobs=[job], telemetry=telemetry)
    assert said("storage-traffic", at) == [(severity, 0.01)]


@pytest.mark.parametrize(("direct", "severities"), [(True, []), (False, ["warning"])])
def test_buffered_writes_are_counted_by_devices_not_by_the_pages_that_processes_dirty(
    direct: bool, severities: list[str]
) -> None:
    counters = {"gen_write_bytes": 100e6, "gen_procs": 2.0, "dev_sda.wr": 1.3e6}
    moved = {"h1": {"write": direction(1000.0, 4e6, bw_bytes_per_s=100e6)}}
    telemetry = looked(**counters).steps[0].telemetry
    at = evidence(moved, jobs=[JobLoad("a", ("write",), direct=direct)], telemetry=telemetry)
    assert [severity for severity, _ in said("storage-traffic", at)] == severities


@pytest.mark.parametrize(("asked", "severities"), [("write", []), ("read", ["error"])])
def test_reads_that_verify_after_the_writes_have_a_time_of_their_own(
    asked: str, severities: list[str]
) -> None:
    telemetry = looked(gen_read_bytes=33e6, gen_procs=2.0).steps[0].telemetry
    moved = direction(1000.0, 4e6, bw_bytes_per_s=100e6).model_copy(update={"runtime_s": 20.0})
    at = evidence({"h1": {"read": moved}}, jobs=[JobLoad("a", (asked,))], telemetry=telemetry)
    assert [severity for severity, _ in said("storage-traffic", at)] == severities


@pytest.mark.parametrize("unknown", [{}, {"gen.procs": "the kernel does not list children"}])
def test_of_a_load_whose_processes_are_not_all_read_the_device_is_asked(
    unknown: dict[str, str],
) -> None:
    at = looked(gen_read_bytes=30e6, gen_procs=1.0 if unknown else 193.0, **{"dev_sda.rd": 100e6})
    at.steps[0].telemetry[0].unknown = unknown
    assert found("storage-traffic", at) == []


def test_of_very_many_processes_the_bytes_count_when_each_was_read_twice() -> None:
    at = looked(gen_procs=64.0, **{"dev_sda.rd": 200e6})
    host = at.steps[0].telemetry[0]
    host.t_s, host.end_s = [float(second) for second in range(1, 31)], 30.0
    own = TelemetryColumn(
        name="gen.read_bytes", unit="bytes_per_s", mean=8e6, values=[*[0.0] * 13, *[10e6] * 17]
    )
    host.columns.append(own)
    assert said("storage-traffic", at) == [("error", 0.1)]  # a neighbour moves the rest
    host.end_s = 20.0
    assert found("storage-traffic", at) == []


def test_a_load_of_very_many_processes_may_be_faster_before_all_are_sampled() -> None:
    at = looked(gen_procs=64.0)
    host = at.steps[0].telemetry[0]
    host.t_s, host.end_s = [float(second) for second in range(1, 31)], 30.0
    own = TelemetryColumn(
        name="gen.read_bytes", unit="bytes_per_s", mean=50e6, values=[*[0.0] * 13, *[80e6] * 17]
    )
    host.columns.append(own)
    rates = [140e6] * 10 + [80e6] * 20
    column = SeriesColumns(host="h1", direction="read", iops=[1.0] * 30, bw_bytes_per_s=rates)
    at.steps[0].series = SeriesRecord(start_s=host.start_s or 0.0, columns=[column])
    assert found("storage-traffic", at) == []
    own.values = [*[0.0] * 13, *[70e6] * 17]
    assert found("storage-traffic", at)


def test_a_host_that_did_not_continue_is_not_asked_where_its_bytes_came_from() -> None:
    at = looked(gen_read_bytes=10e6, gen_procs=2.0)
    at.steps[0].telemetry[0].end_s = 3.0
    with pytest.raises(UnknownError, match="byte-counters"):
        found("storage-traffic", at)


def test_of_a_mount_the_bytes_from_its_server_count() -> None:
    assert said("storage-traffic", looked(gen_read_bytes=100e6, nfs_rd_server=10e6)) == [
        ("error", 0.1)
    ]


def test_without_telemetry_it_is_not_known_where_bytes_came_from() -> None:
    with pytest.raises(UnknownError, match="telemetry"):
        found("storage-traffic", evidence())


@pytest.mark.parametrize(
    ("means", "cpus", "why"),
    [
        ({"cpu_busy": 40.0, "core_busy": 70.0}, 64, ""),
        ({"cpu_busy": 92.0}, 64, "92 % busy"),
        ({"cpu_busy": 3.0, "core_busy": 99.0}, 64, "a core is 99 % busy"),
        ({"cpu_busy": 51.0, "core_busy": 99.0}, 2, ""),
        ({"cpu_busy": 51.0, "core_busy": 99.0, "psi_cpu.some": 80.0}, 2, "a core is 99 % busy"),
        ({"cpu_busy": 3.0, "gen_thread": 99.0}, 64, "a thread of the load uses 99 % of a core"),
        (
            {"cpu_busy": 3.0, "core_softirq": 93.0},
            64,
            "a core spends 93 % of the time in soft interrupts",
        ),
    ],
)
def test_a_busy_client_cpu_is_reported(means: dict[str, float], cpus: int, why: str) -> None:
    result = found("client-cpu", looked({"cpus": cpus}, **means))
    assert [message_of(each) for each in result] == (
        [f"client CPU near its limit: h1: {why}"] if why else []
    )


@pytest.mark.parametrize(("sys_cpu", "named"), [(40.0, False), (85.0, True)])
def test_without_telemetry_the_load_generator_tells_how_busy_its_threads_were(
    sys_cpu: float, *, named: bool
) -> None:
    at = looked()
    (step,) = at.steps
    step.telemetry.clear()
    step.tasks["h1"] = TaskRecord(usr_cpu=14.0, sys_cpu=sys_cpu)
    assert bool(found("client-cpu", at)) is named


def test_a_profile_may_say_how_busy_the_cpu_of_a_client_may_be() -> None:
    at = looked({"cpus": 64}, cpu_busy=80.0, gen_thread=97.0)
    assert [message_of(each) for each in found("client-cpu", at)] == [
        "client CPU near its limit: h1: a thread of the load uses 97 % of a core"
    ]
    at.plan.thresholds.update({"client-cpu.thread": 99.0, "client-cpu.host": 70.0})
    assert [message_of(each) for each in found("client-cpu", at)] == [
        "client CPU near its limit: h1: 80 % busy"
    ]


@pytest.mark.parametrize(("used", "told"), [(150.0, False), (192.0, True)])
def test_a_load_that_uses_up_what_its_control_group_allows_is_reported(
    used: float, told: bool
) -> None:
    at = looked({"cpus": 64, "cpus_usable": 2.0}, cpu_busy=3.0, gen_cpu=used)
    said = "client CPU near its limit: h1: the load uses 96 % of the 2 allowed CPUs"
    assert [message_of(each) for each in found("client-cpu", at)] == ([said] if told else [])


def test_cpu_that_the_hypervisor_took_is_reported() -> None:
    assert said("client-cpu", looked(cpu_busy=10.0, cpu_steal=4.0)) == [("warning", 4.0)]


@pytest.mark.parametrize(("measured_s", "told"), [(10.0, False), (20.0, True)])
def test_during_a_run_stolen_cpu_is_reported_once_the_rest_cannot_make_up_for_it(
    measured_s: float, told: bool
) -> None:
    at = looked(cpu_busy=10.0, cpu_steal=4.0)  # 1 % of 60 s from second 15 on
    at.steps[0].state, at.steps[0].measured_s = "running", measured_s
    assert bool(found("client-cpu", at)) is told


@pytest.mark.parametrize(("thread", "doubt"), [(70.0, False), (78.0, True)])
def test_a_thread_that_uses_all_that_the_hypervisor_leaves_it_is_reported(
    thread: float, doubt: bool
) -> None:
    # a fifth of what is wanted is taken
    at = looked({"cpus": 64}, cpu_busy=50.0, cpu_steal=10.0, gen_thread=thread)
    bound = (
        f"client CPU near its limit: h1: a thread of the load uses {thread:.0f} % of a"
        " core, all that"
    )
    assert [
        message_of(each)
        for each in found("client-cpu", at)
        if "the hypervisor leaves" in message_of(each)
    ] == ([f"{bound} the hypervisor leaves"] if doubt else [])


@pytest.mark.parametrize(("received", "doubt"), [(100e6, False), (115e6, True)])
def test_a_link_that_is_full_is_named_with_its_speed(received: float, doubt: bool) -> None:
    nics = {"nics": [{"name": "eth0", "speed_mbit": 1000}]}
    result = found("network", looked(nics, **{"nic_eth0.rx": received}))
    assert [message_of(each) for each in result] == (
        ["network near its limit: h1: eth0 carries 92 % of its 1 Gbit/s"] if doubt else []
    )


@pytest.mark.parametrize(
    ("rate", "received", "text"),
    [
        ("100 Gb/sec (4X EDR)", 12e9, "96 % of its 100 Gbit/s"),
        ("100 Gb/sec (4X EDR)", 9e9, ""),
        ("40 Gb/sec (4X QDR)", 3.8e9, "95 % of its 32 Gbit/s"),  # eight of ten bits are data
    ],
)
def test_an_rdma_port_that_is_full_is_named_and_limits(
    rate: str, received: float, text: str
) -> None:
    port = {"device": "mlx5_0", "port": 1, "rate": rate, "rate_gbit": float(rate.partition(" ")[0])}
    at = looked({"rdma": [port]}, cpu_busy=10.0, **{"rdma_mlx5_0:1.rx": received})
    said = f"network near its limit: h1: mlx5_0:1 carries {text}"
    assert [message_of(each) for each in found("network", at)] == ([said] if text else [])
    assert (limit(at)[0] == "network") is bool(text)


def test_a_link_of_unknown_speed_is_not_called_free() -> None:
    nics = [{"name": "eth0", "speed_mbit": 1000}, {"name": "eth1"}]
    at = looked({"nics": nics}, cpu_busy=10.0, **{"nic_eth0.rx": 1e5, "nic_eth1.rx": 100e6})
    with pytest.raises(UnknownError, match="link-speed"):
        found("network", at)
    at.plan.steps[0].jobs = [JobLoad("r", ("read",), held=64, direct=True)]
    assert limit(at)[1].endswith("(no client limit found); link speeds are unknown")


def test_traffic_beside_the_load_is_not_judged() -> None:
    with pytest.raises(UnknownError, match="no-network"):
        found("network", looked(**{"nic_eth0.rx": 1e5, "tcp_out": 100.0, "tcp_retrans": 600.0}))


@pytest.mark.parametrize(
    ("facts", "judged"),
    [
        ({"devices": [{"name": "sda", "transport": "sata"}]}, False),
        ({"devices": [{"name": "sda", "transport": "iscsi"}]}, True),
        ({"mounts": [{"path": "/t", "fstype": "tmpfs"}]}, False),
        ({"mounts": [{"path": "/t", "fstype": "nfs4"}]}, True),
    ],
)
def test_links_beside_a_load_on_disks_of_the_host_are_not_judged(
    facts: dict[str, Any], judged: bool
) -> None:
    busy = {"nic_eth0.rx": 1e8, "tcp_out": 100.0, "tcp_retrans": 60.0}
    at = looked(facts, **busy)
    if judged:
        assert found("network", at)
    else:
        with pytest.raises(UnknownError, match="no-network"):
            found("network", at)


def test_segments_that_were_sent_again_are_reported() -> None:
    result = found("network", looked(**{"nic_eth0.rx": 1e8, "tcp_out": 100.0, "tcp_retrans": 60.0}))
    assert [message_of(each) for each in result] == [
        "the network loses packets: h1: 1.0 % of TCP segments were retransmitted"
    ]


def test_segments_that_were_sent_again_though_they_had_arrived_were_not_lost() -> None:
    """A peer whose CPU is busy answers late, on loopback as well."""
    sent = {"nic_lo.rx": 1e8, "tcp_out": 100.0, "tcp_retrans": 60.0}
    nics = {"nics": [{"name": "lo", "speed_mbit": 100_000}]}
    assert found("network", looked(nics, **sent, tcp_dup=60.0)) == []
    assert found("network", looked(nics, **sent, tcp_dup=30.0))


@pytest.mark.parametrize(
    ("column", "value", "doubt"),
    [("cpu.busy", 4.0, False), ("cpu.busy", 60.0, True), ("dev.sda.busy", 50.0, True)],
)
def test_a_host_that_was_not_quiet_before_the_load_is_reported(
    column: str, value: float, doubt: bool
) -> None:
    assert bool(found("background-load", looked(quiet={column: value}))) is doubt


def test_hosts_that_were_looked_at_before_a_fill_or_a_warm_up_count() -> None:
    at = looked(quiet={"cpu.busy": 60.0})
    at.steps[0].warmup = True
    assert [message_of(each) for each in found("background-load", at)] == [
        "not quiet before the load: h1: CPU 60 % busy"
    ]


# -- control groups

SDA = [
    {"name": "sda1", "kind": "partition", "below": ["sda"], "number": "8:1"},
    {"name": "sda", "number": "8:0"},
]
MIRROR = [{"name": "md0", "below": ["sda", "sdb"], "number": "9:0"},
    {"name": "sda", "number": "8:0"},
          {"name": "sdb", "number": "8:16"}]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "devices", "means", "at_limit"),
    [
        ("8:0 rbps=max wbps=max riops=1010 wiops=max", SDA, {}, 1010.0),
        ("read_bps 8:0 101000000", SDA, {}, 101e6),
        # NFS and parallel file systems
        ("8:0 rbps=max wbps=max riops=1010 wiops=max", [], {}, None),
        ("8:0 rbps=max wbps=max riops=1200 wiops=max", SDA, {}, None),
        ("8:0 rbps=max wbps=max riops=max wiops=1010", SDA, {}, None),  # it reads
        ("8:32 rbps=max wbps=max riops=1010 wiops=max", SDA, {}, None),  # another disk
        # half of the I/Os go to the other disk
        ("8:0 rbps=max wbps=max riops=1010 wiops=max", MIRROR, {}, None),
        ("8:0 rbps=max wbps=max riops=505 wiops=max", MIRROR, {"dev_sda.reads": 500.0}, 505.0),
        # others read from the disk too: half of its bytes are not the load's
        ("8:0 riops=2000", SDA, {"dev_sda.reads": 2000.0, "dev_sda.rd": 200e6}, None),
        ("8:0 riops=2000", SDA, {"dev_sda.reads": 2000.0, "dev_sda.rd": 101e6}, 2000.0),
        ("nonsense 8:0", SDA, {}, None),
    ],
)
def test_a_load_at_the_limit_of_its_own_device_measures_the_limit(
    line: str, devices: Any, means: dict[str, float], at_limit: float | None
) -> None:
    at = looked({"cgroup_version": "v2", "cgroup_io": [line], "devices": devices}, **means)
    assert [each.threshold for each in found("io-limit", at)] == ([at_limit] if at_limit else [])


@pytest.mark.parametrize(
    ("limits", "devices", "named"),
    [
        (["8:0 riops=1010"], {"unknown": [{"name": "devices", "reason": "overlay"}]}, True),
        (["8:0 riops=1010"], {"devices": [{"name": "sda"}]}, True),
        (["8:0 riops=9000"], {"devices": SDA}, False),
        (["8:0 riops=1010"], {}, False),  # NFS has none
        ([], {"unknown": [{"name": "devices", "reason": "overlay"}]}, False),
    ],
)
def test_a_host_with_limits_and_unknown_devices_is_not_compared_and_named(
    limits: list[str], devices: dict[str, Any], named: bool
) -> None:
    at = looked({"cgroup_version": "v2", "cgroup_io": limits, **devices})
    findings, gaps = BY_ID["io-limit"].examine_all(at)
    assert findings == [] and [host for gap in gaps for host in gap.hosts] == ["h1"] * named


@pytest.mark.parametrize(("iops", "at_limit"), [(1290.0, True), (1100.0, False)])
def test_a_short_load_is_compared_by_its_typical_second(iops: float, at_limit: bool) -> None:
    at = looked({"cgroup_version": "v2", "cgroup_io": ["8:0 riops=1300"], "devices": SDA})
    seconds = [200.0, iops, iops, iops, 300.0]  # a mean of 1000 and less
    at.steps[0].series = SeriesRecord(
        start_s=0.0, columns=[SeriesColumns(host="h1", direction="read", iops=seconds)]
    )
    assert bool(found("io-limit", at)) is at_limit


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (["8:0 riops=16000"], ["8:0 riops=6000"], "reads of 6.00k IOPS on 8:0 (before: reads of"),
        (None, ["read_iops 8:0 1000"], "reads of 1.00k IOPS on 8:0 (before: none)"),
        (["8:0 riops=16000"], ["none"], "reads of 16.0k IOPS on 8:0 lifted"),
        (["8:0 riops=16000"], None, ""),
        (["8:0 riops=9000 rbps=max"], ["8:0 rbps=max riops=9000"], ""),
        (["8:16 riops=16000"], ["8:16 riops=6000"], ""),  # the target does not use this device
    ],
)
def test_limits_that_are_others_after_the_load_are_named(
    before: list[str] | None, after: list[str] | None, said: str
) -> None:
    facts = {"cgroup_version": "v2", "cgroup_io": before, "cgroup_io_after": after, "devices": SDA}
    result = found("io-limit", looked({name: each for name, each in facts.items() if each}))
    assert len(result) == bool(said) and all(said in message_of(each) for each in result)


@pytest.mark.parametrize("after", [{}, {"cgroup_io_after": ["none"]}])
def test_a_limit_that_is_lifted_during_the_load_is_named_once(after: dict[str, Any]) -> None:
    limits = {"cgroup_io": ["8:0 riops=15000"], "cgroup_io_during": ["none"], "devices": SDA}
    (finding,) = found("io-limit", looked({"cgroup_version": "v2", **limits, **after}))
    assert (finding.code, len(finding.operands["hosts"][0][1])) == ("changed", 1)


def test_without_limits_of_io_there_is_nothing_to_reach_and_without_control_groups_nothing_is_known() -> (
    None
):
    assert found("io-limit", looked({"cgroup_version": "v2"})) == []
    with pytest.raises(UnknownError):
        found("io-limit", looked())


@pytest.mark.parametrize(
    ("size", "limited", "severity"),
    [
        (8 << 30, 4 << 30, "warning"),  # all would fit without the limit
        (128 << 30, 4 << 30, "info"),
        (2 << 30, 4 << 30, None),  # fits all the same: working-set says that it does
        (8 << 30, None, None),
        (1 << 40, 4 << 30, None),  # next to nothing would be cached either way
    ],
)
def test_a_memory_limit_that_leaves_less_page_cache_than_the_host_has_is_reported(
    size: int, limited: int | None, severity: str | None
) -> None:
    facts = {"cgroup_version": "v2", "mem_bytes": 64 << 30, "cgroup_mem_bytes": limited}
    at = evidence(
        jobs=[JobLoad("r", ("read",))], task={"files": [FileSpec("/d/f", size)]},
        facts={name: value for name, value in facts.items() if value is not None},
    )  # fmt: skip
    assert [each.severity for each in found("memory-limit", at)] == ([severity] if severity else [])


@pytest.mark.parametrize(("throttled", "held"), [(4.0, False), (40.0, True)])
def test_a_load_that_runs_out_of_cpu_time_is_held_back_though_its_mean_is_low(
    throttled: float, held: bool
) -> None:
    at = looked(
        {"cpus": 8, "cpus_usable": 2.0, "cgroup_cpus": 2.0}, cpu_busy=10.0, cpu_throttled=throttled
    )
    assert bool(found("client-cpu", at)) is held
    assert (limit(at)[0] == "client-cpu") is held


SPINNING = MpiLaunch("/d", ranks_per_host=2, items=1, iterations=1)


@pytest.mark.parametrize(
    ("means", "told"),
    [
        # ranks that wait in a barrier: every CPU is busy, and none of them is missed
        ({"cpu_busy": 100.0, "core_busy": 100.0, "gen_thread": 100.0, "gen_wait": 2.0}, False),
        ({"cpu_busy": 100.0, "gen_thread": 100.0, "gen_wait": 100.0}, True),  # too many ranks
        ({"cpu_busy": 100.0, "gen_thread": 50.0, "gen_wait": 100.0}, True),  # other programs
        ({"cpu_busy": 60.0, "gen_thread": 60.0, "gen_wait": 0.0, "cpu_throttled": 40.0}, True),
        # a kernel without schedstat
        ({"cpu_busy": 100.0, "gen_thread": 100.0, "psi_cpu.some": 5.0}, False),
        ({"cpu_busy": 100.0, "gen_thread": 100.0, "psi_cpu.some": 95.0}, True),
    ],
)
def test_ranks_that_spin_are_short_of_cpus_only_if_they_did_not_get_one(
    means: dict[str, float], told: bool
) -> None:
    at = looked({"cpus": 2}, gen_cpu=200.0, **means)
    assert found("client-cpu", at), "threads that sleep while they wait need all of this"
    at.plan.steps[0].mpi = SPINNING
    assert bool(found("client-cpu", at)) is told


def test_cpu_use_that_the_tool_reports_of_ranks_that_spin_tells_nothing() -> None:
    at = looked()
    at.steps[0].telemetry.clear()
    at.steps[0].tasks["h1"] = TaskRecord(usr_cpu=60.0, sys_cpu=40.0)
    assert found("client-cpu", at)
    at.plan.steps[0].mpi = SPINNING
    with pytest.raises(UnknownError, match="telemetry"):
        found("client-cpu", at)
