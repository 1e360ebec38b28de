"""Starting a run: its directory, its plan on disk, its engine process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from tui.model.plan import Plan
from tui.model.problem import BenchtuiError
from tui.model.rundir import LOG_FILE, PLAN_FILE, RAW_DIR, new_run_id


def create_run(plan: Plan, runs: Path) -> Path:
    """Create the directory of a new run with its plan in it, private to the user, and return it."""
    try:
        runs.mkdir(parents=True, exist_ok=True, mode=0o700)
        run_dir = runs / new_run_id(plan.profile.tag)
        run_dir.mkdir(mode=0o700)
        (run_dir / RAW_DIR).mkdir(mode=0o700)
        write_private(run_dir / PLAN_FILE, msgspec.json.format(msgspec.json.encode(plan)))
    except OSError as error:
        raise BenchtuiError(f"cannot create a run under {runs}: {error.strerror}") from error
    return run_dir


def load_plan(run_dir: Path) -> Plan:
    """Return the plan of a run directory. Raises BenchtuiError when there is none that can be read."""
    try:
        return msgspec.json.decode((run_dir / PLAN_FILE).read_bytes(), type=Plan)
    except (OSError, msgspec.DecodeError) as error:
        raise BenchtuiError(f"{run_dir / PLAN_FILE}: not a plan: {error}") from error


def launch(plan: Plan, runs: Path) -> Path:
    """Create a run and start its engine in a process of its own; return the run directory.

    The engine has its own session and ignores SIGHUP from its first moment: neither a closed terminal nor the
    end of this process touches it. Progress is in the journal, `tui.engine.control` talks to it.
    """
    run_dir = create_run(plan, runs)
    spawn_engine(run_dir)
    return run_dir


def spawn_engine(run_dir: Path, *, recover: bool = False) -> None:
    """Start the engine process of an existing run directory; `recover`: one that goes on after another died."""
    engine = [sys.executable, "-P", "-m", "tui", "engine", str(run_dir), *(["--recover"] if recover else [])]
    # ignored by the shell before exec: between fork and setsid a hangup of the terminal would kill the engine
    command = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *engine]
    with (run_dir / LOG_FILE).open("ab") as log:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=run_dir)


def write_private(path: Path, data: bytes) -> None:
    """Write a new file that only the user can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
