"""What fio options mean for a plan: typed access to one job's options, with fio's aliases and defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from tui.model.problem import UsageError
from tui.model.quantities import parse_duration, parse_size
from tui.workloads.fio.option_table import is_external

# Options that a plan looks at, under the second name that fio also takes (options.c, .alias).
ALIASES = {
    "rw": "readwrite",
    "bs": "blocksize",
    "bsrange": "blocksize_range",
    "nrfiles": "nr_files",
    "offset": "fileoffset",
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

# Engines that use no files of the host (FIO_DISKLESSIO), so there is nothing to lay out or to clean up.
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
HARMLESS_ENGINES = frozenset(("null", "cpuio", "exec", "page_fault"))

# Engines that remove their files, whatever rw says.
DELETING_ENGINES = frozenset(("filedelete",))

# Engines that work on files without reading or writing them: one operation a file, reported as reads.
FILE_OPERATIONS = frozenset(("filecreate", "filestat", "filedelete"))

SYNC_OPTIONS = ("fsync", "fdatasync", "sync_file_range")

OF_THE_TARGET = ("%", "z")  # of its size, and zones of it

_FALSE = frozenset({"0", "false", "no"})
_RANGE = re.compile(r"[-:]")


class JobOptions(Struct, frozen=True):
    """The options of one job as fio sees them: those of [global], overridden by its own."""

    name: str
    shared: Mapping[str, str]
    own: Mapping[str, str]

    def get(self, option: str) -> str | None:
        """Return a value as text, None when it is not set."""
        names = [name for name in (option, ALIASES.get(option)) if name]
        found = (level[name] for level in (self.own, self.shared) for name in names if name in level)
        value = next(found, None)
        return None if value is None else str(value).strip()

    def flag(self, option: str, *, default: bool = False) -> bool:
        """Return a boolean; an option without a value is set."""
        value = self.get(option)
        return default if value is None else value.lower() not in _FALSE

    def count(self, option: str, default: int = 1) -> int:
        """Return a whole number. Raises UsageError."""
        value = self.get(option)
        if value is None:
            return default
        try:
            return parse_size(value)
        except ValueError:
            raise self.wrong(option, value, "a whole number") from None

    def size(self, option: str) -> int | None:
        """Return bytes, the larger of a range; None when unset, or when only the host knows: %, zones."""
        value = self.get(option)
        if value is None or value.endswith(OF_THE_TARGET):
            return None
        try:
            return max(parse_size(part) for part in _RANGE.split(value) if part)
        except ValueError:
            raise self.wrong(option, value, "a size such as 4G, or a range 4k-1M") from None

    def seconds(self, option: str) -> float:
        """Return seconds, the longer of a range, 0 when unset."""
        value = self.get(option)
        if not value:
            return 0.0
        try:
            return max(parse_duration(part) for part in value.split("-") if part)
        except ValueError:
            raise self.wrong(option, value, "a duration such as 300s") from None

    def wrong(self, option: str, value: str, allowed: str) -> UsageError:
        """Return the error of a value that cannot be planned with."""
        return UsageError(f"job {self.name}: {option}={value}: {allowed} is needed here")

    @property
    def engine(self) -> str:
        """The I/O engine's name, without its own options."""
        return (self.get("ioengine") or "psync").partition(":")[0]

    @property
    def fileless(self) -> bool:
        """Whether the engine uses no files of the host; of one that is loaded from a file nothing is known."""
        return self.engine in FILELESS_ENGINES or is_external(self.get("ioengine") or "")

    @property
    def harmless(self) -> bool:
        """Whether the engine stores nothing anywhere."""
        return self.engine in HARMLESS_ENGINES

    @property
    def makes_no_data(self) -> bool:
        """Whether the job only creates, stats or removes files, which then have no size that matters."""
        return self.engine in FILE_OPERATIONS and (self.engine == "filecreate" or self.flag("create_on_open"))

    @property
    def queues(self) -> bool:
        """Whether the engine submits I/O and completes it later."""
        return self.engine not in SYNC_ENGINES

    @property
    def numjobs(self) -> int:
        """How many workers run this job."""
        return max(self.count("numjobs"), 1)

    @property
    def in_flight(self) -> int:
        """I/Os that this job holds in flight at most."""
        return self.numjobs * (1 if self.engine in SYNC_ENGINES else max(self.count("iodepth"), 1))

    @property
    def keeps_no_depth(self) -> bool:
        """Whether iodepth says nothing (init.c caps it at 1 for FIO_SYNCIO); offloaded I/O has threads for it."""
        return not self.queues and self.get("io_submit_mode") != "offload"

    @property
    def access(self) -> tuple[str, ...]:
        """Kinds of I/O this job does: read, write, trim. Raises UsageError for an unknown ``rw``."""
        mode = (self.get("rw") or "read").partition(":")[0].lower()
        if mode not in DIRECTIONS:
            raise self.wrong("rw", mode, "one of " + ", ".join(DIRECTIONS))
        return DIRECTIONS[mode]

    @property
    def directions(self) -> tuple[str, ...]:
        """Directions that fio reports for this job: `mixed` with unified_rw_reporting."""
        unified = (self.get("unified_rw_reporting") or "none").lower()
        found = ("mixed",) if unified in ("1", "mixed") else self.access
        return (*found, "sync") if self.syncs else found

    @property
    def syncs(self) -> bool:
        """Whether this job makes its writes durable as it goes, so that fio reports how long that took."""
        values = (self.get(option) for option in SYNC_OPTIONS)
        return self.access != ("read",) and any(value not in (None, "0", "") for value in values)

    @property
    def writes(self) -> bool:
        """Whether this job changes or removes data."""
        return self.access != ("read",) or self.engine in DELETING_ENGINES


def job_options(shared: Mapping[str, str], jobs: Mapping[str, Mapping[str, str]]) -> list[JobOptions]:
    """Return the jobs of a job file in their order."""
    return [JobOptions(name, shared, own) for name, own in jobs.items()]


def depth_in_vain(job: JobOptions) -> str:
    """Return what to know of a queue depth that the engine does not keep; empty: it keeps it."""
    if not job.keeps_no_depth or job.count("iodepth") <= 1:
        return ""
    return f"iodepth has no effect with {job.engine}: it is synchronous"
