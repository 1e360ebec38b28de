"""Look at the files of a step around its measurement: page cache, written extents, content."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from msgspec import to_builtins

from tui.engine.session.context import (
    DROP_CACHES,
    EXIT_PARTIAL,
    WRITTEN,
    RunContext,
    RunRefused,
    on_hosts,
)
from tui.engine.session.host_session import HostSession
from tui.model.event import CacheDropped, HostFactsCollected
from tui.model.host_tables import Content, Unknown, Written, rows
from tui.model.hostfacts import Fact
from tui.model.operands import clause
from tui.model.plan import FILE_NUMBER, FileSpec, Step, is_device
from tui.remote.answers import BLOCK_BYTES, CacheDrop, FileExtents
from tui.remote.files import drop_page_cache, read_blocks, read_extents
from tui.remote.transport import HostError

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
