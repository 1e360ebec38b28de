"""Bring the user's own programs to a host before it is checked; they are removed with the run's directory."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui.engine.preflight.programs import of_machine
from tui.remote.agent import Agent
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tui.engine.session.context import RunContext
    from tui.engine.session.host_session import HostSession
    from tui.model.hostfacts import Fact
    from tui.model.plan import CarriedProgram, Plan


async def bring_programs(ctx: RunContext, session: HostSession) -> None:
    """Have a host hold the programs that the run brings along, those for its machine. Raises HostError."""
    if not ctx.plan.carried:
        return
    probe = await session.ask(lambda agent: agent.probe())
    machine = str(probe.values.get("arch"))
    mine = of_machine(ctx.plan.carried, machine)
    for name in dict.fromkeys(each.name for each in ctx.plan.carried):
        if name not in mine:
            raise HostError("no-program", session.name, f"{name} was given for other machines than {machine}")
        await _bring(session, mine[name])


def carried_facts(plan: Plan, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return where programs that were brought along are from, in place of where they lie for now."""
    mine = of_machine(plan.carried, str(facts.get("arch"))) if plan.carried else {}
    return {f"{name}_path": f"{each.path} (brought along)" for name, each in mine.items() if f"{name}_path" in facts}


async def _bring(session: HostSession, program: CarriedProgram) -> None:
    try:
        packed = _packed(program.path, program.sha256)
    except OSError as error:
        raise HostError("no-program", session.name, f"{program.path}: {error.strerror}") from error
    if not packed:
        raise HostError("no-program", session.name, f"{program.path} has changed since the launch")
    await session.ask(partial(Agent.carry, name=program.name, packed=packed, sha256=program.sha256))


@functools.lru_cache(maxsize=4)
def _packed(path: str, sha256: str) -> str:
    """Return a program as it is sent: gzip in base64; empty when it is not the one that was planned with."""
    data = Path(path).read_bytes()
    return base64.b64encode(gzip.compress(data, 6)).decode() if hashlib.sha256(data).hexdigest() == sha256 else ""
