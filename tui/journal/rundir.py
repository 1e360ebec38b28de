"""The files of a run directory."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.rundir import JOURNAL_FILE, PLAN_FILE, RECORD_FILE

if TYPE_CHECKING:
    pass


def is_run_dir(path: Path) -> bool:
    """Tell whether a directory holds a run."""
    return any((path / name).is_file() for name in (PLAN_FILE, RECORD_FILE, JOURNAL_FILE))


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Put a file in place whole: readers see the old one or the new one, also after a power cut. Mode 0600.

    What is not `durable` may be damaged by a power cut: a cache that says so of itself.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_native_id()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
