"""Compare the queue depth, workers and limits that a job requested with those that fio printed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui.model.problem import UsageError
from tui.workloads.fio.options import PACING
from tui.workloads.fio.printed import (
    ENDED,
    LEAST_MS,
    MOST_LEVEL,
    PRINTED,
    Entry,
    Found,
    has,
    microseconds,
    numjobs_of,
)

QUEUEING = ("libaio", "io_uring", "posixaio")  # engines that keep each I/O until it is complete
UNFILLED = (
    *PACING, "rate", "rate_iops", "latency_target", "fsync", "fdatasync", "sync_file_range",
    "verify", "serialize_overlap", "io_submit_mode", "iodepth_batch_complete",
    "iodepth_batch_complete_min", "iodepth_batch_complete_max", "read_iolog", "zonemode", "stats",
    "openfiles", "file_service_type",
)  # fmt: skip
MOST_UNITS = 6
FILLED = 4  # so many times its depth a job submits at least
RULE = re.compile(r"(iops|bw|lat)(_slope)?:([0-9.]+)(%?)")


def kept_depth(entry: Entry) -> Iterator[Found]:
    """Yield a queue depth that differs from the depth that fio counted.

    fio counts how many I/Os are in flight at each submission (io_u_mark_depth): never more than
    iodepth; and, with an engine that queues and a load that never waits, iodepth itself, because
    fio submits until its queue is full before it waits for a completion.
    """
    levels, options, job = entry.levels, entry.options, entry.job
    if not entry.alone or not levels or job.failed:
        return
    if options.get("io_submit_mode") == "offload" or options.engine in ("exec", "cpuio", "vsync"):
        return
    try:
        depth = options.in_flight // options.numjobs
        most = options.most_in_flight // options.numjobs
    except UsageError:
        return
    highest = max((level for level, share in levels if share), default=0)
    sought = options.get("latency_target") not in (None, "0")
    if (
        options.engine in QUEUEING
        and not sought
        and job.latency_depth not in (None, 0, depth, most)
    ):
        yield "depth", job.latency_depth or 0, depth
        return
    if highest > most:
        yield "depth", highest, most
        return
    done = sum(part.total_ios for name, part in job.dirs.items() if name != "trim")
    closed = options.engine in QUEUEING and not has(options, UNFILLED) and "trim" not in job.dirs
    if closed and done >= FILLED * depth and highest <= depth // 2 and depth < 2 * MOST_LEVEL:
        yield "depth", 2 * highest - 1, depth


def workers(entry: Entry) -> Iterator[Found]:
    """Yield a group whose members ran for less time than its number of workers needs.

    fio adds up how long each member ran. A member ends with its runtime, or after all of its data.
    """
    options, job = entry.options, entry.job
    count = numjobs_of(options)
    longest = max((part.runtime for part in job.dirs.values()), default=0)
    if (
        entry.alone
        or entry.merged
        or count < 2
        or job.failed
        or job.job_runtime <= longest + LEAST_MS
    ):
        return
    try:
        size, limit_ms = (
            options.size("io_size") or options.size("size"),
            1000 * options.seconds("runtime"),
        )
    except UsageError:
        return
    others = ("number_ios", "latency_target", "startdelay", "steadystate", "exitall", "rate_min")
    timed = options.flag("time_based")
    if not limit_ms or longest < ENDED * limit_ms or has(options, others):
        return
    if not size and not timed:
        return
    moved = sum(part.io_bytes for part in job.dirs.values())
    ended = 0 if timed else moved // (size or 1)
    due = (count - ended) * ENDED * longest
    if job.job_runtime < due:
        yield "workers", job.job_runtime / longest, count


# -- figures that fio prints twice: as an option, and as what it made of it


def echoes(entry: Entry) -> Iterator[Found]:
    """Yield latency limits and a depth that differ from the job's options."""
    job, options = entry.job, entry.options
    if not entry.alone:
        return
    for name, told in (
        ("latency_target", job.latency_target),
        ("latency_window", job.latency_window),
    ):
        asked = microseconds(options, name)
        # in ns or µs, by version; for each further worker fio multiplies it again (fixup_options)
        units = (1000.0**power for power in range(MOST_UNITS))
        if told and asked and not any(abs(told / (asked * unit) - 1) < PRINTED for unit in units):
            yield "limit", told, asked * 1000 if name == "latency_target" else asked
    percentile = _number(options.get("latency_percentile"))
    if percentile and job.latency_percentile and abs(job.latency_percentile - percentile) > PRINTED:
        yield "limit", job.latency_percentile, percentile


def _number(told: str | None) -> float | None:
    try:
        return float((told or "").rstrip("%"))
    except ValueError:
        return None


def steady_state(entry: Entry) -> Iterator[Found]:
    """Yield a steady state that its own figures do not support (steadystate.c)."""
    told, options = entry.job.steady, entry.options
    if told is None or not entry.alone:
        return
    asked = RULE.match(options.get("steadystate") or options.get("ss") or "")
    rule, reached = RULE.match(told.rule), _number(told.criterion.lstrip("-"))
    if rule is None or reached is None:
        return
    limit = float(rule[3])
    same = asked and (asked[1], asked[2], asked[4]) == (rule[1], rule[2], rule[4])
    if asked and same and abs(float(asked[3]) - limit) > PRINTED * limit:
        yield "limit", limit, float(asked[3])
    if told.attained and reached > limit * (1 + PRINTED):
        yield "steady", reached, limit
    yield from _of_seconds(entry, rule)


def _of_seconds(entry: Entry, rule: re.Match[str]) -> Iterator[Found]:
    """Yield means and a deviation that contradict the per-second values behind them."""
    told = entry.job.steady
    if told is None:
        return
    data = told.data
    for mean, seconds in ((data.iops_mean, data.iops), (data.bw_mean, data.bw)):
        if seconds and all(seconds) and abs(mean - sum(seconds) / len(seconds)) > 1:
            yield "steady", mean, sum(seconds) / len(seconds)
    own = {"iops": data.iops, "bw": data.bw}.get(rule[1])
    if not own or rule[2] or len(own) != told.duration or not told.attained:
        return
    middle = sum(own) / len(own)
    most = max(abs(each - middle) for each in own)
    if abs(most - told.max_deviation) > 1 + PRINTED * most:
        yield "steady", told.max_deviation, most
    reached = _number(told.criterion)
    by = 100 * told.max_deviation / middle if rule[4] else told.max_deviation
    if middle and reached is not None and abs(reached - by) > PRINTED * (1 + by):
        yield "steady", reached, by
