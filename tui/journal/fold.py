"""Fold the events of a run into its `RunState`: one function per kind of event.

Events of a step also go to the handlers of `StepState` in `step.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from tui.journal.clock import ended_badly
from tui.journal.measurement import Measurement
from tui.journal.progress import HostFiles
from tui.journal.reader import JournalEvent, SampleStamp, Unreadable
from tui.journal.state import RunState
from tui.journal.step import HANDLERS as STEP_HANDLERS
from tui.journal.step import Handlers, PhaseSpan, end_phase
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
    PhaseStarted,
    PointDecided,
    PointOffered,
    RunEnded,
    RunResumed,
    RunStarted,
    Sample,
    Severity,
    StepEnded,
    StepStarted,
    StopRequested,
    TaskEnded,
    TaskStarted,
    TelemetrySample,
)
from tui.model.operands import clause
from tui.text.names import loss_text

# host states that a step's load follows
PREPARED: frozenset[str] = frozenset({"layout", "armed"})
# host states without load
OVER: frozenset[str] = frozenset({"collecting", "done", "failed", "lost"})
HANDLERS: Handlers[RunState] = Handlers()


def fold(run: RunState, event: JournalEvent) -> None:
    """Apply the next event of a run to its state."""
    kind = type(event)
    # a note added next week does not extend the run
    if event.t > run.t and kind not in AFTERWORDS:
        run.t = event.t
        run.clock.now = max(run.clock.now, event.t)
    run.version += 1
    if (handle := HANDLERS.get(kind)) is not None:
        handle(run, event)
    if (handle_in_step := STEP_HANDLERS.get(kind)) is not None and event.step is not None:  # type: ignore[union-attr]
        handle_in_step(run.at_step(event.step), event)  # type: ignore[union-attr]  # those of steps have one


def fold_all(run: RunState, events: Iterable[JournalEvent]) -> RunState:
    """Apply events to the state of a run, and return it."""
    for event in events:
        fold(run, event)
    return run


# -- the run


@HANDLERS.on(RunStarted)
def _start_run(run: RunState, event: RunStarted) -> None:
    run.started = event
    for name in event.hosts:
        run.host(name)


@HANDLERS.on(RunResumed)
def _resume_run(run: RunState, event: RunResumed) -> None:
    run.resumed.append(event)
    if run.ended or event.going_on:
        run.state, run.end, run.reason = "running", None, ""
        run.stop_mode, run.stop_reason = None, ""
    if event.going_on:
        run.forget_problems()
    for clock in run.clocks.by_host.values():
        clock.expect_late()
    text = f"a new engine took over after {event.gap_s:.1f} s without one"
    run.messages.say(event.t, "warning", None, text)


@HANDLERS.on(StopRequested)
def _request_stop(run: RunState, event: StopRequested) -> None:
    run.stop_mode = "abort" if run.stop_mode == "abort" else event.mode
    run.stop_reason = run.stop_reason or event.reason
    if not run.ended:
        run.state = "stopping"
        run.reason = clause("stop-requested", mode=event.mode, by=event.by)


@HANDLERS.on(RunEnded)
def _end_run(run: RunState, event: RunEnded) -> None:
    run.end, run.state, run.reason = event, event.state, event.reason
    for measurement in (run.current, *run.measuring.values()):
        measurement.silence()
    _disarm(run, run.hosts)


HANDLERS.on(PointOffered)(lambda run, event: run.search.offer(event))
HANDLERS.on(PointDecided)(lambda run, event: run.search.decide(event))
HANDLERS.on(Message)(lambda run, event: run.messages.take(event))


@HANDLERS.on(NoteAdded)
def _add_note(run: RunState, event: NoteAdded) -> None:
    run.notes.append(event)
    run.messages.say(event.t, "info", None, f"note: {event.text}")


@HANDLERS.on(BottleneckProved)
def _prove_bottleneck(run: RunState, event: BottleneckProved) -> None:
    run.proved[event.result.step] = event.result


@HANDLERS.on(Unreadable)
def _count_damage(run: RunState, event: Unreadable) -> None:
    run.unreadable += 1
    if run.unreadable == 1:
        text = "part of the journal is damaged and unreadable"
        run.messages.say(event.t, "warning", None, text)


# -- phases and steps


@HANDLERS.on(PhaseStarted)
def _start_phase(run: RunState, event: PhaseStarted) -> None:
    if run.state == "starting":
        run.state = "running"
    others_measure = run.phase == "measure" and run.step != event.step
    if not (others_measure and run.step in run.beside and event.step in run.beside):
        run.phase, run.step, run.phase_started_t = event.phase, event.step, event.t
        run.phase_expected_s, run.phase_total_bytes = event.expected_s, event.total_bytes
    if event.step is None:
        run.phases.append(PhaseSpan(event.phase, None, event.t))
    if event.phase in ("layout", "measure"):
        _measure(run, event)


def _measure(run: RunState, event: PhaseStarted) -> None:
    """Start a phase's measurement, or continue the measurement of a resumed run."""
    known = (
        run.at_step(event.step or 0).measurement
        if run.resumed and event.phase == "measure"
        else None
    )
    if known is not None:
        if event.step == run.step:
            run.phase_started_t = known.started_t
        if known is not run.current:
            _enter(run, known)
        return
    if event.step == run.step:
        run.phase_bytes = 0
    measurement = Measurement(
        run.clock,
        event.phase,
        event.step,
        event.t,
        for_record=run.for_record,
        tails_open_s=run.tails_open_s,
    )
    measurement.has_result = {host for step, host in run.has_result if step == event.step}
    _enter(run, measurement)


def _enter(run: RunState, measurement: Measurement) -> None:
    """Assign a measurement to its step and hosts."""
    index = measurement.step
    if index == run.step:
        run.current = measurement
    if measurement.phase == "measure" and index is not None:
        for step in run.steps.values():
            if not (run.for_record or step.index in run.beside):
                step.measurement = None
        run.at_step(index).measurement = measurement
    for view in run.hosts.values():
        if run.beside.step_of(view.name, index) == index:
            view.enter(
                measurement, run.at_step(index or 0).ended_well(measurement.phase, view.name)
            )


@HANDLERS.on(PhaseEnded)
def _end_phase(run: RunState, event: PhaseEnded) -> None:
    if event.step is None:
        end_phase(run.phases, event)
    measurement = run.open_measurement(event.phase, event.step)
    if measurement is None:
        return
    measurement.silence()
    for view in run.hosts.values():
        view.version += 1
    others = [step for step in run.beside.steps if step != event.step and run.measures(step)]
    if event.phase == "measure" and event.step == run.step and others:
        run.show(others[0])


@HANDLERS.on(StepStarted)
def _start_step(run: RunState, event: StepStarted) -> None:
    run.step = event.step
    running = [run.at_step(step) for step in run.beside.steps if step != event.step]
    if not event.hosts or not any(
        step.state == "running" and step.attempt >= event.attempt for step in running
    ):
        run.beside.clear()
        run.armed.clear()
        for view in run.hosts.values():
            view.leave_step()
    run.beside.begin(event.step, event.hosts)
    if event.attempt > 1:
        run.forget(event.step)


@HANDLERS.on(StepEnded)
def _end_step(run: RunState, event: StepEnded) -> None:
    _disarm(run, run.beside.hosts_of(event.step) or run.hosts)


def _disarm(run: RunState, hosts: Iterable[str]) -> None:
    """Set hosts that no longer wait for a load back to ready.

    A record keeps the state that the engine reported last.
    """
    for name in hosts if not run.for_record else ():
        view = run.host(name)
        if view.state in PREPARED:
            view.state, view.detail = "ready", ""
            view.version += 1


# -- hosts


@HANDLERS.on(HostState)
def _change_host(run: RunState, event: HostState) -> None:
    view = run.host(event.host)
    if event.state in ("running", "layout") and view.state != event.state:
        view.running_since_t = event.t
    view.state, view.detail = event.state, event.detail
    if event.state == "armed":
        run.armed.add(event.host)
    step = run.beside.step_of(event.host, run.step)
    if event.state == "running" and step is not None:
        run.at_step(step).released.add(event.host)
    measurement = run.open_measurement("measure", step) or run.current
    if event.state in ("lost", "failed") and run.measures(step):
        _drop(run, event.host, measurement)
    if event.state in OVER:
        measurement.silence(event.host)
    view.version += 1


@HANDLERS.on(HostFactsCollected)
def _add_facts(run: RunState, event: HostFactsCollected) -> None:
    if event.role == "server":
        run.server_facts.setdefault(event.host, {}).update(event.facts)
        return
    view = run.host(event.host)
    view.facts.update(event.facts)
    view.version += 1


@HANDLERS.on(HostProblem)
def _add_problem(run: RunState, event: HostProblem) -> None:
    step = run.beside.step_of(event.host, run.step)
    (run.run_problems if step is None else run.at_step(step).problems).append(event)
    view = run.host(event.host)
    if view.problem is None or event.fatal:
        view.problem, view.problem_code, view.problem_step = event.message, event.code, step
    view.version += 1
    severity: Severity = "error" if event.fatal else "warning"
    run.messages.say(event.t, severity, event.host, event.message, step)


HANDLERS.on(HostClock)(lambda run, event: run.clocks.take(event))
HANDLERS.on(Artefact)(lambda run, event: run.artefacts.append(event))
HANDLERS.on(FileCreated)(
    lambda run, event: run.files.setdefault(event.host, HostFiles()).create(event)
)
HANDLERS.on(FilesRemoved)(
    lambda run, event: run.files.setdefault(event.host, HostFiles()).remove(event)
)


# -- loads, their samples and results


HANDLERS.on(TaskStarted)(lambda run, event: run.commands.append(event))


@HANDLERS.on(TaskEnded)
def _end_task(run: RunState, event: TaskEnded) -> None:
    measurement = run.open_measurement(event.phase, event.step)
    if measurement is None:
        return
    early = event.t < _planned_end(run, event.step)
    badly = early and ended_badly(event) and run.state != "stopping"
    if not event.role:
        run.host(event.host).end_load(well=not badly and (event.reason == "exit" or not early))
        measurement.silence(event.host)
    if badly and event.phase == "measure":
        _drop(run, event.host, measurement)


def _planned_end(run: RunState, step: int) -> float:
    """Return the planned end of a step's phase in run time; infinity if it has no time limit."""
    start_t, expected_s = run.phase_started_t, run.phase_expected_s
    if step in run.beside and run.at_step(step).phases:
        span = run.at_step(step).phases[-1]
        start_t, expected_s = span.start_t, span.expected_s
    return start_t + (expected_s or float("inf"))


def _drop(run: RunState, host: str, measurement: Measurement) -> None:
    """Record and report, once, that a host stopped measuring: later totals cover fewer hosts."""
    if host in measurement.dropped:
        return
    windows = measurement.windows
    start_t = min((window.start_t for window in windows.values()), default=measurement.started_t)
    end_t = windows[host].end_t if host in windows else start_t
    measurement.dropped[host] = end_t
    count = len(run.beside.hosts_of(measurement.step)) or len(run.armed) or len(run.hosts)
    text = loss_text(count - len(measurement.dropped), count, end_t - start_t, [host])
    run.messages.say(run.t, "warning", host, text)


@HANDLERS.on(Sample)
def _add_sample(run: RunState, event: Sample) -> None:
    t0, t1 = run.interval_of(event)
    view = run.host(event.host)
    view.last_sample_t = event.t
    view.version += 1
    if event.phase == run.phase and event.step == run.step and run.phase_total_bytes:
        run.phase_bytes += sum(part.bytes for part in event.dirs.values())
    current = run.current
    measurement = current if current.holds(event) else run.at_step(event.step).measurement
    # a late sample of an earlier phase is ignored elsewhere
    if measurement is not None and measurement.holds(event):
        measurement.add(event, t0, t1)


@HANDLERS.on(SampleStamp)
def _add_stamp(run: RunState, event: SampleStamp) -> None:
    run.clocks.of(event.host).run_time(event.t, event.host_time_ms)


@HANDLERS.on(TelemetrySample)
def _add_telemetry(run: RunState, event: TelemetrySample) -> None:
    kept = run.at_step(event.step).telemetry.get(event.host)
    if kept is None:
        return
    # a stamp by uptime has no relation to the wall clock
    offset_s = run.clocks.offset_of(event.host)
    end_t = event.t if offset_s is None else min(event.t, event.host_time_ms / 1000 + offset_s)
    kept.add(event, max(0.0, end_t), keep_all=run.for_record)


@HANDLERS.on(HostResult)
def _set_result(run: RunState, event: HostResult) -> None:
    if (reading := run.reading_of(event.host)) is not None:
        run.at_step(event.step).readings[event.host] = reading
    view = run.host(event.host)
    view.version += 1
    if run.open_measurement("measure", event.step) is not None:
        view.result = event


@HANDLERS.on(MetadataPhase)
def _enter_operation(run: RunState, event: MetadataPhase) -> None:
    for view in run.hosts.values():
        view.gives_none |= run.beside.step_of(view.name, event.step) == event.step
