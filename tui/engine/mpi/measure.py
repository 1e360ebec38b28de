"""MPI programs as measurements: preflight with a trial launch, the measurement over all hosts, and its traces."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from tui.engine.mpi.cluster import Cluster, addresses_of, doubts, family_of, judge
from tui.engine.mpi.job import MpiJob
from tui.engine.running.context import RunContext, RunRefused
from tui.engine.running.session import HostSession
from tui.engine.running.task import Outcome
from tui.model.event import FileCreated, FilesRemoved, MetadataPhase, MetadataResult
from tui.model.plan import MpiLaunch, Step
from tui.remote import mpi
from tui.remote.mpi import MpiFacts
from tui.remote.transport import HostError
from tui.workloads.mdtest.command import arguments, trial_options
from tui.workloads.mdtest.reader import MdtestReader, host_result
from tui.workloads.mdtest.shift import shift_warning


def own_directory(ctx: RunContext, launch: MpiLaunch) -> str:
    """Return the directory that a run makes for itself in the one under test: it removes nothing outside of it."""
    return posixpath.join(launch.directory, f"benchtui-{ctx.run_id}")


# -- preflight


async def preflight_mpi(ctx: RunContext) -> None:
    """Look at the hosts of every MPI program of the plan, and launch a tiny one. Raises RunRefused (exit 3)."""
    for step in ctx.plan.steps:
        key = key_of(step)
        if step.mpi is not None and key not in ctx.mpi:
            ctx.mpi[key] = await survey(ctx, step, step.mpi)
            await _checked(ctx, trial(ctx, step, ctx.mpi[key]))
            tell(ctx, ctx.mpi[key])


def key_of(step: Step) -> str:
    """Return what a survey holds for: the same launch on the same hosts."""
    launch = step.mpi
    return f"{step.hosts} {launch.program} {launch.family} {launch.directory} {launch.addresses}" if launch else ""


async def survey(ctx: RunContext, step: Step, launch: MpiLaunch) -> Cluster:
    """Return the hosts of a program as they are. Raises RunRefused with every problem of every host."""
    sessions = sessions_of(ctx, step)
    found: dict[str, MpiFacts] = {}
    await ctx.unless_stopped(asyncio.create_task(_probe_all(sessions, launch, found)))
    refuse_failed(sessions)
    facts = {session.name: found[session.name] for session in sessions}
    cluster = Cluster(launch, facts, family_of(launch, facts[sessions[0].name]), addresses_of(launch, facts))
    for session in sessions:
        for code, message in judge(cluster).get(session.name, []):
            session.problem("preflight", code, message)
    refuse_failed(sessions)
    await _checked(ctx, _same_file_system(ctx, sessions, launch))
    for host, told in doubts(cluster).items():
        for text in told:
            next(session for session in sessions if session.name == host).say("warning", text)
    return cluster


def sessions_of(ctx: RunContext, step: Step) -> list[HostSession]:
    """Return the hosts of a step in the order of the plan: it is the order of the ranks."""
    by_name = {session.name: session for session in ctx.sessions}
    return [by_name[name] for name in step.hosts]


def refuse_failed(sessions: Sequence[HostSession]) -> None:
    """Raise RunRefused when a host failed: an MPI program needs all of them."""
    if failed := [session.name for session in sessions if session.failed]:
        raise RunRefused("failed", 3, f"preflight refused: {', '.join(failed)}")


async def _checked(ctx: RunContext, work: object) -> None:
    await ctx.unless_stopped(asyncio.create_task(work))  # type: ignore[arg-type]  # a coroutine of this module


async def _probe_all(sessions: Sequence[HostSession], launch: MpiLaunch, found: dict[str, MpiFacts]) -> None:
    await asyncio.gather(*(_probe_one(session, launch, found) for session in sessions))


async def _probe_one(session: HostSession, launch: MpiLaunch, found: dict[str, MpiFacts]) -> None:
    try:
        found[session.name] = await session.ask(lambda agent: mpi.probe(agent, launch.directory, launch.program))
    except HostError as error:
        session.problem("preflight", error.code, error.message)


async def _same_file_system(ctx: RunContext, sessions: Sequence[HostSession], launch: MpiLaunch) -> None:
    """The head makes a file; every host must see it, and be able to make files beside it."""
    name, directory, head = f".benchtui-seen-{ctx.run_id}", launch.directory, sessions[0]
    try:
        await head.ask(lambda agent: mpi.mark_directory(agent, directory, name))
    except HostError as error:
        head.problem("preflight", "dir-not-writable", error.message)
        refuse_failed(sessions)
    try:
        await asyncio.gather(*(_see(session, head.name, directory, name) for session in sessions))
    finally:
        await head.ask(lambda agent: mpi.unmark_directory(agent, directory, name))
    refuse_failed(sessions)


async def _see(session: HostSession, head: str, directory: str, name: str) -> None:
    try:
        seen, cannot_write = await session.ask(lambda agent: mpi.sees(agent, directory, name))
    except HostError as error:
        session.problem("preflight", error.code, error.message)
        return
    if not seen:
        session.problem("preflight", "not-shared", f"{directory} is not the same file system as on {head}")
    elif cannot_write:
        session.problem("preflight", "dir-not-writable", f"files cannot be made in {directory}: {cannot_write}")


async def trial(ctx: RunContext, step: Step, cluster: Cluster) -> None:
    """Launch one rank a host with one file each: whether hosts reach each other, and which mdtest it is.

    The profile's own options are tried with it. Raises RunRefused.
    """
    launch = replace(cluster.launch, ranks_per_host=1, items=1, iterations=1, options=trial_options(cluster.launch))
    directory = posixpath.join(own_directory(ctx, launch), "benchtui-trial")
    head = sessions_of(ctx, step)[0]
    reader = TrialReader(step, launch, len(cluster.hosts), cluster.nodes)
    words = arguments(launch, "1", directory)
    job = MpiJob(ctx, step, cluster, reader, words, 1, "preflight", "trial", "checking")
    await make_directory(head, directory)
    try:
        await finish_trial(job, head)
    finally:
        with suppress(HostError):  # options may leave its one file a rank; what cannot be removed now is named below
            await head.ask(lambda agent: mpi.remove_rest(agent, directory))
        await tidy(ctx, step, cluster.launch)
    cluster.version, cluster.counted = reader.output.version, reader.output.nodes


async def finish_trial(job: MpiJob, head: HostSession) -> None:
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
    problems += [(None, code, message) for code, message in job.reader.verdict(outcome.exit_code)] if begun else []
    for host, code, message in problems:
        session = job.sessions.get(host or head.name, head)
        session.problem("preflight", code, f"trial launch: {message}")
    refuse_failed(list(job.sessions.values()))


class TrialReader(MdtestReader):
    """Reads a trial: its phases are nobody's business."""

    def feed(self, data: bytes) -> list:  # type: ignore[type-arg]  # nothing of it is told
        """Take output and tell nothing."""
        super().feed(data)
        return []

    def flush(self) -> list:  # type: ignore[type-arg]
        """Take the rest and tell nothing."""
        super().flush()
        return []


def tell(ctx: RunContext, cluster: Cluster) -> None:
    """Say what will run, now that the version is known, and what its rank shift means."""
    shift, launcher = cluster.shift(), cluster.launcher
    mpi_text = f"{cluster.family} {launcher.version}" if launcher else cluster.family
    ctx.say(
        "info",
        f"mdtest {cluster.version or 'of unknown version'} by {mpi_text}, {len(cluster.hosts)} hosts x "
        f"{cluster.launch.ranks_per_host} ranks; -N {shift.stride}: {shift.text()}",
    )
    if warning := shift_warning(shift):
        ctx.say("warning", warning)


# -- measurement


async def measure_mpi(ctx: RunContext, step: Step, launch: MpiLaunch) -> None:
    """Run one MPI program over all hosts of a step and take its result. Leaves no rank behind, and names files."""
    cluster = ctx.mpi.get(key_of(step)) or await survey(ctx, step, launch)
    cluster.launch = launch
    again = f".{step.attempt}" if step.attempt > 1 else ""  # what a try before left must not be met
    directory = posixpath.join(own_directory(ctx, launch), f"{step.index}{again}")
    ranks = launch.ranks(len(step.tasks))
    reader = MdtestReader(step, launch, ranks, cluster.nodes)
    words = arguments(launch, str(cluster.shift().stride), directory)
    job = MpiJob(ctx, step, cluster, reader, words, launch.ranks_per_host)
    await make_directory(job.sessions[cluster.head], directory)
    try:
        with ctx.phase("barrier", step.index):
            await arm(job)
        with ctx.phase("measure", step.index):
            launched = MetadataPhase(t=0.0, step=step.index, phase="", iteration=0, iterations=launch.iterations)
            ctx.journal.append(launched)
            outcome = await job.run()
        with ctx.phase("collect", step.index):
            take_result(job, outcome)
    finally:
        await tidy(ctx, step, launch)


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
        raise RunRefused("failed", 4, f"not ready to start: {session.name}")
    for session in job.sessions.values():
        session.enter("armed")


def take_result(job: MpiJob, outcome: Outcome) -> None:
    """Journal what was measured, and what is wrong with it, by host."""
    ctx, cluster, reader = job.ctx, job.cluster, job.reader
    head = job.sessions[cluster.head]
    result = reader.metadata(outcome.exit_code)
    ended = outcome.reason == "exit" and outcome.collected and not job.cause.code
    clean = ended and reader.succeeded(outcome.exit_code)
    if result is not None:
        result.final = clean
        check_shift(head, cluster, result)
        ctx.journal.append(result)
    for host, session in job.sessions.items():
        if result is not None:
            took_part = host_result(host, job.step, reader.output.version, final=clean)
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
        found += [(head, code, message) for code, message in job.reader.verdict(outcome.exit_code)]
    if found and not ended_here:
        found += [(host, code, text) for host, run in job.proxies.items() for code, text in run.reader.verdict(0)]
    return found


def check_shift(head: HostSession, cluster: Cluster, result: MetadataResult) -> None:
    """Put the rank shift into the result: as mdtest printed it, else as computed; they must agree."""
    expected = cluster.shift()
    result.ranks_per_node = expected.placement.per_node
    if result.shift < 0:
        result.shift = expected.ranks
        return
    result.shift %= max(result.tasks, 1)
    if result.shift != expected.ranks:
        text = f"mdtest shifts ranks by {result.shift}, {expected.ranks} were expected for version {result.version}"
        head.problem("measure", "shift-unexpected", text, fatal=False)


# -- files


async def make_directory(head: HostSession, directory: str) -> None:
    """Make the run's own directory, and say so before it is there. Raises RunRefused."""
    head.journal.append(FileCreated(t=0.0, host=head.name, paths=[posixpath.dirname(directory)], bytes=0))
    try:
        await head.ask(lambda agent: agent.make_dirs([directory]))
    except HostError as error:
        head.problem("barrier", error.code, error.message)
        raise RunRefused("failed", 4, f"{directory} could not be made on {head.name}") from error


async def tidy(ctx: RunContext, step: Step, launch: MpiLaunch) -> None:
    """Take away the run's own directory: when it is empty, or all of it when the run shall clean up behind itself."""
    directory = own_directory(ctx, launch)
    sessions = [session for session in sessions_of(ctx, step) if not session.failed] or sessions_of(ctx, step)[:1]
    head = sessions[0]
    try:
        left = await head.ask(lambda agent: mpi.take_empty(agent, directory))
        if left and ctx.plan.cleanup:
            await remove_tree(sessions, directory)
            left = False
    except HostError as error:
        head.say("warning", f"files stay behind in {directory}: {error.message}")
        return
    if left:
        head.say("warning", f"files of a run that was not finished stay behind in {directory}")
    else:
        named = sessions_of(ctx, step)[0]
        named.journal.append(FilesRemoved(t=0.0, host=named.name, paths=[directory]))


async def remove_tree(sessions: Sequence[HostSession], directory: str) -> None:
    """Remove a run's own directory whole, every host a share of it. Raises HostError."""
    count = len(sessions)
    shares = (mpi.remove_share(session.agent, directory, index, count) for index, session in enumerate(sessions))
    await asyncio.gather(*shares)
    await mpi.remove_rest(sessions[0].agent, directory)
