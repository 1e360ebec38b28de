"""Content of a step's files: which extents were ever written, and a few sampled blocks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from msgspec import to_builtins

from tui.engine.session.context import WRITTEN, RunContext, on_hosts
from tui.engine.session.host_session import HostSession
from tui.metrics import units
from tui.model.event import HostFactsCollected
from tui.model.host_tables import Content, Unknown, Written, rows
from tui.model.hostfacts import Fact
from tui.model.plan import FILE_NUMBER, FileSpec, Step, is_device
from tui.remote.answers import BLOCK_BYTES, FileExtents
from tui.remote.files import read_blocks, read_extents
from tui.remote.transport import HostError

MOST = 16  # files to check, the largest first
PATIENCE_S = 20.0  # slow for a fragmented file, and dirty pages are written first


async def look_at_written(ctx: RunContext, step: Step) -> None:
    """Check which blocks of the files a step reads were ever written, if the host can tell."""
    if any("read" in job.directions and job.stores for job in step.jobs):
        await on_hosts(
            ctx, WRITTEN, ctx.taking_part(step), partial(_check_extents, ctx, step), _not_known
        )


async def _check_extents(ctx: RunContext, step: Step, session: HostSession) -> None:
    paths = looked_at(ctx.task_of(step, session).files)
    if not paths:
        return
    async with asyncio.timeout(PATIENCE_S):
        found, why = await session.ask(lambda agent: read_extents(agent, paths))
    if not found:
        _keep(session, Unknown("written", why or "no file is there"))
        return
    row = row_of(step.index, found)
    _keep(session, row)
    if row.never_written_bytes:
        never, whole = units.size(row.never_written_bytes), units.size(row.size_bytes)
        session.say(
            "warning", f"{never} of the {whole} to read were never written, e.g. in {row.path}"
        )


def looked_at(files: list[FileSpec]) -> list[str]:
    """Return the paths of the largest files.

    Devices and numbered empty files have no extents.
    """
    plain = [
        spec
        for spec in files
        if spec.size_bytes and FILE_NUMBER not in spec.path and not is_device(spec.path)
    ]
    return [spec.path for spec in sorted(plain, key=lambda spec: -spec.size_bytes)[:MOST]]


def row_of(step: int, found: dict[str, FileExtents]) -> Written:
    """Return the totals over files, and the worst file."""
    worst = max(found, key=lambda path: found[path].never_written)
    never = sum(each.never_written for each in found.values())
    return Written(
        step, len(found), sum(each.size for each in found.values()), never, worst if never else ""
    )


def _not_known(session: HostSession, error: HostError) -> None:
    _keep(session, Unknown("written", error.message))


SAMPLED, SAMPLED_FILES = 16, 4  # blocks per step and host, from the largest files
SAMPLED_STEPS = 8  # a sweep has many points over the same files
# blocks of 4 KiB, aligned to usual I/O sizes, so that a repeated write buffer shows
STRIDE = 256


async def look_at_content(ctx: RunContext, step: Step, kind: Literal["read", "written"]) -> None:
    """Sample the content of a step's files: before it if read, after it if written."""
    direction = "read" if kind == "read" else "write"
    if any(direction in job.directions and job.stores for job in step.jobs):
        look = partial(_sample, ctx, step, kind)
        await on_hosts(ctx, WRITTEN, ctx.taking_part(step), look, partial(_not_sampled, kind))


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
    if found.blocks:
        _keep(
            session,
            Content(step.index, kind, found.blocks, found.zero, found.distinct, found.packed),
        )


def sampled_of(files: Sequence[FileSpec], devices: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the blocks to sample, by path and number, spread over the largest files.

    `devices` are bytes by path.
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
    """Add to the facts of a host, over all steps."""
    name = {Written: "written", Content: "content", Unknown: "unknown"}[type(row)]
    listed = session.facts.get(name)
    before = listed if isinstance(listed, list) else []
    kept: dict[str, Fact] = {name: [*before, to_builtins(row)]}
    session.facts |= kept
    session.journal.append(HostFactsCollected(t=0.0, host=session.name, facts=kept))
