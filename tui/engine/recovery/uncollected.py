"""What hosts measured and an engine could not collect, because they were away: fetched once they are back."""

from __future__ import annotations

from msgspec.structs import replace

from tui.engine.per_host.measure import take_result
from tui.engine.per_host.reopen import reopen_all
from tui.engine.running.run import brought_to_an_end, how_it_ended
from tui.engine.session.context import RunContext
from tui.engine.session.history import History
from tui.engine.session.load import run_load
from tui.engine.session.on_hosts import REACH, on_hosts
from tui.engine.session.session import HostSession
from tui.model.event import RunEnded, TaskStarted
from tui.remote.transport import HostError


async def execute_collection(ctx: RunContext, history: History) -> RunEnded:
    """Collect what hosts still hold of a run that is over, from these alone; return the last event of its journal."""
    return await brought_to_an_end(ctx, _collected(ctx, history))


async def _collected(ctx: RunContext, history: History) -> RunEnded:
    held = history.uncollected(ctx.plan)
    hosts = {task.host for tasks in held.values() for task in tasks}
    ctx.sessions = [session for session in ctx.sessions if session.name in hosts]
    ctx.servers = []
    with ctx.phase("connect"):
        await on_hosts(ctx, REACH, ctx.sessions, _connect_one, _still_away)
        ctx.on_connected()
    for index, tasks in held.items():
        await _collect_step(ctx, history, index, {task.host: task for task in tasks})
    return how_it_ended(ctx)


async def _connect_one(session: HostSession) -> None:
    await session.connect_patiently()
    session.enter("connected", "collecting")


def _still_away(session: HostSession, error: HostError) -> None:
    session.enter("lost", f"still away: {error.message}")
    session.say("warning", f"what it measured could not be collected: {error.message}")


async def _collect_step(ctx: RunContext, history: History, index: int, tasks: dict[str, TaskStarted]) -> None:
    """Take what is left of a step's output on these hosts, and their results."""
    here = {name: task for name, task in tasks.items() if name in {session.name for session in ctx.alive}}
    if not here:
        return
    before = history.at(index)
    step = replace(ctx.plan.steps[index], attempt=before.attempt)
    journalled_ms = {host: seen.last_ms for host, seen in before.telemetry.items()}
    await ctx.telemetry.begin(step, [session for session in ctx.alive if session.name in here], [], journalled_ms)
    try:
        with ctx.phase("measure", index):
            runs = await reopen_all(ctx, history, step, here)
            outcomes = await run_load(ctx, runs, "running", step.expected_s)
    finally:
        await ctx.telemetry.end()
    with ctx.phase("collect", index):
        for run in runs:
            take_result(ctx, run, outcomes[run.session.name])
            if outcomes[run.session.name].collected:
                run.session.say("info", "what it had measured was collected")
    if before.end is not None and before.end.cut and ctx.is_whole(step):
        ctx.journal.append(replace(before.end, t=0.0, cut=False))
