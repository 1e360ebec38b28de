"""Terse lines of fio that were kept: versions 3 to 5 of its format, a job or a group a line.

Fields by the manual's chapter on terse output: bandwidth in KiB/s, latencies in µs (slat, clat, percentiles, lat), then
bandwidth samples; version 5 has six fields more there. Version 3 has no trim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tui.model.percentile import percentile_name
from tui.model.problem import Problem, UsageError
from tui.workloads.base import ImportedOutput
from tui.workloads.fio.results import kept_result
from tui.workloads.fio.snapshot import Direction, Job, Latency, Snapshot
from tui.workloads.lines import numbered

LINE = re.compile(r"(?:<[^<>\s]+> ?)?(?P<version>[3-5]);(?P<fio>fio-[^;]*);.*")
PERCENTILES = 20
HEAD, TAIL, DISK = 5, 34, 9  # fields before and behind the directions, then so many for each disk, then a description
FIELDS = {3: 41, 4: 41, 5: 47}  # of one direction
DIRECTIONS = {3: ("read", "write"), 4: ("read", "write", "trim"), 5: ("read", "write", "trim")}
KIB, US = 1024, 1000
ROUNDED = ("ios", "bytes", "iops", "bw_bytes_per_s", "slat", "clat", "lat")


def terse_outputs(text: str, file: str) -> list[ImportedOutput]:
    """Return the outputs in a text: lines that follow each other are jobs of one fio. Raises UsageError."""
    groups: list[list[tuple[str, Job]]] = []
    before = 0
    for number, line in numbered(text, file):
        if match := LINE.fullmatch(line.strip()):
            job = _job(match, line.strip(), file, number)
            if not groups or number > before + 1 or any(job.jobname == other.jobname for _, other in groups[-1]):
                groups.append([])
            groups[-1].append((match["fio"], job))
            before = number
    return [_output(place, group) for place, group in enumerate(groups)]


def _output(place: int, group: Sequence[tuple[str, Job]]) -> ImportedOutput:
    jobs = [job for _, job in group]
    result = kept_result(Snapshot(0, group[0][0], jobs), place)
    result.end_ms = None
    for dirs in (result.dirs, *result.jobs.values()):
        for part in dirs.values():
            part.rounded = [name for name in ROUNDED if getattr(part, name) is not None]
    return ImportedOutput(place, ", ".join(dict.fromkeys(job.jobname for job in jobs)), result)


def _job(match: re.Match[str], line: str, file: str, number: int) -> Job:
    version = int(match["version"])
    words = line[line.index(";") - 1 :].split(";")
    width, names = FIELDS[version], DIRECTIONS[version]
    needed = HEAD + width * len(names) + TAIL
    if len(words) < needed or (len(words) - needed) % DISK > 1:
        names = ("mixed",)  # unified_rw_reporting: reads and writes are counted together
        if len(words) < HEAD + width + TAIL:
            message = f"a terse line of version {version} has {needed} fields or more, this one {len(words)}"
            raise UsageError([Problem(message, file=file, line=number)])
    try:
        job = Job(jobname=words[2], groupid=int(words[3]), error=int(words[4]))
        for place, name in enumerate(names):
            setattr(job, name, _direction(words[HEAD + place * width : HEAD + (place + 1) * width]))
        cpu = words[HEAD + width * len(names) :]
        job.usr_cpu, job.sys_cpu = float(cpu[0].rstrip("%")), float(cpu[1].rstrip("%"))
    except ValueError as error:
        raise UsageError(
            [Problem(f"a terse line of fio holds what is no number: {error}", file=file, line=number)]
        ) from None
    job.job_runtime = max(part.runtime for part in job.directions().values())
    return job


def _direction(words: Sequence[str]) -> Direction:
    """Return one direction; how many I/Os there were, only rate and runtime tell."""
    runtime_ms, iops = int(words[3]), float(words[2])
    ios = round(iops * runtime_ms / 1000)
    part = Direction(int(words[0]) * KIB, ios, runtime_ms, iops, float(words[1]) * KIB)
    if ios:
        part.slat, part.clat = _latency(words[4:8], ios), _latency(words[8:12], ios)
        part.lat = _latency(words[12 + PERCENTILES : 16 + PERCENTILES], ios)
        part.clat.percentile = dict(_percentiles(words[12 : 12 + PERCENTILES]))
        if not part.slat.max:
            part.slat = None  # the engine submits nothing, or nothing was counted
    return part


def _latency(words: Sequence[str], ios: int) -> Latency:
    low, high, mean, deviation = (float(word) * US for word in words)
    return Latency(low, high, mean, deviation, n=ios)


def _percentiles(words: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield percentiles by name; places that are not used are 0%."""
    for word in words:
        printed, _, value = word.partition("=")
        name = percentile_name(printed.rstrip("%"))
        if name is None:
            raise ValueError(f"'{printed}' as a percentile")
        if name != "0":
            yield name, float(value) * US
