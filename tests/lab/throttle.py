"""A control group of our own whose reads of a disk the kernel throttles, of version 1 or 2."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

V1, V2 = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup")


def disk_of(place: Path) -> str:
    """Return the major:minor of the disk that a directory is on; empty where there is none."""
    device = place.stat().st_dev
    entry = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not entry.exists():
        return ""
    whole = entry.resolve().parent if (entry / "partition").exists() else entry
    return (whole / "dev").read_text().strip()


def missing(place: Path) -> str:
    """Why reads of a directory's disk cannot be throttled here; empty when they can."""
    if os.geteuid() != 0:
        return "control groups need root"
    if not disk_of(place):
        return "the directory is on no disk of this machine"
    if (V1 / "blkio.throttle.read_iops_device").exists():
        return ""
    control = V2 / "cgroup.subtree_control"
    there = control.exists() and "io" in control.read_text().split()
    return "" if there else "needs the controller blkio (v1), or io for groups below the root (v2)"


@contextmanager
def throttled(place: Path, iops: int) -> Iterator[tuple[str, ...]]:
    """Yield the words before a command whose reads of the directory's disk are limited."""
    old = (V1 / "blkio.throttle.read_iops_device").exists()
    group = (V1 if old else V2) / f"benchtui-test-{os.getpid()}"
    group.mkdir()
    try:
        if old:
            (group / "blkio.throttle.read_iops_device").write_text(f"{disk_of(place)} {iops}\n")
        else:
            (group / "io.max").write_text(f"{disk_of(place)} riops={iops}\n")
        yield ("/bin/sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh")
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (group.parent / "cgroup.procs").write_text(pid)
        group.rmdir()
