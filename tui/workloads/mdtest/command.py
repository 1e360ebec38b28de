"""Parse mdtest's command line as mdtest does: clusters of flags, values after a space or not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

VALUED = frozenset("abdefGiIlnNpsVwWxz")  # options with a value
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
NUMBER = re.compile(r"(?P<digits>\d{1,15})(?P<unit>[kmgt]?)", re.IGNORECASE)
TREE = frozenset("bzIL")  # options of a tree of directories, over which items are rounded
RANGE = frozenset("fls")  # runs with several numbers of tasks


def options(words: Sequence[str]) -> dict[str, str]:
    """Return the one-letter options of a command line with their values; flags have none."""
    found: dict[str, str] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word.startswith("--"):
            continue
        cluster, equals, value = word[1:].partition("=")
        for at, name in enumerate(cluster):
            if name not in VALUED:
                found[name] = ""
                continue
            rest = value if equals else cluster[at + 1 :]
            found[name] = rest or (left.pop(0) if left else "")
            break
    return found


def number(given: Mapping[str, str], name: str) -> int | None:
    """Return an option's number; None if it was not given or is no number."""
    match = NUMBER.fullmatch(given.get(name, ""))
    return int(match["digits"]) * UNITS[match["unit"].lower()] if match else None
