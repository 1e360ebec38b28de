"""Verbs in a process of their own: what they print, what they raise, how much memory they take."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MEASURED = """
import re, sys
from tui.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024, file=sys.stderr)
"""


def peak_bytes(argv: Sequence[str], home: Path) -> int:
    """Return how much memory a verb takes at most, whatever it answers."""
    environ = {**os.environ, "BENCHTUI_HOME": str(home), "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *argv], capture_output=True, text=True, env=environ
    )
    return int(done.stderr.splitlines()[-1])
