"""From the last complete object to the result of one host."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics.histogram import PERCENTILES, Histogram, combine_directions, label
from tui.model.event import DirectionResult, HostResult, LatencyResult
from tui.model.percentile import percentile_name
from tui.workloads.fio.snapshot import Direction, Job, Latency, Snapshot

LABELS = tuple(map(label, PERCENTILES))


def kept_result(snapshot: Snapshot, place: int) -> HostResult:
    """Return what fio counted on a host that somebody else ran it on: with every percentile that it printed."""
    starts = [job.job_start for job in snapshot.jobs if job.job_start > 0]
    return HostResult(
        t=0.0,
        host="",
        step=place,
        dirs=_merged(snapshot.jobs),
        jobs=_by_name(snapshot.jobs) if len(snapshot.jobs) > 1 else {},
        tool_version=snapshot.version,
        errors=sorted({job.error for job in snapshot.jobs if job.error}),
        failed_ios=sum(map(_failed, snapshot.jobs)),
        start_ms=min(starts, default=None),
        end_ms=_end_ms(snapshot),
        usr_cpu=_cpu(snapshot.jobs, "usr_cpu"),
        sys_cpu=_cpu(snapshot.jobs, "sys_cpu"),
    )


def host_result(snapshot: Snapshot, host: str, step: int, *, final: bool) -> HostResult:
    """Return what fio counted on one host, entries of ``jobs`` merged by direction; the percentiles of every record."""
    result = kept_result(snapshot, step)
    result.host, result.final = host, final
    for dirs in (result.dirs, *result.jobs.values()):
        for part in dirs.values():
            for latency in (part.slat, part.clat, part.lat):
                if latency is not None:
                    told = latency.percentiles_ns
                    latency.percentiles_ns = {name: told[name] for name in LABELS if name in told}
    return result


def _failed(job: Job) -> int:
    """Return how many I/Os failed: of a job that ends with its first error, one at least."""
    return max(job.total_err or 0, 1 if job.error else 0)


def _end_ms(snapshot: Snapshot) -> int:
    """Return when the load ended; fio prints its last object up to half a second later."""
    ends = [job.job_start + _runtime_ms(job) if job.job_start > 0 else snapshot.timestamp_ms for job in snapshot.jobs]
    return min(max(ends, default=snapshot.timestamp_ms), snapshot.timestamp_ms)


def _runtime_ms(job: Job) -> int:
    return max((part.runtime for part in job.directions().values()), default=0)


def latency_result(latency: Latency | None) -> LatencyResult | None:
    """Return one latency kind; None when fio counted none.

    Percentiles are fio's own (same buckets, same rule), but none is above the exact maximum, as fio's may be.
    """
    if latency is None or latency.n == 0:
        return None
    histogram = Histogram.from_bins(latency.bins) if latency.bins else None
    printed = _printed(latency)
    return LatencyResult(
        n=latency.n,
        min_ns=int(latency.min),
        max_ns=int(latency.max),
        mean_ns=latency.mean,
        stddev_ns=latency.stddev,
        percentiles_ns=printed if histogram is None else histogram.percentiles(_wanted(printed), int(latency.max)),
        buckets=None if histogram is None else histogram.buckets,
    )


def _printed(latency: Latency) -> dict[str, int]:
    """Return the percentiles that fio printed, in order."""
    most, told = int(latency.max), latency.percentile or {}
    named = {name: value for printed, value in told.items() if (name := percentile_name(printed)) is not None}
    return {name: min(int(named[name]), most) for name in sorted(named, key=float)}


def _wanted(printed: dict[str, int]) -> list[float]:
    """Return the percentiles of every record, and those that fio was told to print beside them."""
    return sorted({*PERCENTILES, *map(float, printed)})


def direction_result(part: Direction) -> DirectionResult:
    """Return one direction of one entry, figures as fio printed them."""
    return DirectionResult(
        ios=part.total_ios,
        bytes=part.io_bytes,
        runtime_s=part.runtime / 1000,
        iops=part.iops,
        bw_bytes_per_s=part.bw_bytes,
        short_ios=part.short_ios,
        drop_ios=part.drop_ios,
        slat=latency_result(part.slat),
        clat=latency_result(part.clat),
        lat=latency_result(part.lat),
    )


def _by_name(jobs: Sequence[Job]) -> dict[str, dict[str, DirectionResult]]:
    """Return the directions of every job name; entries of the same name are one."""
    names = dict.fromkeys(job.jobname for job in jobs)
    return {name: _merged([job for job in jobs if job.jobname == name]) for name in names}


def _merged(jobs: Sequence[Job]) -> dict[str, DirectionResult]:
    """Return the directions that did I/O, over all entries."""
    waves = _waves(jobs)
    names = dict.fromkeys(name for job in jobs for name in job.directions())
    return {name: _over_waves(waves, name) for name in names if any(_busy(job, name) for job in jobs)}


def _busy(job: Job, name: str) -> bool:
    part = job.directions().get(name)
    return part is not None and part.total_ios > 0


def _waves(jobs: Sequence[Job]) -> list[list[Job]]:
    """Return the entries that ran together; a job with stonewall (alias wait_for_previous) waits for all before it."""
    waves: list[list[Job]] = []
    for job in jobs:
        waits = "stonewall" in job.options or "wait_for_previous" in job.options
        if waits or not waves:
            waves.append([])
        waves[-1].append(job)
    return waves


def _over_waves(waves: Sequence[Sequence[Job]], name: str) -> DirectionResult:
    """Return one direction: rates are summed over jobs that ran together, and averaged over time from wave to wave."""
    parts = [
        combine_directions([direction_result(job.directions()[name]) for job in wave if _busy(job, name)])
        for wave in waves
        if any(_busy(job, name) for job in wave)
    ]
    merged = combine_directions(parts)
    if len(parts) > 1:
        merged.runtime_s = sum(part.runtime_s for part in parts)
        merged.iops = merged.ios / merged.runtime_s if merged.runtime_s else 0.0
        merged.bw_bytes_per_s = merged.bytes / merged.runtime_s if merged.runtime_s else 0.0
    return merged


def _cpu(jobs: Sequence[Job], name: str) -> float | None:
    """Return CPU percent of one job's time, averaged over all jobs by how long they ran."""
    total = sum(job.job_runtime for job in jobs)
    return sum(float(getattr(job, name)) * job.job_runtime for job in jobs) / total if total > 0 else None
