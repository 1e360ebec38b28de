"""Parse fio's human-readable output, as pasted into tickets, into the same objects as its JSON.

Supports fio 2 and later. Ignores other lines and surrounding text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from tui.model.problem import Problem, UsageError
from tui.model.quantities import parse_stamp
from tui.workloads.fio import printed_figures
from tui.workloads.fio.distributions import Span, of_syncs, value_of
from tui.workloads.fio.loads import RATED
from tui.workloads.fio.printed_figures import GroupLine, PrintedFigures
from tui.workloads.fio.snapshot import ALL_CLIENTS, StatusDirection, StatusJob, StatusLatency, Syncs
from tui.workloads.reading import clean, numbered

NUMBER = r"\s*([\d.]+[kMGT]?)\s*"
HEADER = re.compile(
    r"(?P<name>\S.*?): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\):"
    r" err=\s*(?P<error>\d+)\s*(?:\(.*\)\s*)?:"
    r" pid=(?P<pid>\d+)(?::\s*(?P<date>.*))?"
)
RATE = re.compile(
    r"\s*(read|write|trim|mixed)\s*: IOPS=([\d.]+[kMG]?), BW=(\S+?)\s*(?:\([^()]*\)\s*)?"
    r"\(([\d.]+[^\W\d]\w*)/(\d+)msec\).*"
)
DIGITS = 0.01  # fio prints three or more
LEAST_DIGITS = 3
SECTOR, WHOLE = 512, 0.01  # I/O sizes of samples this close above one are whole sectors
SIZE = re.compile(r"\d[\d.]*[KMGTP]iB")
OLD_RATE = re.compile(
    r"\s*(read|write|trim)\s*: io=([\d.]+[^\W\d]\w*), bw=(\S+), iops=\s*(\d+), runt=\s*(\d+)msec.*"
)
MEANT_AS_RATE = re.compile(r"\s*(read|write|trim|mixed)\s*: (IOPS|io)=.*")
LATENCY = re.compile(
    rf"\s*(slat|clat|lat|sync)\s*\((nsec|usec|msec)\)\s*: min={NUMBER}, max={NUMBER}, avg={NUMBER},"
    rf" stdev={NUMBER}"
)
PERCENTILES = re.compile(r"\s*(\w+) percentiles \((nsec|usec|msec)\)\s*:.*")
# of a part of the I/Os: "clat prio 2/0/0 (30.12% of IOs) percentiles (usec):"
PART_PERCENTILES = re.compile(r"\s*\w+ prio .* percentiles \(\w+\)\s*:.*")
PERCENTILE = re.compile(r"(?<![\d.])([\d.]+)th=\[\s*([\d.]+[kMGT]?)\s*\]")
CPU = re.compile(r"\s*cpu\s*: usr=([\d.]+)%, sys=([\d.]+)%.*")
ISSUED = re.compile(
    r"\s*issued rwts?\s*:\s*total=([\d,]+)(?:\s+short=([\d,]+))?(?:\s+dropped=([\d,]+))?.*"
)
OLD_ISSUED = re.compile(
    r"\s*issued\s*:\s*total=r=(\d+)/w=(\d+)/d=(\d+)(?:, short=r=(\d+)/w=(\d+)/d=(\d+))?.*"
)
JOB_LINE = re.compile(
    r"(?P<name>\S.*?): \(g=\d+\): rw=(\w+), bs=(.*?),? ioengine=([^,]+), iodepth=(\d+).*"
)
BLOCKS = re.compile(r"(?<![\d.])(\d[\d.]*[kKMG]?i?B?)-(\d[\d.]*[kKMG]?i?B?)")
COMMAND = re.compile(r"[\s>$#%]*+(?:sudo\s+)?(?:\S*/)?fio\s+(-.*)")
# of a shell: [root@h1 ~]#, me@h1:/mnt$
PROMPT = re.compile(r"\s*(?:\([^()]*\)\s*)?\[?[\w.-]+@(?P<host>[\w.-]++)[^#$%>\n]*+[#$%>]\s")
VERSION = re.compile(r"(?:hostname=.*, fio=)?(fio-\d[\w.-]*)(?:, flags=.*)?")
BETWEEN = re.compile(r"(Run status group|Disk stats)\b.*")
OF_HOST = re.compile(r"<([^<>\s]+)>\s?")
# at the end of a line, a client names the host of the results that follow
HOST_BELOW = re.compile(r".*<([^<>\s]+)>\s*")
FACTORS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6}
POWERS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
LEAST_SYNCS = 100  # with fewer, those at the end, which are not counted, are too many
SAME_PRINT_S = 2.0  # results of one fio are stamped when they are printed, one after the other
ISSUED_ORDER = ("read", "write", "trim", "sync")


@dataclass(slots=True)
class PrintedSection:
    """Results of one job, or of a group.

    `counted`: the number of I/Os is exact.
    """

    line: int
    job: StatusJob
    workers: int
    ended_s: float | None
    counted: bool = False
    pid: int = 0
    figures: PrintedFigures = field(default_factory=PrintedFigures)


@dataclass(slots=True)
class Printed:
    """Output of one fio on one host.

    `command` is the last command line above it, `lines` are the jobs' first lines. Outputs of one
    client have the same `session`. `prompt_host`: the host in the shell prompt above it. `started`:
    workers, 0 if unknown. `failures`: host, process and error of workers that failed. `unclear`:
    names that several jobs of different depths share. `connected`: servers of its client.
    """

    host: str
    sections: list[PrintedSection]
    version: str = ""
    command: str = ""
    lines: dict[str, dict[str, str]] = field(default_factory=dict)
    session: int = 0
    prompt_host: str = ""
    groups: list[GroupLine] = field(default_factory=list)
    started: int = 0
    failures: list[tuple[str, int, int]] = field(default_factory=list)
    unclear: set[str] = field(default_factory=set)
    connected: int = 0


def printed_outputs(text: str, file: str) -> list[Printed]:
    """Return the fio outputs in a text, in order.

    Raises UsageError with the line that cannot be read.
    """
    parser = _Parser(file)
    for number, line in numbered(text, file):
        parser.parse_line(number, clean(line.encode()).rstrip())
    return parser.end()


class _Parser:
    """Parses fio's human-readable output line by line."""

    def __init__(self, file: str) -> None:
        self.file, self.number = file, 0
        self.found: list[Printed] = []
        self.section: PrintedSection | None = None
        self.part: StatusDirection | None = None
        self.percentiles: tuple[StatusLatency, float] | None = None
        self.separate = True  # whether the next results are another fio's
        self.version, self.command, self.above, self.prompt_host = "", "", "", ""
        self.session = 0
        self.lines: dict[str, dict[str, str]] = {}
        self.group = 0
        self.unclear: set[str] = set()
        self.connected = 0  # servers of a client
        self.started: dict[str, set[int]] = {}
        self.coarse: list[tuple[str, StatusDirection]] = []  # bytes of too few digits
        self.failures: list[tuple[str, int, int]] = []
        self.parsers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], None]], ...] = (
            (RATE, self._rate),
            (OLD_RATE, self._old_rate),
            (LATENCY, self._latency),
            (PERCENTILES, self._percentiles),
            (CPU, self._cpu),
            (ISSUED, self._issued),
            (OLD_ISSUED, self._old_issued),
            (PART_PERCENTILES, lambda _: self._part()),
            (BETWEEN, lambda _: self._over()),
        )

    def parse_line(self, number: int, line: str) -> None:
        """Parse one line; `number` is its line number."""
        self.number = number
        above, self.above = self.above, ""
        if below := HOST_BELOW.fullmatch(line):
            self.above = below[1]
            return
        host = OF_HOST.match(line)
        name, line = (host[1], line[host.end() :]) if host else ("", line)
        if header := HEADER.fullmatch(line.strip()):
            self._header(header, name or above)
        elif self._before(line) or self._around(line, name or above):
            return
        elif self.section is not None:
            self.section.figures.parse_line(line)
            self._figures(line)

    def end(self) -> list[Printed]:
        """Return the outputs found."""
        self._complete()
        followed = zip(self.found, [*self.found[1:], None], strict=False)
        return [each for each, later in followed if not _again(each, later)]

    def _before(self, line: str) -> bool:
        """Parse a line before results: a command, a version, the first line of a job.

        Returns whether it is such a line.
        """
        prompt = PROMPT.match(line)
        if command := COMMAND.fullmatch(line[prompt.end() :] if prompt else line):
            self.prompt_host = prompt["host"] if prompt else ""
            self.command, self.lines = command[1].strip(), {}
            self.started, self.failures, self.unclear = {}, [], set()
        elif version := VERSION.fullmatch(line.strip()):
            self.version = version[1]
            self.connected = self.connected + 1 if line.startswith("hostname=") else 0
        elif job := JOB_LINE.fullmatch(line.strip()):
            before = self.lines.get(job["name"], {"iodepth": job[5]})
            if before["iodepth"] != job[5]:
                self.unclear.add(job["name"])
            self.lines.pop(job["name"], None)
            if not any(map(few_digits, SIZE.findall(job[3]))):
                self.lines[job["name"]] = {
                    "rw": job[2],
                    "bs": _block(job[3], job[2]),
                    "ioengine": job[4],
                    "iodepth": job[5],
                }
        else:
            return False
        self.session += 1
        self._over()
        return True

    def _around(self, line: str, host: str) -> bool:
        """Parse a line about all jobs: how many were started, failed workers, sums of a group.

        Returns whether it is such a line.
        """
        if count := printed_figures.started(line):
            self.started.setdefault(host, set()).add(count)
            self.failures = [each for each in self.failures if each[0] != host]
        elif failure := printed_figures.failed(line):
            self.failures.append((host, *failure))
        elif group := printed_figures.GROUP.fullmatch(line.strip()):
            self._over()
            self.group = int(group[1])
        elif self.section is None and (found := printed_figures.group_line(line, self.group)):
            for printed in self.found[-1:]:
                printed.groups.append(found)
        else:
            return False
        return True

    def _part(self) -> None:
        self.percentiles = None

    def _over(self) -> None:
        """Finish the results of the current fio output."""
        self._complete()
        self.section, self.separate = None, True

    def _header(self, header: re.Match[str], host: str) -> None:
        self._complete()
        job = StatusJob(
            jobname=header["name"].strip(), groupid=int(header["group"]), error=int(header["error"])
        )
        section = PrintedSection(
            self.number,
            job,
            int(header["jobs"]),
            parse_stamp(header["date"] or ""),
            pid=int(header["pid"]),
        )
        last = self.found[-1] if self.found and not self.separate else None
        if last is not None and not host:
            host = last.host  # a client names its server before the first of its jobs only
        if last is None or last.host != host or not _together(last.sections[-1], section):
            last = Printed(
                host,
                [],
                self.version,
                self.command,
                dict(self.lines),
                self.session,
                self.prompt_host,
                started=max(counts) if len(counts := self.started.get(host, {0})) == 1 else 0,
                failures=self.failures,
                unclear=self.unclear,
                connected=self.connected,
            )
            self.found.append(last)
        last.sections.append(section)
        self.section, self.part, self.percentiles, self.separate = section, None, None, False
        if job.jobname == ALL_CLIENTS:
            self.connected = 0

    def _complete(self) -> None:
        """Raise UsageError for results without figures, except those of failed jobs, and for
        figures with too few digits.
        """
        for text, part in self.coarse:
            self._refine(text, part)
        self.coarse = []
        if (
            self.section is not None
            and not self.section.job.directions()
            and not self.section.job.error
        ):
            name, line = self.section.job.jobname, self.section.line
            self._wrong(
                f"'{name}' has no figures; expected a line such as 'read: IOPS=...'",
                line,
            )

    def _refine(self, text: str, part: StatusDirection) -> None:
        """Set bytes from the exact number of I/Os and the mean I/O size of fio's samples."""
        assert self.section is not None
        figures, counted = self.section.figures, self.section.counted
        name = next(each for each, own in self.section.job.directions().items() if own is part)
        rate, ios = figures.bw.get(name), figures.iops.get(name)
        moved = figures.rates[name].moved if name in figures.rates else None
        if counted and rate is not None and ios is not None and ios.mean and moved is not None:
            size = 1024 * rate.mean / ios.mean
            size = SECTOR * round(size / SECTOR) if size % SECTOR / size < WHOLE else size
            found = part.total_ios * size
            if moved.low <= found <= moved.high:
                part.io_bytes = round(found)
                part.bw_bytes = part.io_bytes * 1000 / max(part.runtime, 1)
            return  # contradictions are left to the checks
        if len(re.sub(r"\D", "", text)) > 1:
            return
        self._wrong(
            f"cannot compute the bytes: '{text}' has only one digit (significant_figures), and bw"
            " and iops samples are missing",
            self.section.line,
        )

    def _figures(self, line: str) -> None:
        for pattern, parse in self.parsers:
            if match := pattern.fullmatch(line):
                parse(match)
                return
        if MEANT_AS_RATE.fullmatch(line):
            self._wrong(f"found '{line.strip()[:60]}'; expected IOPS=, BW= and (MOVED/TIMEmsec)")
        if self.percentiles is not None and line.lstrip().startswith("|"):
            latency, factor = self.percentiles
            found = {name: self._number(value) * factor for name, value in PERCENTILE.findall(line)}
            latency.percentile = {**(latency.percentile or {}), **found}

    def _rate(self, match: re.Match[str]) -> None:
        self._add(match[1], match[2], match[3], match[4], match[5])

    def _old_rate(self, match: re.Match[str]) -> None:
        """Parse a rate of fio 2, with KB of 1024 bytes."""
        bandwidth, moved = (re.sub(r"([KMGT])B", r"\1iB", match[place]) for place in (3, 2))
        self._add(match[1], match[4], bandwidth, moved, match[5])

    def _add(self, name: str, iops: str, bandwidth: str, moved: str, milliseconds: str) -> None:
        assert self.section is not None
        part = StatusDirection(runtime=int(milliseconds), iops=self._number(iops))
        try:
            part.bw_bytes, part.io_bytes = value_of(bandwidth), int(value_of(moved))
        except ValueError as error:
            self._wrong(f"cannot read BW={bandwidth} ({moved}): {error}")
        part.total_ios = round(part.iops * part.runtime / 1000)  # until the exact number is read
        if few_digits(moved):
            self.coarse.append((moved, part))
        setattr(self.section.job, name, part)
        self.section.job.job_runtime = max(self.section.job.job_runtime, part.runtime)
        self.part, self.percentiles = part, None

    def _latency(self, match: re.Match[str]) -> None:
        if self.part is None or self.section is None:
            return
        factor = FACTORS[match[2]]
        low, high, mean, deviation = (self._number(match[place]) * factor for place in range(3, 7))
        found = StatusLatency(low, high, mean, deviation)
        if match[1] == "sync":
            self.section.job.sync = Syncs(found)
        else:
            found.n = self.part.total_ios
            setattr(self.part, match[1], found)

    def _percentiles(self, match: re.Match[str]) -> None:
        assert self.section is not None
        syncs = self.section.job.sync
        of = {"sync": syncs.lat if syncs is not None else None}
        of |= {name: getattr(self.part, name, None) for name in ("slat", "clat", "lat")}
        latency = of.get(match[1])
        self.percentiles = (latency, FACTORS[match[2]]) if latency is not None else None

    def _cpu(self, match: re.Match[str]) -> None:
        assert self.section is not None
        self.section.job.usr_cpu, self.section.job.sys_cpu = (
            self._number(match[1]),
            self._number(match[2]),
        )

    def _issued(self, match: re.Match[str]) -> None:
        total, short, dropped = (
            dict(zip(ISSUED_ORDER, (group or "").split(","), strict=False))
            for group in match.groups()
        )
        self._count(total, short, dropped)

    def _old_issued(self, match: re.Match[str]) -> None:
        groups = [group or "0" for group in match.groups()]
        total, short = (dict(zip(ISSUED_ORDER, groups[at : at + 3], strict=False)) for at in (0, 3))
        self._count(total, short, {})

    def _count(
        self, total: Mapping[str, str], short: Mapping[str, str], dropped: Mapping[str, str]
    ) -> None:
        """Set exact numbers of I/Os, and derive rates and latency counts from them."""
        assert self.section is not None
        self.section.counted = True
        syncs = self.section.job.sync
        if syncs is not None and syncs.lat is not None:
            syncs.lat.n = self._syncs(total)
        for name, part in self.section.job.directions().items():
            if name in total and total[name].isdigit() and int(total[name]):
                part.total_ios = int(total[name])
                rate = self.section.figures.rates.get(name)
                part.iops = _finer(part, rate.iops if rate is not None else None)
            for latency in (part.slat, part.clat, part.lat):
                if latency is not None:
                    latency.n = part.total_ios
            part.short_ios, part.drop_ios = (int(each.get(name) or 0) for each in (short, dropped))

    def _syncs(self, total: Mapping[str, str]) -> int:
        """Return the number of syncs; 0 if there are few, or if the depth shares contain syncs that
        fio does not count.
        """
        assert self.section is not None
        counts = {name: int(count) for name, count in total.items()}
        syncs, ios = counts.pop("sync", 0), sum(counts.values())
        apart = of_syncs(self.section.figures.levels, ios, syncs, 0)
        return syncs if syncs >= LEAST_SYNCS and abs(apart) <= syncs / 10 else 0

    def _number(self, text: str) -> float:
        factor = POWERS.get(text[-1], 1.0)
        try:
            return float(text.rstrip("kMGT")) * factor
        except ValueError:
            self._wrong(f"found '{text}'; expected a number, optionally with k, M, G or T")

    def _wrong(self, message: str, line: int | None = None) -> NoReturn:
        raise UsageError([Problem(message, file=self.file, line=line or self.number)])


def _again(one: Printed, later: Printed | None) -> bool:
    """Return whether the same processes printed their results again, so that only the last ones
    count.
    """
    if later is None or one.host != later.host:
        return False
    names = {(section.job.jobname, section.pid) for section in later.sections if section.pid}
    return all((section.job.jobname, section.pid) in names for section in one.sections)


def _together(before: PrintedSection, after: PrintedSection) -> bool:
    """Return whether both sections were printed by the same fio."""
    if before.ended_s is None or after.ended_s is None:
        return before.ended_s is after.ended_s
    return abs(after.ended_s - before.ended_s) <= SAME_PRINT_S


def _block(text: str, access: str) -> str:
    """Return the block sizes in a job's first line in the syntax of fio's option: sizes or ranges,
    in bytes, of reads, writes and trims; a single one if the job uses no other.
    """
    pairs = [[round(value_of(size)) for size in pair] for pair in BLOCKS.findall(text)]
    found = ["-".join(map(str, dict.fromkeys(pair))) for pair in pairs]
    if len(found) == len(RATED) and (only := access.removeprefix("rand")) in RATED:
        return found[RATED.index(only)]
    return found[0] if len(set(found)) == 1 else ",".join(found)


def few_digits(text: str) -> bool:
    """Return whether a number with a unit has fewer digits than fio prints by default: with
    significant_figures below 4, ``3GiB``.
    """
    return "iB" in text and len(re.sub(r"\D", "", text)) < LEAST_DIGITS


def _finer(part: StatusDirection, told: Span | None) -> float:
    """Return the rate computed from exact counts; the printed rate if both disagree beyond
    rounding.
    """
    made = part.total_ios * 1000 / part.runtime if part.runtime else part.iops
    if told is not None and told.low - 1 <= made <= told.high + 1:
        return made
    return made if abs(made - part.iops) <= 1 + DIGITS * part.iops else part.iops
