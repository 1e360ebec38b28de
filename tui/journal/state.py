"""The state of a run, projected from its events. Pure: live screen, headless progress, replay and record share it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from tui.journal.clock import HostTime, Reading
from tui.journal.loss import ended_badly, loss_text
from tui.journal.measurement import Measurement
from tui.journal.views import FRESH_S, Clock, DirectionView, Group
from tui.model.event import (
    AFTERWORDS,
    AnyEvent,
    HostClock,
    HostFacts,
    HostProblem,
    HostResult,
    HostState,
    HostStateName,
    Message,
    MetadataIteration,
    MetadataPhase,
    MetadataResult,
    Note,
    PhaseEnded,
    PhaseName,
    PhaseStarted,
    RunEnded,
    RunResumed,
    RunStarted,
    Sample,
    Severity,
    StepEnded,
    StepStarted,
    StopRequested,
    TaskEnded,
)
from tui.results.record.metadata import MetadataView

StateName = Literal["starting", "running", "stopping", "complete", "partial", "aborted", "failed"]
FINAL: frozenset[str] = frozenset({"complete", "partial", "aborted", "failed"})
OVER: frozenset[str] = frozenset({"collecting", "done", "failed", "lost"})  # host states without load
KEPT_MESSAGES = 500


@dataclass(frozen=True, slots=True)
class MessageLine:
    """A line for the operator; `host` None is the engine."""

    t: float
    severity: Severity
    host: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the current phase is: 0 to 1, None when nothing bounds it."""

    fraction: float | None
    remaining_s: float | None
    elapsed_s: float


@dataclass(slots=True)
class HostView:
    """One host. `dirs` and `total` are of the current measurement, `version` grows with every visible change."""

    name: str
    total: DirectionView
    dirs: dict[str, Any]
    state: HostStateName = "waiting"
    detail: str = ""
    facts: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    last_sample_t: float | None = None
    running_since_t: float | None = None
    problem: str | None = None
    gives_none: bool = False  # its tool gives no samples
    version: int = 0

    def stale_s(self, now_t: float) -> float | None:
        """Return the seconds since the last sample of a running host; None when it is fresh or has no load."""
        if self.gives_none or self.state not in ("running", "layout") or self.running_since_t is None:
            return None
        silent = now_t - max(self.running_since_t, self.last_sample_t or 0.0)
        return silent if silent > FRESH_S else None


@dataclass(slots=True)
class StepView:
    """How a step of the run stands. `state`: running, done, failed (with errors), cut (stopped), skipped."""

    state: Literal["running", "done", "failed", "cut", "skipped"]
    attempt: int = 1
    started_t: float = 0.0
    ended_t: float | None = None
    reason: str = ""


@dataclass(slots=True)
class RunState:
    """Everything known of a run after the events applied so far.

    `offsets` (run time minus host time by host) are taken from the events unless known beforehand; comparisons of the
    clocks of `distrusted` hosts are passed over. The record keeps the views of every step and leaves the ramp out of
    series; screens keep only the current one. `has_result` names steps and hosts whose latencies need not be kept.
    """

    offsets: dict[str, float] = field(default_factory=dict)
    distrusted: Collection[str] = ()
    has_result: Collection[tuple[int, str]] = ()
    for_record: bool = False
    run_id: str = ""
    profile: str = ""
    utc: str = ""
    state: StateName = "starting"
    exit_code: int | None = None
    reason: str = ""
    phase: PhaseName | None = None
    phase_started_t: float = 0.0
    phase_expected_s: float | None = None
    phase_total_bytes: int | None = None
    step: int | None = None
    steps: dict[int, StepView] = field(default_factory=dict)
    t: float = 0.0
    hosts: dict[str, HostView] = field(default_factory=dict)
    messages: list[MessageLine] = field(default_factory=list)
    problems: list[HostProblem] = field(default_factory=list)
    results: dict[tuple[int, str], HostResult] = field(default_factory=dict)
    version: int = 0
    clock: Clock = field(default_factory=Clock)
    measured: dict[int, Measurement] = field(default_factory=dict)
    metadata: dict[int, MetadataView] = field(default_factory=dict)  # by step
    current: Measurement = field(init=False)
    phase_bytes: int = 0
    clocks: dict[str, HostTime] = field(default_factory=dict)
    readings: dict[tuple[int, str], Reading] = field(default_factory=dict)  # by step and host, when its result came
    resumed: bool = False
    armed: set[str] = field(default_factory=set)  # hosts of the step that goes on

    def __post_init__(self) -> None:
        self.current = Measurement(self.clock, None, None, 0.0)
        self.clocks = {host: HostTime(offset) for host, offset in self.offsets.items()}

    @property
    def cluster(self) -> dict[str, Group]:
        """All hosts together, by direction."""
        return self.current.cluster

    @property
    def total(self) -> DirectionView:
        """All hosts and directions together; with one direction, its own view."""
        return next(iter(self.cluster.values())) if len(self.cluster) == 1 else self.current.total

    @property
    def ended(self) -> bool:
        """Whether the run was closed properly."""
        return self.state in FINAL

    def host(self, name: str) -> HostView:
        """Return the view of a host, new when it was not named before."""
        view = self.hosts.get(name)
        if view is None:
            view = HostView(name, self.current.total_of(name), self.current.dirs_of(name))
            self.hosts[name] = view
        return view

    def apply(self, event: AnyEvent) -> None:
        """Take the next event."""
        if not (self.ended and isinstance(event, AFTERWORDS)):  # a remark of next week does not make a run longer
            self.t = max(self.t, event.t)
            self.clock.now = max(self.clock.now, event.t)
        self.version += 1
        handler = HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def tick(self, now_t: float) -> None:
        """Let time pass without an event, so that hosts that fell silent turn stale."""
        self.clock.now = max(self.clock.now, now_t)

    def stale_hosts(self, now_t: float) -> list[str]:
        """Return the running hosts that have been silent for more than 3 s."""
        return [name for name, view in self.hosts.items() if view.stale_s(now_t) is not None]

    def progress(self, now_t: float) -> Progress:
        """Return how far the current phase is: by bytes when it has a size, else by time."""
        elapsed = max(0.0, now_t - self.phase_started_t)
        if self.phase_total_bytes:
            return self._progress_by_bytes(elapsed, self.phase_total_bytes)
        if not self.phase_expected_s:
            return Progress(None, None, elapsed)
        fraction = min(1.0, elapsed / self.phase_expected_s)
        return Progress(fraction, max(0.0, self.phase_expected_s - elapsed), elapsed)

    def _progress_by_bytes(self, elapsed: float, total: int) -> Progress:
        done = min(self.phase_bytes, total)
        remaining = elapsed * (total - done) / done if done else None
        return Progress(done / total, remaining, elapsed)

    def interval_of(self, sample: Sample) -> tuple[float, float]:
        """Return the interval of a sample in run time."""
        clock = self.clocks.get(sample.host)
        if clock is None:
            clock = self.clocks[sample.host] = HostTime()
        return clock.interval(sample.t, sample.host_time_ms, sample.interval_s)

    def reading_of(self, host: str, step: int | None = None) -> Reading | None:
        """Return how a host's clock stood when its result of a step came, else now; None: nothing is known of it."""
        if step is not None and (step, host) in self.readings:
            return self.readings[step, host]
        clock = self.clocks.get(host)
        return clock.reading if clock is not None else None

    def _on_run_started(self, event: RunStarted) -> None:
        self.run_id, self.profile, self.utc = event.run_id, event.profile, event.utc
        for name in event.hosts:
            self.host(name)

    def _on_phase_started(self, event: PhaseStarted) -> None:
        if self.state == "starting":
            self.state = "running"
        self.phase, self.step, self.phase_started_t = event.phase, event.step, event.t
        self.phase_expected_s, self.phase_total_bytes = event.expected_s, event.total_bytes
        if event.phase not in ("layout", "measure"):
            return
        if self.resumed and event.phase == "measure" and self.current.is_of("measure", event.step):  # it goes on
            self.phase_started_t = self.current.started_t
            return
        self.phase_bytes = 0
        measurement = Measurement(self.clock, event.phase, event.step, event.t, for_record=self.for_record)
        measurement.has_result = {host for step, host in self.has_result if step == event.step}
        self._enter(measurement)

    def _enter(self, measurement: Measurement) -> None:
        self.current = measurement
        if measurement.phase == "measure" and measurement.step is not None:
            if not self.for_record:
                self.measured.clear()
            self.measured[measurement.step] = measurement
        for view in self.hosts.values():
            view.dirs, view.total = measurement.dirs_of(view.name), measurement.total_of(view.name)
            view.last_sample_t, view.gives_none = None, False
            view.version += 1

    def _on_phase_ended(self, event: PhaseEnded) -> None:
        if event.phase == self.current.phase:
            self.current.silence()
            for view in self.hosts.values():
                view.version += 1

    def _on_host_state(self, event: HostState) -> None:
        view = self.host(event.host)
        if event.state in ("running", "layout") and view.state != event.state:
            view.running_since_t = event.t
        view.state, view.detail = event.state, event.detail
        if event.state == "armed":
            self.armed.add(event.host)
        if event.state in ("lost", "failed") and self.phase == "measure":
            self._drop(event.host)
        if event.state in OVER:
            self.current.silence(event.host)
        view.version += 1

    def _on_host_facts(self, event: HostFacts) -> None:
        view = self.host(event.host)
        view.facts.update(event.facts)
        view.version += 1

    def _on_host_clock(self, event: HostClock) -> None:
        if event.host not in self.distrusted:
            self.clocks.setdefault(event.host, HostTime()).compare(event)

    def _on_run_resumed(self, event: RunResumed) -> None:
        self.resumed = True
        if self.ended or event.going_on:
            self.state, self.exit_code, self.reason = "running", None, ""
        for clock in self.clocks.values():
            clock.expect_late()
        self._say(MessageLine(event.t, "warning", None, f"taken over after {event.gap_s:.1f} s without an engine"))

    def _on_step_started(self, event: StepStarted) -> None:
        self.step = event.step
        self.steps[event.step] = StepView("running", event.attempt, event.t)
        self.armed.clear()
        if event.attempt > 1:
            self.forget(event.step)

    def forget(self, step: int) -> None:
        """Leave out what was measured in a step: it is made again."""
        self.results = {key: result for key, result in self.results.items() if key[0] != step}
        self.readings = {key: reading for key, reading in self.readings.items() if key[0] != step}
        self.measured.pop(step, None)
        self.metadata.pop(step, None)
        self.current = Measurement(self.clock, None, None, self.t)

    def _on_step_ended(self, event: StepEnded) -> None:
        view = self.steps.setdefault(event.step, StepView("skipped", started_t=event.t))
        view.ended_t, view.reason = event.t, event.reason
        view.state = "skipped" if event.skipped else "cut" if event.cut else "done" if event.ok else "failed"

    def _on_task_ended(self, event: TaskEnded) -> None:
        early = event.t < self.phase_started_t + (self.phase_expected_s or float("inf"))
        measuring = event.phase == "measure" and self.current.is_of("measure", event.step)
        if measuring and early and ended_badly(event) and self.state != "stopping":
            self._drop(event.host)

    def _drop(self, host: str) -> None:
        """Say once that a host measures no more: every total from here on holds over fewer hosts."""
        measurement = self.current
        if host in measurement.dropped:
            return
        windows = measurement.windows
        start_t = min((window.start_t for window in windows.values()), default=measurement.started_t)
        end_t = windows[host].end_t if host in windows else start_t
        measurement.dropped[host] = end_t
        count = len(self.armed) or len(self.hosts)
        text = loss_text(count - len(measurement.dropped), count, end_t - start_t, [host])
        self._say(MessageLine(self.t, "warning", None, text))

    def _on_host_problem(self, event: HostProblem) -> None:
        self.problems.append(event)
        view = self.host(event.host)
        if view.problem is None or event.fatal:
            view.problem = event.message
        view.version += 1
        self._say(MessageLine(event.t, "error" if event.fatal else "warning", event.host, event.message))

    def _on_sample(self, event: Sample) -> None:
        t0, t1 = self.interval_of(event)
        view = self.host(event.host)
        view.last_sample_t = event.t
        view.version += 1
        if event.phase == self.phase and self.phase_total_bytes:
            self.phase_bytes += sum(part.bytes for part in event.dirs.values())
        measurement = self.current if self.current.holds(event) else self.measured.get(event.step)
        if measurement is not None and measurement.holds(event):  # a late sample of a phase before counts nowhere else
            measurement.add(event, t0, t1)

    def _on_host_result(self, event: HostResult) -> None:
        self.results[event.step, event.host] = event
        if (reading := self.reading_of(event.host)) is not None:
            self.readings[event.step, event.host] = reading
        self.host(event.host).version += 1

    def _metadata(self, step: int) -> MetadataView:
        return self.metadata.setdefault(step, MetadataView(step))

    def _on_metadata_phase(self, event: MetadataPhase) -> None:
        for view in self.hosts.values():
            view.gives_none = True
        self._metadata(event.step).enter(event)

    def _on_metadata_iteration(self, event: MetadataIteration) -> None:
        self._metadata(event.step).end_iteration(event)

    def _on_metadata_result(self, event: MetadataResult) -> None:
        self._metadata(event.step).result = event

    def _on_message(self, event: Message) -> None:
        self._say(MessageLine(event.t, event.severity, event.host, event.text))

    def _on_note(self, event: Note) -> None:
        self._say(MessageLine(event.t, "info", None, f"note: {event.text}"))

    def _on_stop_requested(self, event: StopRequested) -> None:
        if not self.ended:
            self.state = "stopping"
            self.reason = f"{event.mode} asked for" + (f" by {event.by}" if event.by else "")

    def _on_run_ended(self, event: RunEnded) -> None:
        self.state, self.exit_code, self.reason = event.state, event.exit_code, event.reason
        self.current.silence()

    def _say(self, line: MessageLine) -> None:
        self.messages.append(line)
        if len(self.messages) > 2 * KEPT_MESSAGES:
            del self.messages[:-KEPT_MESSAGES]


HANDLERS: dict[type, Callable[[RunState, Any], None]] = {
    RunStarted: RunState._on_run_started,
    PhaseStarted: RunState._on_phase_started,
    PhaseEnded: RunState._on_phase_ended,
    HostState: RunState._on_host_state,
    HostFacts: RunState._on_host_facts,
    HostClock: RunState._on_host_clock,
    RunResumed: RunState._on_run_resumed,
    StepStarted: RunState._on_step_started,
    StepEnded: RunState._on_step_ended,
    TaskEnded: RunState._on_task_ended,
    HostProblem: RunState._on_host_problem,
    Sample: RunState._on_sample,
    HostResult: RunState._on_host_result,
    MetadataPhase: RunState._on_metadata_phase,
    MetadataIteration: RunState._on_metadata_iteration,
    MetadataResult: RunState._on_metadata_result,
    Message: RunState._on_message,
    Note: RunState._on_note,
    StopRequested: RunState._on_stop_requested,
    RunEnded: RunState._on_run_ended,
}
