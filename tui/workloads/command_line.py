"""Parse command lines of MPI benchmarks as they do: clusters of flags, values after a space or
not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from tui.workloads.base import LoadOptions

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
NUMBER = re.compile(r"(?P<digits>\d{1,15})(?P<unit>[kmgt]?)(?:i?b)?", re.IGNORECASE)


def options(
    words: Sequence[str], valued: Collection[str], *, clusters: bool = True
) -> dict[str, str]:
    """Return the one-letter options of a command line with their values, empty for flags.

    `valued`: options with a value; several values of one are joined by commas. Without `clusters`,
    only the first flag of several counts.
    """
    found: dict[str, str] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word.startswith("--"):
            continue
        cluster, equals, value = word[1:].partition("=")
        for at, name in enumerate(cluster):
            if name not in valued:
                found[name] = ""
                if clusters:
                    continue
                break
            rest = value if equals else cluster[at + 1 :]
            rest = rest or (left.pop(0) if left else "")
            found[name] = f"{found[name]},{rest}" if name in found else rest
            break
    return found


def number(given: Mapping[str, str], name: str) -> int | None:
    """Return an option's number, the last one given; None if there is none."""
    match = NUMBER.fullmatch(given.get(name, "").rpartition(",")[2])
    return int(match["digits"]) * UNITS[match["unit"].lower()] if match else None


def load_options(given: Mapping[str, str], left_out: Collection[str]) -> LoadOptions | None:
    """Return the options of a command line by letter, such as ``-b``, without those in `left_out`;
    None if the command line has no options.

    Sizes are numbers of bytes.
    """
    values = {
        f"-{name}": str(number(given, name) or value) if value else "1"
        for name, value in sorted(given.items())
        if name not in left_out and name.isalnum()
    }
    return LoadOptions(values) if given else None
