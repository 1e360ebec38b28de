"""The state of a run, folded from its events. Pure: live screen, replay, progress, record and
recovery are views of it.

What belongs to a step is in its `StepState`. A new kind of event is taken by one function, here or
in `step.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from tui.journal.beside import StepsBeside
from tui.journal.clock import ClockReading, HostClocks, ended_badly, loss_text
from tui.journal.host import HostView
from tui.journal.measurement import Measurement
from tui.journal.messages import RunMessages
from tui.journal.progress import HostFiles, PhaseProgress, SearchState, phase_progress
from tui.journal.reader import JournalEvent, SampleStamp, Unreadable
from tui.journal.step import HANDLERS as STEP_HANDLERS
from tui.journal.step import Handlers, PhaseSpan, StepState, end_phase
from tui.journal.views import Clock, DirectionView, Group
from tui.model.event import (
    AFTERWORDS,
    Artefact,
    BottleneckProved,
    FileCreated,
    FilesRemoved,
    HostClock,
    HostFactsCollected,
    HostProblem,
    HostResult,
    HostState,
    Message,
    MetadataPhase,
    NoteAdded,
    PhaseEnded,
    PhaseName,
    PhaseStarted,
    PointDecided,
    PointOffered,
    RunEnded,
    RunResumed,
    RunStarted,
    Sample,
    StepStarted,
    StopRequested,
    TaskEnded,
    TaskStarted,
    TelemetrySample,
)
from tui.model.hostfacts import Fact
from tui.model.plain_data import format_utc, parse_utc
from tui.model.search import ProofResult

StateName = Literal["starting", "running", "stopping", "complete", "partial", "aborted", "failed"]
FINAL: frozenset[str] = frozenset({"complete", "partial", "aborted", "failed"})
# host states without load
OVER: frozenset[str] = frozenset({"collecting", "done", "failed", "lost"})
HANDLERS: Handlers[RunState] = Handlers()


@dataclass(slots=True)
class RunState:
    """Everything known of a run after the events applied so far.

    The record keeps the views of every step and leaves the ramp out of series; screens keep only
    the current one. `has_result` names steps and hosts whose latencies need not be kept,
    `tails_open_s` asks for p99 a second (see `Measurement`).
    """

    clocks: HostClocks = field(default_factory=HostClocks)
    has_result: Collection[tuple[int, str]] = ()
    for_record: bool = False
    tails_open_s: int | None = None
    started: RunStarted | None = None
    end: RunEnded | None = None
    state: StateName = "starting"
    reason: str = ""
    # what was asked for since the run last went on
    stop_mode: Literal["stop", "abort"] | None = None
    stop_reason: str = ""  # why the engine itself did
    t: float = 0.0
    phase: PhaseName | None = None
    phase_started_t: float = 0.0
    phase_expected_s: float | None = None
    phase_total_bytes: int | None = None
    phase_bytes: int = 0
    phases: list[PhaseSpan] = field(default_factory=list)  # that belong to no step
    step: int | None = None
    steps: dict[int, StepState] = field(default_factory=dict)
    hosts: dict[str, HostView] = field(default_factory=dict)
    # storage nodes are no hosts of the run
    server_facts: dict[str, dict[str, Fact]] = field(default_factory=dict)
    messages: RunMessages = field(default_factory=RunMessages)
    notes: list[NoteAdded] = field(default_factory=list)
    # by step, the newest counter-experiment
    proved: dict[int, ProofResult] = field(default_factory=dict)
    run_problems: list[HostProblem] = field(default_factory=list)  # that fell into no step
    run_problems_over: int = 0  # how many of these the run has gone on from
    commands: list[TaskStarted] = field(default_factory=list)  # of all steps and attempts
    artefacts: list[Artefact] = field(default_factory=list)
    files: dict[str, HostFiles] = field(default_factory=dict)
    resumed: list[RunResumed] = field(default_factory=list)
    search: SearchState = field(default_factory=SearchState)
    unreadable: int = 0  # lines of the journal
    version: int = 0
    clock: Clock = field(default_factory=Clock)
    current: Measurement = field(init=False)
    armed: set[str] = field(default_factory=set)  # hosts of the steps that go on
    # steps that run at the same time; `step` is that shown
    beside: StepsBeside = field(default_factory=StepsBeside)

    def __post_init__(self) -> None:
        self.current = Measurement(self.clock, None, None, 0.0)

    @property
    def cluster(self) -> dict[str, Group]:
        """All hosts together, by direction."""
        return self.current.cluster

    @property
    def total(self) -> DirectionView:
        """All hosts and directions together; with one direction, its own view."""
        return self.current.whole

    @property
    def run_id(self) -> str:
        """The run's id; empty before its first event."""
        return self.started.run_id if self.started is not None else ""

    @property
    def profile(self) -> str:
        """The tag of its profile."""
        return self.started.profile if self.started is not None else ""

    @property
    def utc(self) -> str:
        """When it started, as its first event has it."""
        return self.started.utc if self.started is not None else ""

    @property
    def created(self) -> datetime | None:
        """When it started; None when nobody knows."""
        return parse_utc(self.utc)

    def utc_of(self, t: float | None) -> str | None:
        """Return a time of the run as RFC 3339; None when unknown."""
        created = self.created
        return None if created is None or t is None else format_utc(created + timedelta(seconds=t))

    @property
    def exit_code(self) -> int | None:
        """That of the run; None while it goes on."""
        return self.end.exit_code if self.end is not None else None

    @property
    def problems(self) -> list[HostProblem]:
        """What went wrong on hosts, oldest first.

        Of steps that were made again only the newest attempt.
        """
        parts = [self.run_problems, *(step.problems for step in self.steps.values())]
        return sorted(
            (problem for part in parts for problem in part), key=lambda problem: problem.t
        )

    @property
    def ended(self) -> bool:
        """Whether the run was closed properly."""
        return self.state in FINAL

    def at_step(self, index: int) -> StepState:
        """Return what is known of a step; one that nothing was said of is missing."""
        step = self.steps.get(index)
        if step is None:
            step = self.steps[index] = StepState(index, started_t=self.t)
        return step

    def host(self, name: str) -> HostView:
        """Return the view of a host, new when it was not named before."""
        view = self.hosts.get(name)
        if view is None:
            now = self.current
            view = self.hosts[name] = HostView(
                name, now.total_of(name), now.dirs_of(name), jobs=now.jobs
            )
        return view

    def apply(self, event: JournalEvent) -> None:
        """Take the next event."""
        kind = type(event)
        if kind not in AFTERWORDS:  # a remark of next week does not make a run longer
            self.t = max(self.t, event.t)
            self.clock.now = max(self.clock.now, event.t)
        self.version += 1
        if (take := HANDLERS.get(kind)) is not None:
            take(self, event)
        if (take_in_step := STEP_HANDLERS.get(kind)) is not None and event.step is not None:  # type: ignore[union-attr]
            take_in_step(self.at_step(event.step), event)  # type: ignore[union-attr]  # those of steps have one

    def apply_all(self, events: Iterable[JournalEvent]) -> RunState:
        """Take events, and return this state."""
        for event in events:
            self.apply(event)
        return self

    def tick(self, now_t: float) -> None:
        """Let time pass without an event, so that hosts that fell silent turn stale."""
        self.clock.now = max(self.clock.now, now_t)

    def progress(self, now_t: float) -> PhaseProgress:
        """Return how far the current phase is."""
        elapsed_s = max(0.0, now_t - self.phase_started_t)
        return phase_progress(
            elapsed_s, self.phase_expected_s, self.phase_bytes, self.phase_total_bytes
        )

    def interval_of(self, sample: Sample) -> tuple[float, float]:
        """Return the interval of a sample in run time."""
        return self.clocks.of(sample.host).interval(
            sample.t, sample.host_time_ms, sample.interval_s
        )

    def reading_of(self, host: str, step: int | None = None) -> ClockReading | None:
        """Return how a host's clock stood when its result of a step came, else now.

        None: nothing is known of it.
        """
        known = self.steps.get(step) if step is not None else None
        if known is not None and host in known.readings:
            return known.readings[host]
        return self.clocks.reading_of(host)

    @HANDLERS.on(RunStarted)
    def _on_run_started(self, event: RunStarted) -> None:
        self.started = event
        for name in event.hosts:
            self.host(name)

    @HANDLERS.on(PhaseStarted)
    def _on_phase_started(self, event: PhaseStarted) -> None:
        if self.state == "starting":
            self.state = "running"
        others_measure = self.phase == "measure" and self.step != event.step
        if not (others_measure and self.step in self.beside and event.step in self.beside):
            self.phase, self.step, self.phase_started_t = event.phase, event.step, event.t
            self.phase_expected_s, self.phase_total_bytes = event.expected_s, event.total_bytes
        if event.step is None:
            self.phases.append(PhaseSpan(event.phase, None, event.t))
        if event.phase not in ("layout", "measure"):
            return
        if (
            self.resumed
            and event.phase == "measure"
            and (known := self.at_step(event.step or 0).measurement)
        ):
            if event.step == self.step:
                # it continues, or what it lacked is collected
                self.phase_started_t = known.started_t
            if known is not self.current:
                self._enter(known)
            return
        if event.step == self.step:
            self.phase_bytes = 0
        measurement = Measurement(
            self.clock,
            event.phase,
            event.step,
            event.t,
            for_record=self.for_record,
            tails_open_s=self.tails_open_s,
        )
        measurement.has_result = {host for step, host in self.has_result if step == event.step}
        self._enter(measurement)

    def _enter(self, measurement: Measurement) -> None:
        index = measurement.step
        if index == self.step:
            self.current = measurement
        if measurement.phase == "measure" and index is not None:
            for step in self.steps.values():
                kept = self.for_record or step.index in self.beside
                step.measurement = step.measurement if kept else None
            self.at_step(index).measurement = measurement
        for view in self.hosts.values():
            if self.beside.step_of(view.name, index) == index:
                view.enter(
                    measurement, self.at_step(index or 0).ended_well(measurement.phase, view.name)
                )

    def show(self, step: int) -> None:
        """Make a step that measures beside others the one that screens show: `step`, `phase`,
        `current`.
        """
        seen = self.at_step(step)
        if seen.measurement is None or not seen.phases:
            return
        span = seen.phases[-1]
        self.step, self.current, self.phase, self.phase_started_t = (
            step,
            seen.measurement,
            span.name,
            span.start_t,
        )
        self.phase_expected_s, self.phase_total_bytes = span.expected_s, None
        self.version += 1

    @property
    def hosts_shown(self) -> dict[str, HostView]:
        """The hosts of the step that screens show, and those that sit it out."""
        beside, step = self.beside, self.step
        return {
            name: view for name, view in self.hosts.items() if beside.step_of(name, step) == step
        }

    @property
    def measuring(self) -> dict[int, Measurement]:
        """What is measured at the same time, by step; empty while one step runs alone."""
        found = {step: self.at_step(step).measurement for step in self.beside.steps}
        return {step: measurement for step, measurement in found.items() if measurement is not None}

    def _measurement(self, phase: PhaseName, step: int | None) -> Measurement | None:
        """Return what a phase of a step measures, of those that go on.

        None: it is over, or never was.
        """
        known = self.steps.get(step) if step in self.beside and step is not None else None
        for found in (self.current, known.measurement if known is not None else None):
            if found is not None and found.is_of(phase, step):
                return found
        return None

    def _measures(self, step: int | None) -> bool:
        """Tell whether a step is in its measured phase."""
        if step not in self.beside or step is None:
            return self.phase == "measure"
        return bool(self.at_step(step).phases) and self.at_step(step).phases[-1].name == "measure"

    @HANDLERS.on(PhaseEnded)
    def _on_phase_ended(self, event: PhaseEnded) -> None:
        if event.step is None:
            end_phase(self.phases, event)
        measurement = self._measurement(event.phase, event.step)
        if measurement is None:
            return
        measurement.silence()
        for view in self.hosts.values():
            view.version += 1
        others = [step for step in self.beside.steps if step != event.step and self._measures(step)]
        if event.phase == "measure" and event.step == self.step and others:
            self.show(others[0])

    @HANDLERS.on(HostState)
    def _on_host_state(self, event: HostState) -> None:
        view = self.host(event.host)
        if event.state in ("running", "layout") and view.state != event.state:
            view.running_since_t = event.t
        view.state, view.detail = event.state, event.detail
        if event.state == "armed":
            self.armed.add(event.host)
        step = self.beside.step_of(event.host, self.step)
        if event.state == "running" and step is not None:
            self.at_step(step).released.add(event.host)
        measurement = self._measurement("measure", step) or self.current
        if event.state in ("lost", "failed") and self._measures(step):
            self._drop(event.host, measurement)
        if event.state in OVER:
            measurement.silence(event.host)
        view.version += 1

    @HANDLERS.on(HostFactsCollected)
    def _on_host_facts(self, event: HostFactsCollected) -> None:
        if event.role == "server":
            self.server_facts.setdefault(event.host, {}).update(event.facts)
            return
        view = self.host(event.host)
        view.facts.update(event.facts)
        view.version += 1

    HANDLERS.on(HostClock)(lambda self, event: self.clocks.take(event))

    @HANDLERS.on(RunResumed)
    def _on_run_resumed(self, event: RunResumed) -> None:
        self.resumed.append(event)
        if self.ended or event.going_on:
            self.state, self.end, self.reason, self.stop_mode, self.stop_reason = (
                "running",
                None,
                "",
                None,
                "",
            )
        if event.going_on:
            self.run_problems_over = len(self.run_problems)
        for clock in self.clocks.by_host.values():
            clock.expect_late()
        self.messages.say(
            event.t, "warning", None, f"taken over after {event.gap_s:.1f} s without an engine"
        )

    @HANDLERS.on(StepStarted)
    def _on_step_started(self, event: StepStarted) -> None:
        self.step = event.step
        going = [self.at_step(step) for step in self.beside.steps if step != event.step]
        if not event.hosts or not any(
            step.state == "running" and step.attempt >= event.attempt for step in going
        ):
            self.beside.clear()
            self.armed.clear()
            for view in self.hosts.values():
                view.leave_step()
        self.beside.begin(event.step, event.hosts)
        if event.attempt > 1:
            self.forget(event.step)

    def forget(self, step: int) -> None:
        """Leave out what was seen of a step: it is made again."""
        self.steps[step] = StepState(step, attempt=self.at_step(step).attempt, started_t=self.t)
        self.proved.pop(step, None)
        self.search.forget(step)
        self.current = Measurement(self.clock, None, None, self.t)

    HANDLERS.on(PointOffered)(lambda self, event: self.search.offer(event))
    HANDLERS.on(PointDecided)(lambda self, event: self.search.decide(event))

    @HANDLERS.on(TaskEnded)
    def _on_task_ended(self, event: TaskEnded) -> None:
        measurement = self._measurement(event.phase, event.step)
        if measurement is None:
            return
        started_t, expected_s = self._planned(event.step)
        early = event.t < started_t + (expected_s or float("inf"))
        badly = early and ended_badly(event) and self.state != "stopping"
        if not event.role:
            self.host(event.host).end_load(well=not badly and (event.reason == "exit" or not early))
            measurement.silence(event.host)
        if badly and event.phase == "measure":
            self._drop(event.host, measurement)

    def _planned(self, step: int) -> tuple[float, float | None]:
        """Return when the phase of a step began, and how long it was to take."""
        if step not in self.beside or not self.at_step(step).phases:
            return self.phase_started_t, self.phase_expected_s
        span = self.at_step(step).phases[-1]
        return span.start_t, span.expected_s

    def _drop(self, host: str, measurement: Measurement) -> None:
        """Say once that a host measures no more: every total from here on holds over fewer
        hosts.
        """
        if host in measurement.dropped:
            return
        windows = measurement.windows
        start_t = min(
            (window.start_t for window in windows.values()), default=measurement.started_t
        )
        end_t = windows[host].end_t if host in windows else start_t
        measurement.dropped[host] = end_t
        count = len(self.beside.hosts_of(measurement.step)) or len(self.armed) or len(self.hosts)
        text = loss_text(count - len(measurement.dropped), count, end_t - start_t, [host])
        self.messages.say(self.t, "warning", None, text)

    @HANDLERS.on(HostProblem)
    def _on_host_problem(self, event: HostProblem) -> None:
        step = self.beside.step_of(event.host, self.step)
        (self.run_problems if step is None else self.at_step(step).problems).append(event)
        view = self.host(event.host)
        if view.problem is None or event.fatal:
            view.problem, view.problem_step = event.message, step
        view.version += 1
        self.messages.say(event.t, "error" if event.fatal else "warning", event.host, event.message)

    @HANDLERS.on(Sample)
    def _on_sample(self, event: Sample) -> None:
        t0, t1 = self.interval_of(event)
        view = self.host(event.host)
        view.last_sample_t = event.t
        view.version += 1
        if event.phase == self.phase and event.step == self.step and self.phase_total_bytes:
            self.phase_bytes += sum(part.bytes for part in event.dirs.values())
        measurement = (
            self.current if self.current.holds(event) else self.at_step(event.step).measurement
        )
        # a late sample of a phase before counts nowhere else
        if measurement is not None and measurement.holds(event):
            measurement.add(event, t0, t1)

    @HANDLERS.on(TelemetrySample)
    def _on_telemetry(self, event: TelemetrySample) -> None:
        kept = self.at_step(event.step).telemetry.get(event.host)
        if kept is None:
            return
        # what is stamped by uptime says nothing of the wall clock
        offset_s = self.clocks.offset_of(event.host)
        end_t = event.t if offset_s is None else min(event.t, event.host_time_ms / 1000 + offset_s)
        kept.add(event, max(0.0, end_t), keep_all=self.for_record)

    @HANDLERS.on(HostResult)
    def _on_host_result(self, event: HostResult) -> None:
        if (reading := self.reading_of(event.host)) is not None:
            self.at_step(event.step).readings[event.host] = reading
        view = self.host(event.host)
        view.version += 1
        if self._measurement("measure", event.step) is not None:
            view.result = event

    @HANDLERS.on(MetadataPhase)
    def _on_metadata_phase(self, event: MetadataPhase) -> None:
        for view in self.hosts.values():
            view.gives_none |= self.beside.step_of(view.name, event.step) == event.step

    HANDLERS.on(Message)(lambda self, event: self.messages.take(event))

    @HANDLERS.on(NoteAdded)
    def _on_note(self, event: NoteAdded) -> None:
        self.notes.append(event)
        self.messages.say(event.t, "info", None, f"note: {event.text}")

    @HANDLERS.on(BottleneckProved)
    def _on_bottleneck_proved(self, event: BottleneckProved) -> None:
        self.proved[event.result.step] = event.result

    @HANDLERS.on(StopRequested)
    def _on_stop_requested(self, event: StopRequested) -> None:
        self.stop_mode = "abort" if self.stop_mode == "abort" else event.mode
        self.stop_reason = self.stop_reason or event.reason
        if not self.ended:
            self.state = "stopping"
            self.reason = f"{event.mode} asked for" + (f" by {event.by}" if event.by else "")

    @HANDLERS.on(RunEnded)
    def _on_run_ended(self, event: RunEnded) -> None:
        self.end, self.state, self.reason = event, event.state, event.reason
        for measurement in (self.current, *self.measuring.values()):
            measurement.silence()

    HANDLERS.on(TaskStarted)(lambda self, event: self.commands.append(event))
    HANDLERS.on(Artefact)(lambda self, event: self.artefacts.append(event))
    HANDLERS.on(FileCreated)(
        lambda self, event: self.files.setdefault(event.host, HostFiles()).create(event)
    )
    HANDLERS.on(FilesRemoved)(
        lambda self, event: self.files.setdefault(event.host, HostFiles()).remove(event)
    )

    @HANDLERS.on(SampleStamp)
    def _on_stamp(self, event: SampleStamp) -> None:
        self.clocks.of(event.host).run_time(event.t, event.host_time_ms)

    @HANDLERS.on(Unreadable)
    def _on_unreadable(self, event: Unreadable) -> None:
        self.unreadable += 1
        if self.unreadable == 1:
            self.messages.say(
                event.t, "warning", None, "a part of the journal cannot be read: it is damaged"
            )
