"""How an inventory of Ansible spells hosts: ``www[01:50:2].lab:2222``, ``db-[a:f]``,
``[::1]:22``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters

from tui.model.hostspec import MOST_KNOWN, MOST_RANGES
from tui.model.problem import UsageError

_RANGE = re.compile(r"\[(?:(\d{1,9}):(\d{1,9})|([A-Za-z]):([A-Za-z]))(?::(\d{1,9}))?\]", re.ASCII)
_V6 = re.compile(r"\[([0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)\](?::(\d{1,5}))?", re.ASCII)
_PORT = re.compile(r"(?P<host>[^:\[\]]*(?:\[[^\]]*\][^:\[\]]*)*):(?P<port>\d{1,5})", re.ASCII)


def spelled(pattern: str) -> tuple[list[str], int | None]:
    """Return the hosts of a pattern and the port behind it. Raises UsageError."""
    if match := _V6.fullmatch(pattern):
        return [match[1]], int(match[2]) if match[2] else None
    if match := _PORT.fullmatch(pattern):
        return names(match["host"]), int(match["port"])
    return names(pattern), None


def names(pattern: str) -> list[str]:
    """Return the hosts of a pattern with ranges, in order. Raises UsageError."""
    if pattern.count("[") > MOST_RANGES:
        raise UsageError(f"'{pattern[:60]}': more than {MOST_RANGES} ranges in one name")
    return list(dict.fromkeys(_expanded(pattern)))


def _expanded(pattern: str) -> Iterator[str]:
    match = _RANGE.search(pattern)
    if match is None:
        if "[" in pattern or "]" in pattern:
            raise UsageError(
                f"'{pattern[:60]}': not a range; allowed is [1:50], [01:50:2] or [a:f]"
            )
        yield pattern
        return
    parts = _counted(match)
    rests = list(_expanded(pattern[match.end() :]))
    if len(parts) * len(rests) > MOST_KNOWN:
        raise UsageError(f"'{pattern[:60]}': more than {MOST_KNOWN} hosts")
    for part in parts:
        for rest in rests:
            yield pattern[: match.start()] + part + rest


def _counted(match: re.Match[str]) -> list[str]:
    """Return what one range stands for, both ends included.

    Zeros in front are kept, as Ansible does.
    """
    step = int(match[5] or 1)
    if step == 0:
        raise UsageError(f"'{match[0]}': the step is 0")
    if match[3]:
        first, last = ascii_letters.index(match[3]), ascii_letters.index(match[4])
        found = [ascii_letters[at] for at in range(first, last + 1, step)]
    else:
        if (int(match[2]) - int(match[1])) // step >= MOST_KNOWN:
            raise UsageError(f"'{match[0]}': more than {MOST_KNOWN} hosts")
        width = len(match[1]) if match[1].startswith("0") else 0
        found = [
            str(number).zfill(width) for number in range(int(match[1]), int(match[2]) + 1, step)
        ]
    if not found:
        raise UsageError(f"'{match[0]}': the range runs backwards")
    return found
