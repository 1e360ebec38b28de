"""How much CPU we use ourselves, all that we started included, by a control group of our own.

Needs root.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

EVERY_S = 1.0
V1, V2 = Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup")


class OwnCpu:
    """CPU time of a control group; None where there is none."""

    def __init__(self, group: Path | None = None) -> None:
        self.group = group

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
    def watching(self) -> Iterator[list[float]]:
        """Fill a list with the share of the CPUs that others used, second by second."""
        shares: list[float] = []
        over = threading.Event()

        def look() -> None:
            ticks, own_s = cpu_ticks(), self.seconds()
            while own_s is not None and not over.wait(EVERY_S):
                ticks_now, own_now_s = cpu_ticks(), self.seconds()
                spent = [late - early for early, late in zip(ticks, ticks_now, strict=True)]
                if own_now_s is not None:
                    shares.append(share_of_others(spent, own_now_s - own_s))
                ticks, own_s = ticks_now, own_now_s

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield shares
        finally:
            over.set()
            thread.join()


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
    """Move this process, and so all that it starts from now on, into a control group of its own
    until the end.
    """
    root = V1 if V1.is_dir() else V2
    group, back = root / f"lies-{os.getpid()}", root / "cgroup.procs"
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        yield OwnCpu()
        return
    try:
        yield OwnCpu(group)
    finally:
        with contextlib.suppress(OSError):
            for pid in (group / "cgroup.procs").read_text().split():
                back.write_text(pid)
            group.rmdir()
