"""Traffic that is not the load's, while it measures: on the devices of a machine, its NFS mount,
the storage nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.samples.evidence import beside, direction, evidence, found
from tui.judge.catalogue import BY_ID
from tui.judge.check import RunEvidence, UnknownError
from tui.judge.wording import message_of
from tui.model.figure_record import DirectionRecord
from tui.model.plan import JobLoad
from tui.model.step_record import HostTelemetryRecord, TelemetryColumn

MB = 1e6
READS = JobLoad("r", ("read",), direct=True)
MIXED = JobLoad("m", ("read", "write"), direct=True)


def seen(host: str, columns: Mapping[str, float], role: str = "client") -> HostTelemetryRecord:
    made = [
        TelemetryColumn(name=name, unit="bytes_per_s", mean=mean, max=mean)
        for name, mean in columns.items()
    ]
    devices = {"sda": "top", "sdb": "below"} if role == "client" else {}
    return HostTelemetryRecord(
        host=host, role=role, start_s=0.0, end_s=60.0, columns=made, devices=devices
    )


def run(
    job: JobLoad,
    own: Mapping[str, float],
    moved: Mapping[str, float],
    *,
    hosts: int = 1,
    boot: str = "",
    servers: Mapping[str, float] | None = None,
) -> RunEvidence:
    """Return a run whose hosts moved `own` bytes per second each, with `moved` in the telemetry of
    each.
    """
    names = [f"h{number}" for number in range(hosts)]
    dirs = {name: direction(1000.0, 1e6, bw_bytes_per_s=rate) for name, rate in own.items()}
    looks = [seen(name, moved) for name in names]
    looks += [seen("s1", servers, "server")] if servers else []
    facts = {"boot_id": boot} if boot else {}
    return evidence(dict.fromkeys(names, dirs), jobs=[job], facts=facts, telemetry=looks)


def directions(at: RunEvidence) -> list[str]:
    """Return in which directions others move something, as the finding has it."""
    return [name for each in found("other-traffic", at) for name in ("read",
        "write") if f": {name} " in message_of(each)
            or f", {name} " in message_of(each)]  # fmt: skip


@pytest.mark.parametrize(
    ("own", "moved", "said"),
    [
        ({"read": 100 * MB}, {"dev.sda.rd": 101 * MB, "dev.sda.wr": 0.2 * MB}, []),
        ({"read": 100 * MB}, {"dev.sda.rd": 130 * MB, "dev.sda.wr": 0.0}, ["read"]),
        ({"read": 100 * MB}, {"dev.sda.rd": 100 * MB, "dev.sda.wr": 40 * MB}, ["write"]),
        # a cache: storage-traffic
        ({"read": 100 * MB}, {"dev.sda.rd": 5 * MB, "dev.sda.wr": 0.0}, []),
        # a log beside a paced load
        ({"read": 0.2 * MB}, {"dev.sda.rd": 0.2 * MB, "dev.sda.wr": 0.5 * MB}, []),
        ({"read": 50 * MB, "write": 50 * MB}, {"dev.sda.rd": 50 * MB, "dev.sda.wr": 60 * MB}, []),
        (
            {"read": 50 * MB, "write": 50 * MB},
            {"dev.sda.rd": 80 * MB, "dev.sda.wr": 120 * MB},
            ["read", "write"],
        ),
        ({"read": 100 * MB}, {"nfs.rd_server": 130 * MB, "nfs.wr_server": 0.0}, ["read"]),
        # below: copies, parity
        ({"read": 100 * MB}, {"dev.sdb.rd": 900 * MB, "dev.sda.rd": 100 * MB}, []),
    ],
)
def test_what_devices_move_beyond_the_load_is_that_of_others(
    own: dict[str, float], moved: dict[str, float], said: list[str]
) -> None:
    assert directions(run(MIXED, own, moved)) == said


@given(st.floats(1, 1e4), st.floats(0, 1e4), st.integers(1, 6))
def test_names_of_one_machine_are_one_load(rate: float, other: float, hosts: int) -> None:
    moved = {"dev.sda.rd": (hosts * rate + other) * MB, "dev.sda.wr": 0.0}
    told = bool(
        found("other-traffic", run(READS, {"read": rate * MB}, moved, hosts=hosts, boot="one"))
    )
    limit = max(0.25 * hosts * rate, 2**20 / MB)
    assert told == (other > limit) or other == pytest.approx(limit)


def test_a_name_of_the_machine_without_telemetry_is_part_of_the_load() -> None:
    moved = {"dev.sda.rd": 200 * MB, "dev.sda.wr": 0.0}
    at = run(READS, {"read": 100 * MB}, moved, hosts=2, boot="one")
    at.steps[0].telemetry = at.steps[0].telemetry[:1]
    assert found("other-traffic", at) == []


def test_a_journal_beside_synced_writes_is_not_that_of_others() -> None:
    moved = {"dev.sda.rd": 0.0, "dev.sda.wr": 50 * MB}
    plain, synced = (
        JobLoad("w", ("write",), direct=True, durable=each) for each in ("", "fdatasync=1")
    )
    assert directions(run(plain, {"write": 10 * MB}, moved)) == ["write"]
    assert directions(run(synced, {"write": 10 * MB}, moved)) == []
    seldom = replace(synced, durable="fdatasync=1000", synced_every=1000)
    assert directions(run(seldom, {"write": 10 * MB}, moved)) == ["write"]


rates = st.floats(0, 1e4)


@given(rates, rates, rates, st.floats(0, 2000))
def test_the_journal_is_that_of_syncs_that_follow_writes(
    writes: float, syncs: float, others: float, moved: float
) -> None:
    """Of two jobs one syncs; fio also syncs after reads, when there is nothing to write."""
    at = run(MIXED, {"write": 10 * MB}, {"dev.sda.rd": 0.0, "dev.sda.wr": moved * MB})
    at.plan.steps[0].jobs = [
        replace(MIXED, name="synced", durable="fsync=1", synced_every=1), replace(MIXED, name="o")
    ]  # fmt: skip
    (per_host,) = at.steps[0].results.per_host.values()
    per_host |= {"write": direction(writes + others, 1e6, bw_bytes_per_s=10 * MB),
                 "sync": direction(syncs, 1e6)}  # fmt: skip
    of_jobs: dict[str, dict[str, DirectionRecord]] = {
        "synced": {"write": direction(writes, 1e6), "sync": direction(syncs, 1e6)},
        "o": {"write": direction(others, 1e6)},
    }
    for known, commits in ((True, min(writes, syncs)), (False, min(writes + others, syncs))):
        at.steps[0].results.per_job = {"h0": of_jobs} if known else None
        allowed = 10 * MB + 65536 * commits
        told = bool(found("other-traffic", at))
        assert told == ((moved - 10) * MB > allowed) or (moved - 10) * MB == pytest.approx(allowed)


def test_writes_to_files_opened_with_o_sync_are_syncs() -> None:
    job = replace(MIXED, durable="sync=1", synced_every=1)
    at = run(job, {"write": 10 * MB}, {"dev.sda.rd": 0.0, "dev.sda.wr": 70 * MB})
    (per_host,) = at.steps[0].results.per_host.values()
    per_host |= {"sync": direction(1.0, 1e6)}
    assert found("other-traffic", at) == []


@pytest.mark.parametrize("unknown", [{}, {"dev.sda.util": 0.5}])
def test_storage_nodes_are_compared_without_byte_counters_of_the_clients(
    unknown: dict[str, float],
) -> None:
    busy = {"dev.sda.rd": 900 * MB, "dev.sdb.wr": 1 * MB}
    at = run(READS, {"read": 100 * MB}, unknown, servers=busy)
    assert [each.code for each in found("other-traffic", at)] == ["servers"]


@pytest.mark.parametrize(("measured_s", "told"), [(20.0, False), (50.0, True)])
def test_during_a_run_traffic_is_reported_once_the_rest_cannot_make_up_for_it(
    measured_s: float, told: bool
) -> None:
    at = run(READS, {"read": 100 * MB}, {"dev.sda.rd": 160 * MB, "dev.sda.wr": 0.0})
    at.steps[0].state, at.steps[0].measured_s = "running", measured_s
    assert bool(found("other-traffic", at)) is told


@pytest.mark.parametrize(
    ("servers", "job", "said"),
    [
        ({"dev.sda.rd": 110 * MB, "dev.sdb.wr": 1 * MB}, READS, 0),
        ({"dev.sda.rd": 150 * MB, "dev.sdb.rd": 90 * MB}, READS, 1),  # a scrub
        ({"dev.sda.rd": 100 * MB, "dev.sdb.wr": 80 * MB}, READS, 1),  # a rebuild
        # copies and parity of what is written
        ({"dev.sda.rd": 300 * MB, "dev.sdb.wr": 300 * MB}, MIXED, 0),
    ],
)
def test_storage_nodes_do_what_a_load_that_only_reads_asks_of_them(
    servers: dict[str, float], job: JobLoad, said: int
) -> None:
    at = run(job, {"read": 100 * MB}, {"dev.sda.rd": 100 * MB, "dev.sda.wr": 0.0}, servers=servers)
    assert len(found("other-traffic", at)) == said


@pytest.mark.parametrize(
    ("job", "own", "moved"),
    [
        (JobLoad("r", ("read",)), {"read": MB}, {"dev.sda.rd": 9 * MB}),  # read-ahead
        (READS, {"read": MB}, {}),
        (READS, {"mixed": 100 * MB}, {"dev.sda.rd": 70 * MB, "dev.sda.wr": 30 * MB}),
    ],
)
def test_without_evidence_nothing_is_reported(
    job: JobLoad, own: dict[str, float], moved: dict[str, float]
) -> None:
    with pytest.raises(UnknownError):
        found("other-traffic", run(job, own, moved))


def test_a_file_system_that_amplifies_is_not_judged() -> None:
    at = run(READS, {"read": 10 * MB}, {"dev.sda.rd": 100 * MB})
    at.hosts[0].facts["target_fstype"] = "btrfs"
    with pytest.raises(UnknownError):
        found("other-traffic", at)


def test_a_host_on_a_file_system_that_amplifies_is_named() -> None:
    at = run(READS, {"read": 10 * MB}, {"dev.sda.rd": 10 * MB}, hosts=2)
    at.hosts[1].facts["target_fstype"] = "btrfs"
    found_, missed = BY_ID["other-traffic"].examine_all(at)
    assert not found_
    assert [host for gap in missed for host in gap.hosts] == [at.hosts[1].name]


def test_what_runs_at_the_same_time_is_not_that_of_others() -> None:
    alone = run(
        READS, {"read": 100 * MB}, {"dev.sda.rd": 101 * MB, "dev.sda.wr": 50 * MB}, boot="one"
    )
    writer = run(JobLoad("w", ("write",), direct=True), {"write": 50 * MB},
                 {"dev.sda.rd": 101 * MB, "dev.sda.wr": 50 * MB}, boot="one")  # fmt: skip
    assert directions(alone) == ["write"]
    assert directions(beside(alone, writer)) == []


def test_what_runs_at_the_same_time_and_is_not_known_yet_accuses_nobody() -> None:
    alone = run(
        READS, {"read": 100 * MB}, {"dev.sda.rd": 101 * MB, "dev.sda.wr": 50 * MB}, boot="one"
    )
    both = beside(alone, run(READS, {"read": 0.0}, {}))
    both.steps[1].results.per_host = {}
    with pytest.raises(UnknownError):
        directions(both)
