"""What a journal says an engine had done before it died: enough for another one to go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec

from tui.model.event import (
    AnyEvent,
    FileCreated,
    HostProblem,
    HostResult,
    HostState,
    HostStateName,
    RunEnded,
    RunStarted,
    Sample,
    StopRequested,
    TaskEnded,
    TaskStarted,
    decode,
)
from tui.model.problem import BenchtuiError

Key = tuple[int, str, str]  # step, phase, host


@dataclass
class History:
    """The past of a run. `intact_bytes`: the journal up to its last whole line."""

    started: RunStarted | None = None
    ended: bool = False
    t: float = 0.0
    intact_bytes: int = 0
    problems: int = 0
    stop_mode: str | None = None
    states: dict[str, HostStateName] = field(default_factory=dict)
    tasks: dict[Key, TaskStarted] = field(default_factory=dict)
    over: set[Key] = field(default_factory=set)
    released: set[Key] = field(default_factory=set)
    results: set[tuple[int, str]] = field(default_factory=set)
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
        return (step, host) not in self.results if phase == "measure" else key not in self.over

    def take(self, event: AnyEvent) -> None:
        """Take the next event."""
        self.t = max(self.t, event.t)
        if isinstance(event, RunStarted):
            self.started = event
        elif isinstance(event, RunEnded):
            self.ended = True
        elif isinstance(event, StopRequested):
            self.stop_mode = event.mode
        elif isinstance(event, HostProblem):
            self.problems += 1
        elif isinstance(event, FileCreated):
            self.created.setdefault(event.host, []).extend(event.paths)
        elif isinstance(event, HostState):
            self._take_state(event)
        else:
            self._take_task(event)

    def _take_state(self, event: HostState) -> None:
        self.states[event.host] = event.state
        if event.state == "running":
            self.released.update(key for key in self.tasks if key[1:] == ("measure", event.host))

    def _take_task(self, event: AnyEvent) -> None:
        if isinstance(event, TaskStarted):
            self.tasks[event.step, event.phase, event.host] = event
        elif isinstance(event, TaskEnded):
            self.over.add((event.step, event.phase, event.host))
        elif isinstance(event, HostResult):
            self.results.add((event.step, event.host))
        elif isinstance(event, Sample):
            self.sampled_ms[event.step, event.phase, event.host] = event.host_time_ms


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
