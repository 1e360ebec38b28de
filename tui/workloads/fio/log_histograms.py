"""Compare fio's histogram logs with the histogram of the same worker in the JSON.

A row has the counts of an interval (stat.c, add_clat_sample). fio writes no row for the interval in
which the worker ends: its I/Os are missing, and they took no longer than that interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tui.metrics.histogram import PLAT_BUCKETS, index_to_value, key_to_index
from tui.model.event import Contradiction
from tui.model.problem import UsageError
from tui.workloads.base import KeptFile
from tui.workloads.fio.logs import DIRECTIONS, NAME, begin_of, rows_of
from tui.workloads.fio.printed import RAMPS, Entry, Found, PrintedDirection, has, numjobs_of

OPTION, KIND = "write_hist_log", "clat_hist"
LOWER_EDGE = 1 - 1 / 64  # of a bucket, as a share of its value
CLOCK = 0.02  # two readings of the clock per I/O
Counts = Counter[int]  # by bucket, or by group of buckets


def of_histograms(entries: Sequence[Entry], files: Sequence[KeptFile]) -> Iterator[Contradiction]:
    """Yield histogram logs that have I/Os missing from the JSON, or that miss more I/Os than fio
    omits. Workers with a log of their own have an entry each, or share one.
    """
    for number, entry in enumerate(entries, 1):
        stem = (entry.options.get(OPTION) or "").rpartition("/")[2] or entry.job.jobname
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
    match = NAME.fullmatch(file.name.rpartition("/")[2])
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
