"""Latencies of one direction over all hosts: total so far, p99 of each second, heat map."""

from __future__ import annotations

from math import floor
from typing import NamedTuple

from tui.metrics.buckets import index_to_value, rank
from tui.metrics.histogram import Histogram, PackedBuckets
from tui.metrics.series import HeatBins
from tui.model.event import Buckets

HOST_OPEN_S = 3  # samples of one host are in order
CLUSTER_OPEN_S = 90  # but a host may lag behind the others by the time of a reconnect


def p99_of(buckets: Buckets) -> int:
    """Return the 99th percentile of a non-empty histogram, by fio's rule; scans only its upper
    end.
    """
    total = sum(buckets.n)
    beyond, wanted = total, rank(99, total)
    for index, count in zip(reversed(buckets.idx), reversed(buckets.n), strict=True):
        beyond -= count
        if beyond < wanted:
            return index_to_value(index)
    return index_to_value(buckets.idx[0])


def seconds_of(t0: float, t1: float) -> range:
    """Return the seconds whose middle lies in (t0, t1]; empty if the interval covers no middle.

    Consecutive intervals cover the middle of each second exactly once.
    """
    return range(floor(t0 - 0.5) + 1, floor(t1 - 0.5) + 1)


Counted = Buckets | Histogram
Counts = Buckets | PackedBuckets | Histogram


class PercentileBins:
    """99th percentile of each second, merged over the intervals that cover its middle.

    If none does, over the intervals that end in it. Seconds older than `open_s` are final, so
    memory stays constant.
    """

    __slots__ = ("_known", "_middle", "_newest", "_open_s", "_settled", "_short")

    def __init__(self, open_s: int) -> None:
        # by second, from intervals that cover its middle
        self._middle: dict[int, Counted] = {}
        # from intervals that end in it and cover no middle
        self._short: dict[int, Counted] = {}
        # percentiles of open seconds, valid until data is added
        self._known: dict[int, int] = {}
        self._settled: dict[int, int] = {}
        self._open_s = open_s
        self._newest = 0

    def add(self, t0: float, t1: float, buckets: Counts) -> None:
        """Add the histogram of the interval (t0, t1]."""
        seconds = seconds_of(t0, t1)
        held = self._middle if seconds else self._short
        for second in seconds or (floor(t1),):
            if second not in self._settled:
                self._put(held, second, buckets)
        if t1 >= self._newest + 1:
            self._newest = floor(t1)
            self._settle(self._newest - self._open_s)

    def _settle(self, before: int) -> None:
        for second in [second for second in self._open() if second < before]:
            self._settled[second] = self._p99(second)
            for each in (self._middle, self._short, self._known):
                each.pop(second, None)

    def _put(self, held: dict[int, Counted], second: int, counts: Counts) -> None:
        if self._known:
            self._known.pop(second, None)
        before = held.get(second)
        if before is None and isinstance(counts, Buckets):
            held[second] = counts  # alone in its second: most of one host's are
            return
        if not isinstance(before, Histogram):
            whole = held[second] = Histogram()
            if before is not None:
                whole.add(before)
            before = whole
        before.add(counts)

    def _open(self) -> set[int]:
        return self._middle.keys() | self._short.keys()

    def _p99(self, second: int) -> int:
        value = self._known.get(second)
        if value is None:
            held = self._middle[second] if second in self._middle else self._short[second]
            value = self._known[second] = p99_of(
                held if isinstance(held, Buckets) else held.buckets
            )
        return value

    @property
    def by_second(self) -> dict[int, int]:
        """99th percentiles so far, in ns by second of the run."""
        return self._settled | {second: self._p99(second) for second in self._open()}

    def values(self, start_s: int, end_s: int) -> list[int | None]:
        """Return one value per second; None if unknown."""
        known = self.by_second
        return [known.get(second) for second in range(start_s, end_s)]


class Covered(NamedTuple):
    """An interval (t0, t1] of run time, with the seconds that it counts for.

    `place` is equal for all intervals that count for the same seconds; `end`: second of its end.
    """

    t0: float
    t1: float
    end: int
    place: tuple[int, int, int, int]

    @classmethod
    def of(cls, t0: float, t1: float) -> Covered:
        """Return an interval with its seconds."""
        end = floor(t1)
        return cls(t0, t1, end, (floor(t0 - 0.5), floor(t1 - 0.5), floor((t0 + t1) / 2), end))


class JointLatencies:
    """Latencies of all hosts in one direction.

    All hosts report the same second one after the other. Their latencies are summed first, and the
    sum is added to the histograms when the next second begins or a figure is read, so each sample
    is added only once. `tails_open_s`: how late a sample may arrive for p99 per second, None if
    nothing is kept by second; `heat`: latencies over time, None if not needed.
    """

    def __init__(self, tails_open_s: int | None = None, heat: HeatBins | None = None) -> None:
        self._so_far = Histogram()
        self._tails = PercentileBins(tails_open_s) if tails_open_s is not None else None
        self._heat = heat
        # by place, and whether they count in the total
        self._waiting: dict[tuple[tuple[int, ...], bool], tuple[Covered, Histogram]] = {}
        self._newest = 0

    def add(self, at: Covered, lat: PackedBuckets, *, in_total: bool) -> None:
        """Add a sample's latencies; `in_total` is False if they are only kept per second."""
        if at.end > self._newest:
            self._settle()
            self._newest = at.end
            self._add(at, lat, in_total=in_total)
            return
        key = at.place, in_total
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = self._waiting[key] = at, Histogram()
        waiting[1].add(lat)

    def _settle(self) -> None:
        """Add the pending latencies."""
        for (_, in_total), (at, together) in self._waiting.items():
            self._add(at, together, in_total=in_total)
        self._waiting.clear()

    def _add(self, at: Covered, lat: PackedBuckets | Histogram, *, in_total: bool) -> None:
        if in_total:
            self._so_far.add(lat)
        if self._tails is not None:
            self._tails.add(at.t0, at.t1, lat)
        if self._heat is not None:
            self._heat.add(at.t0, at.t1, lat)

    def take_back(self, histogram: Histogram) -> None:
        """Subtract latencies that were added to the total before."""
        self._settle()
        self._so_far.take_back(histogram)

    @property
    def so_far(self) -> Histogram:
        """Histogram of all latencies so far."""
        self._settle()
        return self._so_far

    @property
    def tails(self) -> PercentileBins | None:
        """99th percentile of each second; None if not kept."""
        self._settle()
        return self._tails

    @property
    def heat(self) -> HeatBins | None:
        """Latencies over time; None if not kept."""
        self._settle()
        return self._heat
