"""Checks of telemetry: whether bytes came from storage, and whether a client limited the load."""

from __future__ import annotations

from math import ceil, sqrt
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from tui.judge.between import between_samples
from tui.judge.check import (
    CheckResult,
    Moot,
    RunEvidence,
    Severity,
    StepEvidence,
    UnknownError,
    run_check,
    step_check,
)
from tui.judge.cpus import (
    FEW_CORES,
    QUEUED,
    WAITED,
    WITHHELD,
    by_itself,
    cpu_bound,
    cpus_of,
    polls,
)
from tui.judge.links import LINK, LINKS, link_speeds
from tui.judge.machines import IN_MEMORY
from tui.judge.pace import clock_of, is_on_time
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
CONSERVED, HALF = default("storage-traffic.moved"), 0.5
EDGE_S = 1.0  # samples each second do not match begin and end exactly
LEAST_S = 5.0
# processes whose bytes telemetry reads every second; of more it reads some in turn
READ_AT_ONCE = 16
CounterName = Literal["mounts", "processes", "devices"]
COUNTED = (("read", "read_bytes", "rd", "rd_server"), ("write", "write_bytes", "wr", "wr_server"))
NOISE_CPU, NOISE_DISK, NOISE_NIC = default("background-load.cpu"), 20.0, 0.05


@step_check(
    "storage-traffic",
    "Bytes came from storage",
    rule=(
        f"the hosts moved at least {units.share(CONSERVED)} of the bytes that the load counts, both"
        " between the same two telemetry samples (less what the seconds in which these fall leave"
        " open) and in the whole time (one second at each end ignored), by the bytes of NFS"
        " mounts; otherwise, where the target's block devices are known, by the bytes that the"
        " kernel counts for the load's processes, or of these devices (for buffered writes, which"
        " the processes only put into memory, the devices come first); error below"
        f" {units.share(HALF)} (not for buffered writes, which the client may write back later),"
        " and also if the bytes agree between samples but not per second, and tool-clock says why"
    ),
    advice=(
        "The rest came from a cache or from blocks that were never written: lay out all"
        " files, use direct=1, or make the working set larger than the caches."
    ),
    source="/proc/PID/io of the load, /proc/diskstats, /proc/self/mountstats",
    when="files",
)
def conservation(at: StepEvidence) -> Iterator[CheckResult]:
    """Bytes that no device, link or server delivered were in memory or never written (holes and
    unwritten extents read as zeros at memory speed), or took a path that these counters do not see,
    such as a kernel bypass."""
    if at.step.jobs and not any(job.stores for job in at.step.jobs):
        raise UnknownError(Moot.DATA)
    found = {
        (host.host, each.direction): each for host in clients_of(at) for each in _ratios(at, host)
    }
    if not found:
        raise UnknownError("byte-counters")
    ratios = {place: each.share for place, each in found.items()}
    open_ends = {place: each.uncertain for place, each in found.items()}
    for each in fell_short(at, ratios, "storage-traffic.moved", open_ends):
        kind = "read" if each.direction == "read" else "written"
        counter = found[each.worst, each.direction].counter
        later = _is_later(at, each.direction)
        result = each.result(f"{kind}-{counter}", "warning" if later else "error")
        if not is_on_time(at, each.worst):
            # bytes that agree between samples, but not per second, prove it
            proven = found[each.worst, each.direction].agrees
            severity = "error" if proven else result.severity
            result = replace(result, severity=severity, code=f"clock-{counter}")
        yield result


class MovedShare(Struct, frozen=True):
    """Share of a host's bytes in a direction that a counter beneath the load counted, and how much
    of it is uncertain. `agrees`: between two samples, it counted the same bytes.
    """

    direction: str
    share: float
    counter: CounterName
    uncertain: float
    agrees: bool = False


class Shortfall(Struct, frozen=True):
    """Hosts that moved less than the share `wanted` of the load's bytes in a direction.

    `worst` is the host that moved the smallest share, `share`; `by_end` if it moves all bytes in
    the rest of the time.
    """

    direction: str
    worst: str
    share: float
    by_end: float
    wanted: float
    hosts: tuple[str, ...]

    def result(self, code: str, below_half: Severity = "error") -> CheckResult:
        """Return the check result: a warning, or `below_half` if less than half was moved."""
        severity: Severity = below_half if self.by_end < HALF else "warning"
        scope: dict[str, Scalar] = {"direction": self.direction, "hosts": " ".join(self.hosts)}
        operands: Operands = {"direction": self.direction, "host": self.worst, "share": self.share}
        return CheckResult(severity, code, round(self.share, 4), self.wanted, scope, operands)


def fell_short(
    at: StepEvidence,
    shares: Mapping[tuple[str, str], float],
    threshold: str,
    uncertain: Mapping[tuple[str, str], float] | None = None,
) -> Iterator[Shortfall]:
    """Yield directions in which hosts' shares are below a threshold, less what is uncertain: by
    default one second at each end.
    """
    wanted = at.limit(threshold)
    for name in dict.fromkeys(name for _, name in shares):
        low = {
            host: share
            for (host, of), share in shares.items()
            if of == name
            and at.at_end(share + (uncertain[host, of] if uncertain else edge(at, host, name)), 1.0)
            < wanted
        }
        if low:
            worst = min(low, key=lambda host: low[host])
            by_end = at.at_end(low[worst], 1.0)
            yield Shortfall(name, worst, low[worst], by_end, wanted, tuple(low))


def edge(at: StepEvidence, host: str, name: str) -> float:
    """Return the share of a host's bytes that may be missing: one mean second, or the last one if
    it carried more, because counters of processes that have ended cannot be read.
    """
    mean = EDGE_S / max(at.record.measured_s or 0.0, LEAST_S)
    columns = at.record.series.columns if at.record.series is not None else []
    rates = next((c.bw_bytes_per_s for c in columns if (c.host, c.direction) == (host, name)), [])
    known = [rate for rate in rates if rate is not None]
    return max(mean, EDGE_S * known[-1] / sum(known)) if any(known) else mean


def _is_later(at: StepEvidence, direction: str) -> bool:
    """Return whether these are buffered writes, which may reach storage after the load."""
    return direction != "read" and not all(job.direct for job in at.step.jobs)


def _ratios(at: StepEvidence, host: HostTelemetryRecord) -> Iterator[MovedShare]:
    """Yield, by direction, the share of the load's bytes that moved beneath it: of the whole time
    or, if that is further below the limit, between two samples.

    Raises UnknownError for a short measurement.
    """
    if (at.record.measured_s or 0.0) < LEAST_S:
        raise UnknownError("too-short", least_s=LEAST_S)
    for name, own, disk, server in COUNTED:
        result = at.record.results.per_host.get(host.host, {}).get(name)
        if host.end_s is not None and host.end_s - (host.start_s or 0.0) < LEAST_S:
            continue  # it did not run to the end
        counted = result.bw_bytes_per_s if result is not None else None
        columns = (f"gen.{own}", disk, f"nfs.{server}")
        later = _is_later(at, name)
        moved = _moved(host, columns, later=later)
        if counted and moved is not None:
            # both by the same clock, and of the same real time
            time = _share_of_time(at, host, name)
            bytes_per_s, counter = moved
            ratio = bytes_per_s * (clock_of(at, host.host) or 1.0) / (counted * time)
            whole = MovedShare(name, ratio, counter, edge(at, host.host, name))
            values = _values(host, columns, counter) if time == 1.0 and not later else []
            inside = between_samples(at, host, name, values)
            if inside is None:
                yield whole
            else:
                part = MovedShare(name, inside[0], counter, inside[1])
                agrees = part.share >= at.limit("storage-traffic.moved") - part.uncertain
                lower = min(whole, part, key=lambda each: each.share + each.uncertain)
                yield replace(lower, agrees=agrees)


def _share_of_time(at: StepEvidence, host: HostTelemetryRecord, name: str) -> float:
    """Return the share of the telemetry's window in which a host did I/O in a direction.

    Less than 1 for writes that are verified afterwards: their reads have a time of their own.
    """
    asked = {each for job in at.step.jobs for each in job.directions}
    parts = at.record.results.per_host.get(host.host, {})
    apart = bool(asked) and any(each in parts and each not in asked for each, *_ in COUNTED)
    span_s = (host.end_s or 0.0) - (host.start_s or 0.0)
    runtime_s = parts[name].runtime_s if name in parts else None
    if not apart or not runtime_s or span_s <= 0:
        return 1.0
    return min(1.0, runtime_s / span_s)


def _moved(
    host: HostTelemetryRecord, columns: tuple[str, str, str], *, later: bool
) -> tuple[float, CounterName] | None:
    """Return bytes per second beneath the load, and what counted them; None without counters.

    `columns`: of its processes, of a device, of NFS mounts. `later`: these are buffered writes,
    which the kernel counts for a process when it puts them into memory.
    """
    own, disk, server = columns
    if (from_server := host.mean_of(server)) is not None:
        return from_server, "mounts"
    tops = [name for name, place in host.devices.items() if place == "top"]
    if not tops:
        return None
    below = [value for name in tops if (value := host.mean_of(f"dev.{name}.{disk}")) is not None]
    if later and len(below) == len(tops):
        return sum(below), "devices"
    own_bytes = host.mean_of(own) if _all_counted(host) else _read_in_turn(host, own)
    if own_bytes is not None:
        return own_bytes, "processes"
    return (sum(below), "devices") if below else None


def _values(
    host: HostTelemetryRecord, columns: tuple[str, str, str], counter: CounterName
) -> Sequence[float | None]:
    """Return bytes per second beneath the load at each sample; empty if not all are counted."""
    own, disk, server = columns
    if counter == "mounts":
        return host.values_of(server)
    if counter == "processes":
        # processes that have ended take the bytes of their last second along
        column = host.column("gen.procs")
        if column is None or not _all_counted(host):
            return []
        pairs = zip(host.values_of("gen.procs"), host.values_of(own), strict=False)
        return [value if count == column.max else None for count, value in pairs]
    tops = [f"dev.{name}.{disk}" for name, place in host.devices.items() if place == "top"]
    rows = zip(*(host.values_of(name) for name in tops if host.column(name)), strict=True)
    return [None if None in row else sum(each or 0.0 for each in row) for row in rows]


def _all_counted(host: HostTelemetryRecord) -> bool:
    """Return whether the bytes of all processes of the load are known in every second."""
    processes = host.column("gen.procs")
    return (
        "gen.procs" not in host.unknown
        and processes is not None
        and (processes.max or 0.0) <= READ_AT_ONCE
    )


def _read_in_turn(host: HostTelemetryRecord, name: str) -> float | None:
    """Return bytes per second of a load whose processes are sampled in turn.

    The sum is complete once each was sampled twice. None if too little time remained after that;
    then the device counts, though others may use it as well.
    """
    processes = host.column("gen.procs")
    if "gen.procs" in host.unknown or processes is None or host.start_s is None:
        return None
    turn_s = ceil((processes.max or 0.0) / READ_AT_ONCE)
    first = host.start_s + 2 * turn_s + LEAST_S  # they are found in the first seconds
    seen = zip(host.ends_s, host.values_of(name), strict=False)
    kept = [each for t, each in seen if each is not None and first < t <= (host.end_s or t)]
    return fmean(kept) if len(kept) > 2 * turn_s else None


@step_check(
    "client-cpu",
    "Client CPU",
    rule=(
        f"no core is busy for more than {CORE:.0f} % of the time (with {FEW_CORES} cores or"
        f" fewer: only if tasks wait for a CPU more than {WAITED:.0f} % of the time); the"
        f" host, and the CPUs allowed for the load, are at most {HOST:.0f} % busy; no thread"
        f" of the load uses more than {THREAD:.0f} % of a core, less steal (without telemetry:"
        " mean of the threads, from the load generator); the hypervisor steals less than"
        f" {STEAL:.0f} %; the control group is throttled in at most {THROTTLED:.0f} % of the"
        " periods",
        "MPI ranks, which keep a core busy even while they wait for each other, spend at"
        f" most {QUEUED:.0f} % of their CPU time waiting for a CPU, whatever is busy"
    ),
    advice=(
        "The storage may be faster than this client. Use more clients or more jobs, spread"
        " interrupts, or use a cheaper engine (io_uring)."
    ),
    source=(
        "/proc/stat, /proc/PID/task/*/stat, cpu.stat of the control group; usr_cpu and"
        " sys_cpu from the load generator"
    ),
)
def client_cpu(at: StepEvidence) -> Iterator[CheckResult]:
    """A client whose CPU is busy may be unable to send more I/O, however fast the storage is.

    CPU time of other programs counts only if the load's workers hardly ever sleep.
    """
    hosts = clients(at)
    told = WITHHELD if polls(at.step) else ("cpu.busy", "gen.thread")
    monitored = any(host.column(name) for host in hosts for name in told)
    by_tool = any(_cpu_by_tool(task) is not None for task in at.record.tasks.values())
    if not monitored and (polls(at.step) or not by_tool):
        raise UnknownError("client-cpus" if hosts else "telemetry")
    if bound := cpu_bound_hosts(at):
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


@step_check(
    "network",
    "Network",
    rule=(
        f"every link carries at most {units.share(LINK)} of its speed; at most"
        f" {units.share(RETRANSMITTED, 1)} of TCP segments and no NFS calls are retransmitted"
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
    full = {
        host.host: link for host in hosts if (link := full_link(host, record_of(at.run, host.host)))
    }
    lossy = {host.host: why for host in hosts if (why := lost_packets(host, at.passed))}
    for code, found in (("full", full), ("lossy", lossy)):
        if found:
            scope: dict[str, Scalar] = {"hosts": " ".join(found)}
            operands: Operands = {"hosts": list(found.items())}
            yield CheckResult("warning", code, len(found), 0, scope, operands)
    if (
        not full
        and not lossy
        and (unsized := [host.host for host in hosts if not is_sized(at, host)])
    ):
        raise UnknownError("link-speed", hosts=unsized)


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


def is_sized(at: StepEvidence, host: HostTelemetryRecord) -> bool:
    """Return whether the speed of the busiest link is known."""
    links = {name.rpartition(".")[0] for name in host.names if parse_column(name).family in LINKS}
    carried = {
        name: max(host.mean_of(f"{name}.{way}") or 0.0 for way in ("rx", "tx")) for name in links
    }
    return max(carried, key=lambda name: carried[name]) in link_speeds(record_of(at.run, host.host))


def lost_packets(host: HostTelemetryRecord, passed: float = 1.0) -> Clause | None:
    """Return the packet loss; None if negligible, or if it would be at the end without further
    loss. `passed`: share of the time.

    Excludes spurious retransmissions: a peer with a busy CPU acknowledges late, then reports the
    duplicates (DSACK, RFC 2883).
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
        f"before the load, the CPU is at most {NOISE_CPU:.0f} % busy, the target's device at"
        f" most {NOISE_DISK:.0f} %, and links carry at most {units.share(NOISE_NIC)} of their speed"
    ),
    advice=(
        "Find out what else uses the host (other runs, backups, rebuilds), and measure when"
        " it has finished."
    ),
    source="telemetry before the first load",
)
def quiet(evidence: RunEvidence) -> Iterator[CheckResult]:
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


def record_of(run: RunEvidence, name: str) -> HostRecord | None:
    """Return the record of a host; None if the run has no such host."""
    return next((host for host in run.hosts if host.name == name), None)


TELEMETRY_CHECKS = (conservation, client_cpu, network, quiet)
