"""What is known of the hosts of an MPI program before it is measured: by looking at them, and by a tiny launch."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from contextlib import suppress

from tui.engine.mpi.files import make_directory, own_directory, tidy
from tui.engine.mpi.job import MpiJob
from tui.engine.preflight.cluster import (
    PACKAGE,
    Cluster,
    cluster_of,
    doubts,
    judge,
    program_of,
    with_advice,
)
from tui.engine.session.context import RunContext
from tui.engine.session.on_hosts import JUDGE, LOOK, on_hosts, refuse_failed
from tui.engine.session.session import HostSession
from tui.engine.session.task import Outcome
from tui.model.plan import MpiLaunch, Step
from tui.remote import made, mpi
from tui.remote.transport import HostError

TRIAL = "benchtui-trial"  # its folder in the run's own directory


def sessions_of(ctx: RunContext, step: Step) -> list[HostSession]:
    """Return the hosts of a step in the order of the plan: it is the order of the ranks."""
    by_name = {session.name: session for session in ctx.sessions}
    return [by_name[name] for name in step.hosts]


async def look_at_hosts(ctx: RunContext, step: Step) -> Cluster:
    """Return the hosts of a program as they are; what is wrong with them becomes their problem."""
    launch, sessions = program_of(step).launch, sessions_of(ctx, step)

    async def probe(session: HostSession) -> mpi.MpiFacts:
        return await session.ask(lambda agent: mpi.probe(agent, launch.directory, launch.program))

    facts = await on_hosts(ctx, LOOK, sessions, probe, _not_probed)
    refuse_failed(JUDGE, [session for session in sessions if session.name not in facts])
    cluster = cluster_of(step, facts)
    problems = judge(cluster)
    for session in sessions:
        for code, message in problems.get(session.name, []):
            session.problem("preflight", code, with_advice(ctx.plan, step.tool, (code, message)))
    return cluster


def _not_probed(session: HostSession, error: HostError) -> None:
    if not session.failed:  # what is wrong with a host that dropped out is told already
        session.problem("preflight", error.code, error.message)


async def try_out(ctx: RunContext, step: Step, cluster: Cluster) -> None:
    """See that all hosts share the directory, launch a trial, and say what will run. Raises RunRefused."""
    sessions = sessions_of(ctx, step)
    await ctx.unless_stopped(_same_file_system(ctx, sessions, cluster.launch))
    for session in sessions:
        for text in doubts(cluster).get(session.name, []):
            session.say("warning", text)
    await ctx.unless_stopped(trial(ctx, step, cluster))
    launcher = cluster.launcher
    ctx.say("info", f"launched by {PACKAGE[cluster.family]} {launcher.version if launcher else ''}".rstrip())
    for severity, text in cluster.program.intent(len(cluster.hosts), cluster.tried):
        ctx.say(severity, text)


async def _same_file_system(ctx: RunContext, sessions: Sequence[HostSession], launch: MpiLaunch) -> None:
    """The head makes a file; every host must see it, and be able to make files beside it."""
    name, directory, head = f".benchtui-seen-{ctx.run_id}", launch.directory, sessions[0]

    async def mark(session: HostSession) -> None:
        await session.ask(lambda agent: mpi.mark_directory(agent, directory, name))

    async def see(session: HostSession) -> None:
        seen, cannot_write = await session.ask(lambda agent: mpi.sees(agent, directory, name))
        if not seen:
            session.problem("preflight", "not-shared", f"{directory} is not the same file system as on {head.name}")
        elif cannot_write:
            session.problem("preflight", "dir-not-writable", f"files cannot be made in {directory}: {cannot_write}")

    await on_hosts(ctx, JUDGE, [head], mark, _not_writable)
    try:
        await on_hosts(ctx, JUDGE, sessions, see)
    finally:
        with suppress(HostError):
            await head.ask(lambda agent: mpi.unmark_directory(agent, directory, name))


def _not_writable(head: HostSession, error: HostError) -> None:
    head.problem("preflight", "dir-not-writable", error.message)


async def trial(ctx: RunContext, step: Step, cluster: Cluster) -> None:
    """Launch one rank a host, with little to do: whether hosts reach each other, and which version of what it is.

    Raises RunRefused.
    """
    directory = posixpath.join(own_directory(ctx, cluster.launch), TRIAL)
    head = sessions_of(ctx, step)[0]
    job = MpiJob(ctx, step, cluster, cluster.program.trial(), directory, "preflight", "trial", "checking")
    await make_directory(head, directory)
    try:
        await _finish_trial(job, head)
    finally:
        with suppress(HostError):  # options may leave a file a rank; what cannot be removed now is named by tidy
            await head.ask(lambda agent: made.unmake_tree(agent, "remove", directory, head.known))
        await tidy(ctx, sessions_of(ctx, step), cluster.launch)
    cluster.tried = job.reader.tried()


async def _finish_trial(job: MpiJob, head: HostSession) -> None:
    """Run a trial to its end. Raises RunRefused when it is not clean."""
    begun = False
    try:
        begun = await job.start()
        outcome = await job.run() if begun else Outcome(None, "unknown", collected=False)
    finally:
        if not begun:
            await job.give_up()
    job.keep()
    job.ctx.check_stop()
    problems = [(job.cause.host, job.cause.code, job.cause.message)] if job.cause.code else []
    problems += [(None, code, message) for code, message in job.reader.problems(outcome.exit_code)] if begun else []
    for host, code, message in problems:
        session = job.sessions.get(host or head.name, head)
        session.problem("preflight", code, f"trial launch: {message}")
    refuse_failed(JUDGE, job.sessions.values())
