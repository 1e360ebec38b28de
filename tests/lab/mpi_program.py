"""Real MPI programs that are installed here: where they are, their ranks, and the phases that a
journal tells.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.e2e.command import environ_of

FAMILIES = {"mpich": ("libmpich", "mpiexec.hydra"), "openmpi": ("libmpi.so.40", "orted")}


def real_program(name: str) -> tuple[str, str] | None:
    """The path of a program and the family of its MPI.

    None where there is none, or no launcher for it.
    """
    path = os.environ.get(f"BENCHTUI_{name.upper()}") or shutil.which(name)
    linked = (
        subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        if path
        else ""
    )
    known = [
        name
        for name, (library, command) in FAMILIES.items()
        if library in linked and shutil.which(command)
    ]
    return (path, known[0]) if path and known else None


def is_rank(pid: int) -> bool:
    """Whether a process is a rank of MPICH or Open MPI."""
    return any(
        word.startswith((b"PMI_RANK=", b"OMPI_COMM_WORLD_RANK=")) for word in environ_of(pid)
    )


def phases(home: Path) -> list[str]:
    """Phases that the journal of the only run tells so far."""
    journals = list((home / "runs").glob("*/journal.jsonl"))
    lines = [
        line
        for path in journals
        for line in path.read_text().splitlines(keepends=True)
        if line[-1] == "\n"
    ]
    return [event["phase"] for event in map(json.loads, lines) if event["type"] == "metadata_phase"]
