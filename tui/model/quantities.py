"""Sizes and durations: convert bytes and seconds to and from human-readable and fio notation.

fio 3.x reads ``k m g t p`` as powers of 1024 (kb_base=1024) but ``KiB`` as 1000, reads ``1.5g`` as
1 byte and ``1h30m`` as 1 microsecond (parse.c, get_mult_bytes, get_mult_time). So values are parsed
here and printed in the one form that every fio reads correctly.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal

_POWERS = "kmgtp"
_SIZE = re.compile(
    r"(\d{1,30}(?:\.\d{1,30})?)\s*(?:([kmgtp])(?:i?b)?|b)?", re.IGNORECASE | re.ASCII
)
_SPAN = re.compile(r"(\d{1,30}(?:\.\d{1,30})?)\s*(us|ms|s|m|h|d)", re.IGNORECASE | re.ASCII)
_UNIT_US = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}

SIZE_FORMS = (
    "bytes as a whole number, or a number with k, m, g, t or p (powers of 1024), such as 4k, 128G"
)
DURATION_FORMS = "seconds, or a number with us, ms, s, m, h or d, such as 300s, 15m, 1h30m"
_TIME = re.compile(r"(?:(\d+)-)?(?:(?:(\d+):)?(\d+):)?(\d+)", re.ASCII)


def parse_size(value: object) -> int:
    """Parse a size in bytes: ``4k``, ``4K``, ``4KB`` and ``4KiB`` are all 4096. Raises
    ValueError.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return _checked_size(Decimal(value), value)
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise ValueError(f"{shown(value)} is not a size; expected {SIZE_FORMS}")
    power = _POWERS.index(match[2].lower()) + 1 if match[2] else 0
    return _checked_size(Decimal(match[1]) * 1024**power, value)


def parse_stamp(text: str) -> float | None:
    """Parse a date and time as printed by C's ctime; return epoch seconds, read as UTC.

    None for other texts.
    """
    try:
        return (
            datetime.strptime(" ".join(text.split()), "%a %b %d %H:%M:%S %Y")
            .replace(tzinfo=UTC)
            .timestamp()
        )
    except ValueError:
        return None


def _checked_size(size: Decimal, value: object) -> int:
    if size != size.to_integral_value():
        raise ValueError(f"{shown(value)} is not a size; expected a whole number of bytes")
    if not 0 <= size < 2**63:
        raise ValueError(f"{shown(value)} is not a size; expected 0 to 2^63-1 bytes")
    return int(size)


def parse_duration(value: object) -> float:
    """Parse a duration in seconds: ``300``, ``"300s"``, ``"15m"``, ``"1h30m"``, ``"250ms"``.

    Raises ValueError.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not 0 <= value < 2**31:
            raise ValueError(f"{shown(value)} is not a duration; expected 0 to 2^31-1 seconds")
        return _checked_seconds(Decimal(str(value)), value)
    text = value.strip() if isinstance(value, str) else ""
    if re.fullmatch(r"\d{1,30}(?:\.\d{1,30})?", text, re.ASCII):
        return _checked_seconds(Decimal(text), value)
    spans = _SPAN.findall(text)
    if not spans or _SPAN.sub("", text).strip():
        raise ValueError(f"{shown(value)} is not a duration; expected {DURATION_FORMS}")
    return _checked_seconds(
        sum(Decimal(n) * _UNIT_US[unit.lower()] for n, unit in spans) / Decimal(1_000_000), value
    )


def _checked_seconds(seconds: Decimal, value: object) -> float:
    if not 0 <= seconds < 2**31:
        raise ValueError(f"{shown(value)} is not a duration; expected 0 to 2^31-1 seconds")
    if seconds and seconds < Decimal("0.000001"):
        raise ValueError(f"{shown(value)} is not a duration; expected 0, or 1us or more")
    return float(seconds)


def plain_size(size: int) -> str:
    """Return the shortest text that fio reads as exactly `size` bytes: ``4G``, ``64M``, ``4k``,
    ``1000``.

    Raises ValueError.
    """
    if size < 0:
        raise ValueError(f"{size} is not a size; expected 0 or more")
    for power, suffix in ((5, "P"), (4, "T"), (3, "G"), (2, "M"), (1, "k")):
        if size and size % 1024**power == 0:
            return f"{size >> 10 * power}{suffix}"
    return str(size)


def plain_duration(seconds: float) -> str:
    """Return a time in a form that every fio reads, with a resolution of 1 us: ``300s``, ``250ms``,
    ``1500us``.

    Raises ValueError.
    """
    if not 0 <= seconds < 2**31:
        raise ValueError(f"{seconds} is not a duration; expected 0 to 2^31-1 seconds")
    microseconds = round(Decimal(str(seconds)) * 1_000_000)
    if microseconds % 1_000_000 == 0:
        return f"{microseconds // 1_000_000}s"
    return f"{microseconds // 1000}ms" if microseconds % 1000 == 0 else f"{microseconds}us"


def short_duration(seconds: float) -> str:
    """Return a time as people type it, in whole hours or minutes where possible: ``1h``, ``90m``,
    ``45s``.
    """
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:g}s"


def shown(value: object) -> str:
    """Return a value for a message: text in quotes, long values shortened."""
    text = (
        repr(value)
        if isinstance(value, str)
        else str(value).lower()
        if isinstance(value, bool)
        else _plain(value)
    )
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, (list, tuple)) else str(value)


def seconds_of(text: str) -> float | None:
    """Return the seconds in Slurm's [DAYS-][[HOURS:]MINUTES:]SECONDS; None for other texts."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
