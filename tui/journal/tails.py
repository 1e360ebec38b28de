"""The 99th percentile of each second, of one host or of all together."""

from __future__ import annotations

from math import floor

from tui.metrics.buckets import index_to_value, rank
from tui.metrics.histogram import Histogram, Packed
from tui.model.event import Buckets

HOST_OPEN_S = 3  # samples of one host come in order
CLUSTER_OPEN_S = 90  # but one host may be behind the others by as long as it takes to reconnect


def p99_of(buckets: Buckets) -> int:
    """Return the 99th percentile of a histogram that is not empty, by fio's rule; walks the short end only."""
    total = sum(buckets.n)
    beyond, wanted = total, rank(99, total)
    for index, count in zip(reversed(buckets.idx), reversed(buckets.n), strict=True):
        beyond -= count
        if beyond < wanted:
            return index_to_value(index)
    return index_to_value(buckets.idx[0])


def seconds_of(t0: float, t1: float) -> range:
    """Return the seconds whose middle lies in (t0, t1]: none for an interval that covers no middle.

    Intervals that follow each other cover the middle of each second once.
    """
    return range(floor(t0 - 0.5) + 1, floor(t1 - 0.5) + 1)


class PercentileBins:
    """The 99th percentile of each second, merged over the intervals that cover the middle of the second.

    Where none does, over those that end in it. Seconds that lie more than `open_s` behind the newest one are settled,
    so that memory does not grow with the run.
    """

    __slots__ = ("_known", "_middle", "_newest", "_open_s", "_settled", "_short")

    def __init__(self, open_s: int) -> None:
        self._middle: dict[int, Buckets | Histogram] = {}  # by second, from intervals that cover its middle
        self._short: dict[int, Buckets | Histogram] = {}  # from intervals that end in it and cover no middle
        self._known: dict[int, int] = {}  # computed of seconds that are open, until something comes to them
        self._settled: dict[int, int] = {}
        self._open_s = open_s
        self._newest = 0

    def add(self, t0: float, t1: float, buckets: Buckets, packed: Packed | None = None) -> None:
        """Take the histogram of an interval (t0, t1]; `packed`: the same, where others take it too."""
        seconds = seconds_of(t0, t1)
        held = self._middle if seconds else self._short
        for second in seconds or (floor(t1),):
            if second not in self._settled:
                self._put(held, second, buckets, packed)
        if floor(t1) > self._newest:
            self._newest = floor(t1)
            for second in [second for second in self._open() if second < self._newest - self._open_s]:
                self._settled[second] = self._p99(second)
                for each in (self._middle, self._short, self._known):
                    each.pop(second, None)

    def _put(self, held: dict[int, Buckets | Histogram], second: int, buckets: Buckets, packed: Packed | None) -> None:
        self._known.pop(second, None)
        before = held.setdefault(second, buckets)
        if before is buckets:
            return
        if isinstance(before, Buckets):
            before = held[second] = Histogram.from_buckets(before)
        before.add(buckets, packed)

    def _open(self) -> set[int]:
        return self._middle.keys() | self._short.keys()

    def _p99(self, second: int) -> int:
        value = self._known.get(second)
        if value is None:
            held = self._middle[second] if second in self._middle else self._short[second]
            value = self._known[second] = p99_of(held.buckets if isinstance(held, Histogram) else held)
        return value

    @property
    def by_second(self) -> dict[int, int]:
        """What is known so far, ns by second of the run."""
        return self._settled | {second: self._p99(second) for second in self._open()}

    def values(self, start_s: int, end_s: int) -> list[int | None]:
        """Return one value a second."""
        known = self.by_second
        return [known.get(second) for second in range(start_s, end_s)]
