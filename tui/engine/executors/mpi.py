"""The MPI executor: check hosts, launch a trial, run one program over all hosts, adopt it."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from tui import workloads
from tui.engine.executors.executor import AdoptedStep, early_end, end_of, loss_of
from tui.engine.executors.mpi_job import HeadRun, MpiJob
from tui.engine.preflight.clean import why_kept
from tui.engine.preflight.mpi_hosts import (
    Cluster,
    cluster_of,
    family_of,
    judge,
    key_of,
    launches_of,
    program_of,
    warnings_by_host,
    with_advice,
)
from tui.engine.session.context import (
    EXIT_PARTIAL,
    JUDGE,
    LOOK,
    RunContext,
    RunRefused,
    Window,
    faults_of,
    on_hosts,
    refuse_failed,
)
from tui.engine.session.host_session import HostSession
from tui.engine.session.targets import identify_paths
from tui.engine.session.task import Outcome, TaskLoad, TaskRun
from tui.model.event import FileCreated, FilesRemoved, MetadataPhase, StepEnded, TaskStarted
from tui.model.operands import Told, clause, of_tool
from tui.model.plan import HostTask, Identities, MpiLaunch, Step
from tui.remote import made, mpi
from tui.remote.files import stat_files
from tui.remote.mpi import parse_facts
from tui.remote.transport import HostError
from tui.workloads.mpi import REPORTS, ProxyReader, ReportsReader, host_result

if TYPE_CHECKING:
    from tui.engine.session.history import History


def own_directory(ctx: RunContext, launch: MpiLaunch) -> str:
    """Return the run's own directory on the shared file system: DIRECTORY/benchtui-RUN."""
    return posixpath.join(launch.directory, f"benchtui-{ctx.run_id}")


def working_directory(ctx: RunContext, step: Step, launch: MpiLaunch) -> str:
    """Return the working directory of a step's program: one per attempt, so that it starts
    empty.
    """
    again = f".{step.attempt}" if step.attempt > 1 else ""
    return posixpath.join(own_directory(ctx, launch), f"{step.index}{again}")


async def make_directory(head: HostSession, directory: str, files: Mapping[str, str]) -> None:
    """Journal the run's own directory, create a folder in it, and write the program's input files.

    Raises RunRefused.
    """
    reports = posixpath.join(directory, REPORTS)
    folders = [directory, reports] if files else [directory]
    head.journal.append(
        FileCreated(t=0.0, host=head.name, paths=[posixpath.dirname(directory)], bytes=0)
    )
    try:
        await head.ask(lambda agent: made.make_directories(agent, folders))
        for name, text in files.items():
            await head.ask(partial(mpi.write_file, directory=reports, name=name, text=text))
        await identify_paths(head, [posixpath.dirname(directory)], folders)
    except HostError as error:
        head.problem("barrier", error.code, error.told)
        told = clause("directory-not-created", directory=directory, host=head.name)
        raise RunRefused(EXIT_PARTIAL, told) from error


async def tidy(ctx: RunContext, sessions: Sequence[HostSession], launch: MpiLaunch) -> None:
    """Remove the run's own directory if it is empty, or with its contents if the run cleans up."""
    directory = own_directory(ctx, launch)
    alive = [session for session in sessions if not session.failed] or sessions[:1]
    head = alive[0]
    known = sessions[0].known
    try:
        if (await head.ask(lambda agent: stat_files(agent, [directory])))[directory] is None:
            outcome = made.ABSENT
        else:
            outcome = await head.ask(
                lambda agent: made.unmake_tree(agent, "empty", directory, known)
            )
        if outcome == made.STUCK and ctx.plan.cleanup:
            outcome = await _remove_tree(alive, directory, known)
    except HostError as error:
        head.say("warning", clause("kept-in", directory=directory, quote=error.told))
        return
    if outcome == made.STUCK and not ctx.plan.cleanup:
        head.say("warning", clause("unfinished-files", directory=directory))
    elif why := why_kept(directory, outcome):
        head.say("warning", clause("kept-in", directory=directory, quote=why))
    else:
        head.journal.append(FilesRemoved(t=0.0, host=sessions[0].name, paths=[directory]))


async def _remove_tree(sessions: Sequence[HostSession], directory: str, known: Identities) -> str:
    """Remove the run's own directory, one share per host, and return the outcome as text.

    A host that sees a different directory of that name leaves its share to the first host. Raises
    HostError.
    """
    count = len(sessions)
    shares = (
        made.unmake_tree(session.agent, "share", directory, known, (index, count))
        for index, session in enumerate(sessions)
    )
    await asyncio.gather(*shares)
    return await made.unmake_tree(sessions[0].agent, "remove", directory, known)


TRIAL = "benchtui-trial"  # its folder in the run's own directory


def sessions_of(ctx: RunContext, step: Step) -> list[HostSession]:
    """Return the sessions of a step's hosts in rank order, which is plan order."""
    by_name = {session.name: session for session in ctx.sessions}
    return [by_name[name] for name in step.hosts]


async def probe_hosts(ctx: RunContext, step: Step) -> Cluster:
    """Collect the MPI facts of a step's hosts, report problems by host, and return the cluster.

    Raises RunRefused if a host does not answer.
    """
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
    if not session.failed:  # reported when the host was lost
        session.problem("preflight", error.code, error.told)


async def try_out(ctx: RunContext, step: Step, cluster: Cluster) -> None:
    """Check that all hosts share the directory, launch a trial, and report the MPI and the load.

    Raises RunRefused.
    """
    sessions = sessions_of(ctx, step)
    await ctx.unless_stopped(_same_file_system(ctx, sessions, cluster.launch))
    for session in sessions:
        for warning in warnings_by_host(cluster).get(session.name, []):
            session.say("warning", warning)
    await ctx.unless_stopped(trial(ctx, step, cluster))
    ctx.say("info", clause("launched-by", mpi=cluster.mpi))
    for severity, told in cluster.program.intent(len(cluster.hosts), cluster.tried):
        ctx.say(severity, of_tool(step.tool, told))


async def _same_file_system(
    ctx: RunContext, sessions: Sequence[HostSession], launch: MpiLaunch
) -> None:
    """Check that every host sees a file created on the head and can create files next to it."""
    name, directory, head = f".benchtui-seen-{ctx.run_id}", launch.directory, sessions[0]

    async def mark(session: HostSession) -> None:
        await session.ask(lambda agent: mpi.mark_directory(agent, directory, name))

    async def see(session: HostSession) -> None:
        seen, cannot_write = await session.ask(lambda agent: mpi.sees(agent, directory, name))
        if not seen:
            told = clause("not-shared", directory=directory, head=head.name)
            session.problem("preflight", "not-shared", told)
        elif cannot_write:
            told = clause("cannot-create-files", directory=directory, quote=cannot_write)
            session.problem("preflight", "dir-not-writable", told)

    await on_hosts(ctx, JUDGE, [head], mark, _not_writable)
    try:
        await on_hosts(ctx, JUDGE, sessions, see)
    finally:
        with suppress(HostError):
            await head.ask(lambda agent: mpi.unmark_directory(agent, directory, name))


def _not_writable(head: HostSession, error: HostError) -> None:
    head.problem("preflight", "dir-not-writable", error.told)


async def trial(ctx: RunContext, step: Step, cluster: Cluster) -> None:
    """Launch one rank per host with a minimal load to check connectivity and versions.

    Raises RunRefused.
    """
    directory = posixpath.join(own_directory(ctx, cluster.launch), TRIAL)
    head = sessions_of(ctx, step)[0]
    job = MpiJob(
        ctx, step, cluster, cluster.program.trial(), directory, "preflight", "trial", "checking"
    )
    await make_directory(head, directory, job.program.files(directory))
    try:
        await _finish_trial(job, head)
    finally:
        # options may leave one file per rank; tidy reports what cannot be removed now
        with suppress(HostError):
            await head.ask(lambda agent: made.unmake_tree(agent, "remove", directory, head.known))
        await tidy(ctx, sessions_of(ctx, step), cluster.launch)
    cluster.tried = job.reader.tried()


async def _finish_trial(job: MpiJob, head: HostSession) -> None:
    """Run a trial to its end. Raises RunRefused on any problem."""
    begun = False
    try:
        begun = await job.start()
        outcome = await job.run() if begun else Outcome(None, "unknown", collected=False)
    finally:
        if not begun:
            await job.give_up()
    job.keep()
    job.ctx.check_stop()
    problems = [(job.cause.host, job.cause.code, job.cause.told)] if job.cause.code else []
    problems += (
        [(None, *each) for each in workloads.problems(job.step.tool, job.reader, outcome.exit_code)]
        if begun
        else []
    )
    for host, code, told in problems:
        session = job.sessions.get(host or head.name, head)
        session.problem("preflight", code, clause("in-trial", quote=told))
    refuse_failed(JUDGE, job.sessions.values())


async def measure(ctx: RunContext, step: Step, window: Window) -> None:
    """Run one program over all hosts of a step and collect its result.

    In every case, ends all ranks and removes what `tidy` removes.
    """
    cluster = ctx.ahead.get(key_of(step))
    if cluster is None:
        cluster = await probe_hosts(ctx, step)
        refuse_failed(JUDGE, sessions_of(ctx, step))
    cluster.program = program_of(step)
    directory = working_directory(ctx, step, cluster.launch)
    job = MpiJob(ctx, step, cluster, cluster.program, directory)
    await make_directory(job.sessions[cluster.head], directory, job.program.files(directory))
    try:
        with ctx.phase("barrier", step.index):
            await ctx.journal.settled()
            await arm(job, window)
        with ctx.phase("measure", step.index):
            iterations = cluster.launch.iterations
            ctx.journal.append(
                MetadataPhase(t=0.0, step=step.index, phase="", iteration=0, iterations=iterations)
            )
            outcome = await job.run()
        with ctx.phase("collect", step.index):
            take_result(job, outcome, await keep_reports(job, outcome))
    finally:
        await tidy(ctx, sessions_of(ctx, step), cluster.launch)


async def arm(job: MpiJob, window: Window) -> None:
    """Start mpiexec and all proxies, which then wait to be released; wait for concurrent steps.

    Raises RunRefused, RunStopped.
    """
    begun = ready = False
    try:
        begun = await job.start()
        job.ctx.check_stop()
        if begun:
            await window.meet(job.ctx)
            await window.meet(job.ctx)
        ready = begun
    finally:
        if not ready:
            await job.give_up()
    if not begun:
        session = job.sessions[job.cause.host or job.cluster.head]
        session.problem("barrier", job.cause.code, job.cause.told)
        job.keep()
        raise RunRefused(EXIT_PARTIAL, clause("hosts-not-ready", hosts=[session.name]))
    for session in job.sessions.values():
        session.enter("armed")


def take_result(job: MpiJob, outcome: Outcome, reports: Mapping[str, str]) -> None:
    """Journal the program's result and its problems by host; `reports` are its report files."""
    ctx, cluster, reader = job.ctx, job.cluster, job.reader
    head = job.sessions[cluster.head]
    result = reader.figures(outcome.exit_code)
    ended = outcome.reason == "exit" and outcome.collected and not job.cause.code
    clean = ended and reader.succeeded(outcome.exit_code)
    if result is not None:
        result.final, result.mpi = clean, cluster.mpi
        for code, told in job.program.complete(result, len(cluster.hosts), cluster.tried):
            head.problem("measure", code, of_tool(job.step.tool, told), fatal=False)
        job.program.reported(result, reports)
        ctx.journal.append(result)
    for host, session in job.sessions.items():
        if result is not None:
            took_part = host_result(host, job.step.index, reader.tried().version, final=clean)
            ctx.results[job.step.index, host] = session.journal.append(took_part)
    if ctx.stop_mode is None:
        for host, code, told in causes(job, outcome):
            job.sessions[host].problem("measure", code, told, fatal=False)
    job.keep()
    why_over = "" if clean else early_end(outcome.reason) or clause("ended-early")
    for session in job.sessions.values():
        if not session.failed:
            session.enter("done", why_over)


async def keep_reports(job: MpiJob, outcome: Outcome) -> dict[str, str]:
    """Archive the program's report files in the run, remove them from the host and return their
    texts.

    After a stop, they stay on the host with the files under test.
    """
    if (
        not job.program.files(job.directory)
        or not outcome.collected
        or job.ctx.stop_mode is not None
    ):
        return {}
    head, reports = job.sessions[job.cluster.head], posixpath.join(job.directory, REPORTS)
    argv = ["tar", "-C", job.directory, "-cf", "-", REPORTS]
    task = HostTask(host=head.name, randseed=0, job_file="", argv=argv)
    reader = ReportsReader(head.name, job.step)
    load = TaskLoad(job.step, "collect", task, reader, "reports")
    run = TaskRun(head, load, job.ctx.run_dir, job.ctx.plan.lease_s)
    try:
        await run.start(armed=False)
        ended = await run.follow("collecting")
        if ended.exit_code != 0:
            told = clause("reports-kept", directory=reports, exit_code=ended.exit_code)
            head.say("warning", told)
            return {}
        if reports not in head.known.files:
            await _identify_again(head, reports, own_directory(job.ctx, job.cluster.launch))
        await head.ask(lambda agent: made.unmake_tree(agent, "remove", reports, head.known))
    except HostError as error:
        head.say("warning", clause("reports-left", directory=reports, quote=error.told))
    finally:
        run.output.close()
    return reader.texts()


async def _identify_again(head: HostSession, folder: str, own: str) -> None:
    """Record the identity of a folder that a dead engine created but did not journal.

    Only in the run's own directory, if unchanged. Raises HostError.
    """
    state = await head.ask(lambda agent: made.unmake_tree(agent, "look", own, head.known))
    if state == made.AS_MADE:
        head.known.take(await head.ask(partial(made.identify, paths=[folder])))


def causes(job: MpiJob, outcome: Outcome) -> list[tuple[str, str, Told]]:
    """Return all problems as (host, code, message), the root cause first."""
    head = job.cluster.head
    first = [job.cause] if job.cause.code else job.killed_proxies()
    found = [(cause.host or head, cause.code, cause.told) for cause in first]
    ended_here = bool(job.cause.code)  # later messages of mpiexec are caused by the engine's stop
    if job.sessions[head].gone or not outcome.collected:
        found.append((head, *job.sessions[head].loss(loss_of(outcome.reason))))
    elif outcome.reason != "exit" and not ended_here:
        found.append((head, *end_of(outcome.reason)))
    elif not ended_here:
        own = workloads.problems(job.step.tool, job.reader, outcome.exit_code)
        found += [(head, *each) for each in own]
    if found and not ended_here:
        found += [
            (host, *each)
            for host, run in job.proxies.items()
            for each in workloads.problems(job.step.tool, run.reader, 0)
        ]
    return found


async def adopt_program(
    ctx: RunContext, step: Step, tasks: dict[str, TaskStarted]
) -> tuple[bool, Outcome]:
    """Follow a program to its end and collect its result.

    Returns whether every part was still running, and the outcome of mpiexec.
    """
    program = program_of(step)
    sessions = {session.name: session for session in sessions_of(ctx, step)}
    facts = {name: parse_facts({}) for name in sessions}  # no state is known any more
    cluster = Cluster(step.tool, program, facts, family_of(program.launch, facts[step.hosts[0]]))
    job = MpiJob(ctx, step, cluster, program, working_directory(ctx, step, program.launch))
    with ctx.phase("measure", step.index):
        alive = await _reopen_all(job, sessions, tasks)
        outcome = await job.run()
    with ctx.phase("collect", step.index):
        cluster.tried = job.reader.tried()
        take_result(job, outcome, await keep_reports(job, outcome))
    await tidy(ctx, sessions_of(ctx, step), program.launch)
    return alive, outcome


async def _reopen_all(
    job: MpiJob, sessions: dict[str, HostSession], tasks: dict[str, TaskStarted]
) -> bool:
    """Reopen the streams of all parts; return False if a part is no longer running."""
    head_name = job.cluster.head
    where = (job.ctx.run_dir, job.ctx.plan.lease_s)
    load = TaskLoad(job.step, "measure", _task_of(head_name, tasks), job.reader)
    head = HeadRun(sessions[head_name], load, *where, resume=True)
    parts: dict[str, TaskRun] = {}
    for name, session in sessions.items():
        role = "proxy" if name == head_name else ""
        load = TaskLoad(
            job.step, "measure", _task_of(name, tasks), ProxyReader(name, job.step), role
        )
        parts[name] = TaskRun(session, load, *where, resume=True)
    found = await asyncio.gather(_reopen(head), *(_reopen(run) for run in parts.values()))
    job.adopt(head, {name: run for name, run in parts.items() if run.streaming})
    return all(found)


def _task_of(host: str, tasks: dict[str, TaskStarted]) -> HostTask:
    """Return a host's task with the arguments that the dead engine used; without arguments if that
    engine started none.
    """
    return HostTask(
        host=host, randseed=0, job_file="", argv=tasks[host].argv if host in tasks else []
    )


async def _reopen(run: TaskRun) -> bool:
    """Reopen a part's stream; return whether the part is still running.

    True for a proxy that never started, such as the head's with Open MPI.
    """
    with faults_of(run.session, run.phase, lambda *_: None):
        await run.reopen(0)
        return run.alive
    return run.role == "proxy"


async def check_hosts(ctx: RunContext) -> None:
    """Check the hosts of every program of the plan; problems are reported per host."""
    for key, step in launches_of(ctx.plan.steps).items():
        ctx.ahead[key] = await probe_hosts(ctx, step)


async def try_ahead(ctx: RunContext) -> None:
    """Launch a trial of every program of the plan. Raises RunRefused (exit 3)."""
    for key, step in launches_of(ctx.plan.steps).items():
        await try_out(ctx, step, ctx.ahead[key])


async def adopt(
    ctx: RunContext,
    history: History,  # noqa: ARG001
    step: Step,
    tasks: dict[str, TaskStarted],
) -> AdoptedStep:
    """Follow a program left by a dead engine to its end."""
    problems = ctx.journal.problems_on(step.hosts)
    alive, outcome = await adopt_program(ctx, step, tasks)
    whole, cut = outcome.reason == "exit" and outcome.exit_code == 0, ctx.stop_mode is not None
    ok = whole and problems == ctx.journal.problems_on(step.hosts) and not cut
    ctx.journal.append(StepEnded(t=0.0, step=step.index, ok=ok, cut=cut or not whole))
    return AdoptedStep(alive, whole)
