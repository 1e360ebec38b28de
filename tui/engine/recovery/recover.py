"""Going on with a run whose engine died: collect what the hosts still hold, take over what still runs.

New load is started only when the old one was still alive: then the run continues as if nothing had happened. When
the lease has ended it, what was measured is collected and the run ends as partial.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tui.engine.per_host.measure import identify_written
from tui.engine.per_host.reopen import not_reached, reopen_all
from tui.engine.recovery.find_loads import find_loads
from tui.engine.running.courses import course_of
from tui.engine.running.precondition import not_filled
from tui.engine.running.preflight import preflight
from tui.engine.running.run import brought_to_an_end, check_secrets, connect_all, ended, how_it_ended
from tui.engine.running.servers import connect_servers
from tui.engine.running.steps import run_steps
from tui.engine.session.context import RunContext
from tui.engine.session.course import Adopted
from tui.engine.session.history import History
from tui.engine.session.load import run_load
from tui.engine.session.on_hosts import CONNECT, EXIT_PARTIAL, LOOK, REACH, on_hosts, refuse_failed
from tui.engine.session.session import HostSession
from tui.model.event import RunEnded, StepEnded, TaskStarted
from tui.model.plan import Step
from tui.remote.transport import HostError
from tui.sizing.lacking import points_planned


async def execute_rest(ctx: RunContext, history: History) -> RunEnded:
    """Finish a run and return the last event of its journal."""
    return await brought_to_an_end(ctx, _rest(ctx, history))


async def _rest(ctx: RunContext, history: History) -> RunEnded:
    await connect_again(ctx, not_reached("connect"))
    return await _finished(ctx, history)


async def _finished(ctx: RunContext, history: History) -> RunEnded:
    """Take over or collect what hosts hold, then run the later steps of a load that still ran."""
    await find_loads(ctx, history)
    close_measured_step(ctx, history)
    unfinished = history.unfinished()
    taken_over = unfinished != [] and (await adopt(ctx, history, unfinished)).alive
    known = search_is_over(ctx)
    rest = [step for step in ctx.plan.steps if step.index not in history.begun]
    if taken_over and rest:
        ctx.check_stop()
        check_secrets(ctx)
        await preflight(ctx)
    if taken_over or known:
        await run_steps(ctx, rest)
    return how_it_ended(ctx) if taken_over or known or not rest else cut_short(ctx, rest)


def search_is_over(ctx: RunContext) -> bool:
    """Decide what was measured of a search before; tell whether it needs no further point. False of other runs."""
    if not ctx.plan.slots:
        return False
    from tui.engine.running.search import decide_measured, wants_more

    decide_measured(ctx)
    return not wants_more(ctx)


async def execute_missing(ctx: RunContext, history: History, *, failed: bool) -> RunEnded:
    """Run the steps that a run still lacks and return the last event of its journal.

    What a dead engine had left running is followed to its end first: it may be one of them.
    """
    return await brought_to_an_end(ctx, _missing(ctx, history, failed=failed))


async def _missing(ctx: RunContext, history: History, *, failed: bool) -> RunEnded:
    adopted: int | None = None
    if history.ended:
        ctx.check_stop()
        await connect_all(ctx)
    else:  # a run that ended before what hosts hold is collected could never have it: they are cleaned up at its end
        await connect_again(ctx)
        if ctx.stop_mode is not None:
            return await _finished(ctx, history)
        away = [session for session in ctx.sessions if session.failed]
        adopted = await _adopt_if_any(ctx, history)
        ctx.check_stop()
        check_secrets(ctx)
        refuse_failed(CONNECT, away)
    missing = [step for step in history.missing(ctx.plan, failed=failed) if step.index != adopted]
    seen = ctx.journal.problems - history.problems if adopted is not None else 0
    again = history.make_again(missing)
    ctx.forget(step.index for step in again)
    ctx.journal.problems = history.problems + seen
    await on_hosts(ctx, LOOK, ctx.alive, end_earlier)
    await preflight(ctx)
    await run_steps(ctx, again)
    return how_it_ended(ctx)


async def end_earlier(session: HostSession) -> None:
    """End what an earlier engine had started on a host without saying so in the journal: it must not measure along."""
    await session.ask(lambda agent: agent.sweep(kill=True))


def close_measured_step(ctx: RunContext, history: History) -> None:
    """End a step that every host had brought its result of when the engine died."""
    index = history.step
    if index is None or history.ended or not ctx.is_whole(ctx.plan.steps[index]):
        return
    ok = not history.at(index).problems
    history.take(ctx.journal.append(StepEnded(t=0.0, step=index, ok=ok)))


def cut_short(ctx: RunContext, rest: list[Step]) -> RunEnded:
    """Return the end of a run whose later steps never began."""
    told = f"{len(rest)} of {len(ctx.plan.steps)} steps never began"
    if ctx.plan.search is not None:
        planned = points_planned(ctx.plan.search)
        told = f"{len(ctx.search.points)} of at most {planned} points measured: runs resume, or u on Runs, goes on"
    told = not_filled(ctx, rest[0]) or told
    return ended("partial" if ctx.measured_hosts else "failed", EXIT_PARTIAL, f"the engine died; {told}")


async def _adopt_if_any(ctx: RunContext, history: History) -> int | None:
    """Follow what a dead engine had left running; return the step when it came to its end."""
    await find_loads(ctx, history)
    close_measured_step(ctx, history)
    unfinished = history.unfinished()
    if unfinished and (await adopt(ctx, history, unfinished)).whole:
        return unfinished[0].step
    return None


async def connect_again(ctx: RunContext, failed: Callable[[HostSession, HostError], None] | None = None) -> None:
    """Connect to every host; one that cannot be reached is lost, the others go on. `failed`: as of `on_hosts`."""
    with ctx.phase("connect"):
        await on_hosts(ctx, REACH, ctx.sessions, _connect_one, failed)
        await connect_servers(ctx)  # what a dead engine had there is removed in the end
        ctx.on_connected()


async def _connect_one(session: HostSession) -> None:
    await session.connect_patiently()
    session.enter("connected", "recovering")


async def adopt(ctx: RunContext, history: History, unfinished: list[TaskStarted]) -> Adopted:
    """Follow the commands of the step that was going on to their end."""
    step = ctx.plan.steps[unfinished[0].step]
    step = replace(step, attempt=history.at(step.index).attempt)
    measured = {task.host: task for task in unfinished if task.phase == "measure"}
    if measured:
        journalled_ms = {host: seen.last_ms for host, seen in history.at(step.index).telemetry.items()}
        await ctx.telemetry.begin(step, ctx.taking_part(step), ctx.servers, journalled_ms)
        try:
            return await course_of(step).adopt(ctx, history, step, measured)
        finally:
            await ctx.telemetry.end()
    return await _adopt_layout(ctx, history, step, {task.host: task for task in unfinished})


async def _adopt_layout(ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]) -> Adopted:
    """Follow a layout; then the step is begun again: what was laid out is found, what is missing is written."""
    with ctx.phase("layout", step.index, expected_s=step.expected_s):
        runs = await reopen_all(ctx, history, step, tasks)
        alive = [run.alive for run in runs]
        await run_load(ctx, runs, "layout", step.expected_s)
    with ctx.phase("collect", step.index):
        for run in runs:
            run.keep()
        await identify_written(ctx, step, runs)
    complete = len(runs) == len(tasks) and all(alive)
    if complete:
        await run_steps(ctx, [replace(step, attempt=step.attempt + 1, pause_s=0.0)])
    return Adopted(complete, complete)
