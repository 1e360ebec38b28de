"""From cumulative snapshots to samples: what each interval brought.

fio's live counters are read without locks and its snapshots come late, in bunches, or twice; only `timestamp_ms`
tells the interval, unless the host's clock was set meanwhile: then the time that the load says it ran, which is fio's
monotonic clock. Counters begin again at the end of ramp_time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tui.metrics.histogram import Bins, Histogram
from tui.metrics.registry import direction
from tui.model.event import Buckets, DirectionSample, PhaseName, Sample
from tui.workloads.fio.snapshot import Direction, Job, LatencyKind, Snapshot

MIN_INTERVAL_MS = 50
CLOCK_SET_MS = 10_000  # stamps that run ahead of the load's own time by more: the clock was set forward


@dataclass(slots=True)
class _Totals:
    """One direction of one entry, as its counters stood."""

    ios: int = 0
    bytes: int = 0
    lat_sum: float = 0.0
    lat_max: int = 0
    bins: Bins = field(default_factory=Bins)

    @classmethod
    def of(cls, part: Direction, name: str, kind: LatencyKind) -> _Totals:
        latency = part.latency(direction(name).latency or kind)
        if latency is None:
            return cls(part.total_ios, part.io_bytes)
        return cls(part.total_ios, part.io_bytes, latency.n * latency.mean, int(latency.max), Bins(latency.bins))


@dataclass(slots=True)
class _Entry:
    """One entry of ``jobs``: its totals, and whether they are ramp load."""

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
    """Makes samples of the snapshots of one fio process.

    `ramp` says that the load begins with ramp_time, which is what tells ramp load from a job without latencies.
    """

    def __init__(
        self, host: str, step: int, phase: PhaseName, kind: LatencyKind = "clat", *, ramp: bool = False
    ) -> None:
        self._host, self._step, self._phase = host, step, phase
        self._kind = kind
        self._has_ramp = ramp
        self._time_ms: int | None = None
        self._entries: list[_Entry] = []
        self._held: Snapshot | None = None

    def feed(self, snapshot: Snapshot) -> Sample | None:
        """Return the sample since the last one, or None when it is too short to stand alone: the next will hold it."""
        entries = self._read(snapshot)
        interval_ms = self._interval_ms(snapshot.timestamp_ms, entries)
        if interval_ms is None and not any(entry.ios for entry in entries):
            self._remember(snapshot.timestamp_ms, entries)
            return None
        if interval_ms is None or interval_ms < MIN_INTERVAL_MS:
            self._held = snapshot
            return None
        return self._sample(snapshot.timestamp_ms, interval_ms, entries)

    def flush(self) -> Sample | None:
        """Return what is still held back, at the end of the stream; None when it holds nothing new."""
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
        return [self._entry(job, self._before(place), snapshot.timestamp_ms) for place, job in enumerate(snapshot.jobs)]

    def _entry(self, job: Job, before: _Entry | None, now_ms: int) -> _Entry:
        """Return the state of one ``jobs`` entry, compared with how it was before."""
        parts = job.directions()
        entry = _Entry({name: _Totals.of(part, name, self._kind) for name, part in parts.items()}, job.jobname)
        runtime_ms = entry.runtime_ms = max((part.runtime for part in parts.values()), default=0)
        # fio >= 3.42 reads `runtime` before it waits for its workers and the counters after.
        entry.running_ms = now_ms - job.job_start if 0 < job.job_start <= now_ms else runtime_ms
        fell = before is not None and _fell(entry, before)
        entry.ramp_over = fell or (before is not None and before.ramp_over)
        entry.ramp = self._has_ramp and not entry.ramp_over and entry.ios > 0 and not _has_latency(parts.values())
        entry.reset = fell or (before is not None and before.ramp and not entry.ramp)
        return entry

    def _interval_ms(self, now_ms: int, entries: list[_Entry]) -> int | None:
        """Return milliseconds since the last sample, not more than the load itself has run; None at the beginning."""
        since = None if self._time_ms is None else now_ms - self._time_ms
        active = [entry for entry in entries if entry.ios and not entry.ramp] or [e for e in entries if e.ios]
        anew = all(entry.reset for entry in active) or not any(entry.ios for entry in self._entries)
        if since is not None and not anew:
            ran = max((self._ran_ms(place, entry) for place, entry in enumerate(entries)), default=0)
            clock_was_set = since < 0 or since - ran > CLOCK_SET_MS
            return ran if clock_was_set and ran > 0 else since
        if not active or not anew:
            return since
        running = max(entry.running_ms for entry in active)
        return running if since is None or since < 0 else min(since, running)

    def _ran_ms(self, place: int, entry: _Entry) -> int:
        """Return how long an entry says that it ran since the last sample."""
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
        """Tell whether nothing that was counted before still counts."""
        known = [entry for entry, before in zip(entries, self._entries, strict=False) if before.ios]
        return any(entry.reset for entry in known) and all(entry.reset or entry.ramp for entry in known)


def _grown_parts(entry: _Entry, before: _Entry | None) -> dict[str, DirectionSample]:
    """Return what one entry did since before, by direction."""
    earlier = {} if before is None or entry.reset else before.dirs
    return {
        name: _grown(now, earlier.get(name) or _Totals()) for name, now in entry.dirs.items() if now.ios or now.bytes
    }


def _add(dirs: dict[str, DirectionSample], parts: dict[str, DirectionSample]) -> None:
    """Add what one entry did to the sums by direction."""
    for name, part in parts.items():
        known = dirs.get(name)
        dirs[name] = part if known is None else _together(known, part)


def _without_repeats(jobs: dict[str, dict[str, DirectionSample]]) -> dict[str, dict[str, DirectionSample | None]]:
    """Return the parts of jobs, None where the job did all of a direction: the sample has that already."""
    doing = Counter(name for parts in jobs.values() for name in parts)
    return {
        job: {name: part if doing[name] > 1 else None for name, part in parts.items()} for job, parts in jobs.items()
    }


def _fell(entry: _Entry, before: _Entry) -> bool:
    """Tell whether a counter went back, as all do at the end of ramp_time."""
    return any(now.ios < then.ios for name, now in entry.dirs.items() if (then := before.dirs.get(name)))


def _has_latency(parts: Iterable[Direction]) -> bool:
    """Tell whether any latency has been counted; during ramp_time none is."""
    return any(kind is not None and kind.n for part in parts for kind in (part.clat, part.lat))


def _grown(now: _Totals, then: _Totals) -> DirectionSample:
    """Return the difference of two totals, never below 0: live counters may be torn."""
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
        lat=_merged(one.lat, other.lat),
    )


def _merged(one: Buckets, other: Buckets) -> Buckets:
    histogram = Histogram.from_buckets(one)
    histogram.add(other)
    return histogram.buckets
