"""Run directory: its files, its plan, and its engine (which process, whether alive, who owns
it).
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import os
import platform
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.bounded import MOST_SMALL_BYTES, NO_JSON, check_plain, read_file, read_text
from tui.model.problem import BenchtuiError, Problem
from tui.model.rundir import JOURNAL_FILE, PID_FILE, PLAN_FILE, RECORD_FILE

if TYPE_CHECKING:
    from tui.model.plan import Plan


def is_run_dir(path: Path) -> bool:
    """Return whether a directory contains a run."""
    return any((path / name).is_file() for name in (PLAN_FILE, RECORD_FILE, JOURNAL_FILE))


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file atomically, with mode 0600: readers see the old or the new content, even after
    a power cut.

    Without `durable`, a power cut may damage it; meant for caches that detect this.
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


def owner() -> str:
    """Return user@host of this process; it is written to locks for others to see."""
    return f"{getpass.getuser()}@{platform.node()}"


@contextlib.contextmanager
def sole_engine(run_dir: Path) -> Iterator[None]:
    """Lock a run for this engine; the lock file contains its pid.

    Raises BenchtuiError if there is another engine.
    """
    with no_engine(run_dir) as descriptor:
        size = os.pwrite(descriptor, _pid_line(os.getpid()), 0)
        os.ftruncate(descriptor, size)
        yield


def announce(run_dir: Path, pid: int) -> None:
    """Write the pid of an engine just started, before the engine does so itself."""
    with contextlib.suppress(OSError):  # it is over already; its log says why
        line = _pid_line(pid)
        descriptor = _opened(run_dir)
        os.pwrite(descriptor, line, 0)
        os.close(descriptor)


def _pid_line(pid: int) -> bytes:
    """Return the content of the pid file: pid, start time in ticks, boot id.

    Raises ProcessLookupError.
    """
    identity = process_identity(str(pid))
    if identity is None:
        raise ProcessLookupError(pid)
    return f"{pid} {' '.join(identity)}\n".encode()


@contextlib.contextmanager
def no_engine(run_dir: Path) -> Iterator[int]:
    """Prevent engines from starting on a run during the with block. Raises BenchtuiError if one is
    running.
    """
    try:
        descriptor = _opened(run_dir)
    except OSError as error:
        raise BenchtuiError(
            Problem(f"cannot be opened: {error.strerror}", file=str(run_dir / PID_FILE))
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BenchtuiError(
                f"run {run_dir.name} already has an engine, or is being cleaned up"
            ) from None
        yield descriptor
    finally:
        os.close(descriptor)


def _opened(run_dir: Path) -> int:
    """Open the file that contains the engine's pid, creating it if missing; return its descriptor.

    Raises OSError.
    """
    path = run_dir / PID_FILE
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600)
    try:
        check_plain(descriptor, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


FRESH_S = 60.0


def is_running(run_dir: Path) -> bool:
    """Return whether the engine of a run is alive: the same process, not another one that reuses
    its pid.
    """
    try:
        pid, start_ticks, boot_id = read_text(run_dir / PID_FILE, MOST_SMALL_BYTES, "ascii").split()
    except (OSError, ValueError):
        return False
    return process_identity(pid) == (start_ticks, boot_id)


def may_live_elsewhere(run_dir: Path) -> bool:
    """Return whether an engine of another machine, or of an earlier boot of this one, wrote the
    journal within FRESH_S; homes may be shared.
    """
    try:
        boot_id = read_text(run_dir / PID_FILE, MOST_SMALL_BYTES, "ascii").split()[2]
        age_s = time.time() - (run_dir / JOURNAL_FILE).stat().st_mtime
        return boot_id != _boot_id() and age_s < FRESH_S
    except (OSError, ValueError, IndexError):
        return False


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def process_identity(pid: str) -> tuple[str, str] | None:
    """Return start time in ticks and boot id of a process (proc(5): stat, field 22), which with the
    pid are unique to it.

    None if it does not exist or is a zombie.
    """
    try:
        stat = Path("/proc", pid, "stat").read_text(encoding="utf-8", errors="replace")
        boot_id = _boot_id()
        after_name = stat.rpartition(")")[2].split()  # the name may hold blanks and brackets
        return (after_name[19], boot_id) if after_name[0] not in ("Z", "X") else None
    except (OSError, IndexError):
        return None


def load_plan(run_dir: Path) -> Plan:
    """Load the plan of a run directory.

    Raises BenchtuiError if it is missing or unreadable.
    """
    from tui.model.plan import parse_plan  # lists of runs need none of its structs

    path = run_dir / PLAN_FILE
    try:
        return parse_plan(read_file(path))
    except FileNotFoundError:
        raise BenchtuiError(
            Problem(f"does not exist{_advice_without_plan(run_dir)}", file=str(path))
        ) from None
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from error
    except NO_JSON as error:
        raise BenchtuiError(
            Problem(f"is not a plan: {error}{_advice_without_plan(run_dir)}", file=str(path))
        ) from error


def readable_plan(run_dir: Path) -> Plan | None:
    """Return the plan of a run; None if it cannot be read: following needs only the journal."""
    try:
        return load_plan(run_dir)
    except BenchtuiError:
        return None


def plan_bytes(plan: Plan) -> bytes:
    """Return a plan in the form stored on disk."""
    from msgspec import json  # lists of runs need none of it

    return json.format(json.encode(plan))


def _advice_without_plan(run_dir: Path) -> str:
    """Return advice about the hosts of a run that has lost its plan."""
    from tui.journal.reader import read_events
    from tui.model.event import RunStarted

    journal = run_dir / JOURNAL_FILE
    events = read_events(journal, stamps=True) if journal.is_file() else ()
    hosts = next((event.hosts for event in events if isinstance(event, RunStarted)), None)
    spec = ",".join(hosts) if hosts else "SPEC"
    return (
        "; without it the run can be neither recovered nor shown. To stop and remove its"
        f" leftovers on the hosts{f' ({spec})' if hosts else ''}: "
        f"benchtui hosts sweep {spec} --run {run_dir.name}"
    )
