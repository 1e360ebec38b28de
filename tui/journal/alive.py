"""Whether the engine of a run lives."""

from __future__ import annotations

import time
from pathlib import Path

from tui.model.bounded import MOST_SMALL_BYTES, read_text
from tui.model.rundir import JOURNAL_FILE, PID_FILE

FRESH_S = 60.0


def is_running(run_dir: Path) -> bool:
    """Tell whether the engine of a run lives: the same process, not another one with its number."""
    try:
        pid, start_ticks, boot_id = read_text(run_dir / PID_FILE, MOST_SMALL_BYTES, "ascii").split()
    except (OSError, ValueError):
        return False
    return process_identity(pid) == (start_ticks, boot_id)


def may_live_elsewhere(run_dir: Path) -> bool:
    """Tell whether another machine's engine has written a run's journal within FRESH_S: homes may be shared."""
    try:
        boot_id = read_text(run_dir / PID_FILE, MOST_SMALL_BYTES, "ascii").split()[2]
        age_s = time.time() - (run_dir / JOURNAL_FILE).stat().st_mtime
        return boot_id != _boot_id() and age_s < FRESH_S
    except (OSError, ValueError, IndexError):
        return False


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def process_identity(pid: str) -> tuple[str, str] | None:
    """Return start time in ticks and boot id of a process, None when there is none (proc(5): stat, field 22)."""
    try:
        stat = Path("/proc", pid, "stat").read_text(encoding="utf-8", errors="replace")
        boot_id = _boot_id()
        after_name = stat.rpartition(")")[2].split()  # the name may hold blanks and brackets
        return (after_name[19], boot_id) if after_name[0] not in ("Z", "X") else None
    except (OSError, IndexError):
        return None
