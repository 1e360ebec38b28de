"""Figures for display: three significant digits, the usual units, a dash for unknown.

Every `*_parts` function returns (number, unit) for tables with a column of units.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import inf

UNKNOWN = "–"
Parts = tuple[str, str]

TAIL_SAMPLES = 10  # with fewer samples beyond a percentile, chance dominates
TOO_FEW = f"n<{TAIL_SAMPLES}"


class Few(int):
    """A percentile in ns with fewer than TAIL_SAMPLES samples beyond it, printed as ``n<10``."""


_DECIMAL = ("", "k", "M", "G", "T", "P")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TIME = ("ns", "µs", "ms", "s")


def three_digits(value: float) -> str:
    """Return a number with three significant digits; two decimals below 10.

    Four digits from 1000 to 1023.5, as binary units need.
    """
    if abs(value) < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"


def _scale(value: float, units: Sequence[str], factor: float) -> tuple[float, int]:
    """Return a value in the unit in which it rounds to less than `factor`, and the unit's index."""
    place = 0
    # a damaged file may hold an integer of hundreds of digits
    if abs(value) > sys.float_info.max:
        return inf if value > 0 else -inf, len(units) - 1
    while abs(value) >= factor - 0.5 and place < len(units) - 1:
        value /= factor
        place += 1
    return value, place


def _parts(value: float | None, units: Sequence[str], factor: float) -> Parts:
    if value is None or value != value:
        return UNKNOWN, ""
    scaled, place = _scale(value, units, factor)
    whole = place == 0 and scaled == round(scaled)
    return (f"{scaled:.0f}" if whole else three_digits(scaled)), units[place]


def iops_parts(value: float | None) -> Parts:
    """Return I/Os per second as (number, k/M/G)."""
    return _parts(value, _DECIMAL, 1000)


def score_parts(value: float | None) -> Parts:
    """Return a benchmark's score as (number, ""), because it has no unit."""
    return (UNKNOWN if value is None else f"{value:.6g}"), ""


def bandwidth_parts(bytes_per_s: float | None) -> Parts:
    """Return bytes per second as (number, MiB/s)."""
    number, unit = _parts(bytes_per_s, _BINARY, 1024)
    return number, f"{unit}/s" if unit else ""


def latency_parts(ns: float | None) -> Parts:
    """Return nanoseconds as (number, ns/µs/ms/s); a percentile with too few samples beyond it as
    ``n<10``.
    """
    if isinstance(ns, Few):
        return TOO_FEW, ""
    return _parts(ns, _TIME, 1000)


def size_parts(size_bytes: float | None) -> Parts:
    """Return bytes as (number, GiB), without decimals if whole: 4 GiB, 1.50 GiB."""
    number, unit = _parts(size_bytes, _BINARY, 1024)
    return (
        number.removesuffix(".00").removesuffix(".0")
        if "." in number and _is_whole(size_bytes)
        else number
    ), unit


def _is_whole(size_bytes: float | None) -> bool:
    """Return whether a size is a whole number of its unit."""
    scaled, _ = _scale(size_bytes or 0, _BINARY, 1024)
    return scaled == round(scaled)


def iops(value: float | None) -> str:
    """Format I/Os per second: 390494 -> "390k"."""
    return "".join(iops_parts(value))


def bandwidth(bytes_per_s: float | None) -> str:
    """Format bytes per second: 9_846_000_000 -> "9.17 GiB/s"."""
    return " ".join(bandwidth_parts(bytes_per_s)).rstrip()


def latency(ns: float | None) -> str:
    """Format nanoseconds: 229000 -> "229 µs"."""
    return " ".join(latency_parts(ns)).rstrip()


def size(size_bytes: float | None) -> str:
    """Format bytes: 4 * 2**30 -> "4 GiB"."""
    return " ".join(size_parts(size_bytes)).rstrip()


def size_of(part_bytes: float, whole_bytes: float) -> str:
    """Format a part of a size in the unit of the whole: "0.98 of 1.56 GiB"."""
    scaled, place = _scale(whole_bytes, _BINARY, 1024)
    part = part_bytes / 1024**place
    shown = f"{part:.0f}" if place == 0 else three_digits(part)
    return f"{shown} of {size(whole_bytes)}" if scaled else size(part_bytes)


def count(value: float | None) -> str:
    """Format a count: 19_999_616 -> "20.0M"."""
    return "".join(_parts(value, _DECIMAL, 1000))


def exact(value: int | None) -> str:
    """Format a count with all digits: 19999616 -> "19,999,616"."""
    return UNKNOWN if value is None else f"{value:,}"


def change(ratio: float) -> str:
    """Format a ratio as a change: 1.031 -> "+3.1 %"."""
    return share(ratio - 1, 1, "+")


def six_digits(value: float | None) -> float | None:
    """Round a value to six significant digits; None stays None."""
    return None if value is None else float(f"{value:.6g}")


def percent(fraction: float | None) -> str:
    """Format a share with three digits: 0.1234 -> "12.3 %"."""
    return (
        UNKNOWN if fraction is None or fraction != fraction else f"{three_digits(fraction * 100)} %"
    )


def share(fraction: float, decimals: int = 0, sign: str = "") -> str:
    """Format a share: 0.25 -> "25 %", with one decimal "25.0 %", with a sign "+25 %"."""
    return f"{fraction * 100:{sign}.{decimals}f} %"


def seconds(value: float | None) -> str:
    """Format seconds: 0.2 -> "0.2 s", 30.02 -> "30.0 s", 30 -> "30 s", 0.04 -> "0.04 s", 299.6 ->
    "300 s".
    """
    if value is None or value != value:
        return UNKNOWN
    if value == round(value) or value >= 100:
        return f"{value:.0f} s"
    return f"{value:.1f} s" if value >= 0.1 else f"{value:.2g} s"


def duration(seconds: float | None) -> str:
    """Format a duration: 45 -> "0:45", 299 -> "4:59", 3720 -> "1h 02m", 183600 -> "2d 03h".

    Fractions of a second are dropped.
    """
    if seconds is None or seconds != seconds:
        return UNKNOWN
    sign, whole = ("-", int(-seconds)) if seconds <= -1 else ("", max(0, int(seconds)))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{sign}{days}d {hours:02d}h"
    return f"{sign}{hours}h {minutes:02d}m" if hours else f"{sign}{minutes}:{rest:02d}"


def span(seconds: float | None) -> str:
    """Format a duration with its units, for text: 35 -> "35 s", 305 -> "5 min 5 s", 1380 -> "23
    min", 3720 -> "1 h 2 min", 183600 -> "2 d 3 h"; 0.2 -> "0.2 s".
    """
    if seconds is None or seconds != seconds:
        return UNKNOWN
    if abs(seconds) < 1:
        return f"{seconds:.2g} s"
    rest, sign = round(abs(seconds)), "-" if seconds < 0 else ""
    parts: list[tuple[int, str]] = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        parts += [(count, unit)] if parts or count else []
    return sign + " ".join(f"{count} {unit}" for count, unit in parts[:2] if count)


def clock(seconds: float) -> str:
    """Format a duration like a clock: ``2:06``, ``1:00:00``."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def latency_fixed(ns: float | None) -> str:
    """Format a latency in exactly 7 characters: " 229 µs"."""
    number, unit = latency_parts(ns)
    return f"{number:>4} {unit:<2}" if unit else f"{number:>7}"


def plural(count: int, word: str) -> str:
    """Return a number with its noun: ``1 host``, ``2 hosts``."""
    return f"{count} {word}{'' if count == 1 else 's'}"
