"""What is left of a crash: a traceback without local variables in a file that only the user can read."""

from __future__ import annotations

import datetime
import os
import traceback
from pathlib import Path

import tui


def crash_text(error: BaseException) -> str:
    """Return version and traceback of an error; never the values of variables."""
    lines = traceback.TracebackException.from_exception(error, capture_locals=False).format()
    return f"benchtui {tui.__version__}\n{''.join(lines)}"


def write_crash_log(folder: Path, error: BaseException) -> Path | None:
    """Write the traceback to a new file under `folder` and return it; None when that fails as well."""
    now = datetime.datetime.now(datetime.UTC)
    path = folder / f"crash-{now:%Y%m%dT%H%M%S%f}Z.log"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(crash_text(error))
    except OSError:
        return None
    return path
