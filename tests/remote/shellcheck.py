"""`python -m tests.remote.shellcheck`: the agent, joined as it is sent, under shellcheck.

Nothing without it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

from tui.remote.scripts import functions

RULES = Path(__file__).parents[2] / ".shellcheckrc"


def parts() -> list[str]:
    """Every part of the agent, `base` first."""
    names = {
        entry.name.removesuffix(".sh")
        for entry in resources.files("tui.remote").joinpath("sh").iterdir()
    }
    return ["base", *sorted(names - {"base"})]


def complaints() -> str | None:
    """What shellcheck says of the agent; None when it is not installed."""
    if shutil.which("shellcheck") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / RULES.name).write_text(RULES.read_text())
        joined = Path(folder) / "agent.sh"
        joined.write_text(functions(*parts()))
        done = subprocess.run(["shellcheck", joined], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


if __name__ == "__main__":
    said = complaints() or ""
    print(said, end="")
    sys.exit(bool(said))
