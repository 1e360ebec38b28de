"""The benchtui command as a user types it, and what it leaves on hosts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.e2e import forked
from tests.patience import PATIENCE_S


def environment(home: Path) -> dict[str, str]:
    """An environment in which benchtui sees nothing of the user who runs the tests."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("SSH_AUTH_SOCK", "XDG_DATA_HOME")
    }
    # locks of its own: tests that run at the same time share this machine
    return {
        **kept,
        "BENCHTUI_HOME": str(home),
        "HOME": str(home),
        "BENCHTUI_LOCKS": str(home / "locks"),
    }


def benchtui(
    home: Path, *args: str | Path, cwd: Path | None = None, umask: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `benchtui ARGS` to its end; without a umask, with that of the tests."""
    started = forked.Started(environment(home), str(cwd or Path.cwd()), umask)
    return forked.run([str(each) for each in args], started, PATIENCE_S)


def start(home: Path, *args: str | Path) -> subprocess.Popen[str]:
    """Start `benchtui ARGS` and return at once."""
    return subprocess.Popen(
        command(*args),
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def command(*args: str | Path) -> Sequence[str]:
    return [sys.executable, "-m", "tui", *map(str, args)]


def marked_processes(run_id: str) -> list[int]:
    """Pids of all processes that carry a run's mark, whoever is their parent."""
    mark = f"BENCHTUI_RUN={run_id}".encode()
    return [pid for pid in pids() if mark in environ_of(pid)]


def pids() -> list[int]:
    """Every process of this machine."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def environ_of(pid: int) -> list[bytes]:
    """The environment of a process; empty when it has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def comm(pid: int) -> str:
    """The name of a process's program; empty when it has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def only_run(home: Path) -> Path:
    """The directory of the one run under this home."""
    (run_dir,) = (home / "runs").iterdir()
    return run_dir


def measures(run_dir: Path, step: int | None = None) -> bool:
    """Whether the measurement of a run, or of one of its steps, has counted I/Os by now."""
    of_step = "" if step is None else f'"step":{step},'
    path = run_dir / "journal.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    samples = [
        line
        for line in lines
        if '"type":"sample"' in line and '"phase":"measure"' in line and of_step in line
    ]
    return any('"ios":' in line and '"ios":0' not in line for line in samples)


def journal_has(run_dir: Path, text: str) -> bool:
    """Whether a text stands in the journal of a run."""
    path = run_dir / "journal.jsonl"
    return path.exists() and text in path.read_text(encoding="utf-8")
