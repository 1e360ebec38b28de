"""Read a complete journal once in advance: clocks, hosts with results, latency heat map of a
host.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

import msgspec
from msgspec import Struct

from tui.journal.clock import ClockStep, HostTime
from tui.journal.fold import fold
from tui.journal.reader import JournalEvent, JournalTail, SampleStamp, read_events
from tui.journal.state import RunState
from tui.metrics.histogram import PackedBuckets
from tui.metrics.series import HeatBins
from tui.model.dense import has_counts
from tui.model.event import Sample


class Survey(Struct):
    """Facts from reading a journal in advance.

    `offsets` (run time minus host time at the start, by host) come from the least delayed sample,
    for hosts whose clocks were never compared, and for `distrusted` hosts, whose clocks were set
    back before their first sample. `results` are (step, host) with a result, whose histograms need
    not be rebuilt from samples.
    """

    offsets: dict[str, float]
    distrusted: dict[str, ClockStep]
    results: set[tuple[int, str]]


class _Arrivals:
    """Clocks of all hosts estimated from sample arrivals alone, in addition to those in
    `RunState`.
    """

    def __init__(self) -> None:
        self.clocks: dict[str, HostTime] = {}
        self.offsets: dict[str, float] = {}
        self.set_back: dict[str, ClockStep] = {}

    def add(self, stamp: SampleStamp, compared: HostTime) -> None:
        """Add the arrival of a sample, after `compared` has processed it."""
        clock = self.clocks.setdefault(stamp.host, HostTime())
        clock.run_time(stamp.t, stamp.host_time_ms)
        if clock.jumps:
            return
        if clock.offset_s is not None:
            self.offsets[stamp.host] = clock.offset_s
        if compared.step is not None and compared.step.size_s < 0:
            self.set_back[stamp.host] = compared.step


def survey(journal: Path) -> Survey:
    """Read a complete journal for facts that are needed in advance. Raises OSError."""
    return survey_of(read_events(journal, stamps=True))


def survey_of(events: Iterable[JournalEvent]) -> Survey:
    """Return the survey of these events, read with `stamps=True`."""
    state, arrivals = RunState(), _Arrivals()
    for event in events:
        fold(state, event)
        if isinstance(event, SampleStamp):
            arrivals.add(event, state.clocks.by_host[event.host])
    by_arrival = {
        host: offset
        for host, offset in arrivals.offsets.items()
        if host not in state.clocks.compared or host in arrivals.set_back
    }
    results = {
        (step.index, host)
        for step in state.steps.values()
        for host, result in step.results.items()
        if any(part.ios for part in result.dirs.values())
    }
    return Survey(by_arrival, arrivals.set_back, results)


class HostHeat:
    """Latency heat map of one host in the current phase, read from the journal.

    `job`: one job, or None for all together.
    """

    def __init__(self, journal: Path, host: str, state: RunState, job: str | None = None) -> None:
        self.host, self.job = host, job
        self.measurement = state.current
        self.heat: dict[str, HeatBins] = {}
        self.lock = Lock()  # held while it is read
        self._state = state
        self._tail = JournalTail(journal, wanted=b'"host":' + msgspec.json.encode(host))
        self._waiting: deque[JournalEvent] = deque()

    def is_of(self, host: str, state: RunState, job: str | None) -> bool:
        """Return whether this is the heat map of this host, job and current measurement."""
        return (self.host, self.job) == (host, job) and self.measurement is state.current

    def advance(self, until_t: float) -> None:
        """Read the journal up to this run time.

        Raises OSError if it cannot be read.
        """
        while True:
            while self._waiting and self._waiting[0].t <= until_t:
                self._add(self._waiting.popleft())
            if self._waiting:
                return
            self._waiting.extend(self._tail.poll())
            if not self._waiting and not self._tail.more:
                return

    def _add(self, event: JournalEvent) -> None:
        if not isinstance(event, Sample) or event.ramp or not self.measurement.holds(event):
            return
        clock = self._state.clocks.by_host.get(self.host)
        offset_s = clock.offset_s if clock is not None else None
        t1 = event.t if offset_s is None else min(event.t, event.host_time_ms / 1000 + offset_s)
        dirs = event.dirs if self.job is None else event.of_jobs().get(self.job, {})
        for direction, part in dirs.items():
            if has_counts(part.lat):
                bins = self.heat.setdefault(direction, HeatBins(self.measurement.started_t))
                bins.add(t1 - event.interval_s, t1, PackedBuckets(part.lat))
