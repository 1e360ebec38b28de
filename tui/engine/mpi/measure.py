"""The measurement of a step that is one MPI program over all its hosts."""

from __future__ import annotations

import posixpath

from tui.engine.mpi.files import make_directory, own_directory, tidy
from tui.engine.mpi.job import MpiJob
from tui.engine.mpi.look import look_at_hosts, sessions_of
from tui.engine.preflight.cluster import key_of, program_of
from tui.engine.session.context import RunContext, RunRefused
from tui.engine.session.on_hosts import EXIT_PARTIAL, JUDGE, refuse_failed
from tui.engine.session.task import Outcome
from tui.model.event import MetadataPhase
from tui.model.plan import Step
from tui.workloads.mpi import host_result


async def measure_program(ctx: RunContext, step: Step) -> None:
    """Run one program over all hosts of a step and take its result. Leaves no rank behind, and names files."""
    cluster = ctx.ahead.get(key_of(step))
    if cluster is None:
        cluster = await look_at_hosts(ctx, step)
        refuse_failed(JUDGE, sessions_of(ctx, step))
    cluster.program = program_of(step)
    again = f".{step.attempt}" if step.attempt > 1 else ""  # what a try before left must not be met
    directory = posixpath.join(own_directory(ctx, cluster.launch), f"{step.index}{again}")
    job = MpiJob(ctx, step, cluster, cluster.program, directory)
    await make_directory(job.sessions[cluster.head], directory)
    try:
        with ctx.phase("barrier", step.index):
            await ctx.journal.settled()
            await arm(job)
        with ctx.phase("measure", step.index):
            iterations = cluster.launch.iterations
            ctx.journal.append(MetadataPhase(t=0.0, step=step.index, phase="", iteration=0, iterations=iterations))
            outcome = await job.run()
        with ctx.phase("collect", step.index):
            take_result(job, outcome)
    finally:
        await tidy(ctx, sessions_of(ctx, step), cluster.launch)


async def arm(job: MpiJob) -> None:
    """Have mpiexec and all proxies ready. Raises RunRefused, RunStopped."""
    begun = False
    try:
        begun = await job.start()
        job.ctx.check_stop()
    finally:
        if not begun or job.ctx.stop_mode is not None:
            await job.give_up()
    if not begun:
        session = job.sessions[job.cause.host or job.cluster.head]
        session.problem("barrier", job.cause.code, job.cause.message)
        job.keep()
        raise RunRefused("failed", EXIT_PARTIAL, f"not ready to start: {session.name}")
    for session in job.sessions.values():
        session.enter("armed")


def take_result(job: MpiJob, outcome: Outcome) -> None:
    """Journal what was measured, and what is wrong with it, by host."""
    ctx, cluster, reader = job.ctx, job.cluster, job.reader
    head = job.sessions[cluster.head]
    result = reader.figures(outcome.exit_code)
    ended = outcome.reason == "exit" and outcome.collected and not job.cause.code
    clean = ended and reader.succeeded(outcome.exit_code)
    if result is not None:
        result.final = clean
        for code, message in job.program.complete(result, len(cluster.hosts), cluster.tried):
            head.problem("measure", code, message, fatal=False)
        ctx.journal.append(result)
    for host, session in job.sessions.items():
        if result is not None:
            took_part = host_result(host, job.step, reader.tried().version, final=clean)
            ctx.results[job.step.index, host] = session.journal.append(took_part)
    if ctx.stop_mode is None:
        for host, code, message in causes(job, outcome):
            job.sessions[host].problem("measure", code, message, fatal=False)
    job.keep()
    for session in job.sessions.values():
        if not session.failed:
            session.enter("done", "" if clean else "ended early")


def causes(job: MpiJob, outcome: Outcome) -> list[tuple[str, str, str]]:
    """Return (host, code, message) of all that went wrong, the first cause first."""
    head = job.cluster.head
    first = [job.cause] if job.cause.code else job.killed_proxies()
    found = [(cause.host or head, cause.code, cause.message) for cause in first]
    ended_here = bool(job.cause.code)  # what mpiexec says after that is our own doing
    if not outcome.collected:
        found.append((head, "host-lost", f"no connection to the end; the end of mpiexec is unknown ({outcome.reason})"))
    elif outcome.reason != "exit" and not ended_here:
        found.append((head, f"agent-{outcome.reason}", f"the agent ended mpiexec: {outcome.reason}"))
    elif not ended_here:
        found += [(head, code, message) for code, message in job.reader.problems(outcome.exit_code)]
    if found and not ended_here:
        found += [(host, code, text) for host, run in job.proxies.items() for code, text in run.reader.problems(0)]
    return found
