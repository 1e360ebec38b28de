"""Files that fio jobs use, and the job file that lays them out."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui.metrics import units
from tui.model.plan import FILE_NUMBER, FileSpec, is_device
from tui.model.problem import UsageError
from tui.workloads.fio.options import OF_THE_TARGET, JobOptions, job_options

MAX_FILES = 1_000_000

DEFAULT_FORMAT = "$jobname.$jobnum.$filenum"
_WORKER, _FILE = "\0", "\1"  # stand for numbers in a path; no path contains them
_UNKNOWN_FILES = ("opendir", "read_iolog")


def files_of(
    shared: Mapping[str, str], jobs: Mapping[str, Mapping[str, str]], *, strict: bool = True
) -> tuple[list[FileSpec], list[str]]:
    """Return all files that jobs will use, without duplicates, and the directories they need.

    Paths are absolute. Devices are listed with the number of bytes used, 0 for the whole device.
    Raises UsageError if names, or with `strict` sizes, are unknown before the run.
    """
    sizes: dict[str, int] = {}
    counts: dict[str, int] = {}
    starts: dict[str, int | None] = {}
    directories: dict[str, None] = {}
    for job in job_options(shared, jobs):
        if job.fileless:
            continue
        for spec in job_files(job, strict=strict):
            sizes[spec.path] = max(spec.size_bytes, sizes.get(spec.path, 0))
            counts[spec.path] = max(spec.count, counts.get(spec.path, 0))
            starts[spec.path] = _earlier(starts.get(spec.path, spec.start_bytes), spec.start_bytes)
        directories.update(dict.fromkeys(_directories(job, job.get("directory"))))
    directories.update(
        dict.fromkeys(posixpath.dirname(path) for path in sizes if not is_device(path))
    )
    files = [FileSpec(path, size, counts[path], starts[path]) for path, size in sizes.items()]
    return files, sorted(directories)


def _earlier(one: int | None, other: int | None) -> int | None:
    """Return the smaller of two offsets; None if either is unknown."""
    return None if one is None or other is None else min(one, other)


def split_list(text: str) -> list[str]:
    r"""Split a ``:`` list of names; ``\:`` is a literal colon (fio options.c, get_next_str)."""
    parts = re.split(r"(?<!\\):+", text.strip().lstrip(":"))
    return [part.replace("\\:", ":") for part in parts if part]


def escape(path: str) -> str:
    """Return a path as one name of a ``:`` list, with colons escaped."""
    return path.replace(":", "\\:")


def job_files(job: JobOptions, *, strict: bool = True) -> list[FileSpec]:
    """Return the files of one job, over all its workers. Raises UsageError as `files_of` does."""
    for option in _UNKNOWN_FILES:
        if job.get(option):
            raise UsageError(
                f"{job.called}{option} is not supported: its files are unknown before the run"
            )
    named = _named_files(job)
    return list(
        _shared_files(job, named, strict=strict) if named else _generated_files(job, strict=strict)
    )


def _shared_files(job: JobOptions, named: Sequence[str], *, strict: bool) -> Iterator[FileSpec]:
    """Yield the files of ``filename``, which all workers share.

    A name that is given twice gets two shares of the size.
    """
    sizes = _FileSizes(job, len(named), strict=strict, device=all(map(is_device, named)))
    for worker in range(job.numjobs if job.get("offset_increment") else 1):
        for path, size in zip(named, sizes.of_worker(worker), strict=True):
            yield FileSpec(path, size, start_bytes=sizes.start(worker) if is_device(path) else 0)


def _named_files(job: JobOptions) -> list[str]:
    """Return the paths of ``filename``; without it, those of a job that is named after a device.

    Names in [global] and in the job add up; all are in the first directory.
    """
    found: list[str] = []
    for level in (job.shared, job.own):
        if "filename" in level:
            # fio joins names and directory while it reads the section that holds the names.
            directory = job.get("directory") if level is job.own else job.shared.get("directory")
            base = next(iter(_directories(job, directory)), None)
            found += [_absolute(job, base, name) for name in split_list(str(level["filename"]))]
    return found or ([job.name] if is_device(job.name) else [])


def names_files(job: JobOptions) -> bool:
    """Return whether a job names its files, so that all its workers share them."""
    return any("filename" in level for level in (job.shared, job.own)) or is_device(job.name)


def _directories(job: JobOptions, text: str | None) -> list[str]:
    return [_absolute(job, None, name) for name in split_list(text)] if text else []


def _absolute(job: JobOptions, base: str | None, name: str) -> str:
    """Return the path fio opens: directory and name joined by a slash, even if the name has one."""
    path = f"{base}/{name}" if base is not None else name
    _check_plain(job, path)
    if not path.startswith("/"):
        raise UsageError(
            f"{job.called}'{path}' must be an absolute path; set directory= in the same section"
        )
    return posixpath.normpath("/" + path.lstrip("/"))


def _check_plain(job: JobOptions, path: str) -> None:
    if re.search(r"\$(\{|clientuid|ncpus|mb_memory|pagesize)", path, re.IGNORECASE):
        raise UsageError(
            f"{job.called}'{path}' contains a variable that is unknown before the run"
        )


def _generated_files(job: JobOptions, *, strict: bool) -> Iterator[FileSpec]:
    """Yield the files of ``filename_format``: one set per worker, rotating over the directories."""
    count = job.count("nrfiles")
    template = job.get("filename_format") or DEFAULT_FORMAT
    directories = _directories(job, job.get("directory"))
    if not directories:
        raise UsageError(
            f"{job.called}directory= or filename= is required; otherwise fio writes into"
            " its working directory"
        )
    if job.makes_no_data and _numbers_only_names(template):
        yield from _numbered_files(job, directories, template, count)
        return
    if job.numjobs * count > MAX_FILES:
        each = f" with nrfiles={count}" if count > 1 else ""
        raise UsageError(
            f"{job.called}numjobs={job.numjobs}{each} makes {job.numjobs * count} files; at most"
            f" {MAX_FILES} are supported"
        )
    sizes = _FileSizes(job, count, strict=strict, device=False)
    # both numbers are inserted into a path that was checked once: there may be many files
    paths = [
        _absolute(job, base, file_name(template, job.name, _WORKER, _FILE)) for base in directories
    ]
    first: set[str] = set()
    for worker in range(job.numjobs):
        of_worker = paths[worker % len(paths)].replace(_WORKER, str(worker))
        for number, size in enumerate(sizes.of_worker(worker)):
            path = of_worker.replace(_FILE, str(number))
            if worker == 0:
                first.add(path)
            elif path in first:
                raise _no_worker_number(job, template)
            yield FileSpec(path, size)


def _numbers_only_names(template: str) -> bool:
    """Return whether a worker's files share a directory and differ only by number."""
    folder, _, name = template.lower().rpartition("/")
    return FILE_NUMBER not in folder and name.count(FILE_NUMBER) == 1


def _numbered_files(
    job: JobOptions, directories: Sequence[str], template: str, count: int
) -> Iterator[FileSpec]:
    """Yield one numbered path per worker that stands for all of its files, which may be
    millions.
    """
    names = [file_name(template, job.name, worker, FILE_NUMBER) for worker in range(job.numjobs)]
    paths = [
        _absolute(job, directories[worker % len(directories)], name)
        for worker, name in enumerate(names)
    ]
    if len(set(paths)) < len(paths):
        raise _no_worker_number(job, template)
    yield from (FileSpec(path, 0, count) for path in paths)


def _no_worker_number(job: JobOptions, template: str) -> UsageError:
    """Return the error for a format that assigns the same file to two workers; fio gives the second
    worker no file.
    """
    return UsageError(
        f"{job.called}filename_format={template} must contain $jobnum, so that each of the"
        f" {job.numjobs} workers has its own files; for a shared file, use filename="
    )


def file_name(template: str, job: str, worker: int | str, number: int | str) -> str:
    """Return the file name of a ``filename_format``; its keywords are case-insensitive (fio init.c,
    make_filename).
    """
    values = {"jobname": job, "jobnum": str(worker), "filenum": str(number)}
    return re.sub(
        r"\$(jobname|jobnum|filenum)",
        lambda match: values[match[1].lower()],
        template,
        flags=re.IGNORECASE,
    )


class _FileSizes:
    """Computes the full file sizes of one job's workers (fio filesetup.c, setup_files)."""

    def __init__(self, job: JobOptions, count: int, *, strict: bool, device: bool) -> None:
        self._count = count
        self._fixed = job.size("filesize")
        self._total = job.size("size")
        self._strict = strict and not device
        self._job = job
        if self._strict:
            self._check()
        self._offset = job.size("offset") or 0
        self._increment = job.size("offset_increment") or 0
        self._block = _smallest_block(job)
        self._check_room()

    def of_worker(self, worker: int) -> list[int]:
        """Return the sizes of one worker's files in bytes; 0 means unknown."""
        if self._fixed is not None:
            return [self._fixed] * self._count
        if self._total is None:
            return [0] * self._count
        each, rest = divmod(self._total, self._count)
        start = self._offset + self._increment * worker
        return [
            start + each + (self._block if place < rest // self._block else 0)
            for place in range(self._count)
        ]

    def start(self, worker: int) -> int | None:
        """Return the byte offset at which a worker begins in each of its files; None if only the
        host knows.
        """
        if any(
            (self._job.get(option) or "").endswith(OF_THE_TARGET)
            for option in ("offset", "offset_increment")
        ):
            return None
        return self._offset + self._increment * worker

    def _check(self) -> None:
        for option in ("filesize", "size", "offset", "offset_increment"):
            value = self._job.get(option) or ""
            if value.endswith(OF_THE_TARGET):
                allowed = "a size such as 4G; percentages and zones apply only to existing files"
                raise self._job.wrong(option, value, allowed)
        if self._fixed is None and self._total is None:
            raise UsageError(f"{self._job.called}size= or filesize= is required")

    def _check_room(self) -> None:
        """Raise UsageError if a worker's share of a file is less than one block, which fio rejects
        ("blocksize too large").
        """
        if self._job.makes_no_data:
            return
        option = "filesize" if self._fixed is not None else "size"
        each = (
            self._fixed if self._fixed is not None else self._total and self._total // self._count
        )
        given = self._job.get(option) or ""
        if each is not None and each < self._block:
            share = f" for {self._count} files" if option == "size" and self._count > 1 else ""
            bare = "; a number without a unit is bytes" if given.isdigit() else ""
            block = units.size(self._block)
            raise UsageError(
                f"{self._job.called}{option}={given}{share} is less than one block of"
                f" {block}{bare}"
            )
        last = self._offset + self._increment * (self._job.numjobs - 1)
        if self._fixed is not None and last + self._block > self._fixed:
            begin = f"offset {units.size(last)} of worker {self._job.numjobs}"
            raise UsageError(
                f"{self._job.called}{begin} leaves less than one block in filesize={given}"
            )


def _smallest_block(job: JobOptions) -> int:
    """Return the smallest block size; fio spreads a remainder over the first files in such
    blocks.
    """
    text = job.get("bs") or job.get("bsrange") or "4k"
    blocks = [job_part for part in text.split(",") for job_part in part.split("-") if job_part]
    options = [JobOptions(job.name, {}, {"bs": block}, job.alone) for block in blocks]
    sizes = [each.size("bs") or 4096 for each in options]
    return max(min(sizes, default=4096), 1)


def unique(files: Iterable[FileSpec]) -> dict[str, int]:
    """Return file sizes by path, the largest if a path occurs twice, without devices and empty
    files.
    """
    sizes: dict[str, int] = {}
    for spec in files:
        if spec.size_bytes > 0 and not is_device(spec.path):
            sizes[spec.path] = max(spec.size_bytes, sizes.get(spec.path, 0))
    return sizes


def by_size(files: Sequence[FileSpec]) -> dict[int, list[str]]:
    """Return the paths to lay out, by size, largest first."""
    groups: dict[int, list[str]] = {}
    for path, size in unique(files).items():
        groups.setdefault(size, []).append(path)
    return dict(sorted(groups.items(), reverse=True))


MAX_PARALLEL = 16
BLOCK = 1 << 20

WRITES_WHOLE = {
    "rw": "write",
    "fallocate": "none",
    "overwrite": "0",
    "end_fsync": "1",
    "file_service_type": "sequential",
    "openfiles": "1",
    "refill_buffers": "1",  # no data that a deduplicating or compressing array could shrink
    "randrepeat": "0",  # nor the same data on every host
    "group_reporting": "1",
    "exitall_on_error": "1",
}


@dataclass(frozen=True, slots=True)
class _Section:
    """Files of one size, written from `offset` to their end in blocks of `block` bytes."""

    size: int
    paths: Sequence[str]
    offset: int
    block: int


def layout_job(files: Sequence[FileSpec]) -> str:
    """Return the job file that lays out these files, up to 16 at a time, buffered, each fsynced.

    A file reaches its full size only with its last byte: a remainder smaller than a block is
    written after all whole blocks. Devices and empty files are left out; if nothing is left, the
    text has no job. Raises UsageError for a path that a job file cannot express.
    """
    groups = by_size(files)
    bodies = [
        section
        for size, paths in groups.items()
        for section in _bodies(size, paths, sections_per_size(groups)[size])
    ]
    tails = [_tail(size, paths) for size, paths in groups.items() if size > BLOCK and size % BLOCK]
    shared = {"ioengine": "psync", "direct": "0", **WRITES_WHOLE}
    lines = ["[global]", *(f"{name}={value}" for name, value in shared.items())]
    for number, section in enumerate([*bodies, *tails]):
        first_tail = number == len(bodies)
        lines += _lines(
            number,
            section,
            waits=first_tail or (0 < number < len(bodies) and number % MAX_PARALLEL == 0),
        )
    return "\n".join(lines) + "\n"


def sections_per_size(groups: Mapping[int, Sequence[str]]) -> dict[int, int]:
    """Return the number of sections per size: up to 16 in total, but at least one per size."""
    total = sum(map(len, groups.values()))
    spare = max(MAX_PARALLEL - len(groups), 0)
    return {
        size: min(1 + spare * len(paths) // total, len(paths)) for size, paths in groups.items()
    }


def _bodies(size: int, paths: Sequence[str], count: int) -> list[_Section]:
    """Return the sections that write the whole blocks of files of one size."""
    return [_Section(size, paths[start::count], 0, min(size, BLOCK)) for start in range(count)]


def _tail(size: int, paths: Sequence[str]) -> _Section:
    """Return the section that writes the remainder after the last whole block."""
    return _Section(size, paths, size - size % BLOCK, size % BLOCK)


def _lines(number: int, section: _Section, *, waits: bool) -> list[str]:
    lines = [f"[layout{number}]", *(["stonewall=1"] if waits else [])]
    lines += [f"bs={section.block}", f"filesize={section.size}"]
    if section.offset:
        lines.append(f"offset={section.offset}")
    return lines + [f"filename={job_name(path)}" for path in section.paths]


def job_name(path: str) -> str:
    """Return a path in job file syntax.

    Raises UsageError for a path that fio cannot read (parse.c, strip_blank_end).
    """
    if not path.isprintable() or ";" in path or "#" in path or path != path.strip():
        raise UsageError(
            f"fio cannot use the file {path!r}: line breaks, ';', '#' and trailing spaces"
            " cannot be escaped"
        )
    return escape(path)
