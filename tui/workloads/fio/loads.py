"""What fio's jobs are in the field's words, for those who judge figures and need not know fio."""

from __future__ import annotations

from collections.abc import Sequence

from tui.model.plan import JobLoad
from tui.workloads.fio.options import SYNC_OPTIONS, JobOptions, depth_in_vain

PACING = ("thinktime", "flow", "rate_process", "job_max_latency", "latency_target", "ioscheduler")
REDUCIBLE = ("zero_buffers", "buffer_pattern", "buffer_compress_percentage", "dedupe_percentage")
RATED = ("read", "write", "trim")  # the order of fio's lists: rate_iops=500,100


def job_loads(jobs: Sequence[JobOptions]) -> list[JobLoad]:
    """Return the jobs of one host."""
    return [_load(job, wave) for wave, together in enumerate(waves(jobs)) for job in together]


def waves(jobs: Sequence[JobOptions]) -> list[list[JobOptions]]:
    """Return the jobs that run together: one with stonewall waits for all before it."""
    found: list[list[JobOptions]] = []
    for job in jobs:
        if not found or job.flag("stonewall"):
            found.append([])
        found[-1].append(job)
    return found


def _load(job: JobOptions, wave: int) -> JobLoad:
    iops, bandwidth = _rates(job, "rate_iops"), _rates(job, "rate")
    paced = bool(iops or bandwidth) or any(job.get(name) not in (None, "0", "") for name in PACING)
    return JobLoad(
        name=job.name,
        directions=job.access,
        workers=job.numjobs,
        held=job.in_flight,
        wave=wave,
        bound_s=job.seconds("runtime") if job.flag("time_based") and job.seconds("runtime") > 0 else None,
        queues=job.queues,
        direct=job.flag("direct") or not job.flag("buffered", default=True),
        stores=not job.harmless and not job.makes_no_data,
        paced=paced or (job.count("startdelay", 0) > 0 and wave > 0),
        rate_iops=iops,
        rate_bytes_per_s=bandwidth,
        random=(job.get("rw") or "").startswith("rand"),
        same_offsets=_same_offsets(job),
        reducible=_reducible(job),
        durable=_durable(job),
        flushed=_named(job, ("end_fsync", "fsync_on_close")),
        block_bytes=_block(job),
        in_vain=depth_in_vain(job),
        idle=(f"iodepth={job.get('iodepth')}",) if job.keeps_no_depth and job.get("iodepth") else (),
    )


def _block(job: JobOptions) -> int | None:
    """Return the size of each I/O, where all have the same: one value for all directions, no range, no mixture."""
    given = job.get("bs") or "4k"
    several = any(job.get(name) for name in ("bsrange", "bssplit")) or "," in given or "-" in given
    return None if several else job.size("bs") or 4096


def _rates(job: JobOptions, option: str) -> dict[str, float]:
    """Return what all workers of a job are to do in each direction; a list has a place for read, write and trim."""
    given = job.get(option)
    if not given:
        return {}
    parts = [part.strip() for part in given.split(",")]
    values = parts if len(parts) > 1 else parts * len(RATED)
    found = {name: _amount(job, option, value) for name, value in zip(RATED, values, strict=False) if value}
    return {name: value * job.numjobs for name, value in found.items() if value and name in job.access}


def _amount(job: JobOptions, option: str, value: str) -> float:
    return float(JobOptions(job.name, {}, {option: value}).count(option))


def _same_offsets(job: JobOptions) -> bool:
    """Tell whether the profile itself seeds the offsets: fio <= 3.42 takes randseed for them with randrepeat=0 only."""
    return job.flag("randrepeat", default=job.get("randseed") is not None)


def _reducible(job: JobOptions) -> str:
    return "" if job.access == ("read",) else _named(job, REDUCIBLE)


def _durable(job: JobOptions) -> str:
    if job.access == ("read",):
        return ""
    said = _named(job, SYNC_OPTIONS)
    return said or ("sync=" + (job.get("sync") or "") if job.get("sync") not in (None, "0", "none") else "")


def _named(job: JobOptions, options: Sequence[str]) -> str:
    """Return the first of these options that is set, as fio has it."""
    found = ((name, job.get(name)) for name in options)
    return next((f"{name}={value}" for name, value in found if value not in (None, "0", "")), "")
