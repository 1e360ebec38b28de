"""Preflight: every host is looked at and judged before any load starts; all hosts' problems come at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial

from tui.engine.preflight.rules import facts_of, judge_host, look_at
from tui.engine.running.courses import courses_of
from tui.engine.running.locks import take_locks
from tui.engine.running.sharing import tell_sharing
from tui.engine.safety.destroy import device_line
from tui.engine.safety.host_look import HostFindings, sizes_of, tasks_of
from tui.engine.safety.space import judge_space
from tui.engine.session.context import RunContext, RunRefused
from tui.engine.session.on_hosts import JUDGE, LOOK, on_hosts, refuse_failed
from tui.engine.session.session import HostSession
from tui.engine.session.unchanged import files_of, seen_on
from tui.journal.loss import names_of
from tui.metrics import units
from tui.model.event import HostClock, HostFacts
from tui.remote.agent import KEPT_DAYS, ClockOffset, TaskDir
from tui.remote.answers import Expired

SLOW_S = 15.0  # a host that is looked at for longer is shown to be


async def preflight(ctx: RunContext) -> None:
    """Look at every host, then judge. Raises RunRefused (exit 3) when any host cannot run the plan."""
    with ctx.phase("preflight"):
        try:
            await look_and_judge(ctx)
            if await take_locks(ctx):
                await look_and_judge(ctx)  # another run has used the hosts since
            for course in courses_of(ctx.plan):
                await course.try_ahead(ctx)
        except RunRefused:
            tell_ready(ctx)  # nothing is wrong with the others
            raise
        tell_ready(ctx)


def tell_ready(ctx: RunContext) -> None:
    """Say which hosts could run the plan."""
    for session in ctx.alive:
        session.enter("ready")


async def look_and_judge(ctx: RunContext) -> None:
    """Look at every host and tell all problems of all hosts. Raises RunRefused when there is one."""
    found = await on_hosts(ctx, LOOK, ctx.alive, partial(_look, ctx))
    for session in ctx.alive:
        findings = found[session.name]
        session.missing = {path for path, info in findings.files.items() if info is None}
        session.short = smaller_than_planned(sizes_of(ctx.plan, session.name), findings)
        for code, message in judge_host(ctx.plan, session.name, findings):
            session.problem("preflight", code, message)
    tell_sharing(ctx, found)
    for name, (code, message) in judge_space(ctx.plan, found).items():
        next(session for session in ctx.sessions if session.name == name).problem("preflight", code, message)
    for course in courses_of(ctx.plan):
        await course.look(ctx)
    refuse_failed(JUDGE, ctx.sessions)


def smaller_than_planned(sizes: Mapping[str, int], findings: HostFindings) -> set[str]:
    """Return files that runs of ours had made smaller than this one needs them: it makes them anew."""
    there = ((path, info) for path, info in findings.files.items() if info is not None and path in findings.ours)
    return {path for path, info in there if info.size < sizes.get(path, 0)}


def tell_expired(session: HostSession, expired: Expired) -> None:
    """Say what was taken away on a host that other runs had left there."""
    for gone in expired.ended:
        text = f"ended {gone.size} processes of run {gone.run}: its lease had expired and its supervisor was killed"
        session.say("warning", text)
    for gone in expired.removed:
        text = f"removed the spool of run {gone.run} under /tmp ({units.size(gone.size)})"
        session.say("info", f"{text}: nobody collected it in {KEPT_DAYS} days")


def tell_leftovers(session: HostSession, tasks: Sequence[TaskDir]) -> None:
    """Say what runs that are over have left on a host: its data may be wanted yet, so nothing is removed."""
    going_on = {session.run_id, *(task.run for task in tasks if task.alive)}  # steps that are over lie beside them
    if runs := sorted({task.run for task in tasks} - going_on):
        text = f"something is left under /tmp of {names_of(runs)}: benchtui runs recover, or hosts sweep"
        session.say("info", text)


async def _look(ctx: RunContext, session: HostSession) -> HostFindings:
    session.enter("checking")
    slow = asyncio.create_task(_say_slow(session))
    try:
        return await _findings(ctx, session)
    finally:
        slow.cancel()


async def _say_slow(session: HostSession) -> None:
    """Show that a host takes its time: it may be busy, and is waited for."""
    begun = time.monotonic()
    while True:
        await asyncio.sleep(SLOW_S)
        waited = time.monotonic() - begun
        session.enter("checking", f"looked at for {waited:.0f}s already: busy, or a file system hangs; still waiting")


async def _findings(ctx: RunContext, session: HostSession) -> HostFindings:
    found = await look_at(ctx.plan, session.name, session.ask, ctx.made_files.on(session.name))
    known = await facts_of(ctx.plan, session.name, session.ask, found)
    clock = await session.ask(lambda agent: agent.clock())
    tell_expired(session, await session.ask(lambda agent: agent.expire()))
    tell_leftovers(session, await session.ask(lambda agent: agent.tasks()))
    session.facts, session.ours, session.devices = known, found.ours, found.devices
    paths = [path for task in tasks_of(ctx.plan, session.name) for path in files_of(task)]
    session.seen = await session.ask(partial(seen_on, paths=sorted(set(paths))))
    written = {spec.path for task in tasks_of(ctx.plan, session.name) for spec in task.written}
    for path, facts in found.devices.items():
        session.say("warning" if facts.unsure and path in written else "info", device_line(facts))
    session.journal.append(HostFacts(t=0.0, host=session.name, facts=session.facts))
    if clock is not None:
        session.journal.append(clock_event(session, clock))
    return found


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
