"""The directory that a run of an MPI program makes for itself in the one under test: nothing outside of it goes."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Sequence

from tui.engine.safety.kept import why_kept
from tui.engine.session.context import RunContext, RunRefused
from tui.engine.session.identify import identify_paths
from tui.engine.session.on_hosts import EXIT_PARTIAL
from tui.engine.session.session import HostSession
from tui.model.event import FileCreated, FilesRemoved
from tui.model.made import Identities
from tui.model.plan import MpiLaunch
from tui.remote import made
from tui.remote.transport import HostError


def own_directory(ctx: RunContext, launch: MpiLaunch) -> str:
    """Return the run's own directory."""
    return posixpath.join(launch.directory, f"benchtui-{ctx.run_id}")


async def make_directory(head: HostSession, directory: str) -> None:
    """Make a folder in the run's own directory, and say so before it is there. Raises RunRefused."""
    head.journal.append(FileCreated(t=0.0, host=head.name, paths=[posixpath.dirname(directory)], bytes=0))
    try:
        await head.ask(lambda agent: made.make_directories(agent, [directory]))
        await identify_paths(head, [posixpath.dirname(directory)], [directory])
    except HostError as error:
        head.problem("barrier", error.code, error.message)
        raise RunRefused("failed", EXIT_PARTIAL, f"{directory} could not be made on {head.name}") from error


async def tidy(ctx: RunContext, sessions: Sequence[HostSession], launch: MpiLaunch) -> None:
    """Take away the run's own directory: when it is empty, or all of it when the run shall clean up behind itself."""
    directory = own_directory(ctx, launch)
    alive = [session for session in sessions if not session.failed] or sessions[:1]
    head = alive[0]
    known = sessions[0].known
    try:
        if (await head.ask(lambda agent: agent.files([directory])))[directory] is None:
            said = made.ABSENT
        else:
            said = await head.ask(lambda agent: made.unmake_tree(agent, "empty", directory, known))
        if said == made.STUCK and ctx.plan.cleanup:
            said = await _remove_tree(alive, directory, known)
    except HostError as error:
        head.say("warning", f"files stay behind in {directory}: {error.message}")
        return
    if said == made.STUCK and not ctx.plan.cleanup:
        head.say("warning", f"files of a run that was not finished stay behind in {directory}")
    elif why := why_kept(directory, said):
        head.say("warning", f"files stay behind in {directory}: {why}")
    else:
        head.journal.append(FilesRemoved(t=0.0, host=sessions[0].name, paths=[directory]))


async def _remove_tree(sessions: Sequence[HostSession], directory: str, known: Identities) -> str:
    """Remove the run's own directory whole, every host a share of it; return what became of it. Raises HostError.

    A host that sees another directory of that name leaves its share to the first one.
    """
    count = len(sessions)
    shares = (
        made.unmake_tree(session.agent, "share", directory, known, (index, count))
        for index, session in enumerate(sessions)
    )
    await asyncio.gather(*shares)
    return await made.unmake_tree(sessions[0].agent, "remove", directory, known)
