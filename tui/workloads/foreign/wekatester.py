"""wekatester: the result bundle of a run, and the summary it prints.

The summary has only rates and mean latencies over all hosts; the bundle has the load generator's
results of each job and host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import PurePosixPath

from msgspec.structs import replace

from tui import workloads
from tui.model.event import DirectionResult, HostResult, LatencyResult
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
NANOSECONDS = {"ns": 1.0, "nanosecs": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9}
ROUNDED = ("ios", "bytes", "iops", "bw_bytes_per_s", "lat")
ALL_HOSTS = "all-hosts"


class Wekatester(Format):
    """Importer of wekatester results."""

    name = "wekatester"

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return the jobs in a printed summary. Raises UsageError."""
        jobs: list[tuple[str, dict[tuple[str, str], float]]] = []
        for number, line in numbered(text, file):
            if match := JOB.fullmatch(line) or RESUMMED.fullmatch(line.strip()):
                jobs.append((match["job"], {}))
            elif jobs and (match := FIGURE.fullmatch(line)):
                jobs[-1][1][match["name"], match["what"]] = _value(match, file, number)
        told = [(job, figures) for job, figures in jobs if figures]
        return [_output(place, job, figures) for place, (job, figures) in enumerate(told)]

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


def _bundle(folder: str, jobs: Sequence[tuple[str, KeptFile]], layouts: set[str]) -> KeptRun:
    measured, files, remarks = list[Mapping[str, ImportedOutput]](), list[KeptFile](), list[str]()
    for job, file in jobs:
        if job in layouts:
            continue
        try:
            outputs = _last(file)
        except UsageError as error:
            remarks.append(f"skipped: {error}")
            continue
        if outputs:
            files.append(file)
            measured.append({each.host or "host": replace(each, name=job) for each in outputs})
    return KeptRun(folder, measured, files, remarks)


def _last(file: KeptFile) -> list[ImportedOutput]:
    """Return the last measurement in a job's results, read by the load generator that wrote
    them.
    """
    for reader in workloads.every():
        if outputs := reader.import_output(file.text, file.place):
            last = outputs[-1].place
            return [replace(each, tool=reader.name) for each in outputs if each.place == last]
    return []


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


def _output(place: int, job: str, figures: Mapping[tuple[str, str], float]) -> ImportedOutput:
    result = HostResult(t=0.0, host="", step=place, dirs=dict(_directions(figures)))
    return ImportedOutput(place, job, result, ALL_HOSTS)


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
