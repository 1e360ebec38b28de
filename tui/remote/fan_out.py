"""Run the same work on many hosts in parallel, with errors kept per host."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tui.model.address import HostAddress
from tui.model.operands import clause
from tui.model.plugin import PLUGIN_FAILED, PluginError
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.model.plan import Plan
    from tui.remote.agent import Agent
    from tui.remote.connections import Connections
    from tui.remote.vault import Asker

T = TypeVar("T")
INTERNAL_ERROR = "internal-error"
CHECK_S = 60.0  # a busy host is slow


async def fan_out(work: Mapping[str, Awaitable[T]]) -> tuple[dict[str, T], dict[str, HostError]]:
    """Await work on each host.

    Returns answers and errors by host, in order; any exception becomes an error of its host.
    """
    answers: dict[str, T] = {}
    errors: dict[str, HostError] = {}

    async def one(host: str, awaited: Awaitable[T]) -> None:
        try:
            answers[host] = await awaited
        except Exception as error:
            errors[host] = host_error(host, error)

    await asyncio.gather(*(one(host, awaited) for host, awaited in work.items()))
    return {host: answers[host] for host in work if host in answers}, {
        h: errors[h] for h in work if h in errors
    }


@asynccontextmanager
async def agent_on(
    address: HostAddress, connections: Connections, run_id: str, *, carries: bool = False
) -> AsyncIterator[Agent]:
    """Connect to a host for a few calls on behalf of a run; the context yields the agent. Raises
    HostError.
    """
    from tui.remote.agent import Agent

    transport = await connections.connect(address)
    try:
        yield Agent(transport, run_id, carries=carries)
    finally:
        await transport.close()


@asynccontextmanager
async def checking_on(
    address: HostAddress, connections: Connections, run_id: str
) -> AsyncIterator[Agent]:
    """Connect to a host for a check with a time limit, which excludes the time the user takes to
    log in.

    Raises HostError or TimeoutError.
    """
    async with agent_on(address, connections, run_id) as agent, asyncio.timeout(CHECK_S):
        yield agent


def host_error(host: str, error: Exception) -> HostError:
    """Convert an exception to an error of a host; for an internal error, the text includes its
    place in the code.
    """
    if isinstance(error, HostError):
        return error
    if isinstance(error, PluginError):
        return HostError(PLUGIN_FAILED, host, str(error))
    if isinstance(error, TimeoutError):
        return HostError("timeout", host, str(error) or clause("no-answer-in-time"))
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    told = clause("host-internal-error", error=type(error).__name__, quote=str(error), place=place)
    return HostError(INTERNAL_ERROR, host, told)


def connections_of(plan: Plan, pins: Path, asker: Asker | None = None) -> Connections:
    """Return connections configured like those of the plan's engine.

    `pins`: known_hosts file of ``hosts trust``.
    """
    from tui.remote.connections import Connections

    config = next((Path(host.ssh_config) for host in plan.hosts if host.ssh_config), None)
    directory = Path(plan.launched_in) if plan.launched_in else None
    return Connections(ssh_config=config, directory=directory, known_hosts=[pins], asker=asker)
