"""What a logout would take away from a run, for the review screen: looked at once for the same hosts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.model.paths import Paths


class AtLogout:
    """Warnings about a run that is not launched yet. `lines` holds those of the hosts looked at last."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._hosts: Sequence[HostAddress] = ()

    async def look(self, hosts: Sequence[HostAddress], paths: Paths) -> bool:
        """Look again when the hosts are others; True when there is something else to say than before."""
        if hosts == self._hosts:
            return False
        self._hosts, before = list(hosts), self.lines
        self.lines = [text for text in (await systemd(), await agent(hosts, paths)) if text]
        return self.lines != before


async def systemd() -> str | None:
    """Return that systemd would end the run."""
    from tui.engine.safety.logout import logout_warning

    return await asyncio.to_thread(logout_warning, os.environ)


async def agent(hosts: Sequence[HostAddress], paths: Paths) -> str | None:
    """Return that the keys would be gone. Hosts are contacted only while the agent is a forwarded one."""
    from tui.engine.safety.logout import agent_may_go, agent_warning
    from tui.remote.connections import Connections

    if not await asyncio.to_thread(agent_may_go, os.environ):
        return None
    async with Connections(known_hosts=[paths.known_hosts]) as connections:
        return await agent_warning(hosts, connections, os.environ)
