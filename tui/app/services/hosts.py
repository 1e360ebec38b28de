"""What the Hosts screen does to hosts and their files, by way of the engine: checking, reading a key, adding one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.app.screens.hosts.forms import NewHost
    from tui.engine.hosts.fleet import HostCheck
    from tui.model.paths import Paths
    from tui.model.plan import HostAddress
    from tui.remote.hostkeys import Presented
    from tui.remote.vault import Asker


async def check_each(
    addresses: Sequence[HostAddress], directory: str | None, paths: Paths, ssh_config: Path | None, asker: Asker
) -> AsyncIterator[HostCheck]:
    """Look at all hosts at once and yield what was found as it comes. `asker` is asked for passwords and the like."""
    from tui.engine.hosts.fleet import check_hosts
    from tui.remote.connections import Connections

    async with Connections(ssh_config=ssh_config, known_hosts=[paths.known_hosts], asker=asker) as connections:
        tasks = [asyncio.create_task(check_hosts([address], directory, connections)) for address in addresses]
        try:
            for task in asyncio.as_completed(tasks):
                yield (await task)[0]
        finally:
            for pending in tasks:
                pending.cancel()


async def presented_key(address: HostAddress, paths: Paths, ssh_config: Path | None, asker: Asker) -> Presented:
    """Return the key that a host presents. `asker` is asked for a bastion's password. Raises HostError."""
    from tui.remote.connections import Connections

    async with Connections(ssh_config=ssh_config, known_hosts=[paths.known_hosts], asker=asker) as connections:
        return await connections.presented(address)


def add_to_inventory(path: Path, host: NewHost) -> None:
    """Add a host to an inventory file, made when there is none. Raises UsageError."""
    from tui.engine.hosts.inventory_file import add_host

    entry = {"address": host.address, "user": host.user, "port": host.port, "groups": list(host.groups)}
    add_host(path, host.name, entry)
