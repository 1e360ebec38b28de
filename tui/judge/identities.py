"""Identities: arithmetic relations that hold between the figures of any result.

A violation means that a figure was changed, misread, or belongs to another load. Tolerances come
from how figures are printed (digits, buckets, whole milliseconds) and from legitimate effects at
the edges of a load; they are derived where they are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan, sqrt

from tui.judge.chance import drawn
from tui.judge.check import CheckResult, Moot, StepEvidence, UnknownError, step_check
from tui.judge.counted import Counted, counted
from tui.judge.latencies import COUNTED, PRINTED, disagreements, unit_of
from tui.metrics.figures import Latency
from tui.metrics.registry import BOTH, MIXED, direction
from tui.model.plan import JobLoad

SHORTEST_S = 1.0  # below, a millisecond is more than COUNTED
MILLISECOND_S = 0.001  # runtimes are printed in whole ones
SIGMAS = 6.0  # standard deviations: two in 10^9 results by chance
CLOCK = 0.02  # two readings of the clock per I/O, and rounding of means
STARTING_S = 1.0  # phases use the jump host's clock, accurate to the delay of a message
LEAST_IOS = 100  # with fewer I/Os two results may be equal by chance, if clocks count microseconds
ONE_BYTE = 1.0
KIB = 1024.0  # terse output of fio has whole I/Os and whole KiB per second, cut off


# -- counts, rates and time


@step_check(
    "rate-mismatch",
    "Rate x time",
    rule=(
        "IOPS x runtime equals the number of I/Os, and bandwidth x runtime equals the bytes, to the"
        " printed precision"
    ),
    advice=(
        "Check the tool's own output under raw/ for the figure that does not fit the other two."
    ),
    source="counts, rates and runtime from the load generator",
    when="ended",
)
def rate_mismatch(at: StepEvidence) -> Iterator[CheckResult]:
    """A rate is a count divided by a time.

    If the three contradict each other, at least one is wrong: changed, misprinted or misread."""
    for each in counted(at):
        seconds = each.figures.runtime_s
        if not seconds:
            continue
        for count, rate, names in (
            (each.figures.ios, each.figures.iops, ("ios", "iops")),
            (each.figures.bytes, each.figures.bw_bytes_per_s, ("bytes", "bw_bytes_per_s")),
        ):
            if count and rate and (expected := _other_rate(at, each, count, rate, names)):
                operands = {"count": count, "seconds": seconds, "expected": expected, "rate": rate}
                yield each.error(names[0], rate, expected, **operands)


def _other_rate(
    at: StepEvidence, each: Counted, count: int, rate: float, names: tuple[str, str]
) -> float | None:
    """Return the rate computed from a count if it contradicts the printed one; else None.

    Rates of parallel jobs are added up, each over its own time, so the sum lies between the count
    over the longest and over the shortest time.
    """
    seconds = each.figures.runtime_s or MILLISECOND_S
    slack = max(COUNTED, MILLISECOND_S / seconds) + each.slack(*names) + at.run.rounding
    least, most = count / seconds, count / (each.figures.shortest_s or seconds)
    digit = (
        (1.0 if names[1] == "iops" else KIB) if names[1] in each.figures.rounded else 1 / seconds
    )
    if least * (1 - slack) - digit <= rate <= most * (1 + slack) + digit:
        return None
    return least


@step_check(
    "size-mismatch",
    "I/Os x block size",
    rule=(
        "bytes equal I/Os times the job's block size (for split sizes: the mean, within six"
        " standard errors); read-only jobs write nothing"
    ),
    advice=(
        "Check the job file and the tool's own output: the bytes are from a job with another"
        " block size, or were changed."
    ),
    source="I/Os and bytes from the load generator; bs, bsrange and bssplit of the job",
    when="ended",
)
def size_mismatch(at: StepEvidence) -> Iterator[CheckResult]:
    """The bandwidth does not match the block size reported with it: the two are from different
    loads.
    """
    checked, by_host = False, at.step.jobs_by_host
    for each in counted(at):
        if _is_uncalled_for(each, by_host.get(each.host, at.step.jobs)):
            checked = True
            yield each.error("only-reads", each.figures.ios, 0.0, ios=each.figures.ios)
        span = _sizes(at, each)
        if span is None:
            continue
        checked = True
        mean, (low, high) = each.figures.bytes / each.figures.ios, span
        # counted in only one of the two
        flying = sum(load.held for load in each.loads) / each.figures.ios
        slack = each.slack("ios", "bytes") + at.run.rounding + flying
        if not low * (1 - slack) - ONE_BYTE <= mean <= high * (1 + slack) + ONE_BYTE:
            operands = {"bytes": each.figures.bytes, "ios": each.figures.ios, "mean_bytes": mean}
            code, expected = "size" if low == high else "sizes", low if mean < low else high
            yield each.error(code, mean, expected, low_bytes=low, high_bytes=high, **operands)
    if not checked:
        raise UnknownError("block-sizes")


def _is_uncalled_for(each: Counted, jobs: Sequence[JobLoad]) -> bool:
    """Return whether jobs that only read have written.

    The reverse is legitimate, because writers may verify.
    """
    return each.name in ("write", "trim") and {(*job.directions, job.stores) for job in jobs} == {
        ("read", True)
    }


def _sizes(at: StepEvidence, each: Counted) -> tuple[float, float] | None:
    """Return the possible range of the mean I/O size in bytes; None if unknown."""
    loads = each.loads
    if (
        not loads
        or not direction(each.name).in_total
        or not all(load.stores and _size_is_known(load, each) for load in loads)
    ):
        return None
    if "ios" in each.figures.rounded and (each.figures.runtime_s or 0.0) < SHORTEST_S:
        return None  # a rate in whole numbers, times milliseconds
    spans = [_span_of(at, each, load, name) for load in loads for name in _names(load, each.name)]
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    lost = (each.figures.short_ios or 0) + (each.figures.drop_ios or 0)
    partial = (
        lost
        or each.failed
        or _was_killed(at, each.host)
        or not all(load.whole_blocks for load in loads)
    )
    return (0.0 if partial else low), high


def _was_killed(at: StepEvidence, host: str) -> bool:
    """Return whether a process of the load failed or was killed: its I/Os and bytes may be counted
    at different times.
    """
    task = at.record.tasks.get(host)
    return task is not None and (bool(task.exit_code) or task.final is False)


def _size_is_known(load: JobLoad, each: Counted) -> bool:
    return load.block_bytes is not None or all(
        load.blocks.get(name) for name in _names(load, each.name)
    )


def _names(load: JobLoad, name: str) -> Sequence[str]:
    return (name,) if name in load.directions else load.directions


def _span_of(at: StepEvidence, each: Counted, load: JobLoad, name: str) -> tuple[float, float]:
    """Return the smallest and largest possible mean I/O size of a job in one direction, in bytes.

    Split sizes are drawn at random for each I/O: the mean of n draws has a standard error of their
    deviation divided by the square root of n. A block that does not fit before the end of a file is
    cut to the smallest size, so each pass over a file of S bytes ends in at most largest/smallest
    small I/Os. If every random block is used once, I/Os are cut to the gap between used blocks.
    """
    parts = load.blocks.get(name)
    if not parts:
        whole = float(load.block_bytes or 0)
        return whole, whole
    low, high = float(min(part.low for part in parts)), float(max(part.high for part in parts))
    if any(part.low != part.high or part.share is None for part in parts):
        return low, high
    shares = [(float(part.low), part.share or 0.0) for part in parts]
    mean = sum(size * share for size, share in shares)
    spread = sqrt(sum(share * (size - mean) ** 2 for size, share in shares))
    error = SIGMAS * spread / sqrt(drawn([load], each.figures.ios, name))
    if load.random and load.each_once:
        return low, min(high, mean + error)
    files = [
        spec.size_bytes for task in at.step.tasks if task.host == each.host for spec in task.files
    ]
    smallest = min((size for size in files if size), default=load.range_bytes or 0)
    cut = smallest / (smallest / mean + high / low) if smallest else low
    return max(low, cut - error), min(high, mean + error)


@step_check(
    "above-offered",
    "Achieved load within offered load",
    rule="no host exceeds the rate limit of its jobs",
    advice=(
        "The rate limit was not applied, or the result is from another load: compare the job"
        " file with the command line."
    ),
    source="rate and rate_iops of the job; counts from the load generator",
    when="ended",
)
def above_offered(at: StepEvidence) -> Iterator[CheckResult]:
    """A load that is limited to a rate cannot exceed it.

    If it does, a different load was running, or the figure is from another result.
    """
    found = [
        (each, offered) for each in counted(at) for offered in [_offered(each)] if any(offered)
    ]
    if not found:
        raise UnknownError(Moot.RATE)
    for each, (ios, amount) in found:
        yield from _above(at, each, ios, each.figures.iops, 1.0, "iops")
        block = float(max((load.block_bytes or _largest(load) for load in each.loads), default=0))
        yield from _above(at, each, amount, each.figures.bw_bytes_per_s, block, "bandwidth")


def _largest(load: JobLoad) -> int:
    return max((part.high for parts in load.blocks.values() for part in parts), default=0)


def _offered(each: Counted) -> tuple[float, float]:
    """Return I/Os and bytes per second offered to one host; 0 unless every job has a rate."""
    ios = [
        sum(load.rate_iops.get(name, 0.0) for name in _names(load, each.name))
        for load in each.loads
    ]
    amount = [
        sum(load.rate_bytes_per_s.get(name, 0.0) for name in _names(load, each.name))
        for load in each.loads
    ]
    return (sum(ios) if ios and all(ios) else 0.0), (sum(amount) if amount and all(amount) else 0.0)


def _above(
    at: StepEvidence,
    each: Counted,
    offered: float,
    reached: float | None,
    unit: float,
    code: str,
) -> Iterator[CheckResult]:
    """Yield a rate that exceeds the offered one by more than chance and the I/Os in flight explain.

    A load that fell behind during its ramp catches up afterwards, so the I/Os of the whole ramp may
    be added. The standard deviation of Poisson arrivals is the square root of the number drawn
    independently; fio draws them for each worker.
    """
    seconds = each.figures.runtime_s or 0.0
    if not offered or not reached or not seconds or seconds < SHORTEST_S or each.failed:
        return  # a job that gives up reports a shorter time than it ran
    most = (
        offered * (1 + at.step.ramp_s / seconds)
        + sum(load.held for load in each.loads) * unit / seconds
    )
    if any(load.poisson for load in each.loads):
        most += (
            SIGMAS
            * offered
            / sqrt(drawn(each.loads, offered * seconds / max(unit, 1.0), each.name))
        )
    if reached > most * (1 + PRINTED + each.slack("iops", "bw_bytes_per_s")):
        yield each.error(code, reached, offered, reached=reached, offered=offered)


@step_check(
    "above-depth",
    "In flight within queue depth",
    rule="IOPS x mean latency is at most iodepth x numjobs",
    advice=(
        "IOPS, latency and queue depth are not from the same load: check the job file and the"
        " tool's own output."
    ),
    source="Little's law, as an upper bound, which also applies to loads with a rate or think time",
    when="ended",
)
def above_depth(at: StepEvidence) -> Iterator[CheckResult]:
    """No more I/Os can be in flight than the load generator has slots for.

    A higher figure cannot have been measured.
    """
    if not at.step.jobs:
        raise UnknownError("queue-depth")
    groups: dict[tuple[str, str], list[Counted]] = {}
    for each in counted(at):
        if direction(each.name).in_total and whole_latency(each) is not None:
            groups.setdefault((each.host, each.job), []).append(each)
    if not groups:
        raise UnknownError("latencies")
    by_host = at.step.jobs_by_host
    for parts in groups.values():
        own = by_host.get(parts[0].host, at.step.jobs)
        jobs = [job for job in own if job.name == parts[0].job] if parts[0].job else own
        if parts[0].job and not jobs:  # one of several entries of a name
            jobs = list(parts[0].loads)
        yield from _above_depth(at, parts, jobs)


def _above_depth(
    at: StepEvidence, parts: Sequence[Counted], jobs: Sequence[JobLoad]
) -> Iterator[CheckResult]:
    """Yield directions with more I/Os in flight than slots.

    The latencies of all I/Os add up to at most slots x time, plus, for each slot, one I/O that was
    sent before the start (in a ramp).
    """
    waves = [
        sum(job.at_most for job in jobs if job.wave == wave) for wave in {job.wave for job in jobs}
    ]
    times = [each.figures.runtime_s or 0.0 for each in parts]
    # writers that read verify, after their writes
    seconds = max(times) if all(map(_is_asked, parts)) else sum(times)
    if not waves or seconds < SHORTEST_S or any(each.failed for each in parts):
        return
    if not all(job.stores for job in jobs):
        return  # the null engine counts I/Os that it has not begun
    latencies = [latency for each in parts if (latency := whole_latency(each)) is not None]
    waited = sum(latency.n * (latency.mean_ns or 0.0) for latency in latencies) / 1e9
    longest = max(latency.max_ns or 0 for latency in latencies) / 1e9
    slack = CLOCK + at.run.rounding + max(each.slack("ios", "lat", "clat") for each in parts)
    held = max(waves)
    if waited > held * (seconds + longest) * (1 + slack):
        flying = waited / seconds
        name = " and ".join(each.name for each in parts)
        whole = Counted(parts[0].host, parts[0].job, name, parts[0].figures, jobs)
        yield whole.error("above", flying, held, in_flight=flying, held=held)


def _is_asked(each: Counted) -> bool:
    """Return whether a job's access pattern has I/O in this direction; verifying does not count."""
    names = {name for load in each.loads for name in load.directions}
    return each.name in names or (bool(names) and each.name in (MIXED, BOTH))


def whole_latency(each: Counted) -> Latency | None:
    """Return the latency from submission to completion; None if unknown."""
    return each.figures.lat or each.figures.clat


# -- latencies


@step_check(
    "latency-mismatch",
    "Latencies agree",
    rule=(
        "count, minimum, mean, maximum, standard deviation and percentiles of each latency"
        " are consistent with each other, with the I/O count, and with the histogram, if any"
    ),
    advice=(
        "Check the tool's own output under raw/: a latency was changed, or is from another result."
    ),
    source="latencies and buckets from the load generator",
    when="ended",
)
def latency_mismatch(at: StepEvidence) -> Iterator[CheckResult]:
    """Percentiles rise, the mean lies within the range they allow, and the histogram holds as many
    I/Os as were counted.

    Figures that violate this were not measured together."""
    checked = False
    sound: dict[tuple[str, str, str, float], Latency] = {}
    for each in counted(at):
        for kind in ("slat", "clat", "lat"):
            latency: Latency | None = getattr(each.figures, kind)
            if latency is None or not latency.n or latency.mean_ns is None:
                continue
            checked = True
            exact = kind not in each.figures.rounded and not at.run.rounding
            rounding = 0.0 if exact else PRINTED + at.run.rounding
            key = each.host, each.name, kind, rounding
            if latency == sound.get(key):  # the only job of its direction
                continue
            found = list(disagreements(latency, rounding))
            for each_found in found:
                code, measured, expected, operands = each_found
                yield each.error(code, measured, expected, kind=kind, **operands)
            if not found:
                sound[key] = latency
        yield from _kinds_apart(each)
        yield from _counts_apart(at, each)
    if not checked:
        raise UnknownError("latencies")


def _kinds_apart(each: Counted) -> Iterator[CheckResult]:
    """Yield a total latency that is not the sum of its parts, if all three cover the same I/Os.

    A synchronous engine has no separate submission: its total may be longer, never shorter. No I/O
    completes faster than any counted part of it.
    """
    slat, clat, lat = each.figures.slat, each.figures.clat, each.figures.lat
    if clat is None or lat is None or clat.n != lat.n or not lat.n:
        return
    rough = each.slack("lat")
    digit = unit_of(lat.max_ns or 0) if rough else 0  # of a report
    waited = slat.mean_ns or 0.0 if slat is not None and slat.n == lat.n else 0.0
    parts, whole = (clat.mean_ns or 0.0) + waited, lat.mean_ns or 0.0
    if whole < parts * (1 - CLOCK - rough) - 1000 - digit / 50:  # means have two decimals
        yield each.error("below-parts", whole, parts, lat_ns=whole, parts_ns=parts)
    elif (
        waited and whole > parts * (1 + CLOCK + rough) + 5000 + digit / 50
    ):  # sg reads the clock once more
        yield each.error("above-parts", whole, parts, lat_ns=whole, parts_ns=parts)
    for name, part in (("clat", clat), ("slat", slat)):
        if part is not None and part.n == lat.n:
            yield from _part_above_whole(each, name, part, lat)
    if slat is not None and waited and slat.n == lat.n and not rough:
        yield from _spread_apart(each, slat, clat, lat)


def _part_above_whole(
    each: Counted, name: str, part: Latency, lat: Latency
) -> Iterator[CheckResult]:
    """Yield a longest part that is longer than the longest whole latency."""
    most, longest = lat.max_ns, part.max_ns
    digit = max(unit_of(most or 0), unit_of(longest or 0)) if each.slack("lat") else 0
    off = CLOCK + each.slack("lat")
    if most is not None and longest is not None and most < longest * (1 - off) - 1000 - digit:
        operands = {"lat_ns": most, "kind": name, "part_ns": longest}
        yield each.error("below-part", most, longest, **operands)


def _spread_apart(
    each: Counted, slat: Latency, clat: Latency, lat: Latency
) -> Iterator[CheckResult]:
    """Yield a total's standard deviation that is impossible given those of its parts (triangle
    inequality)."""
    parts = [part.stddev_ns for part in (slat, clat)]
    spread, known = lat.stddev_ns, [part for part in parts if part is not None and not isnan(part)]
    if spread is None or isnan(spread) or len(known) < len(parts):
        return
    low, high = abs(known[0] - known[1]), sum(known)
    if not low * (1 - CLOCK) - 1000 <= spread <= high * (1 + CLOCK) + 5000:
        spans = {"deviation_ns": spread, "low_ns": low, "high_ns": high}
        yield each.error("spread-of-parts", spread, low if spread < low else high, **spans)


def _counts_apart(at: StepEvidence, each: Counted) -> Iterator[CheckResult]:
    """Yield a number of I/Os that differs from the number of latencies by more than the I/Os in
    flight at start and end.
    """
    latency = whole_latency(each)
    if (
        latency is None
        or not latency.n
        or not each.loads
        or each.failed
        or not direction(each.name).in_total
    ):
        return
    held = sum(load.at_most for load in each.loads)
    lost = (each.figures.short_ios or 0) + (each.figures.drop_ios or 0)
    slack = 2 * held + lost + (each.slack("ios") + at.run.rounding) * each.figures.ios
    if abs(latency.n - each.figures.ios) > slack:
        operands = {"ios": each.figures.ios, "latencies": latency.n}
        yield each.error("counts", latency.n, each.figures.ios, **operands)


FIGURE_CHECKS = (
    rate_mismatch,
    size_mismatch,
    above_offered,
    above_depth,
    latency_mismatch,
)
