"""A figure with the interval that holds it with 95 %, and what becomes of it in a ratio. Pure."""

from __future__ import annotations

from math import exp, log, sqrt

from msgspec import Struct


class Estimate(Struct, frozen=True):
    """A figure with the interval that holds it with 95 %; None: not known."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def times(self, factor: float) -> Estimate:
        """Return it in another unit."""
        return Estimate(*(None if each is None else each * factor for each in (self.value, self.low, self.high)))


def ratio_of(a: Estimate, b: Estimate) -> Estimate:
    """Return B / A of two figures above 0 that were found apart; without an end where either has none."""
    if not a.value or not b.value:
        return Estimate()
    shift = log(b.value / a.value)
    down = _together(_reach(b.value, b.low), _reach(a.value, a.high))
    up = _together(_reach(b.value, b.high), _reach(a.value, a.low))
    return Estimate(exp(shift), None if down is None else exp(shift - down), None if up is None else exp(shift + up))


def _reach(value: float, end: float | None) -> float | None:
    return abs(log(end / value)) if end is not None and end > 0 else None


def _together(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else sqrt(one * one + other * other)
