"""Hosts before a run: collect facts, run the preflight, warn of effects of a logout."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.app.dialogs.forms import NewHosts
    from tui.engine.preflight.host_check import HostCheck
    from tui.engine.preflight.preview import HostReadiness, Preview
    from tui.model.address import HostAddress
    from tui.model.paths import Paths
    from tui.model.plan import Plan
    from tui.remote.vault import Asker


async def check_each(
    addresses: Sequence[HostAddress],
    directory: str | None,
    paths: Paths,
    ssh_config: Path | None,
    asker: Asker,
    programs: Path | None,
) -> AsyncIterator[HostCheck]:
    """Check all hosts in parallel and yield each result as it arrives.

    `asker` is asked for passwords and the like. `programs`: a folder of load generators to copy to
    the hosts for the check. Raises UsageError for files in it that are not programs.
    """
    from tui.engine.preflight.host_check import check_hosts
    from tui.engine.preflight.programs import programs_for_check
    from tui.remote.connections import Connections

    copied = (
        await asyncio.to_thread(programs_for_check, programs, required=False) if programs else []
    )
    async with Connections(
        ssh_config=ssh_config, known_hosts=[paths.known_hosts], asker=asker
    ) as connections:
        tasks = [
            asyncio.create_task(check_hosts([address], directory, connections, copied))
            for address in addresses
        ]
        try:
            for task in asyncio.as_completed(tasks):
                yield (await task)[0]
        finally:
            for pending in tasks:
                pending.cancel()


def places_of(addresses: Sequence[HostAddress], ssh_config: Path | None) -> dict[str, str]:
    """Return user, address, port and bastions of hosts from ssh config.

    A host with an unreadable configuration is skipped: its check says why.
    """
    from tui.remote.connections import Connections
    from tui.remote.way_base import is_over_ssh

    connections = Connections(ssh_config=ssh_config)
    found: dict[str, str] = {}
    for address in addresses:
        if is_over_ssh(address):
            with suppress(BenchtuiError, OSError, ValueError):
                found[address.name] = connections.resolve(address).way
    return found


def add_to_inventory(path: Path, hosts: NewHosts) -> None:
    """Add hosts to an inventory file, creating it if needed. Raises UsageError."""
    from tui.engine.inputs.hosts import add_hosts

    entry = {
        "address": hosts.address,
        "user": hosts.user,
        "port": hosts.port,
        "groups": list(hosts.groups),
    }
    add_hosts(path, hosts.specs, entry)


async def look(plan: Plan, paths: Paths, asker: Asker | None) -> tuple[Preview, Plan]:
    """Examine the hosts of a plan: return what it overwrites, and the plan without what they cannot
    run.
    """
    from tui.engine.preflight.made_files import MADE_FILES, MadeFiles
    from tui.engine.preflight.missing_tools import has_several_tools, look_for_lacking, without
    from tui.engine.preflight.preview import preview
    from tui.remote.fan_out import connections_of

    async with connections_of(plan, paths.known_hosts, asker) as connections:
        fit = (
            without(plan, await look_for_lacking(plan, connections))
            if has_several_tools(plan)
            else plan
        )
        return await preview(fit, connections, MadeFiles(paths.data / MADE_FILES)), fit


def needs_look(plan: Plan) -> bool:
    """Return whether to examine the hosts before the launch: the plan may overwrite data, or tools
    may be missing.
    """
    from tui.engine.preflight.missing_tools import has_several_tools
    from tui.engine.preflight.preview import overwrites

    return overwrites(plan) or has_several_tools(plan)


def missing_tools(plan: Plan, checks: Mapping[str, HostCheck]) -> list[str]:
    """Return the steps whose tools are missing on checked hosts; the launch offers to skip them."""
    from tui.engine.preflight.missing_tools import has_several_tools, lacking_by_checks, without

    if not (checks and has_several_tools(plan)):
        return []
    fit = without(plan, lacking_by_checks(plan, checks))
    return [f"{left.text()}; the launch offers to skip this" for left in fit.left_out]


async def ask_ahead(
    plan: Plan, paths: Paths, asker: Asker | None, heard: Callable[[str], object]
) -> list[HostReadiness]:
    """Run the preflight on the hosts of a plan.

    `heard` is called with each host that answered.
    """
    from tui.engine.preflight.made_files import MADE_FILES, MadeFiles
    from tui.engine.preflight.preview import look_ahead
    from tui.remote.fan_out import connections_of

    async with connections_of(plan, paths.known_hosts, asker) as connections:
        return await look_ahead(plan, connections, MadeFiles(paths.data / MADE_FILES), heard)


class AtLogout:
    """Warnings about effects of a logout on a run that is not launched yet.

    `lines`: those for the hosts examined last.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._hosts: Sequence[HostAddress] = ()

    async def look(self, hosts: Sequence[HostAddress], paths: Paths) -> bool:
        """Check again if the hosts changed.

        Return True if the warnings changed.
        """
        if hosts == self._hosts:
            return False
        self._hosts, before = list(hosts), self.lines
        self.lines = [text for text in (await systemd(), await agent(hosts, paths)) if text]
        return self.lines != before


async def systemd() -> str | None:
    """Return the warning that systemd would end the run."""
    from tui.engine.preflight.logout import logout_warning

    return await asyncio.to_thread(logout_warning, os.environ)


async def agent(hosts: Sequence[HostAddress], paths: Paths) -> str | None:
    """Return the warning that SSH keys would be gone.

    Contacts hosts only if the agent is forwarded.
    """
    from tui.engine.preflight.logout import agent_may_go, agent_warning
    from tui.remote.connections import Connections

    if not await asyncio.to_thread(agent_may_go, os.environ):
        return None
    async with Connections(known_hosts=[paths.known_hosts]) as connections:
        return await agent_warning(hosts, connections, os.environ)
