"""Rates by the second from intervals that come late, in bunches, or not at all."""

from __future__ import annotations

from array import array
from math import ceil, floor, isnan, nan

CHUNK = 64
GAPS = array("d", [nan]) * CHUNK
Parts = list[tuple[int, int, float, float]]
"""Of each second that an interval covers: its chunk, its place in there, how much of it is covered, of how much."""


def parts_of(t0: float, t1: float) -> Parts:
    """Return the seconds that (t0, t1] covers. One without length belongs whole to the second it lies in."""
    if t1 <= t0:
        return [(*divmod(floor(t1), CHUNK), 1.0, 1.0)]
    seconds = range(floor(t0), max(ceil(t1), floor(t0) + 1))
    return [(*divmod(second, CHUNK), min(t1, second + 1) - max(t0, second), t1 - t0) for second in seconds]


class RateSeries:
    """Amounts of irregular intervals, spread evenly over the seconds that they cover.

    Times are seconds on one clock. A second that no interval touches is a gap: None, not 0. They lie in chunks of 64:
    eight bytes a second where something was measured, and nothing for a long time in which nothing was.
    """

    __slots__ = ("_chunks",)

    def __init__(self) -> None:
        self._chunks: dict[int, array[float]] = {}

    def add(self, t0: float, t1: float, amount: float) -> None:
        """Add what happened in (t0, t1]. An interval without length belongs whole to the second it lies in."""
        self.put(parts_of(t0, t1), amount)

    def put(self, parts: Parts, amount: float) -> None:
        """Add what happened in an interval: its parts are made once for all series that it goes into."""
        for number, place, covered, length in parts:
            chunk = self._chunks.get(number)
            if chunk is None:
                chunk = self._chunks[number] = GAPS[:]
            before, more = chunk[place], amount * covered / length
            chunk[place] = more if before != before else before + more

    def rates(self, start_s: float, end_s: float) -> list[float | None]:
        """Return amount per second of every second from `start_s` to `end_s`; None is a gap."""
        first, end = floor(start_s), ceil(end_s)
        amounts = array("d")
        for number in range(first // CHUNK, -(-end // CHUNK)):
            amounts += self._chunks.get(number, GAPS)
        skipped = first % CHUNK
        wanted = amounts[skipped : skipped + max(0, end - first)]
        return [None if isnan(each) else each for each in wanted] if any(map(isnan, wanted)) else [*wanted]
