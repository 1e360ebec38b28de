"""A small file system that can be filled up: a tmpfs of its own, for which the kernel wants
root.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

FILLER = "filler"


@contextlib.contextmanager
def small_tmpfs(path: Path, size: str) -> Iterator[Path]:
    """Mount a tmpfs of a size (such as ``4m``) at a new directory, and take it away again."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def possible() -> bool:
    """Whether this user may mount one."""
    probe = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return (
        os.geteuid() == 0
        and subprocess.run(probe, capture_output=True, check=False).returncode == 0
    )


def fill(path: Path) -> Path:
    """Leave no byte of room, and return the file that takes it."""
    filler = path / FILLER
    with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler
