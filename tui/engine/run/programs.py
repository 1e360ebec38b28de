"""Copy load generators of the user's own to a host before it is checked.

They go with the run's directory.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import gzip
import hashlib
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from tui.engine.preflight.programs import MOST_BYTES, carried_names, of_machine
from tui.model.bounded import read_file
from tui.remote.files import copy_program
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tui.engine.session.context import RunContext
    from tui.engine.session.host_session import HostSession
    from tui.model.hostfacts import Fact
    from tui.model.plan import CarriedProgram, Plan


async def copy_programs(ctx: RunContext, session: HostSession) -> None:
    """Have a host hold the programs that it needs of those that the run copies.

    Raises HostError.
    """
    copied = {each.name for each in ctx.plan.carried}
    wanted = (
        [name for name in carried_names(ctx.plan, session.name) if name in copied] if copied else []
    )
    if not wanted:
        return
    probe = await session.ask(lambda agent: agent.probe())
    machine = str(probe.values.get("arch"))
    mine = of_machine(ctx.plan.carried, machine)
    for name in wanted:
        if name not in mine:
            raise HostError(
                "no-program", session.name, f"no {name} for {machine} in the --with folder"
            )
        await _copy(session, mine[name])


def carried_facts(plan: Plan, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the original paths of copied programs, instead of their temporary ones."""
    mine = of_machine(plan.carried, str(facts.get("arch"))) if plan.carried else {}
    return {f"{name}_path": each.path for name, each in mine.items() if f"{name}_path" in facts}


async def _copy(session: HostSession, program: CarriedProgram) -> None:
    try:
        packed = await asyncio.to_thread(_packed, program.path, program.sha256)
    except OSError as error:
        raise HostError("no-program", session.name, f"{program.path}: {error.strerror}") from error
    if not packed:
        raise HostError("no-program", session.name, f"{program.path} has changed since the launch")
    await session.ask(
        partial(copy_program, name=program.name, packed=packed, sha256=program.sha256)
    )


_packing = Lock()  # many hosts wait for the same program: one packs it


def _packed(path: str, sha256: str) -> str:
    """Return a program as it is sent: gzip in base64.

    Empty when it is not the one that was planned with.
    """
    with _packing:
        return _packed_once(path, sha256)


@functools.lru_cache(maxsize=4)
def _packed_once(path: str, sha256: str) -> str:
    data = read_file(path, MOST_BYTES)
    return (
        base64.b64encode(gzip.compress(data, 6)).decode()
        if hashlib.sha256(data).hexdigest() == sha256
        else ""
    )
