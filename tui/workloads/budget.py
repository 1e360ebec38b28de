"""What reading somebody else's output may take: memory of the process and CPU time, looked at while it is read.

Readers of output run with a `Budget` of their thread in force and need not know of it: lines and documents that they
ask `tui.workloads.lines` for are charged to it.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tui.model.bounded import MOST_CPU_S, MOST_MEMORY_BYTES
from tui.model.problem import Problem, UsageError

LEAST_BYTES = 96 << 20  # granted also where the process is large already: the app, a test session
VALUE_BYTES = 200  # of a value of a JSON document once it is an object, and of the table that it stands in
WIDE = ((re.compile(rb"[\xf0-\xf7]"), 4), (re.compile(rb"[\xc4-\xef]"), 2))  # one letter makes all of them wide


class TooMuchError(UsageError):
    """What is read takes more than it may: no part of it is to be read either."""


class Budget:
    """The one limit of memory and the one of time for everything that is read under it."""

    def __init__(self, most_bytes: int = MOST_MEMORY_BYTES, most_s: float = MOST_CPU_S) -> None:
        self._most_bytes = max(most_bytes, resident_bytes() + LEAST_BYTES)
        self._limit_bytes, self._limit_s = most_bytes, most_s
        self._end_s = time.thread_time() + most_s

    def check(self, place: str, coming: int = 0) -> None:
        """Raise TooMuchError when `coming` more bytes of memory do not fit, or the time is up."""
        if resident_bytes() + coming > self._most_bytes:
            why = f"takes more than {self._limit_bytes >> 20} MiB of memory: name a part of it"
            raise TooMuchError(Problem(why, file=place))
        if time.thread_time() > self._end_s:
            raise TooMuchError(Problem(f"takes more than {self._limit_s:.0f} s of CPU: name a part of it", file=place))

    def check_json(self, text: str | bytes, place: str) -> None:
        """Raise TooMuchError when the values of a JSON text would not fit."""
        commas = text.count(b",") if isinstance(text, bytes) else text.count(",")
        self.check(place, len(text) + VALUE_BYTES * commas)

    def json(self, text: str, place: str) -> Any:
        """Return the value of a JSON text. Raises TooMuchError when it does not fit, ValueError, RecursionError."""
        self.check_json(text, place)
        return json.loads(text)

    def text(self, data: bytes | bytearray, place: str, errors: str = "strict") -> str:
        """Return bytes as text. Raises TooMuchError when it does not fit, UnicodeDecodeError."""
        width = 1 if data.isascii() else next((width for letter, width in WIDE if letter.search(data)), 1)
        self.check(place, len(data) * width)
        return data.decode("utf-8-sig", errors)


_of_thread = threading.local()


def budget() -> Budget:
    """Return the budget in force; without one, a fresh one."""
    found: Budget | None = getattr(_of_thread, "budget", None)
    return found or Budget()


@contextmanager
def within(limits: Budget) -> Iterator[Budget]:
    """Put a budget in force for this thread."""
    before = getattr(_of_thread, "budget", None)
    _of_thread.budget = limits
    try:
        yield limits
    finally:
        _of_thread.budget = before


def resident_bytes() -> int:
    """Return what the process holds in memory by now."""
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
