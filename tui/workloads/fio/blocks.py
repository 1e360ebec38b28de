"""Refuse I/O sizes that direct I/O cannot do: the kernel rejects them with EINVAL."""

from __future__ import annotations

import re

from tui.model.quantities import parse_size
from tui.workloads.fio.options import JobOptions

SECTOR = 512  # bytes, the smallest logical block of any device
EXPECTED = f"expected a multiple of {SECTOR} with direct=1"
SIZES = ("bssplit", "bsrange", "bs")  # the first that is set counts
# engines that open files with O_DIRECT and read or write them
OPENING = frozenset(
    ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio")
)


def block_problem(job: JobOptions) -> tuple[str, str] | None:
    """Return the option with a size that direct I/O cannot do, and why; None if there is none."""
    direct = job.flag("direct") or not job.flag("buffered", default=True)
    # with kb_base, 4k is not 4096
    if not direct or job.engine not in OPENING or job.get("kb_base") is not None:
        return None
    name = next((option for option in SIZES if job.get(option)), None)
    if name is None or not any(size % SECTOR for size in _sizes(name, job.get(name) or "")):
        return None
    return name, EXPECTED


def _sizes(name: str, text: str) -> list[int]:
    """Return the sizes that an option sets: of a range the smallest, which the others multiply."""
    parts = [part.partition("/")[0] for part in re.split("[,:]", text)]
    sizes = [part.partition("-")[0] for part in parts if part] if name != "bssplit" else parts
    try:
        return [parse_size(size) for size in sizes if size]
    except ValueError:
        return []  # reported where values are checked
