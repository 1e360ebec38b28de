"""Other programs to measure beside ours, each from its package into a venv of its own under
/tmp.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(os.environ.get("PEERS", f"/tmp/benchtui-peers-{os.geteuid()}"))
PATIENCE_S = 300


def program(package: str, name: str) -> Path | None:
    """Return a program of a package on PyPI, installed when it is not there yet.

    None where that fails.
    """
    folder = FOLDER / package.lower()
    found = folder / "bin" / name
    if not found.exists():
        try:
            subprocess.run(
                [sys.executable, "-m", "venv", folder],
                check=True,
                capture_output=True,
                timeout=PATIENCE_S,
            )
            pip: list[str | Path] = [
                folder / "bin" / "python",
                "-m",
                "pip",
                "install",
                "--quiet",
                package,
            ]
            subprocess.run(pip, check=True, capture_output=True, timeout=PATIENCE_S)
        except (OSError, subprocess.SubprocessError):
            shutil.rmtree(folder, ignore_errors=True)
    return found if found.exists() else None


def on_path(name: str) -> Path | None:
    """Return a program of a distribution's package; None where it is not installed."""
    found = shutil.which(name)
    return Path(found) if found else None
