"""Check of bytes: whether the bytes that a load counts came from storage or reached it."""

from __future__ import annotations

from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from tui.judge.between import SameSamples, between_samples
from tui.judge.check import (
    CheckResult,
    Moot,
    Severity,
    StepEvidence,
    UnknownError,
    of_hosts_in_step,
    step_check,
)
from tui.judge.observed import client_of, clients_of
from tui.judge.pace import clock_of, is_on_time
from tui.metrics import units
from tui.model.criteria import default
from tui.model.operands import Operands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tui.model.figure_record import DirectionRecord
    from tui.model.step_record import HostTelemetryRecord, Scalar

CONSERVED, HALF = default("storage-traffic.moved"), 0.5
BURST = 10.0  # times the mean rate: more within a second means that clocks differ
ENDS = 3  # seconds: a whole series misses fewer, those in which the load began and ended
EDGE_S = 1.0  # samples each second do not match begin and end exactly
LEAST_S = 5.0
# processes whose bytes telemetry reads every second; of more it reads some in turn
READ_AT_ONCE = 16
CounterName = Literal["mounts", "processes", "devices"]
COUNTED = (("read", "read_bytes", "rd", "rd_server"), ("write", "write_bytes", "wr", "wr_server"))


@of_hosts_in_step(lambda at, host: "" if _is_counted(at, host.name) else "byte-counters")
@step_check(
    "storage-traffic",
    "Bytes came from storage",
    rule=(
        f"NFS mounts moved at least {units.share(CONSERVED)} of the bytes that the load counts; if"
        " there are none and the target's block devices are known, the load's processes did (as the"
        " kernel counts them) or, failing that, these devices (for buffered writes, which the"
        " processes only put into memory, the devices come first); this is compared between the"
        " same two telemetry samples (allowing for the seconds in which they fall) and at the"
        " result's rate (allowing for I/O above the mean rate in the seconds in which the load"
        " began and ended; without values over time, one second is ignored, or more if the last"
        f" sample of its processes is older); error below {units.share(HALF)} (not for buffered"
        " writes, which the client may write back later), and if the bytes agree between samples"
        " but not per second, which tool-clock then explains; a slow clock is named as a possible"
        " cause if tool-clock has too few samples"
    ),
    advice=(
        "The rest probably came from a cache or from blocks that were never written: lay out all"
        " files, use direct=1, or make the working set larger than the caches. A client that"
        " bypasses the kernel is not counted either."
    ),
    source="/proc/PID/io of the load, /proc/diskstats, /proc/self/mountstats",
    when="files",
)
def storage_traffic(at: StepEvidence) -> Iterator[CheckResult]:
    """Bytes that no device, link or server delivered were in memory or never written (holes and
    unwritten extents read as zeros at memory speed), or took a path that these counters do not
    cover, such as a kernel bypass.
    """
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
        elif clock_of(at, each.worst) is None and not later:
            # too few samples to tell a cache from a slow clock
            result = replace(result, code=f"{result.code}-or-clock")
        yield result


def _is_counted(at: StepEvidence, name: str) -> bool:
    """Return whether something beneath a host's load counts its bytes in a direction."""
    host = client_of(at, name)
    return host is not None and any(
        _moved(host, (f"gen.{own}", disk, f"nfs.{server}"), later=_is_later(at, way)) is not None
        for way, own, disk, server in COUNTED
    )


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

    `worst` is the host that moved the smallest share, `share`; `by_end`: its share at the end if it
    moves all bytes in the rest of the time.
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
    default one second.
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


def edge(at: StepEvidence, host: str, name: str, lost_s: float = 0.0) -> float:
    """Return the share of a host's bytes that may be missing: one mean second, or the last one if
    it carried more, because counters of processes that have ended cannot be read. `lost_s`: for how
    long, if known.
    """
    lost_s = max(EDGE_S, lost_s)
    mean = lost_s / max(at.record.measured_s or 0.0, LEAST_S)
    known = [rate for rate in _own_rates(at, host, name) if rate is not None]
    return max(mean, lost_s * known[-1] / sum(known)) if any(known) else mean


def _own_rates(at: StepEvidence, host: str, name: str) -> Sequence[float | None]:
    """Return what a host's load moved in a direction, in bytes per second over time."""
    columns = at.record.series.columns if at.record.series is not None else []
    return next((c.bw_bytes_per_s for c in columns if (c.host, c.direction) == (host, name)), [])


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
        if result is not None and counted and moved is not None:
            # both by the same clock, and of the same real time
            time = _share_of_time(at, host, name)
            bytes_per_s, counter = moved
            if counter == "processes" and time == 1.0 and not _all_counted(host):
                counted = _load_since(at, host, name) or counted
            values = _values(host, columns, counter) if time == 1.0 and not later else []
            inside = between_samples(at, host, name, values)
            ratio = bytes_per_s * (clock_of(at, host.host) or 1.0) / (counted * time)
            lost_s = _unread_s(host) if counter == "processes" else 0.0
            whole = MovedShare(name, ratio, counter, edge(at, host.host, name, lost_s))
            if inside is None:
                yield whole
                continue
            part = MovedShare(name, inside.share, counter, inside.uncertain)
            agrees = part.share >= at.limit("storage-traffic.moved") - part.uncertain
            rest_s = max(0.0, (host.end_s or 0.0) - (host.start_s or 0.0) - inside.known_s)
            if rest_s < ENDS * inside.step_s:  # Live has values of the last minutes only
                whole = _of_whole_time(part, inside, result, rest_s)
            lower = min(whole, part, key=lambda each: each.share + each.uncertain)
            yield replace(lower, agrees=agrees)


def _of_whole_time(
    part: MovedShare, inside: SameSamples, result: DirectionRecord, rest_s: float
) -> MovedShare:
    """Return the share of the result's rate that was moved: of the seconds between the samples, at
    the rate of all whole seconds.

    In the other seconds, in which the load began and ended, it may have moved more than at that
    rate.
    """
    rate = inside.known_bytes / inside.known_s
    share = part.share * rate / (result.bw_bytes_per_s or rate)
    total = result.bytes or inside.known_bytes
    more = max(0.0, min(total - inside.known_bytes, BURST * rate * rest_s) - rate * rest_s)
    return replace(part, share=share, uncertain=part.uncertain + more / total)


def _unread_s(host: HostTelemetryRecord) -> float:
    """Return the time from the last sample with a process of the load to the end of the load: bytes
    moved meanwhile are not counted.
    """
    counts = zip(host.t_s, host.values_of("gen.procs"), strict=False)
    last_s = max((end_s for end_s, count in counts if count), default=None)
    return 0.0 if last_s is None or host.end_s is None else max(0.0, host.end_s - last_s)


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
    which the kernel charges to a process when it dirties the page.
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
    if "gen.procs" in host.unknown or host.column("gen.procs") is None or host.start_s is None:
        return None
    first = host.start_s + 2 * _turn_s(host) + LEAST_S  # they are found in the first seconds
    seen = zip(host.ends_s, host.values_of(name), strict=False)
    kept = [each for t, each in seen if each is not None and first < t <= (host.end_s or t)]
    return fmean(kept) if len(kept) > 2 * _turn_s(host) else None


def _turn_s(host: HostTelemetryRecord) -> int:
    """Return the seconds in which each process of the load is sampled once."""
    processes = host.column("gen.procs")
    return ceil(((processes and processes.max) or 0.0) / READ_AT_ONCE)


def _load_since(at: StepEvidence, host: HostTelemetryRecord, name: str) -> float | None:
    """Return a load's bytes per second since its processes are sampled in turn: a sample has the
    bytes of the turn before it. None without values over time.
    """
    series = at.record.series
    if series is None:
        return None
    begin_s = series.start_s if host.start_s is None else host.start_s
    first = (begin_s + _turn_s(host) + LEAST_S - series.start_s) / series.step_s
    rates = _own_rates(at, host.host, name)[max(0, int(first)) :]
    kept = [rate for rate in rates if rate is not None]
    return fmean(kept) if kept else None
