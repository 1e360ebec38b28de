"""Run steps in order: pauses, preconditioning rounds, failed steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from tui.engine.executors.io_limits import record_changed_limits
from tui.engine.executors.lookup import executor_of
from tui.engine.run.layout import (
    check_written,
    drop_caches,
    layout,
    make_directories,
    sample_content,
)
from tui.engine.run.preflight import copy_programs, take_locks
from tui.engine.session.context import (
    BRING_BACK,
    EXIT_PARTIAL,
    HostsAway,
    RunContext,
    RunRefused,
    RunStopped,
    Window,
    ended_allocations,
    on_hosts,
)
from tui.engine.session.host_session import HostSession
from tui.engine.session.targets import check_unchanged, still_free
from tui.engine.session.telemetry import quiet_s
from tui.metrics.figures import over_hosts, value_of
from tui.metrics.repeat import relative_ci
from tui.metrics.steady import Round, is_steady, round_of, rounds_before, window_over
from tui.model.event import StepEnded, StepStarted
from tui.model.operands import Clause, clause, is_clause
from tui.model.plan import Step, at_once


def check_filled(ctx: RunContext, step: Step) -> None:
    """Raise RunRefused if a participating host has not filled the step's files as planned."""
    if reason := not_filled(ctx, step):
        raise RunRefused(EXIT_PARTIAL, reason)


def not_filled(ctx: RunContext, step: Step) -> Clause | None:
    """Return the hosts that have not filled the step's files as planned, with advice; None if all
    have.
    """
    for fill in fills_needed(ctx.plan.steps, step):
        hosts = [session.name for session in ctx.taking_part(step) if session.name in fill.hosts]
        # one host fills an image for all
        if any(task.images or task.objects for task in fill.tasks):
            hosts = fill.hosts
        results = {host: ctx.results.get((fill.index, host)) for host in hosts}
        bare = [
            host for host, each in results.items() if each is None or not each.final or each.errors
        ]
        if bare:
            return clause("not-filled", hosts=bare, run_id=ctx.run_id)
    return None


def fills_needed(steps: list[Step], step: Step) -> Iterator[Step]:
    """Yield earlier steps that fill files used by this step."""
    used = _used(step)
    for fill in steps[: step.index] if not step.is_fill else ():
        if fill.is_fill and used & _used(fill):
            yield fill


def _used(step: Step) -> set[tuple[str, str]]:
    """Return the step's files with their host; images and objects, which all hosts share, without
    one.
    """
    files = {(task.host, spec.path) for task in step.tasks for spec in task.files}
    objects = {
        each.key
        for task in step.tasks
        for each in task.objects
        if each.does != ("put",) or step.is_fill
    }
    return files | objects | {("", image) for task in step.tasks for image in task.images_used}


def unmet_needs(ctx: RunContext, step: Step) -> list[str]:
    """Return the profiles that a step needs and that failed on a host in this pass of the suite."""
    failed = []
    for each in ctx.plan.steps[: step.index]:
        if each.profile not in step.needs or each.warmup or each.index in ctx.skipped:
            continue
        results = [ctx.results.get((each.index, host)) for host in each.hosts]
        whole = all(result and result.final and not result.errors for result in results)
        if each.repetition == step.repetition and not whole and each.profile not in failed:
            failed.append(each.profile)
    return failed


def steady_already(ctx: RunContext, step: Step) -> Clause | None:
    """Return why a preconditioning round can be skipped; None if it must run."""
    if step.precondition is None or not step.is_round:
        return None
    made = rounds_made(ctx, step)
    rounds = [_round(ctx, each) for each in made[-step.precondition.window :]]
    window = window_over(step.precondition, rounds)
    if window is None or not is_steady(step.precondition, rounds):
        return None
    return clause(
        "steady-after",
        rounds=len(made),
        spread=window.range,
        most_spread=step.precondition.range,
        slope=window.slope,
        most_slope=step.precondition.slope,
    )


def tell_round(ctx: RunContext, step: Step) -> None:
    """Report the result of a preconditioning round; a warning if the last round left the load
    unsteady.
    """
    rule, headline = step.precondition, ctx.plan.headline_of(step)
    if rule is None or headline is None or not step.is_round:
        return
    rounds = [_round(ctx, each) for each in [*rounds_made(ctx, step), step][-rule.window :]]
    window = window_over(rule, rounds)
    unsteady = rule.number == rule.rounds and not is_steady(rule, rounds)
    told = clause(
        "round-measured",
        round=rule.number,
        rounds=rule.rounds,
        figure=[headline.metric, headline.direction, headline.percentile, rounds[-1].value],
        window=rule.window,
        spread=window.range if window is not None else None,
        most_spread=rule.range,
        slope=window.slope if window is not None else None,
        most_slope=rule.slope,
        unsteady=unsteady,
    )
    ctx.say("warning" if unsteady else "info", told)


def rounds_made(ctx: RunContext, step: Step) -> list[Step]:
    """Return the preconditioning rounds that ran before this step."""
    return [each for each in rounds_before(ctx.plan.steps, step) if each.index not in ctx.skipped]


def _round(ctx: RunContext, step: Step) -> Round:
    return round_of(
        ctx.plan, step, {host: ctx.results.get((step.index, host)) for host in step.hosts}
    )


BACK_WITHIN_S = 10.0


async def run_steps(ctx: RunContext, steps: Sequence[Step]) -> None:
    """Run steps in order; if a step of a matrix fails, the others still run.

    Raises RunStopped, and RunRefused if the only step failed or no host is left.
    """
    slots = {step.index for step in ctx.plan.slots}
    await _in_turn(ctx, [step for step in steps if step.index not in slots])
    if slots:
        # half of the engine's imports
        from tui.engine.run.search import run_search

        await run_search(ctx, [step for step in steps if step.index in slots], _measured)


async def _measured(ctx: RunContext, step: Step) -> None:
    """Measure a point of a search.

    Raises HostsAway if a host that it needs is lost.
    """
    await pause(ctx, [step])
    await bring_back(ctx)
    if away := [name for name in step.hosts if name not in {session.name for session in ctx.alive}]:
        raise HostsAway(away, ctx.run_id)
    check_filled(ctx, step)
    await run_step(ctx, step)


async def _in_turn(ctx: RunContext, steps: Sequence[Step]) -> None:
    for group in at_once(steps):
        ctx.check_stop()
        if ctx.given_up or (ctx.sessions and all(session.gone for session in ctx.sessions)):
            gone = ended_allocations(ctx.sessions) or ctx.given_up
            raise RunRefused(EXIT_PARTIAL, gone)
        if _left_out(ctx, group):
            continue
        await pause(ctx, group)
        await bring_back(ctx)
        for step in group:
            check_filled(ctx, step)
        try:
            await (run_together(ctx, group) if group[0].together else run_step(ctx, group[0]))
            tell_round(ctx, group[0])
        except RunRefused as refused:
            if len(ctx.plan.steps) == len(group):
                raise
            # the reason names it, if there are several
            name = "" if group[0].together else group[0].name
            ctx.say("error", clause("next-step", step=name, why=refused.reason))


def _left_out(ctx: RunContext, group: Sequence[Step]) -> bool:
    """Skip a step that is not needed, and return whether; concurrent steps always run."""
    step = group[0]
    known = None if step.together else known_well_enough(ctx, step) or steady_already(ctx, step)
    if known:
        ctx.skipped.add(step.index)
        ctx.journal.append(StepEnded(t=0.0, step=step.index, skipped=True, reason=known))
    return bool(known)


async def run_step(ctx: RunContext, step: Step) -> None:
    """Prepare and measure one step."""
    async with _journalled(ctx, step):
        await _admit(ctx, step)
        await watch_quiet_hosts(ctx, [step])
        await _prepare(ctx, step)
        await _measure(ctx, step, Window())


async def run_together(ctx: RunContext, steps: Sequence[Step]) -> None:
    """Prepare steps one by one, then measure them at the same time, each on its own hosts.

    Raises RunStopped, and RunRefused if a step cannot start; a step that fails later does not
    affect the others.
    """
    window, preparing = Window(len(steps)), asyncio.Lock()

    async def one(step: Step) -> None:
        async with _journalled(ctx, step):
            try:
                async with preparing:
                    await _admit(ctx, step)
                await window.meet(ctx)
                if step is steps[0]:
                    await watch_quiet_hosts(ctx, steps)
                await window.meet(ctx)
                async with preparing:
                    await _prepare(ctx, step)
                await window.meet(ctx)
                await _measure(ctx, step, window)
            except RunRefused as refused:
                why = clause("in-step", step=step.name, why=refused.reason)
                await window.leave(why)
                raise RunRefused(refused.exit_code, why) from refused
            except BaseException:
                await window.leave(clause("in-step", step=step.name, why=clause("interrupted")))
                raise

    ends = await asyncio.gather(*map(one, steps), return_exceptions=True)
    faults = [end for end in ends if isinstance(end, BaseException)]
    if faults:
        raise min(faults, key=_rank)


def _rank(fault: BaseException) -> int:
    """Return the sort key of an error: internal errors first, then stops, refusals, and steps that
    never began.
    """
    if isinstance(fault, RunRefused):
        return 3 if _never_began(fault.reason) else 2
    return 1 if isinstance(fault, RunStopped) else 0


def _never_began(reason: object) -> bool:
    """Return whether a step was refused because another one was."""
    if not is_clause(reason):
        return False
    return reason["code"] == "not-started" or _never_began(reason["operands"].get("why"))


@asynccontextmanager
async def _journalled(ctx: RunContext, step: Step) -> AsyncIterator[None]:
    """Journal the start and end of a step; end its telemetry on exit."""
    hosts = step.hosts if step.together else []
    ctx.journal.append(StepStarted(t=0.0, step=step.index, attempt=step.attempt, hosts=hosts))
    for session in ctx.sessions:
        # discards data of an earlier attempt
        session.holds.discard(step.index)
    problems = ctx.journal.problems_on(step.hosts)
    reason: Clause | str = clause("cut-off")
    try:
        yield
        reason = ""
    except RunRefused as refused:
        reason = refused.reason
        raise
    finally:
        await ctx.telemetry.end(step.index)
        cut = ctx.stop_mode is not None and not ctx.is_whole(step)
        ok = not reason and not cut and problems == ctx.journal.problems_on(step.hosts)
        early = ctx.ended_early.get(step.index, "") if ok else ""
        ctx.journal.append(
            StepEnded(t=0.0, step=step.index, ok=ok, cut=cut or bool(early), reason=reason or early)
        )


async def _admit(ctx: RunContext, step: Step) -> None:
    """Report a step's lost hosts and lock the remaining ones.

    Raises RunRefused if none is left, if one is in use, or if a profile that the step needs failed.
    """
    name_the_absent(ctx, step)
    if failed := unmet_needs(ctx, step):
        raise RunRefused(EXIT_PARTIAL, clause("profiles-failed", profiles=failed))
    if not ctx.taking_part(step):
        raise RunRefused(EXIT_PARTIAL, clause("no-host-left"))
    await take_locks(ctx)


async def _prepare(ctx: RunContext, step: Step) -> None:
    """Prepare a step up to the arming of its hosts. Raises RunRefused, RunStopped."""
    await still_free(ctx, step)
    await check_unchanged(ctx, step)
    await make_directories(ctx, step)
    await layout(ctx, step)
    ctx.check_stop()
    await check_written(ctx, step)
    await sample_content(ctx, step, "read")
    await drop_caches(ctx, step)


async def _measure(ctx: RunContext, step: Step, window: Window) -> None:
    await executor_of(step).measure(ctx, step, window)
    await sample_content(ctx, step, "written")
    await record_changed_limits(ctx, step)


async def watch_quiet_hosts(ctx: RunContext, steps: Sequence[Step]) -> None:
    """Start the telemetry of these steps; before the run's first load, also wait a few seconds to
    check that hosts are quiet.
    """
    begun = (ctx.telemetry.begin(step, ctx.taking_part(step), ctx.servers) for step in steps)
    await ctx.unless_stopped(asyncio.gather(*begun))
    seconds = quiet_s(ctx.plan)
    if ctx.telemetry.looked or not seconds:
        return
    ctx.telemetry.quiet(now=True)
    try:
        with ctx.phase("pause", steps[0].index, expected_s=seconds):
            await ctx.unless_stopped(asyncio.sleep(seconds))
            await ctx.unless_stopped(ctx.telemetry.seen_quiet())
    finally:
        ctx.telemetry.quiet(now=False)


def name_the_absent(ctx: RunContext, step: Step) -> None:
    """Report every lost host that is missing from a step, so that a smaller total never goes
    unnoticed.
    """
    here = {session.name for session in ctx.taking_part(step)}
    for session in ctx.sessions:
        if session.name in step.hosts and session.name not in here:
            lost = session.loss(clause("lost-before-step", step=step.name))
            session.problem("barrier", *lost, fatal=False)


def known_well_enough(ctx: RunContext, step: Step) -> Clause | None:
    """Return why an optional repetition can be skipped; None if it must run."""
    until = step.until or ctx.plan.until
    if until is None or not step.optional:
        return None
    headline, kind = ctx.plan.headline_of(step), ctx.plan.latency_kind_of(step)
    values = []
    for other in ctx.plan.steps:
        if (
            other.cell == step.cell
            and not other.warmup
            and other.index < step.index
            and headline is not None
        ):
            found = (ctx.results.get((other.index, host)) for host in other.hosts)
            results = [
                result
                for result in found
                if result is not None and result.final and not result.errors
            ]
            value = value_of(headline, over_hosts([result.dirs for result in results]), kind)
            values += [value] if value is not None and len(results) == len(other.hosts) else []
    width = relative_ci(values)
    if len(values) < until.least or width is None or width > until.width:
        return None
    return clause("known-well-enough", width=width, repetitions=len(values))


async def pause(ctx: RunContext, steps: Sequence[Step]) -> None:
    """Wait without load before a step or concurrent steps, as planned."""
    step = max(steps, key=lambda step: step.pause_s)
    if step.pause_s:
        with ctx.phase("pause", step.index, expected_s=step.pause_s):
            await ctx.unless_stopped(asyncio.sleep(step.pause_s))


async def bring_back(ctx: RunContext) -> None:
    """Try once, briefly, to reconnect hosts lost in an earlier step."""
    gone = [session for session in ctx.sessions if session.failed]
    one_back = partial(_one_back, ctx)
    await on_hosts(
        ctx,
        BRING_BACK,
        gone,
        one_back,
        lambda session, error: session.enter("lost", error.told),
    )


async def _one_back(ctx: RunContext, session: HostSession) -> None:
    await session.disconnect()
    await session.connect(BACK_WITHIN_S)
    await session.agent.sweep(kill=True)  # its old load must not run in parallel
    await copy_programs(ctx, session)  # a rebooted host has lost them
    session.enter("ready", clause("rejoined"))
