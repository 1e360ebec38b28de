"""Rates by the second from intervals that come late, in bunches, or not at all."""

from __future__ import annotations

from math import ceil, floor


class RateSeries:
    """Amounts of irregular intervals, spread evenly over the seconds that they cover.

    Times are seconds on one clock. A second that no interval touches is a gap: None, not 0.
    """

    __slots__ = ("_amounts",)

    def __init__(self) -> None:
        self._amounts: dict[int, float] = {}

    def add(self, t0: float, t1: float, amount: float) -> None:
        """Add what happened in (t0, t1]. An interval without length belongs whole to the second it lies in."""
        if t1 <= t0:
            self._put(floor(t1), amount)
            return
        for second in range(floor(t0), max(ceil(t1), floor(t0) + 1)):
            share = min(t1, second + 1) - max(t0, second)
            self._put(second, amount * share / (t1 - t0))

    def _put(self, second: int, amount: float) -> None:
        self._amounts[second] = self._amounts.get(second, 0.0) + amount

    def rates(self, start_s: float, end_s: float) -> list[float | None]:
        """Return amount per second of every second from `start_s` to `end_s`; None is a gap."""
        return [self._amounts.get(second) for second in range(floor(start_s), ceil(end_s))]
