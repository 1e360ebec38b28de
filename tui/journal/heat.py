"""The latencies of one host over time, read from the journal when somebody asks for them.

The fold keeps those of all hosts together: of each alone they would be tens of megabytes for the one that is looked at.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from threading import Lock

import msgspec

from tui.journal.reader import JournalEvent, JournalTail
from tui.journal.state import RunState
from tui.metrics.heat import HeatBins
from tui.model.event import Sample


class HostHeat:
    """Follows one host in the journal of a run, in the phase that a state is in; one job, or all (None) together."""

    def __init__(self, journal: Path, host: str, state: RunState, job: str | None = None) -> None:
        self.host, self.job = host, job
        self.measurement = state.current
        self.heat: dict[str, HeatBins] = {}
        self.lock = Lock()  # held while it is read
        self._state = state
        self._tail = JournalTail(journal, wanted=b'"host":' + msgspec.json.encode(host))
        self._waiting: deque[JournalEvent] = deque()

    def is_of(self, host: str, state: RunState, job: str | None) -> bool:
        """Tell whether this is what is asked for."""
        return (self.host, self.job) == (host, job) and self.measurement is state.current

    def advance(self, until_t: float) -> None:
        """Take what the journal has up to a time of the run. Raises OSError when it cannot be read."""
        while True:
            while self._waiting and self._waiting[0].t <= until_t:
                self._take(self._waiting.popleft())
            if self._waiting:
                return
            self._waiting.extend(self._tail.poll())
            if not self._waiting and not self._tail.more:
                return

    def _take(self, event: JournalEvent) -> None:
        if not isinstance(event, Sample) or event.ramp or not self.measurement.holds(event):
            return
        clock = self._state.clocks.get(self.host)
        offset_s = clock.offset_s if clock is not None else None
        t1 = event.t if offset_s is None else min(event.t, event.host_time_ms / 1000 + offset_s)
        dirs = event.dirs if self.job is None else event.of_jobs().get(self.job, {})
        for direction, part in dirs.items():
            if part.lat.idx:
                bins = self.heat.setdefault(direction, HeatBins(self.measurement.started_t))
                bins.add(t1 - event.interval_s, t1, part.lat)
