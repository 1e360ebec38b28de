"""What others did to the machine while we measured: CPU, steal, disk traffic, second by second.

Ours, all that we started included, is counted by control groups of our own. Needs root.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

EVERY_S = 1.0
V1, V2 = Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup")
BLKIO = Path("/sys/fs/cgroup/blkio")
OWN_BYTES = "blkio.throttle.io_service_bytes_recursive"
SECTOR = 512


@dataclass(frozen=True, slots=True)
class Second:
    """One second of the machine: shares of its CPU time, and bytes moved by others.

    `others` and `foreign_bytes_per_s` are None where nobody counts ours.
    """

    seconds: float  # more than one: this process did not run either
    stolen: float
    others: float | None
    foreign_bytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters at one moment."""

    at_s: float
    ticks: Sequence[int]
    own_s: float | None
    bytes: Mapping[str, int]
    own_bytes: Mapping[str, int] | None

    def since(self, before: Reading) -> Second:
        """Return what happened between two readings."""
        spent = [late - early for early, late in zip(before.ticks, self.ticks, strict=True)]
        others = foreign = None
        if self.own_s is not None and before.own_s is not None:
            others = share_of_others(spent, self.own_s - before.own_s)
        seconds = max(self.at_s - before.at_s, 0.01)
        if self.own_bytes is not None and before.own_bytes is not None:
            moved = sum(self.bytes.values()) - sum(before.bytes.values())
            own = sum(self.own_bytes.values()) - sum(before.own_bytes.values())
            foreign = max(0.0, moved - own) / seconds
        return Second(seconds, spent[-1] / max(sum(spent), 1), others, foreign)


class OwnCpu:
    """CPU time of a control group, and bytes of another; None where there is none."""

    def __init__(self, group: Path | None = None, io_group: Path | None = None) -> None:
        self.group, self.io_group = group, io_group

    def reading(self) -> Reading:
        """Return all counters now."""
        disks = disk_bytes()
        own = None if self.io_group is None else _own_bytes(self.io_group, disks)
        return Reading(time.monotonic(), cpu_ticks(), self.seconds(), disks, own)

    def seconds(self) -> float | None:
        """Return the CPU time that it used so far."""
        if self.group is None:
            return None
        with contextlib.suppress(OSError, ValueError, StopIteration):
            if (usage := self.group / "cpuacct.usage").exists():
                return int(usage.read_text()) / 1e9
            lines = (self.group / "cpu.stat").read_text().splitlines()
            return (
                int(next(line.split()[1] for line in lines if line.startswith("usage_usec"))) / 1e6
            )
        return None

    @contextmanager
    def watching(self) -> Iterator[list[Second]]:
        """Fill a list with what others did, second by second."""
        seen: list[Second] = []
        over = threading.Event()

        def look() -> None:
            before, ended = self.reading(), False
            while not ended:
                ended = over.wait(EVERY_S)
                now = self.reading()
                if now.at_s - before.at_s > EVERY_S / 2:
                    seen.append(now.since(before))
                before = now

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield seen
        finally:
            over.set()
            thread.join()


def disk_bytes() -> dict[str, int]:
    """Return the bytes read and written so far, by device number, of devices that no other is below
    (proc(5): diskstats).
    """
    found: dict[str, int] = {}
    for line in Path("/proc/diskstats").read_text().splitlines():
        words = line.split()
        if Path("/sys/block", words[2], "device").exists():
            found[":".join(words[:2])] = SECTOR * (int(words[5]) + int(words[9]))
    return found


def _own_bytes(group: Path, disks: Collection[str]) -> dict[str, int] | None:
    """Return the bytes that a control group read and wrote, by device number."""
    found = dict.fromkeys(disks, 0)
    try:
        for line in (group / OWN_BYTES).read_text().splitlines():
            words = line.split()
            if words[0] in found and words[1] in ("Read", "Write"):
                found[words[0]] += int(words[2])
    except OSError:
        return None
    return found


def cpu_ticks() -> list[int]:
    """Return the machine's CPU time by kind, in ticks (proc(5): user nice system idle iowait irq
    softirq steal).
    """
    return [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


def share_of_others(spent: Sequence[int], own_s: float) -> float:
    """Return the share of the machine's CPU time, in ticks by kind, that was used and not by us."""
    user, nice, system, _idle, _iowait, irq, softirq, _steal = spent
    second = os.sysconf("SC_CLK_TCK")
    return max(0.0, (user + nice + system + irq + softirq) / second - own_s) / max(
        sum(spent) / second, 0.01
    )


@contextmanager
def own_cpu() -> Iterator[OwnCpu]:
    """Move this process, and so all that it starts from now on, into control groups of its own
    until the end.
    """
    with _joined(V1 if V1.is_dir() else V2) as group, _joined(BLKIO) as io_group:
        yield OwnCpu(group, io_group)


@contextmanager
def _joined(root: Path) -> Iterator[Path | None]:
    """Put this process into a control group of its own; None where that is not possible."""
    group, back = root / f"lies-{os.getpid()}", root / "cgroup.procs"
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        with contextlib.suppress(OSError):
            for pid in (group / "cgroup.procs").read_text().split():
                back.write_text(pid)
            group.rmdir()
