"""The loads of fio jobs in common terms: rates, sizes, ranges, distributions, syncs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui.model.operands import Clause, by_generator
from tui.model.plan import BlockShare, JobLoad, Skew
from tui.model.quantities import parse_duration, parse_size
from tui.workloads.fio.engine_kinds import NO_IO_ENGINES
from tui.workloads.fio.options import SEPARATOR, SYNC_OPTIONS, JobOptions, depth_in_vain


def _in_vain(job: JobOptions) -> Clause | str:
    told = depth_in_vain(job)
    return "" if told is None else by_generator("fio", told)


PACING = ("thinktime", "flow", "rate_process", "job_max_latency", "latency_target", "ioscheduler")
# with these, a job may do no I/O for a while
PAUSING = (*PACING, "rate", "rate_iops", "startdelay", "verify", "zonemode", "read_iolog")
REDUCIBLE = ("zero_buffers", "buffer_pattern", "buffer_compress_percentage", "dedupe_percentage")
RATED = ("read", "write", "trim")  # the order of fio's lists: rate_iops=500,100


def job_loads(jobs: Sequence[JobOptions]) -> list[JobLoad]:
    """Return the loads of one host's jobs in common terms, without jobs that only compute."""
    return [
        _load(job, wave)
        for wave, together in enumerate(waves(jobs))
        for job in together
        if job.engine not in NO_IO_ENGINES
    ]


def waves(jobs: Sequence[JobOptions]) -> list[list[JobOptions]]:
    """Return groups of jobs that run at the same time; a job with stonewall waits for all earlier
    ones.
    """
    found: list[list[JobOptions]] = []
    for job in jobs:
        if not found or job.flag("stonewall"):
            found.append([])
        found[-1].append(job)
    return found


def _bound_s(job: JobOptions) -> float | None:
    """Return the seconds after which a job ends; None if its data or a target ends it."""
    # without latency_run, a job ends when it has found the depth for its latency_target
    seeks = job.get("latency_target") not in (None, "0") and not job.flag("latency_run")
    if seeks or not job.flag("time_based"):
        return None
    return job.seconds("runtime") or None


def _think_s(job: JobOptions) -> float:
    """Return the pause after each I/O; before it, fio waits for all I/Os in flight. 0 without a
    pause, or with several I/Os between pauses.
    """
    text = job.get("thinktime") or ""
    if job.get("thinktime_iotime") or job.count("thinktime_blocks", 1) > 1:
        return 0.0
    try:
        return float(text) / 1e6 if text.isdecimal() else parse_duration(text)
    except ValueError:
        return 0.0


def _load(job: JobOptions, wave: int) -> JobLoad:
    iops, bandwidth = _offered(job)
    random_share, ordered_by = _order(job)
    paced = bool(iops or bandwidth) or any(job.get(name) not in (None, "0", "") for name in PACING)
    return JobLoad(
        name=job.name,
        directions=job.access,
        workers=job.numjobs,
        held=job.in_flight,
        most_held=job.most_in_flight,
        wave=wave,
        bound_s=_bound_s(job),
        queues=job.queues,
        direct=job.flag("direct") or not job.flag("buffered", default=True),
        fileless=job.fileless,
        stores=not job.harmless and not job.makes_no_data,
        no_storage=_no_storage(job),
        paced=paced or (job.count("startdelay", 0) > 0 and wave > 0),
        think_s=_think_s(job),
        rate_iops=iops,
        rate_bytes_per_s=bandwidth,
        random=_is_random(job),
        random_share=random_share,
        ordered_by=ordered_by,
        range_bytes=_range_bytes(job),
        ranges=job.numjobs * _file_count(job),
        sharing=_sharing(job),
        skew=_skews(job),
        each_once=not job.flag("norandommap")
        and (job.get("random_distribution") or "random") == "random",
        same_offsets=_same_offsets(job),
        reducible=_reducible(job),
        durable=_durable(job),
        synced_every=_synced_every(job),
        flushed=_named(job, ("end_fsync", "fsync_on_close")),
        block_bytes=_block(job),
        blocks={} if _block(job) and not _verifies(job) else _blocks(job),
        poisson=job.get("rate_process") == "poisson",
        redrawn_bytes=_redrawn_bytes(job),
        same_draws=_repeats_draws(job),
        whole_blocks=True,
        in_vain=_in_vain(job),
        idle=(f"iodepth={job.get('iodepth')}",)
        if job.keeps_no_depth and job.get("iodepth")
        else (),
        objects=job.on_objects,
        reopens=0 < job.count("openfiles", 0) < job.count("nrfiles", 1),
    )


def _no_storage(job: JobOptions) -> str:
    """Return the engine that reports I/O without doing any; empty for others."""
    return f"ioengine={job.engine}" if job.harmless else ""


def _is_random(job: JobOptions) -> bool:
    return (job.get("rw") or "").startswith("rand")


def _order(job: JobOptions) -> tuple[float, str]:
    """Return the share of a random job's I/Os that go to a random block, and the options that
    make it less than 1 (fio io_u.c, get_next_block and should_do_random).

    `percentage_random` may have a value for each direction; the lowest one for the job's directions
    counts.
    """
    if not _is_random(job):
        return 1.0, ""
    length = (job.get("rw") or "").partition(":")[2]
    run = int(length) if length.isdecimal() else 1  # I/Os per random block: randread:8
    values = [
        int(each) for each in (job.get("percentage_random") or "").split(",") if each.isdecimal()
    ]
    chosen = [values[min(RATED.index(name), len(values) - 1)] for name in job.access if values]
    percent = min(chosen, default=100)
    given = {"rw": run > 1, "percentage_random": percent < 100}
    options = " ".join(f"{name}={job.get(name)}" for name, matters in given.items() if matters)
    return percent / 100 / max(run, 1), options


def _repeats_draws(job: JobOptions) -> bool:
    """Return whether fio's generators start with the same seeds on every host, as by default."""
    return job.flag("randrepeat", default=True) or job.flag("allrandrepeat")


def _redrawn_bytes(job: JobOptions) -> int | None:
    """Return the bytes of a pass if several passes start from the same seeds; None if there is one
    pass.

    fio reseeds its generators for each of its `loops`, and for each pass over its files if io_size
    exceeds their size; time_based alone does not.
    """
    size, amount = job.size("size"), job.size("io_size")
    again = job.count("loops", 1) > 1 or (size and amount and amount > size)
    if not again or not _repeats_draws(job):
        return None
    return min((each for each in (size, amount) if each), default=1)


def _block(job: JobOptions) -> int | None:
    """Return the I/O size in bytes if it is the same for all I/Os (no range, mix or per-direction
    sizes); else None.
    """
    given = job.get("bs") or "4k"
    several = any(job.get(name) for name in ("bsrange", "bssplit")) or "," in given or "-" in given
    return None if several else job.size("bs") or 4096


def _blocks(job: JobOptions) -> dict[str, tuple[BlockShare, ...]]:
    """Return the I/O sizes by direction.

    Lists are for read, write and trim; the last value applies to the rest.
    """
    if job.count("num_range", 1) > 1:
        return {}
    if split := job.get("bssplit"):
        given, read = split, _split
    elif ranges := job.get("bsrange"):
        given, read = ranges, _range
    else:
        given, read = job.get("bs") or "4k", _range
    try:
        places = [read(part) for part in given.split(",")]
    except ValueError:
        return {}
    found = {name: places[min(place, len(places) - 1)] for place, name in enumerate(RATED)}
    if _verifies(job):
        sizes = [
            size
            for name in ("read", "write")
            for part in found[name]
            for size in (part.low, part.high)
        ]
        found["read"] = (BlockShare(min(sizes), max(sizes), None),)  # reads of what was written
    used = ("read", *job.access) if _verifies(job) else job.access
    return {name: shares for name, shares in found.items() if name in used and shares}


def _verifies(job: JobOptions) -> bool:
    """Return whether a job reads back the data that it wrote."""
    return job.get("verify") not in (None, "0", "none") and "write" in job.access


def _range(given: str) -> tuple[BlockShare, ...]:
    """Return the I/O sizes of a value such as `4k` or `4k-64k`. Raises ValueError."""
    sizes = [parse_size(part) for part in SEPARATOR.split(given) if part]
    return (BlockShare(min(sizes), max(sizes), 1.0),) if sizes else ()


def _split(given: str) -> tuple[BlockShare, ...]:
    """Return the I/O sizes of `4k/10:64k/50:32k/`; sizes without a percentage share the rest.

    Raises ValueError.
    """
    parts = [part.partition("/") for part in given.split(":") if part]
    told = [float(share) / 100 if share else None for _, _, share in parts]
    left = max(1.0 - sum(share or 0.0 for share in told), 0.0) / max(told.count(None), 1)
    shares = [left if share is None else share for share in told]
    sizes = [parse_size(size) for size, _, _ in parts]
    return tuple(
        BlockShare(size, size, share) for size, share in zip(sizes, shares, strict=True) if share
    )


def _range_bytes(job: JobOptions) -> int | None:
    """Return how many bytes of one file a worker's I/O covers; None if only the host knows."""
    if job.get("zonemode") not in (None, "none"):
        return None
    whole = job.size("size")
    each = whole // _file_count(job) if whole else None
    return min((size for size in (each, job.size("filesize")) if size), default=None)


# With these a load ends before its size is done, or does I/O that is not counted.
UNCOUNTED = ("ramp_time", "ramp_size", "verify", "read_iolog", "fill_device", "fill_fs", "exitall")


def moved_bytes(job: JobOptions) -> int | None:
    """Return the bytes that all workers of a job read, write and trim in total.

    None if the job is bounded by time, or its options do not determine the number.
    """
    timed = job.flag("time_based") and job.seconds("runtime") > 0
    copies = len(job.access) > 1 and "trim" in job.access  # trimwrite: twice its size
    uncounted = any(job.get(name) not in (None, "", "0") for name in UNCOUNTED)
    if timed or copies or uncounted or job.makes_no_data or _ends_between(job):
        return None
    each = _worker_bytes(job)
    ios, block = job.count("number_ios", 0), _block(job)
    if ios:
        each = min(each or ios * block, ios * block) if block else None
    return None if each is None else each * job.numjobs * max(job.count("loops"), 1)


def _ends_between(job: JobOptions) -> bool:
    """Return whether io_size may exceed a pass over the files, and there are several `loops`: fio
    then runs all loops, and further whole passes until io_size is reached.
    """
    amount = job.size("io_size") if job.get("io_size") else None
    several = job.count("loops", 1) > 1
    return several and amount is not None and amount > (_files_bytes(job) or 0)


def _worker_bytes(job: JobOptions) -> int | None:
    """Return the bytes after which a worker ends each of its `loops`: io_size, else the size of all
    its files; None if only the host knows.
    """
    return job.size("io_size") if job.get("io_size") else _files_bytes(job)


def _files_bytes(job: JobOptions) -> int | None:
    """Return the size of all files of a worker; None if only the host knows."""
    given = job.get("size") or job.get("filesize") or ""
    whole = None if SEPARATOR.search(given + (job.get("filesize") or "")) else _range_bytes(job)
    return whole and whole * _file_count(job)


def _file_count(job: JobOptions) -> int:
    """Return the number of files that share a worker's size."""
    named = [name for name in re.split(r"(?<!\\):+", job.get("filename") or "") if name]
    return max(job.count("nrfiles"), len(named), 1)


def _sharing(job: JobOptions) -> int:
    """Return how many workers use the same range of each file: all workers if the files are named,
    unless each worker has its own offset.
    """
    apart = job.get("offset_increment") not in (None, "", "0") or job.on_objects
    return 1 if apart or not job.get("filename") else job.numjobs


def _skews(job: JobOptions) -> dict[str, Skew]:
    """Return the access distributions by direction; empty for partly sequential I/O."""
    given = job.get("random_distribution") or "random"
    if not (job.get("rw") or "").startswith("rand") or job.get("percentage_random") not in (
        None,
        "100",
    ):
        return {}
    kind, _, rest = given.partition(":")
    places = rest.split(",") if kind.startswith("zoned") else [rest]
    try:
        skews = [_skew(job, kind, f"{kind}:{place}" if place else kind, place) for place in places]
    except ValueError:
        return {}
    found = {
        name: skews[min(place, len(skews) - 1)]
        for place, name in enumerate(RATED)
        if name in job.access
    }
    return {name: skew for name, skew in found.items() if skew is not None}


def _skew(job: JobOptions, kind: str, text: str, value: str) -> Skew | None:
    """Return an access distribution as fio parses it; None if it is uniform or depends on the host.

    Raises ValueError if fio would reject it.
    """
    if kind == "zipf":
        return Skew(text, "zipf", float(value.partition(":")[0] or 1.1))
    if kind == "pareto":
        h = float(value.partition(":")[0] or 0.2)
        return Skew(text, "pareto", h) if 0 < h < 1 else None
    if kind in ("normal", "gauss"):
        return Skew(text, "normal", float(value.partition(":")[0] or 0))
    if kind not in ("zoned", "zoned_abs"):
        return None
    pairs = [part.partition("/") for part in value.split(":") if part]
    whole = _range_bytes(job) if kind == "zoned_abs" else 100
    if not whole:
        return None
    of_size = parse_size if kind == "zoned_abs" else float
    return Skew(
        text,
        "zoned",
        zones=tuple((float(share) / 100, of_size(size) / whole) for share, _, size in pairs),
    )


def _offered(job: JobOptions) -> tuple[dict[str, float], dict[str, float]]:
    """Return the I/Os and bytes per second offered to all workers of a job, by direction.

    For mixed sizes fio converts a rate using the smallest block: with Poisson arrivals it keeps the
    number of I/Os, otherwise the bytes.
    """
    iops, bandwidth = _rates(job, "rate_iops"), _rates(job, "rate")
    least = {name: min(part.low for part in parts) for name, parts in _blocks(job).items()}
    if job.get("rate_process") == "poisson":
        counted = {name: rate / least[name] for name, rate in bandwidth.items() if least.get(name)}
        return counted | iops, {name: bandwidth[name] for name in bandwidth.keys() - counted.keys()}
    sized = {name: rate * least[name] for name, rate in iops.items() if least.get(name)}
    if _block(job):  # the same rate in either unit
        return iops, bandwidth
    return {name: iops[name] for name in iops.keys() - sized.keys()}, sized | bandwidth


def _rates(job: JobOptions, option: str) -> dict[str, float]:
    """Return the rate of all workers of a job, by direction.

    Lists are for read, write and trim.
    """
    given = job.get(option)
    if not given:
        return {}
    parts = [part.strip() for part in given.split(",")]
    values = parts if len(parts) > 1 else parts * len(RATED)
    found = {
        name: _amount(job, option, value)
        for name, value in zip(RATED, values, strict=False)
        if value
    }
    return {
        name: value * job.numjobs for name, value in found.items() if value and name in job.access
    }


def _amount(job: JobOptions, option: str, value: str) -> float:
    return float(JobOptions(job.name, {}, {option: value}, job.alone).count(option))


def _same_offsets(job: JobOptions) -> bool:
    """Return whether the profile determines the offsets: fio <= 3.42 uses randseed only with
    randrepeat=0.
    """
    return job.flag("randrepeat", default=job.get("randseed") is not None)


def _reducible(job: JobOptions) -> str:
    if job.access == ("read",):
        return ""
    if job.get("scramble_buffers") == "0" and not job.flag("refill_buffers"):
        # each worker writes one buffer again and again
        return _named(job, REDUCIBLE) or "scramble_buffers=0"
    return _named(job, REDUCIBLE)


def _durable(job: JobOptions) -> str:
    if job.access == ("read",):
        return ""
    sync = f"sync={job.get('sync')}" if job.get("sync") not in (None, "0", "none") else ""
    return sync or _named(job, SYNC_OPTIONS)  # O_SYNC: every write, whatever else syncs


def _synced_every(job: JobOptions) -> int:
    """Return how many writes of a worker each sync follows; 0 without syncs.

    ``fsync=N``, ``fdatasync=N`` and ``sync_file_range=FLAGS:N`` sync after N writes (fio io_u.c,
    should_fsync); ``sync`` opens the files with O_SYNC or O_DSYNC.
    """
    if not _durable(job):
        return 0
    values = (job.get(option) for option in SYNC_OPTIONS)
    counts = [int(value.rpartition(":")[2]) for value in values
              if value is not None and value.rpartition(":")[2].isdecimal()]  # fmt: skip
    opened = job.get("sync") not in (None, "0", "none")
    return 1 if opened else min((each for each in counts if each), default=1)


def _named(job: JobOptions, options: Sequence[str]) -> str:
    """Return the first of these options that is set, in fio's syntax."""
    found = ((name, job.get(name)) for name in options)
    return next((f"{name}={value}" for name, value in found if value not in (None, "0", "")), "")
