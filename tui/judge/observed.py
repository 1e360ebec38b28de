"""Checks of telemetry: whether a client limited the load, and whether it was quiet before."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from tui.judge.ahead import most_of_time
from tui.judge.check import (
    CheckResult,
    Moot,
    RunEvidence,
    StepEvidence,
    UnknownError,
    Unread,
    of_hosts_in_step,
    run_check,
    step_check,
)
from tui.judge.cpus import (
    COLUMNS,
    FEW_CORES,
    QUEUED,
    WAITED,
    WITHHELD,
    Moment,
    by_itself,
    cpu_bound,
    cpus_of,
    polls,
)
from tui.judge.links import LINK, LINKS, link_speeds
from tui.judge.machines import IN_MEMORY
from tui.metrics import units
from tui.metrics.telemetry import parse_column
from tui.model.criteria import default
from tui.model.host_tables import BlockLayer, Mount, Nic, rows
from tui.model.operands import Clause, Operands, clause

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tui.model.host_record import HostRecord
    from tui.model.step_record import HostTelemetryRecord, Scalar, TaskRecord

CPU_LIMITS = ("core", "host", "thread", "steal", "throttled")
# per cent
CORE, HOST, THREAD, STEAL, THROTTLED = (default(f"client-cpu.{name}") for name in CPU_LIMITS)
MOST_OF_TIME = 0.5
RETRANSMITTED = 0.001
CHANCE = 3.0  # deviations of a count of few
BY_NETWORK = ("iscsi", "tcp", "rdma", "nbd", "rbd", "drbd")  # transports and kinds of block devices
CARRIED = 0.1  # of the load's bytes: less is other traffic
NOISE_CPU, NOISE_DISK, NOISE_NIC = default("background-load.cpu"), 20.0, 0.05


@of_hosts_in_step(lambda at, host: "" if _has_cpu(at, host.name) else "client-cpus")
@step_check(
    "client-cpu",
    "Client CPU",
    rule=(
        f"on average and in most seconds: no core is busy for more than {CORE:.0f} % of the time"
        f" (with {FEW_CORES} cores or fewer: only if tasks wait for a CPU more than {WAITED:.0f} %"
        f" of the time); the host, and the CPUs allowed for the load, are at most {HOST:.0f} %"
        f" busy; no thread of the load uses more than {THREAD:.0f} % of a core, less steal"
        " (without telemetry: mean of the threads, from the load generator); the hypervisor steals"
        f" less than {STEAL:.0f} %; the control group is throttled in at most {THROTTLED:.0f} % of"
        " the periods",
        "MPI ranks, which keep a core busy even while they wait for each other, spend at most"
        f" {QUEUED:.0f} % of their CPU time waiting for a CPU, however busy the CPUs are",
    ),
    advice=(
        "The storage may be faster than this client. Stop other programs on it, use more clients,"
        " spread interrupts, or use a cheaper engine (io_uring)."
    ),
    source=(
        "/proc/stat, /proc/PID/task/*/stat, cpu.stat of the control group; usr_cpu and"
        " sys_cpu from the load generator"
    ),
)
def client_cpu(at: StepEvidence) -> Iterator[CheckResult]:
    """A client whose CPU is busy may be unable to send more I/O, however fast the storage is.

    CPU time of other programs counts only if the load's own threads are busy nearly all the time.
    """
    hosts = clients(at)
    if not any(_has_cpu(at, name) for name in {*at.record.tasks, *(each.host for each in hosts)}):
        raise UnknownError("client-cpus" if hosts else "telemetry")
    if bound := _bound(at):
        scope: dict[str, Scalar] = {"hosts": " ".join(bound)}
        operands: Operands = {"hosts": list(bound.items())}
        yield CheckResult("warning", "bound", len(bound), 0, scope, operands)
    most = at.limit("client-cpu.steal")
    stolen = {
        host.host: share
        for host in hosts
        if (share := host.mean_of("cpu.steal") or 0.0) * at.passed > most
    }
    if stolen:
        worst = max(stolen, key=lambda host: stolen[host])
        scope = {"hosts": " ".join(stolen)}
        operands = {"host": worst, "percent": stolen[worst]}
        yield CheckResult("warning", "stolen", round(stolen[worst], 2), most, scope, operands)


def _has_cpu(at: StepEvidence, name: str) -> bool:
    """Return whether the CPU of a host, or of its load, is known by telemetry or from its load
    generator.
    """
    told = WITHHELD if polls(at.step) else ("cpu.busy", "gen.thread")
    host, task = client_of(at, name), at.record.tasks.get(name)
    monitored = host is not None and any(host.column(each) for each in told)
    by_tool = task is not None and not polls(at.step) and _cpu_by_tool(task) is not None
    return monitored or by_tool


def cpu_bound_hosts(at: StepEvidence) -> dict[str, Clause]:
    """Return clients whose CPU may limit the load, with the reason.

    For hosts without telemetry, uses what the load generator reports about its own threads.
    """
    monitored = {host.host: host for host in clients(at)}
    reasons = {
        name: cpu_bound(host, record_of(at.run, name), at.limit, polls=polls(at.step))
        for name, host in monitored.items()
    }
    most = at.limit("client-cpu.thread")
    for name, task in at.record.tasks.items() if not polls(at.step) else ():
        used = _cpu_by_tool(task)
        if name not in monitored and used is not None and used > most:
            reasons[name] = clause("threads", percent=used)
    return {name: why for name, why in reasons.items() if why is not None}


def _bound(at: StepEvidence) -> dict[str, Clause]:
    """Return clients whose CPU may limit the load, on average or for most of the time; for a
    running load, those that the result will name.
    """
    on_average = cpu_bound_hosts(at)
    monitored = {host.host: host for host in clients(at)}
    names = dict.fromkeys([*monitored, *on_average])
    found: dict[str, Clause] = {}
    for name in names:
        host, why = monitored.get(name), on_average.get(name)
        if host is None or (why is not None and at.record.state != "running"):
            found |= {name: why} if why is not None else {}
        elif reason := _bound_mostly(at, host):
            found[name] = reason
    return found


def _bound_mostly(at: StepEvidence, host: HostTelemetryRecord) -> Clause | None:
    """Return why a host's CPU may limit the load for most of the time; None if it does not."""
    record, by_ranks = record_of(at.run, host.host), polls(at.step)
    highest = {name: column.max for name in COLUMNS if (column := host.column(name)) is not None}
    at_most = Moment({name: value for name, value in highest.items() if value is not None})
    by_highest = cpu_bound(at_most, record, at.limit, polls=by_ranks)
    # a share of stolen or waiting time may be higher than that of the highest values
    if by_highest is None and not by_ranks and not at_most.mean_of("cpu.steal"):
        return None

    reasons: dict[str, list[Clause]] = {}

    def bound(values: Mapping[str, float]) -> bool:
        why = cpu_bound(Moment(values), record, at.limit, polls=by_ranks)
        if why is not None:
            reasons.setdefault(why["code"], []).append(why)
        return why is not None

    seconds, whole_s = host.seconds_where(COLUMNS, bound), _window_s(host)
    if not most_of_time(at, seconds, whole_s):
        return None
    if on_average := cpu_bound(host, record, at.limit, polls=by_ranks):
        return on_average
    usual = max(reasons.values(), key=len)
    return clause("cpu-for-seconds", what=max(usual, key=_percent), seconds=seconds, of_s=whole_s)


def _percent(why: Clause) -> float:
    percent = why["operands"].get("percent")
    return percent if isinstance(percent, int | float) else 0.0


def full_links(at: StepEvidence, hosts: Sequence[HostTelemetryRecord]) -> dict[str, Clause]:
    """Return the hosts with a full link, and that link."""
    return {host.host: link for host in hosts if (link := _full(at, host))}


def hosts_at_limit(at: StepEvidence, hosts: Sequence[HostTelemetryRecord]) -> set[str]:
    """Return the clients whose CPU or link was at its limit, on average or for most of the time."""
    carrying = [host for host in hosts if carries_load(at, host)]
    return {*_bound(at), *full_links(at, carrying)}


def _window_s(host: HostTelemetryRecord) -> float:
    """Return the length of the measured window of a host."""
    return (host.end_s or 0.0) - (host.start_s or 0.0)


def _cpu_by_tool(task: TaskRecord) -> float | None:
    """Return the mean CPU use of the load's threads, in per cent of their time; None if unknown."""
    return None if task.usr_cpu is None or task.sys_cpu is None else task.usr_cpu + task.sys_cpu


def cpu_share(at: StepEvidence, host: HostTelemetryRecord) -> float | None:
    """Return the share of time that a host's workers spent on a CPU or waiting for one; None if
    unknown.
    """
    waves = {job.wave for job in at.step.jobs}
    workers = sum(job.workers for job in at.step.jobs)
    used, waited = host.mean_of("gen.cpu"), host.mean_of("gen.wait")
    if len(waves) != 1 or used is None or waited is None:
        return None
    return min(1.0, (used + waited) / 100 / workers)


def held_by_cpu(at: StepEvidence, host: HostTelemetryRecord) -> Clause | None:
    """Return why a host's CPU limits its load; None if it does not.

    Busy CPUs limit it only if the load itself uses most of that CPU time, or its workers spend most
    of their time on a CPU or waiting for one. Other programs on busy CPUs take nothing from
    sleeping workers.
    """
    record = record_of(at.run, host.host)
    why = cpu_bound(host, record, at.limit, polls=polls(at.step))
    share, used = cpu_share(at, host), host.mean_of("gen.cpu")
    if not why or by_itself(host, record, at.limit) or share is None or used is None:
        return why
    busy = (host.mean_of("cpu.busy") or 0.0) * cpus_of(record)
    return why if share > MOST_OF_TIME or used > MOST_OF_TIME * busy else None


@of_hosts_in_step(lambda at, host: _unknown_links(at, host.name))
@step_check(
    "network",
    "Network",
    rule=(
        f"on average and in most seconds, every link runs at no more than {units.share(LINK)} of"
        f" its speed; at most {units.share(RETRANSMITTED, 1)} of TCP segments and no NFS calls are"
        " retransmitted"
    ),
    advice=(
        "The link limits the figure. Use more or faster links, or more clients; if packets are"
        " lost, check the switch."
    ),
    source="/proc/net/dev, /sys/class/net/*/speed, /proc/net/snmp, mountstats",
)
def network(at: StepEvidence) -> Iterator[CheckResult]:
    """A saturated link shows its own speed, not that of the storage.

    On a lossy link the load waits for retransmissions.
    """
    hosts = clients_of(at)
    if not any(parse_column(name).family in LINKS for host in hosts for name in host.names):
        raise UnknownError("client-links")
    hosts = [host for host in hosts if carries_load(at, host)]
    if not hosts:
        raise UnknownError(Moot.NETWORK)
    full = full_links(at, hosts)
    lossy = {host.host: why for host in hosts if (why := lost_packets(host, at.passed))}
    for code, found in (("full", full), ("lossy", lossy)):
        if found:
            scope: dict[str, Scalar] = {"hosts": " ".join(found)}
            operands: Operands = {"hosts": list(found.items())}
            yield CheckResult("warning", code, len(found), 0, scope, operands)
    if not full and not lossy and not any(is_sized(at, host) for host in hosts):
        raise UnknownError("link-speed", hosts=[host.host for host in hosts])


def _unknown_links(at: StepEvidence, name: str) -> str:
    """Return, as a code, why a host's traffic cannot be compared with the speed of its links; empty
    if it can, or if the links do not carry the load.
    """
    host = client_of(at, name)
    if host is None or not any(parse_column(each).family in LINKS for each in host.names):
        return "client-links"
    return "" if not carries_load(at, host) or is_sized(at, host) else "link-speed"


def carries_load(at: StepEvidence, host: HostTelemetryRecord) -> bool:
    """Return whether a host's links carry the load; otherwise their traffic is unrelated."""
    if on_own_disks(host, record_of(at.run, host.host)):
        return False
    dirs = at.record.results.per_host.get(host.host, {}).values()
    moved = sum(result.bw_bytes_per_s or 0.0 for result in dirs)
    links = [name for name in host.names if parse_column(name).family in LINKS]
    carried = sum(
        host.mean_of(name) or 0.0 for name in links if parse_column(name).field in ("rx", "tx")
    )
    return carried > CARRIED * moved


def on_own_disks(host: HostTelemetryRecord, record: HostRecord | None) -> bool:
    """Return whether the target is known to be on local disks or in memory."""
    layers = rows(record.facts, BlockLayer) if record is not None else []
    mounts = rows(record.facts, Mount) if record is not None else []
    if mounts and all(mount.fstype in IN_MEMORY for mount in mounts):
        return True
    remote = any(layer.transport in BY_NETWORK or layer.kind in BY_NETWORK for layer in layers)
    return bool(host.devices) and bool(layers) and not remote


def full_link(host: HostTelemetryRecord, record: HostRecord | None) -> Clause | None:
    """Return the saturated link of a host; None if none is saturated or speeds are unknown."""
    for name, speed in link_speeds(record).items():
        carried = max(host.mean_of(f"{name}.{way}") or 0.0 for way in ("rx", "tx"))
        if carried > LINK * speed:
            link = name.partition(".")[2]
            return clause("link", link=link, share=carried / speed, gbit_per_s=speed * 8 / 1e9)
    return None


def _full(at: StepEvidence, host: HostTelemetryRecord) -> Clause | None:
    """Return the link of a host that is saturated on average or for most of the time; for a running
    load, one that the result will name. None if there is none, or speeds are unknown.
    """
    record = record_of(at.run, host.host)
    link = full_link(host, record)
    if link is not None and at.record.state != "running":
        return link
    for name, speed in link_speeds(record).items():
        columns = [f"{name}.{way}" for way in ("rx", "tx")]

        def full(values: Mapping[str, float], speed: float = speed) -> bool:
            return max(values.values(), default=0.0) > LINK * speed

        seconds, whole_s = host.seconds_where(columns, full), _window_s(host)
        if most_of_time(at, seconds, whole_s):
            if link is not None:
                return link
            known = [column.max or 0.0 for each in columns if (column := host.column(each))]
            carried = max(known, default=0.0)
            told = clause("link", link=name.partition(".")[2], share=carried / speed,
                          gbit_per_s=speed * 8 / 1e9)  # fmt: skip
            return clause("link-for-seconds", what=told, seconds=seconds, of_s=whole_s)
    return None


def is_sized(at: StepEvidence, host: HostTelemetryRecord) -> bool:
    """Return whether the speed of the busiest link is known."""
    links = {name.rpartition(".")[0] for name in host.names if parse_column(name).family in LINKS}
    carried = {
        name: max(host.mean_of(f"{name}.{way}") or 0.0 for way in ("rx", "tx")) for name in links
    }
    return max(carried, key=lambda name: carried[name]) in link_speeds(record_of(at.run, host.host))


def lost_packets(host: HostTelemetryRecord, passed: float = 1.0) -> Clause | None:
    """Return the packet loss; None if it will be negligible at the end unless more packets are
    lost.

    `passed`: share of the time that has passed. Excludes spurious retransmissions: a peer with a
    busy CPU acknowledges late, then reports the duplicates (DSACK, RFC 2883).
    """
    again, sent = host.mean_of("tcp.retrans") or 0.0, host.mean_of("tcp.out") or 0.0
    again = max(0.0, again - (host.mean_of("tcp.dup") or 0.0))
    seconds = (host.end_s or 0.0) - (host.start_s or 0.0)
    few = RETRANSMITTED * sent * seconds / passed
    if sent and seconds and again > few + CHANCE * sqrt(max(few, 1.0)):
        return clause("segments", share=again / (sent * seconds))
    calls = host.mean_of("nfs.retrans") or 0.0
    return clause("calls", calls=calls) if calls else None


@run_check(
    "background-load",
    "Quiet before the load",
    rule=(
        f"before the load, the CPU is at most {NOISE_CPU:.0f} % busy, the target's device is at"
        f" most {NOISE_DISK:.0f} % busy, and links run at no more than {units.share(NOISE_NIC)} of"
        " their speed"
    ),
    advice=(
        "Find out what else uses the host (other runs, backups, rebuilds), and measure when"
        " it has finished."
    ),
    source="telemetry before the first load",
)
def quiet(evidence: RunEvidence) -> Iterator[CheckResult | Unread]:
    """Programs that are already active before the load compete with it."""
    steps = [
        StepEvidence(evidence, *pair)
        for pair in zip(evidence.plan.steps, evidence.steps, strict=True)
    ]
    clients = ((at, host) for at in steps for host in at.record.telemetry if host.role == "client")
    # the first load may be a fill or a warm-up
    monitored = [(at, host) for at, host in clients if host.quiet]
    if not monitored:
        raise UnknownError("idle-telemetry")
    known = {host.host for _, host in monitored}
    names = [host.name for host in evidence.hosts if host.role == "client"]
    unread = [name for name in names if name not in known]
    yield Unread(UnknownError("idle-telemetry"), hosts=unread)
    noisy = {host.host: what for at, host in monitored if (what := noise(at, host))}
    if noisy:
        scope: dict[str, Scalar] = {"hosts": " ".join(noisy)}
        operands: Operands = {"hosts": list(noisy.items())}
        yield CheckResult("warning", "noisy", len(noisy), 0, scope, operands)


def noise(at: StepEvidence, host: HostTelemetryRecord) -> Clause | None:
    """Return the activity on a host before the load; None if it was quiet."""
    busy = before(host, "cpu.busy") or 0.0
    if busy > at.limit("background-load.cpu"):
        return clause("busy", what="CPU", percent=busy)
    for name, place in host.devices.items():
        if place == "top" and (share := before(host, f"dev.{name}.busy") or 0.0) > NOISE_DISK:
            return clause("busy", what=name, percent=share)
    record = record_of(at.run, host.host)
    for nic in rows(record.facts, Nic) if record else []:
        carried = max(before(host, f"nic.{nic.name}.{way}") or 0.0 for way in ("rx", "tx"))
        if nic.speed_mbit and carried > NOISE_NIC * nic.speed_mbit * 1e6 / 8:
            return clause("carries", link=nic.name, bytes_per_s=carried)
    return None


def before(host: HostTelemetryRecord, name: str) -> float | None:
    """Return the mean of a column over the quiet seconds; None if unknown."""
    known = [value for value in host.values_of(name)[: host.quiet] if value is not None]
    return sum(known) / len(known) if known else None


def clients_of(at: StepEvidence) -> list[HostTelemetryRecord]:
    """Return the hosts with load and telemetry. Raises UnknownError without any."""
    found = clients(at)
    if not found:
        raise UnknownError("telemetry")
    return found


def clients(at: StepEvidence) -> list[HostTelemetryRecord]:
    """Return the hosts with load and telemetry, if any."""
    return [
        host for host in at.record.telemetry if host.role == "client" and host.start_s is not None
    ]


def client_of(at: StepEvidence, name: str) -> HostTelemetryRecord | None:
    """Return the telemetry of a host with load; None without any."""
    return next((host for host in clients(at) if host.host == name), None)


def record_of(run: RunEvidence, name: str) -> HostRecord | None:
    """Return the record of a host; None if the run has no such host."""
    return next((host for host in run.hosts if host.name == name), None)


TELEMETRY_CHECKS = (client_cpu, network, quiet)
