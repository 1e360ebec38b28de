"""Whether the CPUs of a client may limit its load, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from tui.model.hostfacts import number_of
from tui.model.operands import Clause, clause

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tui.model.host_record import HostRecord
    from tui.model.plan import Step
    from tui.model.step_record import TelemetryColumn

# per cent
SOFTIRQ = 90.0
# with so few cores a single busy one is half of the host: others must wait as well
FEW_CORES = 4
WAITED = 50.0  # per cent of the time with tasks waiting for a CPU
# columns that show CPU time that a load wanted but did not get
WITHHELD = ("gen.wait", "psi.cpu.some", "cpu.throttled")
QUEUED = 10.0  # per cent of the time in which a process wants a CPU: waiting for one


# that `cpu_bound` reads
COLUMNS = (
    "cpu.busy",
    "cpu.steal",
    "core.busy",
    "core.softirq",
    "gen.cpu",
    "gen.thread",
    *WITHHELD,
)


class Means(Protocol):
    """Telemetry of a host by column, over some time."""

    def mean_of(self, name: str, /) -> float | None:
        """Return the mean of a column; None if unknown."""

    def column(self, name: str, /) -> TelemetryColumn | None:
        """Return a column; None if unknown."""


class Moment(Struct, frozen=True):
    """Telemetry of one interval."""

    values: Mapping[str, float]

    def mean_of(self, name: str) -> float | None:
        """Return the value of a column; None if unknown."""
        return self.values.get(name)

    def column(self, _: str) -> TelemetryColumn | None:
        """Return None: only values are known."""
        return None


def polls(step: Step) -> bool:
    """Return whether processes of the load keep a CPU busy even while they wait: MPI ranks poll for
    messages.
    """
    return step.mpi is not None


def cpu_bound(
    host: Means,
    record: HostRecord | None,
    limit: Callable[[str], float],
    *,
    polls: bool = False,
) -> Clause | None:
    """Return why a host's CPU may limit its load, by the current thresholds; None if it does
    not.

    `polls`: the load's processes keep a CPU busy even while they wait, so only CPU time that was
    wanted but not given shows a shortage.
    """
    if polls:
        return _withheld(host, record, limit)
    if by_load := by_itself(host, record, limit):
        return by_load
    busy, core = host.mean_of("cpu.busy") or 0.0, host.mean_of("core.busy") or 0.0
    if busy > limit("client-cpu.host"):
        return clause("busy", percent=busy)
    waits = (host.mean_of("psi.cpu.some") or 0.0) > WAITED
    if core > limit("client-cpu.core") and (cpus_of(record) > FEW_CORES or waits):
        number = host.column("core.number")
        if number is None or number.constant is None:
            return clause("a-core", percent=core)
        return clause("core", core=round(number.constant), percent=core)
    return None


def _withheld(
    host: Means, record: HostRecord | None, limit: Callable[[str], float]
) -> Clause | None:
    """Return how a load was denied CPU time that it wanted; None if it was not, or if unknown.

    Where the kernel does not report how long the load's processes waited, all waiting tasks count.
    """
    if throttled := _throttled(host, record, limit):
        return throttled
    used, waited = host.mean_of("gen.cpu"), host.mean_of("gen.wait")
    if used is None or waited is None:
        busy = host.mean_of("cpu.busy") or 0.0
        waits = (host.mean_of("psi.cpu.some") or 0.0) > WAITED
        return clause("busy", percent=busy) if waits and busy > limit("client-cpu.host") else None
    if 100 * waited > QUEUED * (used + waited):
        return clause("queued", percent=100 * waited / (used + waited))
    return None


def _throttled(
    host: Means, record: HostRecord | None, limit: Callable[[str], float]
) -> Clause | None:
    throttled = host.mean_of("cpu.throttled") or 0.0
    if throttled <= limit("client-cpu.throttled"):
        return None
    allowed = number_of(record.facts, "cgroup_cpus") if record is not None else None
    return clause("throttled", percent=throttled, cpus=allowed)


def by_itself(
    host: Means, record: HostRecord | None, limit: Callable[[str], float]
) -> Clause | None:
    """Return how the load or its interrupts saturate a CPU, or the CPUs it may use; None if they do
    not.
    """
    if throttled := _throttled(host, record, limit):
        return throttled
    soft, thread = host.mean_of("core.softirq") or 0.0, host.mean_of("gen.thread") or 0.0
    if wanted(host, thread) > limit("client-cpu.thread"):
        left = is_left(thread, limit("client-cpu.thread"))
        return clause("thread-left" if left else "thread", percent=thread)
    if soft > SOFTIRQ:
        return clause("interrupts", percent=soft)
    return _of_allowed(host, record, limit("client-cpu.host"))


def wanted(host: Means, used: float) -> float:
    """Return the CPU that a process would use if the hypervisor stole no CPU time.

    Stolen time is neither CPU time of the process nor idle time of the core, so a process that
    always runs shows less than 100 %.
    """
    # stolen time counts as busy
    busy, stolen = host.mean_of("cpu.busy") or 0.0, host.mean_of("cpu.steal") or 0.0
    return used * busy / (busy - stolen) if busy > stolen else used


def is_left(used: float, limit: float) -> bool:
    """Return whether a saturating process is below the limit only because of the hypervisor."""
    return used <= limit


def cpus_of(record: HostRecord | None, fact: str = "cpus") -> float:
    """Return the number of CPUs of a host; 0 if unknown."""
    return (number_of(record.facts, fact) or 0.0) if record is not None else 0.0


def _of_allowed(host: Means, record: HostRecord | None, most: float) -> Clause | None:
    """Return the usage of the CPUs allowed for a load if it saturates them, and they are fewer than
    the host's; else None.
    """
    allowed = cpus_of(record, "cpus_usable")
    share = wanted(host, host.mean_of("gen.cpu") or 0.0) / allowed if allowed else 0.0
    if allowed >= cpus_of(record) or share <= most:
        return None
    return clause("allowed", percent=share, cpus=allowed)
