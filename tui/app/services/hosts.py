"""What the Hosts screen does to hosts and their files, by way of the engine: checking them, adding one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.app.dialogs.new_host import NewHost
    from tui.engine.preflight.host_check import HostCheck
    from tui.model.address import HostAddress
    from tui.model.paths import Paths
    from tui.remote.vault import Asker


async def check_each(
    addresses: Sequence[HostAddress], directory: str | None, paths: Paths, ssh_config: Path | None, asker: Asker
) -> AsyncIterator[HostCheck]:
    """Look at all hosts at once and yield what was found as it comes. `asker` is asked for passwords and the like."""
    from tui.engine.preflight.host_check import check_hosts
    from tui.remote.connections import Connections

    async with Connections(ssh_config=ssh_config, known_hosts=[paths.known_hosts], asker=asker) as connections:
        tasks = [asyncio.create_task(check_hosts([address], directory, connections)) for address in addresses]
        try:
            for task in asyncio.as_completed(tasks):
                yield (await task)[0]
        finally:
            for pending in tasks:
                pending.cancel()


def places_of(addresses: Sequence[HostAddress], ssh_config: Path | None) -> dict[str, str]:
    """Return user, address and port of hosts as ssh's configuration has them, and the bastions before them.

    A host whose configuration cannot be read is left out: its check says why.
    """
    from tui.remote.connections import Connections

    connections = Connections(ssh_config=ssh_config)
    found: dict[str, str] = {}
    for address in addresses:
        if address.transport == "ssh":
            with suppress(BenchtuiError, OSError, ValueError):
                found[address.name] = connections.resolve(address).way
    return found


def add_to_inventory(path: Path, host: NewHost) -> None:
    """Add a host to an inventory file, made when there is none. Raises UsageError."""
    from tui.engine.hosts.inventory_file import add_host

    entry = {"address": host.address, "user": host.user, "port": host.port, "groups": list(host.groups)}
    add_host(path, host.name, entry)
