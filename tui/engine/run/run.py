"""Run a plan: connect, preflight, layout, every step, end."""

from __future__ import annotations

import asyncio
import datetime
import os
import platform
from collections.abc import Awaitable
from functools import partial
from pathlib import Path

from msgspec.structs import replace

import tui
from tui.engine.run.layout import clean_up
from tui.engine.run.preflight import ServerSession, connect_servers, leave_servers, preflight
from tui.engine.run.steps import run_steps
from tui.engine.session.context import (
    CONNECT,
    EXIT_COMPLETE,
    EXIT_PARTIAL,
    EXIT_PREFLIGHT,
    LEAVE,
    RunContext,
    RunRefused,
    RunStopped,
    ended_allocations,
    on_hosts,
)
from tui.engine.session.history import History
from tui.engine.session.host_session import HostSession
from tui.journal.progress import plan_as_run
from tui.journal.writer import Journal, Resume
from tui.model.event import RunEnded, RunResumed, RunStarted, RunStateName
from tui.model.operands import Clause, clause, several
from tui.model.plan import Identities, Plan
from tui.model.rundir import begun_utc
from tui.remote.agent import AgentError
from tui.remote.connections import Connections
from tui.remote.transport import HostError

LEAVE_S = 15.0


def open_run(
    run_dir: Path, plan: Plan, connections: Connections, history: History | None = None
) -> RunContext:
    """Return the context of a run, with a new journal, or with the one that `history` was read
    from.
    """
    journal = Journal(run_dir, resume_point(run_dir, history) if history else None)
    sessions = [HostSession(host, connections, run_dir.name, journal) for host in plan.hosts]
    for session in sessions:
        session.carries = bool(plan.carried)
    servers: list[HostSession] = [
        ServerSession(host, connections, run_dir.name, journal) for host in plan.servers
    ]
    ctx = RunContext(run_dir, plan, journal, sessions, servers)
    if history is None or history.seen.started is None:
        journal.append(run_started(run_dir, plan, journal.zero_ms))
    if history is not None:
        resume_from(ctx, history)
    return ctx


def run_started(run_dir: Path, plan: Plan, zero_ms: float) -> RunStarted:
    """Return the first event of a run's journal."""
    return RunStarted(
        t=0.0,
        run_id=run_dir.name,
        utc=rfc3339(datetime.datetime.fromtimestamp(zero_ms / 1000, datetime.UTC)),
        benchtui_version=tui.__version__,
        profile=plan.profile.tag,
        hosts=[host.name for host in plan.hosts],
        jump_host=jump_host_facts(),
    )


def resume_point(run_dir: Path, history: History) -> Resume:
    """Return the point at which to continue the journal of a dead engine.

    If its first event is missing, the start time comes from the run's id.
    """
    zero_ms = history.zero_ms
    if zero_ms is None:
        begun = begun_utc(run_dir.name) or datetime.datetime.fromtimestamp(
            run_dir.stat().st_mtime, datetime.UTC
        )
        zero_ms = begun.timestamp() * 1000
    return Resume(history.seen.t, zero_ms, history.problems, history.measured)


def resume_from(ctx: RunContext, history: History) -> None:
    """Restore a context to the state at which a dead engine stopped."""
    gap_s = round(ctx.journal.now - history.seen.t, 3)
    ctx.journal.append(RunResumed(t=0.0, utc=utc_now(), gap_s=gap_s, going_on=history.going_on))
    ctx.results = dict(history.results)
    ctx.skipped = set(history.skipped)
    ctx.search = history.seen.search
    ctx.plan = plan_as_run(ctx.plan, ctx.search)
    if not history.going_on:
        ctx.stop_mode, ctx.stop_reason = history.seen.stop_mode, history.seen.stop_reason
    if ctx.stop_mode is not None:
        ctx.stop_event.set()
    for session in ctx.sessions:
        files = history.seen.files.get(session.name)
        session.created = files.paths if files is not None else []
        session.known = files.known if files is not None else Identities()
    for index, tasks in history.uncollected(ctx.plan).items():
        for session in ctx.sessions:
            session.holds |= {index} if session.name in {task.host for task in tasks} else set()


async def execute(ctx: RunContext) -> RunEnded:
    """Execute the plan and return the closing event of the journal."""
    return await finish(ctx, _everything(ctx))


async def _everything(ctx: RunContext) -> RunEnded:
    ctx.check_stop()
    await connect_all(ctx)
    await preflight(ctx)
    await run_steps(ctx, ctx.plan.steps)
    return how_it_ended(ctx)


async def finish(ctx: RunContext, work: Awaitable[RunEnded]) -> RunEnded:
    """Await the work of a run, always clean up the hosts, then journal and return the closing
    event.
    """
    try:
        end = await work
    except RunRefused as refused:
        end = ended(
            ctx.state_unless_complete,
            refused.exit_code,
            ended_allocations(ctx.sessions) or refused.reason,
        )
    except RunStopped:
        end = how_it_ended(ctx)
    finally:
        await leave_hosts(ctx)
    return ctx.journal.append(naming_held(ctx, end))


def naming_held(ctx: RunContext, end: RunEnded) -> RunEnded:
    """Add to the closing event which hosts have uncollected output, and how to collect it."""
    held = [session.name for session in ctx.sessions if session.holds and not session.gone]
    if not held:
        return end
    advice = clause("output-on-hosts", hosts=held, run_id=ctx.run_id)
    return replace(end, reason=several(end.reason, advice))


async def connect_all(ctx: RunContext) -> None:
    """Connect to every host.

    Raises RunRefused with all problems if a host is unreachable.
    """
    check_secrets(ctx)
    with ctx.phase("connect"):
        try:
            await on_hosts(ctx, CONNECT, ctx.sessions, _connect_one)
            await ctx.unless_stopped(connect_servers(ctx))
        finally:
            ctx.on_connected()


def check_secrets(ctx: RunContext) -> None:
    """Raise RunRefused if a secret that a load needs is missing."""
    if missing := next((session.secrets.missing for session in ctx.sessions), []):
        raise RunRefused(EXIT_PREFLIGHT, clause("secret-missing", names=missing))


async def _connect_one(session: HostSession) -> None:
    session.enter("connecting")
    await session.connect_patiently()
    session.enter("connected")


async def leave_hosts(ctx: RunContext) -> None:
    """Clean up all hosts: remove created files if the plan says so, and the agent's own
    directories; then disconnect.
    """
    await ctx.telemetry.leave()
    await ctx.journal.settled()
    if ctx.plan.cleanup and any(session.created for session in ctx.sessions):
        await clean_up(ctx)
    await leave_servers(ctx)
    # nothing of this run is on the others
    reached = [session for session in ctx.sessions if session.reached]
    await on_hosts(ctx, LEAVE, reached, partial(_leave, ctx), _stays_behind)
    await on_hosts(ctx, LEAVE, reached, HostSession.disconnect, lambda *_: None)


def _stays_behind(session: HostSession, error: HostError) -> None:
    told = clause("host-not-left", quote=error.told, gone=bool(session.gone))
    session.say("warning", told)


async def _leave(ctx: RunContext, session: HostSession) -> None:
    """Unlock a host and remove the agent's files.

    Reconnects if necessary.
    """
    try:
        async with asyncio.timeout(LEAVE_S):
            try:
                await _give_back(ctx, session)
            except AgentError:
                raise
            except HostError as error:
                if not await _reached_again(ctx, session):
                    raise error
                await _give_back(ctx, session)
    except TimeoutError:
        raise HostError("timeout", session.name, f"no answer in {LEAVE_S:g} s") from None


async def _give_back(ctx: RunContext, session: HostSession) -> None:
    await session.agent.unlock()
    if ctx.journal.failed or session.holds:  # the spool has the only copy
        return
    try:
        await session.agent.clean()
    # an interrupted start, or one by an earlier engine, may have taken effect since
    except AgentError:
        await session.agent.sweep(kill=True)
        await session.agent.clean()


async def _reached_again(ctx: RunContext, session: HostSession) -> bool:
    """Reconnect to a host; return whether that worked.

    Tries a failed host only if the run was not stopped, and ends processes of the run that are
    still running on it. Raises HostError.
    """
    if not session.failed:
        return await session.reconnect(LEAVE_S)
    if ctx.stop_mode is not None:
        return False
    await session.disconnect()
    await session.connect(LEAVE_S)
    await session.agent.sweep(kill=True)
    return True


def how_it_ended(ctx: RunContext) -> RunEnded:
    """Return the closing event of a run, derived from its results, stop requests and problems."""
    counted = [step for step in ctx.plan.steps if not step.warmup and step.index not in ctx.skipped]
    came_late = ctx.stop_mode == "stop" and all(map(ctx.is_whole, counted))
    if ctx.stop_mode is not None and not came_late:
        asked = clause("stopped-on-request" if ctx.stop_mode == "stop" else "aborted-on-request")
        state: RunStateName = "aborted" if ctx.stop_mode == "abort" else ctx.state_unless_complete
        return ended(state, EXIT_PARTIAL, ctx.stop_reason or asked)
    if ctx.state_unless_complete == "failed":
        return ended("failed", EXIT_PARTIAL, what_failed(ctx) or clause("no-figures"))
    if ctx.search.points:
        return search_ended(ctx)
    if not ctx.measured_hosts:
        return ended("partial", EXIT_PARTIAL, clause("only-samples"))
    if ctx.measured_hosts < sum(len(step.tasks) for step in counted) or ctx.journal.problems:
        return ended("partial", EXIT_PARTIAL, what_failed(ctx))
    return ended("complete", EXIT_COMPLETE, "")


def search_ended(ctx: RunContext) -> RunEnded:
    """Return the closing event of a search that was not stopped.

    Host problems make it partial; a search without an answer has its own exit code.
    """
    from tui.engine.run.search import how_search_ended

    code, reason = how_search_ended(ctx)
    if ctx.journal.problems:
        return ended("partial", EXIT_PARTIAL, several(what_failed(ctx), reason))
    return ended("complete", code, reason)


def what_failed(ctx: RunContext) -> Clause | str:
    """Return how allocations ended, else the number of problems on hosts; empty without any."""
    count = ctx.journal.problems
    told = clause("problems-on-hosts", problems=count) if count else ""
    return ended_allocations(ctx.sessions) or told


def ended(state: RunStateName, exit_code: int, reason: Clause | str) -> RunEnded:
    """Return the closing event with this state, exit code and reason."""
    return RunEnded(t=0.0, state=state, exit_code=exit_code, reason=reason)


def utc_now() -> str:
    """Return the current UTC time in RFC 3339 format."""
    return rfc3339(datetime.datetime.now(datetime.UTC))


def rfc3339(when: datetime.datetime) -> str:
    """Format a UTC time in RFC 3339."""
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def jump_host_facts() -> dict[str, str]:
    """Return facts about this machine, the jump host, for the record."""
    name = platform.uname()
    return {
        "hostname": name.node,
        "kernel": f"{name.system} {name.release}",
        "python": platform.python_version(),
        "cpus": str(os.cpu_count()),
    }
