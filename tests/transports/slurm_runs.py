"""Runs on nodes of a real Slurm: what has been measured, and which processes of Slurm carry
them.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.e2e.command import comm, environ_of, pids
from tests.lab.sshd import parent_of


def measured(journal: Path) -> dict[str, list[int]]:
    """I/Os of every second of the measurement, by host."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    samples = [
        json.loads(line)
        for line in lines
        if '"type":"sample"' in line and '"phase":"measure"' in line
    ]
    found: dict[str, list[int]] = {}
    for sample in samples:
        found.setdefault(sample["host"], []).append(
            sum(each["ios"] for each in sample["dirs"].values())
        )
    return found


def sruns(conf: str) -> list[int]:
    """Pids of the srun processes of this Slurm."""
    mine = f"SLURM_CONF={conf}".encode()
    return [pid for pid in pids() if comm(pid) == "srun" and mine in environ_of(pid)]


def step_daemons(node: str, conf: str) -> list[int]:
    """Pids of the slurmstepd processes whose tasks run on a node."""
    mine = {f"SLURMD_NODENAME={node}".encode(), f"SLURM_CONF={conf}".encode()}
    parents = {parent_of(pid) for pid in pids() if mine <= set(environ_of(pid))}
    return [pid for pid in parents if pid and words_of(pid)[0].startswith(b"slurmstepd:")]


def kill(found: list[int]) -> None:
    """Kill processes that have to be there."""
    assert found
    for pid in found:
        with suppress(ProcessLookupError):  # the short calls among them end by themselves
            os.kill(pid, signal.SIGKILL)


def words_of(pid: int) -> list[bytes]:
    """The command line of a process; a single empty word when it has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b""]
