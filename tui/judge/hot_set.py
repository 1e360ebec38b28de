"""Checks of the hot set of random I/O: a few blocks that are accessed again and again are served by
caches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from tui.judge.check import (
    CheckResult,
    Moot,
    Severity,
    StepEvidence,
    UnknownError,
    of_job,
    step_check,
)
from tui.metrics import touched, units
from tui.metrics.registry import BOTH, MIXED, each_io_once
from tui.model.criteria import default
from tui.model.hostfacts import number_of
from tui.model.operands import Operands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.metrics.touched import Part
    from tui.model.plan import HostTask, JobLoad, Skew

HOT = 0.9  # share of the I/Os that go to the hot set
# I/Os per touched block, from which most hit a cached block
AGAIN = 2.0
MANY = 1e6  # times the I/Os so far
MOVING = ("read", "write", MIXED, BOTH)
DRIVE, ARRAY = default("hot-set.drive"), default("hot-set.array")


class HotSet(Struct, frozen=True):
    """Bytes that receive the share HOT of the I/Os, bytes touched, bytes of the files, and bytes
    moved.

    `text`: the skew.
    """

    hot_bytes: float
    touched_bytes: float
    whole_bytes: float
    moved_bytes: float
    text: str = ""

    @property
    def times(self) -> float:
        """Mean number of accesses per touched block."""
        return self.moved_bytes / self.touched_bytes if self.touched_bytes else 0.0


@step_check(
    "hot-set",
    "Hot set",
    rule=(
        f"the blocks that get {units.share(HOT)} of the I/Os, over all hosts, exceed"
        f" {units.size(DRIVE)} (assumed buffer of a drive; many are larger), unless touched blocks"
        f" are accessed fewer than {AGAIN:g} times on average; a note if they fit in"
        f" {units.size(ARRAY)} (assumed cache of a controller) or in the servers' memory, if known"
    ),
    advice=(
        "Use larger files or a more even random_distribution, attest cache-off, or state that"
        " the figure measures a cache."
    ),
    source=("random_distribution, file sizes, I/Os completed; expected values, not a trace"),
    when="files",
)
def hot_set(at: StepEvidence) -> Iterator[CheckResult]:
    """Direct I/O usually bypasses the client's page cache, but not the caches behind it.

    Drives, controllers and servers keep blocks that are accessed repeatedly; the figure may then
    measure these caches.
    """
    if at.step.jobs and not any(job.direct for job in at.step.jobs if job.stores):
        raise UnknownError("page-cache")
    running = at.record.state == "running"
    # of a running load, the I/Os so far, and the blocks that any number of them may touch
    found = hot_sets(at, 1.0 if running else None)
    if any(each.id == "cache-off" and each.answer == "yes" for each in at.run.plan.attested):
        return
    every = _sum(list(found.values()), _room(at))
    if every.times < AGAIN:
        return
    hot = _sum([*hot_sets(at, MANY).values()], _room(at)).hot_bytes if running else every.hot_bytes
    operands: Operands = {
        "share": HOT,
        "hot_bytes": round(hot),
        "whole_bytes": round(every.whole_bytes),
        "skew": every.text,
        "times": every.times,
    }
    drive, array, servers = (
        at.limit("hot-set.drive"),
        at.limit("hot-set.array"),
        _memory_of_servers(at),
    )
    if hot < drive:
        # writes alone, each of them flushed: buffers do not help
        flushed = all(
            job.durable and job.synced_every <= 1 and "read" not in job.directions
            for job in at.step.jobs
            if job.stores
        )
        severity: Severity = "info" if flushed else "warning"
        yield CheckResult(severity, "drive", round(hot), drive, operands=operands)
    elif servers and hot < servers:
        operands["memory_bytes"] = servers
        yield CheckResult("info", "servers", round(hot), servers, operands=operands)
    elif hot < array:
        yield CheckResult("info", "controller", round(hot), array, operands=operands)


def hot_sets(at: StepEvidence, times: float | None = None) -> dict[str, HotSet]:
    """Return the hot set of each host. Raises UnknownError if none is known.

    `times`: a factor on the I/Os so far; by default, a running load continues to its end at the
    rate so far.
    """
    jobs = [job for job in at.step.jobs if job.stores and {"read", "write"} & set(job.directions)]
    if not jobs:
        raise UnknownError(Moot.DATA if at.step.jobs else "job-parameters")
    sizes = [spec.size_bytes for task in at.step.tasks for spec in task.files]
    if not all(job.range_bytes for job in jobs) and not (sizes and all(sizes)):
        raise UnknownError("io-range")
    found: dict[str, HotSet] = {}
    for task in at.step.tasks:
        sets = [each for job in jobs if (each := _of_job(at, task, job, times or 1 / at.passed))]
        if sets and len(sets) == len(jobs):
            found[task.host] = _sum(sets, sum(spec.total_bytes for spec in task.files))
    if not found:
        raise UnknownError("io-count")
    return found


def _sum(sets: Sequence[HotSet], room: float) -> HotSet:
    """Return the sum of several hot sets, limited to the size of the files (0: unknown)."""
    most = room or float("inf")
    hot, seen, whole = (
        min(sum(each), most)
        for each in zip(*((s.hot_bytes, s.touched_bytes, s.whole_bytes) for s in sets), strict=True)
    )
    return HotSet(
        hot,
        seen,
        whole,
        sum(each.moved_bytes for each in sets),
        next((s.text for s in sets if s.text), ""),
    )


def _room(at: StepEvidence) -> float:
    """Return the total bytes of all files, with shared files counted once; 0 if unknown."""
    sharing = {
        host
        for each in at.run.hosts
        for host in str(each.facts.get("shares_files_with") or "").split()
    }
    files: dict[tuple[str, str], int] = {}
    for task in at.step.tasks:
        for spec in task.files:
            files["" if task.host in sharing else task.host, spec.path] = spec.total_bytes
    return float(sum(files.values())) if all(files.values()) else 0.0


def _of_job(at: StepEvidence, task: HostTask, job: JobLoad, times: float) -> HotSet | None:
    """Return the hot set of a job's workers; None if its I/Os were not counted."""
    dirs = of_job(at, task.host, job)
    counted = {name: dirs[name] for name in each_io_once(dirs) if name in MOVING}
    ios = sum(each.ios for each in counted.values()) * times
    moved = sum(each.bytes for each in counted.values()) * times
    # all files of the host as one
    whole = job.range_bytes or sum(spec.total_bytes for spec in task.files)
    if not ios or not moved or not whole:
        return None
    ranges, block = (max(job.ranges, 1) if job.range_bytes else 1), moved / ios
    blocks, each = max(whole / block, 1.0), ios / ranges
    skew = next(iter(job.skew.values()), None) if job.random else None
    parts = parts_of(skew, blocks)
    seen = min(each, blocks) if job.each_once or not job.random else touched.distinct(parts, each)
    # with a skew each worker has other hot blocks
    shared = min(job.sharing, ranges) if skew is None else 1
    if shared > 1:
        ranges //= shared
        # several workers touch the same blocks: in order all of them the same ones
        seen = blocks * (1 - (1 - seen / blocks) ** shared) if job.random else seen
    hot = min(touched.hottest(parts, HOT), seen)
    size = ranges * block
    return HotSet(
        hot * size, seen * size, blocks * size, moved, skew.text if skew is not None else ""
    )


def parts_of(skew: Skew | None, blocks: float) -> list[Part]:
    """Return groups of blocks by access frequency."""
    if skew is None:
        return touched.even(blocks)
    if skew.kind == "zipf":
        return touched.zipf(blocks, skew.value)
    if skew.kind == "pareto":
        return touched.pareto(blocks, skew.value)
    return (
        touched.bell(blocks, skew.value)
        if skew.kind == "normal"
        else touched.zones(blocks, skew.zones)
    )


def _memory_of_servers(at: StepEvidence) -> float:
    """Return the total memory of the observed storage nodes in bytes; 0 if unknown."""
    nodes = at.run.seen.state.server_facts.values()
    return sum(number_of(facts, "mem_bytes") or 0.0 for facts in nodes)


HOT_SET_CHECKS = (hot_set,)
