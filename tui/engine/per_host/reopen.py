"""The commands of a step that a dead engine had left: their streams opened again, and followed to their end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

from tui.engine.per_host.measure import identify_written, on_runs, take_result, task_run
from tui.engine.session.context import RunContext
from tui.engine.session.course import Adopted
from tui.engine.session.history import History
from tui.engine.session.load import run_load
from tui.engine.session.on_hosts import REACH
from tui.engine.session.session import HostSession
from tui.engine.session.task import TaskRun
from tui.journal.step import DATA_GONE
from tui.model.event import HostStateName, PhaseName, StepEnded, TaskStarted
from tui.model.plan import Step
from tui.remote.agent import AgentError
from tui.remote.transport import HostError


async def adopt(ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]) -> Adopted:
    """Follow a measurement, a command on each host, to its end, and take its results."""
    problems = ctx.journal.problems
    with ctx.phase("measure", step.index, expected_s=step.expected_s):
        runs = await reopen_all(ctx, history, step, tasks)
        alive = [run.alive for run in runs]
        await _end_those_never_released(runs, history)
        outcomes = await run_load(ctx, runs, "running", step.expected_s)
    with ctx.phase("collect", step.index):
        for run in runs:
            take_result(ctx, run, outcomes[run.session.name])
        await identify_written(ctx, step, runs)
    everywhere = len(runs) == len(tasks)
    whole = everywhere and all(outcome.reason == "exit" for outcome in outcomes.values())
    before = len(history.at(step.index).problems)
    ok = whole and not before and problems == ctx.journal.problems
    ctx.journal.append(StepEnded(t=0.0, step=step.index, ok=ok, cut=not whole))
    return Adopted(everywhere and all(alive), whole)


async def reopen_all(ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]) -> list[TaskRun]:
    """Return the commands that a dead engine had started, with their streams open; those that are gone are told."""
    sessions = [session for session in ctx.alive if session.name in tasks]
    runs = [task_run(ctx, step, session, tasks[session.name].phase, resume=True) for session in sessions]
    phase = next(task.phase for task in tasks.values())  # they are of one
    await on_runs(ctx, REACH, runs, partial(_reopen, history), not_reached(phase))
    gone = [run for run in runs if run.session.failed]
    for run in gone:
        take_result(ctx, run, run.lost())
    return [run for run in runs if run not in gone]


async def _reopen(history: History, run: TaskRun) -> None:
    await run.reopen(history.at(run.step.index).sampled_ms.get((run.phase, run.session.name), 0))
    state: HostStateName = "running" if run.phase == "measure" else "layout"
    run.session.enter(state, "taken over" if run.alive else "collecting")


def not_reached(phase: PhaseName) -> Callable[[HostSession, HostError], None]:
    """Return what names a host whose part of the run cannot be collected."""

    def tell(session: HostSession, error: HostError) -> None:
        if isinstance(error, AgentError):
            session.problem(phase, DATA_GONE, f"what it spooled is gone: {error.message}")
        else:
            session.problem(phase, "host-lost", f"not reached for recovery: {error.message}")

    return tell


async def _end_those_never_released(runs: list[TaskRun], history: History) -> None:
    """A command that still waits for GO would measure alone, long after the others."""
    for run in runs:
        if run.session.name not in history.at(run.step.index).released:
            run.session.problem("barrier", "never-started", "the engine died before it said GO", fatal=False)
            with contextlib.suppress(HostError):  # its lease ends it
                await run.stop(abort=True)
