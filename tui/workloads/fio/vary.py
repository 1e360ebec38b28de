"""The same jobs with one thing changed, on the same files: more or fewer in flight, smaller blocks, no rate."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tui.model.problem import UsageError
from tui.model.profile import ParamValue, Profile, Scalar, expand, value_text
from tui.model.proof import Change
from tui.workloads.fio.body import Fio, job_of
from tui.workloads.fio.layout import DEFAULT_FORMAT
from tui.workloads.fio.options import DELETING_ENGINES, JobOptions, job_options

Own = Mapping[str, Scalar | None]
Jobs = dict[str, dict[str, Scalar | None]]

AGAIN = "-again"
WAITS = ("stonewall", "wait_for_previous", "wait_for")  # the copy of a job runs beside it
RATES = ("rate", "rate_iops", "rate_min", "rate_iops_min", "rate_process", "rate_cycle", "rate_ignore_thinktime")
PLACED = ("offset", "fileoffset", "offset_increment", "zonemode", "zonesize", "zonerange")
LEAST_BLOCK = 4096  # smaller ones cannot be read and written past the page cache everywhere


def vary(profile: Profile, params: Mapping[str, ParamValue], change: Change) -> Profile:
    """Return a profile whose jobs do the same but for one change. Raises UsageError when they cannot."""
    own, make = job_of(profile), CHANGES.get(change)
    if make is None:
        raise UsageError(f"{profile.profile}: {change} is no change of its jobs")
    # what differs by host stays a placeholder
    alike = {name: value for name, value in params.items() if not profile.params[name].spread}
    texts = {name: value_text(profile.params[name].kind, value) for name, value in alike.items()}
    read = {section: {name: expand(value, texts) for name, value in each.items()} for section, each in own.jobs.items()}
    shared = {name: expand(value, texts) for name, value in own.shared.items()}
    jobs: Jobs = {}
    for job in job_options(shared, read):
        if job.makes_no_data or job.engine in DELETING_ENGINES:
            raise cannot(job, "each of its files is worked on once")
        jobs |= make(job, own.jobs[job.name])
    changed: dict[str, object] = {"jobs": jobs}
    if change == "no-rate":
        if not any(job.get(name) for job in job_options(shared, read) for name in RATES[:2]):
            raise UsageError(f"{profile.profile}: no job has a rate")
        changed["shared"] = without(own.shared, RATES)
    body: Fio = own.model_copy(update=changed)
    return profile.model_copy(update={profile.tool: body})


def cannot(job: JobOptions, why: str) -> UsageError:
    """Return why a job cannot be changed."""
    return UsageError(f"job {job.name}: {why}")


def without(options: Own, names: tuple[str, ...]) -> dict[str, Scalar | None]:
    """Return options without some."""
    return {name: value for name, value in options.items() if name not in names}


def twice_in_flight(job: JobOptions, own: Own) -> Jobs:
    """Engines that queue hold twice as many; of the others as many workers again run beside the first ones."""
    if job.queues:
        return {job.name: {**own, "iodepth": 2 * max(job.count("iodepth"), 1)}}
    return twice_workers(job, own)


def twice_workers(job: JobOptions, own: Own) -> Jobs:
    """As many workers again, on the same files; where these are gone through in order, on the other half."""
    copy = without(own, WAITS)
    if not job.get("filename") and not job.fileless:
        template = job.get("filename_format") or DEFAULT_FORMAT
        copy["filename_format"] = re.sub(r"\$jobname", lambda _: job.name, template, flags=re.IGNORECASE)
        if job.name.startswith("/"):
            copy = without(copy, ("filename_format",)) | {"filename": job.name}
    if not (job.get("rw") or "read").startswith("rand") and not any(job.get(name) for name in PLACED):
        copy |= other_half(job)
    return {job.name: dict(own), job.name.rpartition("/")[2] + AGAIN: copy}


def other_half(job: JobOptions) -> dict[str, Scalar | None]:
    """Return the options of workers that begin in the middle of each file; of files of unknown size none."""
    files, block = max(job.count("nrfiles"), 1), job.size("bs") or LEAST_BLOCK
    fixed = job.size("filesize")
    half = (fixed or (job.size("size") or 0) // files) // 2 // block * block
    if not half:
        return {}
    return {"offset": half} if fixed else {"offset": half, "size": half * files}


def half_workers(job: JobOptions, own: Own) -> Jobs:
    """Half of the workers, on their own files."""
    if "{" in (job.get("numjobs") or ""):
        raise cannot(job, "its workers are shared out over the hosts")
    if job.numjobs < 2:
        raise cannot(job, "one worker cannot be halved")
    return {job.name: {**own, "numjobs": job.numjobs // 2}}


def half_block(job: JobOptions, own: Own) -> Jobs:
    """Half the block size."""
    if any(job.get(name) for name in ("bsrange", "blocksize_range", "bssplit", "bs_unaligned")):
        raise cannot(job, "its blocks have no one size")
    block = job.size("bs") or LEAST_BLOCK
    if block < 2 * LEAST_BLOCK or "," in (job.get("bs") or ""):
        raise cannot(job, f"blocks of {job.get('bs') or '4k'} cannot be halved")
    return {job.name: {**without(own, ("blocksize",)), "bs": block // 2}}


def no_rate(job: JobOptions, own: Own) -> Jobs:
    """As much as it can."""
    return {job.name: without(own, RATES)}


CHANGES: dict[str, Callable[[JobOptions, Own], Jobs]] = {
    "twice-in-flight": twice_in_flight,
    "twice-workers": twice_workers,
    "half-workers": half_workers,
    "half-block": half_block,
    "no-rate": no_rate,
}
