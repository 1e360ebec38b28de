"""Check whether a control group's limit, rather than the storage, determined the figure."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from tui.judge.ahead import most_of_time
from tui.judge.check import (
    CheckResult,
    Moot,
    Severity,
    StepEvidence,
    UnknownError,
    of_hosts_in_step,
    step_check,
)
from tui.judge.data import skewed_sets
from tui.metrics import units
from tui.model.criteria import default
from tui.model.host_tables import BlockLayer, rows, why_unknown
from tui.model.hostfacts import number_of
from tui.model.operands import Clause, Operands, clause

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tui.model.host_record import HostRecord
    from tui.model.step_record import Scalar

REACHED = default("io-limit.reached")
# the kernel overshoots a limit a little; far above it something else moved the bytes
SPARE = 0.9
# share of a device's traffic from which all of it counts as the load's
OWN_SHARE = 0.8
# share of the files that fits into a host's page cache, but not its control group's
LESS_CACHED = 0.1
OLD_LIMITS = ("read_bps", "write_bps", "read_iops", "write_iops")
NEW_LIMITS = {"rbps": "read_bps", "wbps": "write_bps", "riops": "read_iops", "wiops": "write_iops"}
COLUMNS = {"read_bps": "rd", "write_bps": "wr", "read_iops": "reads", "write_iops": "writes"}


class IoLimit(NamedTuple):
    """A control group's limit for a device (major:minor).

    `what`: ``read_bps``, ``write_iops``, ...
    """

    number: str
    what: str
    limit: float

    @property
    def text_part(self) -> Clause:
        """The limit as part of a finding."""
        return clause("limit", number=self.number, what=self.what, limit=self.limit)


def io_limits(line: object) -> Iterator[IoLimit]:
    """Yield the limits on a line: `read_bps 8:0 1048576` (v1), `8:0 rbps=1048576 wbps=max` (v2)."""
    words = str(line).split()
    if len(words) == 3 and words[0] in OLD_LIMITS:
        found = [(words[1], words[0], words[2])]
    else:
        pairs = (word.partition("=") for word in words[1:])
        found = [(words[0], NEW_LIMITS[key], value) for key, _, value in pairs if key in NEW_LIMITS]
    yield from (
        IoLimit(number, what, float(value)) for number, what, value in found if value.isdigit()
    )


def _is_sure(at: StepEvidence, host: HostRecord) -> bool:
    """Return whether a host's load reached a limit that its result will have reached too: for a
    running load, one that its rate was at for most of the planned time.
    """
    if at.record.state != "running":
        return True
    for limit in (each for line in _listed(host) for each in io_limits(line)):
        if not _is_alone(host, limit):
            continue
        own = [rate for rate in _seconds(at, host, limit) if _reaches(at, rate, limit)]
        if most_of_time(at, float(len(own)), 0.0):
            return True
    return False


def _listed(host: HostRecord) -> Sequence[object]:
    listed = host.facts.get("cgroup_io")
    return listed if isinstance(listed, list) else ()


def reached_io_limit(at: StepEvidence, host: HostRecord | None) -> tuple[IoLimit, float] | None:
    """Return the I/O limit below the target that a host's load reached, and the rate; None if
    there is none.
    """
    if host is None:
        return None
    for limit in (each for line in _listed(host) for each in io_limits(line)):
        rates = [rate for rate in _rates(at, host, limit) if _reaches(at, rate, limit)]
        if rates:
            return limit, rates[0]
    return None


def _reaches(at: StepEvidence, rate: float, limit: IoLimit) -> bool:
    return at.limit("io-limit.reached") * limit.limit < rate < limit.limit / SPARE


def _rates(at: StepEvidence, host: HostRecord, limit: IoLimit) -> Iterator[float]:
    """Yield the rates to compare with a limit.

    These are the load's mean and median rate, if all of its I/O goes to that device, and the
    device's rate, if the load causes most of it. I/Os are limited when submitted, before the kernel
    merges them, so the device may count fewer.
    """
    layers = rows(host.facts, BlockLayer)
    device = next((layer for layer in layers if layer.number == limit.number), None)
    if device is None:
        return  # the limit of a device that the target does not use, as far as is known
    direction, _, unit = limit.what.partition("_")
    own = at.record.results.per_host.get(host.name, {}).get(direction)
    if own is not None and _is_alone(host, limit):
        mean = own.bw_bytes_per_s if unit == "bps" else own.iops
        yield from (rate for rate in (mean, _typical(at, host, limit)) if rate is not None)
    yield from _device_rate(at, host, limit, device.name)


def _is_alone(host: HostRecord, limit: IoLimit) -> bool:
    """Return whether all of a host's I/O goes to the device of a limit, as far as known."""
    layers = rows(host.facts, BlockLayer)
    known = any(layer.number == limit.number for layer in layers)
    return known and sum(not layer.below for layer in layers) == 1


def _typical(at: StepEvidence, host: HostRecord, limit: IoLimit) -> float | None:
    """Return the load's median rate over all seconds, without the influence of start and end; None
    if unknown.
    """
    known = _seconds(at, host, limit)
    return median(known) if known else None


def _seconds(at: StepEvidence, host: HostRecord, limit: IoLimit) -> list[float]:
    """Return the known rates of a load over time, in the direction and unit of a limit."""
    direction, _, unit = limit.what.partition("_")
    columns = at.record.series.columns if at.record.series is not None else ()
    own = next((c for c in columns if (c.host, c.direction) == (host.name, direction)), None)
    if own is None:
        return []
    seconds = own.bw_bytes_per_s if unit == "bps" else own.iops
    return [each for each in seconds if each is not None]


def _device_rate(
    at: StepEvidence, host: HostRecord, limit: IoLimit, device: str
) -> Iterator[float]:
    """Yield the rate of a device, unless a large part of it is foreign traffic."""
    seen = next(
        (each for each in at.record.telemetry if each.host == host.name and each.role == "client"),
        None,
    )
    if seen is None:
        return
    direction, _, _ = limit.what.partition("_")
    own = at.record.results.per_host.get(host.name, {}).get(direction)
    moved = seen.mean_of(f"dev.{device}.{COLUMNS[f'{direction}_bps']}")
    own_bytes = own.bw_bytes_per_s if own is not None else None
    if own_bytes is not None and moved is not None and own_bytes < OWN_SHARE * moved:
        return
    measured = seen.mean_of(f"dev.{device}.{COLUMNS[limit.what]}")
    yield from [measured] if measured is not None else []


@of_hosts_in_step(lambda _, host: _why_not_compared(host))
@step_check(
    "io-limit",
    "I/O limit of the control group",
    rule=(
        f"no host uses more than {units.share(REACHED)} of its control group's limit for a device"
        " below the target (bytes or IOPS, per direction), and the limits are the same during the"
        " load (three readings, if it has a runtime) and after it; rates far above a limit are"
        " ignored"
    ),
    advice=(
        "The limit, not the storage, probably sets the figure. Raise io.max (v1: blkio.throttle) of"
        " the load's group or slice, or quote the limit with the figure."
    ),
    source="io.max, blkio.throttle; rates of the load and of the device",
    when="files",
)
def io_limit(at: StepEvidence) -> Iterator[CheckResult]:
    """A load at the I/O limit of its control group probably measures that limit."""
    hosts = [host for host in at.run.hosts if host.name in at.record.results.per_host]
    if not any(map(_has_groups, hosts)):
        raise UnknownError("control-groups")
    found = {
        host.name: each
        for host in hosts
        if (each := reached_io_limit(at, host)) is not None and _is_sure(at, host)
    }
    if found:
        limit, rate = next(iter(found.values()))
        scope: dict[str, Scalar] = {"hosts": " ".join(found)}
        operands: Operands = {
            "hosts": [(host, each.text_part) for host, (each, _) in found.items()]
        }
        yield CheckResult("warning", "reached", round(rate), limit.limit, scope, operands)
    changed = {host.name: how for host in hosts if (how := _changed(host))}
    if changed:
        scope = {"hosts": " ".join(changed)}
        operands = {"hosts": list(changed.items())}
        yield CheckResult("warning", "changed", len(changed), 0, scope, operands)


def _why_not_compared(host: HostRecord) -> str:
    """Return, as a code, why a host's rates cannot be compared with its limits; empty if they can,
    or if it has no limits.
    """
    if not _has_groups(host):
        return "control-groups"
    return "target-devices" if _numbers(host) is None and _limits_of(host, "cgroup_io") else ""


def _numbers(host: HostRecord) -> set[str] | None:
    """Return the numbers of the devices below the target, such as ``8:0``; None if unknown."""
    layers = rows(host.facts, BlockLayer)
    numbers = {layer.number for layer in layers if layer.number}
    # a mount without devices, such as NFS, has neither rows nor a reason
    return None if not numbers and (layers or why_unknown(host.facts, "devices")) else numbers


def _has_groups(host: HostRecord) -> bool:
    """Return whether a host's control groups are known."""
    return "cgroup_version" in host.facts


def _changed(host: HostRecord) -> list[Clause]:
    """Return how the I/O limits of a host differ during or after a load; empty if they do not."""
    before = _limits_below_target(host, "cgroup_io")
    found = [
        each
        for name in ("cgroup_io_during", "cgroup_io_after")
        if name in host.facts
        for each in _changes(before, _limits_below_target(host, name))
    ]
    return [each for at, each in enumerate(found) if each not in found[:at]]


def _changes(
    old: Mapping[tuple[str, str], IoLimit], new: Mapping[tuple[str, str], IoLimit]
) -> list[Clause]:
    """Return how limits differ from earlier ones."""
    changes = [
        clause("now", now=limit.text_part, before=before.text_part if before is not None else None)
        for place, limit in new.items()
        if limit != (before := old.get(place))
    ]
    return changes + [
        clause("lifted", limit=old[place].text_part) for place in old if place not in new
    ]


def _limits_below_target(host: HostRecord, fact: str) -> dict[tuple[str, str], IoLimit]:
    """Return the limits of the devices below the target; of all devices if those are unknown."""
    limits, numbers = _limits_of(host, fact), _numbers(host)
    return {
        place: limit for place, limit in limits.items() if numbers is None or place[0] in numbers
    }


def _limits_of(host: HostRecord, fact: str) -> dict[tuple[str, str], IoLimit]:
    """Return the lowest limit by device and kind."""
    listed, found = host.facts.get(fact), dict[tuple[str, str], IoLimit]()
    for limit in (
        each for line in (listed if isinstance(listed, list) else ()) for each in io_limits(line)
    ):
        place = limit.number, limit.what
        found[place] = min(found.get(place, limit), limit, key=lambda each: each.limit)
    return found


@of_hosts_in_step(lambda _, host: "" if _has_groups(host) else "control-groups")
@step_check(
    "memory-limit",
    "Memory limit of the control group",
    rule=(
        "without direct I/O, the control group lets the page cache hold as large a share of"
        f" the files as the host's memory would (less {units.share(LESS_CACHED)}); a warning"
        " if all files would fit without the limit"
    ),
    advice=(
        "Quote the limit with the figure, raise memory.max, or use direct=1. The kernel also"
        " throttles buffered writes earlier: it derives the dirty page limit from the group's"
        " limit."
    ),
    source="memory.max, memory.high, memory.limit_in_bytes; MemTotal",
    when="files",
)
def memory_limit(at: StepEvidence) -> Iterator[CheckResult]:
    """The page cache of a load counts towards its control group's memory limit: without the limit,
    the same host would cache more.
    """
    if not at.step.jobs:
        raise UnknownError("job-parameters")
    storing = [job for job in at.step.jobs if job.stores]
    if not storing:
        raise UnknownError(Moot.DATA)
    if all(job.direct for job in storing):
        raise UnknownError(Moot.DIRECT)
    if not any(map(_has_groups, at.run.hosts)):
        raise UnknownError("control-groups")
    sizes: dict[str, float] = {
        task.host: sum(spec.total_bytes for spec in task.files) for task in at.step.tasks
    }
    sizes |= {
        host: each.hot_bytes
        for host, each in skewed_sets(at).items()
        if each.hot_bytes < sizes.get(host, 0)
    }
    limited = [
        (host, limit)
        for host in at.run.hosts
        if (limit := number_of(host.facts, "cgroup_mem_bytes")) is not None
    ]
    known = {
        host.name: (size, limit, memory)
        for host, limit in limited
        if (size := sizes.get(host.name)) and (memory := number_of(host.facts, "mem_bytes"))
    }
    if limited and not known:
        raise UnknownError("file-sizes")
    for name, (size, limit, memory) in known.items():
        if min(1.0, memory / size) - min(1.0, limit / size) > LESS_CACHED:
            operands: Operands = {"host": name, "limit_bytes": limit, "memory_bytes": memory}
            operands["files_bytes"] = size
            severity: Severity = "warning" if size <= memory else "info"
            most = round(min(size, memory))
            scope: dict[str, Scalar] = {"hosts": name}
            yield CheckResult(severity, "page-cache", round(limit), most, scope, operands)


LIMIT_CHECKS = (io_limit, memory_limit)
