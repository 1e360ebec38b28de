"""Checks that judge each host name those they had no data of, in one way for all."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.samples.events import DATA
from tests.samples.evidence import direction, evidence
from tui.judge.catalogue import BY_ID, examine, hosts_by_reason
from tui.judge.check import RunEvidence, UnknownError
from tui.judge.wording import gap_reasons_of
from tui.library.build import build_record
from tui.model.figure_record import CodedText
from tui.model.host_record import ClockRecord
from tui.model.plan import JobLoad
from tui.model.record import HostsNotChecked, RunRecord
from tui.model.step_record import HostTelemetryRecord, TelemetryColumn
from tui.view.objection_catalogue import OBJECTIONS
from tui.view.objections import answer_to

NAMES = ("h1", "h2", "h3")
FACTS: dict[str, Any] = {
    "boot_id": "b", "hostname": "n", "cpus": 8, "mem_bytes": 1 << 34, "governor": "performance",
    "clocksource": "tsc", "target_full": 0.1, "target_fstype": "ext4", "fio_packaged": "ok",
    "target": "/mnt/f", "target_mount": "/mnt",
    "devices": [{"name": "sda", "kind": "disk"}], "cgroup_version": 2,
    "load_commands": [{"step": 0, "words": "fio j.fio"}],
    "open_files": [{"step": 0, "path": "/mnt/f", "flags": 0o140002}],
    "written": [{"step": 0, "files": 1, "size_bytes": 4096, "never_written_bytes": 0}],
}  # fmt: skip


def three(lacking: int) -> RunEvidence:
    """Return a run on three hosts, of which the last ones have neither facts, clock nor
    telemetry.
    """
    read = direction(1000.0, 4e6, bw_bytes_per_s=100e6)
    at = evidence(
        {name: {"read": read} for name in NAMES}, jobs=[JobLoad("r", ("read",), direct=True)]
    )
    columns = [
        TelemetryColumn(name=name, unit="number", mean=mean, max=mean, values=[mean] * 5)
        for name, mean in (("cpu.busy", 1.0), ("dev.sda.rd", 100e6), ("nic.eth0.rx", 1.0))
    ]
    telemetry = [
        HostTelemetryRecord(
            host=name, start_s=0.0, end_s=60.0, columns=columns, devices={"sda": "top"}, quiet=5
        )
        for name in NAMES[: len(NAMES) - lacking]
    ]
    for host in at.hosts[: len(NAMES) - lacking]:
        host.facts = dict(FACTS) | {"boot_id": host.name, "hostname": host.name}
        host.clock = ClockRecord(offset_s=0.0, uncertainty_s=0.001, method="exchange")
    record = at.steps[0].model_copy(update={"telemetry": telemetry})
    return replace(at, steps=[record])


EACH = [name for name, check in BY_ID.items() if check.no_data or check.no_data_in_step]
OF_FACTS = [
    "host-differences", "one-machine", "direct-io", "target-full", "raid-rebuild", "cpu-frequency",
    "root-target",
    "other-load", "changed-program", "host-restart", "clock-offset", "clock-step", "planned-command",
    "background-load", "storage-traffic", "client-cpu", "unwritten-data", "io-limit",
    "shared-files",
]  # fmt: skip


@pytest.mark.parametrize("name", OF_FACTS)
def test_a_host_without_data_is_named_by_each_check_that_has_data_of_others(name: str) -> None:
    _, missed = BY_ID[name].examine_all(three(1))
    assert {host for gap in hosts_by_reason(missed) for host in gap.hosts} == {"h3"}
    _, missed = BY_ID[name].examine_all(three(0))
    assert hosts_by_reason(missed) == []


@pytest.mark.parametrize("name", [*EACH, "planned-command", "background-load"])
def test_a_check_without_data_of_any_host_names_none(name: str) -> None:
    try:
        _, missed = BY_ID[name].examine_all(three(3))
    except UnknownError:
        return
    assert hosts_by_reason(missed) == []


def test_storage_nodes_are_no_clients_without_data() -> None:
    at = three(1)
    at.hosts[2].role = "server"
    told = examine(at).hosts_not_checked
    assert "target-full" not in told and "other-load" not in told
    assert [gap.hosts for gap in told["cpu-frequency"]] == [["h3"]]


def with_gap(**gap: Any) -> RunRecord:
    record = build_record(DATA / "mix")
    why = CodedText(code="telemetry")
    record.findings, record.checks_not_made, record.steps_not_checked = [], {}, {}
    record.checks = list(BY_ID)
    name = record.hosts[0].name
    record.hosts_not_checked = {"storage-traffic": [HostsNotChecked(hosts=[name], why=why, **gap)]}
    return record


@pytest.mark.parametrize(
    ("gap", "open_"), [({}, True), ({"steps": [0]}, True), ({"steps": [7]}, False)]
)
def test_an_objection_is_not_refuted_by_a_check_that_saw_some_hosts_only(
    gap: dict[str, Any], open_: bool
) -> None:
    record = with_gap(**gap)
    objection = next(each for each in OBJECTIONS if "storage-traffic" in each.decisive)
    answer = answer_to(objection, record)
    told = [each.text for each in answer.evidence if each.check == "storage-traffic"]
    clients = len([host for host in record.hosts if host.role == "client"])
    assert (f"on {clients - 1} of {clients} host" in told[0]) is open_
    assert any("no telemetry" in text for text in told) is open_
    assert (answer.standing == "unknown") is open_
    if not gap:
        assert "no telemetry" in gap_reasons_of(record)["storage-traffic"]
