"""The journal of the run on Live, followed or replayed."""

from __future__ import annotations

import datetime
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tui.journal.fold import fold
from tui.journal.intervals import LATELY_S
from tui.journal.reader import JournalEvent, JournalTail, events_backwards
from tui.journal.state import RunState
from tui.model.event import (
    BottleneckProved,
    FilesRemoved,
    NoteAdded,
    PhaseEnded,
    PhaseStarted,
)
from tui.model.rundir import JOURNAL_FILE

PHASES = ("connect", "preflight", "layout", "barrier", "measure", "collect")
CHUNK_BYTES = 1 << 16
SLICE_S = 0.005  # between two checks for keys
TAILS_OPEN_S = 10  # later samples of a host count only in the record
SPEEDS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, float("inf"))
MARKS, LEAST_MARK_S = 8, 5.0  # stops of a replay that jumps, for checks
PHASE_EVENTS = (PhaseStarted, PhaseEnded)  # a union would be created for each event
SAID_LATER = (NoteAdded, BottleneckProved, FilesRemoved)  # may be added after the end
Now = Callable[[], float]


@dataclass(slots=True)
class Trail:
    """The phases of the current step that have finished or failed."""

    done: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    step: int | None = None

    def take(self, event: PhaseStarted | PhaseEnded) -> None:
        """Record the start or the end of a phase.

        When a step begins, phases after the preflight are forgotten.
        """
        if isinstance(event, PhaseStarted):
            if event.step is not None and event.step != self.step:
                self.step = event.step
                self.done -= {"layout", "barrier", "measure", "collect"}
            self.done.discard(event.phase)
        elif event.ok:
            self.done.add(event.phase)
        else:
            self.failed.add(event.phase)


class Feed:
    """The state of a run, updated by `advance`.

    `events`: number of events applied so far.
    """

    replay = False

    def __init__(self, run_dir: Path, now: Now = time.time) -> None:
        self.path = run_dir / JOURNAL_FILE
        self.wall = now
        self.reset()

    def reset(self) -> None:
        """Start again from an empty state."""
        self.state = RunState(tails_open_s=TAILS_OPEN_S)
        self.state.clock.window_s = LATELY_S
        self.tail = JournalTail(self.path)
        self.trail = Trail()
        self.events = 0

    def take(self, event: JournalEvent) -> None:
        """Apply one event."""
        self.events += 1
        fold(self.state, event)
        if isinstance(event, PHASE_EVENTS):
            self.trail.take(event)

    def advance(self) -> bool:
        """Apply new events; return whether there are more."""
        raise NotImplementedError

    @property
    def position(self) -> float:
        """Time in the run that is shown, in seconds."""
        raise NotImplementedError


class LiveFeed(Feed):
    """Follows the journal of an engine on this machine."""

    def __init__(self, run_dir: Path, now: Now = time.time) -> None:
        self.gone = False  # the engine died without ending the journal: time stands still
        super().__init__(run_dir, now)

    def advance(self) -> bool:
        """Read new events for a limited time; return whether there are more.

        The time limit keeps keys responsive with any number of hosts and events.
        """
        until, resumed = time.perf_counter() + SLICE_S, len(self.state.resumed)
        while True:
            for event in self.tail.poll(CHUNK_BYTES):
                self.take(event)
            if not self.tail.more or time.perf_counter() >= until:
                break
        if len(self.state.resumed) > resumed:
            self.gone = False  # another engine has taken over the run
        if not self.tail.more:  # while samples are still being read, no host counts as silent
            self.state.tick(self.position)
        return self.tail.more

    @property
    def position(self) -> float:
        """Seconds since the start of the run by this machine's clock.

        After the run, or if the engine is gone, it is the time of the last event; before the first
        event, 0.
        """
        state = self.state
        if state.ended or self.gone or not state.utc:
            return state.t
        return max(state.t, self.wall() - epoch(state.utc))


class ReplayFeed(Feed):
    """Replays a journal, by a clock that can be paused, sped up and set."""

    replay = True

    def __init__(self, run_dir: Path, speed: float = 1.0, now: Now = time.time) -> None:
        self.speed = speed
        self.playing = True
        self._at = 0.0
        self._since = now()
        self._waiting: deque[JournalEvent] = deque()
        super().__init__(run_dir, now)
        self.length = last_time(self.path)

    def reset(self) -> None:
        """Start again at the beginning of the journal."""
        super().reset()
        self._waiting.clear()
        self._mark = 0.0
        self.stopped = False  # stopped at a mark, before reaching the clock
        self._behind = False  # not all events up to the mark are taken yet

    @property
    def position(self) -> float:
        """Time in the run that is shown, in seconds."""
        return self._at

    @property
    def finished(self) -> bool:
        """Whether the replay is at the end of the journal."""
        return self._at >= self.length

    def advance(self) -> bool:
        """Advance the clock and apply the events up to it; return whether there may be more."""
        wall = self.wall()
        passed, self._since = wall - self._since, wall
        if self.playing:
            self._at = (
                min(self.length, self._at + passed * self.speed)
                if self.speed < SPEEDS[-1]
                else self.length
            )
        return self._catch_up()

    def _catch_up(self) -> bool:
        """Apply the events up to the clock or the next mark.

        Reads at most one chunk; returns whether there may be more.
        """
        if not self._behind:
            self._mark = min(self._at, self._mark + max(LEAST_MARK_S, self.length / MARKS))
        if not self._waiting:
            self._waiting.extend(self.tail.poll(CHUNK_BYTES))
        had = bool(self._waiting)
        while self._waiting and self._waiting[0].t <= self._mark:
            self.take(self._waiting.popleft())
        self.state.tick(self._mark)
        self._behind = had and not self._waiting
        self.stopped = not self._behind and self._mark < self._at
        return self._behind or self.stopped

    def seek(self, distance_s: float) -> None:
        """Move the clock by seconds.

        To go back, the journal is read again from its start.
        """
        self._at = max(0.0, min(self.length, self._at + distance_s))
        self._since = self.wall()
        if distance_s < 0:
            self.reset()

    def toggle(self) -> None:
        """Play or pause; at the end, play again from the start."""
        if self.finished:
            self._at = 0.0
            self.reset()
            self.playing = True
        else:
            self.playing = not self.playing
        self._since = self.wall()

    def change_speed(self, places: int) -> None:
        """Switch to a faster or slower speed."""
        place = min(
            range(len(SPEEDS)), key=lambda i: abs(min(SPEEDS[i], 1e9) - min(self.speed, 1e9))
        )
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, place + places))]


def epoch(utc: str) -> float:
    """Return an RFC 3339 time as seconds since 1970."""
    return datetime.datetime.fromisoformat(utc).timestamp()


def last_time(journal: Path) -> float:
    """Return the time of a journal's last event, in seconds of the run; 0 without events.

    Later additions such as notes do not count.
    """
    try:
        return next(
            (event.t for event in events_backwards(journal) if not isinstance(event, SAID_LATER)),
            0.0,
        )
    except OSError:
        return 0.0
