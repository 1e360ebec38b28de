"""Checks of the load: concurrency, rate, duration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING

from tui.judge.chance import drawn
from tui.judge.check import (
    CheckResult,
    Moot,
    Severity,
    StepEvidence,
    UnknownError,
    step_check,
)
from tui.judge.observed import cpu_bound_hosts, cpu_share
from tui.judge.severity import SUBMISSION_SHARE, submission_waits
from tui.metrics import units
from tui.metrics.buckets import SHOWN_PERCENTILES
from tui.metrics.figures import enough_behind
from tui.metrics.registry import BOTH, MIXED, direction
from tui.model.alike import vain_axes
from tui.model.criteria import default
from tui.model.operands import Operands, unique
from tui.record.headline import SHORT_S, ended_early, operation_seconds, shortest_phase_s

if TYPE_CHECKING:
    from tui.model.figure_record import DirectionRecord, LatencyRecord
    from tui.model.plan import JobLoad
    from tui.model.step_record import Scalar, StepRecord

OCCUPIED, OCCUPIED_AT_ALL = (
    default("concurrency.off"),
    0.05,
)  # how far the share in flight may be from 1: warning, error
# time a worker may take between I/Os: overhead of the load generator
BETWEEN_NS = 30_000.0
RATE_REACHED = default("offered-rate.reached")
LEAST_S = 5.0  # in shorter loads start and end of the workers dominate
LONG_S, ENOUGH_S = default("runtime.note_s"), default("runtime.warning_s")
SYNC_SHARE = 0.5  # of the time of all workers
SUBMITTING = 0.9  # of the workers' time: at most one I/O of each at a time is left for the device


@step_check(
    "concurrency",
    "Concurrency",
    rule=(
        f"IOPS x mean latency is within {units.share(OCCUPIED)} of jobs x queue depth (error above"
        f" {units.share(OCCUPIED_AT_ALL)}, unless client-cpu or files opened between I/Os explain"
        " it, or imported output with unknown CPU use has fewer in flight); fewer I/Os in flight"
        f" are allowed if the load generator takes less than {BETWEEN_NS / 1000:g} µs between I/Os,"
        " more if those of an asynchronous engine wait for a sync"
    ),
    advice=(
        "Fewer: some jobs did not run, failed, or waited for something other than I/O (a busy"
        " CPU); check errors and CPU of each host. More: IOPS, latency and queue depth are"
        " not from the same load."
    ),
    source="Little's law",
)
def concurrency(at: StepEvidence) -> Iterator[CheckResult]:
    """By Little's law, the I/Os in flight are IOPS times mean latency.

    If that differs from what the profile keeps in flight, the load was another one, or figures of
    different loads were put together.
    """
    held = steady_load(at)
    shares = {
        host: share
        for host, dirs in at.record.results.per_host.items()
        if (share := occupied(dirs, held, overlap=any(job.queues for job in at.step.jobs)))
        is not None
    }
    if not shares:
        raise UnknownError("latencies")
    rounding = at.run.rounding
    # a depth that may have been rounded up
    above = max(sum(job.at_most for job in at.step.jobs) / held - 1, 0.0)
    off = at.limit("concurrency.off") + rounding
    doubtful = {
        host: share
        for host, share in shares.items()
        if not 1 - off <= at.at_end(share, 1.0) <= 1 + above + off
    }
    if doubtful:
        starved = {
            host for host in cpu_bound_hosts(at) if _starves(at, host, doubtful.get(host, 1.0))
        }
        worst = sorted(doubtful, key=lambda host: (host in starved, -abs(doubtful[host] - 1)))
        opens = doubtful[worst[0]] < 1 and any(job.reopens for job in at.step.jobs)
        code = "opens" if opens else "in-flight"
        yield CheckResult(
            "warning"
            if opens
            or worst[0] in starved
            or _is_unseen(at, worst[0], doubtful[worst[0]])
            # what CPUs do until the end may explain it
            or (at.record.state == "running" and doubtful[worst[0]] < 1)
            else severity_of_share(at.at_end(doubtful[worst[0]], 1.0), rounding),
            "cpu-busy" if worst[0] in starved else code,
            round(doubtful[worst[0]], 4),
            1.0,
            {"hosts": " ".join(worst)},
            {"held": held, "shares": [(host, doubtful[host]) for host in worst]},
        )


def _starves(at: StepEvidence, host: str, share: float) -> bool:
    """Return whether busy CPUs explain the missing I/Os in flight; true if CPU use is unknown."""
    telemetry = next(
        (each for each in at.record.telemetry if each.host == host and each.role == "client"), None
    )
    explained = cpu_share(at, telemetry) if telemetry is not None else None
    return share < 1 and (explained is None or 1 - share <= explained + at.limit("concurrency.off"))


def _is_unseen(at: StepEvidence, host: str, share: float) -> bool:
    """Return whether I/Os in flight are missing on a host of an imported run without CPU telemetry.

    Workers that wait for a CPU have no I/O in flight, which would be a legitimate reason. False if
    the tool reported errors.
    """
    seen = {each.host for each in at.record.telemetry if each.role == "client"}
    task = at.record.tasks.get(host)
    failed = task is not None and bool(task.errors)  # so some of its jobs did not run
    return share < 1 and at.run.foreign and host not in seen and not failed


def severity_of_share(share: float, rounding: float = 0.0) -> Severity:
    """Return the severity of a share of I/Os in flight, allowing for rounding of the figures."""
    return "error" if abs(share - 1) > OCCUPIED_AT_ALL + rounding else "warning"


def steady_load(at: StepEvidence) -> int:
    """Return the number of I/Os that each host keeps in flight.

    Raises UnknownError if the number varies or is unknown, or if the load is paced, size-bound or
    too short.
    """
    jobs = at.step.jobs
    if not jobs:
        raise UnknownError("queue-depth")
    if any(job.paced for job in jobs):
        raise UnknownError(Moot.PACED)
    if at.record.measured_s is None:
        raise UnknownError("measured-time")
    if at.record.measured_s < LEAST_S:
        raise UnknownError("too-short", least_s=LEAST_S)
    if len({job.wave for job in jobs}) > 1:
        raise UnknownError("jobs-in-sequence")
    if ended_early(at.record.measured_s, at.record.runtime_s) or at.record.runtime_s is None:
        raise UnknownError("size-bound")
    if len({len(at.step.tasks), (at.step.in_flight or 0) // sum(job.held for job in jobs)}) > 1:
        raise UnknownError("hosts-differ")
    return sum(job.held for job in jobs)


def occupied(
    dirs: Mapping[str, DirectionRecord], held: int, *, overlap: bool = False
) -> float | None:
    """Return the mean number of I/Os in flight relative to `held`; 1.0 if the rest is the load
    generator's own time.

    Includes syncs, for which a worker waits as for any I/O. With `overlap`, other I/Os wait for the
    same sync, so its time is left out of a sum that would exceed `held`. If whole files take longer
    than their I/Os (open, close), their time counts instead. None if a latency that matters is
    missing.
    """
    if {"read", "write"} <= dirs.keys() and not {MIXED, BOTH} & dirs.keys():
        dirs = {name: part for name, part in dirs.items() if name != "read"}  # one after the other
    counted = [MIXED] if MIXED in dirs else [name for name in dirs if direction(name).in_total]
    if BOTH in dirs:  # reads and writes have no separate latencies
        counted = [BOTH, *(name for name in counted if name not in ("read", "write"))]
    waited, whole, syncs, rate, untimed = 0.0, 0.0, 0.0, 0.0, False
    for name in dict.fromkeys([*counted, *(name for name in dirs if not direction(name).in_total)]):
        latency = _whole(dirs[name])
        if name == "sync" and latency is None:
            untimed = True
            continue
        if dirs[name].iops is None or latency is None or latency.mean_ns is None:
            return None
        here = (dirs[name].iops or 0.0) * latency.mean_ns / 1e9
        waited, whole = (waited, whole + here) if direction(name).of else (waited + here, whole)
        syncs += here if name == "sync" else 0.0
        rate += (dirs[name].iops or 0.0) if name in counted else 0.0
    waited = max(waited, whole)
    if not rate or not held or (untimed and waited <= held):
        return None  # workers may have waited for syncs the rest of the time
    if overlap and waited > held:
        waited = max(waited - syncs, float(held))
    between_ns = (held - waited) / rate * 1e9
    return 1.0 if 0 < between_ns < BETWEEN_NS else waited / held


def _whole(result: DirectionRecord) -> LatencyRecord | None:
    return result.lat or result.clat


@step_check(
    "depth",
    "Queue depth",
    rule=(
        "the engine keeps the requested queue depth: it is asynchronous, and with direct I/O or an"
        f" engine without files its workers spend less than {units.share(SUBMITTING)} of their"
        " time in submission"
    ),
    advice=(
        "Use an asynchronous engine (libaio, io_uring) with direct=1, or more jobs, each with one"
        " I/O in flight. If the time goes into submission, check the CPU use of the workers, and"
        " that the files were allocated before and opened with O_DIRECT."
    ),
    source=("the load generator's list of synchronous engines; IOPS x slat, divided by workers"),
)
def depth(at: StepEvidence) -> Iterator[CheckResult]:
    """A synchronous engine keeps one I/O of each job in flight, whatever depth is stated.

    A sweep over depth then measures the same load again and again."""
    if not at.step.jobs:
        raise UnknownError("job-parameters")
    swept = vain_axes(at.run.plan.steps, at.run.plan.axes)
    code = "swept" if swept else "in-vain"
    for operands in unique(job.in_vain for job in at.step.jobs if job.in_vain):
        yield CheckResult("warning", code, 1, operands={"quote": operands, "axes": list(swept)})
    yield from _submitting(at)


def _submitting(at: StepEvidence) -> Iterator[CheckResult]:
    """Yield hosts whose asynchronous workers spend nearly all their time in submission, which
    blocks or keeps their CPU busy, so that their queues are never full.

    If they spend more than all of it, submissions overlap, as in a batch.
    """
    jobs = at.step.jobs
    queued = all(job.queues and job.stores and job.held > job.workers for job in jobs)
    past_cache = all(job.direct or job.fileless for job in jobs)
    if not queued or not past_cache or len({job.wave for job in jobs}) > 1:
        return
    # others are reads that verify, after the writes
    asked = {MIXED, BOTH}.union(*(job.directions for job in jobs))
    workers, shares = sum(job.workers for job in jobs), {}
    for host, dirs in at.record.results.per_host.items():
        parts = [dirs[BOTH]] if BOTH in dirs else [dirs[name] for name in dirs if name in asked]
        waits = [(part.iops or 0.0) * _submission_ns(part) / 1e9 for part in parts]
        share = sum(waits) / workers
        if SUBMITTING <= share <= 1 + OCCUPIED_AT_ALL:
            shares[host] = share
    if shares:
        worst = max(shares, key=lambda host: shares[host])
        operands: Operands = {"share": shares[worst], "host": worst}
        scope: dict[str, Scalar] = {"hosts": " ".join(shares)}
        yield CheckResult(
            "warning", "submitting", round(shares[worst], 4), SUBMITTING, scope, operands
        )


def _submission_ns(result: DirectionRecord) -> float:
    return (result.slat.mean_ns or 0.0) if result.slat is not None else 0.0


@step_check(
    "offered-rate",
    "Offered rate",
    rule=(
        f"a load with an offered rate achieves {units.share(RATE_REACHED)} of it (Poisson"
        " arrivals: less three standard deviations)"
    ),
    advice=(
        "Probably the storage or the client cannot sustain this rate, and the latency reflects an"
        " overload; think time and lost hosts also lower the rate. Lower the rate, or run without"
        " one to measure the maximum."
    ),
    source="coordinated omission: I/Os that were never sent have no latency",
)
def rate(at: StepEvidence) -> Iterator[CheckResult]:
    """A load at a fixed rate shows the latency that users see at that rate.

    If the rate is not reached, I/Os waited before they were sent, and the printed latency leaves
    that wait out. A search deliberately offers more than the storage can sustain, and judges such
    points itself."""
    severity: Severity = "info" if at.run.plan.search is not None else "warning"
    hosts = len(at.step.tasks)
    whole = [("", each) for each in offered_rates(at.step.jobs, at.record)]
    for job, each in [*whole, *_of_single_jobs(at.step.jobs, at.record)]:
        name, offered, reached, text = each
        # what was missed may be made up for, in as much time
        made_up = at.at_end(reached, 2 * offered * hosts - reached)
        if not is_reached(at, (name, offered, max(reached, made_up), text)):
            share = reached / (offered * hosts)
            code = "bandwidth" if text is units.bandwidth else "iops"
            operands: Operands = {
                "of": [name, *filter(None, [job])],
                "reached": reached,
                "share": share,
            }
            operands["offered"] = offered * hosts
            scope: dict[str, Scalar] = {"direction": name, **({"job": job} if job else {})}
            threshold = at.limit("offered-rate.reached")
            yield CheckResult(severity, code, round(share, 4), threshold, scope, operands)


def is_reached(at: StepEvidence, each: Offered) -> bool:
    """Return whether a load reached its offered rate, allowing for chance."""
    name, offered, reached, text = each
    offered *= len(at.step.tasks)
    by_chance = _by_chance(at, name, offered, in_bytes=text is units.bandwidth)
    return reached >= at.limit("offered-rate.reached") * offered - by_chance


def _by_chance(at: StepEvidence, name: str, offered: float, *, in_bytes: bool) -> float:
    """Return how far a rate may fall short without an overload.

    Poisson arrivals: three standard deviations, each the square root of the number of independent
    I/Os. For bytes, also the block that each worker waits for.
    """
    seconds = at.record.measured_s
    if not seconds:
        return 0.0
    jobs = [job for job in at.step.jobs if name in job.directions]
    if in_bytes:
        waiting = sum(job.workers * _largest_block(job, name) for job in jobs)
        return len(at.step.tasks) * waiting / seconds
    if not any(job.poisson for job in jobs):
        return 0.0
    hosts = len(at.step.tasks)
    own = drawn(jobs, offered * seconds / max(hosts, 1), name)
    # hosts that draw the same arrivals are off together
    alike = any(job.same_draws for job in jobs)
    return 3.0 * offered / sqrt(own if alike else own * hosts)


def _largest_block(job: JobLoad, name: str) -> float:
    """Return the largest I/O size of a job with mixed sizes, in bytes; 0 if all are equal, or
    unknown.
    """
    return float(max((part.high for part in job.blocks.get(name, ())), default=0))


Offered = tuple[str, float, float, Callable[[float | None], str]]


def offered_rates(jobs: Sequence[JobLoad], record: StepRecord) -> Iterator[Offered]:
    """Yield each direction with its offered rate per host, its total achieved rate, and their
    format.

    Skips directions shared with a job without a rate, because their offered rate is unknown. Raises
    UnknownError if no job has a rate.
    """
    if not jobs or not any(job.rate_iops or job.rate_bytes_per_s for job in jobs):
        raise UnknownError(Moot.RATE)
    reported = record.results.jobs or {}
    for name, result in record.results.aggregate.items():
        own = (job for job in jobs if name in job.directions)
        yield from _offered([job for job in own if _is_in(reported, job, name)], name, result)


def _is_in(reported: Mapping[str, Mapping[str, DirectionRecord]], job: JobLoad, name: str) -> bool:
    """Return whether a job's I/O counts in a direction; False if it only reports all I/O
    together.
    """
    dirs = reported.get(job.name, {})
    return name in dirs or MIXED not in dirs


def _offered(running: Sequence[JobLoad], name: str, result: DirectionRecord) -> Iterator[Offered]:
    """Yield the rate offered to these jobs together in one direction; nothing unless each has a
    rate.
    """
    for rates, reached, text in (
        ([job.rate_iops.get(name) for job in running], result.iops, units.iops),
        (
            [job.rate_bytes_per_s.get(name) for job in running],
            result.bw_bytes_per_s,
            units.bandwidth,
        ),
    ):
        if rates and all(rates) and reached is not None:
            yield name, sum(each or 0.0 for each in rates), reached, text


def _of_single_jobs(jobs: Sequence[JobLoad], record: StepRecord) -> Iterator[tuple[str, Offered]]:
    """Yield (job, offered rate) in directions shared with jobs without a rate.

    Jobs reported as one cannot be separated.
    """
    reported = record.results.jobs or {}
    if {job.name for job in jobs} != set(reported):
        return
    operands = {(name, text) for name, _, _, text in offered_rates(jobs, record)}
    for job in jobs:
        for name, result in reported[job.name].items():
            found = _offered([job], name, result)
            yield from ((job.name, each) for each in found if (name, each[3]) not in operands)


@step_check(
    "short",
    "Ended early",
    rule=f"the measurement lasts at least 95 % of the runtime, and {SHORT_S:g} s",
    advice=(
        "Find out what ended the load: files too small for the runtime (use time_based), an"
        " error, a full disk."
    ),
    source="runtime of the profile",
    when="ended",
)
def short(at: StepEvidence) -> Iterator[CheckResult]:
    """A load that ended early did something other than requested, and 0.1 s of it means nothing."""
    record = at.record
    if record.measured_s is None:
        yield from _short_phases(record)
        return
    ran_s, due_s = _ran_s(at, record.measured_s), _due_s(at)
    ended = ended_early(ran_s, due_s)
    if record.state != "cut" and (ended or ran_s < SHORT_S):
        operands: Operands = {"measured_s": ran_s, "runtime_s": due_s}
        code = "ended" if ended else "measured"
        threshold = due_s if ended else SHORT_S
        yield CheckResult("warning", code, ran_s, threshold, operands=operands)


def _short_phases(record: StepRecord) -> Iterator[CheckResult]:
    """Yield the shortest phases of an MPI program if they are too short: one that moves data, and
    one that does not.
    """
    moving_s, operations = shortest_phase_s(record), operation_seconds(record)
    if moving_s is None and not operations:
        raise UnknownError("measured-time")
    if moving_s is not None and moving_s < SHORT_S:
        yield CheckResult("warning", "phase", moving_s, SHORT_S, operands={"phase_s": moving_s})
    name, seconds = min(operations.items(), key=lambda each: each[1], default=("", SHORT_S))
    if seconds < SHORT_S:
        operands: Operands = {"operation": name, "phase_s": seconds}
        yield CheckResult("warning", "operation", round(seconds, 6), SHORT_S, operands=operands)


def _ran_s(at: StepEvidence, measured_s: float) -> float:
    """Return how long a load ran, including reads that verify its writes (reads that no job asked
    for).
    """
    asked = {name for load in at.step.jobs for name in load.directions}
    ran_s = {name: each.runtime_s or 0.0 for name, each in at.record.results.aggregate.items()}
    if "write" not in asked & ran_s.keys() or "read" in asked or "read" not in ran_s:
        return measured_s
    return max(measured_s, ran_s["write"] + ran_s["read"])


def _due_s(at: StepEvidence) -> float | None:
    """Return how long a load must run, by its longest job; None if that is unknown.

    A plan's runtime includes the start delays of single jobs.
    """
    bounds_s = [load.bound_s for load in at.step.jobs if load.wave == 0]
    due_s = at.record.runtime_s
    if due_s is None or not bounds_s or any(load.wave for load in at.step.jobs):
        return due_s
    known_s = [each for each in bounds_s if each is not None]
    return min(due_s, max(known_s)) if len(known_s) == len(bounds_s) else due_s


@step_check(
    "runtime",
    "Runtime",
    rule=f"a note below {LONG_S:g} s of measurement, a warning below {ENOUGH_S:g} s",
    advice=(
        "Measure for one minute for a first look, and for five minutes to publish a figure:"
        " the effects of caches and flash take that long to appear."
    ),
    source="SPECstorage 2020: 5 min; IO500: 300 s",
    when="ended",
)
def runtime(at: StepEvidence) -> Iterator[CheckResult]:
    """Caches and buffers can absorb seconds of load; the sustained rate may show only after
    minutes.
    """
    seconds = at.record.measured_s or shortest_phase_s(at.record)
    if seconds is None:
        raise UnknownError("measured-time")
    if (
        ended_early(_ran_s(at, seconds), _due_s(at))
        or seconds < SHORT_S
        or at.record.state == "cut"
        or seconds >= at.limit("runtime.note_s")
    ):
        return
    severity: Severity = "info" if seconds >= at.limit("runtime.warning_s") else "warning"
    threshold = at.limit("runtime.note_s" if severity == "info" else "runtime.warning_s")
    operands: Operands = {"measured_s": seconds, "recommended_s": LONG_S}
    yield CheckResult(severity, "measured", seconds, threshold, operands=operands)


@step_check(
    "slat",
    "Time spent in submission",
    rule=(
        f"slat is below {units.share(SUBMISSION_SHARE)} of lat, or the profile shows lat; only"
        " a note with direct I/O or an engine without files, where slat is the cost of submission"
    ),
    advice=(
        "Use direct=1, or show lat (latency: lat in the profile): clat starts only after"
        " submission."
    ),
    source="slat, clat and lat from the load generator",
    when="ended",
)
def submission(at: StepEvidence) -> Iterator[CheckResult]:
    """In the page cache, an asynchronous engine does its I/O while submitting it: the time is in
    slat, and clat is close to zero."""
    if not any(result.slat is not None for result in at.record.results.aggregate.values()):
        raise UnknownError(Moot.SUBMISSION)
    if at.run.plan.latency_kind_of(at.step) == "lat":
        return
    direct = bool(at.step.jobs) and all(job.direct or job.fileless for job in at.step.jobs)
    for name, slat, lat in submission_waits(at.record):
        if at.at_end(slat / lat, 0.0) <= SUBMISSION_SHARE:
            continue
        operands: Operands = {"direction": name, "slat_ns": slat, "lat_ns": lat}
        severity: Severity = "info" if direct else "warning"
        scope: dict[str, Scalar] = {"direction": name}
        share = round(slat / lat, 4)
        yield CheckResult(severity, "submission", share, SUBMISSION_SHARE, scope, operands)


@step_check(
    "sync",
    "Time spent in syncs",
    rule=(
        f"a note if more than {units.share(SYNC_SHARE)} of the workers' time, or of the I/Os in"
        " flight, is fsync or fdatasync"
    ),
    advice=(
        "The flush determines the write figure: quote the sync latency, and check write"
        " caches and journals."
    ),
    source="sync latency from the load generator",
)
def sync_bound(at: StepEvidence) -> Iterator[CheckResult]:
    """If most of the time goes into flushes, writes look fast while the application is slow."""
    jobs = [job for job in at.step.jobs if job.durable]
    if not jobs or "sync" not in at.record.results.aggregate:
        raise UnknownError(Moot.SYNCS)
    result = at.record.results.aggregate["sync"]
    latency = result.lat.mean_ns if result.lat is not None else None
    if latency is None:
        raise UnknownError("sync-latency")
    held = sum(job.held for job in jobs) * len(at.step.tasks)
    share = (result.iops or 0.0) * latency / 1e9 / held
    if share > 1 + OCCUPIED_AT_ALL:
        raise UnknownError("sync-latency")
    if share > SYNC_SHARE:
        code = "queue" if any(job.held > job.workers for job in jobs) else "workers"
        operands: Operands = {"share": share, "mean_ns": latency}
        if len(jobs) < len(at.step.jobs):
            code, operands = f"{code}-of-jobs", operands | {"jobs": unique(j.name for j in jobs)}
        scope: dict[str, Scalar] = {"direction": "sync"}
        yield CheckResult("info", code, round(share, 4), SYNC_SHARE, scope, operands)


@step_check(
    "few-samples",
    "I/Os beyond a percentile",
    rule=f"at least {units.TAIL_SAMPLES} I/Os are slower than each printed percentile",
    advice=(
        "Measure longer, or quote a lower percentile: with so few I/Os the value is not repeatable."
    ),
    source=(
        "order statistics: the uncertainty of a percentile's rank is about the square root of"
        " the number of slower I/Os"
    ),
    when="ended",
)
def tails(at: StepEvidence) -> Iterator[CheckResult]:
    """The p99.9 of 2000 I/Os rests on two of them: that is chance."""
    counted = [(name, _whole(result)) for name, result in at.record.results.aggregate.items()]
    if not any(latency is not None and latency.n for _, latency in counted):
        raise UnknownError("io-count")
    for name, latency in counted:
        thin = [
            each
            for each in SHOWN_PERCENTILES
            if latency is not None and not enough_behind(latency.n, each)
        ]
        if latency is not None and latency.n and thin:
            slower = latency.n * (100 - thin[0]) / 100
            operands: Operands = {"direction": name, "ios": latency.n, "percentile": thin[0]}
            scope: dict[str, Scalar] = {"direction": name}
            yield CheckResult("info", "few", round(slower, 1), units.TAIL_SAMPLES, scope, operands)


LOAD_CHECKS = (concurrency, depth, rate, short, runtime, submission, sync_bound, tails)
