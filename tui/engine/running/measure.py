"""A command on each host: barrier, measurement and collection of one step."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tui import workloads
from tui.engine.running.context import RunContext, RunRefused
from tui.engine.running.load import run_load
from tui.engine.running.session import HostSession
from tui.engine.running.task import Outcome, TaskRun
from tui.model.event import FileCreated, PhaseName
from tui.model.plan import Step, is_device
from tui.remote.transport import HostError

ASKED_TO_END = ("stop", "abort")
FREE_S = 5.0
ENDS = {
    "lease": ("lease-expired", "nobody renewed the lease: the agent ended the load"),
    "supervisor-died": ("supervisor-died", "the agent's supervisor was killed; the rest of the load was ended"),
    "host-rebooted": ("host-rebooted", "the host was rebooted while it measured"),
    "spool-full": ("spool-full", "no space left in the agent's directory under /tmp on the host: output is lost"),
    "runner-died": ("runner-died", "the shell that ran the load was killed"),
    "unknown": ("end-unknown", "its output is here, but how its command ended could not be asked any more"),
}


async def measure(ctx: RunContext, step: Step) -> None:
    """Arm all hosts, say GO to all, follow them to the end, take their results."""
    with ctx.phase("barrier", step.index):
        runs = await arm_all(ctx, step)
        ctx.check_stop()
    with ctx.phase("measure", step.index, expected_s=step.expected_s):
        await say_go(runs)
        outcomes = await run_load(ctx, runs, "running", step.expected_s)
    with ctx.phase("collect", step.index):
        for run in runs:
            take_result(ctx, run, outcomes[run.session.name])
        if step is not ctx.plan.steps[-1]:
            await asyncio.gather(*(_free_spool(ctx, run, outcomes[run.session.name]) for run in runs))


async def _free_spool(ctx: RunContext, run: TaskRun, outcome: Outcome) -> None:
    """Remove what a host spooled for a step whose result is kept: a suite of many steps would fill its /tmp."""
    if outcome.collected and not run.session.failed and (run.step.index, run.session.name) in ctx.results:
        with suppress(HostError, TimeoutError):  # whatever is left goes when the run leaves the host
            async with asyncio.timeout(FREE_S):
                await run.session.agent.free_spool(run.task_id)


def task_run(
    ctx: RunContext, step: Step, session: HostSession, phase: PhaseName = "measure", *, resume: bool = False
) -> TaskRun:
    """Return the command of a step on a host, not yet started, or one of a dead engine, not yet reopened."""
    task = ctx.task_of(step, session)
    reader = workloads.get(step.tool).reader(session.name, step, phase, ctx.plan.latency_kind_of(step))
    return TaskRun(session, step, phase, task, reader, ctx.run_dir, ctx.plan.lease_s, resume=resume)


async def arm_all(ctx: RunContext, step: Step) -> list[TaskRun]:
    """Have the command of every host started and waiting for GO. Refuses when a host cannot."""
    runs = [task_run(ctx, step, session) for session in ctx.taking_part(step)]
    await ctx.unless_stopped(asyncio.create_task(_arm(runs)))
    if failed := [run.session.name for run in runs if run.session.failed]:
        await asyncio.gather(*(_disarm(run) for run in runs if not run.session.failed))
        for run in runs:
            run.keep()
        raise RunRefused("failed", 4, f"not ready to start: {', '.join(failed)}")
    for run in runs:
        announce_new_files(ctx, run, step)
    return runs


def announce_new_files(ctx: RunContext, run: TaskRun, step: Step) -> None:
    """Record the files that this measurement is going to create."""
    session = run.session
    task = next(task for task in step.tasks if task.host == session.name)
    new = [spec for spec in task.files if spec.path in session.missing]
    grown = [spec for spec in task.files if spec.path in session.ours or spec.path in session.created]
    made = [*new, *grown, *task.written]  # fio lays out those of ours that are short, even to read them
    ctx.made_files.add(session.name, (spec for spec in made if not is_device(spec.path)))
    if new:
        session.remember_created([spec.path for spec in new])
        session.journal.append(
            FileCreated(
                t=0.0, host=session.name, paths=[spec.path for spec in new], bytes=sum(spec.size_bytes for spec in new)
            )
        )


async def _arm(runs: list[TaskRun]) -> None:
    await asyncio.gather(*(_arm_one(run) for run in runs))
    await asyncio.gather(*(_stand_by(run) for run in runs if not run.session.failed))


async def _arm_one(run: TaskRun) -> None:
    try:
        await run.start(armed=True)
        run.session.enter("armed")
    except HostError as error:
        run.session.problem("barrier", error.code, error.message)


async def _stand_by(run: TaskRun) -> None:
    """The first hosts were armed a while ago: one that has lost its connection gets it back before GO."""
    try:
        await run.stand_by()
    except HostError as error:
        run.session.problem("barrier", error.code, error.message)


async def _disarm(run: TaskRun) -> None:
    try:
        await run.stop(abort=True)
    except HostError as error:
        run.session.say("warning", f"could not be disarmed: {error.message}; its lease will end it")


async def say_go(runs: list[TaskRun]) -> None:
    """Release every host at once. A host that cannot be reached now is followed like any other lost one."""
    answers = await asyncio.gather(*(run.go() for run in runs), return_exceptions=True)
    for run, answer in zip(runs, answers, strict=True):
        if isinstance(answer, HostError):
            run.session.say("warning", f"GO not delivered ({answer.message}); it is said again once reconnected")
        elif isinstance(answer, BaseException):
            raise answer
        else:
            run.session.enter("running")


def take_result(ctx: RunContext, run: TaskRun, outcome: Outcome) -> None:
    """Journal what a host measured and what is wrong with it."""
    session = run.session
    result = run.reader.result(outcome.exit_code)
    if result is not None:
        ctx.results[result.step, result.host] = result
        result.final = result.final and outcome.collected and outcome.reason == "exit"
        session.journal.append(result)
    for code, message in verdict_of(run, outcome):
        session.problem("measure", code, message, fatal=False)
    run.keep()
    if not session.failed:
        session.enter("done", "" if outcome.reason == "exit" else outcome.reason)


def verdict_of(run: TaskRun, outcome: Outcome) -> list[tuple[str, str]]:
    """Return what makes this host's result less than complete, as (code, message)."""
    if not outcome.collected:
        return [("host-lost", f"no connection to the end; the load's end is unknown ({outcome.reason})")]
    if run.stopped_alone:
        return [("stopped-alone", "its load was ended on request while the others went on")]
    if outcome.reason in ASKED_TO_END:
        return []
    problems = list(run.reader.verdict(outcome.exit_code))
    if outcome.reason == "exit":
        return problems
    end = ENDS.get(outcome.reason, (f"agent-{outcome.reason}", f"the agent ended it: {outcome.reason}"))
    only_ended = workloads.get(run.step.tool).end_codes
    return [end, *(problem for problem in problems if problem[0] not in only_ended)]
