"""State of one step, folded from events.

Also tracks the pace of samples: a load's clock against the jump host's, and late samples.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct, field

from tui.journal.clock import ClockReading, ended_badly
from tui.journal.measured import FigureEvent, has_figures
from tui.journal.measurement import Measurement
from tui.journal.progress import MetadataView
from tui.journal.reader import SampleStamp
from tui.journal.telemetry import HostTelemetry
from tui.model.event import (
    CacheDropped,
    HostProblem,
    HostResult,
    MetadataIteration,
    MetadataPhase,
    MetadataResult,
    PhaseEnded,
    PhaseName,
    PhaseStarted,
    Sample,
    StepEnded,
    StepStarted,
    TaskEnded,
    TaskStarted,
    TelemetryColumns,
    TelemetrySample,
)
from tui.model.operands import Clause

S = TypeVar("S")
E = TypeVar("E")


class Handlers(Generic[S]):
    """Functions that apply an event to a state, by kind of event.

    Kinds without a function are ignored.
    """

    def __init__(self) -> None:
        self._by_kind: dict[type, Callable[[S, Any], None]] = {}

    def on(self, kind: type[E]) -> Callable[[Callable[[S, E], None]], Callable[[S, E], None]]:
        """Return a decorator that registers a function for a kind of event."""

        def register(function: Callable[[S, E], None]) -> Callable[[S, E], None]:
            self._by_kind[kind] = function
            return function

        return register

    def get(self, kind: type) -> Callable[[S, Any], None] | None:
        """Return the function for a kind of event; None if the kind is ignored."""
        return self._by_kind.get(kind)


StepStateName = Literal["missing", "running", "done", "failed", "cut", "skipped"]
Load = tuple[PhaseName, str]  # phase and host of a host's one load

HANDLERS: Handlers[StepState] = Handlers()
LEFT_BEHIND = ("lost", "unconfirmed")  # ends of loads whose host could not be asked any more
DATA_GONE = "host-data-gone"  # a problem: the host was asked, and holds nothing of it


class PhaseSpan(Struct):
    """Start and end of a phase; `ok` and `end_t` are None while it is running.

    `expected_s`: planned duration.
    """

    name: PhaseName
    step: int | None
    start_t: float
    end_t: float | None = None
    ok: bool | None = None
    expected_s: float | None = None


class StepState(Struct):
    """State of one step: missing (not begun), running, done, failed (with errors), cut (stopped),
    skipped.

    `commands` are all commands started, `ended` the ends of loads, `released` the hosts whose load
    was released.
    """

    index: int
    state: StepStateName = "missing"
    attempt: int = 1
    started_t: float = 0.0
    ended_t: float | None = None
    reason: Clause | str = ""
    end: StepEnded | None = None
    phases: list[PhaseSpan] = field(default_factory=list)
    commands: list[TaskStarted] = field(default_factory=list)
    ended: dict[Load, TaskEnded] = field(default_factory=dict)
    released: set[str] = field(default_factory=set)
    sampled_ms: dict[Load, int] = field(default_factory=dict)  # host time of the newest sample
    sampled_t: dict[Load, float] = field(default_factory=dict)  # when it arrived
    results: dict[str, HostResult] = field(default_factory=dict)  # by host
    # how a host's clock stood when its result came
    readings: dict[str, ClockReading] = field(default_factory=dict)
    measurement: Measurement | None = None
    metadata: MetadataView | None = None
    # by host, those of role server too
    telemetry: dict[str, HostTelemetry] = field(default_factory=dict)
    paces: dict[str, Pace] = field(default_factory=dict)  # by host
    cache_drops: list[CacheDropped] = field(default_factory=list)
    problems: list[HostProblem] = field(default_factory=list)
    measured: bool = False  # an I/O or operation completed

    @property
    def loads(self) -> dict[Load, TaskStarted]:
        """Load of each host in each phase, without secondary commands such as MPI proxies."""
        return {(task.phase, task.host): task for task in self.commands if not task.role}

    def ended_well(self, phase: PhaseName | None, host: str) -> bool | None:
        """Return whether a host's load ended as planned; None if it has not ended."""
        end = self.ended.get((phase, host)) if phase is not None else None
        return not ended_badly(end) if end is not None else None

    @property
    def open_loads(self) -> list[TaskStarted]:
        """Measuring loads without a result, and other loads without an end; empty once the step has
        ended.
        """
        if self.end is not None:
            return []
        return [task for key, task in self.loads.items() if not self._is_over(key)]

    @property
    def uncollected(self) -> list[TaskStarted]:
        """Loads that measured and whose output was not collected completely; it may still be on the
        host.
        """
        gone = {problem.host for problem in self.problems if problem.code == DATA_GONE}
        return [
            task
            for (phase, host), task in self.loads.items()
            if phase == "measure" and host in self.released - gone and self._left_behind(host)
        ]

    def _left_behind(self, host: str) -> bool:
        end = self.ended.get(("measure", host))
        return end is None or (not end.collected and end.reason in LEFT_BEHIND)

    def _is_over(self, load: Load) -> bool:
        phase, host = load
        return host in self.results if phase == "measure" else load in self.ended

    @HANDLERS.on(StepStarted)
    def _begin(self, event: StepStarted) -> None:
        self.state, self.attempt, self.started_t = "running", event.attempt, event.t
        self.ended_t = self.end = None

    @HANDLERS.on(StepEnded)
    def _end(self, event: StepEnded) -> None:
        self.ended_t, self.reason = event.t, event.reason
        self.state = (
            "skipped" if event.skipped else "cut" if event.cut else "done" if event.ok else "failed"
        )
        self.end = None if event.skipped else event

    @HANDLERS.on(PhaseStarted)
    def _begin_phase(self, event: PhaseStarted) -> None:
        self.phases.append(PhaseSpan(event.phase, event.step, event.t, expected_s=event.expected_s))

    @HANDLERS.on(PhaseEnded)
    def _end_phase(self, event: PhaseEnded) -> None:
        end_phase(self.phases, event)

    @HANDLERS.on(TaskStarted)
    def _start_task(self, event: TaskStarted) -> None:
        self.commands.append(event)

    @HANDLERS.on(TaskEnded)
    def _end_task(self, event: TaskEnded) -> None:
        if not event.role:
            self.ended[event.phase, event.host] = event

    @HANDLERS.on(Sample)
    def _add_sample(self, event: Sample) -> None:
        self._measure(event)
        self.sampled_ms[event.phase, event.host] = event.host_time_ms
        self.sampled_t[event.phase, event.host] = event.t
        if event.phase == "measure":
            pace = self.paces.get(event.host)
            if pace is None:
                pace = self.paces[event.host] = Pace()
            pace.take(event)

    @HANDLERS.on(TelemetrySample)
    def _add_telemetry(self, event: TelemetrySample) -> None:
        # the telemetry of the first sample's interval arrives before that sample
        self.paces.setdefault(event.host, Pace()).take_telemetry(event)

    @HANDLERS.on(SampleStamp)
    def _add_stamp(self, event: SampleStamp) -> None:
        self._measure(event)
        self.sampled_ms[event.phase, event.host] = event.host_time_ms
        self.sampled_t[event.phase, event.host] = event.t

    @HANDLERS.on(HostResult)
    def _set_result(self, event: HostResult) -> None:
        self._measure(event)
        self.results[event.host] = event

    @HANDLERS.on(CacheDropped)
    def _drop_cache(self, event: CacheDropped) -> None:
        self.cache_drops.append(event)

    @HANDLERS.on(TelemetryColumns)
    def _head_telemetry(self, event: TelemetryColumns) -> None:
        self.telemetry.setdefault(event.host, HostTelemetry(event.host)).head(event)

    def _measure(self, event: FigureEvent) -> None:
        self.measured = self.measured or has_figures(event)

    def _operations(self) -> MetadataView:
        self.metadata = self.metadata or MetadataView(self.index)
        return self.metadata

    @HANDLERS.on(MetadataPhase)
    def _enter_operation(self, event: MetadataPhase) -> None:
        self._operations().enter(event)

    @HANDLERS.on(MetadataIteration)
    def _end_iteration(self, event: MetadataIteration) -> None:
        self._measure(event)
        self._operations().end_iteration(event)

    @HANDLERS.on(MetadataResult)
    def _set_operations(self, event: MetadataResult) -> None:
        self._measure(event)
        self._operations().result = event


def end_phase(phases: list[PhaseSpan], event: PhaseEnded) -> None:
    """Set the end of the newest open phase of this name."""
    for span in reversed(phases):
        if span.name == event.phase and span.end_t is None:
            span.end_t, span.ok = event.t, event.ok
            return


LATE_S = 1.4  # samples are due every second


class Ticks(Struct):
    """Sums for the regression line of arrival times over durations counted by a sender's clock."""

    first_t: float | None = None
    count: int = 0
    x: float = 0.0  # seconds by the sender's clock
    _sum_x: float = 0.0
    _sum_y: float = 0.0
    _sum_xx: float = 0.0
    _sum_xy: float = 0.0
    _sum_yy: float = 0.0

    def add(self, arrival_t: float, interval_s: float) -> None:
        """Add the arrival of a sample; the first one starts the count."""
        if self.first_t is None:
            self.first_t = arrival_t
        else:
            self.x += interval_s
        x, y = self.x, arrival_t - self.first_t
        self.count += 1
        self._sum_x, self._sum_y = self._sum_x + x, self._sum_y + y
        self._sum_xx, self._sum_xy = self._sum_xx + x * x, self._sum_xy + x * y
        self._sum_yy += y * y

    def line(self) -> tuple[float, float] | None:
        """Return seconds of the jump host per second of the sender, and the root mean square of the
        arrivals' distances from that line, in seconds; None if unknown.
        """
        n = self.count
        if n < 3:
            return None
        xx = self._sum_xx - self._sum_x * self._sum_x / n
        xy = self._sum_xy - self._sum_x * self._sum_y / n
        yy = self._sum_yy - self._sum_y * self._sum_y / n
        if xx <= 0:
            return None
        slope = xy / xx
        return slope, sqrt(max(yy - slope * xy, 0.0) / n)


class Late(Struct, frozen=True):
    """A sample that came late: its place among the host's samples, when it began, its length, and
    its I/Os.

    `from_s` counts from the beginning of the first sample, by the load's clock.
    """

    place: int
    from_s: float
    interval_s: float
    end_ms: int  # host time
    ios: int


class Pace(Struct):
    """Timing of one host's load samples, and of its agent's telemetry meanwhile."""

    load: Ticks = field(default_factory=Ticks)
    agent: Ticks = field(default_factory=Ticks)
    late: list[Late] = field(default_factory=list)
    begun_s: float = 0.0  # length of the first sample
    moving_s: float = 0.0  # of the samples with I/O, by the host's time of day
    agent_late: list[tuple[int, float]] = field(default_factory=list)  # host time, length
    _agent_ms: int = 0

    def take(self, event: Sample) -> None:
        """Add a sample of the load; a ramp sample or a restart discards earlier samples."""
        if event.ramp or event.restart:
            self.load, self.agent, self.late, self.moving_s = Ticks(), Ticks(), [], 0.0
        if event.ramp:
            return
        if any(part.ios for part in event.dirs.values()):
            self.moving_s += event.interval_s
        if not self.load.count:
            self.begun_s = event.interval_s
        self.load.add(event.t, event.interval_s)
        if event.interval_s > LATE_S and not event.restart:
            ios = sum(part.ios for part in event.dirs.values())
            place = self.load.count - 1
            from_s = self.begun_s + self.load.x - event.interval_s
            self.late.append(Late(place, from_s, event.interval_s, event.host_time_ms, ios))

    def take_telemetry(self, event: TelemetrySample) -> None:
        """Add an interval of the host's telemetry, whose time stamps advance with uptime."""
        if self.load.count:
            self.agent.add(event.t, (event.host_time_ms - self._agent_ms) / 1000)
        self._agent_ms = event.host_time_ms
        if event.interval_s > LATE_S:
            self.agent_late.append((event.host_time_ms, event.interval_s))
