"""One pass over a journal that collects what a record needs beside the projection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Any

from tui.journal.clock import ClockStep, survey
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.model.event import (
    AFTERWORDS,
    AnyEvent,
    Artefact,
    CacheDropped,
    FileCreated,
    FilesRemoved,
    HostClock,
    HostProblem,
    Message,
    Note,
    PhaseEnded,
    PhaseStarted,
    RunEnded,
    RunResumed,
    RunStarted,
    Sample,
    StepStarted,
    StopRequested,
    TaskEnded,
    TaskStarted,
)
from tui.results.record.columns import CLUSTER_OPEN_S, HOST_OPEN_S, PercentileBins

KEPT_MESSAGES = 2000
BinsKey = tuple[int, str | None, str]  # step, host or None for the cluster, direction


@dataclass(slots=True)
class PhaseSpan:
    """A phase as it was seen in the journal."""

    name: str
    step: int | None
    start_t: float
    end_t: float | None = None
    ok: bool | None = None


@dataclass(slots=True)
class Gathered:
    """Everything of a journal that goes into a record."""

    state: RunState
    started: RunStarted | None = None
    ended: RunEnded | None = None
    end_t: float = 0.0
    stopped: bool = False
    aborted: bool = False
    phases: list[PhaseSpan] = field(default_factory=list)
    started_tasks: list[TaskStarted] = field(default_factory=list)
    ended_tasks: dict[tuple[int, str, str], TaskEnded] = field(default_factory=dict)  # step, phase, host
    problems: list[tuple[HostProblem, int | None]] = field(default_factory=list)  # with the step it fell into
    artefacts: list[Artefact] = field(default_factory=list)
    files: dict[str, list[FileCreated]] = field(default_factory=dict)
    cache_drops: list[CacheDropped] = field(default_factory=list)
    removed: dict[str, list[FilesRemoved]] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    dropped_messages: int = 0
    compared: dict[str, HostClock] = field(default_factory=dict)  # the newest comparison of each host's clock
    clock_steps: dict[str, ClockStep] = field(default_factory=dict)
    resumed: list[RunResumed] = field(default_factory=list)
    p99: dict[BinsKey, PercentileBins] = field(default_factory=dict)
    cluster_open_s: int = CLUSTER_OPEN_S
    events: int = 0
    unread_bytes: int = 0

    @property
    def created(self) -> datetime | None:
        """When the run started."""
        return parse_utc(self.started.utc) if self.started is not None else None

    def utc(self, t: float | None) -> str | None:
        """Return a time of the run as RFC 3339; None when unknown."""
        created = self.created
        return None if created is None or t is None else format_utc(created + timedelta(seconds=t))

    def apply(self, event: AnyEvent) -> None:
        """Take the next event."""
        self.state.apply(event)
        if not isinstance(event, AFTERWORDS):
            self.end_t = max(self.end_t, event.t)
        handler = HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def _on_run_started(self, event: RunStarted) -> None:
        self.started = event

    def _on_run_ended(self, event: RunEnded) -> None:
        self.ended = event

    def _on_run_resumed(self, event: RunResumed) -> None:
        self.resumed.append(event)
        if self.ended is not None or event.going_on:
            self.ended, self.stopped, self.aborted = None, False, False

    def _on_step_started(self, event: StepStarted) -> None:
        if event.attempt > 1:
            self.forget(event.step)

    def forget(self, step: int) -> None:
        """Leave out what was seen of a step: it is made again."""
        self.phases = [span for span in self.phases if span.step != step]
        self.problems = [each for each in self.problems if each[1] != step]
        self.ended_tasks = {key: task for key, task in self.ended_tasks.items() if key[0] != step}
        self.p99 = {key: bins for key, bins in self.p99.items() if key[0] != step}
        self.cache_drops = [each for each in self.cache_drops if each.step != step]

    def _on_cache_dropped(self, event: CacheDropped) -> None:
        self.cache_drops.append(event)

    def _on_host_clock(self, event: HostClock) -> None:
        self.compared[event.host] = event

    def _on_stop_requested(self, event: StopRequested) -> None:
        self.stopped = True
        self.aborted = self.aborted or event.mode == "abort"

    def _on_phase_started(self, event: PhaseStarted) -> None:
        self.phases.append(PhaseSpan(event.phase, event.step, event.t))

    def _on_phase_ended(self, event: PhaseEnded) -> None:
        for span in reversed(self.phases):
            if span.name == event.phase and span.step == event.step and span.end_t is None:
                span.end_t, span.ok = event.t, event.ok
                return

    def _on_task_started(self, event: TaskStarted) -> None:
        self.started_tasks.append(event)

    def _on_task_ended(self, event: TaskEnded) -> None:
        if not event.role:
            self.ended_tasks[event.step, event.phase, event.host] = event

    def _on_host_problem(self, event: HostProblem) -> None:
        self.problems.append((event, self.state.step))

    def _on_artefact(self, event: Artefact) -> None:
        self.artefacts.append(event)

    def _on_file_created(self, event: FileCreated) -> None:
        self.files.setdefault(event.host, []).append(event)

    def _on_files_removed(self, event: FilesRemoved) -> None:
        self.removed.setdefault(event.host, []).append(event)
        rest = event.bytes
        for created in self.files.get(event.host, []):
            taken = min(rest, created.bytes)
            created.bytes, rest = created.bytes - taken, rest - taken
            created.paths = [path for path in created.paths if path not in event.paths]
        self.files[event.host] = [created for created in self.files.get(event.host, []) if created.paths]

    def _on_note(self, event: Note) -> None:
        self.notes.append(event)

    def _on_message(self, event: Message) -> None:
        if len(self.messages) < KEPT_MESSAGES:
            self.messages.append(event)
        else:
            self.dropped_messages += 1

    def _on_sample(self, event: Sample) -> None:
        if event.phase != "measure" or event.ramp:
            return
        t0, t1 = self.state.interval_of(event)
        for direction, part in event.dirs.items():
            if part.lat.idx:
                self._bins(event.step, event.host, direction).add(t0, t1, part.lat)
                self._bins(event.step, None, direction).add(t0, t1, part.lat)

    def _bins(self, step: int, host: str | None, direction: str) -> PercentileBins:
        bins = self.p99.get((step, host, direction))
        if bins is None:
            bins = PercentileBins(self.cluster_open_s if host is None else HOST_OPEN_S)
            self.p99[step, host, direction] = bins
        return bins


HANDLERS: dict[type, Callable[[Gathered, Any], None]] = {
    RunStarted: Gathered._on_run_started,
    RunEnded: Gathered._on_run_ended,
    RunResumed: Gathered._on_run_resumed,
    HostClock: Gathered._on_host_clock,
    StepStarted: Gathered._on_step_started,
    CacheDropped: Gathered._on_cache_dropped,
    StopRequested: Gathered._on_stop_requested,
    PhaseStarted: Gathered._on_phase_started,
    PhaseEnded: Gathered._on_phase_ended,
    TaskStarted: Gathered._on_task_started,
    TaskEnded: Gathered._on_task_ended,
    HostProblem: Gathered._on_host_problem,
    Artefact: Gathered._on_artefact,
    FileCreated: Gathered._on_file_created,
    FilesRemoved: Gathered._on_files_removed,
    Note: Gathered._on_note,
    Message: Gathered._on_message,
    Sample: Gathered._on_sample,
}


def gather(journal: Path, lease_s: float = 0.0) -> Gathered:
    """Read a journal, as far as it can be read. A journal that is not there is an empty one.

    `lease_s` is how long load goes on while nobody takes its samples: so far hosts may be behind each other.
    """
    if not journal.exists():
        return Gathered(RunState(for_record=True))
    known = survey(journal)
    state = RunState(known.offsets, known.distrusted, known.results, for_record=True)
    gathered = Gathered(state, clock_steps=dict(known.distrusted))
    gathered.cluster_open_s = max(CLUSTER_OPEN_S, ceil(1.5 * lease_s))
    reader = read_events(journal)
    for event in reader:
        gathered.apply(event)
    gathered.clock_steps |= {host: clock.step for host, clock in state.clocks.items() if clock.step is not None}
    gathered.events, gathered.unread_bytes = reader.events, reader.unread_bytes
    return gathered


def parse_utc(text: str) -> datetime | None:
    """Return a time of day from RFC 3339; None when it is none."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when.astimezone(UTC) if when.tzinfo is not None else when.replace(tzinfo=UTC)


def format_utc(when: datetime) -> str:
    """Return RFC 3339 with milliseconds and Z."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
