"""Convert fio's snapshots to samples, and the last one to the result of a host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tui.metrics.histogram import PERCENTILES, Bins, Histogram, combine_directions, label
from tui.metrics.registry import direction
from tui.model.dense import listed
from tui.model.event import (
    Buckets,
    DirectionResult,
    DirectionSample,
    HostResult,
    LatencyResult,
    PhaseName,
    Sample,
)
from tui.model.plain_data import percentile_name
from tui.workloads.fio.snapshot import (
    LatencyKind,
    Snapshot,
    StatusDirection,
    StatusJob,
    StatusLatency,
)

MIN_INTERVAL_MS = 50
HALF_A_BUCKET = 1 / 64  # of a value: its middle from its low edge, with room for rounding
# stamps that run ahead of the load's own time by more: the clock was set forward
CLOCK_SET_MS = 10_000


@dataclass(slots=True)
class _Totals:
    """Counters of one direction of one entry."""

    ios: int = 0
    bytes: int = 0
    lat_sum: float = 0.0
    lat_max: int = 0
    bins: Bins = field(default_factory=Bins)

    @classmethod
    def of(cls, part: StatusDirection, name: str, kind: LatencyKind) -> _Totals:
        latency = part.latency(direction(name).latency or kind)
        if latency is None:
            return cls(part.total_ios, part.io_bytes)
        return cls(
            part.total_ios,
            part.io_bytes,
            latency.n * latency.mean,
            int(latency.max),
            Bins(latency.bins),
        )


@dataclass(slots=True)
class _Entry:
    """State of one entry of ``jobs``: its totals, and whether it is in its ramp."""

    dirs: dict[str, _Totals]
    job: str = ""
    running_ms: int = 0
    runtime_ms: int = 0
    ramp: bool = False
    ramp_over: bool = False
    reset: bool = False

    @property
    def ios(self) -> int:
        return sum(part.ios for part in self.dirs.values())


class Meter:
    """Converts the snapshots of one fio process to samples.

    `ramp`: the job sets ramp_time, so I/O without latencies is ramp load; otherwise the job
    measures no latencies.
    """

    def __init__(
        self,
        host: str,
        step: int,
        phase: PhaseName,
        kind: LatencyKind = "clat",
        *,
        ramp: bool = False,
    ) -> None:
        self._host, self._step, self._phase = host, step, phase
        self._kind = kind
        self._has_ramp = ramp
        self._time_ms: int | None = None
        self._entries: list[_Entry] = []
        self._held: Snapshot | None = None

    def feed(self, snapshot: Snapshot) -> Sample | None:
        """Return the sample since the last one; None if there was no I/O yet, or none since the
        ramp, or if the sample is too short, in which case the next one includes it.
        """
        entries = self._read(snapshot)
        interval_ms = self._interval_ms(snapshot.timestamp_ms, entries)
        # a snapshot at the very end of a ramp: the time before it is not part of the load
        has_begun = interval_ms is not None and not any(each.ramp for each in self._entries)
        if not has_begun and not any(entry.ios for entry in entries):
            self._remember(snapshot.timestamp_ms, entries)
            return None
        if interval_ms is None or interval_ms < MIN_INTERVAL_MS:
            self._held = snapshot
            return None
        return self._sample(snapshot.timestamp_ms, interval_ms, entries)

    def flush(self) -> Sample | None:
        """Return the held-back sample at the end of the stream; None if it contains nothing new."""
        if self._held is None:
            return None
        snapshot, entries = self._held, self._read(self._held)
        interval_ms = max(self._interval_ms(snapshot.timestamp_ms, entries) or 0, 1)
        sample = self._sample(snapshot.timestamp_ms, interval_ms, entries)
        return sample if any(part.ios or part.bytes for part in sample.dirs.values()) else None

    def _remember(self, time_ms: int, entries: list[_Entry]) -> None:
        self._time_ms, self._entries, self._held = time_ms, entries, None

    def _before(self, place: int) -> _Entry | None:
        return self._entries[place] if place < len(self._entries) else None

    def _read(self, snapshot: Snapshot) -> list[_Entry]:
        return [
            self._entry(job, self._before(place), snapshot.timestamp_ms)
            for place, job in enumerate(snapshot.jobs)
        ]

    def _entry(self, job: StatusJob, before: _Entry | None, now_ms: int) -> _Entry:
        """Return the state of one ``jobs`` entry, compared with its previous state."""
        parts = job.directions()
        entry = _Entry(
            {name: _Totals.of(part, name, self._kind) for name, part in parts.items()}, job.jobname
        )
        runtime_ms = entry.runtime_ms = max((part.runtime for part in parts.values()), default=0)
        # fio >= 3.42 reads `runtime` before it waits for its workers and the counters after.
        entry.running_ms = now_ms - job.job_start if 0 < job.job_start <= now_ms else runtime_ms
        fell = before is not None and _fell(entry, before)
        entry.ramp_over = fell or (before is not None and before.ramp_over)
        entry.ramp = (
            self._has_ramp
            and not entry.ramp_over
            and entry.ios > 0
            and not _has_latency(parts.values())
        )
        entry.reset = fell or (before is not None and before.ramp and not entry.ramp)
        return entry

    def _interval_ms(self, now_ms: int, entries: list[_Entry]) -> int | None:
        """Return milliseconds since the last sample, limited to the time the load has run; None for
        the first sample.
        """
        since = None if self._time_ms is None else now_ms - self._time_ms
        active = [entry for entry in entries if entry.ios and not entry.ramp] or [
            e for e in entries if e.ios
        ]
        anew = all(entry.reset for entry in active) or not any(entry.ios for entry in self._entries)
        if since is not None and not anew:
            ran = max(
                (self._ran_ms(place, entry) for place, entry in enumerate(entries)), default=0
            )
            clock_was_set = since < 0 or since - ran > CLOCK_SET_MS
            return ran if clock_was_set and ran > 0 else since
        if not active or not anew:
            return since
        running = max(entry.running_ms for entry in active)
        return running if since is None or since < 0 else min(since, running)

    def _ran_ms(self, place: int, entry: _Entry) -> int:
        """Return how long an entry has run since the last sample, in ms, according to its own
        counters.
        """
        before = self._before(place)
        return entry.runtime_ms - (0 if before is None or entry.reset else before.runtime_ms)

    def _sample(self, now_ms: int, interval_ms: int, entries: list[_Entry]) -> Sample:
        measured = [place for place, entry in enumerate(entries) if entry.ios and not entry.ramp]
        ramping = [place for place, entry in enumerate(entries) if entry.ramp]
        dirs: dict[str, DirectionSample] = {}
        jobs: dict[str, dict[str, DirectionSample]] = {}
        for place in measured or ramping:
            parts = _grown_parts(entries[place], self._before(place))
            _add(dirs, parts)
            _add(jobs.setdefault(entries[place].job, {}), parts)
        several = self._phase == "measure" and len({entry.job for entry in entries}) > 1
        sample = Sample(
            t=0.0,
            host=self._host,
            step=self._step,
            phase=self._phase,
            host_time_ms=now_ms,
            interval_s=interval_ms / 1000,
            dirs=dirs,
            ramp=bool(ramping) and not measured,
            restart=self._restarts(entries),
            jobs=_without_repeats(jobs) if several else {},
        )
        self._remember(now_ms, entries)
        return sample

    def _restarts(self, entries: list[_Entry]) -> bool:
        """Return whether all I/Os counted so far have been reset."""
        known = [entry for entry, before in zip(entries, self._entries, strict=False) if before.ios]
        return any(entry.reset for entry in known) and all(
            entry.reset or entry.ramp for entry in known
        )


def _grown_parts(entry: _Entry, before: _Entry | None) -> dict[str, DirectionSample]:
    """Return the increase of an entry since `before`, by direction."""
    earlier = {} if before is None or entry.reset else before.dirs
    return {
        name: _grown(now, earlier.get(name) or _Totals())
        for name, now in entry.dirs.items()
        if now.ios or now.bytes
    }


def _add(dirs: dict[str, DirectionSample], parts: dict[str, DirectionSample]) -> None:
    """Add the increases of one entry to the sums by direction."""
    for name, part in parts.items():
        known = dirs.get(name)
        dirs[name] = part if known is None else _together(known, part)


def _without_repeats(
    jobs: dict[str, dict[str, DirectionSample]],
) -> dict[str, dict[str, DirectionSample | None]]:
    """Return the parts by job and direction, None where one job did everything: the sample already
    has it.
    """
    doing = Counter(name for parts in jobs.values() for name in parts)
    return {
        job: {name: part if doing[name] > 1 else None for name, part in parts.items()}
        for job, parts in jobs.items()
    }


def _fell(entry: _Entry, before: _Entry) -> bool:
    """Return whether a counter decreased, as all do at the end of ramp_time."""
    return any(
        now.ios < then.ios for name, now in entry.dirs.items() if (then := before.dirs.get(name))
    )


def _has_latency(parts: Iterable[StatusDirection]) -> bool:
    """Return whether any latency was counted; during ramp_time none is."""
    return any(kind is not None and kind.n for part in parts for kind in (part.clat, part.lat))


def _grown(now: _Totals, then: _Totals) -> DirectionSample:
    """Return the difference of two totals, never below 0, because live counters may be
    inconsistent.
    """
    return DirectionSample(
        ios=max(now.ios - then.ios, 0),
        bytes=max(now.bytes - then.bytes, 0),
        lat_sum_ns=max(round(now.lat_sum - then.lat_sum), 0),
        lat_max_ns=now.lat_max,
        lat=now.bins.since(then.bins),
    )


def _together(one: DirectionSample, other: DirectionSample) -> DirectionSample:
    return DirectionSample(
        ios=one.ios + other.ios,
        bytes=one.bytes + other.bytes,
        lat_sum_ns=one.lat_sum_ns + other.lat_sum_ns,
        lat_max_ns=max(one.lat_max_ns, other.lat_max_ns),
        lat=_merged_buckets(listed(one.lat), listed(other.lat)),
    )


def _merged_buckets(one: Buckets, other: Buckets) -> Buckets:
    histogram = Histogram.from_buckets(one)
    histogram.add(other)
    return histogram.buckets


LABELS = tuple(map(label, PERCENTILES))


def kept_result(snapshot: Snapshot, place: int) -> HostResult:
    """Return the result of a fio run not started by benchtui, with every printed percentile."""
    starts = [job.job_start for job in snapshot.jobs if job.job_start > 0]
    return HostResult(
        t=0.0,
        host="",
        step=place,
        dirs=_merged_directions(snapshot.jobs),
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
    """Return the result of one host, with entries of ``jobs`` merged by direction, and with
    benchtui's standard percentiles.
    """
    result = kept_result(snapshot, step)
    result.host, result.final = host, final
    for dirs in (result.dirs, *result.jobs.values()):
        for part in dirs.values():
            for latency in (part.slat, part.clat, part.lat):
                if latency is not None:
                    known = latency.percentiles_ns
                    latency.percentiles_ns = {name: known[name] for name in LABELS if name in known}
    return result


def _failed(job: StatusJob) -> int:
    """Return the number of failed I/Os; at least one for a job that ended with an error."""
    return max(job.total_err or 0, 1 if job.error else 0)


def _end_ms(snapshot: Snapshot) -> int:
    """Return the epoch milliseconds at which the load ended; fio prints its last object up to half
    a second later. Verification after the writes is not part of the load.
    """
    ends = [
        job.job_start + _runtime_ms(job) if job.job_start > 0 else snapshot.timestamp_ms
        for job in snapshot.jobs
    ]
    return min(max(ends, default=snapshot.timestamp_ms), snapshot.timestamp_ms)


def length_ms(jobs: Sequence[StatusJob]) -> int:
    """Return how long jobs that ran at the same time did I/O, in ms."""
    return max(map(_runtime_ms, jobs), default=0)


def _runtime_ms(job: StatusJob) -> int:
    return max((part.runtime for part in job.directions().values()), default=0)


def latency_result(latency: StatusLatency | None) -> LatencyResult | None:
    """Return one kind of latency; None if fio counted none.

    Percentiles are those that fio printed, limited to the exact maximum, which they may exceed by
    half a bucket, and the standard ones computed from its buckets.
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
        percentiles_ns=_filled_in(printed, histogram, int(latency.max)),
        buckets=None if histogram is None else histogram.buckets,
    )


def _printed(latency: StatusLatency) -> dict[str, int]:
    """Return the percentiles that fio printed, in order, limited to the maximum.

    fio may exceed it by half a bucket; larger values are kept, because they are not fio's.
    """
    most = int(latency.max)
    named = {
        name: value
        for printed, value in (latency.percentile or {}).items()
        if (name := percentile_name(printed)) is not None
    }
    last = most * (1 + HALF_A_BUCKET) + 1
    return {
        name: most if most < named[name] <= last else int(named[name])
        for name in sorted(named, key=float)
    }


def _filled_in(printed: dict[str, int], histogram: Histogram | None, most: int) -> dict[str, int]:
    """Return fio's percentiles, completed with the standard ones computed from its buckets."""
    if histogram is None:
        return printed
    wanted = _wanted(printed)
    found = histogram.percentiles(wanted, most) | printed
    return {label(share): found[label(share)] for share in wanted}


def _wanted(printed: dict[str, int]) -> list[float]:
    """Return the standard percentiles and the additional ones that fio printed."""
    return sorted({*PERCENTILES, *map(float, printed)})


def direction_result(part: StatusDirection) -> DirectionResult:
    """Return one direction of one entry, with figures as fio printed them."""
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


def _by_name(jobs: Sequence[StatusJob]) -> dict[str, dict[str, DirectionResult]]:
    """Return results by job name and direction; entries of the same name are merged."""
    names = dict.fromkeys(job.jobname for job in jobs)
    return {
        name: _merged_directions([job for job in jobs if job.jobname == name]) for name in names
    }


def entries_of(jobs: Sequence[StatusJob]) -> dict[str, dict[str, DirectionResult]]:
    """Return the entries that share a job name with others, by name and place.

    Each has the figures of one worker.
    """
    counts = Counter(job.jobname for job in jobs)
    seen = Counter[str]()
    found = {}
    for job in jobs:
        seen[job.jobname] += 1
        if counts[job.jobname] > 1:
            place = f"{job.jobname} {seen[job.jobname]} of {counts[job.jobname]}"
            found[place] = _merged_directions([job])
    return found


def _merged_directions(jobs: Sequence[StatusJob]) -> dict[str, DirectionResult]:
    """Return the directions that did I/O, merged over all entries."""
    waves = _waves(jobs)
    names = dict.fromkeys(name for job in jobs for name in job.directions())
    found = {
        name: _over_waves(waves, name) for name in names if any(_busy(job, name) for job in jobs)
    }
    if {"read", "write"} <= found.keys():
        found["read"].apart = not any(map(_mixes, waves))
    return found


def _mixes(wave: Sequence[StatusJob]) -> bool:
    """Return whether jobs that ran at the same time read while they wrote."""
    reads = any(_busy(job, "read") and not job.verifies_after for job in wave)
    return reads and any(_busy(job, "write") for job in wave)


def _busy(job: StatusJob, name: str) -> bool:
    part = job.directions().get(name)
    return part is not None and part.total_ios > 0


def _waves(jobs: Sequence[StatusJob]) -> list[list[StatusJob]]:
    """Return groups of entries that ran at the same time.

    A job with stonewall (alias wait_for_previous) waits for all before it.
    """
    waves: list[list[StatusJob]] = []
    for job in jobs:
        waits = "stonewall" in job.options or "wait_for_previous" in job.options
        if waits or not waves:
            waves.append([])
        waves[-1].append(job)
    return waves


def _over_waves(waves: Sequence[Sequence[StatusJob]], name: str) -> DirectionResult:
    """Return one direction over all waves: rates add up within a wave, and are averaged over the
    time of all waves.
    """
    parts = [
        combine_directions(
            [direction_result(job.directions()[name]) for job in wave if _busy(job, name)]
        )
        for wave in waves
        if any(_busy(job, name) for job in wave)
    ]
    merged = combine_directions(parts)
    if len(parts) > 1:
        merged.runtime_s = sum(part.runtime_s for part in parts)
        merged.iops = merged.ios / merged.runtime_s if merged.runtime_s else 0.0
        merged.bw_bytes_per_s = merged.bytes / merged.runtime_s if merged.runtime_s else 0.0
        merged.shortest_s = 0.0
    return merged


def _cpu(jobs: Sequence[StatusJob], name: str) -> float | None:
    """Return CPU time in per cent of runtime, averaged over all jobs weighted by runtime; None
    without runtime.
    """
    total = sum(job.job_runtime for job in jobs)
    return (
        sum(float(getattr(job, name)) * job.job_runtime for job in jobs) / total
        if total > 0
        else None
    )
