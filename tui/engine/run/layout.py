"""Write test files before the measurement, and remove them on request."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from tui import workloads
from tui.engine.executors.load import run_load
from tui.engine.preflight.clean import created_on, remove_created
from tui.engine.preflight.destroy import FileNeed, needs_of
from tui.engine.run.preflight import forget_made, own_needs
from tui.engine.session.context import (
    CLEAN_UP,
    DIRECTORIES,
    EXPECTED_FILES,
    LAYOUT,
    LAYOUT_START,
    MISSING_FILES,
    RunContext,
    faults_of,
    on_hosts,
    refuse_failed,
)
from tui.engine.session.host_session import HostSession
from tui.engine.session.targets import identify_files, identify_paths
from tui.engine.session.task import TaskLoad, TaskRun
from tui.model.event import ALLOCATION_ENDED, FilesRemoved
from tui.model.operands import clause
from tui.model.plan import FILE_NUMBER, HostTask, Step
from tui.remote import made
from tui.remote.files import NumberedFiles, count_numbered, stat_files
from tui.remote.transport import HostError

LEAVING_S = 10.0  # how long to retry a broken connection at the end


async def layout(ctx: RunContext, step: Step) -> None:
    """Write files that are missing, short or have holes, on all hosts at once.

    Raises RunRefused if a host fails, and RunStopped if the run is stopped.
    """
    wanted = await on_hosts(
        ctx, MISSING_FILES, ctx.taking_part(step), partial(_files_to_write, ctx, step)
    )
    total = sum(need.spec.size_bytes for needs in wanted.values() for need in needs)
    if not total:
        return
    with ctx.phase("layout", step.index, total_bytes=total):
        busy = [session for session in ctx.taking_part(step) if wanted[session.name]]
        runs = {
            session.name: _layout_run(ctx, step, session, wanted[session.name]) for session in busy
        }
        await ctx.journal.settled()
        await on_hosts(ctx, LAYOUT_START, busy, lambda session: _start(runs[session.name]))
        outcomes = await run_load(
            ctx, [run for run in runs.values() if not run.session.failed], "layout", None
        )
        for name, run in runs.items():
            with faults_of(run.session, "layout"):
                if outcome := outcomes.get(name):
                    _judge(run, outcome.exit_code, outcome.reason)
                run.output.close()
        for name, run in runs.items():
            await identify_files(ctx, step, run.session, {need.spec.path for need in wanted[name]})
        ctx.check_stop()
        refuse_failed(LAYOUT, busy)


async def make_directories(ctx: RunContext, step: Step) -> None:
    """Create the directories for a step's files, and record the new directories.

    Then check that files are in the state that the step requires; refuse the step if not.
    """
    sessions = ctx.taking_part(step)
    await on_hosts(
        ctx, DIRECTORIES, sessions, lambda session: _make_on(session, ctx.task_of(step, session))
    )
    await on_hosts(ctx, EXPECTED_FILES, sessions, lambda session: _expect_on(ctx, session, step))


async def clean_up(ctx: RunContext) -> None:
    """Remove the files that this run created from the hosts."""
    with ctx.phase("cleanup"):
        holding = [session for session in ctx.sessions if session.created]
        await on_hosts(ctx, CLEAN_UP, holding, partial(_clean_host, ctx), _stays_behind)


def _stays_behind(session: HostSession, error: HostError) -> None:
    session.say("warning", clause("files-kept", quote=error.told))


async def _make_on(session: HostSession, task: HostTask) -> None:
    if not task.directories:
        return
    new = await session.ask(lambda agent: made.make_directories(agent, task.directories))
    if new:
        session.remember_created(new)
        await identify_paths(session, new)


async def _expect_on(ctx: RunContext, session: HostSession, step: Step) -> None:
    """Check that files are in the state required by a step that only creates, stats or removes
    them.
    """
    task = ctx.task_of(step, session)
    if not task.expects:
        return

    advice = workloads.of(step).advice
    found = await session.ask(lambda agent: stat_files(agent, [spec.path for spec in task.files]))
    many = await _count_numbered(ctx, session, task)
    if full := next((each.full for each in many if each.full), ""):
        empty = not any(spec.size_bytes for spec in task.files)
        told = clause("file-foreign", path=full, empty=empty)
        session.problem("preflight", "files-foreign", told)
        return
    wrong = [path for path, info in found.items() if (info is None) == (task.expects == "present")]
    if task.expects == "absent":
        wrong = [*wrong, *(each.first for each in many if each.there)]
    one = wrong[0].replace(FILE_NUMBER, "0") if wrong else ""
    if wrong and task.expects == "absent":
        told = clause("files-there", path=one, advice=advice("files-there"))
        session.problem("preflight", "files-there", told)
    elif wrong:
        told = clause("files-missing", path=one, advice=advice("files-missing"))
        session.problem("preflight", "files-missing", told)


async def _count_numbered(
    ctx: RunContext, session: HostSession, task: HostTask
) -> list[NumberedFiles]:
    """Count the numbered files that a step will create, or will remove although this user's runs
    did not create them.

    Files that a step only stats, and this user's own, are skipped: the check would cache them on
    the host.
    """
    if task.expects == "absent":
        specs = task.files
    else:
        known = ctx.made_files.sizes(session.name)
        specs = [spec for spec in task.written if spec.path not in known]
    specs = [spec for spec in specs if FILE_NUMBER in spec.path and spec.count]
    return [
        await session.ask(
            partial(count_numbered, path=spec.path, count=spec.count, size=spec.size_bytes)
        )
        for spec in specs
    ]


async def _files_to_write(ctx: RunContext, step: Step, session: HostSession) -> list[FileNeed]:
    task = ctx.task_of(step, session)
    if not task.layout or not task.files:
        return []
    needs = needs_of(
        task, await session.ask(lambda agent: stat_files(agent, [spec.path for spec in task.files]))
    )
    return own_needs(ctx, step, session, needs)


def _layout_run(
    ctx: RunContext, step: Step, session: HostSession, needs: list[FileNeed]
) -> TaskRun:
    workload = workloads.of(step)
    specs = [need.spec for need in needs]
    task = replace(
        ctx.task_of(step, session), job_file=workload.layout_job(specs), argv=workload.layout_argv()
    )
    fresh = [
        need.spec for need in needs if need.why == "missing" or need.spec.path in session.short
    ]
    ctx.made_files.add(session.name, specs)
    size_bytes = sum(spec.size_bytes for spec in fresh)
    session.remember_created([spec.path for spec in fresh], size_bytes)
    reader = workload.reader(session.name, step, "layout", ctx.plan.latency_kind_of(step))
    return TaskRun(session, TaskLoad(step, "layout", task, reader), ctx.run_dir, ctx.plan.lease_s)


async def _start(run: TaskRun) -> None:
    await run.start(armed=False)
    run.session.enter("layout")


def _judge(run: TaskRun, exit_code: int | None, reason: str) -> None:
    if reason == ALLOCATION_ENDED:
        run.session.problem("layout", *run.session.loss(""))
    if run.session.failed or reason in ("stop", "abort"):
        return
    problems = run.reader.problems(exit_code)
    for code, message in problems:
        run.session.problem("layout", code, clause("in-layout", quote=message))
    if not problems:
        run.session.enter("ready", clause("laid-out"))


async def _clean_host(ctx: RunContext, session: HostSession) -> None:
    created = created_on(ctx.plan, session.address, session.created, session.facts, session.known)
    if session.failed:
        cleaning = await remove_created(session.agent, created)
    else:
        cleaning = await session.ask(lambda agent: remove_created(agent, created), LEAVING_S)
    gone = cleaning.settled
    forget_made(ctx, session, gone)
    session.created = [path for path in session.created if path not in set(gone)]
    if gone:
        session.journal.append(
            FilesRemoved(t=0.0, host=session.name, paths=gone, bytes=cleaning.bytes)
        )
        session.say("info", clause("files-removed", files=len(gone)))
    if cleaning.stays:
        path, why = next(iter(cleaning.stays.items()))
        told = clause("some-files-kept", paths=list(cleaning.stays), path=path, quote=why)
        session.say("warning", told)
