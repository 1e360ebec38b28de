"""Large optional libraries: unpack them from the single-file program, or ask for them in one
line.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tui.model.problem import UsageError

FULL = "full"  # the extra with numpy, scipy and chart drawing
STATISTICS = ("numpy", "scipy")
UNPACKING = "unpacking numpy and scipy for searches: once, some seconds"
# the single file this program was unpacked from, set by its launcher
ONE_FILE = "BENCHTUI_ONE_FILE"


def missing_library(what: str, name: str, extra: str) -> UsageError:
    """Return the error for a missing library; `what` needs it, `extra` installs it."""
    return UsageError(
        f"{what} needs {name}, which is not installed: pip install 'benchtui[{extra}]'"
    )


def expect_statistics(what: str) -> None:
    """Raise UsageError, in one line, if numpy or scipy is neither installed nor in the single-file
    program.

    Does not import or unpack them, which takes seconds: a plan is made between two keystrokes.
    """
    for name in STATISTICS:
        if not _is_there(name) and not os.environ.get(ONE_FILE):
            raise missing_library(what, name, FULL)


def are_packed() -> bool:
    """Return whether numpy or scipy must still be unpacked from the single-file program."""
    return bool(os.environ.get(ONE_FILE)) and not all(map(_is_there, STATISTICS))


def check_statistics(what: str) -> None:
    """Raise UsageError, in one line, if numpy or scipy is not installed; imports neither.

    Unpacks them from the single-file program if needed.
    """
    for name in STATISTICS:
        if not _is_there(name) and not (_unpack_full() and _is_there(name)):
            raise missing_library(what, name, FULL)


def load_library(name: str, what: str, extra: str = FULL) -> Any:
    """Import and return a library, unpacked from the single-file program if needed.

    Raises UsageError, in one line, if it is not installed.
    """
    if not _is_there(name.partition(".")[0]):
        _unpack_full()
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise missing_library(what, name, extra) from error


def _is_there(name: str) -> bool:
    return sys.modules.get(name) is not None or find_spec(name) is not None


def _unpack_full() -> bool:
    """Unpack the libraries for searches and reports from the single-file program; return False if
    it has none.

    Raises UsageError.
    """
    file = os.environ.get(ONE_FILE)
    if not file:
        return False
    import subprocess
    from sysconfig import get_path

    command = [sys.executable, "-I", file, FULL, sys.prefix]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{file} cannot be unpacked"]
        raise UsageError(lines[-1].removeprefix("benchtui: "))
    sys.path.append(str(Path(get_path("purelib")).with_name(FULL)))
    importlib.invalidate_caches()
    return True
