"""Files that loads have open during a measurement, with the flags they were opened with."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from tui.model.event import HostFactsCollected
from tui.model.host_tables import OpenFile, rows
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.engine.session.task import TaskRun
    from tui.model.hostfacts import Fact

AFTER_S = 3.0  # of the load: files are open by then
PATIENCE_S = 20.0
MOST_STEPS, MOST_FILES = 8, 16  # a sweep has many points over the same files


@asynccontextmanager
async def looking_at_open_files(runs: Sequence[TaskRun]) -> AsyncIterator[None]:
    """Look once at the open files of loads, while the context lasts.

    Neither waits for the answers nor fails: what is not known by the end stays unknown.
    """
    looks = [asyncio.create_task(_look(run)) for run in runs if run.step.index < MOST_STEPS]
    try:
        yield
    finally:
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)


async def _look(run: TaskRun) -> None:
    session, step = run.session, run.step
    task = next((task for task in step.tasks if task.host == session.name), None)
    names = {posixpath.basename(spec.path) for spec in (task.files if task is not None else ())}
    if not names or not any(job.stores for job in step.jobs):
        return
    await asyncio.sleep(AFTER_S)
    found: list[tuple[int, str]] = []
    with suppress(HostError, TimeoutError, OSError, ValueError):
        async with asyncio.timeout(PATIENCE_S):
            found = await session.agent.open_files()
    own = [
        msgspec.to_builtins(OpenFile(step.index, path, flags))
        for flags, path in found
        if posixpath.basename(path) in names
    ]
    if own:
        before = [msgspec.to_builtins(row) for row in rows(session.facts, OpenFile)]
        facts: dict[str, Fact] = {"open_files": [*before, *own[:MOST_FILES]]}
        session.facts |= facts
        session.journal.append(HostFactsCollected(t=0.0, host=session.name, facts=facts))
