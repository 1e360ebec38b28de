"""Plan the step that runs elbencho on each host: commands, files, bytes, seconds.

Also plans the same load at another rate, for another time, or with one change. Pure.

elbencho limits bytes per second per thread. A thread does its share of each second at once, as fast
as it can, and sleeps until the second is over (RateLimiter.h): latencies at a low rate are those of
bursts at full concurrency. With infloop each pass over the files starts a new second
(initPhaseFunctionPointers): a pass that takes less than a second is not limited at all.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil

from msgspec.structs import replace

from tui.model.address import HostAddress
from tui.model.objects import check_apart
from tui.model.operands import Clause, clause
from tui.model.plan import FILE_NUMBER, FileSpec, HostTask, JobLoad, Step, is_device
from tui.model.problem import UsageError
from tui.model.profile import (
    ParamValue,
    Profile,
    Scalar,
    has_share,
    placeholders,
    puts_first,
    wants_layout,
)
from tui.model.search import Change, Offer
from tui.workloads.base import Paced
from tui.workloads.elbencho.body import Load, body_of, resolve, with_options
from tui.workloads.elbencho.store import Shape, Store, check_put, exports, object_sets, words_of

JOB_FILE = "elbencho.sh"
ARGV = ["sh", JOB_FILE]
# Rows of live figures and the results of phases go to stdout; text for people goes to stderr.
PRINTS = (
    "--lat", "--lathisto", "--livecsv stdout", "--liveint 1000", "--nolive", "--resfile /dev/null",
    "--csvfile /dev/null", "--jsonfile /dev/fd/3",
)  # fmt: skip
MOST_FILES = 1_000_000
LAYOUT_BLOCK, LAYOUT_THREADS, LAYOUT_FILES = 1 << 20, 16, 200
LIMITS = ("limitread", "limitwrite")
NO_RAMP = True  # elbencho measures from its start: a point has the ramp of its step, which is none
LEAST_PASS_S = 20  # whole seconds may make it slower by one second in 20: 5 %


def build_steps(
    profile: Profile,
    params: Mapping[str, ParamValue],
    hosts: Sequence[HostAddress],
    seeds: Mapping[str, int],
) -> list[Step]:
    """Return the step of a profile on these hosts. Raises UsageError."""
    return [planned_step(profile, params, _loads(profile, params, hosts), seeds)]


def _loads(
    profile: Profile, params: Mapping[str, ParamValue], hosts: Sequence[HostAddress]
) -> dict[str, Load]:
    """Return the load of each host with a share of the totals. Raises UsageError."""
    return {
        host.name: resolve(profile, params, host.name, index, len(hosts))
        for index, host in enumerate(hosts, start=1)
        if has_share(profile, params, index, len(hosts))
    }


def planned_step(
    profile: Profile,
    params: Mapping[str, ParamValue],
    loads: Mapping[str, Load],
    seeds: Mapping[str, int],
) -> Step:
    """Return the step for hosts whose loads are resolved. Raises UsageError."""
    tasks = list(_tasks(profile, params, loads, seeds))
    check_apart((task.host, each) for task in tasks for each in task.objects)
    check_put(tasks, put_first=puts_first(profile))
    first = next(iter(loads.values()), None)
    seconds = first.seconds if first else None
    return Step(
        index=0,
        name=profile.profile,
        tool="elbencho",
        params=dict(params),
        tasks=tasks,
        runtime_s=float(seconds) if seconds else None,
        directions=first.directions if first else [],
        in_flight=sum(load.threads * load.depth for load in loads.values()),
        jobs=[job_load(first)] if first else [],
        latency_kind="lat",
    )


def _tasks(
    profile: Profile,
    params: Mapping[str, ParamValue],
    loads: Mapping[str, Load],
    seeds: Mapping[str, int],
) -> Iterator[HostTask]:
    """Yield the task of each host.

    Rank numbers continue from host to host, unless object names contain the host.
    """
    prefixes = {load.store.prefix for load in loads.values() if load.store}
    apart = len(prefixes) == len(loads)
    offset = 0
    for host, load in loads.items():
        if load.store is not None:
            yield _store_task(load.store, host, load, seeds[host], None if apart else offset)
        else:
            yield _task(profile, params, host, load, seeds[host], offset)
        offset += load.threads


def _store_task(store: Store, host: str, load: Load, seed: int, first_rank: int | None) -> HostTask:
    """Return one host's task on objects; with `first_rank` None, the object prefix already
    separates it from other hosts.
    """
    of_buckets = load.phase.name in ("mkbuckets", "rmbuckets")
    offset = 0 if of_buckets else first_rank or 0
    ranks = range(offset, offset + load.threads)
    shape = Shape(load.count("dirs", 1), load.count("files", 1), load.size("size"))
    sets = object_sets(store, load.phase.name, shape, ranks, by_rank=first_rank is not None)
    total = sum(each.count * each.size_bytes for each in sets)
    moved = total if load.phase.makes_ios else 0
    changed = max(total, 1) if any(each.changes for each in sets) else 0
    return HostTask(
        host=host,
        randseed=seed,
        job_file=script(load, offset),
        argv=list(ARGV),
        writes_bytes=changed,
        moves_bytes=None if load.seconds or load.flag("rand") else moved,
        objects=sets,
    )


def job_load(load: Load) -> JobLoad:
    """Return the load of one host in common terms."""
    limit = load.size("limitwrite" if load.phase.name == "write" else "limitread")
    ios = tuple(name for name in load.directions if name in ("read", "write"))
    return JobLoad(
        name=f"rwmix{load.mixed}" if load.mixed else load.phase.name,
        directions=ios or tuple(load.directions),
        workers=load.threads,
        held=load.threads * load.depth,
        bound_s=float(load.seconds) if load.seconds else None,
        queues=load.depth > 1,
        direct=load.flag("direct"),
        stores=bool(ios),
        objects=load.store is not None,
        paced=limit > 0,
        rate_bytes_per_s=(
            {name: limit * load.threads * shares_of(load)[name] for name in ios} if limit else {}
        ),
        random=load.flag("rand"),
        reducible=_reducible(load),
        block_bytes=load.even_block if ios else None,
    )


def shares_of(load: Load) -> dict[str, float]:
    """Return the share of I/Os in each direction."""
    reads = load.mixed / 100 if load.phase.name == "write" else 1.0
    return {"read": reads, "write": 1 - reads}


def _reducible(load: Load) -> str:
    """Return the option that makes data compressible, so that an array may store less; empty if
    blocks are random.
    """
    left = load.count("blockvarpct", 100)
    return f"blockvarpct={left}" if load.writes and left < 100 else ""


def _task(
    profile: Profile,
    params: Mapping[str, ParamValue],
    host: str,
    load: Load,
    seed: int,
    offset: int,
) -> HostTask:
    makes_its_own = load.phase.name in ("mkdirs", "rmdirs")
    layout = wants_layout(profile, params) and load.reads
    directories, files = places(load, offset, layout)
    return HostTask(
        host=host,
        randseed=seed,
        job_file=script(load, offset),
        argv=list(ARGV),
        directories=directories if load.phase.name in ("write", "read") else [],
        files=[] if makes_its_own else files,
        layout=layout and any(not is_device(spec.path) for spec in files),
        writes_bytes=_writes_bytes(load, files),
        required_dir=load.directory or None,
        expects=(
            "present"
            if load.phase.name in ("stat", "rmfiles") or (load.phase.name == "read" and not layout)
            else ""
        ),
        makes_directories=directories if load.phase.name == "mkdirs" else [],
    )


def _writes_bytes(load: Load, files: Sequence[FileSpec]) -> int | None:
    """Return how many bytes of files are written or removed.

    None for a device, whose size only the host knows.
    """
    if load.phase.name not in ("write", "rmfiles"):
        return 0
    if any(is_device(spec.path) for spec in files):
        return None
    return max(sum(spec.total_bytes for spec in files), 1)


def places(load: Load, offset: int, named: bool) -> tuple[list[str], list[FileSpec]]:
    """Return the directories and files of one host whose rank numbers begin at `offset`.

    `named`: one entry per file, as a layout needs, else one for all numbered files of a directory.
    Raises UsageError.
    """
    size = load.size("size")
    if load.files:
        return [], [FileSpec(path, size) for path in load.files]
    dirs, count = load.count("dirs", 1), load.count("files", 1)
    if load.threads * max(dirs, 1) * (count if named else 1) > MOST_FILES:
        raise UsageError(
            f"{load.threads} threads x {dirs} directories x {count} files: at most"
            f" {MOST_FILES} files per host are allowed"
        )
    directories: list[str] = []
    files: list[FileSpec] = []
    for rank in range(offset, offset + load.threads):
        own = [f"{load.directory}/r{rank}/d{number}" for number in range(dirs)]
        directories += [f"{load.directory}/r{rank}", *own] if dirs else []
        for directory in own or [load.directory]:
            files += _files_in(f"{directory}/r{rank}-f", count, size, named)
    return directories, files


def _files_in(prefix: str, count: int, size: int, named: bool) -> list[FileSpec]:
    """Return one path that stands for all numbered files, or with `named` one path per file, as a
    layout needs.
    """
    if named:
        return [FileSpec(f"{prefix}{number}", size) for number in range(count)]
    return [FileSpec(f"{prefix}{FILE_NUMBER}", size, count)]


# -- commands


def script(load: Load, offset: int) -> str:
    """Return the shell script that runs elbencho and sends its results to the script's stdout."""
    keys = exports(load.store) if load.store else []
    return "\n".join(["exec 3>&1", *keys, _command(words(load, offset)), ""])


def words(load: Load, offset: int) -> list[str]:
    """Return elbencho's arguments: each option with its value, then the paths."""
    ranks = [f"--rankoffset {offset}"] if offset and not load.files else []
    return [f"--{load.phase.option}", *_own(load), *ranks, *PRINTS, *_places(load)]


def _places(load: Load) -> list[str]:
    """Return the target: paths, or the bucket."""
    return [load.store.bucket] if load.store else _quoted(load.files or (load.directory,))


def _own(load: Load) -> list[str]:
    return [*(words_of(load.store) if load.store else ()), *_options(load)]


def _options(load: Load) -> list[str]:
    return [
        f"--{name} {shlex.quote(text)}" if text else f"--{name}"
        for name, text in load.texts.items()
    ]


def _quoted(paths: Sequence[str]) -> list[str]:
    """Return paths as shell words, protected from elbencho's expansion of square brackets."""
    return [
        *(["--nopathexp"] if any("[" in path for path in paths) else []),
        *map(shlex.quote, paths),
    ]


def _command(given: Sequence[str]) -> str:
    return " \\\n  ".join(["exec elbencho", *given])


def plain_command(load: Load) -> str:
    """Return the command as a user would type it."""
    return " ".join(["elbencho", f"--{load.phase.option}", *_own(load), *_places(load)]) + "\n"


def layout_script(files: Sequence[FileSpec]) -> str:
    """Return the script that writes these files once, sequentially, up to 16 at a time."""
    by_size: dict[int, list[str]] = {}
    for spec in files:
        if spec.size_bytes and not is_device(spec.path):
            by_size.setdefault(spec.size_bytes, []).append(spec.path)
    lines = ["exec 3>&1", "set -e"]
    for size, paths in by_size.items():
        for at in range(0, len(paths), LAYOUT_FILES):
            lines.append(_layout_command(size, paths[at : at + LAYOUT_FILES]))
    return "\n".join([*lines, ""])


def _layout_command(size: int, paths: Sequence[str]) -> str:
    threads = min(LAYOUT_THREADS, len(paths))
    block = min(size, LAYOUT_BLOCK)
    given = [
        f"--write --sync --threads {threads} --size {size} --block {block}",
        *PRINTS,
        *_quoted(paths),
    ]
    return " \\\n  ".join(["elbencho", *given])


def timed(profile: Profile, seconds: float) -> Profile:
    """Return a profile that runs the same load for this long.

    Raises UsageError if the phase cannot be repeated.
    """
    if body_of(profile).phase not in ("write", "read"):
        raise UsageError(f"{profile.profile}: phase {body_of(profile).phase} can run only once")
    return with_options(profile, {"infloop": True, "timelimit": f"{max(round(seconds), 1)}s"})


def pace(
    profile: Profile,
    params: Mapping[str, ParamValue],
    hosts: Sequence[HostAddress],
    seeds: Mapping[str, int],
    offer: Offer,
) -> Paced:
    """Return the step that offers this load over all hosts: a rate in I/Os per second, or full
    load.

    Raises UsageError.
    """
    free = with_options(timed(profile, offer.seconds), dict.fromkeys(LIMITS))
    rate_iops = offer.rate_iops
    if rate_iops is None:
        return Paced(build_steps(free, params, hosts, seeds)[0], own_ramp=NO_RAMP)
    loads = list(_loads(free, params, hosts).values())
    threads = sum(load.threads for load in loads)
    limit = limit_of(loads[0], rate_iops / threads)
    name = "limitwrite" if loads[0].phase.name == "write" else "limitread"
    held = _held(loads[0], name, limit, offer.seconds)
    step = build_steps(with_options(free, held), params, hosts, seeds)[0]
    step.jobs = [_offered(loads[0], rate_iops / len(loads))]
    return Paced(step, (clause("bursts"),), own_ramp=NO_RAMP)


def _held(load: Load, name: str, limit: int, seconds: float) -> dict[str, Scalar]:
    """Return the options that hold a rate although each pass over the files restarts its limit.

    Random reads of files are extended to one pass. Other passes get a limit at which each takes
    whole seconds, because the next pass starts a new second at once. Raises UsageError for passes
    that are too short.
    """
    if _is_one_pass(load):
        amount = limit * (round(seconds) + LEAST_PASS_S)
        return {name: limit, "randamount": max(amount, load.pass_bytes) * load.threads}
    if 0 < load.pass_bytes < limit * LEAST_PASS_S:
        raise UsageError(
            f"elbencho restarts its rate limit with each pass over the files: at {limit} B/s a"
            f" thread's pass takes {load.pass_bytes / limit:.2g} s; at least {LEAST_PASS_S} s are"
            f" needed: use files of {limit * LEAST_PASS_S} bytes or more in total for each thread"
        )
    if load.pass_bytes > limit * seconds:
        return {name: limit}
    return {name: (load.pass_bytes - load.block) // ceil(load.pass_bytes / limit)}


def limit_of(load: Load, rate_iops: float) -> int:
    """Return the limit in bytes per second per thread for a rate in I/Os per second.

    Raises UsageError for less than one I/O per second, or if the bytes per I/O are unknown.
    """
    if rate_iops < 1:
        raise UsageError(
            f"{rate_iops:g} I/Os per second per thread; at least one is required: use fewer threads"
        )
    if load.even_block is None:
        raise UsageError("size is not a multiple of block, so the bytes per I/O are unknown")
    return round(rate_iops * load.even_block)


def _offered(load: Load, rate_iops: float) -> JobLoad:
    """Return the load of one host with its offered rate in I/Os per second."""
    job, shares = job_load(load), shares_of(load)
    return replace(
        job, paced=True, rate_iops={name: rate_iops * shares[name] for name in job.directions}
    )


def set_by_search(profile: Profile, params: Mapping[str, ParamValue]) -> list[Clause]:
    """Return notes on rate limits and duration parameters that a search ignores, and on the highest
    rate that can be offered.
    """
    given = body_of(profile).options
    left = [
        clause("rate-set-by-search", option=f"{name}={given[name]}")
        for name in LIMITS
        if name in given
    ]
    defaults = {name: param.default for name, param in profile.params.items()}
    unused = [name for name in lengths(profile) if params.get(name) != defaults.get(name)]
    left += [clause("length-set-by-search", name=name) for name in unused]
    return left + _most_offered(resolve(profile, params, "h1", 1, 1))


def _most_offered(load: Load) -> list[Clause]:
    """Return a note with the highest rate that can be offered with these files; empty if there is
    no limit.
    """
    if _is_one_pass(load) or not load.pass_bytes or load.even_block is None:
        return []
    most = load.pass_bytes // LEAST_PASS_S // load.even_block * load.threads
    return [clause("highest-rate", most_iops=most, pass_s=LEAST_PASS_S)]


def _is_one_pass(load: Load) -> bool:
    """Return whether a search runs the load as a single long pass, which is possible for random
    reads of files.
    """
    return bool(load.files) and load.flag("rand") and load.phase.name == "read"


def lengths(profile: Profile) -> list[str]:
    """Return the parameters that only set the duration."""
    given: Mapping[str, Scalar] = body_of(profile).options
    used = {
        name
        for option, value in given.items()
        if option != "timelimit"
        for name in placeholders(value)
    }
    return [
        name
        for name in placeholders(given.get("timelimit"))
        if name in profile.params and name not in used
    ]


# -- the same load on the same files with one change


LEAST_BLOCK = 4096  # smaller ones cannot be read and written past the page cache everywhere


def vary(profile: Profile, params: Mapping[str, ParamValue], change: Change) -> Profile:
    """Return a profile with one change and otherwise the same load. Raises UsageError if that is
    not possible.
    """
    make = CHANGES.get(change)
    if make is None:
        raise UsageError(f"{profile.profile}: {change} does not change its load")
    load = resolve(profile, params, "h1", 1, 1)
    if not load.phase.makes_ios:
        raise UsageError(f"{profile.profile}: phase {load.phase.name} can run only once")
    return with_options(profile, make(load))


def _twice_in_flight(load: Load) -> Mapping[str, Scalar | None]:
    return {"iodepth": 2 * load.depth}


def _workers(load: Load, threads: int) -> Mapping[str, Scalar | None]:
    if load.directory:
        raise UsageError(
            "each thread has its own files, so changing the number of threads changes the load"
        )
    if threads < 1:
        raise UsageError("one thread cannot be halved")
    return {"threads": threads}


def _half_block(load: Load) -> Mapping[str, Scalar | None]:
    if load.block < 2 * LEAST_BLOCK or load.block % (2 * LEAST_BLOCK):
        raise UsageError(
            f"cannot halve blocks of {load.block} bytes: expected a multiple of {2 * LEAST_BLOCK}"
        )
    return {"block": load.block // 2}


def _no_rate(load: Load) -> Mapping[str, Scalar | None]:
    if not any(load.flag(name) for name in LIMITS):
        raise UsageError("the load has no rate limit")
    return dict.fromkeys(LIMITS)


CHANGES: dict[str, Callable[[Load], Mapping[str, Scalar | None]]] = {
    "twice-in-flight": _twice_in_flight,
    "twice-workers": lambda load: _workers(load, 2 * load.threads),
    "half-workers": lambda load: _workers(load, load.threads // 2),
    "half-block": _half_block,
    "no-rate": _no_rate,
}
