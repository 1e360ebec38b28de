"""Loads that hosts hold and the journal does not name, because it is empty, missing or damaged."""

from __future__ import annotations

import re
from functools import partial

from tui.engine.session.context import RunContext
from tui.engine.session.history import History
from tui.engine.session.on_hosts import REACH, on_hosts
from tui.engine.session.session import HostSession
from tui.model.event import PhaseName, StepStarted, TaskStarted
from tui.remote.agent import Agent
from tui.remote.transport import HostError

LOAD = re.compile(r"(?P<step>\d+)\.(?P<phase>measure|layout)(?:\.(?P<attempt>\d+))?")


async def find_loads(ctx: RunContext, history: History) -> None:
    """Ask the hosts for loads of steps that have not ended, and journal those that nothing is known of."""
    if history.seen.started is not None and not history.seen.unreadable:
        return
    ctx.say("warning", "the journal of this run has gaps: hosts are asked for what they hold of it")
    await on_hosts(ctx, REACH, ctx.alive, partial(_find_on, ctx, history), _not_asked)


async def _find_on(ctx: RunContext, history: History, session: HostSession) -> None:
    for found in await session.ask(Agent.tasks):
        match = LOAD.fullmatch(found.task)
        if match is not None and (found.run, found.host) == (ctx.run_id, session.agent.mark):
            status = await session.ask(partial(Agent.status, task=found.task))
            _note(ctx, history, session, match, released=status.done or status.out_bytes > 0)


def _not_asked(session: HostSession, error: HostError) -> None:
    session.problem("connect", "host-lost", f"what it holds could not be asked: {error.message}")


def _note(ctx: RunContext, history: History, session: HostSession, match: re.Match[str], *, released: bool) -> None:
    index, attempt = int(match["step"]), int(match["attempt"] or 1)
    if index >= len(ctx.plan.steps) or session.name not in ctx.plan.steps[index].hosts:
        return
    seen = history.at(index)
    if seen.state == "missing" or attempt > seen.attempt:
        history.take(ctx.journal.append(StepStarted(t=0.0, step=index, attempt=attempt)))
        seen = history.at(index)
    phase: PhaseName = "measure" if match["phase"] == "measure" else "layout"
    known = (phase, session.name) in seen.loads or session.name in seen.results
    if known or seen.end is not None or attempt < seen.attempt:
        return
    task = ctx.task_of(ctx.plan.steps[index], session)
    event = TaskStarted(
        t=0.0, host=session.name, step=index, phase=phase, argv=task.argv, job_file=task.job_file, remote_dir=""
    )
    history.take(ctx.journal.append(event))
    if released:
        seen.released.add(session.name)
