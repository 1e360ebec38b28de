"""What a journal says an engine had done before it died: enough for another one to go on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tui.model.event import (
    AnyEvent,
    FileCreated,
    FilesRemoved,
    HostProblem,
    HostResult,
    HostState,
    HostStateName,
    RunEnded,
    RunResumed,
    RunStarted,
    Sample,
    StepEnded,
    StepStarted,
    StopRequested,
    TaskEnded,
    TaskStarted,
    decode,
)
from tui.model.plan import Plan, Step
from tui.model.problem import BenchtuiError

Key = tuple[int, str, str]  # step, phase, host


@dataclass
class History:
    """The past of a run. `intact_bytes`: the journal up to its last whole line."""

    started: RunStarted | None = None
    ended: bool = False
    going_on: bool = False  # the run shall do what it lacks, whatever was asked for before
    t: float = 0.0
    intact_bytes: int = 0
    stop_mode: str | None = None
    states: dict[str, HostStateName] = field(default_factory=dict)
    tasks: dict[Key, TaskStarted] = field(default_factory=dict)
    over: set[Key] = field(default_factory=set)
    released: set[Key] = field(default_factory=set)
    results: dict[tuple[int, str], HostResult | None] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)  # by step: how often it was begun
    step_ends: dict[int, StepEnded] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)
    step: int | None = None  # the one that goes on
    problems_in: dict[int | None, int] = field(default_factory=dict)  # by the step they fell into
    sampled_ms: dict[Key, int] = field(default_factory=dict)
    created: dict[str, list[str]] = field(default_factory=dict)

    @property
    def zero(self) -> datetime:
        """Wall-clock time of t = 0. Raises BenchtuiError for a journal that never began."""
        if self.started is None:
            raise BenchtuiError("the journal holds no start of a run; there is nothing to recover")
        return datetime.fromisoformat(self.started.utc)

    def unfinished(self) -> list[TaskStarted]:
        """Return the commands whose end or result is not in the journal, of the newest step that has any."""
        open_tasks = [task for key, task in self.tasks.items() if self._is_open(key)]
        newest = max((task.step for task in open_tasks), default=None)
        return [task for task in open_tasks if task.step == newest]

    def _is_open(self, key: Key) -> bool:
        step, phase, host = key
        if step in self.step_ends:
            return False
        return (step, host) not in self.results if phase == "measure" else key not in self.over

    def take(self, event: AnyEvent) -> None:
        """Take the next event."""
        self.t = max(self.t, event.t)
        if isinstance(event, RunStarted):
            self.started = event
        elif isinstance(event, RunEnded):
            self.ended, self.step = True, None
        elif isinstance(event, RunResumed):
            self._resume(event)
        elif isinstance(event, StopRequested):
            self.stop_mode = event.mode
        elif isinstance(event, HostProblem):
            self.problems_in[self.step] = self.problems_in.get(self.step, 0) + 1
        elif isinstance(event, FileCreated):
            self.created.setdefault(event.host, []).extend(event.paths)
        elif isinstance(event, FilesRemoved):
            kept = self.created.get(event.host, [])
            self.created[event.host] = [path for path in kept if path not in event.paths]
        elif isinstance(event, HostState):
            self._take_state(event)
        elif isinstance(event, StepStarted):
            self._begin_step(event)
        elif isinstance(event, StepEnded):
            self._end_step(event)
        else:
            self._take_task(event)

    def _resume(self, event: RunResumed) -> None:
        self.ended = False
        if event.going_on:
            self.stop_mode = None
            self.problems_in.pop(None, None)

    @property
    def begun(self) -> set[int]:
        """Steps that were begun, however they ended."""
        return {*self.attempts, *(task.step for task in self.tasks.values())}

    def missing(self, plan: Plan, *, failed: bool) -> list[Step]:
        """Return the steps that were not measured to their end; with `failed` those too that ended with errors."""
        lacking = [step for step in plan.steps if step.index not in self.skipped]
        lacking = [step for step in lacking if self._is_missing(step.index, failed)]
        return sorted({step.index: step for step in (*warmups_of(plan, lacking), *lacking)}.values(), key=by_index)

    def _is_missing(self, step: int, failed: bool) -> bool:
        end = self.step_ends.get(step)
        return end is None or end.cut or (failed and not end.ok)

    def make_again(self, steps: Iterable[Step]) -> list[Step]:
        """Forget what was seen of steps, and of the ways to them, and return them as their next attempts."""
        chosen = list(steps)
        for step in chosen:
            self.forget(step.index)
        self.problems_in.pop(None, None)
        return [replace(step, attempt=self.attempts.get(step.index, 0) + 1) for step in chosen]

    @property
    def problems(self) -> int:
        """Host problems so far, those of steps that were made again left out."""
        return sum(self.problems_in.values())

    def _begin_step(self, event: StepStarted) -> None:
        self.forget(event.step)
        self.step, self.attempts[event.step] = event.step, event.attempt

    def _end_step(self, event: StepEnded) -> None:
        self.step = None
        if event.skipped:
            self.skipped.add(event.step)
        else:
            self.step_ends[event.step] = event

    def forget(self, step: int) -> None:
        """Leave out what was seen of a step: it is made again."""
        self.problems_in.pop(step, None)
        self.step_ends.pop(step, None)
        self.results = {key: result for key, result in self.results.items() if key[0] != step}
        self.tasks = {key: task for key, task in self.tasks.items() if key[0] != step}
        for keys in (self.over, self.released):
            keys.difference_update([key for key in keys if key[0] == step])
        self.sampled_ms = {key: ms for key, ms in self.sampled_ms.items() if key[0] != step}

    def _take_state(self, event: HostState) -> None:
        self.states[event.host] = event.state
        if event.state == "running":
            self.released.update(key for key in self.tasks if key[1:] == ("measure", event.host))

    def _take_task(self, event: AnyEvent) -> None:
        if isinstance(event, TaskStarted | TaskEnded) and event.role:
            return  # not the load itself: it ends by its own lease
        if isinstance(event, TaskStarted):
            self.tasks[event.step, event.phase, event.host] = event
        elif isinstance(event, TaskEnded):
            self.over.add((event.step, event.phase, event.host))
        elif isinstance(event, HostResult):
            self.results[event.step, event.host] = event
        elif isinstance(event, Sample):
            self.sampled_ms[event.step, event.phase, event.host] = event.host_time_ms


def by_index(step: Step) -> int:
    """Return the place of a step in the plan."""
    return step.index


def warmups_of(plan: Plan, steps: Iterable[Step]) -> list[Step]:
    """Return the warm-ups of the points of these steps: what was warm then is cold now."""
    cells = {step.cell for step in steps}
    return [step for step in plan.steps if step.warmup and step.cell in cells]


def read_history(journal: Path) -> History:
    """Return what a journal says; an incomplete last line is left out. Raises BenchtuiError when it cannot be read."""
    history = History()
    try:
        with journal.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                history.take(decode(line))
                history.intact_bytes += len(line)
    except OSError as error:
        raise BenchtuiError(f"{journal}: cannot be read: {error.strerror}") from error
    except msgspec.DecodeError:
        pass  # damaged from here on: what came before stands
    return history
