"""Stream a run to stdout, a file or an HTTP address."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tui.export.live import Follower
from tui.journal.rundir import is_running
from tui.library.load import load_record
from tui.model.event import Event
from tui.model.exporter import Exporter, ExportSecond, installed, load
from tui.model.paths import is_there, to_write
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.record import RunRecord
from tui.model.rundir import RECORD_FILE

# the value of the Authorization header, "Token ..." for InfluxDB 2; never an argument
AUTHORIZATION = "BENCHTUI_STREAM_AUTHORIZATION"
TIMEOUT_S = 5.0
AGAIN_S = 2.0
MOST_BYTES = 1 << 20  # per POST
Say = Callable[[str], None]
Patient = Callable[[], bool]


class SinkGoneError(Exception):
    """Raised when a sink accepts no more data; the text says why."""


class Sink(Protocol):
    """A destination for streamed lines."""

    def write(self, text: str) -> None:
        """Write complete lines. Raises SinkGoneError."""

    def close(self) -> None:
        """Close the sink, after the last line."""


def sink_of(target: str, say: Say, patient: Patient) -> Sink:
    """Return the sink for a target: an HTTP address, a path, or ``-`` for standard output.

    Raises UsageError. `say` is called each time an address stops answering; the sink retries while
    `patient` returns true.
    """
    if target in ("", "-"):
        return StdoutSink()
    if _is_address(target):
        return HttpSink(target, say, patient)
    return FileSink(to_write(target))


def check_target(target: str) -> None:
    """Raise UsageError for a target that cannot be opened.

    An existing file is not changed.
    """
    if target in ("", "-") or _is_address(target):
        return
    path = to_write(target)
    there = is_there(path)
    if there and not (path.is_file() or path.is_dir()):
        return  # opening a pipe for a test would end it for its reader
    try:
        path.open("a", encoding="utf-8").close()
        if not there:
            path.unlink()
    except OSError as error:
        raise _not_written(path, error) from error


def _is_address(target: str) -> bool:
    scheme = re.match(r"\w+(?=://)", target)
    if scheme is not None and scheme[0] not in ("http", "https"):
        raise UsageError(f"{target}: expected an http or https address, a file, or -")
    return scheme is not None


def _not_written(path: Path, error: OSError) -> UsageError:
    return UsageError(Problem(f"cannot be written: {error.strerror}", file=str(path)))


class StdoutSink:
    """Standard output. If its reader exits, the stream ends but the command continues."""

    def write(self, text: str) -> None:
        """Write lines and flush. Raises SinkGoneError."""
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # the interpreter flushes again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SinkGoneError("closed by the reader") from None

    def close(self) -> None:
        """Do nothing: standard output stays open."""


class FileSink:
    """A file, truncated when opened. Raises UsageError if it cannot be opened."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise _not_written(path, error) from error

    def write(self, text: str) -> None:
        """Write lines and flush, for readers that follow the file. Raises SinkGoneError."""
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise SinkGoneError(error.strerror or str(error)) from error

    def close(self) -> None:
        """Close the file."""
        try:
            self._file.close()
        except OSError:
            return


class HttpSink:
    """An HTTP address that accepts POST: /write of InfluxDB, /influx/write of VictoriaMetrics."""

    def __init__(self, url: str, say: Say, patient: Patient) -> None:
        self.url = url
        self.name = re.sub(r"//[^/@]*@", "//", url).partition("?")[0]
        self._say, self._patient = say, patient
        self._down = False

    def write(self, text: str) -> None:
        """Send lines, with retries while `patient` returns true.

        Raises SinkGoneError if they are refused, or not accepted by then.
        """
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
                self._say(f"{self.name}: {why}; retrying; the run is not affected")
            last = not self._patient()
            time.sleep(AGAIN_S)
            if last and (why := self._post(body)) is not None:
                raise SinkGoneError(why)
            if last:
                break
        self._down = False

    def _post(self, body: bytes) -> str | None:
        """Send a body once; return why it failed if a retry may help, None if it was accepted.

        Raises SinkGoneError if it was refused.
        """
        from http.client import HTTPException
        from urllib import error, request

        headers = {"Content-Type": "text/plain; charset=utf-8"}
        if value := os.environ.get(AUTHORIZATION):
            headers["Authorization"] = value
        try:
            with request.urlopen(request.Request(self.url, body, headers), timeout=TIMEOUT_S):
                return None
        except error.HTTPError as answer:
            line = answer.read(200).decode("utf-8", "replace").strip().partition("\n")[0]
            why = f"{answer.code} {answer.reason}{f': {line}' if line else ''}"
            if answer.code < 500 and answer.code not in (408, 429):
                raise SinkGoneError(why) from None
            return why
        # URLError is an OSError, and so is a timeout
        except (OSError, ValueError, HTTPException) as failure:
            reason = getattr(failure, "reason", failure)
            return (
                str(getattr(reason, "strerror", None) or reason).strip() or type(failure).__name__
            )

    def close(self) -> None:
        """Do nothing: each POST has its own connection."""


POLL_S = 0.25
GONE_AFTER_S = 3.0
DRAIN_S = 15.0  # at the end of a run, for data that an address has not accepted


def streamed(name: str) -> Exporter:
    """Return the exporter of a format that can follow a run.

    Raises UsageError with the formats that can.
    """
    found = load(name)
    if found.stream is None:
        known = ", ".join(each for each in installed() if _can(each))
        raise UsageError(f"format '{name}' cannot follow a run; formats that can: {known}")
    return found


def _can(name: str) -> bool:
    try:
        return load(name).stream is not None
    except UsageError:
        return False


class Stream:
    """A run that is streamed into a sink, to its end. `say` is called once if the sink is gone."""

    def __init__(
        self, run_dir: Path, exporter: Exporter, sink: Sink, say: Say, over: threading.Event
    ) -> None:
        self.run_dir, self.exporter, self.sink, self.say = run_dir, exporter, sink, say
        self._over = over

    def run(self) -> bool:
        """Follow the run until its engine has ended, then write the record and close the sink.

        Returns False if the sink accepts no more data.
        """
        try:
            self._follow()
        except SinkGoneError as error:
            self.say(
                f"{error}; streaming stopped. To export the whole run: benchtui export"
                f" {self.run_dir.name} ..."
            )
            return False
        finally:
            self.sink.close()
        return True

    def _follow(self) -> None:
        follower = Follower(self.run_dir)
        quiet_since = time.monotonic()
        while True:
            if found := follower.poll():
                quiet_since = time.monotonic()
                self._write(found)
            if follower.more:
                continue
            alive = is_running(self.run_dir)
            silent = time.monotonic() - quiet_since > GONE_AFTER_S
            if not alive and (follower.ended or silent or self._over.is_set()):
                self._write([*follower.rest(), *self._record()])
                return
            time.sleep(POLL_S)

    def _record(self) -> list[RunRecord]:
        """Return the record that the engine wrote, in a list; empty if there is none, or it cannot
        be read.
        """
        if not (self.run_dir / RECORD_FILE).exists():
            return []
        try:
            return [load_record(self.run_dir)]
        except BenchtuiError:
            return []

    def _write(self, moments: Sequence[ExportSecond | Event | RunRecord]) -> None:
        assert self.exporter.stream is not None  # nothing else creates it
        if text := "".join(map(self.exporter.stream, moments)):
            self.sink.write(text)


def parse_spec(spec: str) -> tuple[str, str]:
    """Return the format and the target of ``FORMAT[=TARGET]``; the default target is ``-``."""
    name, _, target = spec.partition("=")
    return name, target or "-"


@contextmanager
def streaming(run_dir: Path, specs: Sequence[str], say: Say) -> Iterator[None]:
    """Stream a run while the body of the with statement executes.

    Afterwards waits up to DRAIN_S for unsent data. Raises UsageError for a format or target that
    cannot be used.
    """
    over = threading.Event()
    threads = [
        threading.Thread(target=stream.run, name="stream", daemon=True)
        for stream in (_stream(run_dir, spec, say, over) for spec in specs)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        until = time.monotonic() + DRAIN_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            say(
                "benchtui: a stream is incomplete. To send the run again: benchtui export"
                f" {run_dir.name} FORMAT --stream"
            )


def _stream(run_dir: Path, spec: str, say: Say, over: threading.Event) -> Stream:
    name, target = parse_spec(spec)

    def warn(text: str) -> None:
        say(f"benchtui: stream {name}: {text}")

    return Stream(
        run_dir, streamed(name), sink_of(target, warn, lambda: is_running(run_dir)), warn, over
    )


def follow(run_dir: Path, name: str, target: str, say: Say) -> bool:
    """Stream a run to its end, or all of a finished run.

    Returns False if the sink accepts no more data. Raises UsageError.
    """
    return _stream(run_dir, f"{name}={target}", say, threading.Event()).run()
