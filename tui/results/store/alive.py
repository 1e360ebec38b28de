"""Whether the engine of a run lives."""

from __future__ import annotations

from pathlib import Path

from tui.model.rundir import PID_FILE


def is_running(run_dir: Path) -> bool:
    """Tell whether the engine of a run lives: the same process, not another one with its number."""
    try:
        pid, start_ticks, boot_id = (run_dir / PID_FILE).read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return False
    return process_identity(pid) == (start_ticks, boot_id)


def process_identity(pid: str) -> tuple[str, str] | None:
    """Return start time in ticks and boot id of a process, None when there is none (proc(5): stat, field 22)."""
    try:
        stat = Path("/proc", pid, "stat").read_text(encoding="utf-8", errors="replace")
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        after_name = stat.rpartition(")")[2].split()  # the name may hold blanks and brackets
        return (after_name[19], boot_id) if after_name[0] not in ("Z", "X") else None
    except (OSError, IndexError):
        return None
