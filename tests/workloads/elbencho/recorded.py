"""Recorded output of elbencho 3.1-10, and the profiles that its command lines import as."""

from __future__ import annotations

import json
from pathlib import Path

from tui.testing import Output
from tui.workloads.elbencho.options import phase_of
from tui.workloads.elbencho.workload import ElbenchoWorkload

DATA = Path(__file__).parents[2] / "data" / "elbencho"


def command(name: str) -> str:
    """Return a recorded command; its paths are absolute, as hosts need them. Buckets are none."""
    line = (DATA / f"{name}.cmd").read_text().strip()
    if "--s3endpoints" in line:
        return line
    *words, path = line.split()
    return " ".join([*words, f"/data/{path}"])


def profiles(name: str) -> dict[str, str]:
    """Return the profiles of a recorded command by phase."""
    found = (
        ElbenchoWorkload()
        .import_job(command(name), f"{name}.elbencho", f"test/{name}", {})
        .profiles
    )
    return {
        text.partition("  phase: ")[2].split()[0]: text for _, text in found if "  phase: " in text
    }


def phase_lines(name: str) -> dict[str, str]:
    """Return the JSON line of each recorded phase, by the phase."""
    lines = (DATA / f"{name}.json").read_text().splitlines()
    return {
        phase.name: line
        for line in lines
        if (phase := phase_of(json.loads(line)["phase_type"], objects=name.startswith("s3-")))
    }


def output(name: str, phase: str) -> Output:
    """Return what our command prints of one recorded phase: its live rows, and its result."""
    rows = (DATA / f"{name}.out").read_text().splitlines()
    kept = [
        row
        for row in rows
        if row.startswith("ISO ") or not row.startswith("20") or _is_of(row, phase)
    ]
    text = "\n".join([*kept, phase_lines(name)[phase], ""])
    return Output(
        text.encode(), (DATA / f"{name}.err").read_bytes(), int((DATA / f"{name}.rc").read_text())
    )


def _is_of(row: str, phase: str) -> bool:
    found = phase_of(row.split(",")[2])
    return found is not None and found.name == phase
