"""Recover a run whose engine died: find loads missing from the journal, adopt running loads and
collect results.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from tui.capacity.budget import points_planned
from tui.engine.executors.executor import AdoptedStep, run_load
from tui.engine.executors.lookup import executor_of
from tui.engine.executors.per_host import identify_written, not_reached, reopen_all, take_result
from tui.engine.run.preflight import connect_servers, preflight
from tui.engine.run.run import check_secrets, connect_all, ended, finish, how_it_ended
from tui.engine.run.steps import not_filled, run_steps
from tui.engine.session.context import (
    CONNECT,
    EXIT_PARTIAL,
    LOOK,
    REACH,
    RunContext,
    on_hosts,
    refuse_failed,
)
from tui.engine.session.history import History, steps_beside
from tui.engine.session.host_session import HostSession
from tui.model.event import PhaseName, RunEnded, StepEnded, StepStarted, TaskStarted
from tui.model.operands import clause
from tui.model.plan import Step
from tui.remote.agent import Agent
from tui.remote.transport import HostError

LOAD = re.compile(r"(?P<step>\d+)\.(?P<phase>measure|layout)(?:\.(?P<attempt>\d+))?")


async def find_loads(ctx: RunContext, history: History) -> None:
    """If the journal is damaged, find loads of unfinished steps on the hosts, and journal the loads
    that are missing in it.
    """
    if history.seen.started is not None and not history.seen.unreadable:
        return
    ctx.say("warning", clause("journal-has-gaps"))
    await on_hosts(ctx, REACH, ctx.alive, partial(_find_on, ctx, history), _not_asked)


async def _find_on(ctx: RunContext, history: History, session: HostSession) -> None:
    for found in await session.ask(Agent.tasks):
        match = LOAD.fullmatch(found.task)
        if match is not None and (found.run, found.host) == (ctx.run_id, session.agent.mark):
            status = await session.ask(partial(Agent.status, task=found.task))
            _note(ctx, history, session, match, released=status.done or status.out_bytes > 0)


def _step_started(step: Step, attempt: int) -> StepStarted:
    return StepStarted(
        t=0.0, step=step.index, attempt=attempt, hosts=step.hosts if step.together else []
    )


def _not_asked(session: HostSession, error: HostError) -> None:
    session.problem("connect", *session.loss(clause("leftovers-unknown", quote=error.told)))


def _note(
    ctx: RunContext, history: History, session: HostSession, match: re.Match[str], *, released: bool
) -> None:
    index, attempt = int(match["step"]), int(match["attempt"] or 1)
    if index >= len(ctx.plan.steps) or session.name not in ctx.plan.steps[index].hosts:
        return
    seen = history.at(index)
    if seen.state == "missing" or attempt > seen.attempt:
        history.take(ctx.journal.append(_step_started(ctx.plan.steps[index], attempt)))
        seen = history.at(index)
    phase: PhaseName = "measure" if match["phase"] == "measure" else "layout"
    known = (phase, session.name) in seen.loads or session.name in seen.results
    if known or seen.end is not None or attempt < seen.attempt:
        return
    task = ctx.task_of(ctx.plan.steps[index], session)
    event = TaskStarted(
        t=0.0,
        host=session.name,
        step=index,
        phase=phase,
        argv=task.argv,
        job_file=task.job_file,
        remote_dir="",
    )
    history.take(ctx.journal.append(event))
    if released:
        seen.released.add(session.name)


async def execute_collection(ctx: RunContext, history: History) -> RunEnded:
    """Collect an ended run's output that is still on hosts.

    Returns the closing event of its journal.
    """
    return await finish(ctx, _collected(ctx, history))


async def _collected(ctx: RunContext, history: History) -> RunEnded:
    held = history.uncollected(ctx.plan)
    hosts = {task.host for tasks in held.values() for task in tasks}
    ctx.sessions = [session for session in ctx.sessions if session.name in hosts]
    ctx.servers = []
    with ctx.phase("connect"):
        await on_hosts(ctx, REACH, ctx.sessions, _connect_to_collect, _still_away)
        ctx.on_connected()
    for index, tasks in held.items():
        await _collect_step(ctx, history, index, {task.host: task for task in tasks})
    return how_it_ended(ctx)


async def _connect_to_collect(session: HostSession) -> None:
    await session.connect_patiently()
    session.enter("connected", clause("collecting"))


def _still_away(session: HostSession, error: HostError) -> None:
    session.enter("lost", clause("still-unreachable", quote=error.told))
    session.say("warning", clause("not-collected", quote=error.told))


async def _collect_step(
    ctx: RunContext, history: History, index: int, tasks: dict[str, TaskStarted]
) -> None:
    """Collect the remaining output of a step from these hosts, and their results."""
    here = {
        name: task
        for name, task in tasks.items()
        if name in {session.name for session in ctx.alive}
    }
    if not here:
        return
    before = history.at(index)
    step = replace(ctx.plan.steps[index], attempt=before.attempt)
    journalled_ms = {host: seen.last_ms for host, seen in before.telemetry.items()}
    await ctx.telemetry.begin(
        step, [session for session in ctx.alive if session.name in here], [], journalled_ms
    )
    try:
        with ctx.phase("measure", index):
            runs = await reopen_all(ctx, history, step, here)
            outcomes = await run_load(ctx, runs, "running", step.expected_s)
    finally:
        await ctx.telemetry.end(index)
    with ctx.phase("collect", index):
        for run in runs:
            take_result(ctx, run, outcomes[run.session.name])
            if outcomes[run.session.name].collected:
                run.session.say("info", clause("collected"))
    if before.end is not None and before.end.cut and ctx.is_whole(step):
        ctx.journal.append(replace(before.end, t=0.0, cut=False))


async def execute_rest(ctx: RunContext, history: History) -> RunEnded:
    """Finish a run and return the closing event of its journal."""
    return await finish(ctx, _rest(ctx, history))


async def _rest(ctx: RunContext, history: History) -> RunEnded:
    await connect_again(ctx, not_reached("connect"))
    return await _finished(ctx, history)


async def _finished(ctx: RunContext, history: History) -> RunEnded:
    """Adopt running loads and collect results; run the later steps if a load was still running, or
    if a search already has its answer.
    """
    await find_loads(ctx, history)
    close_measured_steps(ctx, history)
    unfinished = history.unfinished(ctx.plan)
    taken_over = bool(unfinished) and (await adopt(ctx, history, unfinished)).alive
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
    """Decide a search's undecided points, and return whether it needs no further point.

    False if the run is not a search.
    """
    if not ctx.plan.slots:
        return False
    from tui.engine.run.search import decide_measured, wants_more

    decide_measured(ctx)
    return not wants_more(ctx)


async def execute_missing(ctx: RunContext, history: History, *, failed: bool) -> RunEnded:
    """Run the missing steps of a run and return the closing event of its journal.

    First follows loads left by a dead engine to their end, because one may be a missing step.
    """
    return await finish(ctx, _missing(ctx, history, failed=failed))


async def _missing(ctx: RunContext, history: History, *, failed: bool) -> RunEnded:
    adopted: set[int] = set()
    if history.ended:
        ctx.check_stop()
        await connect_all(ctx)
    # otherwise output that hosts still have would be lost when the run cleans up
    # at its end
    else:
        await connect_again(ctx)
        if ctx.stop_mode is not None:
            return await _finished(ctx, history)
        away = [session for session in ctx.sessions if session.failed]
        adopted = await _adopt_if_any(ctx, history)
        ctx.check_stop()
        check_secrets(ctx)
        refuse_failed(CONNECT, away)
    missing = [
        step for step in history.missing(ctx.plan, failed=failed) if step.index not in adopted
    ]
    seen = ctx.journal.problems - history.problems if adopted else 0
    again = history.make_again(missing)
    ctx.forget(step.index for step in again)
    ctx.journal.problems = history.problems + seen
    await on_hosts(ctx, LOOK, ctx.alive, end_earlier)
    await preflight(ctx)
    await run_steps(ctx, again)
    return how_it_ended(ctx)


async def end_earlier(session: HostSession) -> None:
    """End a load that an earlier engine started but did not journal; it must not run in
    parallel.
    """
    await session.ask(lambda agent: agent.sweep(kill=True))


def close_measured_steps(ctx: RunContext, history: History) -> None:
    """Journal the end of steps for which every host had delivered its result when the engine
    died.
    """
    for index in history.running:
        if ctx.is_whole(ctx.plan.steps[index]):
            ok = not history.at(index).problems
            history.take(ctx.journal.append(StepEnded(t=0.0, step=index, ok=ok)))


def cut_short(ctx: RunContext, rest: list[Step]) -> RunEnded:
    """Return the closing event of a run whose later steps never started."""
    why = clause("never-started", left=len(rest), steps=len(ctx.plan.steps))
    if ctx.plan.search is not None:
        why = clause(
            "points-missing",
            measured=len(ctx.search.points),
            planned=points_planned(ctx.plan.search),
            run_id=ctx.run_id,
        )
    why = clause("engine-died", why=not_filled(ctx, rest[0]) or why)
    return ended(ctx.state_unless_complete, EXIT_PARTIAL, why)


async def _adopt_if_any(ctx: RunContext, history: History) -> set[int]:
    """Follow loads left by a dead engine; return the indexes of steps that ran to their end."""
    await find_loads(ctx, history)
    close_measured_steps(ctx, history)
    unfinished = history.unfinished(ctx.plan)
    if not unfinished or not (await adopt(ctx, history, unfinished)).whole:
        return set()
    group = steps_beside(ctx.plan, max(unfinished))
    ended_before = [step for step in group if step.index not in unfinished]
    return {step.index for step in group} if all(map(ctx.is_whole, ended_before)) else set()


async def connect_again(
    ctx: RunContext, failed: Callable[[HostSession, HostError], None] | None = None
) -> None:
    """Connect to every host; an unreachable host is lost, the others continue.

    `failed`: error handler, as in `on_hosts`.
    """
    with ctx.phase("connect"):
        await on_hosts(ctx, REACH, ctx.sessions, _connect_to_recover, failed)
        await connect_servers(ctx)  # its leftovers are removed at the end
        ctx.on_connected()


async def _connect_to_recover(session: HostSession) -> None:
    await session.connect_patiently()
    session.enter("connected", clause("recovering"))


async def adopt(
    ctx: RunContext, history: History, unfinished: dict[int, list[TaskStarted]]
) -> AdoptedStep:
    """Follow the commands of running steps, left by a dead engine, to their end."""
    if not any(task.phase == "measure" for tasks in unfinished.values() for task in tasks):
        return await _adopt_layout(ctx, history, max(unfinished), unfinished[max(unfinished)])
    adopting = (_adopt_step(ctx, history, index, tasks) for index, tasks in unfinished.items())
    # if one fails, the others continue
    ends = await asyncio.gather(*adopting, return_exceptions=True)
    if faults := [end for end in ends if isinstance(end, BaseException)]:
        raise faults[0]
    found = [end for end in ends if isinstance(end, AdoptedStep)]
    return AdoptedStep(all(each.alive for each in found), all(each.whole for each in found))


async def _adopt_step(
    ctx: RunContext, history: History, index: int, tasks: list[TaskStarted]
) -> AdoptedStep:
    step = replace(ctx.plan.steps[index], attempt=history.at(index).attempt)
    measured = {task.host: task for task in tasks if task.phase == "measure"}
    if not measured:  # not armed when the engine died
        return AdoptedStep(alive=False, whole=False)
    journalled_ms = {host: seen.last_ms for host, seen in history.at(index).telemetry.items()}
    await ctx.telemetry.begin(step, ctx.taking_part(step), ctx.servers, journalled_ms)
    try:
        return await executor_of(step).adopt(ctx, history, step, measured)
    finally:
        await ctx.telemetry.end(index)


async def _adopt_layout(
    ctx: RunContext, history: History, index: int, loads: list[TaskStarted]
) -> AdoptedStep:
    """Follow a layout to its end.

    Its step then starts again: existing files are reused, missing files are written.
    """
    step = replace(ctx.plan.steps[index], attempt=history.at(index).attempt)
    tasks = {task.host: task for task in loads}
    with ctx.phase("layout", step.index, expected_s=step.expected_s):
        runs = await reopen_all(ctx, history, step, tasks)
        alive = [run.alive for run in runs]
        await run_load(ctx, runs, "layout", step.expected_s)
    with ctx.phase("collect", step.index):
        for run in runs:
            run.output.close()
        await identify_written(ctx, step, runs)
    complete = len(runs) == len(tasks) and all(alive)
    if complete:
        beside = steps_beside(ctx.plan, index)
        await run_steps(
            ctx,
            [
                replace(each, attempt=history.at(each.index).attempt + 1, pause_s=0.0)
                for each in beside
            ],
        )
    return AdoptedStep(complete, complete)
