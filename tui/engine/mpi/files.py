"""The directory that a run of an MPI program makes for itself in the one under test: nothing outside of it goes."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Sequence

from tui.engine.running.context import RunContext, RunRefused
from tui.engine.running.on_hosts import EXIT_PARTIAL
from tui.engine.running.session import HostSession
from tui.model.event import FileCreated, FilesRemoved
from tui.model.plan import MpiLaunch
from tui.remote import mpi
from tui.remote.transport import HostError


def own_directory(ctx: RunContext, launch: MpiLaunch) -> str:
    """Return the run's own directory."""
    return posixpath.join(launch.directory, f"benchtui-{ctx.run_id}")


async def make_directory(head: HostSession, directory: str) -> None:
    """Make a folder in the run's own directory, and say so before it is there. Raises RunRefused."""
    head.journal.append(FileCreated(t=0.0, host=head.name, paths=[posixpath.dirname(directory)], bytes=0))
    try:
        await head.ask(lambda agent: agent.make_dirs([directory]))
    except HostError as error:
        head.problem("barrier", error.code, error.message)
        raise RunRefused("failed", EXIT_PARTIAL, f"{directory} could not be made on {head.name}") from error


async def tidy(ctx: RunContext, sessions: Sequence[HostSession], launch: MpiLaunch) -> None:
    """Take away the run's own directory: when it is empty, or all of it when the run shall clean up behind itself."""
    directory = own_directory(ctx, launch)
    alive = [session for session in sessions if not session.failed] or sessions[:1]
    head = alive[0]
    try:
        left = await head.ask(lambda agent: mpi.take_empty(agent, directory))
        if left and ctx.plan.cleanup:
            await _remove_tree(alive, directory)
            left = False
    except HostError as error:
        head.say("warning", f"files stay behind in {directory}: {error.message}")
        return
    if left:
        head.say("warning", f"files of a run that was not finished stay behind in {directory}")
    else:
        head.journal.append(FilesRemoved(t=0.0, host=sessions[0].name, paths=[directory]))


async def _remove_tree(sessions: Sequence[HostSession], directory: str) -> None:
    """Remove the run's own directory whole, every host a share of it. Raises HostError."""
    count = len(sessions)
    shares = (mpi.remove_share(session.agent, directory, index, count) for index, session in enumerate(sessions))
    await asyncio.gather(*shares)
    await mpi.remove_rest(sessions[0].agent, directory)
