"""What fio prints for a job besides its result, a job's options, and the fields that each version
prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from math import inf

from msgspec import Struct, field

from tui.model.event import Contradiction
from tui.model.problem import UsageError
from tui.model.quantities import parse_duration
from tui.workloads.fio.options import JobOptions
from tui.workloads.fio.snapshot import (
    Amount,
    Count,
    ErrorNumber,
    StatusDirection,
    StatusLatency,
    number_of,
)

KIB = 1024
SIGMAS = 6.0
PRINTED = 1e-3
LEAST_IOS, LEAST_RANGE_NS = 100, 100_000  # two latencies may be equal by chance below
LEAST_MS = 400
LATE_MS = 20  # by which a worker outlives its last I/O, on a busy host
MOST_LEVEL = 64  # the last level of depths has no upper end
RAMPS = ("ramp_time", "ramp_size")
BATCHES = (
    "iodepth_low", "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete",
    "iodepth_batch_complete_min", "iodepth_batch_complete_max",
)  # fmt: skip
NO_RAMP = frozenset((name, value) for name in RAMPS for value in ("0", "0s"))
ENDED = 0.95  # of its runtime or its bytes: the last blocks of files may be cut


class PrintedDirection(StatusDirection):
    """One direction with every figure that fio prints for it."""

    bw: Amount | None = None
    io_kbytes: Count | None = None
    iops_min: Amount = 0.0
    iops_max: Amount = 0.0
    iops_mean: Amount = 0.0
    iops_stddev: Amount | None = None
    iops_samples: Count = 0
    bw_agg: Amount | None = None
    bw_min: Amount = 0.0
    bw_max: Amount = 0.0
    bw_mean: Amount = 0.0
    bw_dev: Amount | None = None
    bw_samples: Count = 0

    @property
    def whole(self) -> StatusLatency | None:
        """Latency from submission to completion (lat); clat if fio did not count it, None without
        either.
        """
        return self.lat if self.lat is not None and self.lat.n else self.clat


class PrintedSyncs(Struct):
    """The ``sync`` object with every figure that fio prints for it."""

    total_ios: Count | None = None
    lat: StatusLatency | None = field(name="lat_ns", default=None)


class PrintedSeconds(Struct):
    """The ``data`` object of ``steadystate``: the last seconds, and their means."""

    iops_mean: Amount = 0.0
    bw_mean: Amount = 0.0
    iops: list[Amount] = field(default_factory=list)
    bw: list[Amount] = field(default_factory=list)


class PrintedSteadyState(Struct):
    """The ``steadystate`` object. `rule` is its criterion with the limit: ``iops_slope:5.0%``."""

    rule: str = field(name="ss", default="")
    duration: Count = 0
    attained: Count = 0
    criterion: str = ""
    max_deviation: float = 0.0
    slope: float = 0.0
    data: PrintedSeconds = field(default_factory=PrintedSeconds)


class PrintedJob(Struct):
    """One entry of ``jobs`` or ``client_stats``, with every figure that is checked."""

    jobname: str = ""
    groupid: Count = 0
    hostname: str = ""
    port: Count = 0
    job_runtime: Count = 0
    job_start: Count | None = None
    usr_cpu: Amount | None = None
    sys_cpu: Amount = 0.0
    ctx: Count = 0
    elapsed: Count = 0
    error: ErrorNumber = 0
    total_err: Count | None = None
    options: dict[str, str] = field(name="job options", default_factory=dict)
    read: PrintedDirection | None = None
    write: PrintedDirection | None = None
    trim: PrintedDirection | None = None
    mixed: PrintedDirection | None = None
    sync: PrintedSyncs | None = None
    latency_ns: dict[str, Amount] = field(default_factory=dict)
    latency_us: dict[str, Amount] = field(default_factory=dict)
    latency_ms: dict[str, Amount] = field(default_factory=dict)
    levels: dict[str, Amount] = field(name="iodepth_level", default_factory=dict)
    latency_depth: Count | None = None
    latency_target: Count | None = None
    latency_window: Count | None = None
    latency_percentile: Amount | None = None
    steady: PrintedSteadyState | None = field(name="steadystate", default=None)

    @property
    def dirs(self) -> dict[str, PrintedDirection]:
        """The directions that did I/O, each once."""
        split = {"read": self.read, "write": self.write, "trim": self.trim}
        found = {name: part for name, part in split.items() if part is not None and part.total_ios}
        if not found and self.mixed is not None and self.mixed.total_ios:
            return {"mixed": self.mixed}
        return found

    @property
    def failed(self) -> bool:
        """Whether I/Os failed, in which case counts may differ legitimately."""
        return bool(self.error or self.total_err)


class PrintedDevice(Struct):
    """One entry of ``disk_util``, with the counters that are checked; sectors since fio 3.36."""

    read_ios: Count = 0
    write_ios: Count = 0
    read_merges: Count = 0
    write_merges: Count = 0
    read_sectors: Count | None = None
    write_sectors: Count | None = None


class PrintedDocument(Struct):
    """A JSON object of fio with every figure that is checked."""

    version: str = field(name="fio version", default="")
    timestamp: Count = 0
    time: str = ""
    jobs: list[PrintedJob] = field(default_factory=list)
    clients: list[PrintedJob] = field(name="client_stats", default_factory=list)
    devices: list[PrintedDevice] = field(name="disk_util", default_factory=list)


class Entry(Struct, frozen=True):
    """A job in fio's output, with its options."""

    job: PrintedJob
    options: JobOptions

    @property
    def merged(self) -> bool:
        """Whether the entry is a group of several jobs: it has the first one's name, and the
        options of the last one.
        """
        return self.job.options.get("name", self.job.jobname) != self.job.jobname

    @property
    def alone(self) -> bool:
        """Whether the entry is a single worker: the runtime of a group is the sum over its members.

        A member that ran for less than LEAST_MS has no sample of half a second. fio does not print
        group_reporting if it is given without a value.
        """
        workers = numjobs_of(self.options)
        if self.merged:
            return False
        grouped = self.options.get("group_reporting") is not None
        if grouped and workers != 1:
            return False
        longest = max((part.runtime for part in self.job.dirs.values()), default=0)
        more = LEAST_MS if workers == 1 and not grouped else min(LEAST_MS, longest / 4)
        return 0 < self.job.job_runtime <= longest + more

    @property
    def workers(self) -> int:
        """Number of workers whose figures the entry adds up: 1 for a single worker, `numjobs` for a
        group of one job, 0 if other jobs may be in the group.

        Only the time that the members ran distinguishes a group of one job from one of several:
        without a `name`, its options are those of any of its jobs.
        """
        if self.alone:
            return 1
        count = numjobs_of(self.options)
        longest = max((part.runtime for part in self.job.dirs.values()), default=0)
        least, most = ENDED * count * longest, count * (longest + LATE_MS)
        whole = count > 1 and not self.merged and least <= self.job.job_runtime <= most
        return count if whole else 0

    @property
    def slots(self) -> int:
        """The largest number of I/Os that a worker has in flight, by its options and by fio's own
        count.
        """
        most = max((level for level, share in self.levels if share), default=MOST_LEVEL)
        try:
            asked = self.options.most_in_flight // self.options.numjobs
        except UsageError:
            asked = most * 2
        return asked if most >= MOST_LEVEL else min(asked, max(2 * most - 1, 1))

    @property
    def levels(self) -> list[tuple[int, float]]:
        """The share of submissions at each depth, by the smallest depth of a level."""
        named = ((name.removeprefix(">="), share) for name, share in self.job.levels.items())
        return [(int(least), share) for least, share in named if least.isdecimal()]


Found = tuple[str, float, float]


def named(found: Iterable[Found], entry: Entry, direction: str) -> Iterator[Contradiction]:
    """Yield contradictions of a job, in one direction."""
    for kind, told, expected in found:
        yield Contradiction(kind, told, expected, entry.job.jobname, direction)


def has(options: JobOptions, names: Iterable[str]) -> bool:
    """Return whether any of these options is given, with or without a value; ignore ramps of 0."""
    told = {name: options.get(name) for name in names}
    return any(value is not None and (name, value) not in NO_RAMP for name, value in told.items())


def batch_of(options: JobOptions) -> float:
    """Return the most I/Os that a worker sends or completes together on purpose; infinite if the
    queue depth cannot be read.
    """
    if not has(options, BATCHES):
        return 1
    try:
        return max(options.count("iodepth"), 1)
    except UsageError:
        return inf


def numjobs_of(options: JobOptions) -> int:
    """Return the number of workers of a job; 0 if it cannot be read."""
    try:
        return options.numjobs
    except UsageError:
        return 0


def microseconds(options: JobOptions, name: str) -> float | None:
    """Return a time in µs; a number without a unit is µs. None if it is not set or unreadable."""
    text = options.get(name)
    if not text:
        return None
    try:
        return float(text) if text.isdecimal() else parse_duration(text) * 1e6
    except ValueError:
        return None


# days on which some versions were tagged; a version in between is later than the one before it
TAGGED = {
    (3, 0): date(2017, 8, 16), (3, 5): date(2018, 2, 20), (3, 12): date(2018, 11, 2),
    (3, 16): date(2019, 9, 19), (3, 20): date(2020, 5, 23), (3, 24): date(2020, 11, 12),
    (3, 27): date(2021, 5, 26), (3, 30): date(2022, 4, 6), (3, 33): date(2022, 11, 6),
    (3, 35): date(2023, 5, 23), (3, 36): date(2023, 10, 20), (3, 39): date(2025, 2, 18),
    (3, 40): date(2025, 5, 20), (3, 41): date(2025, 9, 5), (3, 42): date(2026, 4, 6),
}  # fmt: skip
BEFORE_S = 100 * 86_400.0  # the version number is set some time before the tag
EPOCH_S = 10 * 365 * 86_400.0  # a host whose clock was never set


def of_version(document: PrintedDocument) -> Iterator[Contradiction]:
    """Yield a version that is too old for a field of the output, or too new for its date."""
    version = number_of(document.version)
    if version == (0, 0):
        return
    since = max(map(_since, [*document.jobs, *document.clients]), default=(0, 0))
    if version < since:
        yield Contradiction("version", number(*version), number(*since))
    day = max((day for known, day in TAGGED.items() if known <= version), default=None)
    if day is None:
        return
    tagged_s = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    if EPOCH_S < document.timestamp < tagged_s - BEFORE_S:
        yield Contradiction("too-early", document.timestamp, tagged_s)


def number(major: int, minor: int) -> float:
    """Return a version as one number."""
    return major * 1000.0 + minor


def _since(job: PrintedJob) -> tuple[int, int]:
    """Return the first version that prints the fields of a job."""
    if job.job_start is not None:
        return 3, 36
    counted = [part.clat for part in job.dirs.values() if part.clat is not None]
    if any(latency.n for latency in counted):
        return 3, 18
    return (2, 99) if counted else (0, 0)
