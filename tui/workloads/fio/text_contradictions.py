"""Find figures in fio's report that contradict each other, within their printed digits.

The relations are those of its JSON (`contradictions`), and sums that only the report prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tui.model.event import Contradiction
from tui.workloads.fio import distributions
from tui.workloads.fio.asked import syncs_due
from tui.workloads.fio.distributions import Completions, Found, Range, Span, total
from tui.workloads.fio.load_options import command_options
from tui.workloads.fio.printed import BATCHES, RAMPS, has
from tui.workloads.fio.printed_figures import GroupLine, PrintedFigures, PrintedSamples, Rate
from tui.workloads.fio.snapshot import (
    ALL_CLIENTS,
    LIBAIO,
    StatusDirection,
    StatusJob,
    StatusLatency,
    number_of,
)
from tui.workloads.fio.text_output import Printed, PrintedSection

SHARE_DIGIT = 0.5e-4  # shares of latencies have two decimals of a per cent
GROUP_DIGIT = 0.006  # and shares of a group's rate two
MEAN_DIGIT = 0.006
DEEPEST = 1024  # I/Os in flight of a worker whose depth is not printed
SAMPLE_S = 0.499
UNSAMPLED_S = 1.5
KIB = 1024
MEGA = 1024.0 * KIB
MILLISECONDS = 1000.0
MILLI_NS = 1e6
LEAST_IOS = 100
DISTINCT = 1000  # steps of the printed digits
SECOND_NS = 1e9
DENSE = 100  # I/Os of a sample: with fewer, intervals may be shorter, and those without I/O missing
LEAST_S = 4.0
SLACK = 1e-3
MORE_CPU = 102.0  # % of the time that workers ran
LEAST_CPU_MS = 1000
SYNCS_SINCE = (3, 18)  # older versions may leave syncs out


def contradictions(printed: Printed) -> list[Contradiction]:
    """Return the contradictions in one output."""
    if is_sum(printed):
        return []
    found = [each for section in printed.sections for each in _of_section(section, printed)]
    for line in printed.groups:
        sections = [
            section
            for section in printed.sections
            if section.job.groupid == line.group and line.name in section.figures.rates
        ]
        found += [Contradiction(*each, "", line.name) for each in _of_group(line, sections)]
    found += [Contradiction(*each) for each in _started(printed)]
    return [*found, *_failures(printed), *copies(section.job for section in printed.sections)]


def of_clients(whole: Printed, parts: Sequence[Printed]) -> Iterator[Contradiction]:
    """Yield totals over all clients that differ from the sum over the clients."""
    (section,) = whole.sections[:1]
    told = section.figures.issued
    for name, rate in section.figures.rates.items():
        for found in _twice(section.figures, name):
            yield Contradiction(*found, "", name)
        moved = total(
            other.moved
            for printed in parts
            for part in printed.sections
            if (other := part.figures.rates.get(name)) is not None
        )
        if not rate.moved.meets(moved):
            yield Contradiction("clients", rate.moved.middle, moved.middle, "", name)
    each = [part.figures.issued for printed in parts for part in printed.sections]
    if told and all(each):
        for place, name in enumerate(("read", "write", "trim")):
            expected = sum(counts[place] for counts in each)
            if told[place] != expected:
                yield Contradiction("clients", told[place], expected, "", name)


def copies(jobs: Iterable[StatusJob]) -> Iterator[Contradiction]:
    """Yield jobs of one fio with identical latencies.

    Minimum, mean, maximum and deviation are printed to 10 ns or 10 us; if latencies vary over a
    thousand such steps, all four are equal by chance less than once in 10^9.
    """
    seen: set[tuple[object, ...]] = set()
    for job in jobs:
        for name, part in job.directions().items():
            latency = part.lat or part.clat
            if latency is None or latency.n < LEAST_IOS or latency.stddev <= 0:
                continue
            step = 10.0 if latency.max % MILLI_NS else MILLI_NS / 100
            if min(latency.stddev, latency.mean) < DISTINCT * step:
                continue
            own = name, latency.min, latency.max, latency.mean, latency.stddev
            if own in seen:
                yield Contradiction("copies", latency.n, 1.0, job.jobname, name)
            seen.add(own)


def of_cpu(job: StatusJob) -> Iterator[Found]:
    """Yield a CPU time above the time that a job's workers ran: each is one thread."""
    percent = (job.usr_cpu or 0.0) + (job.sys_cpu or 0.0)
    if percent > MORE_CPU and job.job_runtime > LEAST_CPU_MS:
        ran_s = job.job_runtime / MILLISECONDS
        yield "more-cpu", percent / 100 * ran_s, ran_s


# -- one job's section


def _of_section(section: PrintedSection, printed: Printed) -> Iterator[Contradiction]:
    figures, job = section.figures, section.job
    dirs = {
        name: part
        for name in ("read", "write", "trim")
        if (part := getattr(job, name)) is not None and part.total_ios
    } or ({"mixed": job.mixed} if job.mixed is not None and job.mixed.total_ios else {})
    told: list[tuple[str, Iterable[Found]]] = [
        ("", _shares(section, dirs)),
        ("", _flying(section, dirs, printed)),
        ("sync", _syncs(section, dirs)),
        ("sync", _syncs_left_out(section, dirs, printed)),
        ("", _depth(section, printed)),
        ("", _cpu(section, printed)),
    ]
    for name, part in dirs.items():
        told.append((name, _twice(figures, name)))
        if name != "mixed":  # its samples are those of reads and of writes
            told.append((name, _samples(section, name, part)))
    for direction, found in told:
        for each in found:
            yield Contradiction(*each, job.jobname, direction)


def _in_flight(section: PrintedSection) -> int:
    return section.workers * (section.figures.depth or DEEPEST)


def _failed(section: PrintedSection) -> bool:
    return bool(section.job.error) or section.figures.failed


def _shares(section: PrintedSection, dirs: dict[str, StatusDirection]) -> Iterator[Found]:
    """Yield latency shares that contradict the completion latencies."""
    known = [
        completions
        for name, part in dirs.items()
        if (completions := _completions(section.figures, name, part)) is not None
    ]
    if len(known) != len(dirs) or not section.counted or _failed(section):
        return
    try:
        found = distributions.ranges(section.figures.shares)
    except ValueError:
        return
    rest = 1 - sum(each.share for each in found)
    if found and found[-1].top <= SECOND_NS <= max(each.high.high for each in known) and rest > 0:
        found.append(Range(SECOND_NS, float("inf"), rest))  # web pages lose ranges of 2000 and more
    yield from distributions.of_latencies(known, found, SHARE_DIGIT, _in_flight(section))


def _completions(figures: PrintedFigures, name: str, part: StatusDirection) -> Completions | None:
    ends = figures.extremes.get((name, "clat"))
    if ends is None or part.clat is None:
        return None
    unit = figures.percentile_unit.get((name, "clat"), 1.0)
    off = unit if unit > 1 else 0.0  # fio 3 rounds them up, fio 2 cuts them
    marks = [
        (float(share) / 100, Span(value - off, value + off))
        for share, value in (part.clat.percentile or {}).items()
    ]
    return Completions(part.total_ios, *ends, marks)


def _flying(
    section: PrintedSection, dirs: dict[str, StatusDirection], printed: Printed
) -> Iterator[Found]:
    """Yield more I/Os in flight than the depth shares have.

    The null engine counts I/Os that it has not begun.
    """
    if any(line["ioengine"] == "null" for line in printed.lines.values()):
        return
    waits: list[StatusLatency] = [
        latency for part in dirs.values() if (latency := part.lat or part.clat) is not None
    ]
    syncs = section.job.sync
    # libaio in old versions: each sync includes the write before it
    engine = printed.lines.get(section.job.jobname, {}).get("ioengine")
    if syncs is not None and syncs.lat is not None and engine not in LIBAIO:
        waits += [syncs.lat] if distributions.one_at_a_time(section.figures.levels) else []
    runtime_ms = sum(part.runtime for part in dirs.values())  # verification comes after the writes
    # of a known load, no other threads submit, so that its depth shares count all I/Os
    depth = section.figures.depth
    if depth and _has_none_of(section, printed, (*RAMPS, *BATCHES, "io_submit_mode", "verify")):
        depth = 0
    if section.counted and not _failed(section):
        yield from distributions.in_flight(
            section.figures.levels, section.workers, waits, runtime_ms, depth
        )


def _has_none_of(section: PrintedSection, printed: Printed, names: Sequence[str]) -> bool:
    """Return whether the command line above the output has all options of a job, and none of
    `names`.
    """
    told = [job for job in command_options(printed.command) if job.name == section.job.jobname]
    apart = {other.job.jobname for other in printed.sections} == set(printed.lines)
    known = bool(told) and (section.workers == 1 or apart)
    return known and not any(has(job, names) for job in told)


def _syncs_left_out(
    section: PrintedSection, dirs: dict[str, StatusDirection], printed: Printed
) -> Iterator[Found]:
    """Yield the syncs that the command line above the output requires, if the report has none at
    all.

    fio counts fsync in `issued`, and prints latencies of fdatasync, too.
    """
    told = [job for job in command_options(printed.command) if job.name == section.job.jobname]
    none = section.figures.issued[-1:] == (0,) and section.job.sync is None
    if not none or len(told) != 1 or _failed(section) or number_of(printed.version) < SYNCS_SINCE:
        return
    if not _has_none_of(section, printed, ()):  # a group of several jobs
        return
    due = syncs_due(told[0], dirs, section.workers)
    if due is not None and due[0] > 0:
        yield "syncs-due", 0.0, due[0]


def _cpu(section: PrintedSection, printed: Printed) -> Iterator[Found]:
    """Yield a CPU time above the time that the workers ran.

    fio adds up the time of other threads that submit for a worker (io_submit_mode=offload): these
    never note a depth above 1.
    """
    job, engine = section.job, printed.lines.get(section.job.jobname, {}).get("ioengine")
    inline = _has_none_of(section, printed, ("io_submit_mode", "verify_async", "thread")) or (
        engine in LIBAIO and not distributions.one_at_a_time(section.figures.levels)
    )
    if inline and not _failed(section):
        yield from of_cpu(job)


def _syncs(section: PrintedSection, dirs: dict[str, StatusDirection]) -> Iterator[Found]:
    """Yield syncs that the depth shares do not count, or that have no latency."""
    figures = section.figures
    if not figures.issued or _failed(section) or not figures.levels:
        return
    ios, syncs = sum(part.total_ios for part in dirs.values()), figures.issued[-1]
    apart = distributions.of_syncs(figures.levels, ios, syncs, _in_flight(section))
    timed = any(part.clat is not None for part in dirs.values())
    counted = section.job.sync is not None
    if apart < 0 or (
        apart > 0 and timed and not counted
    ):  # of fdatasync only latencies are printed
        yield "depth-syncs", syncs, max(syncs + apart, 0.0)
    if syncs and timed and not counted:
        yield "syncs", syncs, 0.0


def _depth(section: PrintedSection, printed: Printed) -> Iterator[Found]:
    """Yield a depth that differs from the iodepth in the job's first line."""
    name, depth = section.job.jobname, section.figures.depth
    line = printed.lines.get(name)
    apart = {other.job.jobname for other in printed.sections} == set(printed.lines)
    if line is None or depth is None or name in printed.unclear:
        return
    if section.workers > 1 and not apart:
        return  # a group of several jobs
    asked = int(line["iodepth"])
    if depth not in (asked, 1 << max(asked - 1, 0).bit_length()):  # some engines round it up
        yield "depth", depth, asked


def _twice(figures: PrintedFigures, name: str) -> Iterator[Found]:
    """Yield a rate whose two units disagree."""
    rate = figures.rates.get(name)
    if rate is not None and rate.again is not None and not rate.rate.meets(rate.again, SLACK):
        yield "twice", rate.rate.middle, rate.again.middle


def _samples(section: PrintedSection, name: str, part: StatusDirection) -> Iterator[Found]:
    """Yield samples that contradict their extremes, or add up to more than the total.

    Samples of a group are added up: its means are those of its members, and no member has more
    samples than half seconds.
    """
    figures, rate = section.figures, section.figures.rates.get(name)
    moved = rate.moved.high / KIB if rate is not None else 0.0
    for samples, amount in (
        (figures.iops.get(name), float(part.total_ios)),
        (figures.bw.get(name), moved),
    ):
        if samples is None or not samples.count or samples.count == part.total_ios:
            continue
        off = 1 + SLACK * samples.mean
        if not samples.low - off <= samples.mean <= samples.high + off:
            limit = samples.low if samples.mean < samples.low else samples.high
            yield "sample-order", samples.mean, limit
        told = samples.mean * SAMPLE_S * _of_each(section, samples, part)
        if told > amount * (1 + SLACK) + section.workers:
            yield "samples", told, amount


def _of_each(section: PrintedSection, samples: PrintedSamples, part: StatusDirection) -> float:
    """Return the fewest half-second samples that one worker can have; 0 if they may be of
    another length, or of few I/Os.
    """
    seconds = part.runtime / MILLISECONDS
    each = samples.count - (section.workers - 1) * (seconds / SAMPLE_S + 1)
    dense = section.counted and part.total_ios >= DENSE * samples.count
    whole = seconds >= LEAST_S and abs(each * SAMPLE_S - seconds) <= UNSAMPLED_S
    return each if dense and whole else 0.0


# -- all jobs


def _of_group(line: GroupLine, sections: Sequence[PrintedSection]) -> Iterator[Found]:
    """Yield the differences between a group's line and its jobs.

    Mixed reads and writes have several lines with the same name.
    """
    if not line.rate.meets(line.rate_again, SLACK):
        yield "twice", line.rate.middle, line.rate_again.middle
    if not line.moved.meets(line.moved_again, SLACK):
        yield "twice", line.moved.middle, line.moved_again.middle
    if not sections and line.moved.low > 0 and line.name != "mixed":
        yield "group-bytes", 0.0, line.moved.middle
    if not sections or line.name == "mixed":
        return
    rates = [section.figures.rates[line.name] for section in sections]
    moved, times = total(rate.moved for rate in rates), [rate.runtime_ms for rate in rates]
    if not moved.meets(line.moved):
        yield "group-bytes", moved.middle, line.moved.middle
    for told, expected in zip(line.run_ms, (min(times), max(times)), strict=True):
        if told != expected:
            yield "group-time", expected, told
    yield from _group_rates(line, rates)
    for section in sections:
        samples = section.figures.bw.get(line.name)
        if samples is not None and samples.share is not None:
            yield from distributions.group_share(
                samples.share, _mean(samples), line.rate, GROUP_DIGIT
            )


def _group_rates(line: GroupLine, rates: Sequence[Rate]) -> Iterator[Found]:
    """Yield a group's smallest, largest and total rate where they contradict its jobs."""
    seconds = max(rate.runtime_ms for rate in rates) / MILLISECONDS
    lows, highs = [rate.rate.low for rate in rates], [rate.rate.high for rate in rates]
    expected = [
        (line.least, Span(min(lows), min(highs))),
        (line.most, Span(max(lows), max(highs))),
    ]
    if seconds:
        expected.append((line.rate, total(rate.moved for rate in rates).times(1 / seconds)))
    for told, jobs in expected:
        if not told.meets(jobs, SLACK):
            yield "group-rate", jobs.middle, told.middle


def _mean(samples: PrintedSamples) -> Span:
    digit = MEAN_DIGIT * (KIB if samples.mean > MEGA else 1)
    return Span(samples.mean - digit, samples.mean + digit)


def _started(printed: Printed) -> Iterator[Found]:
    """Yield a job count that differs from the jobs started; a job without I/O has no results."""
    there = sum(section.workers for section in printed.sections)
    if printed.started and there > printed.started:
        yield "entries", there, printed.started
    elif printed.started and there < printed.started:
        yield "started", there, printed.started


def _failures(printed: Printed) -> Iterator[Contradiction]:
    """Yield a worker that failed according to a message but not according to its result."""
    told = {pid: error for host, pid, error in printed.failures if host == printed.host}
    single = {section.pid: section for section in printed.sections if section.workers == 1}
    for pid, section in single.items():
        if not section.job.error and (error := told.pop(pid, 0)):
            yield Contradiction("no-error", error, 0.0, section.job.jobname)
    all_there = sum(section.workers for section in printed.sections) == printed.started
    grouped = [section for section in printed.sections if section.workers > 1]
    left = [error for pid, error in told.items() if pid not in single]
    if all_there and left and grouped and not any(section.job.error for section in grouped):
        yield Contradiction("no-error", left[0], 0.0, grouped[0].job.jobname)


def all_contradictions(found: Sequence[Printed]) -> dict[int, list[Contradiction]]:
    """Return the contradictions in each output, by place; contradictions in a sum over clients go
    to the first client.
    """
    told = {place: contradictions(each) for place, each in enumerate(found)}
    for place, whole in enumerate(found):
        if not is_sum(whole):
            continue
        parts = [
            at
            for at, each in enumerate(found[:place])
            if each.session == whole.session and each.host and not is_sum(each)
        ]
        if parts:
            told[parts[0]] += of_clients(whole, [found[at] for at in parts])
        if parts and len(parts) < found[parts[0]].connected:
            missing = Contradiction("connected", len(parts), found[parts[0]].connected)
            told[parts[0]].append(missing)
    return told


def is_sum(printed: Printed) -> bool:
    """Return whether an output is a client's total over its servers."""
    return printed.sections[0].job.jobname == ALL_CLIENTS
