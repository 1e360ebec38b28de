"""Numbers as fio's report prints them, with the values that they may stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

NUMBER = re.compile(r"(\d+)(?:\.(\d+))?(?:([kKMGTPE])(i)?)?(?:(bit|B)(?:/s)?)?")
PREFIXES = ("", "k", "M", "G", "T", "P", "E")
BITS = 8
CUT = 0.001  # fio divides in whole numbers: less than a thousandth of the last unit is lost


class Span(NamedTuple):
    """The values that a printed number may stand for."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The value in the middle."""
        return (self.low + self.high) / 2

    def meets(self, other: Span, share: float = 0.0) -> bool:
        """Return whether both may stand for the same value, within a relative tolerance."""
        return self.low * (1 - share) <= other.high and other.low <= self.high * (1 + share)

    def times(self, by: float) -> Span:
        """Return the values multiplied by a factor."""
        return Span(self.low * by, self.high * by)


def span(text: str) -> Span:
    """Return the range of values that fio's num2str prints as this text: ``139MiB/s``, ``44.5k``,
    ``29.4Gi``, ``556Mibit/s``.

    A number without a prefix is exact. fio 3.1 loses a carry: 1.998 may be printed as 1.00. Raises
    ValueError.
    """
    value, per, decimals, whole = _parts(text)
    if whole:
        return Span(value * per, value * per)
    digit = 0.5 * 10.0 ** -len(decimals)
    carried = 1.0 if decimals and not int(decimals) else 0.0
    return Span((value - digit) * per, (value + max(digit, carried) + CUT) * per)


def value_of(text: str) -> float:
    """Return the number that is printed. Raises ValueError."""
    value, per, _, _ = _parts(text)
    return value * per


def _parts(text: str) -> tuple[float, float, str, bool]:
    """Return a number, its unit, its decimals, and whether it is printed in full."""
    match = NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(
            f"found '{text}'; expected a number with a unit, such as 12.3MiB/s or 980kB"
        )
    digits, decimals, prefix, binary, unit = match.groups()
    per = (1024.0 if binary else 1000.0) ** PREFIXES.index((prefix or "").replace("K", "k"))
    per /= BITS if unit == "bit" else 1
    return float(f"{digits}.{decimals or 0}"), per, decimals or "", not prefix


def total(spans: Iterable[Span]) -> Span:
    """Return the possible values of a sum."""
    parts = [*spans]
    return Span(sum(each.low for each in parts), sum(each.high for each in parts))
