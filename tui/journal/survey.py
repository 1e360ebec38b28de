"""What a whole journal tells before it is read sample by sample: how clocks stood, and which hosts have a result."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from tui.journal.clock import ClockStep, HostTime
from tui.journal.reader import JournalEvent, SampleStamp, read_events
from tui.journal.state import RunState


class Survey(Struct):
    """`offsets` are run time minus host time by host, at the begin, from the least delayed sample.

    They are of hosts that were never compared or are in `distrusted`, whose clock was set back before they sent their
    first samples. `results` are the steps and hosts that have one: their histograms need not be rebuilt from samples.
    """

    offsets: dict[str, float]
    distrusted: dict[str, ClockStep]
    results: set[tuple[int, str]]


class _Arrivals:
    """The clock of every host by the arrival of its samples alone, beside the one that `RunState` keeps."""

    def __init__(self) -> None:
        self.clocks: dict[str, HostTime] = {}
        self.offsets: dict[str, float] = {}
        self.set_back: dict[str, ClockStep] = {}

    def take(self, stamp: SampleStamp, compared: HostTime) -> None:
        """Take the arrival of a sample, after the other clock did."""
        clock = self.clocks.setdefault(stamp.host, HostTime())
        clock.run_time(stamp.t, stamp.host_time_ms)
        if clock.jumps:
            return
        if clock.offset_s is not None:
            self.offsets[stamp.host] = clock.offset_s
        if compared.step is not None and compared.step.size_s < 0:
            self.set_back[stamp.host] = compared.step


def survey(journal: Path) -> Survey:
    """Read a whole journal for what must be known beforehand."""
    return survey_of(read_events(journal, stamps=True))


def survey_of(events: Iterable[JournalEvent]) -> Survey:
    """Return what events tell, of which samples are stamps."""
    state, arrivals = RunState(), _Arrivals()
    for event in events:
        state.apply(event)
        if isinstance(event, SampleStamp):
            arrivals.take(event, state.clocks[event.host])
    by_arrival = {
        host: offset
        for host, offset in arrivals.offsets.items()
        if host not in state.compared or host in arrivals.set_back
    }
    results = {
        (step.index, host)
        for step in state.steps.values()
        for host, result in step.results.items()
        if any(part.ios for part in result.dirs.values())
    }
    return Survey(by_arrival, arrivals.set_back, results)
