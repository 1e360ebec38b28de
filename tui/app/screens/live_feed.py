"""What Live shows, read from the journal as it grows, and how its panels share the height."""

from __future__ import annotations

import datetime
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tui.app.widgets.figure_tiles import TILE_LINES
from tui.journal.fold import fold
from tui.journal.reader import JournalEvent, JournalTail, events_backwards
from tui.journal.state import RunState
from tui.model.event import BottleneckProved, FilesRemoved, NoteAdded, PhaseEnded, PhaseStarted
from tui.model.rundir import JOURNAL_FILE

PHASES = ("connect", "preflight", "layout", "barrier", "measure", "collect")
CHUNK_BYTES = 1 << 16
SLICE_S = 0.02  # between two looks at the keys
TAILS_OPEN_S = 10  # a host that is farther behind counts in the record only
SPEEDS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, float("inf"))
MARKS, LEAST_MARK_S = 8, 5.0  # a replay that jumps stops so often on its way, to be judged
SAID_LATER = (NoteAdded, BottleneckProved, FilesRemoved)  # may be added long after the end
Now = Callable[[], float]


@dataclass(slots=True)
class Trail:
    """Which phases of the current step are behind us."""

    done: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    step: int | None = None

    def take(self, event: PhaseStarted | PhaseEnded) -> None:
        """Follow the run through its phases; a new step begins after preflight."""
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
    """A run's state, brought up to date by `advance`. `events` counts what was applied."""

    replay = False

    def __init__(self, run_dir: Path, now: Now = time.time) -> None:
        self.path = run_dir / JOURNAL_FILE
        self.wall = now
        self.reset()

    def reset(self) -> None:
        """Begin again with nothing."""
        self.state = RunState(tails_open_s=TAILS_OPEN_S)
        self.tail = JournalTail(self.path)
        self.trail = Trail()
        self.events = 0

    def take(self, event: JournalEvent) -> None:
        """Apply one event."""
        self.events += 1
        fold(self.state, event)
        if isinstance(event, PhaseStarted | PhaseEnded):
            self.trail.take(event)

    def advance(self) -> bool:
        """Take what is there. Returns True when there is more to take at once."""
        raise NotImplementedError

    @property
    def position(self) -> float:
        """Run time that is shown, seconds."""
        raise NotImplementedError


class LiveFeed(Feed):
    """Follows the journal of an engine on this machine."""

    def __init__(self, run_dir: Path, now: Now = time.time) -> None:
        self.gone = False  # the engine died without a word: time stands still
        super().__init__(run_dir, now)

    def advance(self) -> bool:
        """Read for a slice of time: keys are heard however many hosts there are, and however long
        the journal.
        """
        until = time.perf_counter() + SLICE_S
        while True:
            for event in self.tail.poll(CHUNK_BYTES):
                self.take(event)
            if not self.tail.more or time.perf_counter() >= until:
                break
        if not self.tail.more:  # a host whose samples are read yet is not silent
            self.state.tick(self.position)
        return self.tail.more

    @property
    def position(self) -> float:
        """Seconds since the run started, by this machine's clock.

        Of a run that is over, its last event.
        """
        state = self.state
        if state.ended or self.gone or not state.utc:
            return state.t
        return max(state.t, self.wall() - epoch(state.utc))


class ReplayFeed(Feed):
    """Plays a journal on a clock of its own."""

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
        """Begin again at the start of the journal."""
        super().reset()
        self._waiting.clear()
        self._mark = 0.0
        self.stopped = False  # at a mark, on the way to the clock
        self._behind = False  # not all up to the mark was taken yet

    @property
    def position(self) -> float:
        """Run time that is shown."""
        return self._at

    @property
    def finished(self) -> bool:
        """Everything was shown."""
        return self._at >= self.length

    def advance(self) -> bool:
        """Move the clock on and take the events up to it."""
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
        """Take events up to the next mark or the clock; at most one chunk is read.

        True when there may be more.
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
        """Move by seconds; back means reading the journal again from its start."""
        self._at = max(0.0, min(self.length, self._at + distance_s))
        self._since = self.wall()
        if distance_s < 0:
            self.reset()

    def toggle(self) -> None:
        """Play or hold; at the end, play again from the start."""
        if self.finished:
            self._at = 0.0
            self.reset()
            self.playing = True
        else:
            self.playing = not self.playing
        self._since = self.wall()

    def change_speed(self, places: int) -> None:
        """Take the next or the last speed."""
        place = min(
            range(len(SPEEDS)), key=lambda i: abs(min(SPEEDS[i], 1e9) - min(self.speed, 1e9))
        )
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, place + places))]


def epoch(utc: str) -> float:
    """Return seconds since 1970 of an RFC 3339 time."""
    return datetime.datetime.fromisoformat(utc).timestamp()


def last_time(journal: Path) -> float:
    """Return the run time of the last complete event of a journal but for what people said later, 0
    without one.
    """
    try:
        return next(
            (event.t for event in events_backwards(journal) if not isinstance(event, SAID_LATER)),
            0.0,
        )
    except OSError:
        return 0.0


# from this height on there is room for graphs beside the heat map, and for two lines of health
ROOMY_LINES = 30
GRAPHS, MOST_GRAPHS = 5, 15
HEAT, LEAST_HEAT, MOST_HEAT = 7, 5, 26
CLEAR_HEAT = 7  # with less of a map, what is known so far of two directions gives way to it
HOST_LINES, LEAST_HOST_LINES = 6, 4  # with their heading
HEADS = 2  # lines of the heading of the hosts


@dataclass(frozen=True, slots=True)
class Rooms:
    """Lines of each panel, 0: it is not shown.

    What is left over is the hosts'; `folds`: not all of them have room.
    """

    graphs: int = 0
    heat: int = 0
    pulse: int = 0
    folds: bool = False
    tiles: int = 0


def curve_lines(room: int, least: int, others: int, hosts: int) -> int:
    """Return the lines of a search in `room`: `least`, and what the hosts and the `others` then
    leave.

    Graphs are some of the others: they grow as well.
    """
    spare = max(0, room - others - least - min(hosts, room // 4) - HEADS)
    return min(room - others - LEAST_HOST_LINES, least + (spare * 3 // 5 if others else spare))


def rooms_of(
    room: int,
    roomy: bool,
    hosts: int,
    least_hosts: int,
    *,
    graphs: bool = True,
    heat: bool = True,
    low: bool = False,
) -> Rooms:
    """Share `room` lines among graphs, heat map and hosts; `least_hosts` rows are needed when alike
    ones are folded.

    Where there is little room, figures in one line stand for the graphs beside the heat map. `low`:
    the heat map may be as low there as it can be.
    """
    pulse = int(graphs and heat and not roomy)
    with_graphs = graphs and not pulse
    least_graphs = GRAPHS if with_graphs else 0
    least_heat = (HEAT if roomy and not low else LEAST_HEAT) if heat else 0
    spare = room - pulse - least_graphs - least_heat
    if spare < LEAST_HOST_LINES and with_graphs and heat:
        return rooms_of(room, False, hosts, least_hosts, graphs=graphs, heat=heat, low=low)
    folds = hosts + HEADS > spare
    wanted = (least_hosts if folds else hosts) + HEADS
    least = min(HOST_LINES if roomy else LEAST_HOST_LINES, spare) if folds else 0
    taken = max(min(wanted, spare), least)
    spare = max(0, spare - taken)
    most_graphs = MOST_GRAPHS - least_graphs if heat or folds else spare
    more_graphs = min(spare * (2 if heat else 5) // 5, most_graphs) if with_graphs else 0
    # no line stays empty where all hosts have theirs
    most_heat = MOST_HEAT - least_heat if folds else spare
    more_heat = min(spare - more_graphs, most_heat) if heat else 0
    return Rooms(least_graphs + more_graphs, least_heat + more_heat, pulse, folds)


def with_tiles(room: int, shared: Rooms, smaller: Rooms) -> Rooms:
    """Return the rooms beside tiles where only graphs and heat map get smaller by them, else those
    without.

    `shared` is how `room` lines are shared without tiles, `smaller` how those are that tiles leave.
    """
    hosts = room - shared.graphs - shared.heat - shared.pulse
    left = room - TILE_LINES - smaller.graphs - smaller.heat - smaller.pulse
    same = (shared.pulse, shared.folds, shared.heat > 0) == (
        smaller.pulse,
        smaller.folds,
        smaller.heat > 0,
    )
    keeps = left >= min(hosts, HOST_LINES)
    return replace(smaller, tiles=TILE_LINES) if same and keeps else shared


def with_tiles_if(tiles: bool, room: int, shared: Callable[..., Rooms]) -> Rooms:
    """Return how `room` lines are `shared`, beside tiles where there are some: the heat map may be
    low then.
    """
    rooms = shared(room)
    return with_tiles(room, rooms, shared(room - TILE_LINES, low=True)) if tiles else rooms
