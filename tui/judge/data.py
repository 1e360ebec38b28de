"""Checks of the data under load: preconditioning, working set, caches, offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.judge.check import (
    CheckResult,
    Moot,
    RunEvidence,
    Severity,
    StepEvidence,
    UnknownError,
    of_hosts,
    of_hosts_in_step,
    run_check,
    step_check,
    why_unknown,
)
from tui.judge.hot_set import HOT, HotSet, hot_sets
from tui.judge.machines import file_systems, may_cache
from tui.metrics import units
from tui.model.criteria import default
from tui.model.host_tables import BlockLayer, Written, rows
from tui.model.hostfacts import boot_of, number_of
from tui.model.operands import Operands, clause
from tui.model.plan import is_device
from tui.model.shared_files import (
    paths_used_at_once,
    same_files,
    verb_of,
)
from tui.record.progress import rounds_of_step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.model.host_record import HostRecord
    from tui.model.plan import JobLoad
    from tui.model.step_record import Scalar


@step_check(
    "precondition",
    "Preconditioned",
    rule=("if the profile asks for it, files were filled and rounds were repeated until steady"),
    advice=(
        "Allow more or longer rounds. Check the figures of each round: a falling rate usually means"
        " that flash is filling up."
    ),
    source="SNIA SSS PTS 2.0",
)
def preconditioned(at: StepEvidence) -> Iterator[CheckResult]:
    """Before storage has settled, a benchmark measures its cache, or fresh flash."""
    plan, state = at.run.plan, at.run.seen.state
    if plan.no_precondition:
        yield CheckResult("warning", "skipped", operands={})
        return
    found = rounds_of_step(plan, state, at.step)
    if found is None:
        raise UnknownError(Moot.ROUNDS)
    window, rule = found.window, found.rule
    if found.attained:
        return
    if window is None:
        operands: Operands = {"rounds": len(found.steps), "window": rule.window}
        code = "too-few" if found.attained is None else "too-few-planned"
        yield CheckResult("warning", code, len(found.steps), rule.window, operands=operands)
        return
    slow = window.range <= rule.range
    measured, threshold = (window.slope, rule.slope) if slow else (window.range, rule.range)
    operands = {
        "rounds": len(found.steps),
        "range": window.range,
        "most_range": rule.range,
        "slope": window.slope,
        "most_slope": rule.slope,
    }
    yield CheckResult("warning", "not-steady", round(measured, 4), threshold, operands=operands)


@run_check(
    "attest",
    "Attested conditions",
    rule="every condition of the profile was answered with yes",
    advice="Check the condition and attest it at launch: on Review, or with run --attest ID=yes.",
    source="attest in the profile, answered at launch",
)
def attested(evidence: RunEvidence) -> Iterator[CheckResult]:
    """No host can detect whether an array's cache is off.

    Unless a person confirms it, the run may have measured the cache."""
    asked = evidence.plan.attested
    if not asked:
        raise UnknownError(Moot.ASKED)
    no = [each for each in asked if each.answer == "no"]
    unknown = [each for each in asked if each.answer == "unknown"]
    if no:
        operands: Operands = {"quotes": [(each.question, each.id) for each in no]}
        yield CheckResult("info", "no", len(no), 0, operands=operands)
    if unknown:
        operands = {"conditions": [each.id for each in unknown]}
        yield CheckResult("info", "not-attested", len(unknown), 0, operands=operands)


PRECONDITION_CHECKS = (preconditioned, attested)


WRITTEN, HALF = default("unwritten-data.written"), 0.5
# a working set below this multiple of the memory may be served from it
OF_MEMORY = default("working-set.memory")


@of_hosts_in_step(lambda at, host: "" if _extents(at, host) else "file-extents")
@step_check(
    "unwritten-data",
    "Files written before reading",
    rule=(
        f"of each host's 16 largest files to be read, at least {units.share(WRITTEN)} of the bytes"
        f" were written before the load; error below {units.share(HALF)}"
    ),
    advice=(
        "Let benchtui lay the files out (prepare: layout), or write them completely once:"
        " holes and preallocated blocks read as zeros at memory speed."
    ),
    source=(
        "FIEMAP (filefrag -v), before the load; file size and allocated blocks do not show holes"
    ),
    when="files",
)
def written(at: StepEvidence) -> Iterator[CheckResult]:
    """Blocks that were never written are usually not on any disk: reading them measures memory, or
    the metadata of the storage.
    """
    if not any("read" in job.directions and job.stores for job in at.step.jobs):
        raise UnknownError(Moot.READS)
    by_host = {host.name: row for host in at.run.hosts for row in _extents(at, host)}
    if not by_host:
        raise UnknownError("file-extents", quote=why_unknown(at, "written"))
    shares = {
        host: 1 - row.never_written_bytes / row.size_bytes
        for host, row in by_host.items()
        if row.size_bytes
    }
    low = {
        host: share for host, share in shares.items() if share < at.limit("unwritten-data.written")
    }
    if low:
        worst = min(low, key=lambda host: low[host])
        severity: Severity = "error" if low[worst] < HALF else "warning"
        yield CheckResult(
            severity,
            "unwritten",
            round(low[worst], 4),
            at.limit("unwritten-data.written"),
            {"hosts": " ".join(low)},
            {"host": worst, "path": by_host[worst].path, "written": low[worst]},
        )


def _extents(at: StepEvidence, host: HostRecord) -> list[Written]:
    """Return which parts of a host's files were written before this step."""
    return [row for row in rows(host.facts, Written) if row.step == at.step.index]


@of_hosts_in_step(lambda _, host: "" if memory_of(host) else "file-sizes")
@step_check(
    "working-set",
    "Working set and memory",
    rule=(
        "without direct I/O, a host's files (for skewed I/O: the blocks that get"
        f" {units.share(HOT)} of the I/Os) are at least {OF_MEMORY:g} x its memory; files of jobs"
        " that use direct I/O, or only write and sync each write, do not count; a note where the"
        " file system may cache direct I/O"
    ),
    advice=(
        "Use direct=1, or make the files larger than the memory of the clients (and of the"
        " servers)."
    ),
    source="page cache",
    when="files",
)
def working_set(at: StepEvidence) -> Iterator[CheckResult]:
    """Files that fit into a host's memory may be served from there: the run may have measured
    memory, not storage.
    """
    if not at.step.jobs:
        raise UnknownError("job-parameters")
    storing = [job for job in at.step.jobs if job.stores]
    if not storing:
        raise UnknownError(Moot.DATA)
    served = [job for job in storing if _is_served(job)]
    cached = any(may_cache(name) for host in at.run.hosts for name in file_systems(host))
    if not served and not cached:
        raise UnknownError(Moot.DIRECT)
    memory = {host.name: memory_of(host) for host in at.run.hosts}
    sizes = {task.host: sum(spec.total_bytes for spec in task.files) for task in at.step.tasks}
    own = served if 0 < len(served) < len(storing) and _bytes_of(served) else []
    sizes |= {host: _bytes_of(own) for host in sizes if own}
    skewed = {} if own else skewed_sets(at)
    sizes |= {
        host: round(each.hot_bytes)
        for host, each in skewed.items()
        if each.hot_bytes < sizes.get(host, 0)
    }
    known = {
        host: (size, memory.get(host) or 0.0)
        for host, size in sizes.items()
        if size and memory.get(host)
    }
    if not known:
        raise UnknownError("file-sizes")
    small = {
        host: size / mem
        for host, (size, mem) in known.items()
        if size < at.limit("working-set.memory") * mem
    }
    if small:
        worst = min(small, key=lambda host: small[host])
        size, mem = known[worst]
        sizes_told: Operands = {"files_bytes": size, "memory_bytes": mem}
        named: Operands = {"jobs": sorted({job.name for job in own})} if own else {}
        code = "page-cache" if served else "may-cache"
        held = clause("files", **sizes_told)
        if worst in skewed:
            held = clause("hot", share=HOT, skew=skewed[worst].text, **sizes_told)
        yield CheckResult(
            "warning" if served else "info",
            "of-jobs" if own else code,
            round(small[worst], 4),
            at.limit("working-set.memory"),
            {"hosts": " ".join(small)},
            {"held": held} | named,
        )


def _is_served(job: JobLoad) -> bool:
    """Return whether the page cache may serve a job: it reads, or its writes may stay there."""
    flushed = job.durable and job.synced_every <= 1 and "read" not in job.directions
    return not job.direct and not flushed


def _bytes_of(jobs: Sequence[JobLoad]) -> int:
    """Return the bytes that jobs use on each host; 0 if unknown."""
    sizes = [(job.range_bytes or 0) * job.ranges // max(job.sharing, 1) for job in jobs]
    return sum(sizes) if all(sizes) else 0


def skewed_sets(at: StepEvidence) -> dict[str, HotSet]:
    """Return, by host, the hot set of loads with a skewed access pattern."""
    if not any(job.skew for job in at.step.jobs):
        return {}
    try:
        return {host: each for host, each in hot_sets(at).items() if each.text}
    except UnknownError:
        return {}


def memory_of(host: HostRecord) -> float | None:
    """Return the memory in bytes that a host's load can use, which its control group may limit;
    None if unknown.
    """
    usable = number_of(host.facts, "mem_usable_bytes")
    return usable if usable is not None else number_of(host.facts, "mem_bytes")


@step_check(
    "page-cache",
    "Page cache dropped",
    rule="if the profile asks for it, every host dropped its page cache before the step",
    advice=(
        "Allow the user to write /proc/sys/vm/drop_caches with sudo; otherwise only the run's"
        " own files can be dropped."
    ),
    source="/proc/sys/vm/drop_caches, posix_fadvise",
)
def caches_dropped(at: StepEvidence) -> Iterator[CheckResult]:
    """Data that an earlier step left in the page cache is read from memory, not from storage."""
    if at.run.plan.drop_caches_before(at.step) == "no":
        raise UnknownError(Moot.DROPPED)
    failed = {
        drop.host: clause("why" if drop.detail else "unknown", quote=drop.detail)
        for drop in at.record.cache_drops
        if not drop.ok
    }
    if failed:
        scope: dict[str, Scalar] = {"hosts": " ".join(failed)}
        operands: Operands = {"hosts": list(failed.items())}
        yield CheckResult("warning", "not-dropped", len(failed), 0, scope, operands)


@of_hosts(lambda host: "" if _is_placed(host) else "target-devices")
@run_check(
    "shared-files",
    "Files shared by hosts",
    rule=(
        "no file is used by several hosts at the same time or has several names; jobs of one host"
        " on one path are not compared; intended sharing is reported too"
    ),
    advice=(
        "Put {host} into directory or filename, and check for bind mounts and links. If"
        " sharing is intended, say so when you quote the figure."
    ),
    source="inodes of the files on all hosts, before the load",
    when="files",
)
def shared_files(evidence: RunEvidence) -> Iterator[CheckResult]:
    """Hosts that write the same file wait for each other's locks; hosts that read it benefit from
    each other's cache.
    """
    named = same_files({host.name: host.facts for host in evidence.hosts})
    if len(evidence.hosts) < 2 and not named:
        raise UnknownError(Moot.SHARED)
    if not named and not any(map(_is_placed, evidence.hosts)):
        raise UnknownError("target-devices")
    if named:
        hosts = dict.fromkeys(host for names in named for host, _ in names)
        scope: dict[str, Scalar] = {"hosts": " ".join(hosts)}
        operands: Operands = {"names": named[0], "files": len(named)}
        yield CheckResult("warning", "other-names", float(len(named)), 0.0, scope, operands)
    for names in _groups(evidence.hosts):
        paths = [
            path
            for path, users in paths_used_at_once(evidence.plan).items()
            if set(names) <= set(users)
        ]
        if paths:
            verb = verb_of(evidence.plan, paths[0])
            operands = {"verb": verb, "path": paths[0], "files": len(paths), "hosts": names}
            scope = {"hosts": " ".join(names)}
            yield CheckResult("warning", "same-path", float(len(paths)), 0.0, scope, operands)


def _is_placed(host: HostRecord) -> bool:
    """Return whether the file system of a host's files is known: equal paths on it are one file."""
    return bool(file_systems(host) or host.facts.get("shares_files_with"))


def _groups(hosts: Sequence[HostRecord]) -> list[list[str]]:
    shared = (host.facts.get("shares_files_with") for host in hosts)
    return [
        str(group).split()
        for group in dict.fromkeys(group for group in shared if group is not None)
    ]


@step_check(
    "same-offsets",
    "Same offsets",
    rule=(
        "each host, and each worker on a shared file, has its own random offsets; workers that"
        " read or write one file in order start at different offsets"
    ),
    advice=(
        "Remove randseed and randrepeat: benchtui gives each host its own seed and records it. For"
        " sequential I/O by several workers, set offset_increment, or give each worker its own"
        " file."
    ),
    source=(
        "seeds in the job files; by default a random generator repeats its sequence; filename,"
        " numjobs and offset_increment"
    ),
    when="files",
)
def same_offsets(at: StepEvidence) -> Iterator[CheckResult]:
    """Hosts or workers that read the same blocks of a shared target in the same order are served
    by its cache.
    """
    yield from _in_order(at)
    jobs = [job for job in at.step.jobs if job.random]
    if not jobs:
        if any(job.sharing > 1 for job in at.step.jobs):
            return
        raise UnknownError(Moot.RANDOM)
    if at.run.foreign:
        raise UnknownError("seeds")
    seeds = [task.randseed for task in at.step.tasks]
    shared = (
        bool(_groups(at.run.hosts))
        or any(task.images for task in at.step.tasks)
        or _share_a_device(at)
    )
    same = any(job.same_offsets for job in jobs) or len(set(seeds)) < len(seeds)
    if same and shared and len(seeds) > 1:
        scope: dict[str, Scalar] = {"hosts": " ".join(at.step.hosts)}
        yield CheckResult("warning", "same-seeds", len(set(seeds)), len(seeds), scope, {})


def _in_order(at: StepEvidence) -> Iterator[CheckResult]:
    """Yield jobs whose workers go through one file in the same order from the same offset."""
    for job in at.step.jobs:
        if job.sharing > 1 and not job.random and job.stores:
            verb = "read" if "read" in job.directions else "write"
            operands: Operands = {"workers": job.sharing, "job": job.name, "verb": verb}
            yield CheckResult("warning", "in-order", job.sharing, 1, {"job": job.name}, operands)


def _share_a_device(at: StepEvidence) -> bool:
    """Return whether two hosts use the same block device: equal disk IDs, or the same path on one
    machine.
    """
    seen: set[str] = set()
    facts = {host.name: host.facts for host in at.run.hosts}
    for task in at.step.tasks:
        devices = [spec.path for spec in task.files if is_device(spec.path)]
        if not devices:
            continue
        known = facts.get(task.host, {})
        names = {layer.wwid for layer in rows(known, BlockLayer) if layer.wwid}
        names |= {f"{boot} {path}" for path in devices if (boot := boot_of(known))}
        if names & seen:
            return True
        seen |= names
    return False


DATA_CHECKS = (working_set, caches_dropped, shared_files, same_offsets)
