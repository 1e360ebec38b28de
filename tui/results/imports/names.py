"""What the names of kept files tell: the host, where the output names none, and which files are one series of dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

HOST = "host"  # where neither the output nor its file's name tells one

_TIME = r"(?:[T_ .-]?(?:[01]\d|2[0-3])(?P<{0}>[:._-]?)[0-5]\d(?:(?P={0})[0-5]\d)?Z?)?"
_YEAR_FIRST = r"(?:19|20)\d\d(?P<a>[-_.]?)(?:0[1-9]|1[0-2])(?P=a)(?:0[1-9]|[12]\d|3[01])" + _TIME.format("b")
_YEAR_LAST = r"[0-3]\d(?P<c>[-_.])[0-3]\d(?P=c)(?:19|20)\d\d" + _TIME.format("d")
_EPOCH = r"1\d{9}(?:\d{3})?"
_DATE = re.compile(rf"(?<![0-9A-Za-z])(?:{_YEAR_FIRST}|{_YEAR_LAST}|{_EPOCH})(?![0-9A-Za-z])")
_SEPARATORS = "-_. "


def host_names(names: Sequence[str], *, without_dates: bool = True) -> list[str]:
    """Return what hosts are called whose output does not name them: as their files, made different where they agree.

    `without_dates`: leave dates and times out of the name, so that nightly files are of one host.
    """
    found: list[str] = []
    for name in names:
        stem = "-".join(PurePosixPath(name).stem.split())
        stem = (dateless(stem) if without_dates else stem) or HOST
        count = sum(other == stem or other.startswith(f"{stem}#") for other in found)
        found.append(f"{stem}#{count + 1}" if count else stem)
    return found


def dateless(stem: str) -> str:
    """Return a file's stem without dates, times of day and seconds since 1970; empty when there is nothing else."""
    if not _DATE.search(stem):
        return stem
    parts = _DATE.sub("\0", stem).split("\0")
    return "-".join(filter(None, (part.strip(_SEPARATORS) for part in parts)))


def nights(names: Sequence[str], hosts: Sequence[str] = ()) -> list[list[int]]:
    """Return which files are of one run, as indices: files of one host are runs of their own, the earliest name first.

    Files are of one host when their names differ only by date, or when `hosts`, one a file, says so. Those of several
    hosts are put together night by night when each host has as many; otherwise all files are one run.
    """
    series: dict[str, list[int]] = {}
    for index, key in enumerate(hosts or map(_without_date, names)):
        series.setdefault(key, []).append(index)
    by_host = [sorted(each, key=lambda index: names[index]) for each in series.values()]
    if len({len(each) for each in by_host}) != 1 or len(set(names)) < len(names):
        return [list(range(len(names)))]
    return [sorted(night) for night in zip(*by_host, strict=True)]


def _without_date(name: str) -> str:
    path = PurePosixPath(name)
    return f"{path.parent}/{dateless(path.stem)}{path.suffix}"
