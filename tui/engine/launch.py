"""Launch a run: run directory, plan on disk, engine process."""

from __future__ import annotations

import datetime
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from tui.engine.plan.choices import signed
from tui.journal.reader import JournalTail, complete_bytes
from tui.journal.rundir import announce, load_plan, owner, plan_bytes
from tui.metrics import units
from tui.model import rundir
from tui.model.event import RunResumed
from tui.model.extras import check_statistics
from tui.model.plan import Plan
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import JOURNAL_FILE, LOG_FILE, PLAN_FILE, RAW_DIR, new_run_id
from tui.sources.keeper import held

if TYPE_CHECKING:
    from tui.engine.control import Questions

ENGINE_UP_S = 60.0
ROOM_BYTES = 2 << 20  # twice what the journal reserves for its last events
# recover: finish a dead engine's run; resume: run missing steps, resume-failed: also failed
# steps
EngineMode = Literal["start", "recover", "resume", "resume-failed"]


class Launched(Struct, frozen=True):
    """A run whose engine has started, with its questions until it is logged in to all hosts."""

    run_dir: Path
    questions: Questions


def create_run(plan: Plan, runs: Path) -> Path:
    """Create the private directory of a new run, write its plan, and return the directory.

    First unpacks the libraries for a search, so that the engine need not do so between two points.
    Raises BenchtuiError.
    """
    if plan.search is not None:
        check_statistics(f"{plan.profile.tag}: a {plan.search.kind} search")
    try:
        data = plan_bytes(
            replace(signed(plan, owner(), _utc_now()), launched_in=working_directory())
        )
        runs.mkdir(parents=True, exist_ok=True, mode=0o700)
        check_room(runs)
        run_dir = runs / new_run_id(plan.profile.tag)
        run_dir.mkdir(mode=0o700)
        (run_dir / RAW_DIR).mkdir(mode=0o700)
        write_private(run_dir / PLAN_FILE, data)
    except OSError as error:
        raise BenchtuiError(f"cannot create a run under {runs}: {error.strerror}") from error
    return run_dir


def working_directory() -> str | None:
    """Return the working directory; None if it was removed."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None


def _utc_now() -> str:
    return f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"


def check_room(directory: Path) -> None:
    """Raise BenchtuiError if the file system has no room for an engine's files."""
    free = shutil.disk_usage(directory).free
    if free < ROOM_BYTES:
        raise BenchtuiError(
            Problem(
                f"only {units.size(free)} free; a run needs {units.size(ROOM_BYTES)}",
                file=str(directory),
            )
        )


def launch(plan: Plan, runs: Path) -> Path:
    """Create a run and start its engine in a separate process; return the run directory.

    The engine has its own session and ignores SIGHUP from the start, so that it survives the
    terminal and this process. Progress is in the journal; `tui.engine.control` sends requests.
    """
    run_dir = create_run(plan, runs)
    spawn_engine(run_dir)
    return run_dir


def launch_asking(plan: Plan, runs: Path) -> Launched:
    """Create a run and start its engine, which can ask for passwords, passphrases and codes."""
    run_dir = create_run(plan, runs)
    return Launched(run_dir, spawn_asking(run_dir))


def spawn_asking(run_dir: Path, mode: EngineMode = "start") -> Questions:
    """Start the engine of an existing run directory and return its questions.

    The caller closes them.
    """
    from tui.engine.control import Questions

    ours, theirs = socket.socketpair()
    with theirs:
        spawn_engine(run_dir, mode, theirs)
    return Questions(ours)


def spawn_engine(
    run_dir: Path, mode: EngineMode = "start", link: socket.socket | None = None
) -> None:
    """Start the engine of an existing run directory; for a new run, record its pid at once.

    Python starts slowly on a busy machine, and the engine must not look dead meanwhile. `link`
    carries questions for secrets; without it, hosts that need a secret are refused.
    """
    check_room(run_dir)
    arguments = ["engine", str(run_dir), "--mode", mode, *(["--ask"] if link else [])]
    with (run_dir / LOG_FILE).open("ab") as log:
        stdin = subprocess.DEVNULL if link is None else link.fileno()
        pid = start_program(arguments, stdin, log.fileno(), run_dir)
    if mode == "start":  # another engine may still hold the file of a run that began earlier
        announce(run_dir, pid)


def start_program(arguments: Sequence[str], stdin: int, log: int, directory: Path) -> int:
    """Start `benchtui ARGUMENTS` in a new session, immune to hangups, and return its pid."""
    # ignored by the shell before exec, because a hangup between fork and setsid would kill
    # the engine
    words = [
        "/bin/sh",
        "-c",
        'trap "" HUP; exec "$@"',
        "sh",
        sys.executable,
        "-P",
        "-m",
        "tui",
        *arguments,
    ]
    return subprocess.Popen(
        words,
        stdin=stdin,
        stdout=log,
        stderr=log,
        start_new_session=True,
        cwd=directory,
        umask=rundir.original_umask(),
        pass_fds=held(),  # keeps the allocation for the lifetime of the engine
    ).pid


def journal_end(run_dir: Path) -> int:
    """Return the offset where another engine will append to the journal: the end of its last full
    line.
    """
    try:
        return complete_bytes(run_dir / JOURNAL_FILE)
    except OSError:
        return 0


def await_resumed(run_dir: Path, end: int) -> None:
    """Wait until the engine that resumes a run has written to the journal, so that the run shows as
    running.

    `end` is `journal_end` before the engine started. Raises BenchtuiError if the engine does not
    start.
    """
    deadline = time.monotonic() + ENGINE_UP_S
    tail = JournalTail(run_dir / JOURNAL_FILE, end, stamps=True)
    while not any(isinstance(event, RunResumed) for event in tail):
        if time.monotonic() > deadline:
            raise BenchtuiError(
                f"the engine of {run_dir.name} did not start; see {run_dir / LOG_FILE}"
            )
        time.sleep(0.05)


def resume_mode(run_dir: Path, *, failed: bool, running: bool) -> tuple[EngineMode, int]:
    """Return the mode in which to resume a run, and the number of steps that it will run.

    Raises UsageError if the run is running, or there is nothing to resume.
    """
    from tui.engine.session.history import read_history

    if running:
        raise UsageError(f"run {run_dir.name} is still running")
    plan = load_plan(run_dir)
    history = read_history(run_dir / JOURNAL_FILE)
    count = len(history.missing(plan, failed=failed))
    if count:
        return ("resume-failed" if failed else "resume"), count
    broken = len(history.missing(plan, failed=True))
    hint = (
        f"; {units.plural(broken, 'step')} ended with errors: use --failed to repeat them"
        if broken and not failed
        else ""
    )
    raise UsageError(f"nothing to resume in {run_dir.name}{hint}")


def write_private(path: Path, data: bytes) -> None:
    """Create a file with mode 0600. Raises FileExistsError if it exists."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
