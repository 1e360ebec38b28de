"""The kept files of a run against the sums that were written down when they were kept."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Protocol

from tui.model.bounded import open_plain

BLOCK = 1 << 20


class Kept(Protocol):
    """A file as it was kept."""

    path: str
    sha256: str
    bytes: int


def damaged(run_dir: Path, files: Iterable[Kept]) -> Iterator[str]:
    """Yield what is wrong with each file that is not as it was kept."""
    for file in files:
        if why := _why_damaged(run_dir, file):
            yield f"{file.path}: {why}"


def _why_damaged(run_dir: Path, file: Kept) -> str:
    if not is_inside(file.path):
        return "is no path inside of a run"
    path = run_dir / file.path
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            return "is no plain file"
        if found.st_size != file.bytes:
            return f"has {found.st_size} bytes, {file.bytes} were kept"
        return "" if sha256_of(path) == file.sha256 else "its SHA-256 is not the one that was kept"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def is_inside(path: str) -> bool:
    """Tell whether a path names something below the directory that it is relative to."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\0" not in path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file. Raises OSError."""
    digest = hashlib.sha256()
    with open_plain(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
