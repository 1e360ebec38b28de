"""The load on hosts as text: the figures of Vitastor's two tables of CPU among them."""

from __future__ import annotations

from tui.metrics.telemetry import metric_of
from tui.model.step_record import HostTelemetryRecord, StepRecord, TelemetryColumn
from tui.text.line import WARN
from tui.view.host_load import disks_in_use, load_lines, load_table
from tui.view.report.tables import load_tables


def host(name: str, role: str = "client", **columns: tuple[float, float]) -> HostTelemetryRecord:
    """A host with (mean, largest) by column, dots written as two underscores."""
    named = {key.replace("__", "."): value for key, value in columns.items()}
    made = [
        TelemetryColumn(name=k, unit=metric_of(k).unit, mean=mean, max=most)
        for k, (mean, most) in named.items()
    ]
    return HostTelemetryRecord.model_validate(
        {"host": name, "role": role, "start_s": 1, "end_s": 9, "columns": made}
    )


def lines(*hosts: HostTelemetryRecord) -> list[str]:
    return load_lines(StepRecord(index=0, name="s", telemetry=list(hosts)))


def test_without_telemetry_there_is_no_table() -> None:
    assert lines() == []


def test_a_line_a_host_with_the_busiest_nic_and_disk() -> None:
    seen = host(
        "h1",
        cpu__busy=(42, 55),
        core__busy=(91, 99),
        gen__cpu=(182, 200),
        nic__eth0__rx=(1024, 2048),
        nic__eth1__tx=(1024**3, 2 * 1024**3),
        dev__sda__busy=(97, 100),
        dev__dm_0__busy=(3, 4),
    )
    header, line, *_ = lines(seen)
    assert header.startswith("load on hosts") and header.endswith(
        "busiest NIC (speed unknown), disk"
    )
    assert line.split() == [
        "h1",
        "42/55",
        "91/99",
        "1.8/2.0",
        "–",
        "eth1",
        "1.00",
        "GiB/s,",
        "sda",
        "97",
        "%",
    ]


def test_traffic_of_links_is_given_with_its_share_of_their_speed() -> None:
    first, second = (
        host(name, nic__eth0__rx=(1.25e9, 2e9), nic__eth0__tx=(1e3, 1e3)) for name in "ab"
    )
    step = StepRecord(index=0, name="s", telemetry=[first, second])
    fast, slow = {"nic.eth0": 12.5e9}, {"nic.eth0": 1.25e9}
    header, line, *_ = load_lines(step, {"a": fast, "b": fast})
    assert header.endswith("busiest NIC of 100 Gbit/s") and line.endswith("1.16 GiB/s (10 %)")
    header, line, other, *_ = load_lines(step, {"a": fast, "b": slow})
    assert header.endswith("busiest NIC") and line.endswith("(10 % of 100 Gbit/s)")
    assert other.endswith("(100 % of 10 Gbit/s)")
    header, line, other, *_ = load_lines(step, {"a": fast})
    assert line.endswith("(10 % of 100 Gbit/s)") and other.endswith("(speed unknown)")


def test_cpu_of_a_group_is_given_per_disk_with_traffic() -> None:
    disks = {f"dev__nvme{number}n1__rd": (1e9, 1e9) for number in range(2)}
    osds = [
        host(
            name,
            "server",
            group__OSD__cpu=(300, 320),
            group__OSD__procs=(8, 8),
            dev__sda__rd=(10.0, 20.0),
            **disks,
        )
        for name in ("s1", "s2")
    ]
    assert disks_in_use(osds[0]) == ["nvme0n1", "nvme1n1"]
    assert (
        lines(*osds)[-1]
        == "OSD CPU: 6.0 cores, 16 processes on 2 hosts; 150.0 % per disk (4 with traffic)"
    )


def test_cpu_of_the_load_is_given_per_client_process() -> None:
    seen = [host(name, gen__cpu=(400, 400), gen__procs=(5, 5)) for name in ("h1", "h2")]
    assert (
        lines(*seen)[-1]
        == "load CPU on all clients: 8.0 cores, 100.0 % of a core for each of 8 processes"
    )


def test_one_process_with_threads_is_one_client() -> None:
    assert lines(host("h1", gen__cpu=(85, 99), gen__procs=(1, 1)))[-1].endswith(
        "85.0 % of a core in 1 client process"
    )


def test_cpu_of_the_load_that_nobody_saw_is_not_called_none() -> None:
    unseen = host("h2", cpu__busy=(42, 55), gen__procs=(5, 5))
    assert lines(host("h1", gen__cpu=(85, 99), gen__procs=(1, 1)), unseen)[-1].endswith(
        "85.0 % of a core in 1 client process"
    )
    assert not any("load CPU" in line for line in lines(unseen))


def test_what_is_full_is_marked_by_the_thresholds_that_the_profile_changed() -> None:
    step = StepRecord(
        index=0, name="s", telemetry=[host("h1", cpu__busy=(70, 80), core__busy=(97, 99))]
    )

    def marked(thresholds: dict[str, float]) -> list[str]:
        lines = load_table(step, thresholds=thresholds)
        return [text.strip() for line in lines for text, role in line.runs if role == WARN]

    assert marked({}) == ["97/99"]
    assert marked({"client-cpu.host": 60.0, "client-cpu.core": 98.0}) == ["70/80"]


def test_rows_of_servers_are_marked_by_the_same_thresholds() -> None:
    step = StepRecord(
        index=0, name="s", telemetry=[host("s1", "server", cpu__busy=(70, 80), core__busy=(97, 99))]
    )
    changed = {"client-cpu.host": 60.0, "client-cpu.core": 98.0}
    runs = [run for line in load_table(step, thresholds=changed) for run in line.runs]
    assert [text.strip() for text, role in runs if role == WARN] == ["70/80"]
    (table,) = load_tables(step, changed, {})
    assert [cell[0] for cell in table.rows[0] if isinstance(cell, tuple) and cell[1] == WARN] == [
        "70/80"
    ]
