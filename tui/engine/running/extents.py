"""What a step is about to read: was it ever written? Told before the load, and kept with the facts of the host."""

from __future__ import annotations

import asyncio
from functools import partial

from msgspec import to_builtins

from tui.engine.session.context import RunContext
from tui.engine.session.on_hosts import WRITTEN, on_hosts
from tui.engine.session.session import HostSession
from tui.metrics import units
from tui.model.event import HostFacts
from tui.model.hostfacts import Fact
from tui.model.hosttables import Unknown, Written
from tui.model.plan import FILE_NUMBER, FileSpec, Step, is_device
from tui.remote.answers import FileExtents
from tui.remote.transport import HostError

MOST = 16  # files that are looked at, the largest first
PATIENCE_S = 20.0  # a file in very many pieces takes long, and what is dirty is written first


async def look_at_written(ctx: RunContext, step: Step) -> None:
    """Look at the files that a step reads, where a host can tell which blocks of them were written."""
    if any("read" in job.directions and job.stores for job in step.jobs):
        await on_hosts(ctx, WRITTEN, ctx.taking_part(step), partial(_look, ctx, step), _not_known)


async def _look(ctx: RunContext, step: Step, session: HostSession) -> None:
    paths = looked_at(ctx.task_of(step, session).files)
    if not paths:
        return
    async with asyncio.timeout(PATIENCE_S):
        found, why = await session.ask(lambda agent: agent.extents(paths))
    if not found:
        _keep(session, unknown=why or "no file is there")
        return
    row = row_of(step.index, found)
    _keep(session, row=row)
    if row.never_written_bytes:
        never, whole = units.size(row.never_written_bytes), units.size(row.size_bytes)
        session.say("warning", f"{never} of {whole} that are read were never written, as of {row.path}")


def looked_at(files: list[FileSpec]) -> list[str]:
    """Return the paths of the largest files; of devices and of numbered empty files nothing is to be told."""
    plain = [spec for spec in files if spec.size_bytes and FILE_NUMBER not in spec.path and not is_device(spec.path)]
    return [spec.path for spec in sorted(plain, key=lambda spec: -spec.size_bytes)[:MOST]]


def row_of(step: int, found: dict[str, FileExtents]) -> Written:
    """Return what was found of files together, and the worst of them."""
    worst = max(found, key=lambda path: found[path].never_written)
    never = sum(each.never_written for each in found.values())
    return Written(step, len(found), sum(each.size for each in found.values()), never, worst if never else "")


def _not_known(session: HostSession, error: HostError) -> None:
    _keep(session, unknown=error.message)


def _keep(session: HostSession, row: Written | None = None, unknown: str = "") -> None:
    """Add to the facts of a host; they are of all steps."""
    name = "written" if row is not None else "unknown"
    listed = session.facts.get(name)
    before = listed if isinstance(listed, list) else []
    kept: dict[str, Fact] = {name: [*before, to_builtins(row or Unknown("written", unknown))]}
    session.facts |= kept
    session.journal.append(HostFacts(t=0.0, host=session.name, facts=kept))
