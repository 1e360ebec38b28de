"""Following a run into a sink. Reading goes on when the sink has taken what was read, so that memory stays bounded."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tui.journal.alive import is_running
from tui.model.event import Event
from tui.model.exporter import Exporter, Second, installed, load
from tui.model.problem import BenchtuiError, UsageError
from tui.model.record import RunRecord
from tui.model.rundir import RECORD_FILE
from tui.results.export.live import Follower
from tui.results.export.sinks import Say, Sink, SinkGoneError, sink_of
from tui.results.store.load import load_record

POLL_S = 0.25
GONE_AFTER_S = 3.0
LAST_WORDS_S = 15.0  # for what an address has not taken when the run is over


def streamed(name: str) -> Exporter:
    """Return a format that can follow a run. Raises UsageError with those that can."""
    found = load(name)
    if found.stream is None:
        known = ", ".join(each for each in installed() if _can(each))
        raise UsageError(f"the format '{name}' cannot follow a run; those that can: {known}")
    return found


def _can(name: str) -> bool:
    try:
        return load(name).stream is not None
    except UsageError:
        return False


class Stream:
    """One run into one sink, to its end. `say` is told once when the sink is gone."""

    def __init__(self, run_dir: Path, exporter: Exporter, sink: Sink, say: Say, over: threading.Event) -> None:
        self.run_dir, self.exporter, self.sink, self.say = run_dir, exporter, sink, say
        self._over = over

    def run(self) -> bool:
        """Follow the run until it has ended and its record is there, or its engine is gone; False: nobody takes it."""
        try:
            self._follow()
        except SinkGoneError as error:
            self.say(f"{error}; nothing more is streamed there. All of it: benchtui export {self.run_dir.name} ...")
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
                self._write([*follower.poll(), *self._record()])
                return
            time.sleep(POLL_S)

    def _record(self) -> list[RunRecord]:
        """Return the record that the engine has written; none of a run that is not over."""
        if not (self.run_dir / RECORD_FILE).exists():
            return []
        try:
            return [load_record(self.run_dir)]
        except BenchtuiError:
            return []

    def _write(self, moments: Sequence[Second | Event | RunRecord]) -> None:
        assert self.exporter.stream is not None  # else nobody made this
        if text := "".join(map(self.exporter.stream, moments)):
            self.sink.write(text)


def parse_spec(spec: str) -> tuple[str, str]:
    """Return format and target of ``FORMAT[=TARGET]``; the target is ``-`` when none is named."""
    name, _, target = spec.partition("=")
    return name, target or "-"


@contextmanager
def streaming(run_dir: Path, specs: Sequence[str], say: Say) -> Iterator[None]:
    """Stream a run beside whatever is done inside; at the end wait a little for what was not taken yet.

    Raises UsageError for a format or target that cannot be.
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
        until = time.monotonic() + LAST_WORDS_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            say(f"benchtui: a stream has not taken all of it. Again: benchtui export {run_dir.name} FORMAT --stream")


def _stream(run_dir: Path, spec: str, say: Say, over: threading.Event) -> Stream:
    name, target = parse_spec(spec)

    def told(text: str) -> None:
        say(f"benchtui: stream {name}: {text}")

    return Stream(run_dir, streamed(name), sink_of(target, told, lambda: is_running(run_dir)), told, over)


def follow(run_dir: Path, name: str, target: str, say: Say) -> bool:
    """Stream a run to its end, or a finished one whole; False: it was not taken. Raises UsageError."""
    return _stream(run_dir, f"{name}={target}", say, threading.Event()).run()
