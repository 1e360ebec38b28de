"""State of a run after the events that `fold` has applied.

Live, replay, progress, the record and recovery are views of it. The state of each step is in its
`StepState`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from msgspec import Struct

from tui.journal.clock import ClockReading, HostClocks
from tui.journal.intervals import Clock
from tui.journal.measurement import Measurement
from tui.journal.progress import HostFiles, PhaseProgress, SearchState, phase_progress
from tui.journal.step import PhaseSpan, StepState
from tui.journal.views import FRESH_S, DirectionView, Group
from tui.metrics.units import clock
from tui.model.event import (
    Artefact,
    DirectionResult,
    HostProblem,
    HostResult,
    HostStateName,
    Message,
    NoteAdded,
    PhaseName,
    RunEnded,
    RunResumed,
    RunStarted,
    Sample,
    Severity,
    TaskStarted,
)
from tui.model.hostfacts import Fact
from tui.model.operands import Clause
from tui.model.plain_data import format_utc, parse_utc
from tui.model.search import ProofResult
from tui.text.names import NAMED, names_of

Activity = Literal["waiting", "running", "silent", "finished", "ended early", "failed", "lost"]
LOADED: frozenset[HostStateName] = frozenset({"running", "layout"})
END_OF: dict[bool, Literal["finished", "ended early"]] = {True: "finished", False: "ended early"}
StateName = Literal["starting", "running", "stopping", "complete", "partial", "aborted", "failed"]
FINAL: frozenset[str] = frozenset({"complete", "partial", "aborted", "failed"})
KEPT_NEWEST = 500  # messages for screens
KEPT_FIRST = 2000  # messages for the record


class HostFigures(Struct, frozen=True):
    """One host's figures, in total or for one job. `results` are the tool's final ones."""

    dirs: Mapping[str, DirectionView]
    total: DirectionView
    results: Mapping[str, DirectionResult]


class HostView(Struct):
    """State of one host.

    `dirs` and `total` belong to the current measurement; `version` increases with every visible
    change.
    """

    name: str
    total: DirectionView
    dirs: dict[str, Any]
    state: HostStateName = "waiting"
    detail: Clause | str = ""
    facts: dict[str, Fact] = msgspec.field(default_factory=dict)
    last_sample_t: float | None = None
    running_since_t: float | None = None
    problem: Clause | str | None = None
    problem_code: str = ""
    problem_step: int | None = None  # its step's; None: the run's
    result: HostResult | None = None  # of the current measurement, from the tool's result
    gives_none: bool = False  # the tool gives no samples
    load_ended: bool | None = None  # whether the current load succeeded; None: not ended
    version: int = 0
    jobs: Mapping[str, Measurement] = msgspec.field(
        default_factory=dict
    )  # of the current measurement

    def figures(self, job: str | None = None) -> HostFigures:
        """Return the host's figures, in total or for one job."""
        result = self.result
        if job is None:
            return HostFigures(self.dirs, self.total, result.dirs if result is not None else {})
        results = result.jobs.get(job, {}) if result is not None else {}
        if job not in self.jobs:
            return HostFigures({}, Group(Clock()), results)
        return HostFigures(
            self.jobs[job].dirs_of(self.name), self.jobs[job].total_of(self.name), results
        )

    def leave_step(self) -> None:
        """Clear the problems of a finished step; the run's problems stay."""
        if self.problem_step is not None:
            self.problem = self.problem_step = None
            self.problem_code = ""
            self.version += 1

    def enter(self, measurement: Measurement, load_ended: bool | None) -> None:
        """Start a measurement, or continue a resumed run's."""
        self.dirs, self.total = measurement.dirs_of(self.name), measurement.total_of(self.name)
        self.jobs, self.load_ended = measurement.jobs, load_ended
        self.last_sample_t, self.gives_none, self.result = None, False, None
        self.version += 1

    def end_load(self, *, well: bool) -> None:
        """Mark the load as over, so that the host no longer counts as silent."""
        self.load_ended = well
        self.version += 1

    def stale_s(self, now_t: float) -> float | None:
        """Return the seconds since the last sample of a silent host; None if it is not silent or
        has no load.
        """
        if (
            self.gives_none
            or self.load_ended is not None
            or self.state not in LOADED
            or self.running_since_t is None
        ):
            return None
        silent = now_t - max(self.running_since_t, self.last_sample_t or 0.0)
        return silent if silent > FRESH_S else None

    def activity(self, now_t: float) -> Activity:
        """Return the host's activity, as shown by all screens and headless progress."""
        if self.state in ("failed", "lost"):
            return self.state
        if self.state not in (*LOADED, "collecting", "done"):
            return "waiting"
        if self.load_ended is not None:
            return END_OF[self.load_ended]
        if self.state not in LOADED:
            return "finished"
        return "silent" if self.stale_s(now_t) is not None else "running"


OVER: tuple[Activity, ...] = ("finished", "ended early", "failed", "lost")


def activities(hosts: Iterable[HostView], now_t: float) -> dict[Activity, list[HostView]]:
    """Return the hosts by activity."""
    found: dict[Activity, list[HostView]] = {}
    for host in hosts:
        found.setdefault(host.activity(now_t), []).append(host)
    return found


def silent_text(host: HostView, now_t: float) -> str:
    """Return the silence of a host as text: ``silent for 18 s``; empty if it is not silent."""
    silent_s = host.stale_s(now_t)
    return "" if silent_s is None else f"silent for {silent_s:.0f} s"


def silent_hosts_text(hosts: Iterable[HostView], now_t: float) -> str:
    """Return the silent hosts as text: ``h7 silent for 18 s``, ``2 hosts silent for 20 s: h7, h8``.

    The time is the longest. Empty if there are none.
    """
    silent = sorted(
        (host for host in hosts if host.activity(now_t) == "silent"),
        key=lambda host: -(host.stale_s(now_t) or 0.0),
    )
    if len(silent) > 1:
        return (
            f"{len(silent)} hosts {silent_text(silent[0], now_t)}:"
            f" {names_of([host.name for host in silent])}"
        )
    return f"{silent[0].name} {silent_text(silent[0], now_t)}" if silent else ""


def waiting_text(hosts: Iterable[HostView], now_t: float, left_s: float | None = None) -> str:
    """Return the hosts that others wait for: ``11 of 12 finished, waiting 0:58 more for h7 (silent
    for 18 s)``.

    `left_s`: the longest remaining wait, if known. Empty while no host has finished, and once all
    have.
    """
    hosts = list(hosts)
    found = activities(hosts, now_t)
    rest = [*found.get("silent", []), *found.get("running", [])]
    if "finished" not in found or not rest:
        return ""
    over = [f"{len(found[name])} {name}" for name in OVER[1:] if name in found]
    parts = [f"{len(found['finished'])} of {len(hosts)} finished", *over]
    more = f" {clock(left_s)} more" if left_s is not None else ""
    return f"{', '.join(parts)}, waiting{more} for {_named(rest, now_t)}"


def _named(rest: list[HostView], now_t: float) -> str:
    if len(rest) > NAMED + 1:
        return names_of([host.name for host in rest])
    return ", ".join(
        f"{host.name} ({silent})" if (silent := silent_text(host, now_t)) else host.name
        for host in rest
    )


class MessageLine(Struct, frozen=True):
    """A line for the operator. `host` None means the engine; `step`: the step it refers to."""

    t: float
    severity: Severity
    host: str | None
    text: Clause | str
    step: int | None = None


class RunMessages(Struct):
    """Lines for the operator: `newest` for screens, `first` of the journal for the record.

    `dropped` counts the journal's lines beyond these.
    """

    newest: list[MessageLine] = msgspec.field(default_factory=list)
    first: list[Message] = msgspec.field(default_factory=list)
    dropped: int = 0

    def take(self, event: Message) -> None:
        """Add a line of the journal."""
        if len(self.first) < KEPT_FIRST:
            self.first.append(event)
        else:
            self.dropped += 1
        self.say(event.t, event.severity, event.host, event.text)

    def say(
        self,
        t: float,
        severity: Severity,
        host: str | None,
        text: Clause | str,
        step: int | None = None,
    ) -> None:
        """Add a line that is not in the journal."""
        self.newest.append(MessageLine(t, severity, host, text, step))
        if len(self.newest) > 2 * KEPT_NEWEST:
            del self.newest[:-KEPT_NEWEST]


class StepsBeside(Struct):
    """Which host runs which of several concurrent steps; empty if a single step runs."""

    by_host: dict[str, int] = msgspec.field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_host)

    def __contains__(self, step: int | None) -> bool:
        return step in self.by_host.values()

    @property
    def steps(self) -> list[int]:
        """Concurrent steps in plan order."""
        return sorted(set(self.by_host.values()))

    def begin(self, step: int, hosts: Collection[str]) -> None:
        """Add the hosts of a concurrent step."""
        self.by_host |= dict.fromkeys(hosts, step)

    def clear(self) -> None:
        """Forget the steps, which have ended."""
        self.by_host.clear()

    def step_of(self, host: str, alone: int | None) -> int | None:
        """Return the step that a host runs; `alone` if a single step runs."""
        return self.by_host.get(host, alone)

    def hosts_of(self, step: int | None) -> list[str]:
        """Return the hosts of a concurrent step; empty if a single step runs."""
        return [host for host, each in self.by_host.items() if each == step]


@dataclass(slots=True)
class RunState:
    """State of a run after the events applied so far.

    The record keeps the data of every step and leaves the ramp out of series; screens keep only the
    current step. `has_result`: steps and hosts whose latencies need not be kept. `tails_open_s`:
    collect p99 per second (see `Measurement`).
    """

    clocks: HostClocks = field(default_factory=HostClocks)
    has_result: Collection[tuple[int, str]] = ()
    for_record: bool = False
    tails_open_s: int | None = None
    started: RunStarted | None = None
    end: RunEnded | None = None
    state: StateName = "starting"
    reason: Clause | str = ""
    # requested since the run began or was resumed
    stop_mode: Literal["stop", "abort"] | None = None
    stop_reason: Clause | str = ""  # why the engine itself requested it
    t: float = 0.0
    phase: PhaseName | None = None
    phase_started_t: float = 0.0
    phase_expected_s: float | None = None
    phase_total_bytes: int | None = None
    phase_bytes: int = 0
    phases: list[PhaseSpan] = field(default_factory=list)  # outside of steps
    step: int | None = None
    steps: dict[int, StepState] = field(default_factory=dict)
    hosts: dict[str, HostView] = field(default_factory=dict)
    # of storage nodes, which are not hosts of the run
    server_facts: dict[str, dict[str, Fact]] = field(default_factory=dict)
    messages: RunMessages = field(default_factory=RunMessages)
    notes: list[NoteAdded] = field(default_factory=list)
    # by step, the newest counter-experiment
    proved: dict[int, ProofResult] = field(default_factory=dict)
    run_problems: list[HostProblem] = field(default_factory=list)  # outside of steps
    commands: list[TaskStarted] = field(default_factory=list)  # of all steps and attempts
    artefacts: list[Artefact] = field(default_factory=list)
    files: dict[str, HostFiles] = field(default_factory=dict)
    resumed: list[RunResumed] = field(default_factory=list)
    search: SearchState = field(default_factory=SearchState)
    unreadable: int = 0  # lines of the journal
    version: int = 0
    clock: Clock = field(default_factory=Clock)
    current: Measurement = field(init=False)
    armed: set[str] = field(default_factory=set)  # hosts of the running steps
    # steps that run at the same time; `step` is the one that screens show
    beside: StepsBeside = field(default_factory=StepsBeside)

    def __post_init__(self) -> None:
        self.current = Measurement(self.clock, None, None, 0.0)

    @property
    def cluster(self) -> dict[str, Group]:
        """Groups of all hosts, by direction."""
        return self.current.cluster

    @property
    def total(self) -> DirectionView:
        """View of all hosts and directions together; if there is one direction, its own view."""
        return self.current.whole

    @property
    def run_id(self) -> str:
        """The run's id; empty before its first event."""
        return self.started.run_id if self.started is not None else ""

    @property
    def profile(self) -> str:
        """Tag of the run's profile; empty before the run's first event."""
        return self.started.profile if self.started is not None else ""

    @property
    def utc(self) -> str:
        """Start time, as given in the first event; empty before it."""
        return self.started.utc if self.started is not None else ""

    @property
    def created(self) -> datetime | None:
        """Start time; None if unknown."""
        return parse_utc(self.utc)

    def utc_of(self, t: float | None) -> str | None:
        """Return a run time as RFC 3339; None if unknown."""
        created = self.created
        return None if created is None or t is None else format_utc(created + timedelta(seconds=t))

    @property
    def exit_code(self) -> int | None:
        """Exit code of the run; None while it is running."""
        return self.end.exit_code if self.end is not None else None

    @property
    def problems(self) -> list[HostProblem]:
        """Problems on hosts, oldest first; only from the newest attempt."""
        parts = [self.run_problems, *(step.problems for step in self.steps.values())]
        return sorted(
            (problem for part in parts for problem in part), key=lambda problem: problem.t
        )

    def forget_problems(self) -> None:
        """Drop the problems outside of steps, because the new engine repeats all phases there."""
        self.run_problems.clear()
        for view in self.hosts.values():
            if view.problem is not None and view.problem_step is None:
                view.problem, view.problem_code = None, ""
                view.version += 1

    @property
    def ended(self) -> bool:
        """Whether the run was closed properly."""
        return self.state in FINAL

    def at_step(self, index: int) -> StepState:
        """Return the state of a step, which is `missing` before its first event."""
        step = self.steps.get(index)
        if step is None:
            step = self.steps[index] = StepState(index, started_t=self.t)
        return step

    def host(self, name: str) -> HostView:
        """Return the view of a host, creating it for a new host."""
        view = self.hosts.get(name)
        if view is None:
            now = self.current
            view = self.hosts[name] = HostView(
                name, now.total_of(name), now.dirs_of(name), jobs=now.jobs
            )
        return view

    def tick(self, now_t: float) -> None:
        """Advance the current time without an event, so that hosts without samples become
        silent.
        """
        self.clock.now = max(self.clock.now, now_t)

    def progress(self, now_t: float) -> PhaseProgress:
        """Return the progress of the current phase."""
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
        """Return a host's clock offset when its result of a step arrived, else the newest one; None
        if unknown.
        """
        known = self.steps.get(step) if step is not None else None
        if known is not None and host in known.readings:
            return known.readings[host]
        return self.clocks.reading_of(host)

    def show(self, step: int) -> None:
        """Select which of several running steps the screens show."""
        seen = self.at_step(step)
        if seen.measurement is None or not seen.phases:
            return
        span = seen.phases[-1]
        self.step, self.current, self.phase = step, seen.measurement, span.name
        self.phase_started_t, self.phase_expected_s = span.start_t, span.expected_s
        self.phase_total_bytes = None
        self.version += 1

    @property
    def hosts_shown(self) -> dict[str, HostView]:
        """Hosts of the step that screens show, and hosts without a step."""
        beside, step = self.beside, self.step
        return {
            name: view for name, view in self.hosts.items() if beside.step_of(name, step) == step
        }

    @property
    def measuring(self) -> dict[int, Measurement]:
        """Concurrent measurements by step; empty if a single step runs."""
        found = {step: self.at_step(step).measurement for step in self.beside.steps}
        return {step: measurement for step, measurement in found.items() if measurement is not None}

    def open_measurement(self, phase: PhaseName, step: int | None) -> Measurement | None:
        """Return the running measurement of this phase and step; None if there is none."""
        known = self.steps.get(step) if step in self.beside and step is not None else None
        for found in (self.current, known.measurement if known is not None else None):
            if found is not None and found.is_of(phase, step):
                return found
        return None

    def measures(self, step: int | None) -> bool:
        """Return whether a step is in its measured phase."""
        if step not in self.beside or step is None:
            return self.phase == "measure"
        return bool(self.at_step(step).phases) and self.at_step(step).phases[-1].name == "measure"

    def forget(self, step: int) -> None:
        """Discard the data of a step that will be repeated."""
        self.steps[step] = StepState(step, attempt=self.at_step(step).attempt, started_t=self.t)
        self.proved.pop(step, None)
        self.search.forget(step)
        self.current = Measurement(self.clock, None, None, self.t)
