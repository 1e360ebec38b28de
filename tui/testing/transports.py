"""Contract test for transports, for use by packages that provide one: all that a run needs.

from tui.testing.transports import check_transport

async def test_the_transport_keeps_the_contract() -> None:
    gone = HostAddress("gone", transport="mine")
    await check_transport(MyTransport(), HostAddress("c1", transport="mine"), gone)
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tui.model.address import HostAddress
from tui.remote.agent import Agent, Lease
from tui.remote.connections import Connections
from tui.remote.transport import HostError
from tui.remote.way_base import HostLimits, HostTransport

STEP_S = 60.0  # per check: a transport that hangs must not hang the tests
AT_ONCE = 8  # calls
EVERY_BYTE = bytes(range(256))
PRINTS = r"""i=0
while [ $i -lt 256 ]; do printf "\\$((i / 64))$((i / 8 % 8))$((i % 8))"; i=$((i + 1)); done
printf 'said\n' >&2
exit 7"""
LOAD = "t"


class TransportContractError(AssertionError):
    """A transport broke its contract; the text has one line per mistake."""


async def check_transport(
    way: HostTransport, address: HostAddress, gone: HostAddress | None = None
) -> None:
    """Check a transport with a host that it can reach. Raises TransportContractError.

    `gone`: a host that it cannot reach. The agent runs on the host under /tmp and is removed at the
    end.
    """
    mistakes: list[str] = []
    async with Connections() as ssh:
        reach = _Reach(way, address, ssh, f"kit-{secrets.token_hex(4)}")
        for check in (
            _bytes_are_exact,
            _calls_run_at_once,
            _load_outlives_its_connection,
            _limits_are_valid,
        ):
            mistakes += await _within(
                check.__name__.strip("_").replace("_", " "),
                lambda check=check: check(reach),  # type: ignore[misc]
            )
        if gone is not None:
            mistakes += await _within(
                "an unreachable host", lambda: _gone_is_reported(_Reach(way, gone, ssh, "kit-gone"))
            )
        mistakes += await _within("clean", lambda: _nothing_stays(reach))
        for _ in range(2):  # closing twice is harmless
            mistakes += await _within("release()", way.release)
    if mistakes:
        raise TransportContractError("\n".join(mistakes))


class _Reach:
    """A host as a run reaches it: by the transport under test."""

    def __init__(
        self, way: HostTransport, address: HostAddress, ssh: Connections, run: str
    ) -> None:
        self.way, self.address, self.ssh, self.run = way, address, ssh, run

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[Agent]:
        transport = await self.way.open(self.address, self.ssh)
        try:
            yield Agent(transport, self.run)
        finally:
            await transport.close()


async def _within(what: str, check: Callable[[], Awaitable[object]]) -> list[str]:
    """Run a check with a time limit; return its failure as a line, or no lines if it passed."""
    try:
        async with asyncio.timeout(STEP_S):
            found = await check()
    except TimeoutError:
        return [f"{what}: no answer within {STEP_S:g} s"]
    except Exception as error:
        return [f"{what}: {type(error).__name__}: {error}"]
    return [f"{what}: {found}"] if isinstance(found, str) and found else []


async def _bytes_are_exact(reach: _Reach) -> str:
    async with reach.agent() as agent:
        await agent.start(LOAD, ["/bin/sh", "-c", PRINTS], {}, lease=Lease(60, 5), armed=False)
        await _over(agent)
        whole = await _collected(agent, 0)
        rest = await _collected(agent, 100)
        status = await agent.status(LOAD)
    if whole != (EVERY_BYTE, b"said\n"):
        return (
            f"{len(whole[0])} bytes of stdout and {len(whole[1])} of stderr arrived; expected the"
            f" {len(EVERY_BYTE)} and 5 bytes that the load printed, unchanged"
        )
    if rest[0] != EVERY_BYTE[100:]:
        return (
            f"{len(rest[0])} bytes arrived after resuming at byte 100; expected the"
            f" {len(EVERY_BYTE) - 100} bytes from there, unchanged"
        )
    return "" if status.exit_code == 7 else f"found exit code {status.exit_code}; expected 7"


async def _calls_run_at_once(reach: _Reach) -> str:
    async with reach.agent() as agent:
        stream = await agent.stream(LOAD, 0, 0)  # a channel that stays open
        answers = await asyncio.gather(*(agent.status(LOAD) for _ in range(AT_ONCE)))
        await stream.close()
    return (
        ""
        if all(each.done for each in answers)
        else f"{sum(each.done for each in answers)} of {AT_ONCE} concurrent calls were answered;"
        " expected all"
    )


async def _load_outlives_its_connection(reach: _Reach) -> str:
    waits = "while [ ! -e go ]; do sleep 0.1; done; exit 3"
    async with reach.agent() as agent:
        await agent.start("stays", ["/bin/sh", "-c", waits], {}, lease=Lease(60, 5), armed=False)
    async with reach.agent() as agent:
        alive = not (await agent.status("stays")).done
        await agent.stop("stays", abort=True)
        await _over(agent, "stays")
    return (
        ""
        if alive
        else "a load ends with the connection that started it; only its lease may end it"
    )


async def _limits_are_valid(reach: _Reach) -> str:
    limits = await reach.way.limits(reach.address)
    if not isinstance(limits, HostLimits) or (limits.left_s is not None and limits.left_s < 0):
        return (
            f"limits() returns {limits!r}; expected HostLimits, with left_s of None, or 0 or more"
        )
    ended = await reach.way.why_ended(reach.address)
    return (
        f"why_ended() of a reachable host returns {ended!r}; expected empty text" if ended else ""
    )


async def _gone_is_reported(reach: _Reach) -> str:
    try:
        async with reach.agent() as agent:
            await agent.tasks()
    except HostError as error:
        return (
            ""
            if error.message.isprintable() and error.host == reach.address.name
            else f"found {error}; expected one printable line about {reach.address.name}"
        )
    return "it answers; expected HostError"


async def _nothing_stays(reach: _Reach) -> str:
    async with reach.agent() as agent:
        await agent.clean()
        left = [task.run for task in await agent.tasks() if task.run == reach.run]
    return f"tasks of the run after clean: {len(left)}; expected none" if left else ""


async def _over(agent: Agent, task: str = LOAD) -> None:
    while not (await agent.status(task)).done:
        await asyncio.sleep(0.05)


async def _collected(agent: Agent, offset: int) -> tuple[bytes, bytes]:
    found = {"out": bytearray(), "err": bytearray()}
    stream = await agent.stream(LOAD, offset, 0)
    async for kind, data in stream:
        found[kind] += data
    await stream.close()
    return bytes(found["out"]), bytes(found["err"])
