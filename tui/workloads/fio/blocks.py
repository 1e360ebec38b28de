"""I/O sizes of direct I/O, and those that no device can do: the kernel rejects them with EINVAL.

Only the host knows what a file system can do (`tui/engine/preflight/rules.py`).
"""

from __future__ import annotations

import posixpath
import re

from tui.model.plan import is_device
from tui.model.quantities import parse_size
from tui.workloads.fio.engine_kinds import OPENING_ENGINES
from tui.workloads.fio.options import JobOptions, sections

SECTOR = 512  # bytes, the smallest logical block of any device
EXPECTED = f"expected a multiple of {SECTOR} with direct=1 on a device"
SIZES = ("bssplit", "bsrange", "bs")  # the first that is set counts


def block_problem(job: JobOptions) -> tuple[str, str] | None:
    """Return the option with a size that a device cannot do with direct I/O, and why; None if there
    is none.
    """
    if not _is_direct(job) or not any(map(is_device, _targets(job))):
        return None
    name = next((option for option in SIZES if job.get(option)), None)
    if name is None or not any(size % SECTOR for size in _sizes(name, job.get(name) or "")):
        return None
    return name, EXPECTED


def direct_sizes(job_file: str) -> dict[str, tuple[int, ...]]:
    """Return the sizes of direct I/O in a job file, by file, device or directory.

    For a range, only the smallest size.
    """
    found: dict[str, tuple[int, ...]] = {}
    for job in (JobOptions(name, {}, options) for name, options in sections(job_file)):
        name = next((option for option in SIZES if job.get(option)), "bs")
        sizes = _sizes(name, job.get(name) or "4k") if _is_direct(job) else []
        for target in _targets(job) if sizes else ():
            found[target] = (*found.get(target, ()), *sizes)
    return found


def _is_direct(job: JobOptions) -> bool:
    """Return whether a job opens its files for direct I/O, without kb_base, which changes the
    meaning of sizes.
    """
    direct = job.flag("direct") or not job.flag("buffered", default=True)
    # with kb_base, 4k is not 4096
    return direct and job.engine in OPENING_ENGINES and job.get("kb_base") is None


def _targets(job: JobOptions) -> list[str]:
    """Return a job's files, or its directory."""
    files, directory = job.get("filename") or "", (job.get("directory") or "").rstrip("/")
    names = [name for name in files.split(":") if name]
    return [posixpath.join(directory, name) for name in names] or [directory] * bool(directory)


def _sizes(name: str, text: str) -> list[int]:
    """Return the sizes that an option sets; for a range only the smallest, which fio multiplies."""
    parts = [part.partition("/")[0] for part in re.split("[,:]", text)]
    sizes = [part.partition("-")[0] for part in parts if part] if name != "bssplit" else parts
    try:
        return [parse_size(size) for size in sizes if size]
    except ValueError:
        return []  # reported where values are checked
