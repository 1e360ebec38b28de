"""Bottleneck of a step: the first saturated resource, in the order of `_CANDIDATES`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from tui.judge.check import StepEvidence, UnknownError, on_objects
from tui.judge.cpus import is_left, wanted
from tui.judge.limits import reached_io_limit
from tui.judge.load import is_reached, occupied, offered_rates
from tui.judge.observed import (
    carries_load,
    clients_of,
    cpu_bound_hosts,
    full_link,
    held_by_cpu,
    hosts_at_limit,
    is_sized,
    record_of,
)
from tui.judge.severity import did_no_io
from tui.metrics.registry import each_io_once
from tui.metrics.telemetry import parse_column
from tui.metrics.units import iops
from tui.model.operands import Clause, clause, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tui.model.figure_record import DirectionRecord
    from tui.model.plan import Step
    from tui.model.step_record import BottleneckRecord, HostTelemetryRecord

Kind = Literal[
    "rate", "client-cpu", "network", "client-device", "server-cpu", "concurrency", "storage"
]
MOST = 0.5  # of the hosts: one slow client is a straggler, not the bottleneck
IN_DEVICE = 0.6  # of the latency of the load
SATURATED, QUEUED = 90.0, 1.5  # per cent of the time, and requests in flight on average
ONE_CORE = 105.0  # per cent of a core that one thread may appear to use
FEW = 4  # I/Os in flight over all hosts: so few measure latency, not capacity
IDLE = 0.5  # of the workers' time: they wait for something other than I/O
PAUSES, EXPLAINED = 0.2, 0.9  # of the workers' time: pauses; pauses and I/O together


def bottleneck_of(at: StepEvidence) -> BottleneckRecord | None:
    """Return the bottleneck of a step; None without completed I/O or telemetry of its hosts."""
    from tui.model.figure_record import CodedText
    from tui.model.step_record import BottleneckRecord

    try:
        hosts = clients_of(at)
    except UnknownError:
        return None
    if not at.record.results.aggregate or did_no_io(at.record):
        return None
    kind, why = next(
        ((kind, why) for kind, examine in _CANDIDATES if (why := examine(at, hosts)) is not None),
        ("storage", _no_other(at, hosts)),
    )
    return BottleneckRecord(kind=kind, text=CodedText.model_validate(listed(why)))


def _no_other(at: StepEvidence, hosts: list[HostTelemetryRecord]) -> Clause:
    """Return how far other bottlenecks are ruled out: CPUs come before unknown link speeds."""
    if held := sum(held_by_cpu(at, host) is not None for host in hosts):
        return clause("no-other-but-some-cpus", held=held, of=len(hosts))
    if cpu_bound_hosts(at):
        return clause("no-other-but-busy-cpus")
    if held := len(hosts_at_limit(at, hosts)):
        return clause("no-other-but-at-limit", held=held, of=len(at.step.tasks))
    blind = any(carries_load(at, host) and not is_sized(at, host) for host in hosts)
    return clause("no-other-but-links-unknown" if blind else "no-other")


def _offered_rate(at: StepEvidence, _: list[HostTelemetryRecord]) -> Clause | None:
    """Return the offered rate if the load reached it in every direction; None otherwise."""
    hosts = len(at.step.tasks)
    reached: dict[str, tuple[str, float]] = {}
    try:
        for each in offered_rates(at.step.jobs, at.record):
            name, offered, _achieved, text = each
            if is_reached(at, each):
                reached[name] = ("iops" if text is iops else "bytes_per_s", offered * hosts)
    except UnknownError:
        return None
    carried = {name for job in at.step.jobs for name in job.directions}
    free = [name for name in at.record.results.aggregate if name in carried and name not in reached]
    rates = [(name, *rate) for name, rate in reached.items()]
    return clause("offered-rate", rates=rates) if reached and not free else None


def _own_pauses(at: StepEvidence, _: list[HostTelemetryRecord]) -> Clause | None:
    """Return the share of think time if pauses and, by Little's law, I/Os fill the workers' time;
    else None.
    """
    pauses = {(job.think_s, job.wave) for job in at.step.jobs}
    workers = sum(job.workers for job in at.step.jobs) * len(at.step.tasks)
    if len(pauses) != 1 or not workers:
        return None
    results = at.record.results.aggregate
    rate = sum(results[name].iops or 0.0 for name in each_io_once(results))
    think_s, _wave = pauses.pop()
    thinking, in_io = rate * think_s / workers, occupied(results, workers)
    if thinking < PAUSES or in_io is None or thinking + in_io < EXPLAINED:
        return None
    return clause("own-pauses", share=thinking)


def _client_cpu(at: StepEvidence, hosts: list[HostTelemetryRecord]) -> Clause | None:
    return _most("on-client-cpu", hosts, lambda host: held_by_cpu(at, host))


def _network(at: StepEvidence, hosts: list[HostTelemetryRecord]) -> Clause | None:
    carrying = [host for host in hosts if carries_load(at, host)]
    return _most("on-network", carrying, lambda host: full_link(host, record_of(at.run, host.host)))


def _most(
    code: str,
    hosts: list[HostTelemetryRecord],
    why: Callable[[HostTelemetryRecord], Clause | None],
) -> Clause | None:
    found = [(host.host, each) for host in hosts if (each := why(host)) is not None]
    return clause(code, hosts=found) if found and len(found) >= MOST * len(hosts) else None


def _client_device(at: StepEvidence, hosts: list[HostTelemetryRecord]) -> Clause | None:
    return _most(
        "on-client-device", hosts, lambda host: _io_limit(at, host) or _busy_device(at, host)
    )


def _io_limit(at: StepEvidence, host: HostTelemetryRecord) -> Clause | None:
    """Return the control group's I/O limit that a host's load reached; None if none."""
    found = reached_io_limit(at, record_of(at.run, host.host))
    return None if found is None else clause("io-limit", what=found[0].what, limit=found[0].limit)


def _busy_device(at: StepEvidence, host: HostTelemetryRecord) -> Clause | None:
    """Return the device that limits a host's I/O: over 90 % busy, with a queue, and causing most of
    the latency; None if there is none.
    """
    for name, place in host.devices.items():
        busy, queue = (
            host.mean_of(f"dev.{name}.busy") or 0.0,
            host.mean_of(f"dev.{name}.queue") or 0.0,
        )
        if (
            place == "top"
            and busy > SATURATED
            and queue > QUEUED
            and _share_in(at, host, name) > IN_DEVICE
        ):
            return clause("device", device=name, percent=busy, queue=queue)
    return None


def _share_in(at: StepEvidence, host: HostTelemetryRecord, device: str) -> float:
    """Return the share of their time that all reads and writes spent in a device; 0 if unknown."""
    in_device = whole = 0.0
    for name, column in (("read", "rlat"), ("write", "wlat")):
        result = at.record.results.per_host.get(host.host, {}).get(name)
        latency = (result.lat or result.clat) if result is not None else None
        if latency is not None and latency.mean_ns:
            spent_ms = host.mean_of(f"dev.{device}.{column}") or 0.0
            in_device += latency.n * spent_ms * 1e6
            whole += latency.n * latency.mean_ns
    return in_device / whole if whole else 0.0


def _server_cpu(at: StepEvidence, _: list[HostTelemetryRecord]) -> Clause | None:
    servers = [
        host for host in at.record.telemetry if host.role == "server" and host.start_s is not None
    ]
    found = [
        (host.host, clause("server", busy=busy))
        for host in servers
        if (busy := list(_busy_groups(host, at.limit)))
    ]
    return clause("on-server-cpu", hosts=found) if found else None


def _busy_groups(host: HostTelemetryRecord, limit: Callable[[str], float]) -> Iterator[Clause]:
    """Yield process groups in which every process uses a whole core, and the host itself if it is
    busy.

    A process that uses more than one core has several threads; whether these are saturated is
    unknown.
    """
    groups = [
        name.subject
        for name in map(parse_column, host.names)
        if name.family == "group" and name.field == "cpu"
    ]
    for group in groups:
        count, cpu = (host.mean_of(f"group.{group}.{field}") or 0.0 for field in ("procs", "cpu"))
        if (
            count
            and cpu / count <= ONE_CORE
            and wanted(host, cpu / count) > limit("client-cpu.core")
        ):
            yield clause(
                "group",
                group=group,
                percent=cpu / count,
                processes=count,
                stolen=is_left(cpu / count, limit("client-cpu.core")),
            )
    if (busy := host.mean_of("cpu.busy") or 0.0) > limit("client-cpu.host"):
        yield clause("cpu", percent=busy)


def _concurrency(at: StepEvidence, _: list[HostTelemetryRecord]) -> Clause | None:
    held = sum(job.held for job in at.step.jobs) * len(at.step.tasks)
    if 0 < held <= FEW:
        measured = _in_flight(at.record.results.aggregate, held)
        return clause("latency-bound", held=held, of_objects=on_objects(at.step), **measured)
    share = occupied(at.record.results.aggregate, held) if _thinks(at.step) else None
    return None if share is None or share > 1 - IDLE else clause("think-time", share=1 - share)


def _in_flight(results: Mapping[str, DirectionRecord], held: int) -> dict[str, float]:
    """Return the mean number of I/Os in flight and their mean latency; empty if not measured."""
    share = occupied(results, held)
    rates = {name: results[name].iops or 0.0 for name in each_io_once(results)}
    latencies = {name: results[name].lat or results[name].clat for name in rates}
    total = sum(rates.values())
    means = [
        rates[name] * latency.mean_ns
        for name, latency in latencies.items()
        if latency is not None and latency.mean_ns is not None
    ]
    if share is None or not total or len(means) < len(rates):
        return {}
    return {"in_flight": round(share * held, 2), "mean_ns": round(sum(means) / total)}


def _thinks(step: Step) -> bool:
    """Return whether workers also wait for something other than I/O, such as think time."""
    together = len({job.wave for job in step.jobs}) == 1
    return together and all(
        job.paced and not job.rate_iops and not job.rate_bytes_per_s for job in step.jobs
    )


Examine = Callable[[StepEvidence, list["HostTelemetryRecord"]], Clause | None]
_CANDIDATES: tuple[tuple[Kind, Examine], ...] = (
    ("rate", _offered_rate),
    ("concurrency", _own_pauses),
    ("client-cpu", _client_cpu),
    ("network", _network),
    ("server-cpu", _server_cpu),
    ("client-device", _client_device),
    ("concurrency", _concurrency),
)
