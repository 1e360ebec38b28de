"""Who steers a run: its one engine, known by pid to whoever looks, and its user."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from tui.model.bounded import MOST_SMALL_BYTES, check_plain, read_text
from tui.model.problem import BenchtuiError, Problem
from tui.model.rundir import PID_FILE


def owner() -> str:
    """Return who we are, for whoever finds our lock."""
    return f"{getpass.getuser()}@{platform.node()}"


@contextlib.contextmanager
def sole_engine(run_dir: Path) -> Iterator[None]:
    """Be the only engine of a run, known by pid to whoever looks. Raises BenchtuiError when there is another one."""
    with no_engine(run_dir) as descriptor:
        size = os.pwrite(descriptor, process_identity(os.getpid()).encode(), 0)
        os.ftruncate(descriptor, size)
        yield


def announce(run_dir: Path, pid: int) -> None:
    """Have the engine that was just started known by pid: it writes the same when it is up."""
    with contextlib.suppress(OSError):  # it is over already; its log says why
        identity = process_identity(pid).encode()
        descriptor = _opened(run_dir)
        os.pwrite(descriptor, identity, 0)
        os.close(descriptor)


@contextlib.contextmanager
def no_engine(run_dir: Path) -> Iterator[int]:
    """Keep engines of a run away, without being one. Raises BenchtuiError when there is one."""
    try:
        descriptor = _opened(run_dir)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be opened: {error.strerror}", file=str(run_dir / PID_FILE))) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BenchtuiError(f"run {run_dir.name} has an engine already, or is being cleaned up") from None
        yield descriptor
    finally:
        os.close(descriptor)


def _opened(run_dir: Path) -> int:
    """Return a descriptor of the file that names the engine, made when it is not there. Raises OSError."""
    path = run_dir / PID_FILE
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600)
    try:
        check_plain(descriptor, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def lives(run_dir: Path) -> bool:
    """Tell whether the engine of a run that was announced last is there: just started, at work, or about to leave."""
    try:
        identity = read_text(run_dir / PID_FILE, MOST_SMALL_BYTES, "ascii")
        return identity == process_identity(int(identity.split()[0]))
    except (OSError, ValueError, IndexError):
        return False


def process_identity(pid: int) -> str:
    """Return ``pid start_ticks boot_id``, which no other process ever has (proc(5): stat field 22)."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    start_ticks = stat.rpartition(")")[2].split()[19]
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{pid} {start_ticks} {boot_id}\n"
