"""Going on with a run whose engine died: collect what the hosts still hold, take over what still runs.

New load is started only when the old one was still alive: then the run continues as if nothing had happened. When
the lease has ended it, what was measured is collected and the run ends as partial.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from msgspec.structs import replace

from tui.engine.recovery.history import History
from tui.engine.running.context import RunContext, RunRefused, RunStopped
from tui.engine.running.load import run_load
from tui.engine.running.measure import take_result, task_run
from tui.engine.running.preflight import preflight
from tui.engine.running.run import EXIT_PARTIAL, connect_all, ended, leave_hosts, verdict
from tui.engine.running.session import HostSession
from tui.engine.running.steps import run_steps
from tui.engine.running.task import TaskRun
from tui.model.event import RunEnded, StepEnded, TaskStarted
from tui.model.plan import MpiLaunch, Step
from tui.remote.agent import AgentError
from tui.remote.transport import HostError


async def execute_rest(ctx: RunContext, history: History) -> RunEnded:
    """Finish a run and return the last event of its journal."""
    try:
        await connect_again(ctx)
        close_measured_step(ctx, history)
        unfinished = history.unfinished()
        taken_over = unfinished != [] and (await adopt(ctx, history, unfinished)).alive
        rest = [step for step in ctx.plan.steps if step.index not in history.begun | history.skipped]
        if taken_over and rest:
            await preflight(ctx)
            await run_steps(ctx, rest)
        end = verdict(ctx) if taken_over or not rest else cut_short(ctx, rest)
    except RunRefused as refused:
        end = ended("partial" if ctx.measured_hosts else "failed", refused.exit_code, refused.reason)
    except RunStopped:
        end = verdict(ctx)
    finally:
        await leave_hosts(ctx)
    return ctx.journal.append(end)


async def execute_missing(ctx: RunContext, history: History, *, failed: bool) -> RunEnded:
    """Run the steps that a run still lacks and return the last event of its journal.

    What a dead engine had left running is followed to its end first: it may be one of them.
    """
    try:
        await connect_all(ctx)
        adopted = await _adopt_if_any(ctx, history)
        missing = [step for step in history.missing(ctx.plan, failed=failed) if step.index != adopted]
        seen = ctx.journal.problems - history.problems if adopted is not None else 0
        again = history.make_again(missing)
        ctx.forget(step.index for step in again)
        ctx.journal.problems = history.problems + seen
        await preflight(ctx)
        await run_steps(ctx, again)
        end = verdict(ctx)
    except RunRefused as refused:
        end = ended("partial" if ctx.measured_hosts else "failed", refused.exit_code, refused.reason)
    except RunStopped:
        end = verdict(ctx)
    finally:
        await leave_hosts(ctx)
    return ctx.journal.append(end)


def close_measured_step(ctx: RunContext, history: History) -> None:
    """End a step that every host had brought its result of when the engine died."""
    index = history.step
    if index is None or history.ended or not ctx.is_whole(ctx.plan.steps[index]):
        return
    ok = not history.problems_in.get(index)
    history.take(ctx.journal.append(StepEnded(t=0.0, step=index, ok=ok)))


def cut_short(ctx: RunContext, rest: list[Step]) -> RunEnded:
    """Return the end of a run whose later steps never began."""
    reason = f"the engine died; {len(rest)} of {len(ctx.plan.steps)} steps never began"
    return ended("partial" if ctx.measured_hosts else "failed", EXIT_PARTIAL, reason)


async def _adopt_if_any(ctx: RunContext, history: History) -> int | None:
    """Follow what a dead engine had left running; return the step when it came to its end."""
    close_measured_step(ctx, history)
    unfinished = [] if history.ended else history.unfinished()
    if unfinished and (await adopt(ctx, history, unfinished)).whole:
        return unfinished[0].step
    return None


async def connect_again(ctx: RunContext) -> None:
    """Connect to every host; one that cannot be reached is lost, the others go on."""
    with ctx.phase("connect"):
        await asyncio.gather(*(_connect_one(session) for session in ctx.sessions))
        ctx.on_connected()


async def _connect_one(session: HostSession) -> None:
    try:
        await session.connect_patiently()
        session.enter("connected", "recovering")
    except HostError as error:
        session.problem("connect", "host-lost", f"not reached for recovery: {error.message}")


@dataclass(frozen=True, slots=True)
class Adopted:
    """What became of the step that was going on. `whole`: every host came to its own end, before or since."""

    alive: bool
    whole: bool


async def adopt(ctx: RunContext, history: History, unfinished: list[TaskStarted]) -> Adopted:
    """Follow the commands of the step that was going on to their end."""
    step = ctx.plan.steps[unfinished[0].step]
    step = replace(step, attempt=history.attempts.get(step.index, 1))
    phase = "measure" if any(task.phase == "measure" for task in unfinished) else "layout"
    tasks = {task.host: task for task in unfinished if task.phase == phase}
    problems = ctx.journal.problems
    if step.mpi is not None and phase == "measure":
        return await _adopt_program(ctx, step, step.mpi, tasks)
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
    everywhere = len(runs) == len(tasks)
    complete = everywhere and all(alive)
    whole = everywhere and all(outcome.reason == "exit" for outcome in outcomes.values())
    if phase == "measure":
        before = history.problems_in.get(step.index, 0)
        ok = whole and not before and problems == ctx.journal.problems
        ctx.journal.append(StepEnded(t=0.0, step=step.index, ok=ok, cut=not whole))
    elif complete:  # what was laid out is found, what is missing is written
        await run_steps(ctx, [replace(step, attempt=step.attempt + 1, pause_s=0.0)])
    return Adopted(complete, complete if phase == "layout" else whole)


async def _adopt_program(ctx: RunContext, step: Step, launch: MpiLaunch, tasks: dict[str, TaskStarted]) -> Adopted:
    """Follow an MPI program, which is one over all hosts."""
    from tui.engine.mpi.recover import adopt_program

    problems = ctx.journal.problems
    alive, outcome = await adopt_program(ctx, step, launch, tasks)
    whole, cut = outcome.reason == "exit" and outcome.exit_code == 0, ctx.stop_mode is not None
    ok = whole and problems == ctx.journal.problems and not cut
    ctx.journal.append(StepEnded(t=0.0, step=step.index, ok=ok, cut=cut or not whole))
    return Adopted(alive, whole)


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
    except AgentError as error:
        run.session.problem(run.phase, "host-data-gone", f"what it spooled is gone: {error.message}")
    except HostError as error:
        run.session.problem(run.phase, "host-lost", f"not reached for recovery: {error.message}")


async def _end_those_never_released(runs: list[TaskRun], history: History) -> None:
    """A command that still waits for GO would measure alone, long after the others."""
    for run in runs:
        if (run.step.index, run.phase, run.session.name) not in history.released:
            run.session.problem("barrier", "never-started", "the engine died before it said GO", fatal=False)
            with contextlib.suppress(HostError):  # its lease ends it
                await run.stop(abort=True)
