"""Plan the step that runs a fio profile, and the step that fills files and devices before it.
Pure.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from tui.metrics.registry import in_order
from tui.model.address import HostAddress
from tui.model.objects import check_apart
from tui.model.plan import FileSpec, HostTask, Step, is_device
from tui.model.problem import Problem, UsageError
from tui.model.profile import ParamValue, Profile, has_share, puts_first, wants_layout
from tui.workloads.fio.blocks import block_problem
from tui.workloads.fio.body import resolve_options
from tui.workloads.fio.engine_kinds import engines_of
from tui.workloads.fio.jobfile import added_options, explicit_seed, render_options
from tui.workloads.fio.layout import WRITES_WHOLE, by_size, files_of, job_name, sections_per_size
from tui.workloads.fio.loads import job_loads, moved_bytes, waves
from tui.workloads.fio.objects import check_put, fill_tasks, object_problems, sets_of
from tui.workloads.fio.option_table import IN_A_FILE, TARGETS, table
from tui.workloads.fio.options import JobOptions, job_options, jobs_of_job_file

JOB_FILE = "job.fio"
ARGV = ("fio", "--output-format=json+", "--status-interval=1", "--eta=never")
DEFAULT_MAX_JOBS = 4096

Jobs = Mapping[str, Mapping[str, str]]
Resolved = tuple[Mapping[str, str], Jobs]
"""Options of [global], and of each job, as resolved on one host."""
# options that name images of vitastor, rbd and nbd, which can be written from beginning to end
NAMED_BY = ("image", "rbdname", "uri")
OF_ANY_ENGINE = ("ioengine", "thread")  # options that select an engine, besides its own options


class Timing(Struct, frozen=True):
    """Times of a job file in seconds.

    `runtime_s`: from the end of the ramp until the last job ends; None if a job has no runtime.
    """

    startdelay_s: float
    ramp_s: float
    runtime_s: float | None


def build_steps(
    profile: Profile,
    params: Mapping[str, ParamValue],
    hosts: Sequence[HostAddress],
    seeds: Mapping[str, int],
) -> list[Step]:
    """Return the step of a fio profile on these hosts. Raises UsageError."""
    taking_part, resolved = resolve_on(profile, params, hosts)
    return [planned_step(profile, params, taking_part, resolved, seeds)]


def resolve_on(
    profile: Profile, params: Mapping[str, ParamValue], hosts: Sequence[HostAddress]
) -> tuple[list[HostAddress], list[Resolved]]:
    """Return the hosts that get a share of the load, and the options of each. Raises UsageError."""
    numbered = enumerate(hosts, start=1)
    taking_part = [
        (index, host) for index, host in numbered if has_share(profile, params, index, len(hosts))
    ]
    resolved: list[Resolved] = [
        resolve_options(profile, params, host.name, index, len(hosts))
        for index, host in taking_part
    ]
    return [host for _, host in taking_part], resolved


def planned_step(
    profile: Profile,
    params: Mapping[str, ParamValue],
    hosts: Sequence[HostAddress],
    resolved: Sequence[Resolved],
    seeds: Mapping[str, int],
) -> Step:
    """Return the step of hosts with resolved options. Raises UsageError."""
    tasks = [
        _task(profile, params, host.name, shared, jobs, seeds[host.name])
        for host, (shared, jobs) in zip(hosts, resolved, strict=True)
    ]
    plans = [job_options(shared, jobs) for shared, jobs in resolved]
    check_apart((task.host, each) for task in tasks for each in task.objects)
    check_put(tasks, put_first=puts_first(profile))
    span = timing(plans[0]) if plans else Timing(0.0, 0.0, None)
    return Step(
        index=0,
        name=profile.profile,
        tool="fio",
        params=dict(params),
        tasks=tasks,
        runtime_s=span.runtime_s,
        ramp_s=span.ramp_s,
        startdelay_s=span.startdelay_s,
        directions=directions(plans[0]) if plans else [],
        in_flight=sum(map(in_flight, plans)),
        jobs=job_loads(plans[0]) if plans else [],
        latency_kind=shown_latency(profile, plans[0]) if plans else None,
        added_options=added_options(*resolved[0]) if resolved else {},
    )


def shown_latency(profile: Profile, jobs: Sequence[JobOptions]) -> Literal["lat"] | None:
    """Return "lat" if clat would hide waiting time, None to use the profile's setting.

    An asynchronous engine without direct waits for the page cache during submission, which clat
    excludes.
    """
    if "latency" in profile.model_fields_set:
        return None
    cached = (not job.flag("direct") and job.flag("buffered", default=True) for job in jobs)
    waits = any(
        job.queues and not job.fileless and buffers
        for job, buffers in zip(jobs, cached, strict=True)
    )
    return "lat" if waits else None


def _task(
    profile: Profile,
    params: Mapping[str, ParamValue],
    host: str,
    shared: Mapping[str, str],
    jobs: Jobs,
    seed: int,
) -> HostTask:
    """Return the task of one host."""
    layout = wants_layout(profile, params)
    files, directories = files_of(shared, jobs, strict=layout)
    required = required_dir(profile, params, directories)
    own_seed, plans = explicit_seed(shared, jobs), job_options(shared, jobs)
    _check_jobs(profile, plans)
    return HostTask(
        host=host,
        randseed=seed if own_seed is None else own_seed,
        job_file=render_options(shared, jobs, seed),
        argv=argv(plans),
        directories=[path for path in directories if not _holds(path, required)],
        files=files,
        layout=layout and any(not is_device(spec.path) for spec in files),
        writes_bytes=writes_bytes(shared, jobs, files),
        moves_bytes=_all_moved(plans),
        required_dir=required,
        only_read=only_read(shared, jobs, files),
        images=images_used(job for job in plans if job.writes),
        images_used=images_used(plans),
        objects=sets_of(plans),
        expects=expects(plans),
    )


def _all_moved(jobs: Sequence[JobOptions]) -> int | None:
    """Return the bytes that a host moves until its last job ends; None if unknown."""
    moved = [moved_bytes(job) for job in jobs]
    known = [each for each in moved if each is not None]
    return sum(known) if len(known) == len(moved) else None


def _check_jobs(profile: Profile, jobs: Sequence[JobOptions]) -> None:
    found = [(job.called, each) for job in jobs for each in object_problems(job)]
    found += [(job.called, each) for job in jobs if (each := block_problem(job)) is not None]
    wrong = [f"{job}{name}: {why}" for job, (name, why) in found]
    if wrong:
        raise UsageError([Problem(f"{profile.profile}: {each}") for each in wrong])


def argv(jobs: Sequence[JobOptions]) -> list[str]:
    """Return the fio command; more than 4096 workers need an extra option."""
    workers = sum(job.numjobs for job in jobs)
    more = [f"--max-jobs={workers}"] if workers > DEFAULT_MAX_JOBS else []
    return [*ARGV, *more, JOB_FILE]


def writes_bytes(shared: Mapping[str, str], jobs: Jobs, files: Iterable[FileSpec]) -> int | None:
    """Return how many bytes of files the measurement can overwrite or create: 0 if it only reads.

    Excludes what fio writes to a missing or short file before measuring, which only a check on the
    host can tell (engine/preflight/destroy.py, laid_out). None if unbounded: a whole device, files
    of unknown size, or an engine that writes to something other than files.
    """
    writers = [job for job in job_options(shared, jobs) if job.writes]
    if any(job.fileless and not job.harmless and not job.on_objects for job in writers):
        return None
    put = sum(each.count * each.size_bytes for each in sets_of(writers) if "put" in each.does)
    writing = {job.name: jobs[job.name] for job in writers}
    written, _ = files_of(shared, writing, strict=False)
    full = {spec.path: spec.size_bytes for spec in files}
    sizes = [full.get(spec.path, spec.size_bytes) for spec in written]
    return None if any(size == 0 for size in sizes) else put + sum(sizes)


def only_read(shared: Mapping[str, str], jobs: Jobs, files: Iterable[FileSpec]) -> list[str]:
    """Return files that are only read although other files are written; empty if no job writes."""
    writing = {job.name: jobs[job.name] for job in job_options(shared, jobs) if job.writes}
    if not writing:
        return []
    written = {spec.path for spec in files_of(shared, writing, strict=False)[0]}
    return [spec.path for spec in files if spec.path not in written]


def expects(jobs: Sequence[JobOptions]) -> Literal["", "absent", "present"]:
    """Return whether files must exist ("present"), must not exist ("absent"), or either (""), for
    the operation to be measured.
    """
    engines = {job.engine if job.makes_no_data else "" for job in jobs}
    if engines == {"filecreate"}:
        return "absent"
    return "present" if engines and engines <= {"filestat", "filedelete"} else ""


def required_dir(
    profile: Profile, params: Mapping[str, ParamValue], directories: Sequence[str]
) -> str | None:
    """Return the longest directory parameter that contains a job's directory, and therefore must
    exist; None if there is none.
    """
    given = [
        posixpath.normpath(str(params[name]))
        for name, param in profile.params.items()
        if param.kind == "directory" and params.get(name)
    ]
    fitting = [path for path in given if any(_holds(path, directory) for directory in directories)]
    return max(fitting, key=len, default=None)


def _holds(outer: str, inner: str | None) -> bool:
    """Return whether `inner` is the directory `outer` or below it."""
    return inner is not None and (inner + "/").startswith(outer.rstrip("/") + "/")


def directions(jobs: Sequence[JobOptions]) -> list[str]:
    """Return the directions that fio will report for these jobs."""
    found = {direction for job in jobs for direction in job.directions}
    return in_order(found)


def in_flight(jobs: Sequence[JobOptions]) -> int:
    """Return the maximum number of I/Os in flight on one host: workers x iodepth, over concurrent
    jobs.
    """
    return max((sum(job.in_flight for job in wave) for wave in waves(jobs)), default=0)


def timing(jobs: Sequence[JobOptions]) -> Timing:
    """Return the start of the first load, the longest ramp, and the time after both until the last
    job ends, in seconds.
    """
    groups = waves(jobs)
    if not groups:
        return Timing(0.0, 0.0, None)
    delay = min(job.seconds("startdelay") for job in groups[0])
    ramp = max(job.seconds("ramp_time") for job in jobs)
    if not all(job.seconds("runtime") > 0 for job in jobs):
        return Timing(delay, ramp, None)
    total = sum(max(map(_length, wave)) for wave in groups)
    return Timing(delay, ramp, total - delay - ramp)


def _length(job: JobOptions) -> float:
    return job.seconds("startdelay") + job.seconds("ramp_time") + job.seconds("runtime")


DEPTH = 32
QUEUEING = ("libaio", "io_uring")


def fill(steps: Sequence[Step], times: int, block_bytes: int) -> list[HostTask]:
    """Return one task per host that fills all files, devices, images and objects of these steps.

    Raises UsageError.
    """
    every = [task for step in steps for task in step.tasks]
    if any(task.objects for task in every):
        if any(task.files for task in every):
            raise UsageError("fill: the profile mixes files and objects; use separate profiles")
        return fill_tasks(every, argv([]), times)
    images = images_of(every)
    tasks: dict[str, list[HostTask]] = {}
    for step in steps:
        for task in step.tasks:
            if task.files or not has_images(task) or task.host in images:
                tasks.setdefault(task.host, []).append(task)
    direct = all(job.direct for step in steps for job in step.jobs)
    return [
        _fill_task(every, images.get(host, []), times, block_bytes, direct=direct)
        for host, every in tasks.items()
    ]


def _fill_task(
    tasks: Sequence[HostTask],
    images: Sequence[Image],
    times: int,
    block_bytes: int,
    *,
    direct: bool,
) -> HostTask:
    """Return one task that fills all files and images of a host's tasks."""
    files = _together(tasks)
    if not files and not images:
        raise UsageError("fill: the load has no files to fill; use fill: 0")
    sizes = [spec.size_bytes - (spec.start_bytes or 0) for spec in files]
    whole_device = any(not spec.size_bytes for spec in files)
    first = tasks[0]
    known = None if whole_device or images else times * sum(sizes)
    return HostTask(
        host=first.host,
        randseed=first.randseed,
        job_file=fill_job(
            files, times, block_bytes, direct=direct, engine=_engine(tasks), images=images
        ),
        argv=argv([]),
        directories=list(dict.fromkeys(path for task in tasks for path in task.directories)),
        files=files,
        writes_bytes=known,
        moves_bytes=known,
        required_dir=first.required_dir,
        images=[image.name for image in images],
        images_used=[image.name for image in images],
    )


def _together(tasks: Sequence[HostTask]) -> list[FileSpec]:
    """Return the files of all tasks without duplicates, with the union of the ranges used.

    Raises UsageError.
    """
    found: dict[str, FileSpec] = {}
    for spec in (
        spec for task in tasks for spec in task.files if is_device(spec.path) or spec.size_bytes
    ):
        other = found.get(spec.path, spec)
        if spec.start_bytes is None or other.start_bytes is None:
            raise UsageError(
                f"fill: the start of the load on {spec.path} is unknown; give offset in bytes"
            )
        whole = not spec.size_bytes or not other.size_bytes
        size = 0 if whole else max(spec.size_bytes, other.size_bytes)
        found[spec.path] = FileSpec(
            spec.path, size, start_bytes=min(spec.start_bytes, other.start_bytes)
        )
    return list(found.values())


def _engine(tasks: Sequence[HostTask]) -> str:
    """Return the engine for a fill: the load's own if it keeps many blocks in flight, else
    psync.
    """
    return next(
        (name for name in engines_of(task.job_file for task in tasks) if name in QUEUEING), "psync"
    )


def fill_job(
    files: Sequence[FileSpec],
    times: int,
    block_bytes: int,
    *,
    direct: bool,
    engine: str,
    images: Sequence[Image] = (),
) -> str:
    """Return the job file of a fill: up to 16 files at a time, each device and image in its own
    job.

    An image is written completely by the load's engine, which knows its size. A remainder smaller
    than a block is written after the whole blocks.
    """
    own = {
        "ioengine": engine,
        "direct": str(int(direct)),
        "loops": str(times),
        "bs": str(block_bytes),
    }
    shared = {**WRITES_WHOLE, **own}
    shared |= {"iodepth": str(DEPTH)} if engine in QUEUEING else {}
    lines = ["[global]", *(f"{name}={value}" for name, value in shared.items())]
    whole = [*_devices(files), *map(_image, images)]
    for number, section in enumerate(
        [*whole, *_bodies(files, block_bytes), *_tails(files, block_bytes)]
    ):
        lines += [f"[fill{number}]", *section]
    return "\n".join(lines) + "\n"


def _devices(files: Sequence[FileSpec]) -> list[list[str]]:
    """Return one section per device, for the range that the load uses."""
    return [_device(spec) for spec in files if is_device(spec.path)]


def _device(spec: FileSpec) -> list[str]:
    start = spec.start_bytes or 0
    offset = [f"offset={start}"] if start else []
    size = [f"size={spec.size_bytes - start}"] if spec.size_bytes else []
    return [*offset, *size, f"filename={job_name(spec.path)}"]


def _image(image: Image) -> list[str]:
    return [f"iodepth={DEPTH}", *(f"{name}={value}" for name, value in image.options)]


def _bodies(files: Sequence[FileSpec], block_bytes: int) -> list[list[str]]:
    """Return sections for the whole blocks of files: up to 16, but at least one per size."""
    groups = {size: paths for size, paths in by_size(files).items() if size >= block_bytes}
    counts = sections_per_size(groups)
    return [
        [f"filesize={size}", *(f"filename={job_name(path)}" for path in paths[at :: counts[size]])]
        for size, paths in groups.items()
        for at in range(counts[size])
    ]


def _tails(files: Sequence[FileSpec], block_bytes: int) -> list[list[str]]:
    """Return sections for the remainder after the last whole block, by file size."""
    groups = {size: paths for size, paths in by_size(files).items() if size % block_bytes}
    return [
        [
            "ioengine=psync",
            "direct=0",
            f"bs={size % block_bytes}",
            f"filesize={size}",
            *([f"offset={size - size % block_bytes}"] if size > block_bytes else []),
            *(f"filename={job_name(path)}" for path in paths),
        ]
        for size, paths in groups.items()
    ]


@dataclass(frozen=True, slots=True)
class Image:
    """An image, and the options that identify it in a job, in order: engine, pool, cluster, ..."""

    name: str
    options: tuple[tuple[str, str], ...]


def images_used(jobs: Iterable[JobOptions]) -> list[str]:
    """Return the images, pools and URLs that jobs read or write, without duplicates."""
    named = (
        image_name(job) for job in jobs if job.fileless and not job.harmless and not job.on_objects
    )
    return list(dict.fromkeys(name for name in named if name))


def image_name(job: JobOptions) -> str | None:
    """Return the name of a job's image, pool or URL; None if it has none."""
    return next(filter(None, map(job.get, TARGETS.get(job.engine, IN_A_FILE))), None)


def has_images(task: HostTask) -> bool:
    """Return whether a task uses images, which can be filled, unlike pools and buckets."""
    return bool(task.images_used) and bool(_of_job_file(task.job_file))


def images_of(tasks: Sequence[HostTask]) -> dict[str, list[Image]]:
    """Return the images that tasks use, by host; a shared image is listed for its first host
    only.
    """
    seen: set[Image] = set()
    found: dict[str, list[Image]] = {}
    for task in tasks:
        for image in _of_job_file(task.job_file) if task.images_used else ():
            if image not in seen:
                seen.add(image)
                found.setdefault(task.host, []).append(image)
    return found


def _of_job_file(text: str) -> list[Image]:
    """Return the images in a benchtui job file."""
    of_all: dict[str, object] = table()["options"]
    found: list[Image] = []
    for job in jobs_of_job_file(text):
        name = next(filter(None, map(job.get, NAMED_BY)), None)
        kept = tuple(
            (key, value)
            for key, value in job.own.items()
            if key not in of_all or key in OF_ANY_ENGINE
        )
        found += [Image(name, kept)] if name else []
    return found
