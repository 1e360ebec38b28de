"""Taking over an MPI program whose engine died: its mpiexec and proxies are followed to their end."""

from __future__ import annotations

import asyncio

from tui.engine.mpi.files import tidy
from tui.engine.mpi.job import HeadRun, MpiJob
from tui.engine.mpi.look import sessions_of
from tui.engine.mpi.measure import take_result
from tui.engine.preflight.cluster import Cluster, family_of, program_of
from tui.engine.session.context import RunContext
from tui.engine.session.on_hosts import faults_of
from tui.engine.session.session import HostSession
from tui.engine.session.task import Outcome, TaskRun
from tui.model.event import TaskStarted
from tui.model.plan import HostTask, Step
from tui.remote.mpi import parse_facts
from tui.workloads.base import Reader
from tui.workloads.mpi import ProxyReader


async def adopt_program(ctx: RunContext, step: Step, tasks: dict[str, TaskStarted]) -> tuple[bool, Outcome]:
    """Follow a program to its end and take its result; returns whether all of it still ran, and how mpiexec ended."""
    program = program_of(step)
    sessions = {session.name: session for session in sessions_of(ctx, step)}
    facts = {name: parse_facts({}) for name in sessions}  # nothing is known of them any more
    cluster = Cluster(step.tool, program, facts, family_of(program.launch, facts[step.hosts[0]]))
    job = MpiJob(ctx, step, cluster, program, "")
    with ctx.phase("measure", step.index):
        alive = await _reopen_all(job, sessions, tasks)
        outcome = await job.run()
    with ctx.phase("collect", step.index):
        cluster.tried = job.reader.tried()
        take_result(job, outcome)
    await tidy(ctx, sessions_of(ctx, step), program.launch)
    return alive, outcome


async def _reopen_all(job: MpiJob, sessions: dict[str, HostSession], tasks: dict[str, TaskStarted]) -> bool:
    """Open the streams of all parts again; False when a part does not run any more."""
    head_name = job.cluster.head
    head = HeadRun(*_arguments(job, sessions[head_name], tasks.get(head_name), job.reader), resume=True)
    parts: dict[str, TaskRun] = {}
    for name, session in sessions.items():
        role = "proxy" if name == head_name else ""
        reader = ProxyReader(name, job.step)
        parts[name] = TaskRun(*_arguments(job, session, tasks.get(name), reader), resume=True, role=role)
    found = await asyncio.gather(_reopen(head), *(_reopen(run) for run in parts.values()))
    job.adopt(head, {name: run for name, run in parts.items() if run.streaming})
    return all(found)


def _arguments(job: MpiJob, session: HostSession, task: TaskStarted | None, reader: Reader) -> tuple:  # type: ignore[type-arg]  # those of TaskRun
    ctx, argv = job.ctx, task.argv if task is not None else []
    known = HostTask(host=session.name, randseed=0, job_file="", argv=argv)
    return session, job.step, "measure", known, reader, ctx.run_dir, ctx.plan.lease_s


async def _reopen(run: TaskRun) -> bool:
    """Return whether a part still runs. One that never was, such as the head's own proxy of Open MPI, is left out."""
    with faults_of(run.session, run.phase, lambda *_: None):
        await run.reopen(0)
        return run.alive
    return run.role == "proxy"
