"""Looks at hosts before a launch end in time, and a person who types a password has all the
time.
"""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from tui.model.address import HostAddress
from tui.remote import fan_out
from tui.remote.connections import Connections
from tui.remote.fan_out import checking_on
from tui.remote.local import LocalTransport

HERE = HostAddress(name="local", transport="local")


class Typed:
    """Connections that are there once somebody has typed a password."""

    def __init__(self) -> None:
        self.typed = asyncio.Event()

    async def connect(self, address: HostAddress) -> LocalTransport:
        await self.typed.wait()
        return LocalTransport(address)


async def test_the_time_to_log_in_is_not_that_of_the_look(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Typed()
    monkeypatch.setattr(fan_out, "CHECK_S", 0.0)
    asyncio.get_running_loop().call_later(0.05, connections.typed.set)
    async with checking_on(HERE, cast(Connections, connections), "look") as agent:
        assert agent.host == "local"


async def test_a_look_that_hangs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fan_out, "CHECK_S", 0.05)
    with pytest.raises(TimeoutError):
        async with checking_on(HERE, Connections(), "look"):
            await asyncio.Event().wait()
