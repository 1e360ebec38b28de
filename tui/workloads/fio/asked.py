"""Compare a job's options with the work it did: I/Os, bytes, syncs, depth, workers and limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from math import log

from tui.model.event import Contradiction
from tui.model.problem import UsageError
from tui.model.quantities import parse_size
from tui.workloads.fio.engine_kinds import FILE_OPERATIONS, OPENING_ENGINES
from tui.workloads.fio.loads import PACING, moved_bytes
from tui.workloads.fio.options import SYNC_OPTIONS, JobOptions
from tui.workloads.fio.printed import (
    ENDED,
    LEAST_IOS,
    LEAST_MS,
    MOST_LEVEL,
    PRINTED,
    RAMPS,
    SIGMAS,
    Entry,
    Found,
    PrintedDirection,
    has,
    microseconds,
    numjobs_of,
)
from tui.workloads.fio.snapshot import StatusDirection

LEAST_RANGE = 64 * 1024 * 1024  # of a device or file whose size fio does not print
OVERSHOOT, OVERSHOOT_S = 0.02, 2.0  # of workers that see late, on a busy machine, that time is up
AFTER_ITS_TIME = (
    "verify", "verify_only", "do_verify", "end_fsync", "fsync_on_close", "read_iolog",
    "exec_postrun", "steadystate",
)  # fmt: skip
LEAST_SYNCS = 16  # one more at the end of each file, and those in flight
LARGEST_OF_MEAN = 16.0  # the largest of mixed sizes, as a multiple of their mean


def syncs_of(entry: Entry) -> Iterator[Found]:
    """Yield a sync count that differs from the number of sync latencies, or from the number
    due.

    fio does not count fdatasync.
    """
    syncs = entry.job.sync
    if syncs is None or syncs.total_ios is None or syncs.lat is None or entry.job.failed:
        return  # fio before 3.18; or counted when it was queued, without a latency
    counted = syncs.lat.n
    if (
        entry.workers
        and (due := syncs_due(entry.options, entry.job.dirs, entry.workers)) is not None
    ):
        least, most = due
        if not least <= counted <= most:
            yield "syncs-due", counted, least if counted < least else most
    if not counted:
        return  # disable_clat, offloaded I/O
    flying = entry.options.in_flight if has(entry.options, RAMPS) else 0
    others = has(entry.options, ("fdatasync", "sync_file_range"))
    more, fewer = syncs.total_ios - counted, counted - syncs.total_ios
    if more > 0 or (not others and fewer > flying):
        yield "syncs", syncs.total_ios, counted


def syncs_due(
    options: JobOptions, dirs: Mapping[str, StatusDirection], workers: int
) -> tuple[float, float] | None:
    """Return the smallest and the largest number of syncs that fit a job's writes; None if other
    options also affect them.

    fio syncs when the number of writes is a multiple of an option's value (get_rw_ddir), only once
    if it is a multiple of several, and restarts its count of writes in each of its `loops`. With
    reads between writes, or syncs that are queued, it may sync several times for one write, and
    once more at the end of files.
    """
    write = dirs.get("write")
    writes = write.total_ios if write is not None else 0
    others = ("verify", *RAMPS, "read_iolog", "io_submit_mode", "write_barrier")
    if not writes or options.engine not in OPENING_ENGINES or has(options, others):
        return None
    if options.queues and set(dirs) != {"write"}:
        return None  # it syncs only if the last I/O that was complete was a write
    if write is None or write.clat is None or not write.clat.n:
        return None  # without latencies of writes there are none of syncs
    try:
        every = [each for each in map(partial(_every, options), SYNC_OPTIONS) if each]
        passes = max(options.count("loops"), 1) + 1
        files = max(options.count("nrfiles"), 1) * passes
    except (UsageError, ValueError):
        return None
    if not every:
        return None
    each = [writes / number for number in every]
    ends = any(options.get(name) is not None for name in ("end_fsync", "fsync_on_close"))
    more = workers * (LEAST_SYNCS + passes * len(every) + (files if ends else 0))
    once = set(dirs) == {"write"} and options.engine not in ("io_uring", "posixaio")
    most = sum(each) if once else float("inf")
    return max(each) * (1 - PRINTED) - more, most * (1 + PRINTED) + more


def _every(options: JobOptions, name: str) -> int:
    """Return the number of writes after which fio syncs; 0 for never. Raises ValueError."""
    number = (options.get(name) or "0").rpartition(":")[2]
    return parse_size(number) if number else 0


def directions_of(entry: Entry) -> Iterator[Contradiction]:
    """Yield I/Os in directions that the job does not use, and directions without figures.

    Writers may read to verify; file operation engines have their own directions.
    """
    job, options = entry.job, entry.options
    for name in ("read", "write", "trim"):
        part: PrintedDirection | None = getattr(job, name)
        if part is not None and not part.total_ios:
            kept = part.whole.n if part.whole is not None else 0
            if has(options, RAMPS) and kept <= options.in_flight:
                continue  # sent in the ramp, completed after it
            if kept or part.io_bytes:
                yield Contradiction("no-ios", kept or part.io_bytes, 0.0, job.jobname, name)
    others = ("verify", "verify_only", "do_verify", "read_iolog", "replay_redirect")
    if not entry.alone or options.fileless or options.engine in FILE_OPERATIONS:
        return
    try:
        access = options.access if options.get("rw") else ()
    except UsageError:
        return
    if access and not has(options, others):
        for name, part in job.dirs.items():
            if name != "mixed" and name not in access:
                yield Contradiction("direction", part.total_ios, 0.0, job.jobname, name)


def bytes_of(entry: Entry) -> Iterator[Found]:
    """Yield the bytes moved by a job if they are more than its data, or if it ended early without
    moving all of its data.
    """
    job, options = entry.job, entry.options
    others = ("offset", "latency_target", "steadystate", "zonemode", "zonesize", "size_percent")
    if not entry.alone or job.failed or has(options, others):
        return
    try:
        due, limit_s = moved_bytes(options), options.seconds("runtime")
    except UsageError:
        return
    ran_s = max((part.runtime for part in job.dirs.values()), default=0) / 1000
    if not due:
        return
    moved, each = sum(part.io_bytes for part in job.dirs.values()), due / numjobs_of(options)
    if not limit_s and moved > each + _last_blocks(entry):
        yield "more-bytes", moved, each
    # random blocks of mixed sizes leave gaps that are too small for them; files may be smaller
    mixed = has(options, ("bssplit", "bsrange", "filesize")) or "," in (options.get("bs") or "")
    if mixed:
        return
    if moved and moved < ENDED * each and not (limit_s and ran_s > ENDED * limit_s):
        yield "bytes", moved, each


def mix_of(entry: Entry) -> Iterator[Found]:
    """Yield a share of reads that differs from the job's by more than chance allows.

    Each worker draws the direction of each I/O. Each pass over the files may repeat the same draws,
    and workers may draw alike, so the number of independent draws is at most the number of blocks
    in the files of one worker.
    """
    dirs, options, job = entry.job.dirs, entry.options, entry.job
    if not entry.workers or set(dirs) != {"read", "write"} or job.failed:
        return
    rw = (options.get("rw") or "").partition(":")[0].lower()
    others = ("rate", "rate_iops", "verify", "loops", "io_size", "flow", "read_iolog")
    drawn_otherwise = (*others, "rwmixcycle", "bssplit", "bsrange")
    if rw not in ("rw", "readwrite", "randrw") or has(options, drawn_otherwise):
        return
    if "," in (options.get("bs") or ""):
        return  # other sizes of reads and writes end a pass over the file at another I/O
    shares = ("rwmixread", "rwmixwrite")
    if all(options.get(name) is not None for name in shares):
        return  # the last one counts, and their order is not printed
    try:
        once = options.size("size") or options.size("filesize")
        share = options.count("rwmixread", 50)
        if options.get("rwmixwrite") is not None and options.get("rwmixread") is None:
            share = 100 - options.count("rwmixwrite", 50)
    except UsageError:
        return
    reads, total = dirs["read"].total_ios, dirs["read"].total_ios + dirs["write"].total_ios
    wanted = share / 100
    blocks = sum(part.io_bytes for part in dirs.values()) / total
    drawn = min(total / entry.workers, max((once or LEAST_RANGE) / blocks, 1))
    off = abs(reads / total - wanted) - PRINTED - options.in_flight / total
    nearest = wanted + off if reads / total > wanted else wanted - off
    if total >= LEAST_IOS and off > 0 and drawn * _unlikely(nearest, wanted) > SIGMAS**2 / 2:
        yield "mix", 100 * reads / total, share


def _unlikely(share: float, chance: float) -> float:
    """Return Chernoff's exponent: n draws with this chance have such a share, or a more extreme
    one, in at most exp(-n x exponent) of cases, for any n.
    """
    parts = ((share, chance), (1 - share, 1 - chance))
    if any(part > 0 and not due for part, due in parts):
        return float("inf")  # rwmixread=0 or 100
    return sum(part * log(part / due) for part, due in parts if part > 0)


def _last_blocks(entry: Entry) -> float:
    """Return the bytes that a job may move beyond its data: the blocks in flight at its end."""
    blocks = max(part.io_bytes / part.total_ios for part in entry.job.dirs.values())
    return LARGEST_OF_MEAN * blocks * entry.options.in_flight


def verified(entry: Entry) -> Iterator[Found]:
    """Yield the writes of a job that verifies them and has no reads.

    Jobs that may end before they verify are skipped: those with a time limit, and groups, which
    other jobs may end (exitall).
    """
    options, job = entry.options, entry.job
    given = (options.get("verify") or "0").lower()
    others = ("runtime", "verify_state_load", "verify_only", "io_submit_mode", "fill_device")
    if not entry.workers or job.failed or given in ("0", "none") or has(options, others):
        return
    try:
        writes_only = options.access == ("write",)
    except UsageError:
        return
    if not writes_only or options.fileless or not options.flag("do_verify", default=True):
        return
    if set(job.dirs) == {"write"} and job.dirs["write"].total_ios >= LEAST_IOS:
        yield "verify", 0.0, job.dirs["write"].total_ios


def paused(entry: Entry) -> Iterator[Found]:
    """Yield more I/Os than the pauses between them allow (thinktime).

    A worker pauses after a number of I/Os, and may also complete those in flight
    (handle_thinktime).
    """
    options, job = entry.options, entry.job
    others = ("thinktime_iotime", "verify", "io_submit_mode", *RAMPS)
    pause_s = (microseconds(options, "thinktime") or 0.0) / 1e6
    longest_s = max((part.runtime for part in job.dirs.values()), default=0) / 1000
    if not entry.alone or not pause_s or has(options, others):
        return
    try:
        blocks = max(options.count("thinktime_blocks"), 1)
        flying = options.in_flight // options.numjobs if options.queues else 0
    except UsageError:
        return
    most = (longest_s / pause_s + 2) * (blocks + flying)
    done = sum(part.total_ios for part in job.dirs.values())
    if done > most * (1 + PRINTED):
        yield "pauses", done, most


def longer_of(entry: Entry) -> Iterator[Found]:
    """Yield a job's measured time if its `runtime` should have ended it earlier.

    fio then sends no more I/Os and waits for those in flight (and in a pause, or for a rate).
    Verifying reads and the final flush come later.
    """
    options, job = entry.options, entry.job
    syncs = job.sync.lat if job.sync is not None else None
    unseen = has(options, SYNC_OPTIONS) and not (syncs and syncs.n)
    if not entry.workers or unseen or has(options, AFTER_ITS_TIME):
        return
    try:
        limit_s = options.seconds("runtime")
        if limit_s and options.get("ramp_time"):
            limit_s += options.seconds("ramp_time")
    except UsageError:
        return
    ran_s = max((part.runtime for part in job.dirs.values()), default=0) / 1000
    ios = sum(part.total_ios for part in job.dirs.values())
    if not limit_s or not ios:
        return
    waits_ns = [whole.max for part in job.dirs.values() if (whole := part.whole) is not None]
    drain_s = max([*waits_ns, syncs.max if syncs is not None else 0], default=0) / 1e9
    pause_s = (microseconds(options, "thinktime") or 0.0) / 1e6 + 2 * entry.workers * ran_s / ios
    if ran_s > limit_s * (1 + OVERSHOOT) + OVERSHOOT_S + drain_s + pause_s:
        yield "longer", ran_s, limit_s


# -- compare the queue depth, workers and limits that a job requested with those that fio printed


QUEUEING = ("libaio", "io_uring", "posixaio")  # engines that keep each I/O until it is complete
UNFILLED = (
    *PACING, "rate", "rate_iops", "latency_target", "fsync", "fdatasync", "sync_file_range",
    "verify", "serialize_overlap", "io_submit_mode", "iodepth_batch_complete",
    "iodepth_batch_complete_min", "iodepth_batch_complete_max", "read_iolog", "zonemode", "stats",
    "openfiles", "file_service_type",
)  # fmt: skip
MOST_UNITS = 6
FILLED = 4  # minimum number of I/Os, as a multiple of the depth
RULE = re.compile(r"(iops|bw|lat)(_slope)?:([0-9.]+)(%?)")


def kept_depth(entry: Entry) -> Iterator[Found]:
    """Yield a queue depth that differs from the depth that fio counted.

    fio counts how many I/Os are in flight at each submission (io_u_mark_depth): never more than
    iodepth. With an engine that queues and a load that never waits, it is iodepth itself, because
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
    """Yield a group whose members ran for less time in total than its number of workers implies.

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
    others = (
        "number_ios", "latency_target", "startdelay", "steadystate", "exitall", "rate_min", "loops",
    )  # fmt: skip
    moved = sum(part.io_bytes for part in job.dirs.values())
    # fio does not print time_based if it is given without a value
    timed = options.flag("time_based") or bool(size and moved > count * size)
    if not limit_ms or longest < ENDED * limit_ms or has(options, others):
        return
    if not size and not timed:
        return
    ended = 0 if timed else moved // (size or 1)
    due = (count - ended) * ENDED * longest
    if job.job_runtime < due:
        yield "workers", job.job_runtime / longest, count


# -- figures that fio prints twice: as an option, and as the value that it used


def echoes(entry: Entry) -> Iterator[Found]:
    """Yield a latency target, window or percentile that differs from the job's options."""
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
    """Yield a steady state that its own figures do not support (steadystate.c), or whose limit
    differs from the job's options.
    """
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
    """Yield means and a deviation that contradict the per-second values printed with them."""
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
