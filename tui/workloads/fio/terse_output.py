"""Parse fio's terse output, versions 3 to 5, into the same objects as its JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from tui.model.event import Contradiction
from tui.model.plain_data import percentile_name
from tui.model.problem import Problem, UsageError
from tui.workloads.fio import distributions
from tui.workloads.fio.distributions import BUCKET, ENDS, LEVELS, Completions, Found, Span, total
from tui.workloads.fio.snapshot import StatusDirection, StatusJob, StatusLatency
from tui.workloads.fio.text_contradictions import copies, of_cpu
from tui.workloads.reading import numbered

LINE = re.compile(r"(?:<[^<>\s]+> ?)?(?P<version>[3-5]);(?P<fio>fio-[^;]*);.*")
PERCENTILES = 20
# fields before and after the directions; fields of each disk, which follow, then a description
HEAD, TAIL, DISK = 5, 34, 9
FIELDS = {3: 41, 4: 41, 5: 47}  # of one direction
DIRECTIONS = {3: ("read", "write"), 4: ("read", "write", "trim"), 5: ("read", "write", "trim")}
CPU, DEPTHS = 5, 7  # fields after the directions
KIB, US = 1024, 1000


class TerseSamples(Struct):
    """Samples of a rate of one direction: smallest, largest, mean; share of the group in %."""

    low: float
    high: float
    mean: float
    share: float | None = None


class TerseJob(Struct):
    """A terse line: a job with its figures, and what is printed next to them. `levels`: shares of
    depths in %. `shares`: shares of latencies, by unit in ns and upper end.
    """

    version: str
    job: StatusJob
    bw: dict[str, TerseSamples] = field(default_factory=dict)
    iops: dict[str, TerseSamples] = field(default_factory=dict)
    levels: Sequence[float] = ()
    shares: dict[tuple[int, str], float] = field(default_factory=dict)
    has_disks: bool = False


def terse_blocks(text: str, file: str) -> list[list[TerseJob]]:
    """Return the terse lines in a text; consecutive lines are one block. Raises UsageError."""
    blocks: list[list[TerseJob]] = []
    before = 0
    for number, line in numbered(text, file):
        if match := LINE.fullmatch(line.strip()):
            if not blocks or number > before + 1:
                blocks.append([])
            blocks[-1].append(_job(match, line.strip(), file, number))
            before = number
    return blocks


def runs_of(block: Sequence[TerseJob]) -> list[list[TerseJob]]:
    """Return a block's jobs by fio process: a repeated job name begins another process."""
    found: list[list[TerseJob]] = []
    for each in block:
        if not found or any(each.job.jobname == other.job.jobname for other in found[-1]):
            found.append([])
        found[-1].append(each)
    return found


def _orders(version: int) -> Iterator[tuple[str, ...]]:
    """Yield the directions that a line may have; unified_rw_reporting adds them up, or adds their
    sum.
    """
    split = DIRECTIONS[version]
    yield from (split, ("mixed",), (*split, "mixed"))


def _ends_at(words: Sequence[str], place: int) -> bool:
    """Return whether the fields after the directions begin here: two CPU shares, three counts,
    depth shares.
    """
    behind = words[place : place + TAIL]
    shares = [word.endswith("%") for word in behind]
    return len(behind) == TAIL and shares == [True, True, False, False, False] + [True] * (TAIL - 5)


def _job(match: re.Match[str], line: str, file: str, number: int) -> TerseJob:
    version = int(match["version"])
    words = line[line.index(";") - 1 :].split(";")
    width = FIELDS[version]
    names = next(
        (each for each in _orders(version) if _ends_at(words, HEAD + width * len(each))), ()
    )
    if not names:
        message = f"found {len(words)} fields in a terse line of version {version}"
        least = HEAD + width + TAIL
        short, other = (
            f"; expected {least} or more",
            ": no CPU fields (usr, sys, ctx, majf, minf) after the read, write and trim fields",
        )
        message += short if len(words) < least else other
        raise UsageError([Problem(message, file=file, line=number)])
    told = [words[HEAD + place * width :][:width] for place in range(len(names))]
    try:
        job = StatusJob(jobname=words[2], groupid=int(words[3]), error=int(words[4]))
        for name, part in zip(names, told, strict=True):
            setattr(job, name, _direction(part))
        cpu = words[HEAD + width * len(names) :]
        job.usr_cpu, job.sys_cpu = float(cpu[0].rstrip("%")), float(cpu[1].rstrip("%"))
        found = _beside(TerseJob(match["fio"], job), dict(zip(names, told, strict=True)), cpu)
    except ValueError as error:
        raise UsageError(
            [
                Problem(
                    f"invalid number in a fio terse line: {error}",
                    file=file,
                    line=number,
                )
            ]
        ) from None
    job.job_runtime = max(part.runtime for part in job.directions().values())
    return found


def _beside(found: TerseJob, parts: Mapping[str, Sequence[str]], behind: Sequence[str]) -> TerseJob:
    """Add the figures in the fields of each direction, and in those `behind`: first the CPU's."""
    for name, words in parts.items():
        low, high, share, mean = (float(word.rstrip("%")) for word in words[36:40])
        found.bw[name] = TerseSamples(low, high, mean, share)
        if len(words) > FIELDS[4]:
            low, high, mean = (float(word) for word in words[42:45])
            found.iops[name] = TerseSamples(low, high, mean)
    ends = [(US, str(end)) for end in ENDS]
    ends += [(US * US, end) for end in (*map(str, ENDS), "2000", ">=2000")]
    found.levels = [float(word.rstrip("%")) for word in behind[CPU : CPU + DEPTHS]]
    first = CPU + DEPTHS
    told = [float(word.rstrip("%")) for word in behind[first : first + len(ends)]]
    found.shares = dict(zip(ends, told, strict=True))
    found.has_disks = len(behind) >= TAIL + DISK
    return found


def _direction(words: Sequence[str]) -> StatusDirection:
    """Return one direction of a terse line; its number of I/Os is derived from rate and runtime."""
    runtime_ms, iops = int(words[3]), float(words[2])
    ios = round(iops * runtime_ms / 1000)
    part = StatusDirection(int(words[0]) * KIB, ios, runtime_ms, iops, float(words[1]) * KIB)
    if ios:
        part.slat, part.clat = _latency(words[4:8], ios), _latency(words[8:12], ios)
        part.lat = _latency(words[12 + PERCENTILES : 16 + PERCENTILES], ios)
        part.clat.percentile = dict(_percentiles(words[12 : 12 + PERCENTILES]))
        if max(part.clat.percentile.values(), default=0) > part.clat.max * (1 + BUCKET) + US:
            part.clat.percentile = None  # of the total latency: lat_percentiles
        for name in ("slat", "clat", "lat"):
            latency: StatusLatency = getattr(part, name)
            if not latency.mean:
                setattr(part, name, None)  # the engine submits nothing, or nothing was counted
    return part


def _latency(words: Sequence[str], ios: int) -> StatusLatency:
    low, high, mean, deviation = (float(word) * US for word in words)
    return StatusLatency(low, high, mean, deviation, n=ios)


def _percentiles(words: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield percentiles by name; unused fields are 0%."""
    for word in words:
        printed, _, value = word.partition("=")
        name = percentile_name(printed.rstrip("%"))
        if name is None:
            raise ValueError(f"found '{printed}'; expected a percentile such as 99.000000%")
        if name != "0":
            yield name, float(value) * US


# -- find figures in fio's terse output that contradict each other, within their printed digits


SHARE_DIGIT = 0.5e-4
GROUP_DIGIT = 1e-4
SLACK = 1e-3
LEAST_IOPS = 1000  # printed in whole numbers: with fewer, I/Os are counted too coarsely
WORKERS, DEEPEST = 64, 1024  # assumed workers of a line, and I/Os in flight of each
MILLISECONDS = 1000.0
MOST_LINES = 64


def contradictions(jobs: Sequence[TerseJob], block: Sequence[TerseJob]) -> list[Contradiction]:
    """Return the contradictions in the lines of one fio; `block` includes the lines around them."""
    found: list[Contradiction] = []
    for each in jobs:
        for name, part in each.job.directions().items():
            rates = [_rate(name, each.job, others) for others in _printed_with(each, jobs, block)]
            found += [
                Contradiction(*wrong, each.job.jobname, name)
                for wrong in _of_direction(name, part, each, rates)
            ]
        found += [Contradiction(*wrong, each.job.jobname) for wrong in _shares(each)]
        found += [Contradiction(*wrong, each.job.jobname) for wrong in _cpu(each)]
        found += [Contradiction(*wrong, each.job.jobname) for wrong in _flying(each, jobs)]
    return [*found, *copies(each.job for each in jobs)]


def _printed_with(
    job: TerseJob, jobs: Sequence[TerseJob], block: Sequence[TerseJob]
) -> Iterator[Sequence[TerseJob]]:
    """Yield the sets of lines that may have been printed together with a job's line.

    fio prints the same number of lines each time.
    """
    yield from (jobs, block)
    if len(block) <= MOST_LINES:
        at = next(place for place, each in enumerate(block) if each is job)
        for size in range(1, len(block)):
            if len(block) % size == 0:
                yield block[at // size * size :][:size]


def _of_direction(
    name: str, part: StatusDirection, job: TerseJob, rates: Sequence[Span]
) -> Iterator[Found]:
    """Yield samples that contradict their extremes, or their share of the group's rate.

    Lines with the same name are workers of one fio, or its successive states.
    """
    if name == "mixed" or not part.total_ios:
        return
    for samples in (job.bw.get(name), job.iops.get(name)):
        if samples is None or not samples.mean:
            continue
        off = 1 + SLACK * samples.mean
        if not samples.low - off <= samples.mean <= samples.high + off:
            limit = samples.low if samples.mean < samples.low else samples.high
            yield "sample-order", samples.mean, limit
        if samples.share is not None:
            mean = Span(samples.mean, samples.mean)
            wrong = [
                [*distributions.group_share(samples.share, mean, rate, GROUP_DIGIT)]
                for rate in rates
            ]
            yield from wrong[0] if all(wrong) else ()


def _cpu(found: TerseJob) -> Iterator[Found]:
    """Yield a CPU time above the time that the workers ran.

    A line does not have the engine. Only Linux, which counts each thread's CPU time, has counters
    of disks; threads that submit for a worker never note a depth above 1.
    """
    job, deep = found.job, not distributions.one_at_a_time(found.levels)
    if deep and found.has_disks and not job.error:
        yield from of_cpu(job)


def _flying(found: TerseJob, jobs: Sequence[TerseJob]) -> Iterator[Found]:
    """Yield more I/Os in flight than the depth shares have.

    A line may be the sum of any number of workers (group_reporting), unless jobs of one reporting
    group have lines of their own. As for CPU time, threads that submit for a worker and the null
    engine are excluded. I/Os may be in batches.
    """
    job, dirs = found.job, [*found.job.directions().values()]
    alone = {other.job.jobname for other in jobs if other.job.groupid == job.groupid}
    deep = not distributions.one_at_a_time(found.levels)
    if len(alone) < 2 or not deep or not found.has_disks or job.error:
        return
    waits = [latency for part in dirs if (latency := part.lat or part.clat) is not None]
    runtime_ms = sum(part.runtime for part in dirs)  # verification comes after the writes
    depth = distributions.while_a_batch_completes(found.levels)
    yield from distributions.in_flight(found.levels, 1, waits, runtime_ms, depth)


def _rate(name: str, job: StatusJob, jobs: Sequence[TerseJob]) -> Span:
    """Return the rate of one direction of a job's group in bytes per second.

    0 if it is unknown: jobs whose directions are added up count as reads.
    """
    group = [other.job for other in jobs if other.job.groupid == job.groupid]
    if any(other.mixed is not None for other in group):
        return Span(0.0, 0.0)
    parts = [part for other in group if (part := other.directions().get(name)) is not None]
    longest = max((part.runtime for part in parts), default=0)
    moved = total(Span(part.io_bytes, part.io_bytes + KIB) for part in parts)
    return moved.times(MILLISECONDS / longest) if longest else Span(0.0, 0.0)


def _shares(found: TerseJob) -> Iterator[Found]:
    """Yield latency shares that contradict the completion latencies.

    Percentiles may be those of the total latency, which is longer: they limit only how many I/Os
    are slower.
    """
    job = found.job
    dirs = {name: part for name, part in job.directions().items() if part.total_ios}
    slow = min((part.iops for part in dirs.values()), default=0.0)
    if job.error or slow < LEAST_IOPS or "mixed" in dirs:
        return
    if any(part.clat is None or not part.clat.max for part in dirs.values()):
        return
    counted = [
        Completions(
            part.total_ios,
            Span(part.clat.min, part.clat.min + US),
            Span(part.clat.max, part.clat.max + US),
            [
                (float(name) / 100, Span(0.0, value + US))
                for name, value in (part.clat.percentile or {}).items()
            ],
        )
        for part in dirs.values()
        if part.clat is not None
    ]
    coarse = sum(part.runtime / MILLISECONDS for part in dirs.values())
    shares = distributions.ranges(found.shares)
    at = max((place for place, share in enumerate(found.levels) if share > 0), default=-1)
    flying = WORKERS * (*LEVELS, DEEPEST)[at]
    yield from distributions.of_latencies(counted, shares, SHARE_DIGIT, flying + round(coarse))
