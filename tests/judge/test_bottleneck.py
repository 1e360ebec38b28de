"""What limited a run, by telemetry and facts of its hosts."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.samples.evidence import direction, evidence, found, said
from tests.samples.telemetry import limit, looked
from tui.judge.bottleneck import bottleneck_of
from tui.judge.check import RunEvidence, StepEvidence
from tui.judge.wording import bottleneck_text
from tui.model.figure_record import CodedText
from tui.model.plan import HostTask, JobLoad
from tui.model.search import Outcome
from tui.model.step_record import (
    BottleneckRecord,
    HostTelemetryRecord,
    ProofRecord,
    TelemetryColumn,
)

SDA = [{"name": "sda", "number": "8:0", "kind": "disk"}]


@pytest.mark.parametrize(
    ("means", "kind"),
    [
        ({"cpu_busy": 92.0}, "client-cpu"),
        ({"cpu_busy": 10.0, "nic_eth0.rx": 120e6}, "network"),
        (
            {"cpu_busy": 10.0, "dev_sda.busy": 99.0, "dev_sda.queue": 30.0, "dev_sda.rlat": 3.5},
            "client-device",
        ),
        (
            {"cpu_busy": 10.0, "dev_sda.busy": 99.0, "dev_sda.queue": 1.0, "dev_sda.rlat": 3.5},
            "concurrency",
        ),
    ],
)
def test_the_bottleneck_is_the_first_that_is_at_its_limit(
    means: dict[str, float], kind: str
) -> None:
    assert (
        limit(looked({"cpus": 64, "nics": [{"name": "eth0", "speed_mbit": 1000}]}, **means))[0]
        == kind
    )


@pytest.mark.parametrize(("seconds", "warned"), [(20, False), (40, True)])
def test_a_client_at_its_limit_for_most_seconds_is_not_said_to_have_none(
    seconds: int, warned: bool
) -> None:
    busy = [100.0] * seconds + [20.0] * (60 - seconds)
    column = TelemetryColumn(
        name="cpu.busy", unit="percent", mean=sum(busy) / 60, max=100.0, values=busy
    )
    telemetry = HostTelemetryRecord(
        host="h1", start_s=0.0, end_s=60.0, columns=[column],
        t_s=[second + 1.0 for second in range(60)], interval_s=[1.0] * 60,
    )  # fmt: skip
    jobs = [JobLoad("r", ("read",), held=64)]
    at = evidence({"h1": {"read": direction(16000.0, 4e6)}}, jobs=jobs, telemetry=[telemetry])
    assert bool(found("client-cpu", at)) == warned
    record = bottleneck_of(StepEvidence(at, at.plan.steps[0], at.steps[0]))
    assert record is not None and record.kind == "storage"
    assert isinstance(record.text, CodedText)
    assert (record.text.code == "no-other-but-at-limit") == warned
    assert not warned or record.text.operands == {"held": 1, "of": 1}


def test_the_reason_of_most_seconds_is_told_not_that_of_the_busiest() -> None:
    busy = [90.0] * 40 + [20.0] * 19 + [60.0]
    thread = [20.0] * 59 + [99.0]
    columns = [
        TelemetryColumn(
            name=name, unit="percent", mean=sum(values) / 60, max=max(values), values=values
        )
        for name, values in (("cpu.busy", busy), ("gen.thread", thread))
    ]
    telemetry = HostTelemetryRecord(
        host="h1", start_s=0.0, end_s=60.0, columns=columns,
        t_s=[second + 1.0 for second in range(60)], interval_s=[1.0] * 60,
    )  # fmt: skip
    jobs = [JobLoad("r", ("read",), held=64)]
    at = evidence({"h1": {"read": direction(16000.0, 4e6)}}, jobs=jobs, telemetry=[telemetry])
    ((_, why),) = found("client-cpu", at)[0].operands["hosts"]
    assert why["operands"]["what"] == {"code": "busy", "operands": {"percent": 90.0}}
    assert why["operands"]["seconds"] == 41


@pytest.mark.parametrize(
    ("rlat", "wlat", "writes", "kind"),
    [
        (0.1, 3.5, 0.01, "storage"),  # the few writes wait for the device, the reads do not
        (3.5, 0.0, 0.01, "client-device"),
        (0.1, 3.5, 100.0, "client-device"),
    ],
)
def test_a_device_is_the_bottleneck_if_most_time_of_all_reads_and_writes_is_spent_in_it(
    rlat: float, wlat: float, writes: float, kind: str
) -> None:
    means = {"cpu_busy": 10.0, "dev_sda.busy": 99.0, "dev_sda.queue": 30.0}
    at = looked(**means, **{"dev_sda.rlat": rlat, "dev_sda.wlat": wlat})
    own = at.steps[0].results.per_host["h1"]
    own["write"] = own["read"].model_copy(deep=True)
    assert own["write"].lat is not None
    own["write"].lat.n = round(writes * own["write"].lat.n)
    at.plan.steps[0].jobs = [JobLoad("m", ("read", "write"), held=64, direct=True)]
    assert limit(at)[0] == kind


@pytest.mark.parametrize(
    ("allowed", "devices", "kind"),
    [
        ("read_bps 8:0 104857600", SDA, "client-device"),
        ("8:0 rbps=max wbps=4096 riops=990 wiops=max", SDA, "client-device"),
        ("8:0 rbps=500000000 wbps=max riops=max wiops=max", SDA, "concurrency"),
        ("read_bps 8:0 104857600", [], "concurrency"),  # NFS, parallel file systems
        ("read_bps 8:16 104857600", SDA, "concurrency"),
        ("nonsense", SDA, "concurrency"),
    ],
)
def test_what_a_control_group_allows_is_a_limit_of_the_clients_device_below_the_target(
    allowed: str, devices: list[dict[str, str]], kind: str
) -> None:
    facts = {"cgroup_io": [allowed], "devices": devices}
    assert limit(looked(facts, cpu_busy=10.0))[0] == kind


def test_without_a_limit_on_the_clients_it_is_the_storage_as_far_as_they_can_tell() -> None:
    at = looked(cpu_busy=10.0)
    at.plan.steps[0].jobs = [JobLoad("r", ("read",), held=64, direct=True)]
    assert limit(at) == ("storage", "storage or queue depth (no client limit found)")


def test_a_rate_that_was_reached_is_the_bottleneck() -> None:
    at = looked(cpu_busy=10.0)
    at.plan.steps[0].jobs = [JobLoad("r", ("read",), paced=True, rate_iops={"read": 1000.0})]
    assert limit(at) == ("rate", "the offered rate: read 1.00k IOPS")


def test_a_bandwidth_that_was_offered_and_reached_is_the_bottleneck() -> None:
    at = looked(cpu_busy=10.0)
    at.plan.steps[0].jobs = [
        JobLoad("r", ("read",), held=64, paced=True, rate_bytes_per_s={"read": 100e6})
    ]
    assert limit(at) == ("rate", "the offered rate: read 95.4 MiB/s")


def test_a_rate_of_one_direction_does_not_limit_a_load_of_two() -> None:
    at = looked(cpu_busy=10.0)
    at.steps[0].results.aggregate["write"] = direction(5000.0, 4e6)
    paced = JobLoad("r", ("read",), held=32, paced=True, rate_iops={"read": 1000.0})
    at.plan.steps[0].jobs = [paced, JobLoad("w", ("write",), held=32)]
    assert limit(at)[0] == "storage"


def test_a_mix_whose_directions_are_both_held_at_their_rate_is_limited_by_it() -> None:
    at = looked(cpu_busy=10.0)
    aggregate = at.steps[0].results.aggregate
    aggregate.update(write=aggregate["read"], mixed=aggregate["read"])
    at.plan.steps[0].jobs = [
        JobLoad("m", ("read", "write"), paced=True, rate_iops={"read": 1e3, "write": 1e3})
    ]
    assert limit(at) == ("rate", "the offered rate: read 1.00k IOPS, write 1.00k IOPS")


def test_workers_that_think_are_not_held_up_by_the_storage() -> None:
    at = looked(cpu_busy=10.0)
    at.plan.steps[0].jobs = [JobLoad("r", ("read",), workers=16, held=16, paced=True)]
    said = (
        "concurrency: on average, 75 % of the planned I/Os in flight are missing: think time pauses"
        " the load"
    )
    assert limit(at) == ("concurrency", said)


@pytest.mark.parametrize(
    ("think_s", "workers", "found"),
    [
        (0.012, 16, "concurrency"),  # 1000 IOPS x (4 ms + 12 ms)
        (0.012, 32, "client-cpu"),  # half of the time is neither
        (0.0005, 4, "client-cpu"),
    ],
)
def test_workers_whose_time_is_io_and_pauses_are_limited_by_the_load_itself(
    think_s: float, workers: int, found: str
) -> None:
    at = looked(gen_thread=99.0)
    job = JobLoad("r", ("read",), workers=workers, held=4 * workers, paced=True, think_s=think_s)
    at.plan.steps[0].jobs = [job]
    assert limit(at)[0] == found


def test_a_few_requests_of_several_hosts_together_are_few() -> None:
    at = looked(cpu_busy=10.0)
    at.plan.steps[0].tasks.append(HostTask("h2", 1, "", []))
    assert "2 I/Os in flight" in limit(at)[1]


def test_a_few_requests_are_told_with_what_was_measured_of_them() -> None:
    at = looked(cpu_busy=10.0)
    at.plan.steps[0].jobs = [JobLoad("r", ("read",), held=4, direct=True)]
    at.steps[0].results.aggregate["read"] = direction(750.0, 4_000_000.0)
    operands = few(at)
    assert (operands["held"], operands["in_flight"], operands["mean_ns"]) == (4, 3.0, 4_000_000)
    at.steps[0].results.aggregate["read"].lat = None
    assert "in_flight" not in few(at)


@pytest.mark.parametrize(
    ("code", "caveat"),
    [
        ("no-other", ""),
        ("no-other-but-links-unknown", "link speeds are unknown"),
        ("no-other-but-some-cpus", "client CPU on 2 of 5 hosts"),
    ],
)
def test_more_in_flight_do_not_rule_out_what_else_may_be_the_limit(code: str, caveat: str) -> None:
    told = CodedText(code=code, operands={"held": 2, "of": 5})
    proof = ProofRecord(
        run_id="x", step=0, kind="storage", change="twice-in-flight", figure="iops",
        predicted=CodedText(code="predicted"), outcome="agreed",
    )  # fmt: skip
    cases: list[tuple[Outcome, bool]] = [("agreed", bool(caveat)), ("disagreed", False)]
    for outcome, kept in cases:
        proof.outcome = outcome
        text = bottleneck_text(BottleneckRecord(kind="storage", text=told, proof=proof))
        assert (caveat in text and bool(caveat)) is kept


def few(at: RunEvidence) -> dict[str, object]:
    found = bottleneck_of(StepEvidence(at, at.plan.steps[0], at.steps[0]))
    assert found is not None and not isinstance(found.text, str)
    return found.text.operands


def with_server(**means: float) -> RunEvidence:
    at = looked(cpu_busy=10.0)
    columns = [
        TelemetryColumn(name=name.replace("_", "."), unit="number", mean=mean)
        for name, mean in means.items()
    ]
    server = HostTelemetryRecord(host="s1", role="server", start_s=0.0, end_s=60.0, columns=columns)
    at.steps[0].telemetry.append(server)
    return at


def test_processes_of_a_server_with_many_threads_say_nothing_of_its_limit() -> None:
    assert (
        limit(with_server(group_OSD_procs=4.0, group_OSD_cpu=1200.0, cpu_busy=20.0))[0]
        == "concurrency"
    )


def test_a_profile_may_say_how_busy_the_cpu_of_a_server_may_be() -> None:
    at = with_server(cpu_busy=70.0)
    assert limit(at)[0] == "concurrency"
    at.plan.thresholds["client-cpu.host"] = 60.0
    assert limit(at) == ("server-cpu", "server CPU: s1: CPU 70 % busy")


def test_a_server_whose_processes_are_busy_is_named_with_them() -> None:
    at = with_server(group_OSD_procs=4.0, group_OSD_cpu=396.0)
    assert limit(at) == (
        "server-cpu",
        "server CPU: s1: OSD: 99 % of a core per process (average of 4)",
    )


@given(
    workers=st.integers(1, 64),
    on_cpu=st.floats(0, 0.9),
    waiting=st.floats(0, 1),
    cpus=st.integers(1, 128),
)
def test_busy_cpus_are_the_bottleneck_of_a_load_that_wants_them(
    workers: int, on_cpu: float, waiting: float, cpus: int
) -> None:
    """Every CPU is busy: with the load, while its workers wait for a CPU, or while they wait for
    I/O.
    """
    used, waited = 100 * workers * on_cpu, 100 * workers * (1 - on_cpu) * waiting
    at = looked(
        {"cpus": cpus}, cpu_busy=100.0, gen_cpu=used, gen_wait=waited, gen_thread=100 * on_cpu
    )
    at.plan.steps[0].jobs = [JobLoad("r", ("read",), workers=workers, held=16 * workers)]
    assume(abs(used + waited - 50 * workers) > 1e-6 and abs(used - 50 * cpus) > 1e-6)
    wants = used + waited > 50 * workers or used > 50 * cpus
    assert (limit(at)[0] == "client-cpu") == wants
    assert said("client-cpu", at), "busy CPUs are reported either way"
    assert "no client limit" not in limit(at)[1], "beside that finding"


def test_busy_cpus_are_the_bottleneck_where_nobody_knows_whether_the_load_waits_for_them() -> None:
    assert limit(looked({"cpus": 8}, cpu_busy=100.0, gen_cpu=10.0))[0] == "client-cpu"


def test_without_telemetry_nobody_knows_the_bottleneck() -> None:
    at = evidence()
    assert bottleneck_of(StepEvidence(at, at.plan.steps[0], at.steps[0])) is None


def test_a_server_whose_processes_use_all_that_the_hypervisor_leaves_is_named() -> None:
    at = with_server(group_OSD_procs=1.0, group_OSD_cpu=78.0, cpu_busy=50.0, cpu_steal=10.0)
    told = "server CPU: s1: OSD: 78 % of a core in its only process, all that the hypervisor leaves"
    assert limit(at) == ("server-cpu", told)
