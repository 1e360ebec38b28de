"""Block devices to destroy: loop devices over files, where the machine lets us have them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

TOOLS = ("losetup", "mkfs.ext4", "wipefs", "mount", "umount", "mkswap")
SIZE = 32 << 20


def needs_tools() -> None:
    """Skip where block devices cannot be made."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if os.geteuid() != 0 or missing:
        pytest.skip(f"loop devices need root and {', '.join(missing) or 'its tools'}")


def quietly(*command: str | Path) -> None:
    subprocess.run(
        [str(word) for word in command], check=True, capture_output=True, timeout=PATIENCE_S
    )


@contextlib.contextmanager
def loop_device(image: Path, *options: str) -> Iterator[str]:
    """Yield the path of a loop device over a new, empty file."""
    needs_tools()
    with image.open("wb") as file:
        file.truncate(SIZE)
    command = ["losetup", "-f", "--show", *options, str(image)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    if made.returncode:
        pytest.skip(f"no loop device on this machine: {made.stderr.strip()}")
    try:
        yield made.stdout.strip()
    finally:
        quietly("losetup", "-d", made.stdout.strip())
        image.unlink()


@contextlib.contextmanager
def mounted(device: str, directory: Path) -> Iterator[Path]:
    """Mount a device."""
    directory.mkdir(exist_ok=True)
    quietly("mount", device, directory)
    try:
        yield directory
    finally:
        quietly("umount", directory)
