"""The lies: what each one does to a run, and the check that must name it. All on this machine, for seconds."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
DIRECT = "ioengine: psync, direct: 1, rw: randread, bs: 4k, size: 32M"
PACED = f"{DIRECT}, rate_iops: 400"
STORED = "ioengine: psync, direct: 1, size: 32M, rate_iops: 100"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run takes place: the directory of its files, and a folder for whatever the sabotage needs."""

    target: Path
    folder: Path


Sabotage = Callable[[Place], AbstractContextManager[object]]


def nothing(_: Place) -> AbstractContextManager[object]:
    """Leave the run alone."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Lie:
    """One sabotaged run. `finding` is the check that names it; empty: a clean run, which nothing may weaken.

    `options` are those of the load, `others` checks that may speak up as well. `hosts` of the lab, 0: this machine.
    """

    name: str
    finding: str
    options: str
    runtime_s: int = 8
    sabotage: Sabotage = nothing
    hosts: int = 0
    layout: bool = True
    memory: bool = False  # the target is a file system in memory
    others: tuple[str, ...] = ()
    head: str = ""  # more lines of the profile


@contextmanager
def unwritten(place: Place) -> Iterator[None]:
    """A file of full size in which nothing was ever written."""
    with (place.target / "data").open("wb") as file:
        file.truncate(32 * MIB)
    yield


@contextmanager
def partly_written(place: Place) -> Iterator[None]:
    """A file whose blocks are all allocated, and of which a tenth was written."""
    with (place.target / "data").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 32 * MIB)
        file.write(os.urandom(3 * MIB))
        file.flush()
        os.fsync(file.fileno())
    yield


@contextmanager
def busy_cpus(_: Place) -> Iterator[None]:
    """Another program on every CPU, before the load and beside it."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextmanager
def other_generator(place: Place) -> Iterator[None]:
    """Somebody else's dd on the same machine."""
    words = ["dd", "if=/dev/zero", f"of={place.folder / 'other'}", "bs=4k", "count=1000000000", "oflag=dsync"]
    other = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        other.kill()
        other.wait()
        (place.folder / "other").unlink(missing_ok=True)


def held_up(host: str, stopped_s: float, running_s: float) -> Sabotage:
    """Stop a host's load again and again, so that it does a part of what the others do."""

    @contextmanager
    def sabotage(_: Place) -> Iterator[None]:
        over = threading.Event()
        thread = threading.Thread(target=_hold_up, args=(host, stopped_s, running_s, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    return sabotage


def _hold_up(host: str, stopped_s: float, running_s: float, over: threading.Event) -> None:
    while not over.wait(running_s):
        found = _loads_of(host)
        _signal(found, signal.SIGSTOP)
        over.wait(stopped_s)
        _signal(found, signal.SIGCONT)


def _loads_of(host: str) -> list[int]:
    """Return the pids of the processes that put load on a host of the lab."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == "fio":
                environ = (entry / "environ").read_bytes().split(b"\0")
                if f"BENCHTUI_HOST={host}".encode() in environ:
                    found.append(int(entry.name))
    return found


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


LIES: tuple[Lie, ...] = (
    Lie("unwritten file", "V03", DIRECT, sabotage=unwritten, layout=False),
    Lie("allocated, hardly written", "V03", DIRECT, sabotage=partly_written, layout=False),
    Lie("page cache", "V06", "ioengine: psync, direct: 0, rw: randread, bs: 4k, size: 32M", others=("V03", "V15")),
    Lie("file system in memory", "V05", PACED, memory=True, others=("V03",)),
    Lie("busy neighbour", "V17", PACED, sabotage=busy_cpus, others=("V15", "V24")),
    Lie("client CPU busy", "V15", PACED, sabotage=busy_cpus, others=("V17", "V24")),
    Lie("another load generator", "other-load", PACED, sabotage=other_generator, others=("V17", "V24")),
    Lie("ends early", "short", "ioengine: psync, direct: 1, rw: read, bs: 64k, size: 8M, time_based: 0", runtime_s=60),
    Lie("rate not reached", "V24", f"{DIRECT}, rate_iops: 100000000", others=("V15",)),
    Lie("wait in the submission", "slat", "ioengine: libaio, iodepth: 8, direct: 0, rw: randwrite, bs: 64k, size: 32M",
        head="latency: clat", others=("V06", "V15", "V03", "V02", "V17")),
    Lie("too short", "V09", PACED, runtime_s=2),
    Lie("zeros", "V22", "ioengine: psync, direct: 1, rw: write, bs: 64k, size: 32M, rate_iops: 50, zero_buffers: 1"),
    Lie("bound by syncs", "sync", "ioengine: psync, rw: write, bs: 4k, size: 8M, fdatasync: 1",
        others=("V06", "V02", "V10", "V11", "V15", "stall", "V03")),
    Lie("one host held up", "V14", PACED, hosts=3, sabotage=held_up("h3", 0.6, 0.4), others=("V24", "stall", "V30")),
    Lie("the same offsets", "V21", f"{PACED}, randseed: 7", hosts=2, layout=False, others=("shared-files", "V03")),
)  # fmt: skip
CLEAN: tuple[Lie, ...] = (
    Lie("paced reads", "", PACED, runtime_s=12),
    Lie("paced writes", "", f"{STORED}, rw: randwrite, bs: 4k", runtime_s=12),
    Lie("reads and writes", "", f"{STORED}, rw: randrw, bs: 8k", runtime_s=12),
    Lie("queued reads", "", "ioengine: libaio, iodepth: 4, direct: 1, rw: randread, bs: 4k, size: 32M, rate_iops: 400",
        runtime_s=12),
    Lie("two hosts", "", PACED, runtime_s=12, hosts=2),
)  # fmt: skip
