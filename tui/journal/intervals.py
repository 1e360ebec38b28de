"""The last intervals of one host in one direction, from which current figures are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tui.metrics.histogram import PackedBuckets
from tui.model.dense import has_counts
from tui.model.event import Buckets, DirectionSample

# an interval shorter than this gives no rate worth showing; it counts in totals and series
SHORT_S = 0.3
LATELY_S = 5.0  # the longest window of current figures, steadier than one interval


class Clock:
    """Current time of a run, and the window of current figures; shared by all views of the run.

    `window_s`: 0 for the last interval alone, else up to `LATELY_S`.
    """

    __slots__ = ("now", "window_s")

    def __init__(self, window_s: float = 0.0) -> None:
        self.now = 0.0
        self.window_s = window_s


class Amounts(Struct, gc=False):
    """I/Os, bytes and latencies of one direction in one interval.

    Latencies are packed: lists for all hosts would take much memory, and time to allocate and free.
    """

    ios: int
    bytes: int
    timed: int  # number of I/Os whose latencies `lat_sum_ns` adds up
    lat_sum_ns: int
    lat_max_ns: int
    printed_ns: Mapping[str, int]
    lat: PackedBuckets

    @classmethod
    def of(cls, sample: DirectionSample) -> Amounts:
        """Return the amounts in a sample."""
        lat = PackedBuckets(sample.lat) if has_counts(sample.lat) else NO_LATENCIES
        return cls(
            sample.ios,
            sample.bytes,
            lat.total or (sample.ios if sample.lat_sum_ns else 0),
            sample.lat_sum_ns,
            sample.lat_max_ns,
            sample.printed_ns,
            lat,
        )


NO_LATENCIES = PackedBuckets(Buckets())
NOTHING = Amounts(0, 0, 0, 0, 0, {}, NO_LATENCIES)


class Interval(Struct, gc=False):
    """Last interval of one host in one direction, or the last few together."""

    t: float  # arrival
    interval_s: float
    parts: tuple[Amounts, ...]

    @property
    def ios(self) -> int:
        """Number of I/Os."""
        return sum(part.ios for part in self.parts)

    @property
    def bytes(self) -> int:
        """Number of bytes moved."""
        return sum(part.bytes for part in self.parts)

    @property
    def timed(self) -> int:
        """Number of I/Os that `lat_sum_ns` includes."""
        return sum(part.timed for part in self.parts)

    @property
    def lat_sum_ns(self) -> int:
        """Sum of the latencies."""
        return sum(part.lat_sum_ns for part in self.parts)


class RecentIntervals:
    """The intervals that the clock's window may need."""

    __slots__ = ("_clock", "_kept", "_window")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: list[Interval] = []
        self._window: tuple[float, Interval] | None = None  # its length, and what was in it

    def add(self, newest: Interval) -> None:
        """Add the newest interval; forget intervals that no window needs any more."""
        if self._kept and newest.interval_s < SHORT_S:
            return
        reach_s = LATELY_S if self._clock.window_s else 0.0
        self._kept = [*_within(self._kept, newest.t - reach_s), newest]
        self._window = None

    def clear(self) -> None:
        """Forget all intervals."""
        self._kept, self._window = [], None

    @property
    def last(self) -> Interval | None:
        """The last interval; None without one."""
        return self._kept[-1] if self._kept else None

    @property
    def window(self) -> Interval | None:
        """The intervals of the clock's window merged into one; None without any.

        The window ends with the last interval.
        """
        seconds, last = self._clock.window_s, self.last
        if last is None or not seconds:
            return last
        if self._window is None or self._window[0] != seconds:
            within = _within(self._kept, last.t - seconds)
            together = Interval(
                last.t,
                sum(each.interval_s for each in within),
                tuple(part for each in within for part in each.parts),
            )
            self._window = seconds, together
        return self._window[1]


def _within(intervals: Sequence[Interval], since_t: float) -> list[Interval]:
    """Return the intervals that are at least half after a time."""
    return [each for each in intervals if each.t - each.interval_s / 2 > since_t]
