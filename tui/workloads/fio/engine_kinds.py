"""Kinds of fio's I/O engines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tui.workloads.base import Requirement

# Engines that open files, with O_DIRECT for direct I/O, read and write them, and sync them.
OPENING_ENGINES = frozenset(
    ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio")
)
# Engines that hold one I/O in flight whatever iodepth says (FIO_SYNCIO).
SYNC_ENGINES = frozenset(
    (
        "sync",
        "psync",
        "vsync",
        "pvsync",
        "pvsync2",
        "mmap",
        "splice",
        "falloc",
        "ftruncate",
        "e4defrag",
        "filecreate",
        "filestat",
        "filedelete",
        "dircreate",
        "dirstat",
        "dirdelete",
        "libpmem",
        "dev-dax",
        "sg",
        "mtd",
        "net",
        "netsplice",
        "http",
        "libhdfs",
        "libiscsi",
        "gfapi",
        "ime_psync",
        "ime_psyncv",
        "libcufile",
        "libhipfile",
        "libzbc",
        "cpuio",
        "exec",
    )
)

# Engines that use no files of the host (FIO_DISKLESSIO), so there is nothing to lay out or to clean
# up.
FILELESS_ENGINES = frozenset(
    (
        "null",
        "cpuio",
        "exec",
        "net",
        "netsplice",
        "rdma",
        "rados",
        "rbd",
        "http",
        "nbd",
        "nfs",
        "libiscsi",
        "libhdfs",
        "gfapi",
        "gfapi_async",
        "dfs",
        "ime_aio",
        "ime_psync",
        "ime_psyncv",
        "page_fault",
        "dircreate",
        "dirstat",
        "dirdelete",
    )
)

# Those of them that store nothing anywhere.
NO_IO_ENGINES = frozenset(("cpuio", "exec"))
HARMLESS_ENGINES = frozenset(("null", "cpuio", "exec", "page_fault"))

# Engines that remove their files, whatever rw says.
DELETING_ENGINES = frozenset(("filedelete",))

# Engines that work on files without reading or writing them: one operation per file, reported as
# reads.
FILE_OPERATIONS = frozenset(("filecreate", "filestat", "filedelete"))

# Engines for which fio up to 3.36 rounds iodepth up to a power of two (fio_ioring_init).
ROUNDING_ENGINES = frozenset(("io_uring", "io_uring_cmd"))


def rounded_up(depth: int) -> int:
    """Return the smallest power of two that is at least this depth."""
    return 1 << max(depth - 1, 0).bit_length()


ALWAYS_THERE = ("sync", "psync", "vsync", "null")
ONE_READ = ("io_uring", "libaio", "posixaio")
HTTP_SOURCE = (
    "package fio-engine-http on Fedora and RHEL; elsewhere build fio with the libcurl and OpenSSL"
    " development headers, or copy such a build with --with DIR"
)
NO_OPTIONS = "has no options"  # printed for an engine that loads, with exit code 1
ENGINE = re.compile(r"^\s*ioengine\s*=\s*(\S+)", re.MULTILINE)


def engines_of(job_files: Iterable[str]) -> list[str]:
    """Return the engines in job files that a host may lack, without duplicates."""
    found = dict.fromkeys(
        name for text in dict.fromkeys(job_files) for name in ENGINE.findall(text)
    )
    return [name for name in found if name not in ALWAYS_THERE]


def trial_of(engine: str) -> tuple[str, ...]:
    """Return the fio arguments that test an engine, without touching any target."""
    if engine not in ONE_READ:  # --enghelp takes the path of an engine in a file without external:
        return (f"--enghelp={engine.removeprefix('external:')}",)
    job = (
        "--name=trial",
        f"--ioengine={engine}",
        "--rw=read",
        "--bs=4k",
        "--size=4k",
        "--filename=/dev/zero",
    )
    return ("--max-jobs=1", "--output-format=terse", *job)


def requirement(engine: str) -> Requirement:
    """Return the requirement that a host's fio can load an engine."""
    source = HTTP_SOURCE if engine == "http" else ""
    return Requirement(
        "fio",
        trial_args=trial_of(engine),
        trial_of=f"ioengine {engine}",
        trial_fine=NO_OPTIONS,
        source=source,
    )
