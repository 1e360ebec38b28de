"""Identify the files of a run as soon as they are there: a name alone is not enough to remove them later."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence
from functools import partial

from tui.engine.session.context import RunContext
from tui.engine.session.session import HostSession
from tui.model.event import FileCreated
from tui.model.made import Identities
from tui.model.plan import FileSpec, Step, is_device
from tui.remote import made
from tui.remote.agent import Agent
from tui.remote.transport import HostError


async def identify_paths(session: HostSession, paths: Sequence[str], passing: Sequence[str] = ()) -> None:
    """Take down what stands at paths that this run has just made. Those that are `passing` are for no record.

    Raises HostError.
    """
    found = await session.ask(partial(made.identify, paths=[*paths, *passing]))
    session.known.take(found)
    told = [path for path in paths if path in found.files]
    session.journal.append(FileCreated(t=0.0, host=session.name, paths=told, bytes=0, known=_of(found, told)))


async def identify_files(ctx: RunContext, step: Step, session: HostSession, wrote: Collection[str]) -> None:
    """Take down what the files of a step are, after a load that made or wrote them.

    fio makes files anew that it finds too short: so what was written is looked at again. What cannot be taken down
    stays on the host when the run is cleaned, so an error ends nothing.
    """
    ours = {*session.created, *session.ours, *session.made_elsewhere}
    task = ctx.task_of(step, session)
    specs = [spec for spec in task.files if not is_device(spec.path)]
    specs = [
        spec for spec in specs if spec.path in wrote or (spec.path in ours and spec.path not in session.known.files)
    ]
    if not specs:
        return
    try:
        found = await session.ask(partial(_identify, specs))
    except HostError as error:
        session.say("warning", f"files cannot be identified, benchtui clean will leave them: {error.message}")
        return
    found = in_place(session, found)
    session.seen.forget(spec.path for spec in specs)
    session.seen.take(found)
    session.known.take(_of(found, [path for path in found.files if path in ours]))
    ctx.made_files.identify(session.name, found.files)
    told = [path for path in session.created if path in found.files]
    if told:
        session.journal.append(FileCreated(t=0.0, host=session.name, paths=told, bytes=0, known=_of(found, told)))


async def _identify(specs: Sequence[FileSpec], agent: Agent) -> Identities:
    return await made.identify(agent, [spec.path for spec in specs], {spec.path: spec.count for spec in specs})


def in_place(session: HostSession, found: Identities) -> Identities:
    """Leave out what lies in a directory that was replaced since the load began: it is none of ours."""
    before = session.seen.directories
    places = {path: place for path, place in found.directories.items() if before.get(path, place) == place}
    files = {path: what for path, what in found.files.items() if posixpath.dirname(path) in places}
    return Identities(files, places)


def _of(found: Identities, paths: Sequence[str]) -> Identities:
    parents = {posixpath.dirname(path) for path in paths}
    places = {path: place for path, place in found.directories.items() if path in parents}
    return Identities({path: found.files[path] for path in paths}, places)


def rewritten(ctx: RunContext, step: Step, session: HostSession) -> set[str]:
    """Return the files that the measurement of a step writes, or makes anew because they were shorter before."""
    task = ctx.task_of(step, session)
    before: dict[str, int] = {}
    for earlier in ctx.plan.steps[: step.index]:
        for each in earlier.tasks:
            if each.host == session.name:
                before.update({spec.path: max(spec.size_bytes, before.get(spec.path, 0)) for spec in each.files})
    larger = {spec.path for spec in task.files if spec.size_bytes > before.get(spec.path, 0)}
    return larger | {spec.path for spec in task.written}
