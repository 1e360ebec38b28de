"""Preflight: what must hold on every host before any load starts. Rules are pure; all hosts' problems come at once."""

from __future__ import annotations

import asyncio
import getpass
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tui import workloads
from tui.engine.context import RunContext, RunRefused
from tui.engine.layout import needs_of
from tui.engine.session import HostSession
from tui.metrics import units
from tui.model.event import HostClock, HostFacts
from tui.model.plan import HostTask, Plan
from tui.remote.agent import ClockOffset, FileInfo
from tui.remote.probe import DirFacts, HostProbe
from tui.remote.transport import HostError

HEADROOM = 1.05  # a file system that is filled to the last block measures its allocator
NETWORK_FILE_SYSTEMS = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "fuse",
    "wekafs",
    "lustre",
    "gpfs",
    "beegfs",
    "glusterfs",
)

Problem = tuple[str, str]


@dataclass
class HostFindings:
    """What was found on one host."""

    probe: HostProbe
    files: dict[str, FileInfo | None] = field(default_factory=dict)


async def preflight(ctx: RunContext) -> None:
    """Look at every host, then judge. Raises RunRefused (exit 3) when any host cannot run the plan."""
    with ctx.phase("preflight"):
        found: dict[str, HostFindings] = {}
        await ctx.unless_stopped(asyncio.create_task(_look_everywhere(ctx, found)))
        for session in ctx.alive:
            findings = found[session.name]
            session.missing = {path for path, info in findings.files.items() if info is None}
            for code, message in judge_host(ctx.plan, session.name, findings):
                session.problem("preflight", code, message)
        for name, (code, message) in judge_space(ctx.plan, found).items():
            next(session for session in ctx.sessions if session.name == name).problem("preflight", code, message)
        if failed := [session.name for session in ctx.sessions if session.failed]:
            raise RunRefused("failed", 3, f"preflight refused: {', '.join(failed)}")
        await take_locks(ctx)
        for session in ctx.alive:
            session.enter("ready")


async def take_locks(ctx: RunContext) -> None:
    """Take every host for this run, or go on holding it; refuse when another run holds one."""
    await asyncio.gather(*(_take_lock(ctx, session) for session in ctx.alive))
    if failed := [session.name for session in ctx.sessions if session.failed]:
        raise RunRefused("failed", 3, f"in use by another run: {', '.join(failed)}")


async def _take_lock(ctx: RunContext, session: HostSession) -> None:
    try:
        holder = await session.agent.lock(ctx.plan.lease_s, owner(), force=ctx.plan.take_locks)
    except HostError as error:
        session.problem("preflight", error.code, error.message)
        return
    if holder is None:
        return
    held = f"in use by run {holder.run} of {holder.owner} (for {holder.left_s}s more, unless that run renews it)"
    if ctx.plan.take_locks:
        session.say("warning", f"{held}; running beside it, as asked")
    else:
        session.problem("preflight", "host-locked", f"{held}; wait, stop it, or run with --take-locks")


def owner() -> str:
    """Return who we are, for whoever finds our lock."""
    return f"{getpass.getuser()}@{platform.node()}"


async def _look_everywhere(ctx: RunContext, found: dict[str, HostFindings]) -> None:
    await asyncio.gather(*(_look(ctx, session, found) for session in ctx.alive))


async def _look(ctx: RunContext, session: HostSession, found: dict[str, HostFindings]) -> None:
    session.enter("checking")
    tasks = tasks_of(ctx.plan, session.name)
    directories = sorted({task.required_dir for task in tasks if task.required_dir})
    paths = sorted({spec.path for task in tasks for spec in task.files})
    try:
        probe = await session.agent.probe(directories)
        files = await session.agent.files(paths) if paths else {}
        clock = await session.agent.clock()
    except HostError as error:
        session.problem("preflight", error.code, error.message)
        return
    found[session.name] = HostFindings(probe, files)
    session.facts = probe.facts()
    session.journal.append(HostFacts(t=0.0, host=session.name, facts=session.facts))
    if clock is not None:
        session.journal.append(clock_event(session, clock))


def clock_event(session: HostSession, clock: ClockOffset) -> HostClock:
    """Return a measured clock as an event on the run's time line."""
    return HostClock(
        t=0.0,
        host=session.name,
        offset_s=clock.offset_s,
        uncertainty_s=clock.uncertainty_s,
        rtt_s=clock.rtt_s,
        run_zero_ms=session.journal.zero_ms,
    )


def tasks_of(plan: Plan, host: str) -> list[HostTask]:
    """Return what a host does in all steps."""
    return [task for step in plan.steps for task in step.tasks if task.host == host]


def judge_host(plan: Plan, host: str, findings: HostFindings) -> list[Problem]:
    """Return why this host cannot run the plan: tool, directories, targets."""
    problems = list(judge_tools(plan, findings.probe))
    for task in tasks_of(plan, host)[:1]:
        problems += directory_problems(task.required_dir, findings.probe) if task.required_dir else []
        problems += judge_files(plan, task, findings.files)
    return problems


def judge_tools(plan: Plan, probe: HostProbe) -> Iterable[Problem]:
    """Check that every tool of the plan is there and new enough."""
    for tool in dict.fromkeys(step.tool for step in plan.steps):
        yield from tool_problems(tool, workloads.get(tool).minimum_version, probe)


def tool_problems(tool: str, minimum: tuple[int, int], probe: HostProbe) -> Iterable[Problem]:
    """Check that a load generator is there and new enough."""
    wanted = ".".join(map(str, minimum))
    found = probe.tools.get(tool)
    if found is None:
        yield f"{tool}-missing", f"{tool} is not on PATH; install {tool} {wanted} or newer"
    elif found.version is None:
        yield f"{tool}-unusable", f"{found.path} does not say its version ({found.text!r})"
    elif found.version < minimum:
        yield f"{tool}-too-old", f"{found.text} at {found.path} is too old; {tool} {wanted} or newer is needed"


def directory_problems(directory: str, probe: HostProbe) -> Iterable[Problem]:
    """Check that the target directory exists, is a directory, and takes files."""
    facts = probe.dirs.get(directory)
    if facts is None:
        return
    if not facts.exists:
        yield "dir-missing", f"directory {directory} does not exist"
    elif not facts.is_dir:
        yield "dir-not-a-directory", f"{directory} is not a directory"
    elif not facts.writable:
        yield "dir-not-writable", f"directory {directory} is not writable for {probe.user}"


def judge_files(plan: Plan, task: HostTask, files: Mapping[str, FileInfo | None]) -> Iterable[Problem]:
    """Check that no file of the plan is something else than a plain file, unless the profile is about devices."""
    for spec in task.files:
        info = files.get(spec.path)
        if info is None:
            if spec.path.startswith("/dev/"):
                yield "device-missing", f"{spec.path} does not exist"
        elif info.kind in ("block", "char") and not plan.allow_device:
            yield "target-is-device", f"{spec.path} is a {info.kind} device; this profile is for files"
        elif info.kind not in ("file", "block", "char"):
            yield "target-not-a-file", f"{spec.path} is a {info.kind}, not a file"


def judge_space(plan: Plan, found: Mapping[str, HostFindings]) -> dict[str, Problem]:
    """Return, by host, that its file system cannot take all that is going to be written to it.

    Hosts that share a file system (the same network source, or the same machine) are added up.
    """
    demand: dict[str, int] = {}
    places: dict[str, tuple[str, DirFacts]] = {}
    for host, findings in found.items():
        task = tasks_of(plan, host)[0]
        facts = findings.probe.dirs.get(task.required_dir or "")
        if facts is None or facts.free_bytes is None:
            continue
        place = file_system_of(findings.probe, facts)
        places[host] = (place, facts)
        demand[place] = demand.get(place, 0) + new_bytes(task, findings.files)
    return {
        host: no_space(facts, demand[place]) for host, (place, facts) in places.items() if over(facts, demand[place])
    }


def file_system_of(probe: HostProbe, facts: DirFacts) -> str:
    """Return a name that hosts on the same file system share."""
    network = facts.fstype.startswith(NETWORK_FILE_SYSTEMS) or ":" in facts.source
    return f"{facts.fstype} {facts.source}" if network else f"{probe.boot_id} {facts.mount or facts.source}"


def new_bytes(task: HostTask, files: Mapping[str, FileInfo | None]) -> int:
    """Return how many bytes of the file system a task will newly occupy."""
    needs = needs_of(task, dict(files))
    return sum(need.spec.size_bytes - allocated(files.get(need.spec.path)) for need in needs if need.spec.size_bytes)


def allocated(info: FileInfo | None) -> int:
    """Return the bytes a file occupies already."""
    return min(info.allocated, info.size) if info is not None else 0


def over(facts: DirFacts, demand: int) -> bool:
    """Return whether the demand with headroom exceeds the free space."""
    return demand > 0 and demand * HEADROOM > (facts.free_bytes or 0)


def no_space(facts: DirFacts, demand: int) -> Problem:
    """Return the problem of a file system that is too small."""
    need, free = units.size(int(demand * HEADROOM)), units.size(facts.free_bytes or 0)
    where = f"{facts.path} ({facts.fstype} on {facts.source})"
    if facts.total_bytes is not None and demand > facts.total_bytes:
        total = units.size(facts.total_bytes)
        return "no-space", f"{need} are needed, the whole file system of {where} has {total}; choose a smaller size"
    return "no-space", f"{need} are needed (5 % headroom included), {free} are free at {where}"
