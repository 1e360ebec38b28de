"""Files of a step: write test files before the measurement, and remove them on request.

Also inspect them before and after the measurement: page cache, written extents, content.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from msgspec import to_builtins
from msgspec.structs import replace

from tui import workloads
from tui.engine.executors.executor import run_load
from tui.engine.preflight.clean import created_on, remove_created
from tui.engine.preflight.destroy import FileNeed, needs_of
from tui.engine.run.preflight import forget_made, own_needs
from tui.engine.session.context import (
    CLEAN_UP,
    DIRECTORIES,
    DROP_CACHES,
    EXIT_PARTIAL,
    EXPECTED_FILES,
    LAYOUT,
    LAYOUT_START,
    MISSING_FILES,
    WRITTEN,
    RunContext,
    RunRefused,
    faults_of,
    on_hosts,
    refuse_failed,
)
from tui.engine.session.host_session import HostSession
from tui.engine.session.targets import identify_files, identify_paths
from tui.engine.session.task import TaskLoad, TaskRun
from tui.model.event import ALLOCATION_ENDED, CacheDropped, FilesRemoved, HostFactsCollected
from tui.model.host_tables import Content, Unknown, Written, rows
from tui.model.hostfacts import Fact
from tui.model.operands import clause
from tui.model.plan import FILE_NUMBER, FileSpec, HostTask, Step, is_device
from tui.remote import made
from tui.remote.answers import BLOCK_BYTES, CacheDrop, FileExtents
from tui.remote.files import (
    NumberedFiles,
    count_numbered,
    drop_page_cache,
    read_blocks,
    read_extents,
    stat_files,
)
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
    problems = workloads.problems(run.step.tool, run.reader, exit_code)
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


MOST = 16  # files to check, the largest first
PATIENCE_S = 20.0  # slow for a fragmented file, and dirty pages are written first
SAMPLED, SAMPLED_FILES = 16, 4  # blocks per step and host, from the largest files
SAMPLED_STEPS = 8  # a sweep has many points over the same files
# blocks of 4 KiB, aligned to usual I/O sizes, so that a repeated write buffer shows
STRIDE = 256


async def drop_caches(ctx: RunContext, step: Step) -> None:
    """Drop the page caches of all hosts before a measurement, and report how or why not.

    Raises RunRefused.
    """
    wanted = ctx.plan.drop_caches_before(step)
    if wanted == "no":
        return
    errors: dict[str, str] = {}

    def not_asked(session: HostSession, error: HostError) -> None:
        errors[session.name] = error.message

    sessions = ctx.taking_part(step)
    answers = await on_hosts(ctx, DROP_CACHES, sessions, partial(_drop_on, ctx, step), not_asked)
    answers |= {name: CacheDrop("none", False, message) for name, message in errors.items()}
    dropped = {
        session.name: _say_dropped(session, step, answers[session.name], wanted)
        for session in sessions
    }
    failed = [name for name, ok in dropped.items() if not ok]
    if failed and wanted == "require":
        raise RunRefused(EXIT_PARTIAL, clause("caches-not-dropped", hosts=failed))


def _say_dropped(session: HostSession, step: Step, answer: CacheDrop, wanted: str) -> bool:
    """Journal and report how a host dropped its page cache; return whether it did."""
    ok, method, detail = answer.ok, answer.method, answer.detail
    session.journal.append(
        CacheDropped(t=0.0, host=session.name, step=step.index, ok=ok, method=method, detail=detail)
    )
    how = ": ".join(part for part in (method, detail) if part)
    if ok:
        session.say("info", clause("cache-dropped", quote=how, step=step.name))
    elif wanted == "require":
        told = clause("cache-not-dropped", quote=how)
        session.problem("layout", "cache-not-dropped", told, fatal=False)
    else:
        session.say("warning", clause("cache-kept", quote=how))
    return ok


async def _drop_on(ctx: RunContext, step: Step, session: HostSession) -> CacheDrop:
    paths = [spec.path for spec in ctx.task_of(step, session).files]
    return await session.ask(lambda agent: drop_page_cache(agent, paths))


async def check_written(ctx: RunContext, step: Step) -> None:
    """Check which blocks of the files that a step reads were ever written, where the host can
    report it.
    """
    if any("read" in job.directions and job.stores for job in step.jobs):
        await on_hosts(
            ctx, WRITTEN, ctx.taking_part(step), partial(_check_extents, ctx, step), _not_known
        )


async def _check_extents(ctx: RunContext, step: Step, session: HostSession) -> None:
    paths = largest_files(ctx.task_of(step, session).files)
    if not paths:
        return
    async with asyncio.timeout(PATIENCE_S):
        found, why = await session.ask(lambda agent: read_extents(agent, paths))
    if not found:
        _keep(session, Unknown("written", why or "no file"))
        return
    row = row_of(step.index, found)
    _keep(session, row)
    if row.never_written_bytes:
        told = clause(
            "never-written",
            never_bytes=row.never_written_bytes,
            of_bytes=row.size_bytes,
            path=row.path,
        )
        session.say("warning", told)


def largest_files(files: list[FileSpec]) -> list[str]:
    """Return the paths of at most MOST files, the largest first, without devices, numbered and
    empty files.
    """
    plain = [
        spec
        for spec in files
        if spec.size_bytes and FILE_NUMBER not in spec.path and not is_device(spec.path)
    ]
    return [spec.path for spec in sorted(plain, key=lambda spec: -spec.size_bytes)[:MOST]]


def row_of(step: int, found: dict[str, FileExtents]) -> Written:
    """Return the size and never-written bytes of all files, and the file with the most bytes never
    written.
    """
    worst = max(found, key=lambda path: found[path].never_written)
    never = sum(each.never_written for each in found.values())
    return Written(
        step, len(found), sum(each.size for each in found.values()), never, worst if never else ""
    )


def _not_known(session: HostSession, error: HostError) -> None:
    _keep(session, Unknown("written", error.message))


async def sample_content(ctx: RunContext, step: Step, kind: Literal["read", "written"]) -> None:
    """Sample the content of a step's files: before the step if it reads them, after it if it writes
    them.
    """
    direction = "read" if kind == "read" else "write"
    if any(direction in job.directions and job.stores for job in step.jobs):
        sample = partial(_sample, ctx, step, kind)
        await on_hosts(ctx, WRITTEN, ctx.taking_part(step), sample, partial(_not_sampled, kind))


async def _sample(
    ctx: RunContext, step: Step, kind: Literal["read", "written"], session: HostSession
) -> None:
    if sum(row.kind == kind for row in rows(session.facts, Content)) >= SAMPLED_STEPS:
        return
    devices = {
        path: found.size_bytes or 0
        for path, found in session.devices.items()
        if found.kind == "block"
    }
    places = sampled_of(ctx.task_of(step, session).files, devices)
    if not places:
        return
    async with asyncio.timeout(PATIENCE_S):
        found = await session.ask(lambda agent: read_blocks(agent, places))
        never = None
        if kind == "written" and 2 * found.zero > found.blocks:
            never = await _never_written(session, list(dict.fromkeys(path for path, _ in places)))
    if found.blocks:
        figures = (found.zero, found.distinct, found.packed, found.row, found.apart, never)
        _keep(session, Content(step.index, kind, found.blocks, *figures))


async def _never_written(session: HostSession, paths: list[str]) -> float | None:
    """Return the share of files without written extents; None if the host cannot report it."""
    try:
        found, _ = await session.ask(lambda agent: read_extents(agent, paths))
    except HostError:
        return None
    whole = sum(each.size for each in found.values())
    known = len(found) == len(paths) and whole
    return sum(each.never_written for each in found.values()) / whole if known else None


def sampled_of(files: Sequence[FileSpec], devices: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the blocks to sample as (path, block number), spread over the largest files.

    `devices`: size in bytes by path.
    """
    sizes = {
        spec.path: devices.get(spec.path, 0) if is_device(spec.path) else spec.size_bytes
        for spec in files
        if FILE_NUMBER not in spec.path
    }
    largest = sorted(sizes, key=lambda path: -sizes[path])[:SAMPLED_FILES]
    known = [path for path in largest if sizes[path] >= BLOCK_BYTES]
    places: dict[tuple[str, int], None] = {}
    for path in known:
        blocks, count = sizes[path] // BLOCK_BYTES, SAMPLED // len(known)
        stride = STRIDE if blocks >= STRIDE * count else 1
        places |= dict.fromkeys(
            (path, blocks * number // count // stride * stride) for number in range(count)
        )
    return list(places)


def _not_sampled(kind: str, session: HostSession, error: HostError) -> None:
    _keep(session, Unknown("content", f"{kind}: {error.message}"))


def _keep(session: HostSession, row: Written | Content | Unknown) -> None:
    """Append a row to the host's facts, which accumulate over all steps."""
    name = {Written: "written", Content: "content", Unknown: "unknown"}[type(row)]
    listed = session.facts.get(name)
    before = listed if isinstance(listed, list) else []
    kept: dict[str, Fact] = {name: [*before, to_builtins(row)]}
    session.facts |= kept
    session.journal.append(HostFactsCollected(t=0.0, host=session.name, facts=kept))
