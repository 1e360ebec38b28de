"""Shared memory of an MPI program: Open MPI leaves it behind when it is killed, so it gets a directory of the run."""

from __future__ import annotations

from collections.abc import Sequence

from tui.engine.safety.kept import why_kept
from tui.engine.session.context import RunContext
from tui.engine.session.identify import identify_paths
from tui.engine.session.on_hosts import CLEAN_UP, LOOK, on_hosts
from tui.engine.session.session import HostSession
from tui.model.event import FileCreated, FilesRemoved
from tui.remote import made, mpi
from tui.remote.transport import HostError


def directory_of(run_id: str) -> str:
    """Return the directory of a run, the same on all hosts; each host has one of its own in it."""
    return f"/dev/shm/benchtui-{run_id}"


async def make_scratch(ctx: RunContext, sessions: Sequence[HostSession]) -> str:
    """Make the directory on all hosts and return it; empty when one of them has no place for it. Raises RunRefused."""
    path = directory_of(ctx.run_id)
    for session in sessions:
        session.journal.append(FileCreated(t=0.0, host=session.name, paths=[path], bytes=0))
    there = await on_hosts(ctx, LOOK, sessions, _make, _without)
    return path if all(there.get(session.name) == path for session in sessions) else ""


async def _make(session: HostSession) -> str:
    path = await session.ask(mpi.make_scratch)
    if path:
        await identify_paths(session, [path])
    return path


def _without(session: HostSession, error: HostError) -> None:
    session.say("warning", f"no directory for shared memory: {error.message}")


async def remove_scratch(ctx: RunContext, sessions: Sequence[HostSession]) -> None:
    """Remove it everywhere, now that no process is left."""
    path = directory_of(ctx.run_id)

    async def remove(session: HostSession) -> None:
        said = await made.unmake_tree(session.agent, "remove", path, session.known)
        if why := why_kept(path, said):
            raise HostError("stays", session.name, why)
        session.journal.append(FilesRemoved(t=0.0, host=session.name, paths=[path]))

    await on_hosts(ctx, CLEAN_UP, sessions, remove, lambda session, error: _stays(session, path, error))


def _stays(session: HostSession, path: str, error: HostError) -> None:
    session.say("warning", f"{path} stays behind: {error.message}")
