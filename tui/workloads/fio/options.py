"""Meaning of a fio job's options, and the parser of job files.

Job files are parsed into sections with line numbers, as fio's init.c and parse.c do. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec import Struct

from tui.model.operands import Clause, clause
from tui.model.problem import Problem, UsageError
from tui.model.quantities import parse_duration, parse_size, shown
from tui.workloads.fio.engine_kinds import (
    DELETING_ENGINES,
    FILE_OPERATIONS,
    FILELESS_ENGINES,
    HARMLESS_ENGINES,
    ROUNDING_ENGINES,
    SYNC_ENGINES,
    rounded_up,
)
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

OF_THE_TARGET = ("%", "z")  # ends of sizes in per cent of the target, and in its zones

_FALSE = frozenset({"0", "false", "no"})
SEPARATOR = re.compile(r"[-:]")


class JobOptions(Struct, frozen=True):
    """Options that apply to one job: its own, and those of [global]."""

    name: str
    shared: Mapping[str, str]
    own: Mapping[str, str]
    alone: bool = False  # the only job: messages need not say which one

    @property
    def named(self) -> str:
        """The job's name; empty if there is no other job."""
        return "" if self.alone else self.name

    @property
    def called(self) -> str:
        """The job's name before a message, with a colon; empty if there is no other job."""
        return "" if self.alone else f"job {self.name}: "

    def get(self, option: str) -> str | None:
        """Return an option's value as text; None if it is not set."""
        names = [name for name in (option, ALIASES.get(option)) if name]
        found = (
            level[name] for level in (self.own, self.shared) for name in names if name in level
        )
        value = next(found, None)
        return None if value is None else str(value).strip()

    def flag(self, option: str, *, default: bool = False) -> bool:
        """Return a boolean option, `default` if it is not set; without a value it is true."""
        value = self.get(option)
        return default if value is None else value.lower() not in _FALSE

    def count(self, option: str, default: int = 1) -> int:
        """Return an integer option, `default` if it is not set. Raises UsageError."""
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
            return max(parse_size(part) for part in SEPARATOR.split(value) if part)
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
        return self.refused(f"{option}={value}: expected {allowed}")

    def refused(self, why: str) -> UsageError:
        """Return the error for a job that cannot be planned or changed."""
        return UsageError(f"{self.called}{why}")

    @property
    def engine(self) -> str:
        """The I/O engine's name, without its own options."""
        return (self.get("ioengine") or "psync").partition(":")[0]

    @property
    def fileless(self) -> bool:
        """Whether the engine uses no files on the host, or is external, in which case this is
        unknown.
        """
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
        """Directions that fio reports for this job, such as `sync`; `mixed` with
        unified_rw_reporting.
        """
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
    return [JobOptions(name, shared, own, len(jobs) == 1) for name, own in jobs.items()]


def jobs_of_job_file(text: str) -> list[JobOptions]:
    """Return the jobs in a benchtui job file, with all options, by fio's own names."""
    return [
        JobOptions(name, {}, {canonical(option): value or "1" for option, value in given.items()})
        for name, given in sections(text)
    ]


def sections(job_file: str) -> list[tuple[str, dict[str, str]]]:
    """Return (name, options) of each job in a benchtui job file, merged with [global]."""
    shared: dict[str, str] = {}
    found: list[tuple[str, dict[str, str]]] = []
    current = shared
    for line in map(str.strip, job_file.splitlines()):
        if line == "[global]":
            current = shared
        elif line.startswith("[") and line.endswith("]"):
            current = {**shared}
            found.append((line[1:-1], current))
        elif line and line[0] not in ";#":
            name, _, value = line.partition("=")
            current[name.strip()] = value.strip()
    return found


def depth_in_vain(job: JobOptions) -> Clause | None:
    """Return a note that the queue depth has no effect with the engine; None if it has."""
    if not job.keeps_no_depth or job.count("iodepth") <= 1:
        return None
    return clause("depth-in-vain", engine=job.engine)


MAX_CHARACTERS = 256 * 1024
MAX_JOBS = 1000


@dataclass(frozen=True, slots=True)
class JobFileOption:
    """One option as written; `value` is None if it has no ``=``."""

    name: str
    value: str | None
    line: int


@dataclass(frozen=True, slots=True)
class JobFileSection:
    """One ``[section]`` with its options in order."""

    name: str
    line: int
    options: tuple[JobFileOption, ...]

    @property
    def shared(self) -> bool:
        """Whether it is a [global] section, whose options apply to later jobs; fio compares only
        six letters.
        """
        return self.name.startswith("global")


def read_sections(text: str, file: str) -> list[JobFileSection]:
    """Return the sections of a job file. Raises UsageError with every unreadable line."""
    if len(text) > MAX_CHARACTERS:
        message = f"the file has {len(text)} characters; at most {MAX_CHARACTERS} are allowed"
        raise UsageError(Problem(message, file, 1))
    problems: list[Problem] = []
    sections: list[JobFileSection] = []
    options: list[JobFileOption] = []
    for number, line in meaningful_lines(text):
        if found := _line_problem(line, bool(sections)):
            problems.append(Problem(found, file, number))
        elif line.startswith("["):
            options = []
            sections.append(JobFileSection(line[1:-1], number, ()))
        else:
            options.append(_option(line, number))
            sections[-1] = JobFileSection(sections[-1].name, sections[-1].line, tuple(options))
    jobs = sum(not section.shared for section in sections)
    if not problems and not 0 < jobs <= MAX_JOBS:
        problems.append(
            Problem(
                f"the file has {jobs or 'no'} jobs; expected 1 to {MAX_JOBS} job sections", file, 1
            )
        )
    if problems:
        raise UsageError(problems)
    return sections


def meaningful_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) without comments and blank lines; fio drops text after ``;`` or ``#``
    anywhere.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if bare := re.split("[;#]", line, maxsplit=1)[0].strip(" \t\r\n\f"):
            yield number, bare


def first_comment(text: str) -> str:
    """Return the first line of the comment at the start of a file; empty if there is none."""
    for line in text.split("\n"):
        bare = line.strip()
        if bare and not bare.startswith((";", "#")):
            return ""
        if words := re.sub(r"\s+", " ", bare.strip(";#!=-* ")):
            return words
    return ""


def _option(line: str, number: int) -> JobFileOption:
    name, equals, value = line.partition("=")
    return JobFileOption(name.strip(), value.strip() if equals else None, number)


def _line_problem(line: str, inside: bool) -> str | None:
    if bad := next((letter for letter in line if not letter.isprintable()), None):
        return f"the character U+{ord(bad):04X} is not allowed in a job file"
    if line.startswith("["):
        inner = line[1:-1]
        whole = line.endswith("]") and inner.strip() and inner.count("]") <= 1
        return None if whole else f"found {shown(line)}; expected a section as [name]"
    if line.startswith("include"):
        return f"'{shown(line)[1:-1]}': include is not supported; insert the lines of that file"
    if not inside:
        return (
            f"found {shown(line)} before the first section; start with [global] or a job"
            " name in brackets"
        )
    name = line.partition("=")[0].strip()
    if not re.fullmatch(r"[^\s${}]+", name) or not name.isprintable():
        return f"found {shown(line)}; expected an option as name=value, or name alone"
    return None
