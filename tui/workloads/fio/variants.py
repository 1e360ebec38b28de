"""Variants of fio jobs: a different rate, or one changed parameter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby

from msgspec.structs import replace

from tui.model.address import HostAddress
from tui.model.operands import Clause, clause
from tui.model.plan import FILE_NUMBER, JobLoad
from tui.model.problem import UsageError
from tui.model.profile import (
    ParamValue,
    Profile,
    Scalar,
    expand,
    placeholders,
    resolve_params,
    value_text,
)
from tui.model.search import Change, Offer, usual_ramp_s
from tui.workloads.base import Paced
from tui.workloads.fio.body import Fio, job_of
from tui.workloads.fio.engine_kinds import DELETING_ENGINES
from tui.workloads.fio.layout import DEFAULT_FORMAT, escape, file_name, names_files, split_list
from tui.workloads.fio.loads import RATED, waves
from tui.workloads.fio.options import JobOptions, job_options
from tui.workloads.fio.plan import Resolved, planned_step, resolve_on

EXACT_BELOW = 1000  # I/Os per second of one worker: up to this rate fio's rounding is below 0.1 %
LEAST = 10  # I/Os per second of one worker: fio's snapshots wait for each worker (stat.c)


def worker_rates(total: int, workers: int) -> list[int]:
    """Return the rate option of each worker, larger ones first; 0 < workers <= total.

    The options add up to the total, before or after fio rounds the gaps between I/Os.
    """
    if total <= EXACT_BELOW * workers:
        return [total // workers + (at < total % workers) for at in range(workers)]
    gap = int(workers * 1e6 / total + 0.5) + 1  # the shortest gap that is not too fast
    slow, fast = rate_of_gap(gap), rate_of_gap(gap - 1)
    many = min(workers, max(0, round((total - workers * slow) / (fast - slow))))
    return [option_of_gap(gap - 1)] * many + [option_of_gap(gap)] * (workers - many)


def rate_of_gap(gap_us: int) -> float:
    """Return the IOPS that fio achieves with Poisson arrivals of this mean gap.

    fio cuts each gap to whole microseconds, which makes gaps 0.5 µs shorter on average.
    """
    return 1e6 / (gap_us - 0.5)


def option_of_gap(gap_us: int) -> int:
    """Return the rate option from which fio computes this gap in microseconds."""
    return 1_000_000 // max(gap_us, 1)


def shares(total: int, percents: Sequence[int]) -> list[int]:
    """Split a total by percentages that add up to 100; the last part gets the rounding
    remainder.
    """
    found = [round(total * percent / 100) for percent in percents[:-1]]
    return [*found, total - sum(found)]


def in_proportion(total: int, parts: Sequence[float], least: Sequence[int]) -> list[int]:
    """Split a total in proportion to `parts`, each at least its minimum.

    Raises ValueError if the total is less than the sum of the minimums.
    """
    if total < sum(least):
        raise ValueError(f"{total} is less than {sum(least)}")
    wanted = [total * part / sum(parts) for part in parts]
    found = [max(low, int(each)) for each, low in zip(wanted, least, strict=True)]
    while left := total - sum(found):
        step = 1 if left > 0 else -1
        free = [at for at, each in enumerate(found) if each + step >= least[at]]
        furthest = max(free, key=lambda at: step * (wanted[at] - found[at]))
        found[furthest] += step
    return found


def spread(rates: Sequence[int], hosts: Sequence[int]) -> list[list[int]]:
    """Distribute rates over hosts and workers, starting with the first worker of every host."""
    order = sorted((worker, host) for host, count in enumerate(hosts) for worker in range(count))
    found: list[list[int]] = [[] for _ in hosts]
    for (_, host), rate in zip(order, rates, strict=False):
        found[host].append(rate)
    return found


Own = Mapping[str, Scalar | None]
Jobs = dict[str, dict[str, Scalar | None]]

AGAIN = "-again"
WAITS = ("stonewall", "wait_for_previous", "wait_for")  # the copy of a job runs beside it
RATES = (
    "rate",
    "rate_iops",
    "rate_min",
    "rate_iops_min",
    "rate_process",
    "rate_cycle",
    "rate_ignore_thinktime",
)
PLACED = ("offset", "fileoffset", "offset_increment", "zonemode", "zonesize", "zonerange")
LEAST_BLOCK = 4096  # smaller ones cannot be read and written past the page cache everywhere


def vary(profile: Profile, params: Mapping[str, ParamValue], change: Change) -> Profile:
    """Return a profile with one change and otherwise the same jobs.

    Raises UsageError if that is not possible.
    """
    own, make = job_of(profile), CHANGES.get(change)
    if make is None:
        raise UsageError(f"{profile.profile}: {change} does not change its jobs")
    # what differs by host stays a placeholder
    alike = {name: value for name, value in params.items() if not profile.params[name].spread}
    texts = {name: value_text(profile.params[name].kind, value) for name, value in alike.items()}
    read = {
        section: {name: expand(value, texts) for name, value in each.items()}
        for section, each in own.jobs.items()
    }
    shared = {name: expand(value, texts) for name, value in own.shared.items()}
    jobs: Jobs = {}
    for job in job_options(shared, read):
        if job.makes_no_data or job.engine in DELETING_ENGINES:
            raise job.refused("each file is processed only once")
        jobs |= make(job, own.jobs[job.name])
    changed: dict[str, object] = {"jobs": jobs}
    if change == "no-rate":
        if not any(job.get(name) for job in job_options(shared, read) for name in RATES[:2]):
            raise UsageError(f"{profile.profile}: no job has a rate")
        changed["shared"] = without(own.shared, RATES)
    body: Fio = own.model_copy(update=changed)
    return profile.model_copy(update={profile.tool: body})


def without(options: Own, names: tuple[str, ...]) -> dict[str, Scalar | None]:
    """Return the options without these names."""
    return {name: value for name, value in options.items() if name not in names}


def twice_in_flight(job: JobOptions, own: Own) -> Jobs:
    """Double the queue depth; for synchronous engines, double the workers."""
    if job.queues:
        return {job.name: {**own, "iodepth": 2 * max(job.count("iodepth"), 1)}}
    return twice_workers(job, own)


def twice_workers(job: JobOptions, own: Own) -> Jobs:
    """Double the workers on the same files.

    If files are accessed sequentially, the new workers use the second half.
    """
    copy = without(own, WAITS)
    if not job.get("filename") and not job.fileless:
        template = job.get("filename_format") or DEFAULT_FORMAT
        copy["filename_format"] = re.sub(
            r"\$jobname", lambda _: job.name, template, flags=re.IGNORECASE
        )
        if job.name.startswith("/"):
            copy = without(copy, ("filename_format",)) | {"filename": job.name}
    if not (job.get("rw") or "read").startswith("rand") and not any(
        job.get(name) for name in PLACED
    ):
        copy |= other_half(job)
    return {job.name: dict(own), job.name.rpartition("/")[2] + AGAIN: copy}


def other_half(job: JobOptions) -> dict[str, Scalar | None]:
    """Return options for workers that begin in the middle of each file; empty if the file size is
    unknown.
    """
    files, block = max(job.count("nrfiles"), 1), job.size("bs") or LEAST_BLOCK
    fixed = job.size("filesize")
    half = (fixed or (job.size("size") or 0) // files) // 2 // block * block
    if not half:
        return {}
    return {"offset": half} if fixed else {"offset": half, "size": half * files}


def half_workers(job: JobOptions, own: Own) -> Jobs:
    """Halve the workers; the remaining ones keep their files. Raises UsageError."""
    if "{" in (job.get("numjobs") or ""):
        raise job.refused("hosts have different numbers of workers")
    if job.numjobs < 2:
        raise job.refused("one worker cannot be halved")
    return {job.name: {**own, "numjobs": job.numjobs // 2}}


def half_block(job: JobOptions, own: Own) -> Jobs:
    """Halve the block size. Raises UsageError."""
    several = any(
        job.get(name) for name in ("bsrange", "blocksize_range", "bssplit", "bs_unaligned")
    )
    if several or "," in (job.get("bs") or ""):
        raise job.refused("the job has several block sizes")
    block = job.size("bs") or LEAST_BLOCK
    if block < 2 * LEAST_BLOCK:
        least = f"expected at least {2 * LEAST_BLOCK} bytes"
        raise job.refused(f"cannot halve blocks of {job.get('bs') or '4k'}: {least}")
    return {job.name: {**without(own, ("blocksize",)), "bs": block // 2}}


def no_rate(job: JobOptions, own: Own) -> Jobs:
    """Remove the rate limit."""
    return {job.name: without(own, RATES)}


CHANGES: dict[str, Callable[[JobOptions, Own], Jobs]] = {
    "twice-in-flight": twice_in_flight,
    "twice-workers": twice_workers,
    "half-workers": half_workers,
    "half-block": half_block,
    "no-rate": no_rate,
}


HOLDING_BACK = ("thinktime", "flow", "latency_target", "ioscheduler")
HELD_TO = ("rate", "rate_iops", "rate_min", "rate_iops_min")  # by which a job is held to a rate
Rates = tuple[int, ...]  # of one worker, one per direction


@dataclass(frozen=True, slots=True)
class SharedRate:
    """Rates of one job on all hosts, by host and worker.

    Workers without a rate are omitted.
    """

    job: JobOptions
    workers: list[list[Rates]]
    left_out: int
    more: int = 0  # I/Os per second above its share, because each host does at least one

    def load(self, load: JobLoad) -> JobLoad:
        """Return the job's load on the first host."""
        own = self.workers[0]
        totals = {
            name: float(sum(rates[at] for rates in own))
            for at, name in enumerate(_paced_directions(self.job))
        }
        held = load.held // max(load.workers, 1) * len(own)
        return replace(
            load,
            workers=len(own),
            held=held,
            paced=True,
            poisson=True,  # as the workers of `_sections` are
            rate_iops=totals,
            rate_bytes_per_s={},
        )


def pace(
    profile: Profile,
    params: Mapping[str, ParamValue],
    hosts: Sequence[HostAddress],
    seeds: Mapping[str, int],
    offer: Offer,
) -> Paced:
    """Return the step that offers this load. Raises UsageError if the jobs cannot be paced."""
    own_ramp = ramp_of(profile)
    ramp = f"{usual_ramp_s(offer.seconds):g}s" if own_ramp is None else own_ramp
    timed = timed_profile(profile, offer.seconds, ramp)
    taking_part, resolved = resolve_on(timed, params, hosts)
    plans = [job_options(shared, jobs) for shared, jobs in resolved]
    if not plans:
        raise UsageError(f"{profile.profile}: no host has a share of the load")
    check(profile, plans[0])
    unpaced = why_unpaced(profile, plans[0])
    if offer.rate_iops is None:
        step = planned_step(timed, params, taking_part, resolved, seeds)
        return Paced(step, unpaced=unpaced, own_ramp=own_ramp is not None)
    if unpaced:
        raise UsageError(unpaced)
    parts = shared_out(profile, plans, max(1, round(offer.rate_iops)), offer.shares)
    paced = [_on_host(own, parts, at) for at, own in enumerate(resolved)]
    step = planned_step(timed, params, taking_part, paced, seeds)
    loads = planned_step(timed, params, taking_part[:1], resolved[:1], seeds).jobs
    in_flight = sum(sum(len(own) for own in part.workers) * _depth(part.job) for part in parts)
    loads = [part.load(load) for part, load in zip(parts, loads, strict=True)]
    paced_step = replace(step, jobs=loads, in_flight=in_flight)
    return Paced(paced_step, caveats=tuple(_caveats(parts)), own_ramp=own_ramp is not None)


def ramp_of(profile: Profile) -> Scalar | None:
    """Return the ramp of a profile's jobs; None if it is not set."""
    levels = (job_of(profile).shared, *job_of(profile).jobs.values())
    return next(
        (level["ramp_time"] for level in levels if level.get("ramp_time") is not None), None
    )


def timed_profile(profile: Profile, seconds: float, ramp: Scalar) -> Profile:
    """Return a profile whose jobs run this long after their ramp, without rates of their own."""
    from tui.workloads.fio.body import warm

    own: Fio = job_of(warm(profile, seconds))
    shared: dict[str, Scalar | None] = {**without(own.shared, RATES), "ramp_time": ramp}
    jobs = {name: without(options, RATES) for name, options in own.jobs.items()}
    return profile.model_copy(
        update={profile.tool: own.model_copy(update={"shared": shared, "jobs": jobs})}
    )


def set_by_search(profile: Profile, params: Mapping[str, ParamValue]) -> Iterator[Clause]:
    """Yield notes on rates and durations, set by profile or parameter, that a search overrides."""
    _, resolved = resolve_on(profile, params, [HostAddress("h1")])
    for job in job_options(*resolved[0]) if resolved else []:
        held = [
            f"{name}={job.get(name)}" for name in HELD_TO if job.get(name) not in (None, "0", "")
        ]
        if held:
            yield clause("rate-set-by-search", job=job.named, options=held)
    defaults = resolve_params(profile, {})
    for name in lengths(profile):
        if params.get(name) != defaults.get(name):
            yield clause("length-set-by-search", name=name)


def lengths(profile: Profile) -> list[str]:
    """Return the parameters that only set the duration of jobs."""
    levels = (job_of(profile).shared, *job_of(profile).jobs.values())
    options = [(option == "runtime", value) for level in levels for option, value in level.items()]
    used = {name for own, value in options if not own for name in placeholders(value)}
    timed = dict.fromkeys(name for own, value in options if own for name in placeholders(value))
    return [name for name in timed if name in profile.params and name not in used]


def check(profile: Profile, jobs: Sequence[JobOptions]) -> None:
    """Raise UsageError if these jobs cannot be measured for a set time."""
    for job in jobs:
        if job.makes_no_data or job.engine in DELETING_ENGINES:
            raise UsageError(f"{job.called}cannot be paced: each file is used only once")
        if job.on_objects and "trim" in job.access:
            raise UsageError(f"{job.called}cannot be paced: each object is deleted only once")
    if len(waves(jobs)) > 1:
        raise UsageError(
            f"{profile.profile}: its jobs run one after the other and have no common rate"
        )


def why_unpaced(profile: Profile, jobs: Sequence[JobOptions]) -> str:
    """Return why these jobs cannot be paced; empty if they can."""
    for job in jobs:
        held = next((name for name in HOLDING_BACK if job.get(name) not in (None, "0", "")), None)
        if held:
            return f"{job.called}cannot be paced: it is already limited by {held}"
    if any(job.get("new_group") == "0" for job in jobs[1:]):
        return (
            f"{profile.profile} cannot be paced: new_group=0 reports its jobs as one, so their"
            " shares are unknown"
        )
    return ""


def shared_out(
    profile: Profile,
    hosts: Sequence[Sequence[JobOptions]],
    total: int,
    job_shares: Mapping[str, float],
) -> list[SharedRate]:
    """Return the rates of each job by worker. Raises UsageError."""
    by_job = list(zip(*hosts, strict=True))
    parts = _parts(profile, hosts[0], job_shares)
    try:
        totals = in_proportion(total, parts, [_least(own[0], len(hosts)) for own in by_job])
    except ValueError:
        why = (
            f"{total} IOPS is less than one I/O per second per direction on each of"
            f" {len(hosts)} hosts"
        )
        raise UsageError(
            f"{why}, for each of {len(parts)} jobs" if len(parts) > 1 else why
        ) from None
    return [
        _by_workers(own, mine, int(mine - total * part / sum(parts)))
        for own, mine, part in zip(by_job, totals, parts, strict=True)
    ]


def _parts(
    profile: Profile, jobs: Sequence[JobOptions], job_shares: Mapping[str, float]
) -> list[float]:
    """Return each job's share of the rate.

    Raises UsageError for jobs without a share.
    """
    if len(jobs) == 1:
        return [1.0]
    if unknown := [job.name for job in jobs if not job_shares.get(job.name)]:
        names = ", ".join(job.name for job in jobs)
        why = f"{', '.join(unknown)} did no I/O at full load"
        raise UsageError(f"{profile.profile}: cannot split the rate between jobs {names}: {why}")
    return [job_shares[job.name] for job in jobs]


def _least(job: JobOptions, hosts: int) -> int:
    """Return the minimum rate of a job: one I/O per second per direction on each host."""
    return -(-100 * hosts // min(_percent(job, name) for name in _paced_directions(job)))


def _by_workers(own: Sequence[JobOptions], total: int, more: int) -> SharedRate:
    """Return the rates of one job's workers; `own`: the job as resolved on each host."""
    job, counts = own[0], [each.numjobs for each in own]
    totals = shares(total, [_percent(job, name) for name in _paced_directions(job)])
    workers = min(sum(counts), max(len(own), total // LEAST), *totals)
    by_host = [spread(worker_rates(each, workers), counts) for each in totals]
    found = [list(zip(*rates, strict=True)) for rates in zip(*by_host, strict=True)]
    return SharedRate(job, found, sum(counts) - workers, more)


def _paced_directions(job: JobOptions) -> list[str]:
    """Return the directions in which a job does I/O."""
    return [name for name in job.access if _percent(job, name)]


def _percent(job: JobOptions, direction: str) -> int:
    """Return the percentage of a job's I/Os in one direction."""
    if job.access != ("read", "write"):
        return 100 // len(job.access)
    written = job.get("rwmixwrite")
    read = 100 - job.count("rwmixwrite") if written is not None else job.count("rwmixread", 50)
    return read if direction == "read" else 100 - read


def _caveats(parts: Sequence[SharedRate]) -> Iterator[Clause]:
    for part in parts:
        if part.left_out:
            have = sum(map(len, part.workers))
            yield clause("fewer-workers", job=part.job.named, workers=have, of=have + part.left_out)
        if part.more > 0:
            yield clause("above-share", job=part.job.named, iops=part.more)


def _depth(job: JobOptions) -> int:
    return max(job.in_flight // job.numjobs, 1)


def _on_host(resolved: Resolved, parts: Sequence[SharedRate], host: int) -> Resolved:
    """Return the options of a host with the rates of its workers."""
    shared, jobs = resolved
    found: dict[str, dict[str, str]] = {}
    for part in parts:
        name = part.job.name
        found |= _sections(
            JobOptions(name, shared, jobs[name]), part.workers[host], jobs.keys() | found.keys()
        )
    return {name: value for name, value in shared.items() if name not in RATES}, found


def _sections(
    job: JobOptions, workers: Sequence[Rates], taken: Set[str]
) -> dict[str, dict[str, str]]:
    """Return the sections of a job; workers with equal rates and the same files share one."""
    own = {name: value for name, value in job.own.items() if name not in RATES}
    found: dict[str, dict[str, str]] = {}
    begin = 0
    for rates, same in groupby(workers):
        count = len(list(same))
        paced = {"rate_iops": _option(job, rates), "rate_process": "poisson"}
        if not begin:
            found[job.name] = {**own, "numjobs": str(count), **paced}
        for first, many in _runs(job, begin, count) if begin else ():
            more = {name: value for name, value in own.items() if name not in WAITS}
            place = _placed(job, first)
            found[_new_name(job, first, taken)] = {**more, **place, "numjobs": str(many), **paced}
        begin += count
    begun = found.pop(job.name)
    # reported as one job
    more_of_it = {name: {**options, "new_group": "0"} for name, options in found.items()}
    return {job.name: begun, **more_of_it}


def _new_name(job: JobOptions, worker: int, taken: Set[str]) -> str:
    """Return a unique section name for a job's workers."""
    name = f"{job.name.rpartition('/')[2]}-{worker + 1}"
    while name in taken:
        name += "-"
    return name


def _option(job: JobOptions, rates: Rates) -> str:
    """Return the rate option with a value per direction (read, write, trim)."""
    by_name = dict(zip(_paced_directions(job), rates, strict=True))
    if len(job.access) == 1:
        return str(rates[0])
    return ",".join(str(by_name.get(name, "")) for name in RATED).rstrip(",")


def _runs(job: JobOptions, begin: int, count: int) -> list[tuple[int, int]]:
    """Return sections as (first worker, workers); one per worker if workers use different files or
    offsets.
    """
    if _own_files(job) or job.get("offset_increment"):
        return [(begin + at, 1) for at in range(count)]
    return [(begin, count)]


def _own_files(job: JobOptions) -> bool:
    return not job.fileless and not names_files(job)


def _placed(job: JobOptions, worker: int) -> dict[str, str]:
    """Return the options that give a section the files and offsets of its worker.

    Raises UsageError.
    """
    found: dict[str, str] = {}
    if _own_files(job):
        template = job.get("filename_format") or DEFAULT_FORMAT
        found["filename_format"] = file_name(template, job.name, worker, FILE_NUMBER)
        directories = split_list(job.get("directory") or "")
        if len(directories) > 1:
            found["directory"] = escape(directories[worker % len(directories)])
    elif job.name.startswith("/"):
        found["filename"] = escape(job.name)
    if job.get("offset_increment"):
        step, begin = job.size("offset_increment"), job.size("offset") if job.get("offset") else 0
        if step is None or begin is None:
            raise UsageError(
                f"{job.called}an offset in percent cannot be split over workers of different rates"
            )
        found |= {"offset": str(begin + worker * step), "offset_increment": "0"}
    return found
