"""Objects of fio's http engine: names, I/Os that fio miscounts, PUTs that fill the bucket first.

From engines/http.c: each block is an object of its own, `FILE_OFFSET_LENGTH`; trim is DELETE; a GET
or DELETE answered with 404 counts as done, even in a bucket that does not exist; a flush is an
error; after its first DELETE a worker sends every PUT as DELETE; any status other than 2xx ends the
job with EIO, and the status is only on stderr.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from tui.model.objects import ObjectSet
from tui.model.plain import SECRET_PATTERN
from tui.model.plan import HostTask
from tui.model.problem import UsageError
from tui.workloads.fio.layout import DEFAULT_FORMAT, split_list
from tui.workloads.fio.option_table import SECRETS, table
from tui.workloads.fio.options import JobOptions, jobs_of_job_file

DOES: dict[str, Literal["put", "get", "delete"]] = {"read": "get", "write": "put", "trim": "delete"}
FLUSHES = ("fsync", "fdatasync", "sync_file_range", "end_fsync", "fsync_on_close")
OF_FILES = (
    "direct",
    "buffered",
    "sync",
    "directory",
    "opendir",
    "invalidate",
    "create_on_open",
    "unlink",
)
# With these an object may be used more than once; number_ios only ends a job early.
AGAIN = ("time_based", "loops", "io_size", "norandommap", "random_distribution",
    "percentage_random", "rw_sequencer",
         "zonemode")  # fmt: skip
SIZES = ("bsrange", "bssplit", "bs_unaligned")
DELETED_TWICE = "would delete objects twice; fio counts deleting a missing object as success"
OFF = (None, "", "0", "none", "random", "sequential")


def object_problems(job: JobOptions) -> Iterator[tuple[str, str]]:
    """Yield (option, reason) for options that do not work with fio's http engine, or that would
    expose secrets.
    """
    if not job.on_objects:
        return
    for name in SECRETS:
        if (value := job.get(name)) and not re.fullmatch(SECRET_PATTERN, value):
            yield name, "benchtui never stores secrets: use a parameter of kind secret"
    for name in FLUSHES:
        if job.get(name) not in OFF:
            yield name, "objects cannot be flushed: fio's http engine fails"
    for name in OF_FILES:
        if job.get(name) not in OFF:
            yield (
                name,
                "it applies to files only; objects bypass the host's page cache and file systems",
            )
    if job.get("http_verbose") not in OFF:
        yield "http_verbose", "it prints request headers with signatures into fio's output"
    if job.get("http_object_mode") == "range":
        yield (
            "http_object_mode",
            "range is not supported: fio would overwrite the whole object with each block",
        )
    yield from _size_problems(job)
    yield from _delete_problems(job)


def _size_problems(job: JobOptions) -> Iterator[tuple[str, str]]:
    for name in SIZES:
        if job.get(name) not in OFF:
            yield name, "all objects of a job must have the same size, bs"
    if set(job.get("bs") or "") & set(",-"):
        yield "bs", "all objects of a job must have the same size"


def _delete_problems(job: JobOptions) -> Iterator[tuple[str, str]]:
    access = job.access
    if "trim" not in access:
        return
    if access != ("trim",):
        yield (
            "rw",
            (
                "fio sends every PUT after its first DELETE as a DELETE; use a separate"
                " profile to delete"
            ),
        )
    if ":" in (job.get("rw") or ""):
        yield "rw", DELETED_TWICE
    for name in AGAIN:
        if job.get(name) not in (*OFF, *(("1",) if name == "loops" else ())):
            yield name, DELETED_TWICE


def object_sets(job: JobOptions) -> list[ObjectSet]:
    """Return the objects of one job over all its workers.

    Raises UsageError if names or sizes are unknown.
    """
    size = job.size("bs") or 4096
    does = tuple(DOES[each] for each in job.access)
    counts: dict[tuple[str, str], int] = {}
    for name, count in _counted(job, size):
        store, key = _split(job, name)
        counts[store, key] = counts.get((store, key), 0) + count
    return [
        ObjectSet(store, f"{key}_{size}", count, size, does)
        for (store, key), count in counts.items()
    ]


def _counted(job: JobOptions, size: int) -> Iterator[tuple[str, int]]:
    """Yield the name of each of a job's files, and the number of its objects.

    Raises UsageError.
    """
    named = [
        name
        for level in (job.shared, job.own)
        for name in split_list(str(level.get("filename") or ""))
    ]
    files = len(named) or max(job.count("nrfiles"), 1)
    each = _file_bytes(job, files)
    if not each or each % size:
        raise job.refused(f"file size {each} is not a multiple of the object size {size}")
    if named:
        apart = (job.size("offset_increment") or 0) >= each
        if job.numjobs > 1 and not apart and job.writes:
            why = (
                f"its {job.numjobs} workers use the same objects; use filename_format with $jobnum"
            )
            raise job.refused(why)
        yield from ((f"{name}_*", each // size * (job.numjobs if apart else 1)) for name in named)
        return
    template = job.get("filename_format") or DEFAULT_FORMAT
    for word, several in (("$jobnum", job.numjobs > 1), ("$filenum", files > 1)):
        if several and word not in template.lower():
            raise job.refused(
                f"filename_format={template} needs {word}, so that each object has its own name"
            )
    pattern = re.sub(r"\$(jobnum|filenum)", "*", template, flags=re.IGNORECASE)
    name = re.sub(r"\$jobname", lambda _: job.name, pattern, flags=re.IGNORECASE)
    yield f"{name}_{'0' if each == size else '*'}", each // size * files * job.numjobs


def _file_bytes(job: JobOptions, files: int) -> int:
    """Return the size of each file in bytes. Raises UsageError."""
    whole, each = job.size("size"), job.size("filesize")
    if each is None and whole is None:
        raise job.refused("size or filesize is required: it determines the number of objects")
    return each if each is not None else (whole or 0) // files


def _split(job: JobOptions, name: str) -> tuple[str, str]:
    """Return (host/bucket, key) of a name; the first part of its path is the bucket."""
    if not name.startswith("/") or "$" in name:
        allowed = "must start with / and use no variables except $jobname, $jobnum and $filenum"
        raise job.refused(f"object name '{name}': {allowed}")
    bucket, _, key = name.lstrip("/").partition("/")
    host = job.get("http_host") or "localhost"
    return (f"{host}/{bucket}", key) if key else (host, bucket)


def sets_of(jobs: Sequence[JobOptions]) -> list[ObjectSet]:
    """Return the objects of all jobs of one host. Raises UsageError."""
    return [each for job in jobs if job.on_objects for each in object_sets(job)]


def check_put(tasks: Sequence[HostTask], *, put_first: bool) -> None:
    """Raise UsageError if the plan reads or deletes objects that it never puts: fio counts these as
    done.
    """
    needed = (each for task in tasks for each in task.objects if each.does != ("put",))
    if not put_first and (each := next(needed, None)):
        why = (
            "fio counts GETs and DELETEs of missing objects as successful, so the plan"
            " must write them first"
        )
        added = "prepare: {precondition: {fill: 1, rounds: 0}}"
        raise UsageError(f"{'/'.join(each.does)} of {each.names}: {why}: {added}")


PUTS = {
    "rw": "write",
    "file_service_type": "sequential",
    "refill_buffers": "1",
    "randrepeat": "0",
    "group_reporting": "1",
    "exitall_on_error": "1",
}
NAMED_BY = ("ioengine", "thread", "filename", "filename_format", "nrfiles", "filesize", "size",
    "bs", "numjobs",
            "offset", "offset_increment")  # fmt: skip


def fill_tasks(tasks: Sequence[HostTask], argv: Sequence[str], times: int) -> list[HostTask]:
    """Return one task per host that puts all objects of these tasks; the first host puts shared
    objects, and hosts without objects have no task.
    """
    seen: set[tuple[str, str]] = set()
    by_host: dict[str, list[HostTask]] = {}
    for task in tasks:
        by_host.setdefault(task.host, []).append(task)
    found = [_fill_task(every, argv, times, seen) for every in by_host.values()]
    return [task for task in found if task.objects]


def _fill_task(
    tasks: Sequence[HostTask], argv: Sequence[str], times: int, seen: set[tuple[str, str]]
) -> HostTask:
    options = {**PUTS, **({"loops": str(times)} if times > 1 else {})}
    lines = ["[global]", *(f"{name}={value}" for name, value in options.items())]
    objects: list[ObjectSet] = []
    for job in (job for task in tasks for job in _jobs_of(task.job_file)):
        new = [each for each in object_sets(job) if each.key not in seen]
        if new:
            seen |= {each.key for each in new}
            lines += [
                f"[fill{len(objects)}]",
                *(f"{name}={value}" for name, value in job.own.items()),
            ]
            objects += [replace(each, does=("put",)) for each in new]
    put = times * sum(each.count * each.size_bytes for each in objects)
    return HostTask(
        host=tasks[0].host,
        randseed=tasks[0].randseed,
        job_file="\n".join(lines) + "\n",
        argv=list(argv),
        writes_bytes=put,
        moves_bytes=put,
        objects=objects,
    )


def _jobs_of(text: str) -> list[JobOptions]:
    """Return the jobs in a benchtui job file, with the options that define objects and store."""
    of_all: Mapping[str, object] = table()["options"]
    return [
        JobOptions(
            job.name,
            {},
            {name: job.own[name] for name in job.own if name in NAMED_BY or name not in of_all},
        )
        for job in jobs_of_job_file(text)
        if job.on_objects
    ]
