"""Rates over fixed bins from intervals that come late, in bunches, or not at all."""

from __future__ import annotations

from math import ceil, floor


class RateSeries:
    """Amounts of irregular intervals, spread evenly over fixed bins.

    Times are seconds on one clock, bins start at multiples of `bin_s`. With `keep` set, only that many of the newest
    bins are held and what belongs to older ones is dropped. A bin that no interval touches is a gap: None, not 0.
    """

    __slots__ = ("_amounts", "_first", "_last", "bin_s", "keep")

    def __init__(self, bin_s: float = 1.0, keep: int | None = None) -> None:
        if bin_s <= 0 or (keep is not None and keep < 1):
            raise ValueError(f"bin_s and keep must be positive, got {bin_s!r} and {keep!r}")
        self.bin_s = bin_s
        self.keep = keep
        self._amounts: dict[int, float] = {}
        self._first: int | None = None
        self._last: int | None = None

    def add(self, t0: float, t1: float, amount: float) -> None:
        """Add what happened in (t0, t1]. An interval without length belongs whole to the bin it lies in."""
        if t1 <= t0:
            self._put(floor(t1 / self.bin_s), amount)
            return
        first, last = floor(t0 / self.bin_s), max(ceil(t1 / self.bin_s) - 1, floor(t0 / self.bin_s))
        if self.keep is not None:
            first = max(first, last - self.keep + 1)
        for index in range(first, last + 1):
            share = min(t1, (index + 1) * self.bin_s) - max(t0, index * self.bin_s)
            self._put(index, amount * share / (t1 - t0))

    def _put(self, index: int, amount: float) -> None:
        if self._last is not None and self.keep is not None and index <= self._last - self.keep:
            return
        self._amounts[index] = self._amounts.get(index, 0.0) + amount
        self._first = index if self._first is None else min(self._first, index)
        if self._last is None or index > self._last:
            self._last = index
            self._forget()

    def _forget(self) -> None:
        """Drop the bins that are too old for `keep`."""
        if self.keep is None or self._last is None or self._first is None:
            return
        oldest = self._last - self.keep + 1
        if self._first < oldest:
            self._amounts = {index: amount for index, amount in self._amounts.items() if index >= oldest}
            self._first = oldest

    @property
    def start_s(self) -> float | None:
        """Start of the first held bin; None while empty."""
        return None if self._first is None else self._first * self.bin_s

    @property
    def end_s(self) -> float | None:
        """End of the last held bin; None while empty."""
        return None if self._last is None else (self._last + 1) * self.bin_s

    @property
    def total(self) -> float:
        """Sum of the amounts in the held bins."""
        return sum(self._amounts.values())

    def rates(self, start_s: float | None = None, end_s: float | None = None) -> list[float | None]:
        """Return amount per second of every bin from `start_s` to `end_s` (default: all held bins); None is a gap.

        With the same bounds, the lists of several series have the same length.
        """
        if start_s is None:
            start_s = self.start_s
        if end_s is None:
            end_s = self.end_s
        if start_s is None or end_s is None:
            return []
        bins = range(floor(start_s / self.bin_s), ceil(end_s / self.bin_s))
        amounts = self._amounts
        return [None if (amount := amounts.get(index)) is None else amount / self.bin_s for index in bins]
