"""wekatester: the result bundle of a run, and the summary it prints.

The summary has only rates and mean latencies over all hosts; the bundle has the load generator's
results for each job and host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import PurePosixPath

from msgspec import Struct, field
from msgspec.structs import replace

from tui import workloads
from tui.model.event import Contradiction, DirectionResult, HostResult, LatencyResult
from tui.model.operands import Clause, clause
from tui.model.printed import parse_printed
from tui.model.problem import Problem, UsageError
from tui.workloads.base import Format, ImportedOutput, KeptFile, KeptRun
from tui.workloads.reading import numbered

RESULTS = re.compile(r"results_(?P<job>[^/]+)\.json")
LAYOUTS = ("000-wekatester-layout", "000-wekatester-relayout", "999-wekatester-unlink")
LAYOUT_MARK = "# wekatester-layout: generated"
JOB = re.compile(r"(?:.*\s)?starting (?:test )?run for job (?P<job>\S+?)(?:\.job)?\s+on\s+\S.*")
RESUMMED = re.compile(r"==== (?P<job>\S+) ====")
FIGURE = re.compile(
    r"\s*(?:\[?[A-Z]+[\]:]\s*)?(?P<name>read|write) (?P<what>bandwidth|iops|latency):"
    r" (?P<value>[\d.,]+)\s?(?P<unit>[A-Za-zµμ/]*).*"
)
SUMMED = re.compile(
    r"\s*(?:\[?[A-Z]+[\]:]\s*)?(?P<name>total|average) (?P<what>bandwidth|iops):"
    r" (?P<value>[\d.,]+)\s?(?P<unit>[A-Za-z/]*)(?P<rest>.*)"
)
SPAN = re.compile(r"(?P<name>min|max) (?P<value>[\d.,]+)\s?(?P<unit>[A-Za-z/]*)")
DIGITS = re.compile(r"[\d,]+(?:\.(?P<decimals>\d+))?")
NANOSECONDS = {"ns": 1.0, "nanosecs": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9}
ROUNDED = ("ios", "bytes", "iops", "bw_bytes_per_s", "lat")
ALL_HOSTS = "all-hosts"


class Wekatester(Format):
    """Importer of wekatester results."""

    name = "wekatester"

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return the jobs in a printed summary. Raises UsageError."""
        jobs: list[_JobFigures] = []
        for number, line in numbered(text, file):
            if match := JOB.fullmatch(line) or RESUMMED.fullmatch(line.strip()):
                jobs.append(_JobFigures(match["job"]))
            elif jobs and (match := FIGURE.fullmatch(line)):
                jobs[-1].figures[match["name"], match["what"]] = _value(match, file, number)
            elif jobs and (match := SUMMED.fullmatch(line)):
                jobs[-1].add_sum(match)
        measured = [job for job in jobs if job.figures]
        return [_output(place, job) for place, job in enumerate(measured)]

    def import_tree(self, files: Sequence[KeptFile]) -> Sequence[KeptRun]:
        """Return one run per bundle: its jobs in order, without layouts."""
        bundles: dict[str, list[tuple[str, KeptFile]]] = {}
        for file in sorted(files, key=lambda file: file.name):
            path = PurePosixPath(file.name)
            if match := RESULTS.fullmatch(path.name):
                bundles.setdefault(str(path.parent), []).append((match["job"], file))
        marked = {
            PurePosixPath(file.name).stem for file in files if LAYOUT_MARK in file.text[:4096]
        }
        found = [_bundle(folder, jobs, {*LAYOUTS, *marked}) for folder, jobs in bundles.items()]
        return [run for run in found if run.measurements]


FORMAT = Wekatester()


class _Summed(Struct):
    """A printed sum over hosts or directions, and half a unit of its last digit."""

    value: float
    slack: float


class _JobFigures(Struct):
    """The figures of a job by direction and kind; sums as printed, in the unit of the figures."""

    name: str
    figures: dict[tuple[str, str], float] = field(default_factory=dict)
    sums: dict[tuple[str, str], _Summed] = field(default_factory=dict)

    def add_sum(self, match: re.Match[str]) -> None:
        """Add a printed total, or an average with its smallest and largest host."""
        what = match["what"]
        for name, each in (
            (match["name"], match),
            *((found["name"], found) for found in SPAN.finditer(match["rest"])),
        ):
            if (value := _printed(each["value"], each["unit"], what)) is not None:
                self.sums[name, what] = value

    def contradictions(self) -> Iterator[Contradiction]:
        """Yield sums and averages that contradict the directions or hosts they cover."""
        for what in ("bandwidth", "iops"):
            sums = {name: each for (name, kind), each in self.sums.items() if kind == what}
            parts = [value for (_, kind), value in self.figures.items() if kind == what]
            total, average = sums.get("total"), sums.get("average")
            slack = (len(parts) + 1) * total.slack if total is not None else 0.0
            if total is not None and parts and abs(total.value - sum(parts)) > slack + ONE:
                yield Contradiction(f"total-{what}", total.value, sum(parts))
            if average is None or not average.value:
                continue
            whole = total or _Summed(sum(parts), len(parts) * average.slack)
            hosts = max(round(whole.value / average.value), 1)
            if parts and abs(whole.value - hosts * average.value) > (
                whole.slack + hosts * average.slack + ONE
            ):
                yield Contradiction("hosts", whole.value / average.value, hosts, names=(what,))
            low, high = sums.get("min", average), sums.get("max", average)
            if not low.value - 2 * low.slack <= average.value <= high.value + 2 * high.slack:
                bound = low if average.value < low.value else high
                yield Contradiction(f"average-{what}", average.value, bound.value)


ONE = 1e-6  # rounding of floating point


def _printed(text: str, unit: str, what: str) -> _Summed | None:
    """Return a printed sum in the unit of the figures; None if it cannot be read."""
    match = DIGITS.fullmatch(text.rstrip("."))
    if match is None:
        return None
    half = 0.5 * 10 ** -len(match["decimals"] or "")
    number = match[0].replace(",", "")
    if what == "iops":
        return _Summed(float(number), half)
    try:
        unit = unit.removesuffix("/s").replace("bytes", "B")
        value = float(parse_printed("bytes", f"{number} {unit}").low)
    except (ValueError, KeyError):
        return None
    return _Summed(value, half * value / float(number) if float(number) else half)


def _bundle(folder: str, jobs: Sequence[tuple[str, KeptFile]], layouts: set[str]) -> KeptRun:
    measured, files, caveats = (
        list[Mapping[str, ImportedOutput]](),
        list[KeptFile](),
        list[Clause](),
    )
    for job, file in jobs:
        if job in layouts:
            continue
        try:
            outputs = workloads.last_outputs(file)
        except UsageError as error:
            caveats.append(clause("skipped", quote=str(error)))
            continue
        if outputs:
            files.append(file)
            measured.append({each.host or "host": replace(each, name=job) for each in outputs})
    return KeptRun(folder, measured, files, caveats)


def _value(match: re.Match[str], file: str, line: int) -> float:
    """Return a printed figure in its base unit. Raises UsageError."""
    number = match["value"].replace(",", "")
    try:
        if match["what"] == "latency":
            return float(number) * NANOSECONDS[match["unit"]]
        if match["what"] == "iops":
            return float(number)
        unit = match["unit"].removesuffix("/s").replace("bytes", "B")
        return parse_printed("bytes", f"{number} {unit}").low
    except (ValueError, KeyError):
        message = (
            f"found '{match[0].strip()[:60]}'; expected bandwidth in GiB/s, iops, and latency in us"
        )
        raise UsageError([Problem(message, file=file, line=line)]) from None


def _output(place: int, job: _JobFigures) -> ImportedOutput:
    result = HostResult(t=0.0, host="", step=place, dirs=dict(_directions(job.figures)))
    result.contradictions = list(job.contradictions())
    return ImportedOutput(place, job.name, result, ALL_HOSTS)


def _directions(figures: Mapping[tuple[str, str], float]) -> Iterator[tuple[str, DirectionResult]]:
    """Yield the rates of reads and writes; the summary does not contain the measured time."""
    for name in ("read", "write"):
        iops, bandwidth = figures.get((name, "iops")), figures.get((name, "bandwidth"))
        latency = figures.get((name, "latency"))
        if iops is None and bandwidth is None and latency is None:
            continue
        part = DirectionResult(0, 0, 0.0, iops or 0.0, bandwidth or 0.0, rounded=list(ROUNDED))
        if latency is not None:
            part.lat = LatencyResult(0, 0, 0, latency, nan)
        yield name, part
