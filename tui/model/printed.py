"""Figures as publications print them, and in SI units: ``33.1MiB/s (34.7MB/s)``, ``~60000 iops``,
``16.9k``.

The printed text is kept, because it shows the precision. A range stays a range; nothing is
interpolated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Unit = Literal["iops", "bytes_per_s", "ns", "ops_per_s", "percent", "bytes", "s"]

_BINARY = {f"{prefix}i": 1024.0**power for power, prefix in enumerate("KMGT", start=1)}
_DECIMAL = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BYTES = {"B": 1.0, **{f"{name}B": factor for name, factor in (_BINARY | _DECIMAL).items()}}
_SECONDS = {
    "ns": 1.0,
    "us": 1e3,
    "µs": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "nsec": 1.0,
    "usec": 1e3,
    "msec": 1e6,
    "sec": 1e9,
}
UNITS: Mapping[Unit, Mapping[str, float]] = {
    "iops": {"": 1.0, "iops": 1.0, "IOPS": 1.0, "ops/s": 1.0},
    # fio truncates "29.4Gi"
    "bytes_per_s": {f"{name}/s": factor for name, factor in _BYTES.items()} | _BINARY,
    "ns": _SECONDS,
    "ops_per_s": {"": 1.0, "ops/s": 1.0},
    "percent": {"%": 1.0},
    "bytes": _BYTES,
    "s": {name: factor / 1e9 for name, factor in _SECONDS.items()},
}
FORMS: Mapping[Unit, str] = {
    "iops": "a number with k or M and iops or ops/s, such as 16.9k, 438k iops, ~60000 iops",
    "bytes_per_s": (
        "a number with MB/s, MiB/s, GB/s or GiB/s, such as 1671MiB/s (1752MB/s), 5-6 GB/s"
    ),
    "ns": "a number with ns, us, ms or s, such as 23.6 ms, 4705.1k us",
    "ops_per_s": "a number of operations per second, such as 79,599 ops/s",
    "percent": "a number with %, such as 55.8 %",
    "bytes": "a number with MB, MiB, GB or GiB, such as 32.3GiB",
    "s": "a number with ms or s, such as 1000707ms",
}
_NUMBER = r"\d[\d,]{0,30}(?:\.\d{1,30})?[kM]?"
_NAMES = "|".join(
    sorted({re.escape(name) for names in UNITS.values() for name in names}, key=len, reverse=True)
)
_PRINTED = re.compile(
    rf"(~?) ?({_NUMBER})(?: ?- ?({_NUMBER}))? ?({_NAMES})(?: ?\([^()]*\))?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """One figure: as printed, and converted to `unit`.

    `value` is None for a range, whose ends are `low` and `high`.
    """

    printed: str
    unit: Unit
    value: float | None
    low: float
    high: float
    approximate: bool = False


def parse_printed(unit: Unit, text: object) -> Quantity:
    """Parse a figure from its printed form; text in parentheses after it is ignored.

    Raises ValueError.
    """
    printed = " ".join(str(text).split())
    match = (
        _PRINTED.fullmatch(printed)
        if isinstance(text, str | int | float) and not isinstance(text, bool)
        else None
    )
    if match is None or match[4] not in UNITS[unit]:
        raise ValueError(f"expected {FORMS[unit]}")
    low = _number(match[2]) * UNITS[unit][match[4]]
    high = _number(match[3]) * UNITS[unit][match[4]] if match[3] else low
    if high < low:
        raise ValueError("put the smaller number of a range first")
    return Quantity(printed, unit, low if match[3] is None else None, low, high, bool(match[1]))


def _number(text: str) -> float:
    factor = _DECIMAL.get(text[-1], 1.0)
    return round(float(text.rstrip("kM").replace(",", "")) * factor, 9)


def or_in(quantity: Quantity, other: str) -> Quantity:
    """Return a figure whose limits cover its printed unit and `other`; its value is unchanged."""
    match = _PRINTED.fullmatch(quantity.printed)
    units = UNITS[quantity.unit]
    if match is None or match[4] not in units or other not in units:
        return quantity
    factor = units[other] / units[match[4]]
    ends = (quantity.low, quantity.high, quantity.low * factor, quantity.high * factor)
    return Quantity(
        quantity.printed, quantity.unit, quantity.value, min(ends), max(ends), quantity.approximate
    )


def rounding_of(quantity: Quantity) -> float:
    """Return the relative rounding error of a printed figure: half its last digit, or half a range.

    For an approximate whole number, trailing zeros are not significant.
    """
    match = _PRINTED.fullmatch(quantity.printed)
    if match is None or match[3] or not quantity.low:
        return (
            (quantity.high - quantity.low) / (quantity.high + quantity.low)
            if quantity.high
            else 0.0
        )
    digits = match[2].rstrip("kM").replace(",", "")
    decimals = len(digits.partition(".")[2])
    zeros = len(digits) - len(digits.rstrip("0")) if quantity.approximate and not decimals else 0
    return 0.5 * 10.0 ** (zeros - decimals) / float(digits)


def printed_unit(quantity: Quantity) -> str:
    """Return the unit as printed, such as ``MB/s``."""
    match = _PRINTED.fullmatch(quantity.printed)
    return match[4] if match else ""
