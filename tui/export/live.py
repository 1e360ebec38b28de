"""A live run as events and seconds, and as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from math import ceil, floor
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tui.journal.fold import fold
from tui.journal.reader import JournalEvent, JournalTail
from tui.journal.rundir import load_plan
from tui.journal.state import RunState
from tui.journal.views import DirectionView
from tui.judge.wording import with_message
from tui.metrics.registry import MetricName, in_order
from tui.model.event import (
    Event,
    HostProblem,
    HostState,
    Message,
    NoteAdded,
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
from tui.model.exporter import Exporter, ExportFile, ExportSecond, ExportSource, text_parts
from tui.model.plain_data import format_utc
from tui.model.problem import BenchtuiError
from tui.model.record import RunRecord
from tui.model.rundir import JOURNAL_FILE
from tui.record.headline import headline_texts
from tui.text.run_texts import run_text

PUBLISHED = (
    RunStarted,
    RunResumed,
    StepStarted,
    StepEnded,
    HostState,
    HostProblem,
    NoteAdded,
    StopRequested,
    RunEnded,
)
TAILS_OPEN_S = 10
METRICS: tuple[MetricName, ...] = ("iops", "bandwidth", "latency")
# the next sample may start slightly earlier and add to this second
HELD_BACK_S = 1
# earlier samples must be published first
CLOSES = (PhaseStarted, PhaseEnded, StepStarted, RunEnded)


class Follower:
    """Follows the journal of a run.

    `poll` returns what is new. A second is published when the journal reaches the next one,
    independent of when `poll` is called: all followers get the same figures, even if samples arrive
    late.
    """

    def __init__(self, run_dir: Path) -> None:
        self.state = RunState(tails_open_s=TAILS_OPEN_S)
        self._tail = JournalTail(run_dir / JOURNAL_FILE)
        self._names = _step_names(run_dir)
        # by host and direction: the first unpublished second
        self._next: dict[tuple[str | None, str], int] = {}
        self._ramp_end = 0
        self._due_t = 0.0  # the next event at or after this time triggers publishing

    @property
    def ended(self) -> bool:
        """Whether the journal says that the run has ended."""
        return self.state.ended

    @property
    def more(self) -> bool:
        """Whether the journal has lines that the last poll did not read."""
        return self._tail.more

    def poll(self) -> list[ExportSecond | Event]:
        """Return new seconds and events, in order: events of PUBLISHED, warnings and errors.

        A long journal is read in parts: see `more`.
        """
        found: list[ExportSecond | Event] = []
        for event in self._tail.poll():
            if isinstance(event, CLOSES):
                found += self._seconds(0)
            elif event.t >= self._due_t:
                found += self._seconds(HELD_BACK_S)
                self._due_t = floor(event.t) + 1
            self._fold(event)
            if isinstance(event, PUBLISHED) or (
                isinstance(event, Message) and event.severity != "info"
            ):
                found.append(event)
        return found

    def rest(self) -> list[ExportSecond | Event]:
        """Return new events, and all seconds not yet published, after the run has ended."""
        return [*self.poll(), *self._seconds(0)]

    def _fold(self, event: JournalEvent) -> None:
        before = self.state.current
        fold(self.state, event)
        if self.state.current is not before:
            self._next.clear()
            self._ramp_end = 0
        if isinstance(event, Sample) and event.ramp and event.phase == "measure":
            self._ramp_end = max(self._ramp_end, ceil(self.state.interval_of(event)[1]))

    def _seconds(self, held_back_s: int) -> Iterator[ExportSecond]:
        measured = self.state.current
        if measured.phase != "measure":
            return
        for name in in_order(measured.cluster):
            tails = measured.cluster_tails.get(name, {})
            yield from self._of(measured.cluster[name], None, name, tails, held_back_s)
        for host, dirs in measured.hosts.items():
            for name in in_order(dirs):
                yield from self._of(dirs[name], host, name, {}, held_back_s)

    def _of(
        self,
        view: DirectionView,
        host: str | None,
        name: str,
        tails: dict[int, int],
        held_back_s: int,
    ) -> Iterator[ExportSecond]:
        span = view.span
        if span is None:
            return
        start, end = (
            max(self._next.get((host, name), span[0]), self._ramp_end),
            span[1] - held_back_s,
        )
        if end <= start:
            return
        self._next[host, name] = end
        columns = [view.values(metric, start, end) for metric in METRICS]
        state, step = self.state, self.state.current.step
        title = self._names.get(step, str(step)) if step is not None else ""
        for second, values in enumerate(zip(*columns, strict=True), start):
            if any(value is not None for value in values):
                utc = None if state.created is None else state.created + timedelta(seconds=second)
                about = (state.run_id, state.profile, title, float(second), utc, host, name)
                iops, bandwidth, latency = values
                yield ExportSecond(*about, iops, bandwidth, latency, tails.get(second))


def moments(run_dir: Path) -> Iterator[ExportSecond | Event]:
    """Yield all seconds and published events of a run's journal, in order."""
    follower = Follower(run_dir)
    while True:
        yield from follower.poll()
        if not follower.more:
            yield from follower.rest()
            return


def _step_names(run_dir: Path) -> dict[int, str]:
    with suppress(BenchtuiError):
        return {step.index: step.name for step in load_plan(run_dir).steps}
    return {}


_encoder = msgspec.json.Encoder()


def line_of(moment: ExportSecond | Event | RunRecord) -> str:
    """Return a second, an event or the record as one line of JSON, with a newline."""
    return _encoder.encode(_document(moment)).decode() + "\n"


def _document(moment: ExportSecond | Event | RunRecord) -> object:
    if isinstance(moment, Event):
        return _with_text(moment)
    if isinstance(moment, RunRecord):
        headline = None
        if moment.headline is not None:
            text, short = headline_texts(moment.headline, moment.search)
            headline = {**moment.headline.model_dump(), "text": text, "short": short}
        findings = [with_message(finding) for finding in moment.findings]
        why = run_text(moment.reason)
        known = {"state": moment.state, "reason": why, "verdict": moment.verdict}
        return {
            "type": "record",
            "run_id": moment.run_id,
            **known,
            "headline": headline,
            "findings": findings,
        }
    utc = None if moment.utc is None else format_utc(moment.utc)
    return {
        "type": "second",
        **{name: getattr(moment, name) for name in moment.__slots__},
        "utc": utc,
    }


def _with_text(event: Event) -> Event:
    """Return an event with the text of its reason, for readers outside of benchtui."""
    if isinstance(event, HostState):
        return replace(event, detail=run_text(event.detail))
    if isinstance(event, Message):
        return replace(event, text=run_text(event.text))
    if isinstance(event, HostProblem):
        return replace(event, message=run_text(event.message))
    if isinstance(event, StepEnded | RunEnded | StopRequested):
        return replace(event, reason=run_text(event.reason))
    return event


def _files(source: ExportSource) -> Iterator[ExportFile]:
    yield ExportFile(f"{source.record.run_id}.jsonl", text_parts(_lines(source)))


def _lines(source: ExportSource) -> Iterator[str]:
    yield from map(line_of, moments(source.run_dir))
    yield line_of(source.record)


JSON_LINES = Exporter(
    "events and samples",
    _files,
    tools="jq, scripts",
    details="JSON lines: one object for each event and for each second of each host",
    stream=line_of,
    reads_files=True,
)
