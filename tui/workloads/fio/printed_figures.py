"""Parse the figures that fio's report prints in addition to a job's result, and below all jobs.
Their precision is kept as the range that a printed number may stand for.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field

from tui.workloads.fio.distributions import LEVELS, Span, span

VALUE = r"\s*([\d.]+[kMGT]?)\s*"
RATE = re.compile(
    r"\s*(?P<name>read|write|trim|mixed)\s*: IOPS=(?P<iops>\S+), BW=(?P<rate>\S+?)\s*"
    r"(?:\((?P<rate2>[^()]*)\)\s*)?\((?P<moved>[^()/]+)/(?P<ms>\d+)msec\).*"
)
LATENCY = re.compile(
    rf"\s*(slat|clat|lat|sync)\s*\((nsec|usec|msec)\)\s*: min={VALUE}, max={VALUE},.*"
)
PERCENTILES = re.compile(r"\s*(\w+) percentiles \((nsec|usec|msec)\)\s*:.*")
SAMPLES = re.compile(
    r"\s*(?:bw \(\s*(?P<unit>\w+)\s*/s\)|(?P<iops>iops)\s*)\s*: min=\s*(?P<low>\d+),"
    r" max=\s*(?P<high>\d+),(?: per=\s*(?P<share>[\d.]+)%,)? avg=\s*(?P<mean>[\d.]+),"
    r" stdev=\s*[\d.]+, samples=(?P<count>\d+)"
)
SHARES = re.compile(r"\s*lat \((nsec|usec|msec)\)\s*: ((?:>?=?\d+=[\d.]+%(?:, )?)+)")
SHARE = re.compile(r"(>?=?\d+)=([\d.]+)%")
LEVEL = re.compile(r"\s*IO depths\s*: (.*)")
DEPTH = re.compile(r"\s*latency\s*: target=(\d+).*, depth=(\d+)")
ISSUED = re.compile(r"\s*issued rwts:\s*total=(\d+),(\d+),(\d+),(\d+) .*")
ERRORS = re.compile(r"\s*errors\s*: total=\s*([1-9]\d*),.*")
GROUP = re.compile(r"Run status group (\d+) \(all jobs\):")
GROUP_LINE = re.compile(
    r"\s*(READ|WRITE|TRIM|MIXED): bw=(?P<rate>\S+) \((?P<rate2>\S+)\),"
    r" (?P<least>[^\s-]+)-(?P<most>[^\s-]+) \(\S+\),"
    r" io=(?P<moved>\S+) \((?P<moved2>\S+)\), run=(?P<first>\d+)-(?P<last>\d+)msec"
)
STARTED = re.compile(r"Starting (?:(\d+) threads?)?(?: and )?(?:(\d+) process(?:es)?)?")
FAILED = re.compile(r"fio: pid=(\d+), err=(\d+)/.*")
UNITS_NS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6}
SHARE_NS = {"nsec": 1, "usec": 1000, "msec": 1_000_000}


@dataclass(frozen=True, slots=True)
class PrintedSamples:
    """Samples of a rate: in KiB/s, or in I/Os per second. `share`: % of the group's rate."""

    low: float
    high: float
    mean: float
    count: int
    share: float | None = None


@dataclass(slots=True)
class Rate:
    """One direction's amounts as printed; `again`: the same rate in the other units."""

    iops: Span
    rate: Span
    again: Span | None
    moved: Span
    runtime_ms: int


@dataclass(slots=True)
class GroupLine:
    """One direction of a group, over all jobs in it."""

    group: int
    name: str
    rate: Span
    rate_again: Span
    least: Span
    most: Span
    moved: Span
    moved_again: Span
    run_ms: tuple[int, int]


@dataclass(slots=True)
class PrintedFigures:
    """What a job's section prints, by direction; latencies by direction and kind."""

    rates: dict[str, Rate] = field(default_factory=dict)
    extremes: dict[tuple[str, str], tuple[Span, Span]] = field(default_factory=dict)
    percentile_unit: dict[tuple[str, str], float] = field(default_factory=dict)
    bw: dict[str, PrintedSamples] = field(default_factory=dict)
    iops: dict[str, PrintedSamples] = field(default_factory=dict)
    shares: dict[tuple[int, str], float] = field(default_factory=dict)
    levels: list[float] = field(default_factory=list)
    depth: int | None = None  # None if a latency target moves it
    issued: tuple[int, ...] = ()
    failed: bool = False
    binary: bool = True  # units of 1024: kb_base
    name: str = ""

    def parse_line(self, line: str) -> None:
        """Parse a line of the section; others are ignored."""
        if found := RATE.fullmatch(line):
            self._rate(found)
        elif found := LATENCY.fullmatch(line):
            unit = UNITS_NS[found[2]]
            place = ("sync", "sync") if found[1] == "sync" else (self.name, found[1])
            self.extremes[place] = extreme(found[3], unit), extreme(found[4], unit)
        elif found := PERCENTILES.fullmatch(line):
            self.percentile_unit[self.name, found[1]] = UNITS_NS[found[2]]
        elif found := SAMPLES.fullmatch(line):
            self._samples(found)
        elif found := SHARES.fullmatch(line):
            for end, share in SHARE.findall(found[2]):
                self.shares[SHARE_NS[found[1]], end] = float(share)
        else:
            self._rest(line)

    def _rest(self, line: str) -> None:
        if found := LEVEL.fullmatch(line):
            shares = [float(share) for _, share in SHARE.findall(found[1])]
            self.levels = shares if len(shares) == len(LEVELS) + 1 else []
        elif found := DEPTH.fullmatch(line):
            self.depth = int(found[2]) if found[1] == "0" else None
        elif found := ISSUED.fullmatch(line):
            self.issued = tuple(map(int, found.groups()))
        elif ERRORS.fullmatch(line):
            self.failed = True

    def _rate(self, found: re.Match[str]) -> None:
        self.name, self.binary = found["name"], "i" in found["rate"]
        with suppress(ValueError):
            again = span(found["rate2"]) if found["rate2"] else None
            self.rates[self.name] = Rate(
                span(found["iops"]),
                span(found["rate"]),
                again,
                span(found["moved"]),
                int(found["ms"]),
            )

    def _samples(self, found: re.Match[str]) -> None:
        large = 1024.0 if self.binary else 1000.0
        per = {None: 1.0, "KiB": 1.0, "kB": 1.0, "MiB": large}.get(found["unit"])
        if per is None:
            return  # in other units fio divides by other bases
        low, high, mean = (float(found[name]) * per for name in ("low", "high", "mean"))
        share = float(found["share"]) if found["share"] else None
        samples = PrintedSamples(low, high, mean, int(found["count"]), share)
        (self.iops if found["iops"] else self.bw)[self.name] = samples


def extreme(text: str, unit: float) -> Span:
    """Return the range of latencies in ns that a printed minimum or maximum may represent: fio
    truncates it to whole units and six digits.
    """
    low, high = span(text)
    return Span(max(low - 1 if low == high else low, 0.0) * unit, (high + 1) * unit)


def group_line(line: str, group: int) -> GroupLine | None:
    """Return a group's line for one direction; None for any other line."""
    found = GROUP_LINE.fullmatch(line)
    if found is None:
        return None
    names = ("rate", "rate2", "least", "most", "moved", "moved2")
    try:
        rate, again, least, most, moved, moved_again = (span(found[name]) for name in names)
    except ValueError:
        return None
    run_ms = int(found["first"]), int(found["last"])
    return GroupLine(group, found[1].lower(), rate, again, least, most, moved, moved_again, run_ms)


def started(line: str) -> int:
    """Return the number of workers that a line says were started; 0 for any other line."""
    found = STARTED.fullmatch(line.strip())
    return sum(int(each or 0) for each in found.groups()) if found else 0


def failed(line: str) -> tuple[int, int] | None:
    """Return process and error number in a message about a failed worker; None for other lines."""
    found = FAILED.fullmatch(line.strip())
    return (int(found[1]), int(found[2])) if found else None
