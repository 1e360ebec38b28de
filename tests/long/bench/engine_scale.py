"""The engine over many hosts, each of which sends 45 KB of json+ a second: CPU, loop lag, memory,
journal, start.

SIZES=16,64 chooses the numbers of hosts, SECONDS_EACH=30 how long is measured.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, quantiles

from tests.e2e.command import command, environment, only_run
from tests.long.bench.fleet import fleet
from tests.long.bench.kept import ROOT, Row, told
from tui.journal.reader import read_events
from tui.model.event import PhaseEnded, PhaseStarted, RunEnded, RunStarted, Sample
from tui.model.plain_data import parse_utc
from tui.model.rundir import JOURNAL_FILE

SIZES = tuple(int(word) for word in os.environ.get("SIZES", "16,64,256,512,1024").split(","))
SECONDS = int(os.environ.get("SECONDS_EACH", "30"))
LONGEST_S, LEAST_LOOKS = 300, 4
# of more hosts on one machine, sshd and the shells that stream would take both cores of it
MANY = 16


@dataclass(frozen=True)
class Look:
    """A second of the engine: wall clock, CPU so far, memory, how late its loop was."""

    at: float
    cpu_s: float
    memory: int
    lags: list[float]


def looks_in(path: Path) -> list[Look]:
    rows = [line.split() for line in path.read_text().splitlines()]
    return [
        Look(float(row[0]), float(row[1]), int(row[2]), [float(lag) for lag in row[3:]])
        for row in rows
    ]


@dataclass
class Course:
    """What the journal says of a run: seconds of its phases, when its load began and ended, how it
    ended.
    """

    phases: dict[str, float]
    begun: float
    ended: float
    samples: int
    state: str


def course_of(run_dir: Path) -> Course:
    """Read the journal; times are of the wall clock."""
    found, starts, zero = Course({}, 0.0, 0.0, 0, "unfinished"), dict[str, float](), 0.0
    for event in read_events(run_dir / JOURNAL_FILE):
        if isinstance(event, RunStarted) and (begun := parse_utc(event.utc)) is not None:
            zero = begun.timestamp() - event.t
        if isinstance(event, PhaseStarted):
            starts[event.phase] = event.t
        elif isinstance(event, PhaseEnded):
            found.phases[event.phase] = event.t - starts.get(event.phase, event.t)
            if event.phase == "measure":
                found.begun, found.ended = zero + starts["measure"], zero + event.t
        elif isinstance(event, Sample):
            found.samples += 1
        elif isinstance(event, RunEnded):
            found.state = event.state
    return found


def run(root: Path, hosts: int) -> Row:
    """Run the fleet once."""
    home, lag = root / "home", root / "lag"
    home.mkdir()
    with fleet(root, hosts, SECONDS, served=hosts > MANY) as lab, beside_hosts(hosts > MANY):
        watched = {"LOOP_LAG": str(lag)}
        environ = (
            environment(home) | watched | {"PYTHONPATH": f"{Path(__file__).parent / 'lag'}:{ROOT}"}
        )
        more = [
            "--ssh-config",
            str(lab.ssh_config),
            "--set",
            f"runtime={SECONDS}s",
            "--no-telemetry",
        ]
        words = command("run", root / "fleet.yaml", "--hosts", f"h[1-{hosts}]", *more)
        said = run_to_its_end(words, environ)
    return row_of(hosts, only_run(home), looks_in(lag), said)


@contextlib.contextmanager
def beside_hosts(apart: bool) -> Iterator[None]:
    """Start what is measured on the cores that simulated hosts do not have, where there are two."""
    cores = os.sched_getaffinity(0)
    if apart and len(cores) > 1:
        os.sched_setaffinity(0, cores - {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def run_to_its_end(words: Sequence[str | Path], environ: Mapping[str, str]) -> str:
    """Run a benchmark; return what it said when it did not go as planned."""
    try:
        done = subprocess.run(
            words, env=environ, capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        end_engine(Path(environ["BENCHTUI_HOME"]))
        return f"not over after {LONGEST_S} s"
    return f"exit code {done.returncode}: {done.stderr[-600:]}" if done.returncode else ""


def end_engine(home: Path) -> None:
    """End the engine that nobody waits for any more."""
    for path in (home / "runs").glob("*/engine.pid"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(path.read_text().split()[0]), signal.SIGKILL)


def row_of(hosts: int, run_dir: Path, looks: list[Look], said: str) -> Row:
    """Put the figures together; those of the load leave out its first three and last two seconds.

    The slope of memory is of the second half: before, each stream fills its window and its packer.
    A run on a machine that is too busy for it is told, and its figures as far as there are any.
    """
    course = course_of(run_dir)
    if said:
        print(f"{hosts} hosts: {course.state}: {said}", flush=True)
    load = [look for look in looks if course.begun + 3 < look.at < course.ended - 2]
    before = [look for look in looks if look.at < course.begun]
    if len(load) < LEAST_LOOKS:
        return {"hosts": hosts, "state": f"{course.state}: too busy a machine to measure"}
    seconds = load[-1].at - load[0].at
    lags = sorted(lag for look in load for lag in look.lags)
    late = load[len(load) // 2 :]
    slope = linear_regression([look.at for look in late], [look.memory for look in late]).slope
    journal = (run_dir / JOURNAL_FILE).stat().st_size
    return {
        "hosts": hosts,
        "state": course.state,
        "CPU, % of a core": 100 * (load[-1].cpu_s - load[0].cpu_s) / seconds,
        "loop lag p99, ms": 1000 * quantiles(lags, n=100)[98],
        "loop lag max, ms": 1000 * lags[-1],
        "memory, MiB": load[-1].memory / 2**20,
        "memory slope, MiB/min": 60 * slope / 2**20,
        "journal, kB/s": journal / SECONDS / 1000,
        "seconds that arrived, %": 100 * course.samples / (hosts * SECONDS),
        "connect, s": course.phases.get("connect", 0.0),
        "preflight, s": course.phases.get("preflight", 0.0),
        "barrier, s": course.phases.get("barrier", 0.0),
        "measure, s": course.phases.get("measure", 0.0),
        "engine CPU until GO, s": before[-1].cpu_s if before else None,
    }


def main() -> int:
    """Run each size once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if soft < hard else soft, hard))
    rows = []
    for hosts in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["BENCHTUI_LOCKS"] = str(Path(folder) / "locks")
            rows.append(run(Path(folder), hosts))
            print(rows[-1], flush=True)
    note = (
        f"{SECONDS} s each, no telemetry; every host sends about 45 KB of json+ a second over SSH;"
        " hosts, feeder and"
    )
    note += (
        f" engine share the cores of this machine; above {MANY} hosts, one is real and the"
        " others replay its answers and its spool, each over its own SSH connection, on a core that"
        " the engine does not use."
    )
    return told("engine_scale", rows, note)
