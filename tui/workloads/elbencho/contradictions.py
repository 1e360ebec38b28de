"""Find figures in elbencho's output that contradict each other or its command line.

Each relation follows from elbencho's source and holds for every phase, in JSON, CSV and tables.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import floor

from msgspec import Struct, field

from tui.model.event import Contradiction
from tui.model.quantities import parse_size, plain_size
from tui.workloads.base import LoadOptions
from tui.workloads.elbencho.options import (
    MIXED,
    OBJECT_PHASES,
    OPTIONS,
    PHASE_OPTIONS,
    PHASES,
    SHORT,
    STORE,
)

TEXTS = {
    "first": "{told:.0f} {0} when the first thread ended, but {other:.0f} when the last one ended",
    "setting": "{0} {told:.0f}, but the command line has {other:.0f}",
    "off": "{0} is off in the result, but the command line asks for it",
    "time-limit": "the phase took {told:time}, but --timelimit is {other:.0f} s",
    "limit": "{told:size} moved, but --{0} allows {other:size}",
    "entries": "{told:.0f} entries, but threads, -n and -N give {other:.0f}",
    "file-bytes": "{told:.0f} bytes, but the entries have {other:.0f}",
    "bytes": "{told:.0f} bytes, but the entries have {other:.0f}",  # older records
    "block": "{told:size} per I/O, but the block size of the command line is {other:size}",
    "not-chosen": "phase {0}, but the command line does not ask for it",
    "missing": "phase {0} without {1}, which the command line asks for",
    "latencies": "{0}: {told:.0f} operations counted, but {other:.0f} latencies in the histogram",
    "percentile": "{0}: p{1} {told:g} us, but {other:g} us according to the histogram",
}


MIB = 1 << 20
LEAST_MS = 1000  # with fewer, rates in whole numbers count I/Os too coarsely
MOST_WORKERS = 1024  # if their number is not printed
LATE_S = 5.0  # the time limit is checked every few seconds
DIRECTORY, BUCKET = "dir", "bucket"
ENTRIES = ("WRITE", "READ", "STAT", "RMFILES", "HEADOBJ", "RMOBJECTS")
# options with which the files are not those of -n and -N, or settings are read from a file
UNTOLD = ("configfile", "treefile", "dirsharing", "sharesize", "s3multidel", "hostsfile")
# with these, a phase may end early, or work on files more than once
UNBOUNDED = ("timelimit", "infloop", "randamount", "rand", "rwmixthr", "rwmixthrpct")
FLAGS = frozenset(
    ("write", "read", "stat", "mkdirs", "delfiles", "deldirs", "infloop", "direct", "rand")
)
# with these alone, threads read until the time limit and keep their queue full
STEADY = frozenset((
    "read", "threads", "hosts", "size", "block", "direct", "rand", "randalgo", "iodepth", "infloop",
    "timelimit", "randamount", "cpu", "lat", "lathisto", "latpercent", "latpercent9s", "livecsv",
    "livecsvex", "liveint", "nolive", "jsonfile", "csvfile", "resfile", "label",
))  # fmt: skip
HOST_OPTIONS = ("hosts", "hostsfile", "numhosts", "servers", "serversfile", "clients",
    "clientsfile")  # fmt: skip
LIST = re.compile(r"[\w.:-]+(,[\w.:-]+)*")  # of hosts, without ranges
CONFIG = {"threads": "threads", "dirs": "dirs", "files": "files", "size": "file_size",
    "block": "block_size"}  # fmt: skip
Words = Mapping[str, str]  # options by long name


class PhaseTotals(Struct, frozen=True):
    """The work done when the first or the last thread ended."""

    ms: int = 0
    entries: int = 0
    bytes: int = 0


class PhaseFacts(Struct, frozen=True):
    """Settings and amounts that one phase printed.

    `config` has the keys of elbencho's JSON. `reads` are the bytes read in a mixed phase.
    """

    name: str
    command: str
    path_type: str = ""
    config: dict[str, int] = field(default_factory=dict)
    flags: dict[str, bool] = field(default_factory=dict)  # by option
    first: PhaseTotals | None = None
    last: PhaseTotals = PhaseTotals()
    reads: int = 0
    slowest_s: float = 0.0
    whole_mib: bool = False  # bytes are cut off to MiB
    iops: int = 0  # cut off; 0: not printed

    @property
    def given(self) -> Words:
        """The options of the command line, by long name."""
        return options(self.command)

    @property
    def workers(self) -> int:
        """Threads of all hosts; 0 if unknown."""
        return self.config.get("threads", 0) * (self.config.get("hosts", 0) or 1)


def options(command: str) -> Words:
    """Return the options of a command line by long name; the value of a flag is empty."""
    try:
        words = shlex.split(command)[1:]
    except ValueError:
        return {}
    found: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and name not in FLAGS and OPTIONS.get(name, "text") != "flag":
                value = words[0] if words and not words[0].startswith("-") else ""
            found[name] = value
        elif word.startswith("-"):
            _short(word[1:], words, found)
    return found


def _short(cluster: str, words: list[str], found: dict[str, str]) -> None:
    """Parse the options in a word such as ``-wr`` or ``-t4``."""
    for at, letter in enumerate(cluster):
        name = SHORT.get(letter, letter)
        if name in FLAGS:
            found[name] = ""
            continue
        found[name] = cluster[at + 1 :].removeprefix("=") or (words.pop(0) if words else "")
        return


def steady_s(command: str, path_type: str, first_ms: int = 0) -> float | None:
    """Return how many seconds all threads keep their queue full; None if that is unknown.

    `first_ms`: when the first thread was done. If that is not before the time limit, no thread was
    done earlier.
    """
    given = options(command)
    steady = path_type not in ("", DIRECTORY, BUCKET) and given.keys() <= STEADY
    limit_s = size_of(given.get("timelimit")) if steady else None
    if not limit_s or ("infloop" not in given and first_ms < limit_s * 1000):
        return None
    return float(limit_s)


def contradictions(phase: PhaseFacts) -> Iterator[Contradiction]:
    """Yield pairs of figures of one phase that contradict each other."""
    given = phase.given
    yield from _first(phase)
    if "configfile" in given or not given:
        return
    yield from _config(phase, given)
    yield from _flags(phase, given)
    yield from _hosts(phase, given)
    yield from _time(phase, given)
    yield from _limits(phase, given)
    yield from _amounts(phase, given)
    yield from _blocks(phase, given)


def _first(phase: PhaseFacts) -> Iterator[Contradiction]:
    """Yield amounts that are larger when the first thread ends than when the last one ends."""
    if phase.first is None:
        return
    for name in ("ms", "entries", "bytes"):
        before, after = getattr(phase.first, name), getattr(phase.last, name)
        if before > after:
            yield Contradiction("first", before, after, names=(name,))


def _config(phase: PhaseFacts, given: Words) -> Iterator[Contradiction]:
    """Yield settings printed with the results that differ from those on the command line."""
    for name, key in CONFIG.items():
        told, due = phase.config.get(key), size_of(given.get(name))
        only_dirs = name in ("dirs", "files") and phase.path_type not in (DIRECTORY, BUCKET)
        if told is None or due is None or only_dirs or name not in given:
            continue
        smaller = phase.config.get("file_size") or due
        if name == "block" and told in (min(due, smaller), due, 0):
            continue  # a block is no larger than its file
        if told != due and (name != "size" or phase.path_type in (DIRECTORY, BUCKET)):
            yield Contradiction("setting", told, due, names=(name,))


def _flags(phase: PhaseFacts, given: Words) -> Iterator[Contradiction]:
    """Yield flags that are off in the result although their option is given.

    The reverse is no contradiction: options for GPUs turn flags on.
    """
    for name, turned_on in phase.flags.items():
        if name in given and not turned_on:
            yield Contradiction("off", 0, 1, names=(name,))


def _hosts(phase: PhaseFacts, given: Words) -> Iterator[Contradiction]:
    """Yield a number of hosts that differs from the command line's (one if it names none). Ranges
    of hosts and host files are not checked.
    """
    told = phase.config.get("hosts")
    named = [word for word in given if any(name.startswith(word) for name in HOST_OPTIONS)]
    due = 1
    if named == ["hosts"] and LIST.fullmatch(given["hosts"]):
        due = given["hosts"].count(",") + 1
    elif named:
        return
    if told is not None and told != due:
        yield Contradiction("setting", told, due, names=("hosts",))


def _time(phase: PhaseFacts, given: Words) -> Iterator[Contradiction]:
    limit_s, took_s = size_of(given.get("timelimit")), phase.last.ms / 1000
    if limit_s and took_s > limit_s + LATE_S + 2 * phase.slowest_s:
        yield Contradiction("time-limit", took_s, limit_s)


def _limits(phase: PhaseFacts, given: Words) -> Iterator[Contradiction]:
    """Yield more bytes than the limit allows. Each thread starts every second with its limit."""
    if not phase.workers:
        return
    writes = phase.last.bytes if phase.name == "WRITE" or phase.name.startswith(MIXED) else 0
    reads = phase.last.bytes if phase.name == "READ" else phase.reads
    flying = phase.workers * phase.config.get("block_size", 0) * phase.config.get("io_depth", 1)
    for name, moved in (("limitwrite", writes), ("limitread", reads)):
        limit = size_of(given.get(name))
        most = (limit or 0) * phase.workers * (floor(phase.last.ms / 1000) + 2) + 2 * flying
        if limit and moved > most:
            yield Contradiction("limit", moved, most, names=(name,))


def _amounts(phase: PhaseFacts, given: Words) -> Iterator[Contradiction]:
    """Yield amounts that differ from the files: without a limit, every thread processes all of its
    files completely.
    """
    if phase.path_type not in (DIRECTORY, BUCKET) or given.keys() & {*UNTOLD, *UNBOUNDED}:
        return
    dirs, files = phase.config.get("dirs"), phase.config.get("files")
    if dirs is None or not files or not phase.workers:
        return
    made = {"MKDIRS": dirs, "RMDIRS": dirs}.get(phase.name)
    due = phase.workers * (made if made is not None else files * max(dirs, 1))
    known = phase.name in ENTRIES or (made and phase.path_type == DIRECTORY)
    if known and phase.last.entries and phase.last.entries != due:
        yield Contradiction("entries", phase.last.entries, due)
    size = phase.config.get("file_size", 0)
    if phase.name in ("WRITE", "READ") and phase.last.bytes and phase.last.entries and size:
        due_bytes = phase.last.entries * size
        if phase.last.bytes != due_bytes and not phase.whole_mib:
            yield Contradiction("file-bytes", phase.last.bytes, due_bytes)


def _blocks(phase: PhaseFacts, given: Words) -> Iterator[Contradiction]:
    """Yield byte counts that differ from the printed I/Os times the block size on the command line.

    A block is no larger than its file, and shorter only at the end of a file, or of a thread's
    amount of random I/O.
    """
    others = {*UNTOLD, "hdfs", "netbench", "rwmixthr", "rwmixthrpct"} & given.keys()
    if not phase.iops or others or any(name.startswith("s3") for name in given):
        return
    if phase.path_type == BUCKET or phase.name not in ("WRITE", "READ") or phase.last.ms < LEAST_MS:
        return
    size, block = size_of(given.get("size")), size_of(given.get("block", DEFAULTS["block"]))
    if not block or not phase.last.bytes:
        return
    block = min(block, size or block)
    moved = phase.last.bytes, phase.last.bytes + (MIB if phase.whole_mib else 0)
    ios = (
        phase.iops * (phase.last.ms - 1) / 1000,
        (phase.iops + 1) * (phase.last.ms + 1) / 1000,
    )
    ends = (phase.workers or MOST_WORKERS) + 1
    whole = bool(size) and (size or 0) % block == 0
    if moved[0] > (ios[1] + ends) * block or (whole and moved[1] < (ios[0] - ends) * block):
        yield Contradiction("block", moved[0] / ios[0], block)


def missing_phases(phases: Sequence[PhaseFacts]) -> Iterator[tuple[int, Contradiction]]:
    """Yield (index, contradiction) for phases that the command line does not ask for, or that
    follow a missing one.

    Phases run in a fixed order; those after an error or a time limit do not run.
    """
    for at, phase in enumerate(phases):
        given = phase.given
        if not given or given.keys() & {"configfile", "treefile"}:
            continue
        if phase.path_type not in (DIRECTORY, BUCKET):
            continue
        kinds = (OBJECT_PHASES if phase.path_type == BUCKET else PHASES).values()
        names = [each.printed for each in kinds if each.option in given]
        own = "WRITE" if phase.name.startswith(MIXED) else phase.name
        if own not in names:
            if own in [each.printed for each in kinds]:
                yield at, Contradiction("not-chosen", 0.0, 0.0, names=(own,))
            continue
        before = names[: names.index(own)]
        shown = [
            "WRITE" if each.name.startswith(MIXED) else each.name
            for each in phases[:at]
            if each.command == phase.command
        ]
        if not phase.config.get("dirs"):  # none to make
            before = [name for name in before if name not in ("MKDIRS", "RMDIRS")]
        if before and at and before[-1] not in shown[-len(names) :]:
            yield at, Contradiction("missing", 0.0, 0.0, names=(own, before[-1]))


# -- tables: percentiles and histograms are printed side by side

SUBJECTS = ("Files", "Dirs", "Objects", "Buckets", "IO", "IO wr", "IO rd")
COUNTS = {"Files": "Files total", "Dirs": "Dirs total", "Objects": "Objects total",
    "Buckets": "Buckets total", "IO": "IOs total"}  # fmt: skip
BUCKET_COUNT = re.compile(r"([\d.]+): (\d+)")
PERCENTILE = re.compile(r"(?<![\d.])([\d.]+)%<=([\d.]+)")


def of_table(lines: Mapping[str, str]) -> Iterator[Contradiction]:
    """Yield percentiles and counts that contradict the histogram printed with them; `lines` are
    those of a phase, by name.
    """
    for subject in SUBJECTS:
        counts = BUCKET_COUNT.findall(lines.get(f"{subject} lat hist", ""))
        total = sum(int(count) for _, count in counts)
        if not total:
            continue
        printed = lines.get(COUNTS.get(subject, ""), "").rpartition(" ")[2]
        if printed.isdigit() and int(printed) != total:
            yield Contradiction("latencies", int(printed), total, names=(subject,))
        for name, upper in PERCENTILE.findall(lines.get(f"{subject} lat % us", "")):
            due = [_at(counts, float(name) / 100 * total + one) for one in (-1, 0, 1)]
            if float(upper) not in due:
                yield Contradiction("percentile", float(upper), due[1], names=(subject, name))


def _at(counts: Sequence[tuple[str, str]], reached: float) -> float:
    """Return the upper edge of the bucket in which the cumulative count reaches a number."""
    for (upper, _), summed in zip(counts, accumulate(int(each) for _, each in counts), strict=True):
        if summed >= reached:
            return float(upper)
    return float(counts[-1][0])


# options of names, places, login and output, and the phases, each of which is a measurement
NOT_OF_THE_LOAD = frozenset((
    *STORE, *HOST_OPTIONS, *PHASE_OPTIONS,
    "lat", "lathisto", "lathistogrpd", "latpercent", "latpercent9s", "livecsv", "livecsvex",
    "liveint", "live1", "live1n", "nolive", "csvfile", "jsonfile", "resfile", "label",
    "nocsvlabels", "allelapsed", "cpu", "dirstats", "base10", "log", "svcelapsed", "no0usecerr",
    "path", "nodelerr", "opslog", "s3log", "s3logprefix", "s3sseckey", "s3ssekmskey", "start",
    "port", "svcupint", "svcwait", "svcpwfile", "quit", "interrupt", "dryrun", "sharesize",
))  # fmt: skip
DEFAULTS = {"threads": "1", "iodepth": "1", "block": "1M", "dirs": "1", "files": "1"}


def load_options(command: str) -> LoadOptions | None:
    """Return the options of a command line that affect the figures; None if they are unknown."""
    given = options(command)
    if not given or "configfile" in given:
        return None
    values = {name: _plain(name, value) for name, value in given.items()
              if name not in NOT_OF_THE_LOAD}  # fmt: skip
    return LoadOptions(dict(sorted({**DEFAULTS, **values}.items())))


def _plain(name: str, value: str) -> str:
    size = size_of(value) if OPTIONS.get(name) == "size" else None
    return plain_size(size) if size is not None else value or "1"


def size_of(text: str | None) -> int | None:
    """Return a number with its binary unit; None if there is none."""
    if not text or not text[0].isdigit():
        return None
    try:
        return parse_size(text)
    except ValueError:
        return None
