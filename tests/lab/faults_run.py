"""A detached run of the real command, watched through its run directory while faults are put into
its way.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.e2e.command import benchtui
from tests.lab.faults import HostLoad, forget_on_hosts, kill, marked
from tests.lab.faults_spool import SpoolWatch, read_journal
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S, wait_until
from tui.journal.rundir import is_running
from tui.model.event import (
    AnyEvent,
    HostState,
    PhaseEnded,
    PhaseStarted,
    RunEnded,
    RunStarted,
    Sample,
    TaskEnded,
    TaskStarted,
)
from tui.text.run_texts import run_text

LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"


class LiveRun:
    """One run. A context manager: whatever happens, no engine and no load of it stays."""

    def __init__(
        self,
        home: Path,
        run_dir: Path,
        spool: SpoolWatch,
        root_of: Callable[[str], Path] = lambda _: Path("/"),
    ) -> None:
        self.home = home
        self.root_of = root_of
        self.run_dir = run_dir
        self.run_id = run_dir.name
        self.spool = spool

    @classmethod
    def begin(
        cls,
        home: Path,
        lab: SshdLab,
        target: Path,
        params: Mapping[str, str | int],
        *more: str,
        hosts: str = "h[1-2]",
        lease_s: int = 10,
        root_of: Callable[[str], Path] = lambda _: Path("/"),
    ) -> LiveRun:
        """Start the light load with these parameters, and more words of the command line.

        Return at once.
        """
        settings = [part for name, value in params.items() for part in ("--set", f"{name}={value}")]
        places = [
            "--hosts",
            hosts,
            "--ssh-config",
            str(lab.ssh_config),
            "--set",
            f"directory={target}",
        ]
        started = benchtui(
            home, "run", LOAD, *places, *settings, "--lease", f"{lease_s}s", "--detach", *more
        )
        if started.returncode != 0:
            raise AssertionError(f"the run did not start: {started.stderr}")
        run_dir = home / "runs" / started.stdout.strip()
        return cls(home, run_dir, SpoolWatch(run_dir, root_of), root_of)

    def __enter__(self) -> LiveRun:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            error.add_note(self.story())
        if (pid := self.engine_pid()) is not None:
            kill(pid)
        self.spool.close()
        forget_on_hosts(self.run_id)

    # ---- what is known of it ----

    def events(self) -> list[AnyEvent]:
        return read_journal(self.run_dir / "journal.jsonl")[0]

    def of_type(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events() if isinstance(event, kind)]

    @property
    def started_at(self) -> float:
        """Wall-clock time of t = 0."""
        return datetime.fromisoformat(self.of_type(RunStarted)[0].utc).timestamp()

    def now(self) -> float:
        """This moment on the journal's time line."""
        return time.time() - self.started_at

    def states(self, host: str) -> list[HostState]:
        return [event for event in self.of_type(HostState) if event.host == host]

    def why_lost(self, host: str) -> str | None:
        """What the engine first said of a host's connection that it had lost, if it did."""
        told = (
            told
            for e in self.states(host)
            if e.state == "connecting" and "lost" in (told := run_text(e.detail))
        )
        return next(told, None)

    def task_end(self, host: str, phase: str = "measure") -> TaskEnded | None:
        ends = [
            event for event in self.of_type(TaskEnded) if (event.host, event.phase) == (host, phase)
        ]
        return ends[-1] if ends else None

    def load_on(self, host: str, phase: str = "measure") -> HostLoad:
        """The processes of a host's measurement, or of its layout."""
        started = [e for e in self.of_type(TaskStarted) if (e.host, e.phase) == (host, phase)]
        return HostLoad(self.run_id, host, self.root_of(host) / started[-1].remote_dir.lstrip("/"))

    def loaded(self, host: str, phase: str = "measure") -> bool:
        """Whether a host's load generator has been started in this phase."""
        with suppress(IndexError):
            return (self.load_on(host, phase).remote_dir / "load").exists()
        return False

    def started(self) -> bool:
        """Whether the engine has got as far as to measure."""
        return any(event.phase == "measure" for event in self.of_type(PhaseStarted))

    def record(self) -> dict[str, Any]:
        """The record: run.json when the engine wrote one, else what can be derived."""
        path = self.run_dir / "run.json"
        text = (
            path.read_text()
            if path.exists()
            else benchtui(self.home, "runs", "show", self.run_id, "--json").stdout
        )
        found: dict[str, Any] = json.loads(text)
        return found

    def engine_pid(self) -> int | None:
        """The engine's pid while it lives."""
        with suppress(OSError, ValueError, IndexError):
            pid = int((self.run_dir / "engine.pid").read_text().split()[0])
            if os.getpid() != pid and is_running(self.run_dir):
                return pid
        return None

    def phase(self) -> str:
        """The phase that the run is in; empty between two, before the first and after the last."""
        open_: list[str] = []
        for event in self.events():
            if isinstance(event, PhaseStarted):
                open_.append(event.phase)
            elif isinstance(event, PhaseEnded) and event.phase in open_:
                open_.remove(event.phase)
        return open_[-1] if open_ else ""

    # ---- waiting ----

    def wait(self, condition: Callable[[], bool], what: str, timeout_s: float = PATIENCE_S) -> None:
        wait_until(condition, what, timeout_s)

    def measuring(self, hosts: int = 2, samples: int = 1) -> None:
        """Wait until this many hosts have sent so many samples with I/Os of the measurement."""
        self.wait(
            lambda: self.hosts_measuring(samples) >= hosts or self.over(),
            f"{hosts} hosts measuring",
        )
        if self.over():
            raise AssertionError(f"the run ended before it measured: {self.of_type(RunEnded)[-1:]}")

    def hosts_measuring(self, samples: int = 1) -> int:
        """How many hosts have sent so many samples with I/Os of the measurement."""
        counts: dict[str, int] = {}
        for event in self.of_type(Sample):
            if event.phase == "measure" and any(part.ios for part in event.dirs.values()):
                counts[event.host] = counts.get(event.host, 0) + 1
        return sum(count >= samples for count in counts.values())

    def over(self) -> bool:
        """Whether the engine has come to the end of the run."""
        return any(isinstance(event, RunEnded) for event in self.events()[-20:])

    def finished(self, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait for the end of the run and of its engine; return the record."""
        self.wait(
            lambda: self.over() and self.engine_pid() is None, "the end of the run", timeout_s
        )
        return self.record()

    def no_process_left(self, timeout_s: float = PATIENCE_S) -> float:
        """Wait until no process carries the run's mark; return how long that took."""
        begin = time.monotonic()
        self.wait(lambda: not marked(self.run_id), "no process with the run's mark", timeout_s)
        return time.monotonic() - begin

    # ---- doing things to it ----

    def kill_engine(self, number: signal.Signals = signal.SIGKILL) -> None:
        pid = self.engine_pid()
        assert pid is not None, "no engine to signal"
        kill(pid, number)
        if number == signal.SIGKILL:
            self.wait(lambda: self.engine_pid() is None, "the end of the engine")

    def command(self, *words: str) -> tuple[int, str, float]:
        """Run a benchtui command on this run; return exit code, stderr and seconds taken."""
        begin = time.monotonic()
        done = benchtui(self.home, *words)
        return done.returncode, done.stderr, time.monotonic() - begin

    def story(self, lines: int = 60) -> str:
        """The journal without samples, for people who look into a failure."""
        path = self.run_dir / "journal.jsonl"
        text = path.read_text(errors="replace").splitlines() if path.exists() else []
        kept = [
            line[:300]
            for line in text
            if '"type":"sample"' not in line and '"type":"host_facts"' not in line
        ]
        return "\n".join([f"journal of {self.run_id}, end:", *kept[-lines:]])
