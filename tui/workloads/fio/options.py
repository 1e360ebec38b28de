"""Meaning of a fio job's options: typed access, and loads in common terms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from tui.model.operands import Clause, by_generator, clause
from tui.model.plan import BlockShare, JobLoad, Skew
from tui.model.problem import UsageError
from tui.model.quantities import parse_duration, parse_size
from tui.workloads.fio.engine_kinds import (
    DELETING_ENGINES,
    FILE_OPERATIONS,
    FILELESS_ENGINES,
    HARMLESS_ENGINES,
    NO_IO_ENGINES,
    ROUNDING_ENGINES,
    SYNC_ENGINES,
    rounded_up,
)
from tui.workloads.fio.jobimport_ini import read_sections
from tui.workloads.fio.option_table import canonical, is_external

# Options that a plan reads, with the second name that fio also accepts (options.c, .alias).
ALIASES = {
    "rw": "readwrite",
    "bs": "blocksize",
    "bsrange": "blocksize_range",
    "nrfiles": "nr_files",
    "offset": "fileoffset",
    "io_size": "io_limit",
    "runtime": "timeout",
    "randrepeat": "allrandrepeat",
    "stonewall": "wait_for_previous",
}

DIRECTIONS = {
    "read": ("read",),
    "randread": ("read",),
    "write": ("write",),
    "randwrite": ("write",),
    "rw": ("read", "write"),
    "readwrite": ("read", "write"),
    "randrw": ("read", "write"),
    "trim": ("trim",),
    "randtrim": ("trim",),
    "trimwrite": ("write", "trim"),
    "randtrimwrite": ("write", "trim"),
}

SYNC_OPTIONS = ("fsync", "fdatasync", "sync_file_range")

OF_THE_TARGET = ("%", "z")  # of its size, and zones of it

_FALSE = frozenset({"0", "false", "no"})
_RANGE = re.compile(r"[-:]")


class JobOptions(Struct, frozen=True):
    """Options that apply to one job: its own, and those of [global]."""

    name: str
    shared: Mapping[str, str]
    own: Mapping[str, str]

    def get(self, option: str) -> str | None:
        """Return an option's value as text; None if it is not set."""
        names = [name for name in (option, ALIASES.get(option)) if name]
        found = (
            level[name] for level in (self.own, self.shared) for name in names if name in level
        )
        value = next(found, None)
        return None if value is None else str(value).strip()

    def flag(self, option: str, *, default: bool = False) -> bool:
        """Return a boolean option; an option without a value is true."""
        value = self.get(option)
        return default if value is None else value.lower() not in _FALSE

    def count(self, option: str, default: int = 1) -> int:
        """Return an integer option. Raises UsageError."""
        value = self.get(option)
        if value is None:
            return default
        try:
            return parse_size(value)
        except ValueError:
            raise self.wrong(option, value, "a whole number") from None

    def size(self, option: str) -> int | None:
        """Return a size in bytes, the larger end of a range.

        None if unset, or if only the host knows it (%, zones). Raises UsageError.
        """
        value = self.get(option)
        if value is None or value.endswith(OF_THE_TARGET):
            return None
        try:
            return max(parse_size(part) for part in _RANGE.split(value) if part)
        except ValueError:
            raise self.wrong(option, value, "a size such as 4G, or a range 4k-1M") from None

    def seconds(self, option: str) -> float:
        """Return a time in seconds, the longer end of a range; 0 if unset. Raises UsageError."""
        value = self.get(option)
        if not value:
            return 0.0
        try:
            return max(parse_duration(part) for part in value.split("-") if part)
        except ValueError:
            raise self.wrong(option, value, "a duration such as 300s") from None

    def wrong(self, option: str, value: str, allowed: str) -> UsageError:
        """Return the error for a value that cannot be planned."""
        return UsageError(f"job {self.name}: {option}={value}: expected {allowed}")

    @property
    def engine(self) -> str:
        """The I/O engine's name, without its own options."""
        return (self.get("ioengine") or "psync").partition(":")[0]

    @property
    def fileless(self) -> bool:
        """Whether the engine uses no files on the host, or is an external one, which is unknown."""
        return self.engine in FILELESS_ENGINES or is_external(self.get("ioengine") or "")

    @property
    def on_objects(self) -> bool:
        """Whether each block is an object in a store (tui/workloads/fio/objects.py)."""
        return self.engine == "http"

    @property
    def harmless(self) -> bool:
        """Whether the engine stores no data anywhere."""
        return self.engine in HARMLESS_ENGINES

    @property
    def makes_no_data(self) -> bool:
        """Whether the job only creates, stats or removes files, without I/O to their data."""
        return self.engine in FILE_OPERATIONS and (
            self.engine == "filecreate" or self.flag("create_on_open")
        )

    @property
    def queues(self) -> bool:
        """Whether the engine is asynchronous."""
        return self.engine not in SYNC_ENGINES

    @property
    def numjobs(self) -> int:
        """Number of workers of this job."""
        return max(self.count("numjobs"), 1)

    @property
    def in_flight(self) -> int:
        """Maximum number of the job's I/Os in flight."""
        return self.numjobs * (1 if self.engine in SYNC_ENGINES else max(self.count("iodepth"), 1))

    @property
    def most_in_flight(self) -> int:
        """Maximum number of the job's I/Os in flight if fio rounds iodepth up."""
        depth = self.in_flight // self.numjobs
        return self.numjobs * (rounded_up(depth) if self.engine in ROUNDING_ENGINES else depth)

    @property
    def keeps_no_depth(self) -> bool:
        """Whether iodepth has no effect (init.c caps it at 1 for FIO_SYNCIO), unless I/O is
        offloaded to threads.
        """
        return not self.queues and self.get("io_submit_mode") != "offload"

    @property
    def access(self) -> tuple[str, ...]:
        """Kinds of I/O this job does: read, write, trim.

        Raises UsageError for an unknown ``rw``.
        """
        mode = (self.get("rw") or "read").partition(":")[0].lower()
        if mode not in DIRECTIONS:
            raise self.wrong("rw", mode, "one of " + ", ".join(DIRECTIONS))
        return DIRECTIONS[mode]

    @property
    def directions(self) -> tuple[str, ...]:
        """Directions that fio reports for this job; `mixed` with unified_rw_reporting."""
        unified = (self.get("unified_rw_reporting") or "none").lower()
        found = ("mixed",) if unified in ("1", "mixed") else self.access
        return (*found, "sync") if self.syncs else found

    @property
    def syncs(self) -> bool:
        """Whether this job syncs its writes during the load, so that fio reports sync latencies."""
        values = (self.get(option) for option in SYNC_OPTIONS)
        return self.access != ("read",) and any(value not in (None, "0", "") for value in values)

    @property
    def writes(self) -> bool:
        """Whether this job changes or removes data."""
        return self.access != ("read",) or self.engine in DELETING_ENGINES


def job_options(
    shared: Mapping[str, str], jobs: Mapping[str, Mapping[str, str]]
) -> list[JobOptions]:
    """Return the options of each job of a job file, in order."""
    return [JobOptions(name, shared, own) for name, own in jobs.items()]


def jobs_of_job_file(text: str) -> list[JobOptions]:
    """Return the jobs in a job file of benchtui, with all options, by fio's own names."""
    shared: dict[str, str] = {}
    jobs: list[JobOptions] = []
    for section in read_sections(text, "job file"):
        own = {canonical(option.name): option.value or "1" for option in section.options}
        if section.shared:
            shared |= own
        else:
            jobs.append(JobOptions(section.name, {}, {**shared, **own}))
    return jobs


def depth_in_vain(job: JobOptions) -> Clause | None:
    """Return a note if the engine does not keep the queue depth."""
    if not job.keeps_no_depth or job.count("iodepth") <= 1:
        return None
    return clause("depth-in-vain", engine=job.engine)


def _in_vain(job: JobOptions) -> Clause | str:
    told = depth_in_vain(job)
    return "" if told is None else by_generator("fio", told)


PACING = ("thinktime", "flow", "rate_process", "job_max_latency", "latency_target", "ioscheduler")
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
    """Return the pause after each I/O, before which fio waits for all in flight; 0 without one, or
    with several I/Os between pauses.
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
        paced=paced or (job.count("startdelay", 0) > 0 and wave > 0),
        think_s=_think_s(job),
        rate_iops=iops,
        rate_bytes_per_s=bandwidth,
        random=(job.get("rw") or "").startswith("rand"),
        range_bytes=_range_bytes(job),
        ranges=job.numjobs * _file_count(job),
        sharing=_sharing(job),
        skew=_skews(job),
        each_once=not job.flag("norandommap")
        and (job.get("random_distribution") or "random") == "random",
        same_offsets=_same_offsets(job),
        reducible=_reducible(job),
        durable=_durable(job),
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
    """Return whether a job reads what it wrote."""
    return job.get("verify") not in (None, "0", "none") and "write" in job.access


def _range(given: str) -> tuple[BlockShare, ...]:
    """Return the I/O sizes of a value such as `4k` or `4k-64k`. Raises ValueError."""
    sizes = [parse_size(part) for part in _RANGE.split(given) if part]
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


# With these a load ends before its size is done, or what counts is not all that it does.
UNCOUNTED = ("ramp_time", "ramp_size", "verify", "read_iolog", "fill_device", "fill_fs", "exitall")


def moved_bytes(job: JobOptions) -> int | None:
    """Return the bytes that all workers of a job read, write and trim in total.

    None if the job is bounded by time, or only the host knows.
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
    then makes all loops, and further whole passes until io_size is reached.
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
    whole = None if _RANGE.search(given + (job.get("filesize") or "")) else _range_bytes(job)
    return whole and whole * _file_count(job)


def _file_count(job: JobOptions) -> int:
    """Return the number of files that share a worker's size."""
    named = [name for name in re.split(r"(?<!\\):+", job.get("filename") or "") if name]
    return max(job.count("nrfiles"), len(named), 1)


def _sharing(job: JobOptions) -> int:
    """Return how many workers use the same range of each file: all of those on files with given
    names, unless each has an offset of its own.
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
    return float(JobOptions(job.name, {}, {option: value}).count(option))


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
    return _named(job, SYNC_OPTIONS) or sync


def _named(job: JobOptions, options: Sequence[str]) -> str:
    """Return the first of these options that is set, in fio's syntax."""
    found = ((name, job.get(name)) for name in options)
    return next((f"{name}={value}" for name, value in found if value not in (None, "0", "")), "")
