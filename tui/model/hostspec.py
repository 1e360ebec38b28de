"""Host specifications: names, @groups, ranges such as ``weka-[01-08]`` or ``h[1,3,5-7]``, and ``local``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tui.model.problem import UsageError

LOCAL = "local"
MOST_HOSTS = 4096  # of one name with ranges, and of one run
MOST_KNOWN = 16_384  # of an inventory, or of an SSH configuration with all that it includes
MOST_RANGES = 8  # brackets in one name
_NAME = re.compile(r"[A-Za-z0-9_:]([A-Za-z0-9._:%-]*[A-Za-z0-9_:])?", re.ASCII)
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
FORMS = "a name, a range like h[1-4] or weka-[01-08,12], a group like @clients, or local"


def split(spec: str) -> list[str]:
    """Return the parts of a comma-separated list; commas in brackets do not separate."""
    parts = [part.strip() for part in re.split(r",(?![^\[]*\])", spec)]
    if not all(parts):
        raise UsageError(f"host specification '{_short(spec)}': an empty part; allowed is {FORMS}")
    return parts


def expand(spec: str) -> list[str]:
    """Return the host names of one part that is no group, in order. Raises UsageError."""
    if spec.count("[") > MOST_RANGES:
        raise UsageError(f"host specification '{_short(spec)}': more than {MOST_RANGES} ranges in one name")
    names = list(dict.fromkeys(_expand(spec, spec)))
    for name in names:
        if not _NAME.fullmatch(name) or len(name) > 253:
            from tui.model.quantities import shown

            message = f"{shown(name)} is not a host name; allowed is {FORMS}"
            raise UsageError(f"host specification '{_short(spec)}': {message}")
    return names


def is_range(spec: str) -> bool:
    """Return whether a part stands for several hosts."""
    return "[" in spec or "]" in spec


@lru_cache(maxsize=8)
def named(word: str) -> frozenset[str]:
    """Return the names that a range stands for; none while it is being typed."""
    try:
        return frozenset(expand(word))
    except UsageError:
        return frozenset()


def _expand(text: str, spec: str) -> Iterator[str]:
    match = _BRACKET.search(text)
    if match is None:
        if is_range(text):
            raise UsageError(f"host specification '{_short(spec)}': brackets do not match; allowed is {FORMS}")
        yield text
        return
    numbers: dict[str, None] = {}
    for part in match[1].split(","):
        numbers |= dict.fromkeys(_numbers(part.strip(), spec))
        if len(numbers) > MOST_HOSTS:
            raise UsageError(f"host specification '{_short(spec)}': more than {MOST_HOSTS} hosts")
    rests = list(_expand(text[match.end() :], spec))
    if len(numbers) * len(rests) > MOST_HOSTS:
        raise UsageError(f"host specification '{_short(spec)}': more than {MOST_HOSTS} hosts")
    for number in numbers:
        for rest in rests:
            yield text[: match.start()] + number + rest


def _short(spec: str) -> str:
    return spec if len(spec) <= 60 else spec[:57] + "..."


def _numbers(part: str, spec: str) -> list[str]:
    match = _PART.fullmatch(part)
    if match is None:
        raise UsageError(f"host specification '{_short(spec)}': '{part}' is not a number or a range like 1-8")
    first, last = match[1], match[2] or match[1]
    if int(last) < int(first):
        raise UsageError(f"host specification '{_short(spec)}': the range {part} runs backwards")
    if int(last) - int(first) >= MOST_HOSTS:
        raise UsageError(f"host specification '{_short(spec)}': more than {MOST_HOSTS} hosts")
    width = len(first) if first.startswith("0") else 0
    return [str(number).zfill(width) for number in range(int(first), int(last) + 1)]
