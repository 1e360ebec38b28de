"""Find figures in fio's terse output that contradict each other, within their printed digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.model.event import Contradiction
from tui.workloads.fio import distributions, groups
from tui.workloads.fio.distributions import LEVELS, Completions, Found
from tui.workloads.fio.printed_numbers import Span, total
from tui.workloads.fio.snapshot import StatusDirection, StatusJob
from tui.workloads.fio.terse_output import TerseJob
from tui.workloads.fio.text_contradictions import copies

KIB, US = 1024, 1000
SHARE_DIGIT = 0.5e-4
GROUP_DIGIT = 1e-4
SLACK = 1e-3
LEAST_IOPS = 1000  # printed in whole numbers: with fewer, I/Os are counted too coarsely
WORKERS, DEEPEST = 64, 1024  # of a line, and I/Os in flight of each; a line does not have them
MILLISECONDS = 1000.0
MOST_LINES = 64


def contradictions(jobs: Sequence[TerseJob], block: Sequence[TerseJob]) -> list[Contradiction]:
    """Return the contradictions in the lines of one fio; `block` has the lines next to them too."""
    found: list[Contradiction] = []
    for each in jobs:
        for name, part in each.job.directions().items():
            rates = [_rate(name, each.job, others) for others in _printed_with(each, jobs, block)]
            found += [
                Contradiction(*wrong, each.job.jobname, name)
                for wrong in _of_direction(name, part, each, rates)
            ]
        found += [Contradiction(*wrong, each.job.jobname) for wrong in _shares(each)]
    return [*found, *copies(each.job for each in jobs)]


def _printed_with(
    job: TerseJob, jobs: Sequence[TerseJob], block: Sequence[TerseJob]
) -> Iterator[Sequence[TerseJob]]:
    """Yield the lines that may have been printed together with a job's: as many at each time."""
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

    Lines of one name are workers of one fio, or its states one after the other.
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
            wrong = [[*groups.of_share(samples.share, mean, rate, GROUP_DIGIT)] for rate in rates]
            yield from wrong[0] if all(wrong) else ()


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
