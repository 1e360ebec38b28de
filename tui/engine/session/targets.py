"""Identify files and devices of a run, and check later that they are unchanged and not in use."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from tui.engine.preflight.destroy import judge_again
from tui.engine.session.context import DEVICES, TARGETS, RunContext, on_hosts
from tui.engine.session.host_session import HostSession
from tui.model.event import FileCreated, FilesRemoved
from tui.model.operands import Clause, clause
from tui.model.plain import printable
from tui.model.plan import (
    FILE_NUMBER,
    HARMLESS,
    DirectoryIdentity,
    FileSpec,
    HostTask,
    Identities,
    Step,
    is_device,
)
from tui.remote import made
from tui.remote.agent import Agent
from tui.remote.devices import read_devices
from tui.remote.files import stat_files
from tui.remote.transport import HostError


async def identify_paths(
    session: HostSession, paths: Sequence[str], passing: Sequence[str] = ()
) -> None:
    """Record the identities of paths that this run has just created.

    `passing` paths are temporary and not journalled. Raises HostError.
    """
    found = await session.ask(partial(made.identify, paths=[*paths, *passing]))
    session.known.take(found)
    known = [path for path in paths if path in found.files]
    session.journal.append(
        FileCreated(t=0.0, host=session.name, paths=known, bytes=0, known=_of(found, known))
    )


async def identify_files(
    ctx: RunContext, step: Step, session: HostSession, wrote: Collection[str]
) -> None:
    """Record the identities of a step's files after a load that created or wrote them.

    A load may recreate files that are too short, so written files are identified again. An error
    is only a warning: a file without identity stays on the host when the run is cleaned.
    """
    ours = {*session.created, *session.ours, *session.made_elsewhere}
    task = ctx.task_of(step, session)
    specs = [spec for spec in task.files if not is_device(spec.path)]
    specs = [
        spec
        for spec in specs
        if spec.path in wrote or (spec.path in ours and spec.path not in session.known.files)
    ]
    if not specs:
        return
    try:
        found = await session.ask(partial(_identify, specs))
        await _forget_absent(session, [spec for spec in specs if spec.path not in found.files])
    except HostError as error:
        session.say("warning", clause("files-unidentified", quote=error.told))
        return
    found = in_place(session, found)
    session.seen.forget(spec.path for spec in specs)
    session.seen.take(found)
    session.known.take(_of(found, [path for path in found.files if path in ours]))
    ctx.made_files.identify(session.name, found.files)
    known = [path for path in session.created if path in found.files]
    if known:
        session.journal.append(
            FileCreated(t=0.0, host=session.name, paths=known, bytes=0, known=_of(found, known))
        )


async def _forget_absent(session: HostSession, specs: Sequence[FileSpec]) -> None:
    """Withdraw files that were announced before a load and do not exist after it. Raises
    HostError.
    """
    announced = {
        spec.path: spec.total_bytes
        for spec in specs
        if spec.path in session.created and FILE_NUMBER not in spec.path
    }
    if not announced:
        return
    infos = await session.ask(partial(stat_files, paths=list(announced)))
    absent = [path for path in announced if infos[path] is None]
    if absent:
        session.forget_created(absent)
        size = sum(announced[path] for path in absent)
        session.journal.append(
            FilesRemoved(t=0.0, host=session.name, paths=absent, bytes=size, absent=True)
        )


async def note_missing_directories(ctx: RunContext, step: Step, session: HostSession) -> None:
    """Record which of the directories that a load creates are missing before it starts.

    Nothing is recorded if the host does not answer.
    """
    paths = ctx.task_of(step, session).makes_directories
    if not paths:
        return
    try:
        found = await session.ask(partial(stat_files, paths=paths))
    except HostError:
        return  # the load will not start either
    session.to_make = [path for path in paths if found[path] is None]


async def identify_directories(session: HostSession) -> None:
    """Record the identities of directories that the load created, so that they can be removed
    later.

    An error is only a warning; the directories then stay on the host.
    """
    paths, session.to_make = session.to_make, []
    if not paths:
        return
    try:
        found = await session.ask(partial(stat_files, paths=paths))
        made_now = [path for path in paths if found[path] is not None]
        session.remember_created(made_now)
        await identify_paths(session, made_now)
    except HostError as error:
        session.say("warning", clause("directories-unidentified", quote=error.told))


async def _identify(specs: Sequence[FileSpec], agent: Agent) -> Identities:
    return await made.identify(
        agent, [spec.path for spec in specs], {spec.path: spec.count for spec in specs}
    )


def in_place(session: HostSession, found: Identities) -> Identities:
    """Return the identities, except in directories that were replaced since the load began."""
    before = session.seen.directories
    places = {
        path: place for path, place in found.directories.items() if before.get(path, place) == place
    }
    files = {path: what for path, what in found.files.items() if posixpath.dirname(path) in places}
    return Identities(files, places)


def _of(found: Identities, paths: Sequence[str]) -> Identities:
    parents = {posixpath.dirname(path) for path in paths}
    places = {path: place for path, place in found.directories.items() if path in parents}
    return Identities({path: found.files[path] for path in paths}, places)


def rewritten(ctx: RunContext, step: Step, session: HostSession) -> set[str]:
    """Return the files that the step's measurement writes, or recreates because they were shorter
    before.
    """
    task = ctx.task_of(step, session)
    before: dict[str, int] = {}
    for earlier in ctx.plan.steps[: step.index]:
        for each in earlier.tasks:
            if each.host == session.name:
                before.update(
                    {
                        spec.path: max(spec.size_bytes, before.get(spec.path, 0))
                        for spec in each.files
                    }
                )
    larger = {spec.path for spec in task.files if spec.size_bytes > before.get(spec.path, 0)}
    return larger | {spec.path for spec in task.written}


def files_of(task: HostTask) -> list[str]:
    """Return the individually named files of a task, without devices."""
    return [
        spec.path
        for spec in task.files
        if not is_device(spec.path) and FILE_NUMBER not in spec.path
    ]


async def seen_on(agent: Agent, paths: list[str]) -> Identities:
    """Return the identities of files and of their parent directories, existing or not. Raises
    HostError.
    """
    found = await made.identify(agent, paths)
    found.directories.update(
        await made.places(agent, sorted({posixpath.dirname(path) for path in paths}))
    )
    return found


MOST_ROWS = 64  # of the fact `files`


def identity_rows(
    seen: Identities, paths: Sequence[str], place_of: Callable[[str], str]
) -> list[dict[str, str]]:
    """Return the identities of the first MOST_ROWS files as rows of the fact `files`.

    `place_of` returns the machine or server on which a path is; files without one are left out.
    """
    found = []
    for path in paths[:MOST_ROWS]:
        folder, name = posixpath.split(path)
        directory, place = seen.directories.get(folder), place_of(path)
        if directory is None or not place or len(mark := directory.mark.split(" ")) < 2:
            continue
        known = seen.files.get(path)
        identity = known.split(" ")[0] if known is not None else f"{mark[1]}/{name}"
        found.append({"path": path, "file_system": f"{place} {mark[0]}", "identity": identity})
    return found


async def check_unchanged(ctx: RunContext, step: Step) -> None:
    """Refuse a step whose directories or files were replaced since the preflight by anything other
    than this run.
    """
    await on_hosts(ctx, TARGETS, ctx.taking_part(step), partial(_check_on, ctx, step))


async def _check_on(ctx: RunContext, step: Step, session: HostSession) -> None:
    paths = files_of(ctx.task_of(step, session))
    if not paths:
        return
    now = await session.ask(partial(seen_on, paths=paths))
    for told in changes(session, now):
        session.problem("preflight", "target-changed", told)
    session.seen.directories.update(now.directories)


def changes(session: HostSession, now: Identities) -> Iterator[Clause]:
    """Yield a message about the first directory or file that was replaced, or file that appeared,
    since the preflight.
    """
    for path, place in now.directories.items():
        before = session.seen.directories.get(path)
        if before is not None and before != place:
            yield clause("directory-changed", path=path, why=_how(before, place))
            return
    for path, identity in now.files.items():
        known = session.seen.files.get(path)
        if known is None and path in session.missing and path not in session.made_elsewhere:
            yield clause("file-appeared", path=path)
            return
        if known is not None and _stable(known) != _stable(identity):
            yield clause("file-replaced", path=path)
            return


def _how(before: DirectoryIdentity, now: DirectoryIdentity) -> Clause:
    if before.real != now.real:
        return clause("leads-elsewhere", now=printable(now.real), before=printable(before.real))
    if before.mark.split(" ")[0] != now.mark.split(" ")[0]:
        return clause("mounted-over")
    return clause("directory-replaced")


def _stable(identity: str) -> str:
    """Return an identity without the change time, which every write updates."""
    return identity.partition(" c:")[0]


async def still_free(ctx: RunContext, step: Step) -> None:
    """Refuse a step if one of its devices is gone or replaced, or is to be written and in use.

    The preflight may be hours old.
    """
    await on_hosts(ctx, DEVICES, ctx.taking_part(step), partial(_still_free, ctx, step))


async def _still_free(ctx: RunContext, step: Step, session: HostSession) -> None:
    task = ctx.task_of(step, session)
    written = {spec.path for spec in task.written if spec.path in ctx.plan.destroy}
    paths = [
        spec.path for spec in task.files if spec.path in session.devices or is_device(spec.path)
    ]
    paths = [path for path in dict.fromkeys(paths) if path not in HARMLESS]
    devices = await session.ask(lambda agent: read_devices(agent, paths)) if paths else {}
    for path, facts in devices.items():
        for code, message in judge_again(session.devices.get(path), facts, written=path in written):
            session.problem("preflight", code, message)
