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
from math import gcd
from typing import Any

import msgspec

from tui.model.event import Contradiction
from tui.model.problem import UsageError
from tui.workloads.fio import distributions
from tui.workloads.fio.asked import (
    bytes_of,
    directions_of,
    echoes,
    kept_depth,
    longer_of,
    mix_of,
    paused,
    steady_state,
    syncs_of,
    verified,
    workers,
)
from tui.workloads.fio.distributions import Completions, Span
from tui.workloads.fio.grids import holes_of
from tui.workloads.fio.options import JobOptions
from tui.workloads.fio.printed import (
    KIB,
    LEAST_IOS,
    LEAST_RANGE_NS,
    PRINTED,
    RAMPS,
    Entry,
    Found,
    PrintedDevice,
    PrintedDirection,
    PrintedDocument,
    PrintedJob,
    batch_of,
    has,
    named,
    numjobs_of,
    of_version,
)
from tui.workloads.fio.sample_contradictions import samples_of
from tui.workloads.fio.snapshot import ALL_CLIENTS, NOT_A_NUMBER, LatencyKind

Host = tuple[str, int]
OptionsOf = Callable[[str, int], Mapping[str, str]]
GROUP_DIGIT = 1e-4
EXACT = 1e-8  # shares have six decimals
PER_CENT = 100
LEAST_SHARE = 1e-4  # smaller latency shares are printed as this
CLOCKS_S = 0.1  # two clocks of one fio
ROUNDED_S = 1.0  # of its age
LATE_S = 2.0  # two readings of the clock
ZONE_S = 15 * 60  # every time zone is a multiple of this from UTC
ZONES_S = (-12 * 3600, 14 * 3600)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
GLOBALS = re.compile(rb'"global options"\s*:\s*(\{[^{}]*\})')
AT_DEVICE = 0.9  # of the direct I/Os
SECTOR = 512  # bytes, whatever the device's own sectors are
DEVICES_S = 0.5  # fio reads the counters of devices every 250 ms, later on a busy client
FEW, RARE = 8, 16  # I/Os of a bucket; buckets
MANY = 32  # buckets: the counts of so many are even by chance once in 10^9


_decoder = msgspec.json.Decoder(PrintedDocument, strict=False)


def printed(data: bytes) -> PrintedDocument | None:
    """Return one JSON object with every figure; None if its types are not those that fio prints."""
    try:
        return _decoder.decode(NOT_A_NUMBER.sub(rb"\g<1>0", data))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def contradictions(data: bytes, options_of: OptionsOf) -> dict[Host, list[Contradiction]]:
    """Return the contradictions in one JSON object, by host; the host is ("", 0) without clients.

    Empty if the object's types are not those that fio prints.
    """
    document = printed(data)
    if document is None:
        return {}
    hosts: dict[Host, list[PrintedJob]] = {}
    for job in document.jobs:
        hosts.setdefault(("", 0), []).append(job)
    for job in document.clients:
        if job.jobname != ALL_CLIENTS:
            hosts.setdefault((job.hostname, job.port), []).append(job)
    shared = {host: with_one_value(data, options_of(*host)) for host in hosts}
    found = {host: list(_of_host(jobs, shared[host], document)) for host, jobs in hosts.items()}
    for host in list(found)[:1]:
        found[host] += _sums(document.clients)
        found[host] += _date(document)
        found[host] += of_version(document)
    return found


def with_one_value(data: bytes, shared: Mapping[str, str]) -> dict[str, str]:
    """Return the global options that have a single value."""
    several = _given_twice(data)
    return {name: value for name, value in shared.items() if name not in several}


def _given_twice(data: bytes) -> set[str]:
    """Return global options with several values.

    fio prints all [global] sections as one object, though each applies to the jobs below it.
    """
    seen: dict[str, set[str]] = {}
    for text in GLOBALS.findall(data):
        try:
            pairs: list[tuple[str, Any]] = json.loads(text, object_pairs_hook=list)
        except ValueError:
            continue
        for name, value in pairs:
            seen.setdefault(name, set()).add(str(value))
    return {name for name, values in seen.items() if len(values) > 1} - {"hostname", "port"}


def _of_host(
    jobs: Sequence[PrintedJob], shared: Mapping[str, str], document: PrintedDocument
) -> Iterator[Contradiction]:
    entries = [Entry(job, JobOptions(job.jobname, shared, job.options)) for job in jobs]
    for entry in entries:
        yield from _of_entry(entry, alone=len(entries) == 1)
    yield from _missing(entries)
    yield from _group_shares(jobs)
    yield from _copies(entry for entry in entries if entry.alone)
    if document.jobs:
        yield from _devices(entries, document.devices)


def _of_entry(entry: Entry, *, alone: bool) -> Iterator[Contradiction]:
    """Yield contradictions within one entry."""
    for name, part in entry.job.dirs.items():
        yield from named(_units(part), entry, name)
        yield from named(samples_of(entry, name, part), entry, name)
        yield from named(_multiples(part, batch_of(entry.options)), entry, name)
        yield from named(holes_of(part), entry, name)
        if not entry.merged:  # the jobs of a group may count different kinds of latency
            yield from named(_latency_counts(part, numjobs_of(entry.options)), entry, name)
    if entry.merged:
        yield from named(_counts_of_shares(entry.job), entry, "")
    yield from named(_shares(entry.job), entry, "")
    yield from named(_in_flight(entry), entry, "")
    yield from named(_unified(entry.job), entry, "mixed")
    yield from named(_elapsed(entry), entry, "")
    yield from named(syncs_of(entry), entry, "sync")
    yield from directions_of(entry)
    if alone:  # exitall, which fio does not print, ends all jobs with the first
        yield from named(bytes_of(entry), entry, "")
        yield from named(verified(entry), entry, "")
    yield from named(mix_of(entry), entry, "")
    for check in (paused, longer_of, kept_depth, workers, echoes, steady_state, cpu_of):
        yield from named(check(entry), entry, "")


def _units(part: PrintedDirection) -> Iterator[Found]:
    """Yield amounts in KiB that differ from those in bytes by more than truncation."""
    for told, amount in ((part.bw, part.bw_bytes), (part.io_kbytes, part.io_bytes)):
        # fio cuts or rounds; 3.0 and 3.1 print no bw_bytes
        if told is not None and amount and abs(told * KIB - amount) > KIB + PRINTED * amount:
            yield "units", told * KIB, amount


def _multiples(part: PrintedDirection, batch: float) -> Iterator[Found]:
    """Yield a histogram whose counts are all multiples of one number.

    I/Os of one batch have one latency: they are sent and completed at the same time.
    """
    for latency in (part.slat, part.clat, part.lat):
        counts = [count for count in (latency.bins or {}).values() if count] if latency else []
        if len(counts) >= MANY and (factor := gcd(*counts)) > batch:
            yield "multiples", factor, len(counts)


def _latency_counts(part: PrintedDirection, workers: int) -> Iterator[Found]:
    """Yield a number of completion latencies that differs from the number of total latencies.

    fio counts both when an I/O completes (stat.c, add_lat_sample and add_clat_sample), unless one
    is disabled; a status may fall between the two.
    """
    clat, lat = _counted("clat")(part), _counted("lat")(part)
    if clat and lat and abs(clat - lat) > workers:
        yield "latency-counts", clat, lat


def _unified(job: PrintedJob) -> Iterator[Found]:
    """Yield combined figures (unified_rw_reporting=both) that are not the sum of reads, writes and
    trims.
    """
    parts = [part for part in (job.read, job.write, job.trim) if part is not None]
    whole = job.mixed
    if whole is None or not any(part.total_ios for part in parts):
        return
    for told, each in (
        (whole.total_ios, [part.total_ios for part in parts]),
        (whole.io_bytes, [part.io_bytes for part in parts]),
        *(
            (kind(whole), [kind(part) for part in parts])
            for kind in (_counted("slat"), _counted("clat"), _counted("lat"))
        ),
    ):
        if told != sum(each):
            yield "unified", told, sum(each)
            return
    longest = [part.whole.max for part in parts if part.whole is not None and part.total_ios]
    if whole.whole is not None and longest and whole.whole.max != max(longest):
        yield "unified", whole.whole.max, max(longest)


def _counted(kind: LatencyKind) -> Callable[[PrintedDirection], int]:
    def count(part: PrintedDirection) -> int:
        latency = part.latency(kind)
        return latency.n if latency is not None else 0

    return count


def _elapsed(entry: Entry) -> Iterator[Found]:
    """Yield a job that ran longer than its fio process, whose age fio rounds up to seconds.

    That age includes whatever precedes the measurement.
    """
    longest = max((part.runtime for part in entry.job.dirs.values()), default=0) / 1000
    try:
        before = entry.options.seconds("ramp_time")
    except UsageError:
        return
    if entry.job.elapsed <= before + ROUNDED_S:
        before = 0.0  # it may have ended in its ramp: its time is then that since its start, or 0
    if longest and entry.job.elapsed and longest + before > entry.job.elapsed + CLOCKS_S:
        yield "elapsed", longest + before, entry.job.elapsed


# -- distributions of latencies and depths


def _counts_of_shares(job: PrintedJob) -> Iterator[Found]:
    """Yield a number of completion latencies that differs from the number in the latency shares.

    fio counts both at once, even if some jobs of a group disable latencies (account_io_completion).
    It prints the shares of all I/Os, and raises those below 0.01 % to 0.01 % (stat_calc_lat).
    """
    told = [each for name, _ in distributions.UNITS for each in getattr(job, name).values() if each]
    total = sum(part.total_ios for part in job.dirs.values())
    counted = sum(map(_counted("clat"), job.dirs.values()))
    longest = max((part.runtime for part in job.dirs.values()), default=0)
    if job.failed or not told or not counted or not longest:
        return
    due = sum(told) / PER_CENT * total
    workers = job.job_runtime / longest
    if abs(counted - due) > len(told) * LEAST_SHARE * total + workers + 1:
        yield "share-counts", counted, due


def _shares(job: PrintedJob) -> Iterator[Found]:
    """Yield latency shares that contradict the completion latencies.

    fio puts each completion latency into one of 32 ranges (io_u_mark_latency).
    """
    dirs = job.dirs
    counted = [part.clat for part in dirs.values() if part.clat is not None and part.clat.n]
    told = {
        (unit, end): share
        for name, unit in distributions.UNITS
        for end, share in getattr(job, name).items()
    }
    if not dirs or len(counted) != len(dirs) or job.failed:
        return  # engines of file operations have none
    if sum(part.total_ios for part in dirs.values()) != sum(each.n for each in counted):
        return
    try:
        found = distributions.ranges(told)
    except ValueError:
        return
    exact = [Completions.exact(each) for each in counted]
    yield from distributions.of_latencies(exact, found, EXACT, 0)


def _in_flight(entry: Entry) -> Iterator[Found]:
    """Yield a number of I/Os in flight above the depths that have a share."""
    job, options = entry.job, entry.options
    if not entry.alone or job.failed or has(options, (*RAMPS, "io_submit_mode", "verify")):
        return
    if options.harmless:
        return  # the null engine counts I/Os that it has not begun
    waits = [part.whole for part in job.dirs.values() if part.whole is not None]
    runtime_ms = max((part.runtime for part in job.dirs.values()), default=0)
    if len(waits) != len(job.dirs):
        return
    levels = [share for _, share in sorted(entry.levels)]
    timed = options.engine != "libaio"  # in old versions each sync includes the write before it
    if timed and job.sync is not None and job.sync.lat is not None:
        waits += [job.sync.lat] if distributions.one_at_a_time(levels) else []
    yield from distributions.in_flight(levels, 1, waits, runtime_ms, batch_of(options))


# -- several entries, several hosts


def _missing(entries: Sequence[Entry]) -> Iterator[Contradiction]:
    """Yield jobs whose number of entries is not a multiple of the number of workers.

    Groups, which have one entry, are skipped.
    """
    named: dict[str, list[Entry]] = {}
    for entry in entries:
        named.setdefault(entry.job.jobname, []).append(entry)
    for name, each in named.items():
        workers = {numjobs_of(entry.options) for entry in each}
        partial = any(entry.job.failed or entry.options.get("stats") for entry in each)
        if partial or len(workers) != 1 or not all(entry.alone for entry in each):
            continue
        (count,) = workers
        if count and len(each) % count:
            yield Contradiction("entries", len(each), count, name)


def _group_shares(jobs: Sequence[PrintedJob]) -> Iterator[Contradiction]:
    """Yield shares of a group's rate (bw_agg) that do not follow from its jobs.

    Groups with a job whose directions are added up are skipped: fio counts that job's I/Os as
    reads.
    """
    for group in {job.groupid for job in jobs}:
        members = [job for job in jobs if job.groupid == group]
        if any(job.mixed is not None for job in members):
            continue
        for name in ("read", "write", "trim"):
            parts = [(job, part) for job in members if (part := job.dirs.get(name)) is not None]
            longest = max((part.runtime for _, part in parts), default=0)
            moved = sum(part.io_bytes for _, part in parts)
            rate = 1000 * moved / longest if longest else 0.0
            for job, part in parts:
                if part.bw_agg is None or not part.bw_samples:
                    continue
                mean = Span(part.bw_mean, part.bw_mean)
                for each in distributions.group_share(
                    part.bw_agg, mean, Span(rate, rate), GROUP_DIGIT
                ):
                    yield Contradiction(*each, job.jobname, name)


def _copies(entries: Iterable[Entry]) -> Iterator[Contradiction]:
    """Yield entries of one fio process with identical latencies, which two workers never have."""
    marks: set[tuple[Any, ...]] = set()
    for entry in entries:
        for name, part in entry.job.dirs.items():
            latency = part.whole
            if latency is None or latency.n < LEAST_IOS:
                continue
            if latency.max - latency.min < LEAST_RANGE_NS:
                continue
            own = {(name, latency.n, latency.min, latency.max, latency.mean, latency.stddev)}
            own |= {(name, kind, *rare) for kind, rare in _rare(part)}
            if own & marks:
                yield Contradiction("copies", latency.n, 1.0, entry.job.jobname, name)
            marks |= own


def _rare(part: PrintedDirection) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the buckets with few I/Os, by latency kind; multiplying by a small factor does not
    change such low counts.

    Two Poisson counts with a mean of 1 are equal in a third of all cases, larger ones less often;
    the counts of all RARE buckets are equal once in 10^8 cases.
    """
    for kind, latency in (("clat", part.clat), ("lat", part.lat)):
        bins = latency.bins if latency is not None else None
        few = sorted((at, count) for at, count in (bins or {}).items() if 0 < count <= FEW)
        if len(few) >= RARE:
            yield kind, tuple(few)


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
    """Yield direct I/Os, or their bytes, that the underlying devices did not count.

    A device counts at least one request, or one merged request, per I/O, and as many bytes however
    requests are merged and split. It also counts the I/O of other processes, so its counts may be
    higher, but never lower. A device without any counts keeps no statistics.
    """
    if not devices or not all(_is_direct(entry.options) and not entry.merged for entry in entries):
        return
    seen = {
        "read": sum(each.read_ios + each.read_merges for each in devices),
        "write": sum(each.write_ios + each.write_merges for each in devices),
    }
    if not sum(seen.values()):
        return
    sectors = {
        "read": [each.read_sectors for each in devices],
        "write": [each.write_sectors for each in devices],
    }
    told = any(each for both in sectors.values() for each in both)
    for name, count in seen.items():
        parts = [entry.job.dirs[name] for entry in entries if name in entry.job.dirs]
        asked = sum(part.total_ios for part in parts)
        if asked < LEAST_IOS:
            continue
        seconds = max((part.runtime for part in parts), default=0) / 1000 or 1.0
        least = min(AT_DEVICE, 1 - DEVICES_S / seconds)
        known = [SECTOR * each for each in sectors[name] if each is not None]
        moved = sum(part.io_bytes for part in parts)
        if count < least * asked:
            yield Contradiction("devices", count, asked, "", name)
        elif told and len(known) == len(devices) and sum(known) < least * moved:
            yield Contradiction("device-bytes", sum(known), moved, "", name)


def _is_direct(options: JobOptions) -> bool:
    return options.flag("direct") and not options.fileless and not options.harmless


# -- compare a job's CPU time with the work that it did on a CPU


CALLING = ("sync", "psync", "vsync", "pvsync", "pvsync2")  # the worker itself makes every call
CALL_S = 50e-9  # no processor makes a system call that moves data in less
COPIED_PER_S = 100e9  # bytes: no core copies faster
RUSAGE_S = 0.002  # user and system time, each in whole milliseconds
LEAST_S = 0.2  # in calls
MORE_CPU = 1.02  # of the time that workers ran
UNSEEN = 0.3  # of a job's calls: interrupts, and a hypervisor that runs others


def cpu_of(entry: Entry) -> Iterator[Found]:
    """Yield a CPU time too short for a job's I/Os, or above the time that its workers ran.

    Buffered I/O copies every byte on a CPU. A worker inside a call is either on a CPU or switched
    out: fio counts these context switches, and none lasts longer than the longest call. A worker is
    one thread; without RUSAGE_THREAD (macOS), threads have their process's time.
    """
    job, options = entry.job, entry.options
    parts = [part for name, part in job.dirs.items() if name != "trim"]
    if (
        not parts
        or job.failed
        or job.usr_cpu is None
        or has(options, ("io_submit_mode", "verify_async"))
    ):
        return
    spent_s = (job.usr_cpu + job.sys_cpu) / 100 * job.job_runtime / 1000 + RUSAGE_S
    libaio = options.engine == "libaio"
    if options.engine not in CALLING and not libaio:
        return
    ran_s = job.job_runtime / 1000
    if spent_s > MORE_CPU * ran_s and ran_s > 1 and not options.flag("thread"):
        yield "more-cpu", spent_s, ran_s
        return
    buffered = not options.flag("direct") and options.flag("buffered", default=True)
    if buffered:
        ios, moved = sum(part.total_ios for part in parts), sum(part.io_bytes for part in parts)
        least = moved / COPIED_PER_S + (0 if libaio else ios * CALL_S)
        if spent_s < least:
            yield "cpu", spent_s, least
            return
    yield from _off_cpu(entry, parts, spent_s, libaio=libaio)


def _off_cpu(
    entry: Entry, parts: list[PrintedDirection], spent_s: float, *, libaio: bool
) -> Iterator[Found]:
    """Yield calls that took longer than CPU time and context switches allow."""
    calls = [part.slat if libaio else part.whole for part in parts]
    syncs = entry.job.sync.lat if entry.job.sync is not None else None
    known = [call for call in (*calls, syncs) if call is not None and call.n]
    if len(known) < len(parts) or not entry.alone:
        return
    called_s = sum(call.n * call.mean for call in known) / 1e9
    if called_s * 1000 > entry.job.job_runtime:
        return  # with disable_lat, submissions have no start time
    longest_s = max(call.max for call in known) / 1e9
    if called_s > LEAST_S and called_s * (1 - UNSEEN) > spent_s + entry.job.ctx * longest_s:
        yield "off-cpu", called_s, spent_s
