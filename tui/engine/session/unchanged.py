"""Whether targets are still what the preflight saw: hours may lie between that look and the load of a later step."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import partial

from tui.engine.session.context import RunContext
from tui.engine.session.on_hosts import TARGETS, on_hosts
from tui.engine.session.session import HostSession
from tui.model.made import Identities, Place
from tui.model.plain import printable
from tui.model.plan import FILE_NUMBER, HostTask, Step, is_device
from tui.remote import made
from tui.remote.agent import Agent


def files_of(task: HostTask) -> list[str]:
    """Return the plain files of a task that have a name each."""
    return [spec.path for spec in task.files if not is_device(spec.path) and FILE_NUMBER not in spec.path]


async def seen_on(agent: Agent, paths: list[str]) -> Identities:
    """Return what files are, and the directories that they lie in or will. Raises HostError."""
    found = await made.identify(agent, paths)
    found.directories.update(await made.places(agent, sorted({posixpath.dirname(path) for path in paths})))
    return found


async def check_unchanged(ctx: RunContext, step: Step) -> None:
    """Refuse a step whose directories or files are others than the preflight saw, or our own steps have made."""
    await on_hosts(ctx, TARGETS, ctx.taking_part(step), partial(_check_on, ctx, step))


async def _check_on(ctx: RunContext, step: Step, session: HostSession) -> None:
    paths = files_of(ctx.task_of(step, session))
    if not paths:
        return
    now = await session.ask(partial(seen_on, paths=paths))
    for text in changes(session, now):
        session.problem("preflight", "target-changed", text)
    session.seen.directories.update(now.directories)


def changes(session: HostSession, now: Identities) -> Iterator[str]:
    """Yield what is another directory or file than before. Of one directory one thing is said."""
    for path, place in now.directories.items():
        before = session.seen.directories.get(path)
        if before is not None and before != place:
            yield f"{path}: {_how(before, place)}, it is not written to; start the run again"
            return
    for path, identity in now.files.items():
        known = session.seen.files.get(path)
        if known is None and path in session.missing and path not in session.made_elsewhere:
            yield f"{path} was not there at preflight, and is there now: it is not overwritten; start the run again"
            return
        if known is not None and _stable(known) != _stable(identity):
            yield f"{path} was replaced since the preflight: it is not overwritten; start the run again"
            return


def _how(before: Place, now: Place) -> str:
    if before.real != now.real:
        return f"it leads to {printable(now.real)} now, to {printable(before.real)} at preflight"
    if before.mark.split(" ")[0] != now.mark.split(" ")[0]:
        return "another file system is mounted there since the preflight"
    return "another directory stands there since the preflight"


def _stable(identity: str) -> str:
    """Return an identity without the time of change, which whoever writes to a file moves on."""
    return identity.partition(" c:")[0]
