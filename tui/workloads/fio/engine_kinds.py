"""Kinds of fio's I/O engines."""

from __future__ import annotations

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

# Engines that work on files without reading or writing them: one operation a file, reported as
# reads.
FILE_OPERATIONS = frozenset(("filecreate", "filestat", "filedelete"))

# Engines for which fio up to 3.36 rounds iodepth up to a power of two (fio_ioring_init).
ROUNDING_ENGINES = frozenset(("io_uring", "io_uring_cmd"))


def rounded_up(depth: int) -> int:
    """Return the smallest power of two that is at least this depth."""
    return 1 << max(depth - 1, 0).bit_length()
