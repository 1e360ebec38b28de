"""What a test session leaves on this machine: processes, agents' directories and temporary files
that are its own.

A session is known by a token in the environment of all it starts, and by the ids of its runs; other
sessions and other people's benchmarks may go on beside it.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

MARK = "BENCHTUI_TEST_SESSION"
# what ends by itself has this long: leases of aborted runs, sshd sessions whose peer is gone
GRACE_S = 30.0


def begin(temporary: Path) -> None:
    """Mark everything that this process starts from now on, and give it a directory for temporary
    files.
    """
    os.environ[MARK] = uuid.uuid4().hex
    temporary.mkdir(parents=True, exist_ok=True)
    os.environ["TMPDIR"] = str(temporary)


def mark() -> str:
    """Return the session's mark as an assignment, for environments that are not inherited."""
    return f"{MARK}={os.environ.get(MARK, 'none')}"


def left(base: Path) -> list[str]:
    """Wait until nothing of this session is left, for a while, and return a line for everything
    that stays.
    """
    deadline = time.monotonic() + GRACE_S
    while (found := [*_processes(base), *_directories(base)]) and time.monotonic() < deadline:
        time.sleep(0.2)  # until they are gone, with a deadline
    return found


def _processes(base: Path) -> Iterator[str]:
    runs = _runs(base)
    marks = {
        f"{MARK}={os.environ[MARK]}".encode(),
        *(f"BENCHTUI_RUN={run}".encode() for run in runs),
    }
    agents = tuple(f"BENCHTUI_AGENT={run}/".encode() for run in runs)
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            environ = (process / "environ").read_bytes().split(b"\0")
            command = (
                (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
        except OSError:
            continue  # it has ended, or is another user's
        if any(word in marks or word.startswith(agents) for word in environ):
            yield f"process {process.name}: {command.strip()[:200]}"


def _directories(base: Path) -> Iterator[str]:
    for run, made_in in _runs(base).items():
        yield from (f"{path}{made_in}" for path in Path("/tmp").glob(f".benchtui-*/{run}"))
    yield from map(str, (base / "tmp").glob("*"))


def _runs(base: Path) -> dict[str, str]:
    """The runs that this session has made, and where: those kept in a home, and those of agents
    alone.
    """
    token = os.environ[MARK][:8]
    agents = {path.name: "" for path in Path("/tmp").glob(f".benchtui-*/test-{token}-*")}
    kept = (path for path in base.glob("**/runs/*-*") if path.is_dir())
    return agents | {path.name: f", of {path.parent.parent.relative_to(base)}" for path in kept}
