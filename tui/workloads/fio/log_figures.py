"""Compare fio's logs with the JSON of the same run.

A log of rates has one row for each sample that the JSON counts (add_bw_sample, __add_samples); a
log of latencies has a row for each I/O, or the mean of an interval.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import fsum
from operator import mul

from msgspec import Struct

from tui.metrics.histogram import PLAT_BUCKETS, index_to_value, key_to_index
from tui.model.event import Contradiction
from tui.model.problem import UsageError
from tui.workloads.base import BesideLogs, KeptFile
from tui.workloads.fio.loads import PAUSING
from tui.workloads.fio.logs import DIRECTIONS, NAME, Row, begin_of, rows_of
from tui.workloads.fio.options import JobOptions
from tui.workloads.fio.printed import (
    LEAST_IOS,
    PRINTED,
    RAMPS,
    Entry,
    Found,
    PrintedDirection,
    PrintedDocument,
    has,
    numjobs_of,
)
from tui.workloads.fio.snapshot import StatusLatency, number_of

OPTION_OF = {
    "bw": "write_bw_log", "iops": "write_iops_log", "lat": "write_lat_log", "clat": "write_lat_log",
    "slat": "write_lat_log",
}  # fmt: skip
RATES, LATENCIES = ("bw", "iops"), ("lat", "clat", "slat")
SUMMED = (3, 13)  # since then, minimum and maximum of a group are sums as its mean is
FEW = 0.02  # of the mean: intervals of which only one log has a row
ROUNDED = 1.0  # rows are whole numbers
LATE = 0.2  # of an interval, by which a row of one log may differ from that of another
LONGER = 1.5  # times the usual interval: such a row is the mean of two samples
GAP = 2.5  # intervals: the helper thread that writes rows may be late
LEAST_SHARE = 0.1  # of a job's I/Os, for a direction to be in every interval
COPIED_ROWS = 4  # two workers never have this many equal means, to the nanosecond


class LogSeries(Struct, frozen=True):
    """The rows of one direction in one log file. `each`: a row is one I/O."""

    worker: int
    times_ms: tuple[int, ...]
    values: tuple[int, ...]
    each: bool




def compared(
    document: PrintedDocument, shared: Mapping[str, str], files: Sequence[KeptFile]
) -> BesideLogs:
    """Return the contradictions between logs and JSON, and whether the logs cover all jobs."""
    entries = [Entry(job, JobOptions(job.jobname, shared, job.options)) for job in document.jobs]
    summed = number_of(document.version) >= SUMMED
    found = [*_contradictions(entries, files, summed=summed), *of_histograms(entries, files)]
    return BesideLogs(found, _is_whole(entries, files))


def _is_whole(entries: Sequence[Entry], files: Sequence[KeptFile]) -> bool:
    """Return whether each worker has its own logs, there is one worker, or each row is one I/O.

    False for logs with several names.
    """
    logs = [(match, file) for file in files if (match := _match(file)) is not None]
    workers = sum(numjobs_of(each.options) for each in entries if not each.alone)
    workers += sum(each.alone for each in entries)
    numbered = {int(match["job"]) for match, _ in logs if match["job"]}
    shared = [file for match, file in logs if not match["job"] and match["kind"] in OPTION_OF]
    if len({match["stem"] for match, _ in logs}) > 1:
        return False  # logs of several names may be of several loads
    if numbered:
        return len(numbered) >= workers
    return workers <= 1 or all(
        series.each for parts in _series(shared).values() for series in parts
    )


def _match(file: KeptFile) -> re.Match[str] | None:
    return NAME.fullmatch(file.name.rpartition("/")[2])


def _contradictions(
    entries: Sequence[Entry], files: Sequence[KeptFile], *, summed: bool
) -> Iterator[Contradiction]:
    """Yield contradictions. Nothing if it is unclear whose logs they are."""
    alone = all(entry.alone for entry in entries)
    if not alone and len(entries) > 1:
        return  # fio does not print which workers are in a group
    rates = _by_stem("iops", files)
    for kind, option in OPTION_OF.items():
        for stem, found in _by_stem(kind, files).items():
            theirs = {
                number: entry
                for number, entry in enumerate(entries, 1)
                if _stem(entry, option) == stem
            }
            if theirs:
                logs = Logs(kind, found, rates.get(stem, {}), summed)
                yield from _of_kind(logs, theirs, alone=alone)


class Logs(Struct, frozen=True):
    """Logs of one kind and one name, by direction.

    `rates`: the IOPS logs with the same name. `summed`: the JSON has sums of minima and
    maxima for a group.
    """

    kind: str
    found: Mapping[str, Sequence[LogSeries]]
    rates: Mapping[str, Sequence[LogSeries]]
    summed: bool

    @property
    def numbered(self) -> bool:
        """Whether each file belongs to one worker."""
        return all(each.worker for series in self.found.values() for each in series)

    def of_worker(self, number: int) -> Logs:
        """Return the logs of one worker."""
        found, rates = (
            {
                name: [each for each in series if each.worker == number]
                for name, series in parts.items()
            }
            for parts in (self.found, self.rates)
        )
        return Logs(self.kind, found, rates, self.summed)


def _by_stem(kind: str, files: Sequence[KeptFile]) -> dict[str, dict[str, list[LogSeries]]]:
    """Return the log rows of one kind, by name and direction."""
    named: dict[str, list[KeptFile]] = {}
    for file in files:
        match = _match(file)
        if match and match["kind"] == kind and not match["host"]:
            named.setdefault(match["stem"], []).append(file)
    return {stem: _series(own) for stem, own in named.items()}


def _stem(entry: Entry, option: str) -> str:
    """Return the common start of a job's log names: the option's value, else the job name."""
    return (entry.options.get(option) or "").rpartition("/")[2] or entry.job.jobname


def _series(files: Sequence[KeptFile]) -> dict[str, list[LogSeries]]:
    """Return the rows of these files by direction."""
    found: dict[str, list[LogSeries]] = {}
    for file in files:
        match = _match(file)
        parts: dict[int, list[Row]] = {}
        for row in rows_of(file):
            parts.setdefault(row[2], []).append(row)
        for direction, rows in parts.items():
            begun = begin_of(rows)
            series = LogSeries(
                int(match["job"] or 0) if match else 0,
                tuple(row[0] - begun for row in rows),
                tuple(row[1] for row in rows),
                rows[0][3] > 0,
            )
            found.setdefault(DIRECTIONS[direction], []).append(series)
    return found


def _of_kind(logs: Logs, entries: Mapping[int, Entry], *, alone: bool) -> Iterator[Contradiction]:
    """Yield the contradictions between logs of one kind and the JSON, by worker or as a whole."""
    if logs.kind in LATENCIES:
        for direction, series in logs.found.items():
            yield from _copies(direction, series, entries)
    if alone and logs.numbered:
        for number, entry in entries.items():
            yield from _of_worker(entry, logs.of_worker(number))
    elif len(entries) == 1:
        yield from _of_worker(next(iter(entries.values())), logs)


def _copies(
    direction: str, series: Sequence[LogSeries], entries: Mapping[int, Entry]
) -> Iterator[Contradiction]:
    """Yield a latency log that belongs to another worker."""
    seen: set[tuple[int, ...]] = set()
    for each in series:
        if len(set(each.values)) >= COPIED_ROWS and each.values in seen:
            entry = entries.get(each.worker) or next(iter(entries.values()))
            yield Contradiction("log-copies", len(each.values), 1.0, entry.job.jobname, direction)
        seen.add(each.values)


def _of_worker(entry: Entry, logs: Logs) -> Iterator[Contradiction]:
    for name, part in entry.job.dirs.items():
        series = [
            each
            for direction, own in logs.found.items()
            for each in own
            if name in (direction, "mixed") and each.values
        ]
        if not series or entry.job.failed:
            continue
        if logs.kind in RATES:
            summed = len(series) == 1 or (logs.summed and logs.numbered)
            told = _of_rates(logs.kind, entry, part, series, summed=summed)
        else:
            rates = [each for each in logs.rates.get(name, ()) if each.values]
            told = _of_latencies(logs.kind, entry, part, series, rates)
        for about, logged, printed in told:
            yield Contradiction(
                about, logged, printed, entry.job.jobname, f"{name} {logs.kind} log"
            )


def _of_rates(
    kind: str, entry: Entry, part: PrintedDirection, series: Sequence[LogSeries], *, summed: bool
) -> Iterator[Found]:
    """Yield samples that are in a log but not counted in the JSON, or the reverse."""
    if kind == "iops":
        count, low, mean, high = part.iops_samples, part.iops_min, part.iops_mean, part.iops_max
    else:
        count, low, mean, high = part.bw_samples, part.bw_min, part.bw_mean, part.bw_max
    rows = sum(len(each.values) for each in series)
    averaged = has(entry.options, ("bwavgtime", "iopsavgtime"))
    if not count:
        return
    if not averaged and rows != count and not _is_merged(series, count, mean):
        yield "log-rows", rows, count
        return
    if not summed:
        return
    lows = fsum(min(each.values) for each in series)
    highs = fsum(max(each.values) for each in series)
    means = fsum(fsum(each.values) / len(each.values) for each in series)
    off = ROUNDED * len(series)
    if lows < low - off:
        yield "log-least", lows, low
    elif highs > high + off:
        yield "log-most", highs, high
    elif rows == count and not averaged and abs(means - mean) > off + PRINTED * mean:
        yield "log-mean", means, mean


def _is_merged(series: Sequence[LogSeries], count: int, mean: float) -> bool:
    """Return whether samples that have no row of their own were merged into other rows.

    Such a row ends an interval of about twice the length, and is the mean of two samples: the
    missing one has the same value.
    """
    missing = count - sum(len(each.values) for each in series)
    steps = [
        [later - earlier for earlier, later in pairwise((0, *each.times_ms))] for each in series
    ]
    long = sum(step > LONGER * min(own) for own in steps for step in own)
    if len(series) > 1 or missing != 1:
        return 0 < missing <= long
    values = series[0].values
    left = count * mean - fsum(values)
    merged = values[steps[0].index(max(steps[0]))]
    return bool(long) and abs(left - merged) <= count * (ROUNDED + PRINTED * mean)


def _of_latencies(
    kind: str,
    entry: Entry,
    part: PrintedDirection,
    series: Sequence[LogSeries],
    rates: Sequence[LogSeries],
) -> Iterator[Found]:
    latency = part.slat if kind == "slat" else part.clat if kind == "clat" else part.lat
    if latency is None or not latency.n:
        return
    values = [value for each in series for value in each.values]
    if min(values) < latency.min - ROUNDED:
        yield "log-least", min(values), latency.min
    elif max(values) > latency.max + ROUNDED:
        yield "log-most", max(values), latency.max
    elif all(each.each for each in series):
        yield from _of_each(entry, latency, values)
    elif not has(entry.options, ("log_max_value",)):
        if not min(values) - ROUNDED <= latency.mean <= max(values) + ROUNDED:
            nearest = min(values) if latency.mean < min(values) else max(values)
            yield "log-mean", nearest, latency.mean
        elif len(series) == len(rates) == 1 and part.total_ios >= LEAST_IOS:
            yield from _weighted(latency, part, series[0], rates[0])
        yield from _gaps(entry, part, series)


def _of_each(entry: Entry, latency: StatusLatency, values: Sequence[int]) -> Iterator[Found]:
    """Yield the differences from the JSON in a log with one row per I/O."""
    try:
        flying = entry.options.in_flight if has(entry.options, RAMPS) else 0
    except UsageError:
        return
    if abs(len(values) - latency.n) > flying:
        yield "log-rows", len(values), latency.n
    elif not flying and max(values) < latency.max - ROUNDED:
        yield "log-most", max(values), latency.max
    elif not flying and abs(fsum(values) / len(values) - latency.mean) > ROUNDED:
        yield "log-mean", fsum(values) / len(values), latency.mean


def _weighted(
    latency: StatusLatency, part: PrintedDirection, rows: LogSeries, rates: LogSeries
) -> Iterator[Found]:
    """Yield a mean that differs from the rows' mean, weighted by the I/Os in each interval.

    The two logs end their intervals at slightly different times: I/Os at the edges may be counted
    with the neighbour.
    """
    done, at_ms = [0.0], [0.0]
    for time_ms, rate in zip(rates.times_ms, rates.values, strict=True):
        done.append(done[-1] + rate * max(time_ms - at_ms[-1], 0) / 1000)
        at_ms.append(max(time_ms, at_ms[-1]))
    done.append(max(part.total_ios, done[-1]))
    at_ms.append(max(part.runtime, at_ms[-1]))
    ends = [_between(at_ms, done, time_ms) for time_ms in (0, *rows.times_ms)]
    weights = [later - earlier for earlier, later in pairwise(ends)]
    if not sum(weights):
        return
    mean = fsum(map(mul, weights, rows.values)) / sum(weights)
    edges = fsum(
        abs(one - other) * LATE * min(near, far)
        for (one, other), (near, far) in zip(pairwise(rows.values), pairwise(weights), strict=True)
    )
    off = edges / sum(weights) + FEW * latency.mean + ROUNDED
    if abs(mean - latency.mean) > off:
        yield "log-mean", mean, latency.mean


def _between(times: Sequence[float], values: Sequence[float], at: float) -> float:
    """Return the value at a time, interpolated between its neighbours."""
    place = min(max(bisect_left(times, at), 1), len(times) - 1)
    before, after = times[place - 1], times[place]
    share = min(max((at - before) / (after - before), 0.0), 1.0) if after > before else 1.0
    return values[place - 1] + (values[place] - values[place - 1]) * share


def _gaps(entry: Entry, part: PrintedDirection, series: Sequence[LogSeries]) -> Iterator[Found]:
    """Yield the longest time without a row, if a load that never pauses has no I/O for that
    long.
    """
    job, options = entry.job, entry.options
    whole, total = part.whole, sum(each.total_ios for each in job.dirs.values())
    if whole is None or has(options, PAUSING) or part.total_ios < LEAST_SHARE * total:
        return
    interval_ms = _interval_ms(options)
    if not interval_ms or (numjobs_of(options) > 1 and not entry.alone):
        return
    syncs = job.sync.lat.max if job.sync is not None and job.sync.lat is not None else 0.0
    longest_ms = max(whole.max, syncs) / 1e6
    for each in series:
        times = [0, *each.times_ms, part.runtime]
        gap = max(later - earlier for earlier, later in pairwise(times))
        if gap > GAP * interval_ms + 2 * longest_ms:
            yield "log-gap", gap / 1000, interval_ms / 1000


def _interval_ms(options: JobOptions) -> float:
    try:
        return float(options.count("log_avg_msec", 0))
    except UsageError:
        return 0.0


OPTION, KIND = "write_hist_log", "clat_hist"
LOWER_EDGE = 1 - 1 / 64  # of a bucket, as a share of its value
CLOCK = 0.02  # two readings of the clock per I/O
Counts = Counter[int]  # by bucket, or by group of buckets


def of_histograms(entries: Sequence[Entry], files: Sequence[KeptFile]) -> Iterator[Contradiction]:
    """Yield histogram logs that have I/Os missing from the JSON, or that miss more I/Os than fio
    omits.

    Each worker must have its own log. Each worker has its own entry, or all share one.
    """
    for number, entry in enumerate(entries, 1):
        stem = _stem(entry, OPTION)
        group = range(1, numjobs_of(entry.options) + 1) if len(entries) == 1 else ()
        workers = [number] if entry.alone else list(group)
        own = [file for each in workers for file in files if _is_of(file, stem, each)]
        if not own or len(own) != len(workers) or entry.job.failed or has(entry.options, RAMPS):
            continue
        for name, part in entry.job.dirs.items():
            counts, last_ms, coarse = _counted(own, name)
            for found in _against(entry, part, counts, last_ms, coarse) if counts else ():
                yield Contradiction(*found, entry.job.jobname, f"{name} histogram log")


def _counted(files: Sequence[KeptFile], name: str) -> tuple[Counts, int, int]:
    """Return the counts of one direction, the end of the first log, and buckets per count."""
    counts, ends_ms, coarse = Counts(), [], 1
    for file in files:
        rows = [row for row in rows_of(file, histogram=True) if DIRECTIONS[row[2]] == name]
        if not rows:
            return Counts(), 0, 1
        coarse = max(1, PLAT_BUCKETS // max(1, len(rows[0]) - 4))
        ends_ms.append(rows[-1][0] - begin_of(rows))
        for row in rows:
            counts.update({at: count for at, count in enumerate(row[4:]) if count})
    return counts, min(ends_ms), coarse


def _is_of(file: KeptFile, stem: str, number: int) -> bool:
    match = _match(file)
    return bool(
        match
        and (match["kind"], match["stem"], match["job"]) == (KIND, stem, str(number))
        and not match["host"]
    )


def _against(
    entry: Entry, part: PrintedDirection, counts: Mapping[int, int], last_ms: int, coarse: int
) -> Iterator[Found]:
    bins = part.clat.bins if part.clat is not None else None
    if not bins or part.clat is None:
        return
    printed = Counts()
    for key, count in bins.items():
        printed[key_to_index(int(key)) // coarse] += count
    more = {at: count for at, count in counts.items() if count > printed[at]}
    if more:
        at = max(more)
        yield "hist-more", more[at], printed[at]
        return
    try:
        slots = entry.options.in_flight // (entry.options.numjobs if entry.alone else 1)
        interval_s = entry.options.count("log_hist_msec", 0) / 1000
    except UsageError:
        return
    missing = {at: count - counts.get(at, 0) for at, count in printed.items()}
    waited_s = (
        sum(count * index_to_value(at * coarse) * LOWER_EDGE for at, count in missing.items()) / 1e9
    )
    left_s = max(part.runtime - last_ms, 0) / 1000 + interval_s
    if waited_s > slots * (left_s + part.clat.max / 1e9) * (1 + CLOCK):
        yield "hist-fewer", waited_s, slots * left_s
