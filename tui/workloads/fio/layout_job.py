"""The job file that writes test files whole, once, in sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui.model.plan import FileSpec
from tui.model.problem import UsageError
from tui.workloads.fio.layout import by_size, escape

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
    """Return the job file that lays out these files: at most 16 at a time, buffered, each fsynced.

    A file reaches its full size only with its last byte: what does not fill a whole block is written after all whole
    blocks. Devices and files of size 0 are left out. Without anything to write, the text has no job.
    Raises UsageError for a path that no job file can hold.
    """
    groups = by_size(files)
    bodies = [section for size, paths in groups.items() for section in _bodies(size, paths, _shares(groups)[size])]
    tails = [_tail(size, paths) for size, paths in groups.items() if size > BLOCK and size % BLOCK]
    shared = {"ioengine": "psync", "direct": "0", **WRITES_WHOLE}
    lines = ["[global]", *(f"{name}={value}" for name, value in shared.items())]
    for number, section in enumerate([*bodies, *tails]):
        first_tail = number == len(bodies)
        lines += _lines(number, section, waits=first_tail or (0 < number < len(bodies) and number % MAX_PARALLEL == 0))
    return "\n".join(lines) + "\n"


def _shares(groups: dict[int, list[str]]) -> dict[int, int]:
    """Return how many sections each size gets: all together at most 16, unless there are more sizes than that."""
    total = sum(map(len, groups.values()))
    spare = max(MAX_PARALLEL - len(groups), 0)
    return {size: min(1 + spare * len(paths) // total, len(paths)) for size, paths in groups.items()}


def _bodies(size: int, paths: Sequence[str], count: int) -> list[_Section]:
    """Return the sections that write the whole blocks of files of one size."""
    return [_Section(size, paths[start::count], 0, min(size, BLOCK)) for start in range(count)]


def _tail(size: int, paths: Sequence[str]) -> _Section:
    """Return the section that writes what is left behind the last whole block."""
    return _Section(size, paths, size - size % BLOCK, size % BLOCK)


def _lines(number: int, section: _Section, *, waits: bool) -> list[str]:
    lines = [f"[layout{number}]", *(["stonewall=1"] if waits else [])]
    lines += [f"bs={section.block}", f"filesize={section.size}"]
    if section.offset:
        lines.append(f"offset={section.offset}")
    return lines + [f"filename={job_name(path)}" for path in section.paths]


def job_name(path: str) -> str:
    """Return a path as fio reads it in a job file; some it cannot read (parse.c, strip_blank_end)."""
    if not path.isprintable() or ";" in path or "#" in path or path != path.strip():
        raise UsageError(f"fio cannot use the file {path!r}: line breaks, ';', '#' and end blanks have no escape")
    return escape(path)
