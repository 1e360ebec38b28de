"""Per-host executor: one command per host, released together, then collected or adopted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from tui import workloads
from tui.engine.executors.executor import (
    DELIVERY_S,
    AdoptedStep,
    early_end,
    end_of,
    loss_of,
    run_load,
)
from tui.engine.executors.io_limits import recording_limits
from tui.engine.executors.open_files import recording_open_files
from tui.engine.session.context import (
    ARM,
    DISARM,
    FREE_SPOOL,
    GO,
    REACH,
    Duty,
    RunContext,
    RunRefused,
    RunStopped,
    Window,
    faults_of,
    on_hosts,
)
from tui.engine.session.history import History
from tui.engine.session.host_session import HostSession
from tui.engine.session.targets import (
    check_unchanged,
    identify_directories,
    identify_files,
    note_missing_directories,
    rewritten,
    still_free,
)
from tui.engine.session.task import LONGEST_AWAY_S, Outcome, TaskLoad, TaskRun
from tui.journal.clock import ASKED_TO_END
from tui.journal.step import DATA_GONE, LEFT_BEHIND
from tui.model.event import (
    ALLOCATION_ENDED,
    HostStateName,
    PhaseName,
    StepEnded,
    TaskStarted,
)
from tui.model.operands import Told, clause
from tui.model.plan import Step, is_device
from tui.remote.agent import AgentError
from tui.remote.fan_out import INTERNAL_ERROR
from tui.remote.stream import FLOODED
from tui.remote.transport import HostError

T = TypeVar("T")
FREE_S = 5.0


async def measure(ctx: RunContext, step: Step, window: Window) -> None:
    """Arm all hosts, release them together, follow them to the end and collect their results."""
    with ctx.phase("barrier", step.index):
        runs = await arm_all(ctx, step, window)
    with ctx.phase("measure", step.index, expected_s=step.expected_s, total_bytes=step.bound_bytes):
        await say_go(ctx, runs)
        async with recording_open_files(runs), recording_limits(runs):
            outcomes = await run_load(ctx, runs, "running", step.expected_s)
    with ctx.phase("collect", step.index):
        for run in runs:
            take_result(ctx, run, outcomes[run.session.name])
        await identify_written(ctx, step, runs)
        await ctx.journal.settled()
        if step is not ctx.plan.steps[-1] and not ctx.journal.failed:
            kept = [
                run for run in runs if outcomes[run.session.name].collected and has_result(ctx, run)
            ]
            # the rest is removed with the run
            await on_runs(ctx, FREE_SPOOL, kept, _free_spool, lambda *_: None)


async def identify_written(ctx: RunContext, step: Step, runs: Sequence[TaskRun]) -> None:
    """Record the identities of the files that a step's loads created."""
    sessions = [run.session for run in runs]
    await asyncio.gather(*(identify_directories(each) for each in sessions))
    await asyncio.gather(
        *(identify_files(ctx, step, each, rewritten(ctx, step, each)) for each in sessions)
    )


async def on_runs(
    ctx: RunContext,
    duty: Duty,
    runs: Sequence[TaskRun],
    work: Callable[[TaskRun], Awaitable[T]],
    failed: Callable[[HostSession, HostError], object] | None = None,
) -> dict[str, T]:
    """Call `work` on each host's command, with the error handling of `on_hosts`."""
    by_name = {run.session.name: run for run in runs}
    sessions = [run.session for run in runs]
    return await on_hosts(ctx, duty, sessions, lambda session: work(by_name[session.name]), failed)


def has_result(ctx: RunContext, run: TaskRun) -> bool:
    """Return whether a host has delivered its result and has not failed."""
    return not run.session.failed and (run.step.index, run.session.name) in ctx.results


async def _free_spool(run: TaskRun) -> None:
    """Remove a host's spool of a step with a saved result; a long suite would fill the host's
    /tmp.
    """
    async with asyncio.timeout(FREE_S):
        await run.session.agent.free_spool(run.task_id)


def task_run(
    ctx: RunContext,
    step: Step,
    session: HostSession,
    phase: PhaseName = "measure",
    *,
    resume: bool = False,
) -> TaskRun:
    """Return a host's command for a step, not yet started.

    With `resume`: the command of a dead engine, not yet reopened.
    """
    task = ctx.task_of(step, session)
    reader = workloads.of(step).reader(session.name, step, phase, ctx.plan.latency_kind_of(step))
    run = TaskRun(
        session, TaskLoad(step, phase, task, reader), ctx.run_dir, ctx.plan.lease_s, resume=resume
    )
    run.output.hear = ctx.hear
    return run


async def arm_all(ctx: RunContext, step: Step, window: Window) -> list[TaskRun]:
    """Start the commands of all hosts, which then wait to be released; wait for concurrent steps.

    Raises RunRefused if a host fails, RunStopped.
    """
    runs = [task_run(ctx, step, session) for session in ctx.taking_part(step)]
    await asyncio.gather(*(note_missing_directories(ctx, step, run.session) for run in runs))
    try:
        await on_runs(ctx, ARM, runs, _arm)
        await still_free(ctx, step)
        await check_unchanged(ctx, step)
        await window.meet(ctx)
        await on_runs(ctx, ARM, runs, TaskRun.stand_by)  # the first hosts were armed some time ago
        for run in runs:
            announce_new_files(ctx, run, step)
        await ctx.journal.settled()
        await window.meet(ctx)
    except (RunRefused, RunStopped):
        armed = [run for run in runs if run.streaming and not run.session.failed]
        await on_runs(ctx, DISARM, armed, _disarm, _still_armed)
        for run in runs:
            run.output.close()
        raise
    return runs


def announce_new_files(ctx: RunContext, run: TaskRun, step: Step) -> None:
    """Remember the files that this measurement may write, and journal those that it will create."""
    session = run.session
    task = next(task for task in step.tasks if task.host == session.name)
    new = [spec for spec in task.files if spec.path in session.missing | session.short]
    grown = [
        spec for spec in task.files if spec.path in session.ours or spec.path in session.created
    ]
    grown += [spec for spec in task.files if spec.path in session.made_elsewhere]
    # fio lays out short files of benchtui, even to read them
    made = [*new, *grown, *task.written]
    ctx.made_files.add(session.name, (spec for spec in made if not is_device(spec.path)))
    if new:
        size_bytes = sum(spec.total_bytes for spec in new)
        session.remember_created([spec.path for spec in new], size_bytes)


async def _arm(run: TaskRun) -> None:
    await run.start(armed=True)
    run.session.enter("armed")


async def _disarm(run: TaskRun) -> None:
    async with asyncio.timeout(DELIVERY_S):
        await run.stop(abort=True)


def _still_armed(session: HostSession, error: HostError) -> None:
    session.say("warning", clause("not-cancelled", quote=error.told))


async def say_go(ctx: RunContext, runs: list[TaskRun]) -> None:
    """Release all hosts at once; a host that cannot be reached is released after reconnecting."""
    heard = await on_runs(ctx, GO, runs, TaskRun.go, _not_heard)
    for run in runs:
        if run.session.name in heard:
            run.session.enter("running")


def _not_heard(session: HostSession, error: HostError) -> None:
    session.say("warning", clause("not-released", quote=error.told))


def take_result(ctx: RunContext, run: TaskRun, outcome: Outcome) -> None:
    """Journal a host's result and its problems."""
    with faults_of(run.session, "collect"):
        _take_result(ctx, run, outcome)
    with faults_of(run.session, "collect"):
        run.output.close()


def _take_result(ctx: RunContext, run: TaskRun, outcome: Outcome) -> None:
    session = run.session
    if outcome.collected:
        session.holds.discard(run.step.index)
    elif outcome.reason in LEFT_BEHIND and run.phase == "measure":
        session.holds.add(run.step.index)
    result = run.reader.result(outcome.exit_code)
    if result is not None:
        ctx.results[result.step, result.host] = result
        result.final = result.final and outcome.collected and outcome.reason == "exit"
        session.journal.append(result)
    for code, message in problems_of(run, outcome):
        session.problem("measure", code, message, fatal=False)
    if not session.failed:
        session.enter("done", early_end(outcome.reason))


def problems_of(run: TaskRun, outcome: Outcome) -> list[tuple[str, Told]]:
    """Return why this host's result is incomplete, as (code, message)."""
    if outcome.reason in (INTERNAL_ERROR, FLOODED):
        return []  # already reported
    if not outcome.collected:
        return [run.session.loss(loss_of(outcome.reason))]
    if run.stopped_alone:
        return [("stopped-alone", clause("stopped-alone"))]
    if outcome.reason in ASKED_TO_END:
        return []
    problems = workloads.problems(run.step.tool, run.reader, outcome.exit_code)
    if outcome.reason == "exit":
        return problems
    if outcome.reason == ALLOCATION_ENDED:
        return [run.session.loss("")]
    only_ended = workloads.of(run.step).end_codes
    return [
        end_of(outcome.reason),
        *(problem for problem in problems if problem[0] not in only_ended),
    ]


async def adopt(
    ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]
) -> AdoptedStep:
    """Follow a running measurement, with one command per host, to its end and collect its
    results.
    """
    problems = ctx.journal.problems_on(step.hosts)
    with ctx.phase("measure", step.index, expected_s=step.expected_s):
        runs = await reopen_all(ctx, history, step, tasks)
        alive = [run.alive for run in runs]
        await _end_those_never_released(runs, history)
        async with recording_open_files(runs), recording_limits(runs):
            outcomes = await run_load(ctx, runs, "running", step.expected_s)
    with ctx.phase("collect", step.index):
        for run in runs:
            take_result(ctx, run, outcomes[run.session.name])
        await identify_written(ctx, step, runs)
    everywhere = len(runs) == len(tasks)
    whole = everywhere and all(outcome.reason == "exit" for outcome in outcomes.values())
    before = len(history.at(step.index).problems)
    ok = whole and not before and problems == ctx.journal.problems_on(step.hosts)
    ctx.journal.append(StepEnded(t=0.0, step=step.index, ok=ok, cut=not whole))
    return AdoptedStep(everywhere and all(alive), whole)


async def reopen_all(
    ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]
) -> list[TaskRun]:
    """Return the commands started by a dead engine, with their streams open.

    Reports commands that are gone.
    """
    sessions = [session for session in ctx.alive if session.name in tasks]
    runs = [
        task_run(ctx, step, session, tasks[session.name].phase, resume=True) for session in sessions
    ]
    phase = next(task.phase for task in tasks.values())  # they share one reason
    await on_runs(ctx, REACH, runs, partial(_reopen, history), not_reached(phase))
    gone = [run for run in runs if run.session.failed]
    for run in gone:
        take_result(ctx, run, run.lost())
    return [run for run in runs if run not in gone]


async def _reopen(history: History, run: TaskRun) -> None:
    known, load = history.at(run.step.index), (run.phase, run.session.name)
    sampled_t = known.sampled_t.get(load)
    away_s = LONGEST_AWAY_S if sampled_t is None else run.session.journal.now - sampled_t
    await run.reopen(known.sampled_ms.get(load, 0), away_s)
    state: HostStateName = "running" if run.phase == "measure" else "layout"
    run.session.enter(state, clause("taken-over" if run.alive else "collecting"))


def not_reached(phase: PhaseName) -> Callable[[HostSession, HostError], None]:
    """Return a handler that reports hosts from which the run cannot be collected."""

    def tell(session: HostSession, error: HostError) -> None:
        if isinstance(error, AgentError):
            session.problem(phase, DATA_GONE, clause("spool-missing", quote=error.told))
        else:
            away = clause("unreachable-in-recovery", quote=error.told)
            session.problem(phase, *session.loss(away))

    return tell


async def _end_those_never_released(runs: list[TaskRun], history: History) -> None:
    """End commands that were never released: released now, they would measure alone and much
    later.
    """
    for run in runs:
        if run.session.name not in history.at(run.step.index).released:
            told = clause("never-released")
            run.session.problem("barrier", "never-started", told, fatal=False)
            with contextlib.suppress(HostError):  # its lease ends it
                await run.stop(abort=True)


__all__ = ["adopt", "check_hosts", "measure", "try_ahead"]


async def check_hosts(ctx: RunContext) -> None:
    """Check nothing: a per-host command needs only the checks that every host gets."""


async def try_ahead(ctx: RunContext) -> None:
    """Do nothing: a per-host step has no trial."""
