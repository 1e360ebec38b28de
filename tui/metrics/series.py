"""Rates by the second from intervals that come late, in bunches, or not at all."""

from __future__ import annotations

from array import array
from math import ceil, floor, isnan, nan

CHUNK = 64
GAPS = array("d", [nan]) * CHUNK


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
        if t1 <= t0:
            self._put(floor(t1), amount)
            return
        for second in range(floor(t0), max(ceil(t1), floor(t0) + 1)):
            share = min(t1, second + 1) - max(t0, second)
            self._put(second, amount * share / (t1 - t0))

    def _put(self, second: int, amount: float) -> None:
        number, place = divmod(second, CHUNK)
        chunk = self._chunks.get(number)
        if chunk is None:
            chunk = self._chunks[number] = GAPS[:]
        before = chunk[place]
        chunk[place] = amount if isnan(before) else before + amount

    def rates(self, start_s: float, end_s: float) -> list[float | None]:
        """Return amount per second of every second from `start_s` to `end_s`; None is a gap."""
        first, end = floor(start_s), ceil(end_s)
        amounts = array("d")
        for number in range(first // CHUNK, -(-end // CHUNK)):
            amounts += self._chunks.get(number, GAPS)
        skipped = first % CHUNK
        return [None if isnan(amount) else amount for amount in amounts[skipped : skipped + max(0, end - first)]]
