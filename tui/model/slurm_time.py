"""Parse times as Slurm prints them."""

from __future__ import annotations

import re

_TIME = re.compile(r"(?:(\d+)-)?(?:(?:(\d+):)?(\d+):)?(\d+)", re.ASCII)


def seconds_of(text: str) -> float | None:
    """Return the seconds of [DAYS-][HOURS:]MINUTES:SECONDS; None for UNLIMITED and the like."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
