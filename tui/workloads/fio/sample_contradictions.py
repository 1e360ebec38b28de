"""Find samples of rates in fio's output that contradict each other or the total.

fio takes a sample about every half second (stat.c, add_iops_samples) and prints their minimum,
mean, maximum, deviation and number.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from tui.workloads.fio.loads import PAUSING
from tui.workloads.fio.options import JobOptions
from tui.workloads.fio.printed import KIB, PRINTED, RAMPS, Entry, Found, PrintedDirection, has
from tui.workloads.fio.snapshot import StatusLatency

SAMPLE_S = 0.499  # fio takes a sample every 500 ms, or later; one millisecond is its slack
OWN_SAMPLES = ("bwavgtime", "iopsavgtime", "log_avg_msec", "write_bw_log", "write_iops_log")
PASSES = ("loops", "io_size", "verify", "number_ios", "latency_target", *RAMPS)
BUCKET = 1 / 64
SHORT_WAIT_NS = 100e6  # longest I/O: below this, nothing explains a second with a single I/O


def samples_of(entry: Entry, name: str, part: PrintedDirection) -> Iterator[Found]:
    """Yield samples that contradict their minimum, maximum and deviation, or the total.

    For a group, and for directions together, fio adds up minimum, mean and maximum (sum_stat).
    """
    single = entry.alone and name != "mixed" and not entry.job.failed
    rows = (
        (part.iops_min, part.iops_mean, part.iops_max, part.iops_stddev, part.iops_samples),
        (part.bw_min, part.bw_mean, part.bw_max, part.bw_dev, part.bw_samples),
    )
    for low, mean, high, deviation, count in rows:
        if not count:
            continue
        slack = 1 + PRINTED * mean
        if not low - slack <= mean <= high + slack:
            yield "sample-order", mean, low if mean < low else high
        elif single and deviation is not None:
            yield from _spread(low, mean, high, deviation, count)
    if single:
        yield from _totals(part, entry.options)
        yield from _rest(part, entry)
        yield from _pause(part, entry)


def _spread(low: float, mean: float, high: float, told: float, count: int) -> Iterator[Found]:
    """Yield a deviation that is impossible for samples with this minimum, mean and maximum.

    The deviation is smallest if only two samples are at the extremes, and largest if all are
    (Bhatia and Davis).
    """
    if count < 2 or high - low <= 2:
        return
    off = 1.0  # rates are cut to whole numbers
    below, above = max(mean - low - off, 0.0), max(high - mean - off, 0.0)
    least = sqrt((below * below + above * above) / (count - 1))
    most = sqrt((mean - low + off) * (high - mean + off) * count / (count - 1))
    if not least * (1 - PRINTED) - off <= told <= most * (1 + PRINTED) + off:
        yield "sample-spread", told, least if told < least else most


def _half_seconds(part: PrintedDirection, count: int, options: JobOptions) -> bool:
    """Return whether samples are half a second long.

    Logging of rates changes that interval (setup_log), down to a single I/O. fio 3.33 does not
    print a log option given without a value, so if there are more samples than half seconds, the
    samples are shorter.
    """
    each_io = count == part.total_ios
    return (
        bool(count)
        and not each_io
        and not has(options, OWN_SAMPLES)
        and count * SAMPLE_S <= part.runtime / 1000 + 1
    )


def _totals(part: PrintedDirection, options: JobOptions) -> Iterator[Found]:
    """Yield samples that exceed the total, which counts the same I/Os."""
    for mean, count, total, unit in (
        (part.iops_mean, part.iops_samples, part.total_ios, 1),
        (part.bw_mean, part.bw_samples, part.io_bytes, KIB),
    ):
        if not _half_seconds(part, count, options):
            continue
        if mean * unit * count * SAMPLE_S > total * (1 + PRINTED) + unit:
            yield "samples", mean * unit * count * SAMPLE_S, total


def _rest(part: PrintedDirection, entry: Entry) -> Iterator[Found]:
    """Yield a total that exceeds what the samples and the time without samples allow.

    The time without samples allows the highest sampled rate, or as many of the fastest I/Os as fit
    one after another into the job's slots. Jobs with several passes over their files are skipped:
    each pass drops the I/Os since the previous sample.
    """
    if not _half_seconds(part, part.iops_samples, entry.options) or has(entry.options, PASSES):
        return
    if part.whole is None or not part.whole.n:
        return
    sampled_s = part.iops_samples * SAMPLE_S
    rest_s = max(part.runtime / 1000 + 0.001 - sampled_s, 0.0)
    held = entry.slots
    alone = max(part.iops_max + 1, 0) * rest_s
    fastest = held + _fastest(part.whole, held * rest_s * 1e9)
    most = (part.iops_mean + 1) * sampled_s + max(alone, fastest)
    if part.total_ios > most * (1 + PRINTED) + held:
        yield "samples-rest", part.total_ios, most


def _fastest(latency: StatusLatency, budget_ns: float) -> float:
    """Return the largest number of a job's I/Os whose latencies add up to this much."""
    marks = sorted((float(name) / 100, value) for name, value in (latency.percentile or {}).items())
    done, before, least = 0.0, 0.0, max(latency.min, 1.0)
    for share, value in [*marks, (1.0, latency.max)]:
        number = max(share - before, 0.0) * latency.n + 1
        if number * least >= budget_ns:
            return done + budget_ns / least
        done, budget_ns = done + number, budget_ns - number * least
        before, least = share, max(value * (1 - BUCKET) - 1, least)
    return done


def _pause(part: PrintedDirection, entry: Entry) -> Iterator[Found]:
    """Yield a sample below one I/O per second from a load that never pauses, and whose longest
    I/O was short.

    fio drops intervals without I/O (__add_samples), so a rate of 0 is one I/O in over a second.
    """
    options, job = entry.options, entry.job
    if not _half_seconds(part, part.iops_samples, options) or len(job.dirs) > 1 or job.failed:
        return
    longest = max(
        part.whole.max if part.whole is not None else 0.0,
        job.sync.lat.max if job.sync is not None and job.sync.lat is not None else 0.0,
    )
    if (
        part.iops_min < 1 < part.iops_mean
        and 0 < longest < SHORT_WAIT_NS
        and not has(options, PAUSING)
    ):
        yield "sample-pause", part.iops_min, part.iops_mean
