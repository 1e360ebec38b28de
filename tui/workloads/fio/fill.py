"""Filling files and devices: every block of what a load uses is written, in sequence, so often as is asked for.

Layout writes what is missing, once; a fill writes everything, again and again, to bring flash into a state that lasts.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui.model.plan import FileSpec, HostTask, Step, is_device
from tui.model.problem import UsageError
from tui.workloads.fio.engines import engines_of
from tui.workloads.fio.images import Image, has_images, images_of
from tui.workloads.fio.layout import by_size
from tui.workloads.fio.layout_job import WRITES_WHOLE, job_name
from tui.workloads.fio.plan import argv

MAX_PARALLEL = 16
DEPTH = 32
QUEUEING = ("libaio", "io_uring")


def fill(steps: Sequence[Step], times: int, block_bytes: int) -> list[HostTask]:
    """Return what each host does to fill all files of these steps. Raises UsageError."""
    images = images_of([task for step in steps for task in step.tasks])
    tasks: dict[str, list[HostTask]] = {}
    for step in steps:
        for task in step.tasks:
            if task.files or not has_images(task) or task.host in images:
                tasks.setdefault(task.host, []).append(task)
    direct = all(job.direct for step in steps for job in step.jobs)
    return [_task(every, images.get(host, []), times, block_bytes, direct=direct) for host, every in tasks.items()]


def _task(
    tasks: Sequence[HostTask], images: Sequence[Image], times: int, block_bytes: int, *, direct: bool
) -> HostTask:
    """Return the one task that fills what all these tasks of a host use."""
    files = _together(tasks)
    if not files and not images:
        raise UsageError("fill: the load uses no files that could be filled; fill: 0 leaves it out")
    sizes = [spec.size_bytes - (spec.start_bytes or 0) for spec in files]
    whole_device = any(not spec.size_bytes for spec in files)
    first = tasks[0]
    return HostTask(
        host=first.host,
        randseed=first.randseed,
        job_file=fill_job(files, times, block_bytes, direct=direct, engine=_engine(tasks), images=images),
        argv=argv([]),
        directories=list(dict.fromkeys(path for task in tasks for path in task.directories)),
        files=files,
        writes_bytes=None if whole_device or images else times * sum(sizes),
        required_dir=first.required_dir,
        images=[image.name for image in images],
        images_used=[image.name for image in images],
    )


def _together(tasks: Sequence[HostTask]) -> list[FileSpec]:
    """Return the files of all tasks, each once, with all that any of them uses. Raises UsageError."""
    found: dict[str, FileSpec] = {}
    for spec in (spec for task in tasks for spec in task.files if is_device(spec.path) or spec.size_bytes):
        other = found.get(spec.path, spec)
        if spec.start_bytes is None or other.start_bytes is None:
            raise UsageError(f"fill: where the load begins on {spec.path} is not known; give offset in bytes")
        whole = not spec.size_bytes or not other.size_bytes
        size = 0 if whole else max(spec.size_bytes, other.size_bytes)
        found[spec.path] = FileSpec(spec.path, size, start_bytes=min(spec.start_bytes, other.start_bytes))
    return list(found.values())


def _engine(tasks: Sequence[HostTask]) -> str:
    """Return the engine to fill with: the load's own where it keeps many blocks in flight."""
    return next((name for name in engines_of(task.job_file for task in tasks) if name in QUEUEING), "psync")


def fill_job(
    files: Sequence[FileSpec],
    times: int,
    block_bytes: int,
    *,
    direct: bool,
    engine: str,
    images: Sequence[Image] = (),
) -> str:
    """Return the job file that fills these: files at most 16 at a time, each device and image by a job of its own.

    An image is written from its begin to its end by the engine that the load uses: how large it is, that knows.

    What does not fill a whole block at the end of a file is written beside it, buffered: O_DIRECT takes whole blocks.
    """
    own = {"ioengine": engine, "direct": str(int(direct)), "loops": str(times), "bs": str(block_bytes)}
    shared = {**WRITES_WHOLE, **own}
    shared |= {"iodepth": str(DEPTH)} if engine in QUEUEING else {}
    lines = ["[global]", *(f"{name}={value}" for name, value in shared.items())]
    whole = [*_devices(files), *map(_image, images)]
    for number, section in enumerate([*whole, *_bodies(files, block_bytes), *_tails(files, block_bytes)]):
        lines += [f"[fill{number}]", *section]
    return "\n".join(lines) + "\n"


def _devices(files: Sequence[FileSpec]) -> list[list[str]]:
    """Return a section for each device: as much of it as the load uses."""
    return [_device(spec) for spec in files if is_device(spec.path)]


def _device(spec: FileSpec) -> list[str]:
    start = spec.start_bytes or 0
    offset = [f"offset={start}"] if start else []
    size = [f"size={spec.size_bytes - start}"] if spec.size_bytes else []
    return [*offset, *size, f"filename={job_name(spec.path)}"]


def _image(image: Image) -> list[str]:
    return [f"iodepth={DEPTH}", *(f"{name}={value}" for name, value in image.options)]


def _bodies(files: Sequence[FileSpec], block_bytes: int) -> list[list[str]]:
    """Return sections for the whole blocks of files, those of one size together."""
    groups = {size: paths for size, paths in by_size(files).items() if size >= block_bytes}
    spare = max(MAX_PARALLEL - len(groups), 0)
    total = sum(map(len, groups.values()))
    sections = []
    for size, paths in groups.items():
        count = min(1 + spare * len(paths) // total, len(paths))
        names = [[f"filename={job_name(path)}" for path in paths[start::count]] for start in range(count)]
        sections += [[f"filesize={size}", *each] for each in names]
    return sections


def _tails(files: Sequence[FileSpec], block_bytes: int) -> list[list[str]]:
    """Return sections for what is left behind the last whole block, by size of the files."""
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
