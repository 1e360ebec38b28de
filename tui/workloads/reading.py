"""Read a load generator's output: reader interface, printable lines, limits of memory and CPU
time.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tui.model.bounded import MOST_CPU_S, MOST_MEMORY_BYTES
from tui.model.operands import Clause
from tui.model.plain import printable
from tui.model.problem import Problem, UsageError

if TYPE_CHECKING:
    from tui.model.event import HostResult, MetadataIteration, MetadataPhase, Sample, Severity

LogLine: TypeAlias = "tuple[Severity, Clause | str]"
Item: TypeAlias = "Sample | MetadataPhase | MetadataIteration | LogLine"


# the code by which a reader says that the output is not that of the planned job
OTHER_JOB = "other-job"
MOST_CONTRADICTIONS = 3  # of one output; the first ones often cause others


class Reader(Protocol):
    """Converts one command's output on one host to samples and a final result.

    `feed` accepts stdout in chunks of any size. Events have ``t=0``; the engine stamps them.
    """

    def feed(self, data: bytes) -> Sequence[Item]:
        """Return the samples and log lines completed by these bytes of stdout."""

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return the explained lines completed by these bytes of stderr."""

    def flush(self) -> Sequence[Item]:
        """Return the rest at the end of both streams.

        Call it once, after the last bytes and before `result`.
        """

    def result(self, exit_code: int | None) -> HostResult | None:
        """Return the result of this host; None if the tool printed none."""

    def problems(self, exit_code: int | None) -> Sequence[tuple[str, Clause | str]]:
        """Return reasons to doubt this host's result, as (code, message); empty without any.

        A message is a code of `Workload.texts` with operands, or a text.
        """


LEAST_BYTES = 96 << 20  # granted even to a process that is already large: the app, a test session
# estimate for a parsed JSON value and its place in a list or dictionary
VALUE_BYTES = 200
# bytes per character of a Python string: its widest character decides for all
WIDE = ((re.compile(rb"[\xf0-\xf7]"), 4), (re.compile(rb"[\xc4-\xef]"), 2))


class TooMuchError(UsageError):
    """Raised when input exceeds the limits of memory or time; no part of it should be used."""


class ImportBudget:
    """Limits of memory and CPU time shared by everything that is read under this budget."""

    def __init__(self, most_bytes: int = MOST_MEMORY_BYTES, most_s: float = MOST_CPU_S) -> None:
        self._most_bytes = max(most_bytes, resident_bytes() + LEAST_BYTES)
        self._limit_bytes, self._limit_s = most_bytes, most_s
        self._end_s = time.thread_time() + most_s

    def check(self, place: str, coming: int = 0) -> None:
        """Raise TooMuchError if another `coming` bytes exceed the memory limit, or the time is used
        up.
        """
        if resident_bytes() + coming > self._most_bytes:
            why = f"needs more than {self._limit_bytes >> 20} MiB of memory: import it in parts"
            raise TooMuchError(Problem(why, file=place))
        if time.thread_time() > self._end_s:
            raise TooMuchError(
                Problem(
                    f"needs more than {self._limit_s:.0f} s of CPU time: import it in parts",
                    file=place,
                )
            )

    def check_json(self, text: str | bytes, place: str) -> None:
        """Raise TooMuchError if the parsed values of a JSON text would exceed the memory limit."""
        commas = text.count(b",") if isinstance(text, bytes) else text.count(",")
        self.check(place, len(text) + VALUE_BYTES * commas)

    def json(self, text: str, place: str) -> Any:
        """Return the value of a JSON text.

        Raises ValueError, RecursionError, and TooMuchError if it would exceed the limit.
        """
        self.check_json(text, place)
        return json.loads(text)

    def text(self, data: bytes | bytearray, place: str, errors: str = "strict") -> str:
        """Return bytes decoded as text.

        Raises UnicodeDecodeError, and TooMuchError if they would exceed the limit.
        """
        width = (
            1
            if data.isascii()
            else next((width for letter, width in WIDE if letter.search(data)), 1)
        )
        self.check(place, len(data) * width)
        return data.decode("utf-8-sig", errors)


_of_thread = threading.local()


def budget() -> ImportBudget:
    """Return the current budget of this thread, or a new one if none is in force."""
    found: ImportBudget | None = getattr(_of_thread, "budget", None)
    return found or ImportBudget()


@contextmanager
def within(limits: ImportBudget) -> Iterator[ImportBudget]:
    """Put a budget in force for this thread during the with block."""
    before = getattr(_of_thread, "budget", None)
    _of_thread.budget = limits
    try:
        yield limits
    finally:
        _of_thread.budget = before


def resident_bytes() -> int:
    """Return the memory that this process occupies, in bytes."""
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")


LONGEST = 1 << 16


def clean(line: bytes, longest: int = 4096) -> str:
    """Return the first `longest` bytes of a line as printable text, without trailing blanks.

    Control characters that could affect a terminal are replaced.
    """
    return printable(line[:longest].decode("utf-8", "replace")).rstrip()


class LineSplitter:
    """Splits a byte stream into clean, non-empty lines, truncated after `longest` bytes."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._rest, self._longest = b"", longest

    def feed(self, data: bytes) -> list[str]:
        """Return the lines completed by these bytes, with leading blanks."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[: self._longest]
        return [text for line in lines if (text := clean(line, self._longest))]

    def close(self) -> list[str]:
        """Return the last line if its newline is missing."""
        return self.feed(b"\n") if self._rest else []


BLOCK = 1 << 20  # characters


def numbered(text: str, file: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a saved text with their numbers, from 1.

    Reads block by block; raises UsageError if the budget of memory or time is exceeded.
    """
    limits, start, number = budget(), 0, 0
    while start < len(text):
        end = text.find("\n", min(start + BLOCK, len(text))) + 1 or len(text)
        limits.check(file, 8 * (end - start))
        for line in text[start:end].splitlines():
            number += 1
            yield number, line
        start = end


ZONE_S, STAMP_S = 3600.0, 1.0  # local clocks are set back by an hour; stamps have whole seconds
SET_BACK_AT, SET_BACK_IN, LAST_NOVEMBER = (23, 0, 1, 2, 3), (3, 4, 9, 10, 11), 7


def may_be_set_back(local_s: float, missing_s: float) -> bool:
    """Return whether a local clock that shows this time may have been set back by `missing_s`, up
    to an hour, on a spring or autumn night.
    """
    at = datetime.fromtimestamp(local_s, UTC)
    in_season = at.month in SET_BACK_IN and (at.month != 11 or at.day <= LAST_NOVEMBER)
    return missing_s <= ZONE_S + STAMP_S and at.hour in SET_BACK_AT and in_season


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers at the start of a version: (4, 1, 0) for "4.1.0+dev"; empty if there are
    none.
    """
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def finite_number(word: str) -> float | None:
    """Return a printed number; None for nan, inf and all other text, such as NA."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None
