"""The course of the steps of a run: in order, with pauses, skipping what need not be run, past what failed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from tui.engine.per_host.still_free import still_free
from tui.engine.running.courses import course_of
from tui.engine.running.extents import look_at_written
from tui.engine.running.layout import layout, make_directories
from tui.engine.running.locks import take_locks
from tui.engine.running.precondition import check_filled, steady_already, tell_round
from tui.engine.session.context import RunContext, RunRefused
from tui.engine.session.on_hosts import BRING_BACK, DROP_CACHES, EXIT_PARTIAL, HostsAway, on_hosts
from tui.engine.session.session import HostSession
from tui.engine.session.telemetry import quiet_s
from tui.engine.session.unchanged import check_unchanged
from tui.metrics import units
from tui.metrics.figures import over_hosts, value_of
from tui.metrics.repeat import relative_ci
from tui.model.event import CacheDropped, StepEnded, StepStarted
from tui.model.plan import Step
from tui.remote.agent import CacheDrop
from tui.remote.transport import HostError

BACK_WITHIN_S = 10.0


async def run_steps(ctx: RunContext, steps: Sequence[Step]) -> None:
    """Run steps one after the other. A step of a matrix that fails leaves the others their turn.

    Raises RunStopped, and RunRefused when the only step failed or no host is left.
    """
    slots = {step.index for step in ctx.plan.slots}
    await _in_turn(ctx, [step for step in steps if step.index not in slots])
    if slots:
        from tui.engine.running.search import run_search  # what it needs is half of what an engine loads

        await run_search(ctx, [step for step in steps if step.index in slots], _measured)


async def _measured(ctx: RunContext, step: Step) -> None:
    """Measure a point of a search."""
    await pause(ctx, step)
    await bring_back(ctx)
    if away := [name for name in step.hosts if name not in {session.name for session in ctx.alive}]:
        raise HostsAway(away)
    check_filled(ctx, step)
    await run_step(ctx, step)


async def _in_turn(ctx: RunContext, steps: Sequence[Step]) -> None:
    alone = len(ctx.plan.steps) == 1
    for step in steps:
        ctx.check_stop()
        if ctx.given_up:
            raise RunRefused("partial", EXIT_PARTIAL, ctx.given_up)
        if known := known_well_enough(ctx, step) or steady_already(ctx, step):
            ctx.skipped.add(step.index)
            ctx.journal.append(StepEnded(t=0.0, step=step.index, skipped=True, reason=known))
            continue
        await pause(ctx, step)
        await bring_back(ctx)
        check_filled(ctx, step)
        try:
            await run_step(ctx, step)
            tell_round(ctx, step)
        except RunRefused as refused:
            if alone:
                raise
            ctx.say("error", f"{step.name}: {refused.reason}; going on with the next one")


async def run_step(ctx: RunContext, step: Step) -> None:
    """Prepare and measure one step."""
    ctx.journal.append(StepStarted(t=0.0, step=step.index, attempt=step.attempt))
    for session in ctx.sessions:
        session.holds.discard(step.index)  # what it has of an earlier attempt is not wanted any more
    problems, reason = ctx.journal.problems, "cut off"
    try:
        name_the_absent(ctx, step)
        if not ctx.taking_part(step):
            raise RunRefused("failed", EXIT_PARTIAL, "no host is left")
        await take_locks(ctx)
        await look_at_quiet_hosts(ctx, step)
        await still_free(ctx, step)
        await check_unchanged(ctx, step)
        await make_directories(ctx, step)
        await layout(ctx, step)
        ctx.check_stop()
        await look_at_written(ctx, step)
        await drop_caches(ctx, step)
        await course_of(step).measure(ctx, step)
        reason = ""
    except RunRefused as refused:
        reason = refused.reason
        raise
    finally:
        await ctx.telemetry.end()
        cut = ctx.stop_mode is not None and not ctx.is_whole(step)
        ok = not reason and not cut and problems == ctx.journal.problems
        early = ctx.ended_early.get(step.index, "") if ok else ""
        ctx.journal.append(StepEnded(t=0.0, step=step.index, ok=ok, cut=cut or bool(early), reason=reason or early))


async def look_at_quiet_hosts(ctx: RunContext, step: Step) -> None:
    """Begin telemetry, before the first load of a run with some seconds without any: are the hosts quiet?"""
    await ctx.unless_stopped(ctx.telemetry.begin(step, ctx.taking_part(step), ctx.servers))
    seconds = quiet_s(ctx.plan)
    if ctx.telemetry.looked or not seconds:
        return
    ctx.telemetry.quiet(now=True)
    try:
        with ctx.phase("pause", step.index, expected_s=seconds):
            await ctx.unless_stopped(asyncio.sleep(seconds))
            await ctx.unless_stopped(ctx.telemetry.seen_quiet())
    finally:
        ctx.telemetry.quiet(now=False)


def name_the_absent(ctx: RunContext, step: Step) -> None:
    """Say of every host that dropped out before a step that it has no part in it: a smaller total is never silent."""
    here = {session.name for session in ctx.taking_part(step)}
    for session in ctx.sessions:
        if session.name in step.hosts and session.name not in here:
            session.problem("barrier", "host-lost", f"lost before this step: takes no part in {step.name}", fatal=False)


def known_well_enough(ctx: RunContext, step: Step) -> str:
    """Return why an optional repetition need not be made; an empty text when it must be."""
    until = step.until or ctx.plan.until
    if until is None or not step.optional:
        return ""
    headline, kind = ctx.plan.headline_of(step), ctx.plan.latency_kind_of(step)
    values = []
    for other in ctx.plan.steps:
        if other.cell == step.cell and not other.warmup and other.index < step.index and headline is not None:
            found = (ctx.results.get((other.index, host)) for host in other.hosts)
            results = [result for result in found if result is not None and result.final and not result.errors]
            value = value_of(headline, over_hosts([result.dirs for result in results]), kind)
            values += [value] if value is not None and len(results) == len(other.hosts) else []
    width = relative_ci(values)
    if len(values) < until.least or width is None or width > until.width:
        return ""
    return f"known to ±{units.share(width, 1)} after {len(values)} repetitions"


async def pause(ctx: RunContext, step: Step) -> None:
    """Let time pass without load, as planned."""
    if step.pause_s:
        with ctx.phase("pause", step.index, expected_s=step.pause_s):
            await ctx.unless_stopped(asyncio.sleep(step.pause_s))


async def bring_back(ctx: RunContext) -> None:
    """Give hosts that dropped out in an earlier step another chance: once, and not for long."""
    gone = [session for session in ctx.sessions if session.failed]
    await on_hosts(ctx, BRING_BACK, gone, _one_back, lambda session, error: session.enter("lost", error.message))


async def _one_back(session: HostSession) -> None:
    await session.disconnect()
    await session.connect(BACK_WITHIN_S)
    await session.agent.sweep(kill=True)  # what it was lost with must not measure along
    session.enter("ready", "takes part again")


async def drop_caches(ctx: RunContext, step: Step) -> None:
    """Drop the page caches of all hosts before a measurement, and say how it went; never a silent no-op."""
    wanted = ctx.plan.drop_caches_before(step)
    if wanted == "no":
        return
    errors: dict[str, str] = {}

    def not_asked(session: HostSession, error: HostError) -> None:
        errors[session.name] = error.message

    sessions = ctx.taking_part(step)
    answers = await on_hosts(ctx, DROP_CACHES, sessions, partial(_drop_on, ctx, step), not_asked)
    answers |= {name: CacheDrop("none", False, message) for name, message in errors.items()}
    dropped = {session.name: _say_dropped(session, step, answers[session.name], wanted) for session in sessions}
    failed = [name for name, ok in dropped.items() if not ok]
    if failed and wanted == "require":
        raise RunRefused("failed", EXIT_PARTIAL, f"page cache not dropped on {', '.join(failed)}")


def _say_dropped(session: HostSession, step: Step, answer: CacheDrop, wanted: str) -> bool:
    """Journal how a host dropped its page cache, and tell the operator; True when it did."""
    ok, method, detail = answer.ok, answer.method, answer.detail
    session.journal.append(CacheDropped(t=0.0, host=session.name, step=step.index, ok=ok, method=method, detail=detail))
    how = ": ".join(part for part in (method, detail) if part)
    if ok:
        session.say("info", f"page cache dropped ({how}) before {step.name}")
    elif wanted == "require":
        session.problem("layout", "cache-not-dropped", f"page cache could not be dropped: {how}", fatal=False)
    else:
        session.say("warning", f"page cache not dropped: {how}")
    return ok


async def _drop_on(ctx: RunContext, step: Step, session: HostSession) -> CacheDrop:
    paths = [spec.path for spec in ctx.task_of(step, session).files]
    return await session.ask(lambda agent: agent.drop_caches(paths))
