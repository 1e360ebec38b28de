"""Preflight of a run: lock hosts, check hosts and storage nodes, find shared files.

Reports all problems at once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from msgspec import Struct

from tui.engine.executors.lookup import executors_of
from tui.engine.preflight.destroy import FileNeed, HostFindings, all_of, sizes_of, tasks_of
from tui.engine.preflight.programs import carried_facts, carried_names, carry, no_program
from tui.engine.preflight.rules import (
    allocation_facts,
    collect_findings,
    doubtful_blocks,
    facts_of,
    file_system_of,
    identified_by,
    judge_host,
    judge_space,
)
from tui.engine.session.context import (
    JUDGE,
    LEAVE,
    LOCK,
    LOOK,
    REACH,
    TRY_LOCK,
    UNLOCK,
    RunContext,
    RunRefused,
    on_hosts,
    refuse_failed,
)
from tui.engine.session.host_session import HostSession
from tui.engine.session.targets import files_of, identity_rows, seen_on
from tui.journal.rundir import owner
from tui.model.event import HostClock, HostFactsCollected, HostStateName, PhaseName
from tui.model.hostfacts import Fact
from tui.model.operands import Clause, Operands, Told, clause
from tui.model.plan import Plan, Step, of_machine
from tui.model.shared_files import (
    common_paths,
    paths_used_at_once,
    same_files,
    verb_of,
)
from tui.remote.agent import KEPT_DAYS, AgentError, ClockOffset, Holder, TaskDir
from tui.remote.answers import Expired
from tui.remote.transport import HostError

# random, so that runs waiting for each other's hosts do not stay in lockstep
LOOK_AGAIN_S = (2.0, 5.0)


async def take_locks(ctx: RunContext) -> bool:
    """Lock every host for this run, or keep its lock; wait for hosts in use if the plan says so.

    Returns whether it had to wait. Raises RunRefused if another run still holds a host when the
    wait is over.
    """
    loop = asyncio.get_running_loop()
    begun, reported, sessions = loop.time(), set[str](), ctx.alive
    while in_use := await _in_use(ctx):
        if loop.time() - begun >= ctx.plan.wait_s:
            _refuse(ctx, in_use)
            break
        await on_hosts(
            ctx,
            UNLOCK,
            (each for each in ctx.alive if each.name not in in_use),
            _unlock,
            lambda *_: None,
        )
        _tell(ctx, in_use, reported)
        await ctx.unless_stopped(asyncio.sleep(random.uniform(*LOOK_AGAIN_S)))
    refuse_failed(LOCK, sessions)
    return bool(reported)


async def _in_use(ctx: RunContext) -> dict[str, Holder]:
    """Try to lock all hosts; return the holder of each host that is in use."""
    answers = await on_hosts(ctx, TRY_LOCK, ctx.alive, partial(_lock, ctx))
    held = {name: holder for name, holder in answers.items() if holder is not None}
    if ctx.plan.take_locks:
        for name, holder in held.items():
            session_of(ctx, name).say("warning", clause("runs-beside", **held_by(holder)))
        return {}
    return held


async def _lock(ctx: RunContext, session: HostSession) -> Holder | None:
    return await session.ask(
        lambda agent: agent.lock(ctx.plan.lease_s, owner(), force=ctx.plan.take_locks)
    )


async def _unlock(session: HostSession) -> None:
    await session.ask(lambda agent: agent.unlock())


def _refuse(ctx: RunContext, in_use: dict[str, Holder]) -> None:
    for name, holder in in_use.items():
        until = f"{datetime.now(UTC) + timedelta(seconds=holder.left_s):%H:%M:%S} UTC"
        told = clause("host-locked", **held_by(holder), until=until, waited_s=ctx.plan.wait_s)
        session_of(ctx, name).problem("preflight", "host-locked", told)


def _tell(ctx: RunContext, in_use: dict[str, Holder], reported: set[str]) -> None:
    """Report once each run that this run waits for."""
    for name, holder in in_use.items():
        session = session_of(ctx, name)
        session.enter("checking", clause("lock-wait", **held_by(holder)))
        if f"{name} {holder.run}" not in reported:
            reported.add(f"{name} {holder.run}")
            session.say("info", clause("waits-for", **held_by(holder)))


def held_by(holder: Holder) -> Operands:
    """Return the run that holds a host, and the remaining time of its lock."""
    return {"run": holder.run, "owner": holder.owner, "left_s": holder.left_s}


def session_of(ctx: RunContext, name: str) -> HostSession:
    """Return the session of a host by its name."""
    return next(session for session in ctx.sessions if session.name == name)


FileSystemName = tuple[str, str, str]  # path, type, source


class SharedFiles(Struct, frozen=True):
    """Files that several hosts use on one file system.

    The first host creates and records them.
    """

    hosts: tuple[str, ...]
    where: FileSystemName
    paths: tuple[str, ...]


def shared_files(plan: Plan, found: Mapping[str, HostFindings]) -> list[SharedFiles]:
    """Return the files that hosts share, judged by the file systems found."""
    groups: dict[tuple[tuple[str, ...], FileSystemName], list[str]] = {}
    for path, hosts in common_paths(plan).items():
        for sharing, where in _on_one_file_system(path, hosts, found):
            groups.setdefault((sharing, where), []).append(path)
    return [SharedFiles(hosts, where, tuple(paths)) for (hosts, where), paths in groups.items()]


def _on_one_file_system(
    path: str, hosts: Sequence[str], found: Mapping[str, HostFindings]
) -> Iterator[tuple[tuple[str, ...], FileSystemName]]:
    by_place: dict[str, list[str]] = {}
    known: dict[str, FileSystemName] = {}
    for host in hosts:
        facts = found[host].room_of(path) if host in found else None
        if facts is not None and (facts.source or facts.mount):
            place = file_system_of(host, found[host].probe, facts)
            by_place.setdefault(place, []).append(host)
            known[place] = (facts.mount or facts.path, facts.fstype, facts.source)
    yield from (
        (tuple(sharing), known[place]) for place, sharing in by_place.items() if len(sharing) > 1
    )


def tell_sharing(ctx: RunContext, found: Mapping[str, HostFindings]) -> None:
    """Report hosts that use the same files, add this to their facts, and let the first host create
    the files.
    """
    for session in ctx.sessions:
        session.made_elsewhere = {}
    at_once = paths_used_at_once(ctx.plan)
    for shared in shared_files(ctx.plan, found):
        if paths := [path for path in shared.paths if path in at_once]:
            at, fstype, source = shared.where
            told = clause(
                "files-shared",
                verb=verb_of(ctx.plan, paths[0]),
                path=paths[0],
                files=len(paths),
                hosts=list(shared.hosts),
                where=clause("shared-file-system", path=at, fstype=fstype, source=source),
            )
            ctx.say("warning", told)
        for session in ctx.sessions:
            if session.name in shared.hosts:
                sharing: dict[str, Fact] = {"shares_files_with": " ".join(shared.hosts)}
                session.facts |= sharing
                session.journal.append(HostFactsCollected(t=0.0, host=session.name, facts=sharing))
            if session.name in shared.hosts[1:]:
                session.made_elsewhere |= dict.fromkeys(shared.paths, shared.hosts[0])
                session.missing -= set(shared.paths)
                session.short -= set(shared.paths)


def own_needs(
    ctx: RunContext, step: Step, session: HostSession, needs: Sequence[FileNeed]
) -> list[FileNeed]:
    """Return the files that a host must lay out itself; others are laid out by a host that shares
    them.
    """
    here = {each.name for each in ctx.taking_part(step)}
    others = [need for need in needs if session.made_elsewhere.get(need.spec.path) in here]
    ctx.made_files.add(session.name, (need.spec for need in others))
    return [need for need in needs if need not in others]


def forget_made(ctx: RunContext, session: HostSession, paths: Sequence[str]) -> None:
    """Forget removed files on every host that had them."""
    for each in ctx.sessions:
        if each is session or set(paths) & set(each.made_elsewhere):
            ctx.made_files.forget(each.name, paths)


CONNECT_S = 20.0
LEAVE_S = 10.0


class ServerSession(HostSession):
    """A storage node.

    It is not a host of the run, so the journal has no states or problems for it.
    """

    def enter(self, state: HostStateName, detail: Clause | str = "") -> None:  # noqa: ARG002
        """Set the state without journalling it."""
        self.state = state

    def problem(self, phase: PhaseName, code: str, told: Told, *, fatal: bool = True) -> None:  # noqa: ARG002
        """Report a problem; a fatal one excludes the node."""
        self.say("warning", told)
        if fatal:
            self.state = "failed"


async def connect_servers(ctx: RunContext) -> None:
    """Connect to the storage nodes and read their facts, if the plan has telemetry.

    Reports and skips unreachable nodes.
    """
    if ctx.plan.telemetry:
        await on_hosts(ctx, REACH, ctx.servers, _connect, _not_looked_at)


async def _connect(server: HostSession) -> None:
    await server.connect(CONNECT_S)
    probe = await server.ask(lambda agent: agent.probe())
    server.facts = await server.ask(lambda agent: agent.facts(probe))
    server.journal.append(
        HostFactsCollected(t=0.0, host=server.name, facts=server.facts, role="server")
    )


def _not_looked_at(server: HostSession, error: HostError) -> None:
    server.enter("failed")
    server.say("warning", clause("server-unreachable", quote=error.told))


async def leave_servers(ctx: RunContext) -> None:
    """Remove the agent's files from the storage nodes, and disconnect."""
    reached = [server for server in ctx.servers if server.reached]
    await on_hosts(ctx, LEAVE, reached, _leave, _stays_behind)
    await on_hosts(ctx, LEAVE, reached, HostSession.disconnect, lambda *_: None)


async def _leave(server: HostSession) -> None:
    async with asyncio.timeout(LEAVE_S):
        try:
            await server.agent.clean()
        except AgentError:
            await server.agent.sweep(kill=True)
            await server.agent.clean()


def _stays_behind(server: HostSession, error: HostError) -> None:
    server.say("warning", clause("server-not-left", quote=error.told))


SLOW_S = 15.0  # shown for a host whose check takes longer


async def preflight(ctx: RunContext) -> None:
    """Check every host, then judge them together.

    Raises RunRefused (exit 3) if any host cannot run the plan.
    """
    with ctx.phase("preflight"):
        try:
            await check_hosts(ctx)
            if await take_locks(ctx):
                await check_hosts(ctx)  # another run has used the hosts since
            for executor in executors_of(ctx.plan):
                await executor.try_ahead(ctx)
        except RunRefused:
            tell_ready(ctx)  # the others are fine
            raise
        tell_ready(ctx)


def tell_ready(ctx: RunContext) -> None:
    """Report which hosts are able to run the plan."""
    for session in ctx.alive:
        session.enter("ready")


async def check_hosts(ctx: RunContext) -> None:
    """Check every host and report all problems.

    Raises RunRefused if there are any.
    """
    found = await on_hosts(ctx, LOOK, ctx.alive, partial(_check_host, ctx))
    for session in ctx.alive:
        findings = found[session.name]
        session.missing = {path for path, info in findings.files.items() if info is None}
        session.short = smaller_than_planned(sizes_of(ctx.plan, session.name), findings)
        for code, message in judge_host(ctx.plan, session.name, findings):
            session.problem("preflight", code, message)
        for path, size in doubtful_blocks(ctx.plan, session.name, findings):
            session.say("warning", clause("block-size-doubtful", path=path, size=size))
    tell_sharing(ctx, found)
    for names in same_files({session.name: session.facts for session in ctx.sessions}):
        ctx.say("warning", clause("file-with-names", names=names))
    for name, (code, message) in judge_space(ctx.plan, found).items():
        session_of(ctx, name).problem("preflight", code, message)
    for executor in executors_of(ctx.plan):
        await executor.check_hosts(ctx)
    refuse_failed(JUDGE, ctx.sessions)


def smaller_than_planned(sizes: Mapping[str, int], findings: HostFindings) -> set[str]:
    """Return files of this user's runs that are smaller than planned and must be laid out again."""
    there = (
        (path, info)
        for path, info in findings.files.items()
        if info is not None and path in findings.ours
    )
    return {path for path, info in there if info.size < sizes.get(path, 0)}


def tell_expired(session: HostSession, expired: Expired) -> None:
    """Report which leftovers of other runs were removed from a host."""
    for gone in expired.ended:
        told = clause("expired-load-killed", processes=gone.size, run=gone.run)
        session.say("warning", told)
    for gone in expired.removed:
        told = clause("spool-removed", run=gone.run, size_bytes=gone.size, days=KEPT_DAYS)
        session.say("info", told)


def tell_leftovers(session: HostSession, tasks: Sequence[TaskDir]) -> None:
    """Report the data that ended runs left on a host; nothing is removed, because it may still be
    needed.
    """
    # finished steps are next to them
    going_on = {session.run_id, *(task.run for task in tasks if task.alive)}
    if runs := sorted({task.run for task in tasks} - going_on):
        session.say("info", clause("leftovers", runs=runs))


async def _check_host(ctx: RunContext, session: HostSession) -> HostFindings:
    session.enter("checking")
    slow = asyncio.create_task(_say_slow(session))
    try:
        return await _findings(ctx, session)
    finally:
        slow.cancel()


async def _say_slow(session: HostSession) -> None:
    """Show how long a slow host's check has taken so far, until cancelled."""
    begun = time.monotonic()
    while True:
        await asyncio.sleep(SLOW_S)
        waited = time.monotonic() - begun
        session.enter("checking", clause("slow-check", waited_s=waited))


async def _findings(ctx: RunContext, session: HostSession) -> HostFindings:
    await copy_programs(ctx, session)
    made, secrets = ctx.made_files.on(session.name), session.secrets.values
    found = await collect_findings(ctx.plan, session.name, session.ask, made, secrets)
    known = await facts_of(ctx.plan, session.name, session.ask, found)
    known |= carried_facts(ctx.plan.carried, known)
    clock = await session.ask(lambda agent: agent.clock())
    tell_expired(session, await session.ask(lambda agent: agent.expire()))
    tell_leftovers(session, await session.ask(lambda agent: agent.tasks()))
    known |= await allocation_facts(session.address, session.connections)
    session.facts, session.ours, session.devices = known, found.ours, found.devices
    paths = [path for task in tasks_of(ctx.plan, session.name) for path in files_of(task)]
    session.seen = await session.ask(partial(seen_on, paths=sorted(set(paths))))
    places = partial(identified_by, session.name, found)
    if table := identity_rows(session.seen, sorted(set(paths)), places):
        session.facts["files"] = list[Any](table)
    written = {spec.path for task in tasks_of(ctx.plan, session.name) for spec in task.written}
    for path, facts in found.devices.items():
        session.say("warning" if facts.unsure and path in written else "info", all_of(facts))
    session.journal.append(HostFactsCollected(t=0.0, host=session.name, facts=session.facts))
    if clock is not None:
        session.journal.append(clock_event(session, clock))
    return found


def clock_event(session: HostSession, clock: ClockOffset) -> HostClock:
    """Return a measured clock offset as an event on the run's time line."""
    return HostClock(
        t=0.0,
        host=session.name,
        offset_s=clock.offset_s,
        uncertainty_s=clock.uncertainty_s,
        rtt_s=clock.rtt_s,
        run_zero_ms=session.journal.zero_ms,
    )


async def copy_programs(ctx: RunContext, session: HostSession) -> None:
    """Copy the programs that a host needs, unless already there.

    Raises HostError.
    """
    copied = {each.name for each in ctx.plan.carried}
    wanted = (
        [name for name in carried_names(ctx.plan, session.name) if name in copied] if copied else []
    )
    if not wanted:
        return
    probe = await session.ask(lambda agent: agent.probe())
    machine = str(probe.values.get("arch"))
    mine = of_machine(ctx.plan.carried, machine)
    for name in wanted:
        if name not in mine:
            code, message = no_program(name, machine)
            raise HostError(code, session.name, message)
        await session.ask(partial(carry, program=mine[name]))
