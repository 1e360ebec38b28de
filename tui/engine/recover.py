"""Going on with a run whose engine died: collect what the hosts still hold, take over what still runs.

New load is started only when the old one was still alive: then the run continues as if nothing had happened. When
the lease has ended it, what was measured is collected and the run ends as partial.
"""

from __future__ import annotations

import asyncio

from tui.engine.context import RunContext, RunRefused, RunStopped
from tui.engine.history import History
from tui.engine.load import run_load
from tui.engine.measure import take_result, task_run
from tui.engine.preflight import preflight
from tui.engine.run import EXIT_PARTIAL, ended, leave_hosts, run_step, verdict
from tui.engine.session import HostSession
from tui.engine.task import TaskRun
from tui.model.event import RunEnded, TaskStarted
from tui.model.plan import Step
from tui.remote.transport import HostError


async def execute_rest(ctx: RunContext, history: History) -> RunEnded:
    """Finish a run and return the last event of its journal."""
    try:
        await connect_again(ctx)
        unfinished = history.unfinished()
        taken_over = await adopt(ctx, history, unfinished) if unfinished else False
        rest = [step for step in ctx.plan.steps if step.index > last_step(history)]
        if taken_over and rest and not ctx.journal.problems:
            await preflight(ctx)
            for step in rest:
                ctx.check_stop()
                await run_step(ctx, step)
        end = verdict(ctx) if taken_over or not rest else cut_short(ctx, rest)
    except RunRefused as refused:
        end = ended("partial" if ctx.measured_hosts else "failed", refused.exit_code, refused.reason)
    except RunStopped:
        end = verdict(ctx)
    finally:
        await leave_hosts(ctx)
    return ctx.journal.append(end)


def last_step(history: History) -> int:
    """Return the newest step that was begun; -1 when none was."""
    return max((task.step for task in history.tasks.values()), default=-1)


def cut_short(ctx: RunContext, rest: list[Step]) -> RunEnded:
    """Return the end of a run whose later steps never began."""
    reason = f"the engine died; {len(rest)} of {len(ctx.plan.steps)} steps never began"
    return ended("partial" if ctx.measured_hosts else "failed", EXIT_PARTIAL, reason)


async def connect_again(ctx: RunContext) -> None:
    """Connect to every host; one that cannot be reached is lost, the others go on."""
    with ctx.phase("connect"):
        await asyncio.gather(*(_connect_one(session) for session in ctx.sessions))


async def _connect_one(session: HostSession) -> None:
    try:
        await session.connect()
        session.enter("connected", "recovering")
    except HostError as error:
        session.problem("connect", "host-lost", f"not reached for recovery: {error.message}")


async def adopt(ctx: RunContext, history: History, unfinished: list[TaskStarted]) -> bool:
    """Follow the commands of the step that was going on to their end; True when all of them were still alive."""
    step = ctx.plan.steps[unfinished[0].step]
    phase = "measure" if any(task.phase == "measure" for task in unfinished) else "layout"
    tasks = {task.host: task for task in unfinished if task.phase == phase}
    with ctx.phase("measure" if phase == "measure" else "layout", step.index, expected_s=step.expected_s):
        runs = await _reopen_all(ctx, history, step, tasks)
        alive = [run.alive for run in runs]
        if phase == "measure":
            await _end_those_never_released(runs, history)
        outcomes = await run_load(ctx, runs, "running" if phase == "measure" else "layout", step.expected_s)
    with ctx.phase("collect", step.index):
        for run in runs:
            if phase == "measure":
                take_result(ctx, run, outcomes[run.session.name])
            else:
                run.keep()
    complete = len(runs) == len(tasks) and all(alive)
    if phase == "layout" and complete:
        await run_step(ctx, step)  # what was laid out is found, what is missing is written
    return complete


async def _reopen_all(ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]) -> list[TaskRun]:
    sessions = [session for session in ctx.alive if session.name in tasks]
    runs = [task_run(ctx, step, session, tasks[session.name].phase, resume=True) for session in sessions]
    await asyncio.gather(*(_reopen(run, history) for run in runs))
    gone = [run for run in runs if run.session.failed]
    for run in gone:
        take_result(ctx, run, run.lost())
    return [run for run in runs if run not in gone]


async def _reopen(run: TaskRun, history: History) -> None:
    key = (run.step.index, run.phase, run.session.name)
    try:
        await run.reopen(history.sampled_ms.get(key, 0))
        run.session.enter(
            "running" if run.phase == "measure" else "layout", "taken over" if run.alive else "collecting"
        )
    except HostError as error:
        run.session.problem(run.phase, "host-data-gone", f"what it spooled is gone: {error.message}")


async def _end_those_never_released(runs: list[TaskRun], history: History) -> None:
    """A command that still waits for GO would measure alone, long after the others."""
    for run in runs:
        if (run.step.index, run.phase, run.session.name) not in history.released:
            run.session.problem("barrier", "never-started", "the engine died before it said GO", fatal=False)
            await run.stop(abort=True)
