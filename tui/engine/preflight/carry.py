"""Copy the user's own load generators to a host, into a directory that is removed with the run."""

from __future__ import annotations

import asyncio
import base64
import functools
import gzip
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from threading import Lock
from typing import TYPE_CHECKING

from tui.engine.preflight.programs import MOST_BYTES
from tui.model.bounded import read_file
from tui.model.plan import of_machine
from tui.remote.fan_out import agent_on
from tui.remote.files import copy_program
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.model.hostfacts import Fact
    from tui.model.plan import CarriedProgram
    from tui.remote.agent import Agent
    from tui.remote.connections import Connections

CLEAN_S = 20.0


@asynccontextmanager
async def carrying_agent(
    address: HostAddress, connections: Connections, programs: Sequence[CarriedProgram]
) -> AsyncIterator[Agent]:
    """Connect to a host for a check, with the programs for its architecture copied until the end.

    Raises HostError.
    """
    run_id = (
        f"check-{secrets.token_hex(4)}" if programs else "check"
    )  # another check may run at the same time
    async with agent_on(address, connections, run_id, carries=bool(programs)) as agent:
        if not programs:
            yield agent
            return
        try:
            arch = str((await agent.probe()).values.get("arch"))
            for program in of_machine(programs, arch).values():
                await carry(agent, program)
            yield agent
        finally:
            await _remove(agent)


async def _remove(agent: Agent) -> None:
    try:
        async with asyncio.timeout(CLEAN_S):
            await agent.end_leftovers(agent.run_id, agent.mark)
    except (HostError, TimeoutError) as error:
        code, why = (error.code, error.message) if isinstance(error, HostError) else ("timeout", "")
        text = f"{why or 'no answer'}; copied programs may be left in /tmp: benchtui hosts sweep"
        raise HostError(code, agent.host, text) from error


async def carry(agent: Agent, program: CarriedProgram) -> None:
    """Copy a program to a host unless it is there with the planned checksum. Raises HostError."""
    try:
        packed = await asyncio.to_thread(_packed, program.path, program.sha256)
    except OSError as error:
        raise HostError("no-program", agent.host, f"{program.path}: {error.strerror}") from error
    if not packed:
        raise HostError("no-program", agent.host, f"{program.path} has changed since the launch")
    await copy_program(agent, program.name, packed, program.sha256)


def no_program(name: str, machine: str) -> tuple[str, str]:
    """Return the problem of a host with an architecture for which the folder has no program."""
    return "no-program", f"no {name} for {machine} in the --with folder"


def carried_facts(programs: Sequence[CarriedProgram], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the original paths of copied programs, instead of their temporary ones."""
    mine = of_machine(programs, str(facts.get("arch")))
    return {f"{name}_path": each.path for name, each in mine.items() if f"{name}_path" in facts}


_packing = Lock()  # many hosts wait for the same program, which is packed once


def _packed(path: str, sha256: str) -> str:
    """Return a program in transfer form: gzip in base64.

    Empty if it has changed since the plan.
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
