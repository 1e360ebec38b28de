"""Checks of foreign traffic during the measurement, on the load's devices, NFS mount and storage
nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.judge.check import (
    CheckResult,
    Moot,
    StepEvidence,
    UnknownError,
    of_hosts_in_step,
    of_job,
    step_check,
)
from tui.judge.machines import file_systems
from tui.judge.observed import client_of, clients_of, record_of
from tui.judge.traffic import LEAST_S
from tui.metrics import units
from tui.metrics.telemetry import parse_column
from tui.model.hostfacts import boot_of
from tui.model.operands import Clause, Operands, clause

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tui.model.figure_record import DirectionRecord
    from tui.model.host_record import HostRecord
    from tui.model.plan import JobLoad
    from tui.model.step_record import HostTelemetryRecord, Scalar

# of the load's bytes; of what it writes; bytes per second
OTHERS, WRITES, FLOOR = 0.25, 1.0, float(1 << 20)
# of the bytes read: a block is read once, in shards or whole
SERVERS_READ, SERVERS_WRITE = 2.0, 0.5
CALLS = ("fsync", "fdatasync", "sync_file_range")  # options whose syncs are counted
JOURNAL = 64 << 10  # bytes that a sync may write beside the data: a commit of the file system
# file systems that move more than requested
AMPLIFY = ("btrfs", "bcachefs", "f2fs", "zfs")
COUNTED = {"read": ("rd", "rd_server"), "write": ("wr", "wr_server")}


def _uncounted(at: StepEvidence, host: HostRecord) -> str:
    """Return, as a code, why a host's traffic cannot be compared with its load's; empty if it can,
    or if the storage nodes' traffic is compared instead.
    """
    if (seen := client_of(at, host.name)) is None:
        return "telemetry"
    amplifies = any(name in AMPLIFY for name in file_systems(host))
    counted = any(_moved([seen], *columns) is not None for columns in COUNTED.values())
    return "" if (counted and not amplifies) or _servers_of_reads(at) else "byte-counters"


@of_hosts_in_step(_uncounted)
@step_check(
    "other-traffic",
    "Foreign traffic",
    rule=(
        f"with direct I/O, the load's devices or NFS mount move at most {units.share(OTHERS)} more"
        f" bytes than the load (writes: at most {units.share(WRITES)} more, plus"
        f" {units.size(JOURNAL)} per sync, counting at most one sync per write); during a read-only"
        f" load, storage nodes read at most {SERVERS_READ:g} x and write at most"
        f" {units.share(SERVERS_WRITE)} of its bytes; excess below {units.bandwidth(FLOOR)} is"
        " ignored"
    ),
    advice=(
        "Find out what else uses the device or the servers (iotop, biosnoop; backups,"
        " rebuilds, scrubs), and measure when it has finished."
    ),
    source=(
        "/proc/diskstats and /proc/self/mountstats of the hosts and storage nodes, minus the"
        " bytes of the load"
    ),
    when="files",
)
def other_traffic(at: StepEvidence) -> Iterator[CheckResult]:
    """While you measure, reads and writes by others take their share of the storage, and the load's
    own figures do not show it.
    """
    jobs = [job for job in at.step.jobs if job.stores]
    if at.step.jobs and not jobs:
        raise UnknownError(Moot.DATA)
    if not jobs or not all(job.direct for job in jobs):
        raise UnknownError("page-cache")
    if (at.record.measured_s or 0.0) < LEAST_S:
        raise UnknownError("too-short", least_s=LEAST_S)
    if not all(step.record.results.per_host for step in at.beside):
        raise UnknownError("concurrent-loads")
    groups = _machines(at)
    extra = {name: each for hosts in groups for name, each in _extra(at, hosts).items()}
    if not extra and not _servers_of_reads(at):
        raise UnknownError("byte-counters")
    found = {name: more for name, (more, _) in extra.items() if more}
    if found:
        worst = max(share for _, share in extra.values())
        scope: dict[str, Scalar] = {"hosts": " ".join(found)}
        operands: Operands = {"hosts": list(found.items())}
        yield CheckResult("warning", "more", round(worst, 3), OTHERS, scope, operands)
    yield from _of_servers(at)


def _machines(at: StepEvidence) -> list[list[HostTelemetryRecord]]:
    """Return the clients grouped by machine: several host names of one machine share its
    devices.
    """
    found: dict[str, list[HostTelemetryRecord]] = {}
    for host in clients_of(at):
        found.setdefault(_machine(at, host.host), []).append(host)
    return list(found.values())


def _machine(at: StepEvidence, name: str) -> str:
    record = record_of(at.run, name)
    return (boot_of(record.facts) if record is not None else "") or f"host {name}"


def _loads_on(at: StepEvidence, machine: str) -> list[tuple[StepEvidence, str]]:
    """Return this run's loads on a machine as step and host name, including concurrent steps and
    hosts without telemetry.
    """
    return [
        (step, name)
        for step in (at, *at.beside)
        for name in dict.fromkeys(task.host for task in step.step.tasks)
        if _machine(step, name) == machine
    ]


def _extra(
    at: StepEvidence, hosts: Sequence[HostTelemetryRecord]
) -> dict[str, tuple[list[Clause], float]]:
    """Return the foreign traffic of a machine, by direction, and its share of the load; empty if
    unknown.
    """
    records = [record for host in hosts if (record := record_of(at.run, host.host)) is not None]
    loads = _loads_on(at, _machine(at, hosts[0].host))
    jobs = [job for step, _ in loads for job in step.step.jobs]
    if not all(job.direct for job in jobs if job.stores):
        return {}  # of a concurrent step
    results = [step.record.results.per_host.get(name, {}) for step, name in loads]
    # lost, or reads and writes are counted together
    if not all(set(dirs) & set(COUNTED) for dirs in results):
        return {}
    if any(name in AMPLIFY for record in records for name in file_systems(record)):
        return {}
    own = {way: sum(_counted(step, name, way) for step, name in loads) for way in COUNTED}
    total = {name: _moved(hosts, *columns) for name, columns in COUNTED.items()}
    whole = sum(own.values())
    if not whole or all(each is None for each in total.values()):
        return {}
    journal = JOURNAL * sum(_syncs_per_s(step, name) for step, name in loads)
    found, worst = list[Clause](), 0.0
    for name, moved in total.items():
        if moved is None:
            continue
        other = moved - own[name]
        allowed = OTHERS * whole
        if name == "write" and own[name]:
            allowed = WRITES * own[name] + journal
        if other * at.passed > max(allowed, FLOOR):
            found.append(
                clause("above", direction=name, bytes_per_s=other, own_bytes_per_s=own[name])
            )
            worst = max(worst, other / whole)
    return {hosts[0].host: (found, worst)}


def _counted(at: StepEvidence, host: str, direction: str) -> float:
    """Return the bytes per second that a host's load counts in one direction."""
    result = at.record.results.per_host.get(host, {}).get(direction)
    return (result.bw_bytes_per_s or 0.0) if result is not None else 0.0


def _syncs_per_s(at: StepEvidence, host: str) -> float:
    """Return the syncs per second of a host's load that have something to write."""
    jobs = [job for job in at.step.jobs_by_host.get(host, at.step.jobs) if job.stores]
    parts = [([job], of_job(at, host, job)) for job in jobs]
    if not all(dirs for _, dirs in parts):
        parts = [(jobs, at.record.results.per_host.get(host, {}))]
    return sum(_syncs_of(*part) for part in parts)


def _syncs_of(jobs: Sequence[JobLoad], dirs: Mapping[str, DirectionRecord]) -> float:
    """Return the syncs per second of jobs with these results, counting at most one per write: fio
    also syncs after reads, when there is nothing to write.
    """
    synced = [job for job in jobs if job.durable]
    writes = (dirs["write"].iops or 0.0) if "write" in dirs else 0.0
    if not synced:
        return 0.0
    # O_SYNC and O_DSYNC are not counted
    if "sync" in dirs and all(job.durable.startswith(CALLS) for job in synced):
        return min(dirs["sync"].iops or 0.0, writes)
    return writes / min(job.synced_every or 1 for job in synced)


def _moved(hosts: Sequence[HostTelemetryRecord], disk: str, server: str) -> float | None:
    """Return bytes per second of the machine's target devices, each counted once, or of its mount;
    None if unknown.
    """
    mounts = [value for host in hosts if (value := host.mean_of(f"nfs.{server}")) is not None]
    if mounts:
        return max(mounts)
    found: dict[str, float] = {}
    for host in hosts:
        for name in (name for name, place in host.devices.items() if place == "top"):
            if (value := host.mean_of(f"dev.{name}.{disk}")) is not None:
                found[name] = max(value, found.get(name, 0.0))
    return sum(found.values()) if found else None


def _servers_of_reads(at: StepEvidence) -> list[HostTelemetryRecord]:
    """Return the storage nodes with telemetry; none unless every load only reads."""
    jobs = [job for step in (at, *at.beside) for job in step.step.jobs if job.stores]
    if any(set(job.directions) != {"read"} for job in jobs):
        return []
    return [
        host for host in at.record.telemetry if host.role == "server" and host.start_s is not None
    ]


def _of_servers(at: StepEvidence) -> Iterator[CheckResult]:
    """Yield storage nodes that read or write more than a read-only load explains."""
    steps, servers = [at, *at.beside], _servers_of_reads(at)
    reading = [(step, host) for step in steps for host in step.record.results.per_host]
    read = sum(_counted(step, host, "read") for step, host in reading)
    for name, share in (("read", SERVERS_READ), ("write", SERVERS_WRITE)):
        disks = {host.host: _of_disks(host, COUNTED[name][0]) for host in servers}
        moved = sum(disks.values())
        if read and moved * at.passed > max(share * read, FLOOR):
            most = max(disks, key=lambda host: disks[host])
            operands: Operands = {"direction": name, "moved_bytes_per_s": moved, "server": most}
            operands["read_bytes_per_s"] = read
            scope: dict[str, Scalar] = {"direction": name}
            yield CheckResult("warning", "servers", round(moved / read, 3), share, scope, operands)


def _of_disks(host: HostTelemetryRecord, field: str) -> float:
    columns: Mapping[str, float | None] = {name: host.mean_of(name) for name in host.names}
    return sum(
        value or 0.0
        for name, value in columns.items()
        if (parsed := parse_column(name)).family == "dev" and parsed.field == field
    )


INTERFERENCE_CHECKS = (other_traffic,)
