"""Whether the load of a job file has its test files open."""

from __future__ import annotations

from tui.workloads.fio.engine_kinds import OPENING_ENGINES
from tui.workloads.fio.options import JobOptions, sections


def opens_files(job_file: str) -> bool:
    """Return whether each job opens its files by their names, from its start to its end.

    A job with a startdelay has none open at first; memory in a file (`mem=mmap:FILE`) is another
    file that is open.
    """
    jobs = [JobOptions(name, {}, options) for name, options in sections(job_file)]
    return bool(jobs) and all(
        job.engine in OPENING_ENGINES
        and not any(job.get(option) for option in ("startdelay", "unlink_each_loop"))
        and ":" not in (job.get("mem") or job.get("iomem") or "")
        for job in jobs
    )
