"""Real fio on this machine, in a directory of its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

FIO = shutil.which("fio")

needs_fio = pytest.mark.skipif(FIO is None, reason="no fio on this machine")


def run(text: str, where: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Run a job file with `where` as working directory, as the agent does."""
    where.mkdir(parents=True, exist_ok=True)
    (where / "job.fio").write_text(text)
    assert FIO is not None
    command = [FIO, "--output-format=json+", "--eta=never", *options, "job.fio"]
    return subprocess.run(command, cwd=where, capture_output=True, timeout=PATIENCE_S, check=False)


def tree(root: Path) -> dict[str, int]:
    """Sizes of all files below a directory, by absolute path."""
    return {str(path): path.stat().st_size for path in root.rglob("*") if path.is_file()}
