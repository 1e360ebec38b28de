"""Find figures in fio's output that contradict each other.

Checks figures that no record keeps: fio's own samples, latency distribution, entries, sums, device
counters. Each relation holds for any load that fio measured; tolerances are derived where they are
used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import sqrt
from typing import Any

import msgspec
from msgspec import Struct, field

from tui.model.event import Contradiction, ContradictionKind
from tui.model.problem import UsageError
from tui.workloads.fio.options import FILE_OPERATIONS, JobOptions, moved_bytes
from tui.workloads.fio.snapshot import (
    NOT_A_NUMBER,
    Amount,
    Count,
    ErrorNumber,
    StatusDirection,
    StatusLatency,
)

Host = tuple[str, int]
OptionsOf = Callable[[str, int], Mapping[str, str]]
ALL_CLIENTS = "All clients"
KIB = 1024
SAMPLE_S = 0.499  # fio takes a sample every 500 ms, or later; one millisecond is its slack
OWN_SAMPLES = ("bwavgtime", "iopsavgtime", "log_avg_msec", "write_bw_log", "write_iops_log")
RAMPS = ("ramp_time", "ramp_size")
LEAST_IOS, LEAST_RANGE_NS = 100, 100_000  # two latencies may be equal by chance below
BUCKET = 1 / 64
SIGMAS = 6.0
PRINTED = 1e-3
MARKED = 0.02  # fio 3.33 with 465,000 I/Os of the null engine: the shares add up to 100.16 %
LEAST_MS = 400
LATE_S = 2.0  # two readings of the clock
ZONE_S = 15 * 60  # every time zone is a multiple of this from UTC
ZONES_S = (-12 * 3600, 14 * 3600)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
GLOBALS = re.compile(rb'"global options"\s*:\s*(\{[^{}]*\})')
UNITS = (("latency_ns", 1), ("latency_us", 1000), ("latency_ms", 1_000_000))
LEAST_SYNCS = 16  # one more at the end of each file, and those in flight
ENDED = 0.95  # of its runtime or its bytes: the last blocks of files may be cut
AT_DEVICE = 0.5  # of the direct I/Os


class PrintedDirection(StatusDirection):
    """One direction with every figure that fio prints for it."""

    bw: Amount | None = None
    io_kbytes: Count | None = None
    iops_min: Amount = 0.0
    iops_max: Amount = 0.0
    iops_mean: Amount = 0.0
    iops_samples: Count = 0
    bw_min: Amount = 0.0
    bw_max: Amount = 0.0
    bw_mean: Amount = 0.0
    bw_samples: Count = 0

    @property
    def whole(self) -> StatusLatency | None:
        """Latency from submission to completion (lat); clat if fio did not count it."""
        return self.lat if self.lat is not None and self.lat.n else self.clat


class PrintedSyncs(Struct):
    """The ``sync`` object with every figure that fio prints for it."""

    total_ios: Count | None = None
    lat: StatusLatency | None = field(name="lat_ns", default=None)


class PrintedJob(Struct):
    """One entry of ``jobs`` or ``client_stats``, with every figure that is checked."""

    jobname: str = ""
    hostname: str = ""
    port: Count = 0
    job_runtime: Count = 0
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

    @property
    def dirs(self) -> dict[str, PrintedDirection]:
        """Return the directions that did I/O, each once."""
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
    """One entry of ``disk_util``, with the request counters that are checked."""

    read_ios: Count = 0
    write_ios: Count = 0
    read_merges: Count = 0
    write_merges: Count = 0


class PrintedDocument(Struct):
    """A JSON object of fio with every figure that is checked."""

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
    def alone(self) -> bool:
        """Whether the entry is a single worker: the runtime of a group is the sum over its members.

        A member that ran for less than LEAST_MS has no sample of half a second.
        """
        if self.options.get("group_reporting") is not None and _numjobs(self.options) != 1:
            return False
        longest = max((part.runtime for part in self.job.dirs.values()), default=0)
        return 0 < self.job.job_runtime <= longest + LEAST_MS


_decoder = msgspec.json.Decoder(PrintedDocument, strict=False)


def contradictions(data: bytes, options_of: OptionsOf) -> dict[Host, list[Contradiction]]:
    """Return the contradictions in one JSON object, by host; the host is ("", 0) without clients.

    Empty if the object has other types than fio prints.
    """
    try:
        document = _decoder.decode(NOT_A_NUMBER.sub(rb"\g<1>0", data))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    hosts: dict[Host, list[PrintedJob]] = {}
    for job in document.jobs:
        hosts.setdefault(("", 0), []).append(job)
    for job in document.clients:
        if job.jobname != ALL_CLIENTS:
            hosts.setdefault((job.hostname, job.port), []).append(job)
    unclear = _told_twice(data)
    shared = {
        host: {name: told for name, told in options_of(*host).items() if name not in unclear}
        for host in hosts
    }
    found = {host: list(_of_host(jobs, shared[host], document)) for host, jobs in hosts.items()}
    for host in list(found)[:1]:
        found[host] += _sums(document.clients)
        found[host] += _date(document)
    return found


def _told_twice(data: bytes) -> set[str]:
    """Return global options with several values.

    fio prints all [global] sections as one object, though each applies to the jobs below it.
    """
    seen: dict[str, set[str]] = {}
    for text in GLOBALS.findall(data):
        try:
            pairs: list[tuple[str, Any]] = json.loads(text, object_pairs_hook=list)
        except ValueError:
            continue
        for name, told in pairs:
            seen.setdefault(name, set()).add(str(told))
    return {name for name, told in seen.items() if len(told) > 1} - {"hostname", "port"}


def _of_host(
    jobs: Sequence[PrintedJob], shared: Mapping[str, str], document: PrintedDocument
) -> Iterator[Contradiction]:
    entries = [Entry(job, JobOptions(job.jobname, shared, job.options)) for job in jobs]
    for entry in entries:
        for name, part in entry.job.dirs.items():
            yield from _named(_units(part), entry, name)
            if entry.alone and name != "mixed":
                yield from _named(_samples(part, entry.options), entry, name)
        yield from _named(_shares(entry.job), entry, "")
        yield from _named(_syncs(entry), entry, "sync")
        yield from _directions(entry)
        if len(entries) == 1:  # exitall, which fio does not print, ends all jobs with the first
            yield from _named(_all_bytes(entry), entry, "")
        yield from _named(_mix(entry), entry, "")
    yield from _missing(entries)
    yield from _copies(entry for entry in entries if entry.alone)
    if document.jobs:
        yield from _devices(entries, document.devices)


Found = tuple[ContradictionKind, float, float]


def _named(found: Iterable[Found], entry: Entry, direction: str) -> Iterator[Contradiction]:
    for kind, told, expected in found:
        yield Contradiction(kind, told, expected, entry.job.jobname, direction)


def _has(options: JobOptions, names: Iterable[str]) -> bool:
    """Return whether any of these options is given, with or without a value."""
    return any(options.get(name) is not None for name in names)


def _numjobs(options: JobOptions) -> int:
    try:
        return options.numjobs
    except UsageError:
        return 0


def _units(part: PrintedDirection) -> Iterator[Found]:
    """Yield amounts in KiB that differ from those in bytes by more than truncation."""
    for told, amount in ((part.bw, part.bw_bytes), (part.io_kbytes, part.io_bytes)):
        # fio cuts or rounds; 3.0 and 3.1 print no bw_bytes
        if told is not None and amount and abs(told * KIB - amount) > KIB + PRINTED * amount:
            yield "units", told * KIB, amount


def _samples(part: PrintedDirection, options: JobOptions) -> Iterator[Found]:
    """Yield samples that contradict their own minimum or maximum, or exceed the total.

    Each sample is a rate over half a second or longer, of I/Os that the total counts too. Logging
    of rates changes that interval (setup_log), down to a single I/O. fio 3.33 does not print a log
    option given without a value, so if there are more samples than half seconds, the samples are
    shorter.
    """
    if _has(options, OWN_SAMPLES):
        return
    for low, mean, high, count, total, unit in (
        (part.iops_min, part.iops_mean, part.iops_max, part.iops_samples, part.total_ios, 1),
        (part.bw_min, part.bw_mean, part.bw_max, part.bw_samples, part.io_bytes, KIB),
    ):
        each_io = count == part.total_ios
        if not count or each_io or count * SAMPLE_S > part.runtime / 1000 + 1:
            continue
        if not low - 1 <= mean <= high + 1:
            yield "sample-order", mean, low if mean < low else high
        if mean * unit * count * SAMPLE_S > total * (1 + PRINTED) + unit:
            yield "samples", mean * unit * count * SAMPLE_S, total


# -- shares of latencies: latency_ns, latency_us, latency_ms


def _shares(job: PrintedJob) -> Iterator[Found]:
    """Yield latency shares that do not add up to 100 %, or that contradict the completion
    percentiles.

    fio puts each completion latency into one of 32 ranges (io_u_mark_latency).
    """
    dirs = job.dirs
    counted = [part.clat for part in dirs.values() if part.clat is not None and part.clat.n]
    shares = list(_ranges(job))
    told = sum(share for _, share in shares)
    if not dirs or len(counted) != len(dirs) or job.failed or not told:
        return  # engines of file operations have none
    if sum(part.total_ios for part in dirs.values()) != sum(each.n for each in counted):
        return
    if abs(told - 1) > MARKED:
        yield "share-sum", 100 * told, 100.0
    elif len(counted) == 1:
        yield from _share_of_percentiles(counted[0], shares)


def _ranges(job: PrintedJob) -> Iterator[tuple[float, float]]:
    """Yield each latency range as (upper end in ns, share of I/Os in it)."""
    for name, unit in UNITS:
        for end, share in getattr(job, name).items():
            try:
                top = float("inf") if end.startswith(">=") else float(end) * unit
            except ValueError:
                return
            yield top, share / 100


def _share_of_percentiles(
    latency: StatusLatency, shares: Sequence[tuple[float, float]]
) -> Iterator[Found]:
    """Yield the first range limit at which the share of faster I/Os contradicts a percentile.

    A percentile is the middle of its bucket, and its rank may be off by one.
    """
    marks = sorted((float(name) / 100, value) for name, value in (latency.percentile or {}).items())
    slack, below = MARKED + 3 / latency.n, 0.0
    for top, share in sorted(shares):
        below += share
        most = min((p for p, value in marks if value * (1 - BUCKET) - 1 >= top), default=1.0)
        least = max((p for p, value in marks if value * (1 + BUCKET) + 1 < top), default=0.0)
        if not least - slack <= below <= most + slack:
            yield "share", 100 * below, 100 * (least if below < least else most)
            return


# -- syncs, mix of reads and writes


def _syncs(entry: Entry) -> Iterator[Found]:
    """Yield a number of syncs that differs from the number of sync latencies, or from the number
    due.

    fio leaves fdatasync out of the count.
    """
    syncs = entry.job.sync
    if syncs is None or syncs.total_ios is None or syncs.lat is None or not syncs.lat.n:
        return  # fio before 3.18, disable_clat, offloaded I/O
    if entry.job.failed:
        return  # counted when it was queued, without a latency
    counted = syncs.lat.n
    flying = entry.options.in_flight if _has(entry.options, RAMPS) else 0
    others = _has(entry.options, ("fdatasync", "sync_file_range"))
    if entry.alone and (due := _syncs_due(entry)) is not None:
        writes, every = due
        apart = abs(counted - writes / every)
        if apart > LEAST_SYNCS + PRINTED * writes / every:
            yield "syncs-due", counted, writes / every
    more, fewer = syncs.total_ios - counted, counted - syncs.total_ios
    if more > 0 or (not others and fewer > flying):
        yield "syncs", syncs.total_ios, counted


def _syncs_due(entry: Entry) -> tuple[int, int] | None:
    """Return a job's writes, and the number of writes per sync; None if other options also affect
    syncs.

    If it also reads, fio may sync several times for one write.
    """
    options, job = entry.options, entry.job
    others = (
        "sync_file_range", "verify", "loops", *RAMPS, "read_iolog", "end_fsync",
        "fsync_on_close", "io_submit_mode",
    )  # fmt: skip
    asked = [name for name in ("fsync", "fdatasync") if options.get(name) not in (None, "0")]
    if len(asked) != 1 or set(job.dirs) != {"write"} or job.failed:
        return None
    if _has(options, others):
        return None
    try:
        return job.dirs["write"].total_ios, options.count(asked[0])
    except UsageError:
        return None


def _directions(entry: Entry) -> Iterator[Contradiction]:
    """Yield I/Os in directions that the job does not use, and directions without figures.

    Writers may read to verify; engines of file operations have directions of their own.
    """
    job, options = entry.job, entry.options
    for name in ("read", "write", "trim"):
        part: PrintedDirection | None = getattr(job, name)
        if part is not None and not part.total_ios:
            kept = part.whole.n if part.whole is not None else 0
            if _has(options, RAMPS) and kept <= options.in_flight:
                continue  # sent in the ramp, complete after it
            if kept or part.io_bytes:
                yield Contradiction("no-ios", kept or part.io_bytes, 0.0, job.jobname, name)
    others = ("verify", "verify_only", "do_verify", "read_iolog", "replay_redirect")
    if not entry.alone or options.fileless or options.engine in FILE_OPERATIONS:
        return
    try:
        access = options.access if options.get("rw") else ()
    except UsageError:
        return
    if access and not _has(options, others):
        for name, part in job.dirs.items():
            if name != "mixed" and name not in access:
                yield Contradiction("direction", part.total_ios, 0.0, job.jobname, name)


def _all_bytes(entry: Entry) -> Iterator[Found]:
    """Yield the bytes of a job that ended before its runtime and before all of its data."""
    job, options = entry.job, entry.options
    others = ("offset", "latency_target", "steadystate", "zonemode", "zonesize", "size_percent")
    if not entry.alone or job.failed or _has(options, others):
        return
    try:
        due, limit_s = moved_bytes(options), options.seconds("runtime")
    except UsageError:
        return
    ran_s = max((part.runtime for part in job.dirs.values()), default=0) / 1000
    if not due or (limit_s and ran_s > ENDED * limit_s):
        return
    moved, each = sum(part.io_bytes for part in job.dirs.values()), due / _numjobs(options)
    if moved and moved < ENDED * each:  # more with time_based, which fio does not print
        yield "bytes", moved, each


def _mix(entry: Entry) -> Iterator[Found]:
    """Yield a share of reads that differs from the job's by more than chance.

    fio draws the direction of each I/O. With `loops`, or with more data than its files contain,
    each pass repeats the same draws, which are then too few.
    """
    dirs, options, job = entry.job.dirs, entry.options, entry.job
    if not entry.alone or set(dirs) != {"read", "write"} or job.failed:
        return
    rw = (options.get("rw") or "").lower()
    others = ("rate", "rate_iops", "verify", "loops", "io_size", "flow", "read_iolog")
    if rw not in ("rw", "readwrite", "randrw") or _has(options, (*others, "rwmixcycle")):
        return
    shares = ("rwmixread", "rwmixwrite")
    if all(options.get(name) is not None for name in shares):
        return  # the last one counts, and their order is not printed
    try:
        share = options.count("rwmixread", 50)
        if options.get("rwmixwrite") is not None and options.get("rwmixread") is None:
            share = 100 - options.count("rwmixwrite", 50)
    except UsageError:
        return
    reads, total = dirs["read"].total_ios, dirs["read"].total_ios + dirs["write"].total_ios
    wanted = share / 100
    off = SIGMAS * sqrt(wanted * (1 - wanted) / total) + PRINTED + options.in_flight / total
    if total >= LEAST_IOS and abs(reads / total - wanted) > off:
        yield "mix", 100 * reads / total, share


# -- several entries, several hosts


def _missing(entries: Sequence[Entry]) -> Iterator[Contradiction]:
    """Yield jobs whose number of entries differs from the number of workers; a group may have one
    entry.
    """
    named: dict[str, list[Entry]] = {}
    for entry in entries:
        named.setdefault(entry.job.jobname, []).append(entry)
    for name, each in named.items():
        workers = {_numjobs(entry.options) for entry in each}
        partial = any(entry.job.failed or entry.options.get("stats") for entry in each)
        if partial or len(workers) != 1 or not all(entry.alone for entry in each):
            continue
        (count,) = workers
        if count and len(each) % count:
            yield Contradiction("entries", len(each), count, name)


def _copies(entries: Iterable[Entry]) -> Iterator[Contradiction]:
    """Yield entries of one fio process with identical latencies, which two workers never have."""
    marks: dict[tuple[Any, ...], Entry] = {}
    for entry in entries:
        for name, part in entry.job.dirs.items():
            latency = part.whole
            if latency is None or latency.n < LEAST_IOS:
                continue
            if latency.max - latency.min < LEAST_RANGE_NS:
                continue
            mark = name, latency.n, latency.min, latency.max, latency.mean, latency.stddev
            if mark in marks:
                yield Contradiction("copies", latency.n, 1.0, entry.job.jobname, name)
            marks[mark] = entry


def _sums(clients: Sequence[PrintedJob]) -> Iterator[Contradiction]:
    """Yield totals over all clients that differ from the sum over the clients."""
    whole = [job for job in clients if job.jobname == ALL_CLIENTS]
    parts = [job for job in clients if job.jobname != ALL_CLIENTS]
    if len(whole) != 1 or not parts:
        return
    for name in ("read", "write", "trim"):
        told: PrintedDirection | None = getattr(whole[0], name)
        each: list[PrintedDirection] = [
            part for job in parts if (part := getattr(job, name)) is not None
        ]
        if told is None or not told.total_ios:
            continue
        for mine, expected in (
            (told.total_ios, sum(part.total_ios for part in each)),
            (told.io_bytes, sum(part.io_bytes for part in each)),
        ):
            if mine != expected:
                yield Contradiction("clients", mine, expected, "", name)
                break


def _date(document: PrintedDocument) -> Iterator[Contradiction]:
    """Yield a printed date that differs from the time stamp next to it, whatever the time zone."""
    words = document.time.split()
    if len(words) != 5 or words[1] not in MONTHS or not document.timestamp:
        return
    try:
        hour, minute, second = map(int, words[3].split(":"))
        month = MONTHS.index(words[1]) + 1
        day = datetime(int(words[4]), month, int(words[2]), hour, minute, second, tzinfo=UTC)
        told = day.timestamp()
    except (ValueError, OverflowError):
        return
    apart = told - document.timestamp
    off = abs(apart - round(apart / ZONE_S) * ZONE_S)
    if off > LATE_S or not ZONES_S[0] - LATE_S <= apart <= ZONES_S[1] + LATE_S:
        yield Contradiction("date", told, document.timestamp)


def _devices(entries: Sequence[Entry], devices: Sequence[PrintedDevice]) -> Iterator[Contradiction]:
    """Yield direct I/Os that the underlying devices did not count.

    A device counts at least one request, or one merged request, per I/O. It also counts other
    processes, so there may be more, never fewer. A device without any counts keeps no statistics.
    """
    if not devices or not all(_is_direct(entry.options) for entry in entries):
        return
    seen = {
        "read": sum(each.read_ios + each.read_merges for each in devices),
        "write": sum(each.write_ios + each.write_merges for each in devices),
    }
    if not sum(seen.values()):
        return
    for name, count in seen.items():
        parts = [entry.job.dirs[name] for entry in entries if name in entry.job.dirs]
        asked = sum(part.total_ios for part in parts)
        if asked >= LEAST_IOS and count < AT_DEVICE * asked:
            yield Contradiction("devices", count, asked, "", name)


def _is_direct(options: JobOptions) -> bool:
    return options.flag("direct") and not options.fileless and not options.harmless
