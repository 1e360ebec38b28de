"""Where a stream goes: standard output, a file, or an address that takes it with POST.

A sink takes one text at a time and returns when it is taken. It may wait: nothing is lost by that, a follower reads on
in the journal. `SinkGoneError`: it will never take anything more.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tui.model.paths import is_there, to_write
from tui.model.problem import Problem, UsageError

AUTHORIZATION = "BENCHTUI_STREAM_AUTHORIZATION"  # the header's value: "Token ..." for InfluxDB 2; never in an argument
TIMEOUT_S = 5.0
AGAIN_S = 2.0
MOST_BYTES = 1 << 20  # of one POST
Say = Callable[[str], None]
Patient = Callable[[], bool]


class SinkGoneError(Exception):
    """The sink will never take anything more; the text says why."""


class Sink(Protocol):
    """What takes the lines of a stream."""

    def write(self, text: str) -> None:
        """Take lines, whole. Raises SinkGoneError."""

    def close(self) -> None:
        """Nothing more comes."""


def sink_of(target: str, say: Say, patient: Patient) -> Sink:
    """Return the sink of a target: an http address, the path of a file, ``-`` for standard output.

    Raises UsageError. `say` is told once when an address does not answer; it is waited for while somebody is `patient`.
    """
    if target in ("", "-"):
        return StdoutSink()
    if _is_address(target):
        return HttpSink(target, say, patient)
    return FileSink(to_write(target))


def check_target(target: str) -> None:
    """Raise UsageError for a target that no sink can be made of; what stands in a file stays."""
    if target in ("", "-") or _is_address(target):
        return
    path = to_write(target)
    there = is_there(path)
    if there and not (path.is_file() or path.is_dir()):
        return  # a pipe: who opened it to look would end it for its reader
    try:
        path.open("a", encoding="utf-8").close()
        if not there:
            path.unlink()
    except OSError as error:
        raise _not_written(path, error) from error


def _is_address(target: str) -> bool:
    scheme = re.match(r"\w+(?=://)", target)
    if scheme is not None and scheme[0] not in ("http", "https"):
        raise UsageError(f"{target}: allowed are http and https addresses, files and -")
    return scheme is not None


def _not_written(path: Path, error: OSError) -> UsageError:
    return UsageError(Problem(f"cannot be written: {error.strerror}", file=str(path)))


class StdoutSink:
    """Standard output. A reader that goes away is the end of the stream, not of the command."""

    def write(self, text: str) -> None:
        """Write lines at once, so that the reader has them. Raises SinkGoneError."""
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more at exit
            raise SinkGoneError("its reader went away") from None

    def close(self) -> None:
        """It stays open."""


class FileSink:
    """A file, begun anew. Raises UsageError when it cannot be."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise _not_written(path, error) from error

    def write(self, text: str) -> None:
        """Write lines, so that who follows the file sees them. Raises SinkGoneError."""
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise SinkGoneError(error.strerror or str(error)) from error

    def close(self) -> None:
        """Close it."""
        try:
            self._file.close()
        except OSError:
            return


class HttpSink:
    """An address that takes lines with POST, such as InfluxDB's /write and VictoriaMetrics' /influx/write."""

    def __init__(self, url: str, say: Say, patient: Patient) -> None:
        self.url = url
        self.name = re.sub(r"//[^/@]*@", "//", url).partition("?")[0]
        self._say, self._patient = say, patient
        self._down = False

    def write(self, text: str) -> None:
        """Send lines, again and again until they are taken. Raises SinkGoneError when they are refused."""
        lines: list[bytes] = []
        size = 0
        for line in text.encode().splitlines(keepends=True):
            if size + len(line) > MOST_BYTES and lines:
                self._deliver(b"".join(lines))
                lines, size = [], 0
            lines.append(line)
            size += len(line)
        if lines:
            self._deliver(b"".join(lines))

    def _deliver(self, body: bytes) -> None:
        while (why := self._post(body)) is not None:
            if not self._down:
                self._down = True
                self._say(f"{self.name}: {why}; trying on, the run does not wait for it")
            last = not self._patient()
            time.sleep(AGAIN_S)
            if last and (why := self._post(body)) is not None:
                raise SinkGoneError(why)
            if last:
                break
        self._down = False

    def _post(self, body: bytes) -> str | None:
        """Send it once; return why it may be worth trying again, None when it was taken. Raises SinkGoneError."""
        from http.client import HTTPException
        from urllib import error, request

        headers = {"Content-Type": "text/plain; charset=utf-8"}
        if value := os.environ.get(AUTHORIZATION):
            headers["Authorization"] = value
        try:
            with request.urlopen(request.Request(self.url, body, headers), timeout=TIMEOUT_S):
                return None
        except error.HTTPError as answer:
            said = answer.read(200).decode("utf-8", "replace").strip().partition("\n")[0]
            why = f"{answer.code} {answer.reason}{f': {said}' if said else ''}"
            if answer.code < 500 and answer.code not in (408, 429):
                raise SinkGoneError(why) from None
            return why
        except (OSError, ValueError, HTTPException) as failure:  # URLError is an OSError, and so is a timeout
            reason = getattr(failure, "reason", failure)
            return str(getattr(reason, "strerror", None) or reason).strip() or type(failure).__name__

    def close(self) -> None:
        """There is nothing to close."""
