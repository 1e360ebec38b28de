"""Random variation of counts: I/Os that arrive at random times, or have random sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from tui.metrics.steady import RANGE, ROUNDS, SLOPE

if TYPE_CHECKING:
    from tui.model.plan import JobLoad

# standard deviations of one of many counts: exceeded by chance in 3 of 100,000 cases
SIGMAS = 4.0
# range of five window means, in standard deviations of one: exceeded by chance in 1 of 200 cases
RANGE_OF_FIVE = 4.9
# change of their least-squares line over the window: three of its standard deviations, 4 / root(10)
SLOPE_OF_FIVE = 3.0 * 4 / sqrt(10)
# spread of a few counts, in standard deviations of one: exceeded by chance in exp(-3/2 x 2.5^2) of
# cases by three counts, in fewer by more counts
SPREAD_OF_SEVERAL = 2.5


class Chance(NamedTuple):
    """Chance causes of seconds without I/O: Poisson arrivals, and bytes in flight of mixed I/O
    sizes.
    """

    poisson: bool = False
    flying_bytes: float = 0.0


def chance_of(jobs: Sequence[JobLoad]) -> Chance:
    """Return the chance causes of seconds without I/O in this load."""
    sizes = [max((p.high for each in job.blocks.values() for p in each), default=0) for job in jobs]
    flying = sum(job.held * size for job, size in zip(jobs, sizes, strict=True))
    return Chance(any(job.poisson for job in jobs), float(flying))


def drawn(jobs: Sequence[JobLoad], ios: float, name: str) -> float:
    """Return how many I/Os of a host were drawn independently, at least 1.

    If every job repeats its draws in each pass over its files, at most the I/Os of one pass count,
    however long the run.
    """
    passes = [
        job.workers * job.redrawn_bytes / max(_mean_size(job, name), 1.0)
        for job in jobs
        if job.redrawn_bytes is not None
    ]
    return max(min(ios, sum(passes)) if len(passes) == len(jobs) and passes else ios, 1.0)


def _mean_size(job: JobLoad, name: str) -> float:
    parts = job.blocks.get(name, ())
    sizes = [(part.low + part.high) / 2 * (part.share or 1 / len(parts)) for part in parts]
    return sum(sizes) or float(job.block_bytes or job.redrawn_bytes or 1)


def dispersion(jobs: Sequence[JobLoad], name: str = "") -> float:
    """Return the variance of a count, in multiples of the count; 0 if it does not vary by chance.

    This is the largest of the jobs' values: 1 for Poisson arrivals, plus the squared ratio of the
    I/O sizes' deviation to their mean. `name`: one direction only.
    """
    return max((_of_job(job, name) for job in jobs), default=0.0)


def _of_job(job: JobLoad, name: str) -> float:
    names = [each for each in job.directions if name in ("", each)]
    sizes = max((_of_sizes(job, each) for each in names), default=0.0)
    return sizes + (1.0 if job.poisson else 0.0)


def _of_sizes(job: JobLoad, name: str) -> float:
    """Return the squared relative deviation of I/O sizes; the largest possible for a range."""
    parts = job.blocks.get(name, ())
    sizes = [size for part in parts for size in (part.low, part.high)]
    known = all(part.share for part in parts)
    shares = [(part.share or 0.0) / 2 if known else 1 / len(sizes) for part in parts for _ in "lh"]
    mean = sum(size * share for size, share in zip(sizes, shares, strict=True))
    squares = sum(size * size * share for size, share in zip(sizes, shares, strict=True))
    return max(squares / (mean * mean) - 1, 0.0) if mean else 0.0


def steady_limits(values: Sequence[float], jobs: Sequence[JobLoad]) -> tuple[float, float]:
    """Return the range and slope up to which five windows count as steady.

    `values`: I/Os per second, over all windows.
    """
    off = deviation(fmean(values) * (len(values) // ROUNDS), dispersion(jobs))
    return max(RANGE, RANGE_OF_FIVE * off), max(SLOPE, SLOPE_OF_FIVE * off)


def deviation(count: float, varies: float) -> float:
    """Return the standard deviation of a count, relative to the count."""
    return sqrt(varies / count) if count > 0 else 0.0
