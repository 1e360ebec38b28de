"""A run while it goes on, second by second: the fold of its journal, asked for what is new.

A second is told once, when it is over on all hosts that report; what comes later than three seconds is in the record
alone. Nothing is kept but what Live keeps, and nothing waits in memory: who is slow reads on in the journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from math import ceil
from pathlib import Path

from tui.journal.plan_file import load_plan
from tui.journal.reader import JournalEvent, JournalTail
from tui.journal.state import RunState
from tui.journal.views import DirectionView
from tui.metrics.registry import MetricName, in_order
from tui.model.event import (
    Event,
    HostProblem,
    HostState,
    Message,
    Note,
    PhaseEnded,
    PhaseStarted,
    RunEnded,
    RunResumed,
    RunStarted,
    Sample,
    StepEnded,
    StepStarted,
    StopRequested,
)
from tui.model.exporter import Second
from tui.model.problem import BenchtuiError
from tui.model.rundir import JOURNAL_FILE

TOLD = (RunStarted, RunResumed, StepStarted, StepEnded, HostState, HostProblem, Note, StopRequested, RunEnded)
TAILS_OPEN_S = 10
METRICS: tuple[MetricName, ...] = ("iops", "bandwidth", "latency")
CLOSES = (PhaseStarted, PhaseEnded, StepStarted, RunEnded)  # what was measured before has to be told before


class Follower:
    """Follows the journal of a run. `poll` returns what is new; `ended`: the run was closed."""

    def __init__(self, run_dir: Path) -> None:
        self.state = RunState(tails_open_s=TAILS_OPEN_S)
        self._tail = JournalTail(run_dir / JOURNAL_FILE)
        self._names = _step_names(run_dir)
        self._next: dict[tuple[str | None, str], int] = {}  # by host and direction: the first second not told yet
        self._ramp_end = 0

    @property
    def ended(self) -> bool:
        """Whether the run was closed."""
        return self.state.ended

    @property
    def more(self) -> bool:
        """Whether the journal holds more than the last poll took."""
        return self._tail.more

    def poll(self) -> list[Second | Event]:
        """Return what came since, in order; of a long journal a part at a time, see `more`."""
        found: list[Second | Event] = []
        for event in self._tail.poll():
            if isinstance(event, CLOSES):
                found += self._seconds()
            self._take(event)
            if isinstance(event, TOLD) or (isinstance(event, Message) and event.severity != "info"):
                found.append(event)
        return found + list(self._seconds())

    def _take(self, event: JournalEvent) -> None:
        before = self.state.current
        self.state.apply(event)
        if self.state.current is not before:
            self._next.clear()
            self._ramp_end = 0
        if isinstance(event, Sample) and event.ramp and event.phase == "measure":
            self._ramp_end = max(self._ramp_end, ceil(self.state.interval_of(event)[1]))

    def _seconds(self) -> Iterator[Second]:
        measured = self.state.current
        if measured.phase != "measure":
            return
        for name in in_order(measured.cluster):
            tails = measured.cluster_tails.get(name, {})
            yield from self._of(measured.cluster[name], None, name, tails)
        for host, dirs in measured.hosts.items():
            for name in in_order(dirs):
                yield from self._of(dirs[name], host, name, {})

    def _of(self, view: DirectionView, host: str | None, name: str, tails: dict[int, int]) -> Iterator[Second]:
        span = view.span
        if span is None:
            return
        start = max(self._next.get((host, name), span[0]), self._ramp_end)
        if span[1] <= start:
            return
        self._next[host, name] = span[1]
        columns = [view.values(metric, start, span[1]) for metric in METRICS]
        state, step = self.state, self.state.current.step
        title = self._names.get(step, str(step)) if step is not None else ""
        for second, values in enumerate(zip(*columns, strict=True), start):
            if any(value is not None for value in values):
                utc = None if state.created is None else state.created + timedelta(seconds=second)
                about = (state.run_id, state.profile, title, float(second), utc, host, name)
                iops, bandwidth, latency = values
                yield Second(*about, iops, bandwidth, latency, tails.get(second))


def moments(run_dir: Path) -> Iterator[Second | Event]:
    """Yield what the journal of a run holds, to its end."""
    follower = Follower(run_dir)
    while True:
        yield from follower.poll()
        if not follower.more:
            return


def _step_names(run_dir: Path) -> dict[int, str]:
    with suppress(BenchtuiError):
        return {step.index: step.name for step in load_plan(run_dir).steps}
    return {}
