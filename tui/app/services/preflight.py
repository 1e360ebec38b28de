"""Hosts before a run: facts, preflight, warnings about a logout."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui.metrics import units
from tui.model.host_tables import root_target
from tui.model.hostfacts import number_of
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.app.dialogs.forms import NewHosts
    from tui.engine.preflight.host_check import HostCheck
    from tui.engine.preflight.preview import HostReadiness, Preview
    from tui.model.address import HostAddress
    from tui.model.hostfacts import Fact
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
    """Check all hosts in parallel; yield each result as it arrives.

    `asker` provides passwords and other answers. `programs`: a directory of load generators to copy
    to the hosts for the check. Raises UsageError for files in it that are not programs.
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
    """Return how ssh config reaches each host (user, address, port, bastions), by host name.

    Leaves out hosts that are not reached over SSH, and hosts whose configuration cannot be read;
    the check of such a host says why.
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


async def preview_plan(plan: Plan, paths: Paths, asker: Asker | None) -> tuple[Preview, Plan]:
    """Examine the hosts of a plan.

    Returns what the plan would overwrite, and the plan without the steps that hosts cannot run.
    """
    from tui.engine.preflight.host_check import find_missing_tools, has_several_tools, without
    from tui.engine.preflight.made_files import MADE_FILES, MadeFiles
    from tui.engine.preflight.preview import preview
    from tui.remote.fan_out import connections_of

    async with connections_of(plan, paths.known_hosts, asker) as connections:
        fit = (
            without(plan, await find_missing_tools(plan, connections))
            if has_several_tools(plan)
            else plan
        )
        return await preview(fit, connections, MadeFiles(paths.data / MADE_FILES)), fit


def free_space(plan: Plan, facts: Mapping[str, Mapping[str, Fact]]) -> tuple[str, int | None]:
    """Return the free space at a plan's target as text, and in bytes over all hosts.

    ``7 TiB free`` for a file system that all hosts share, ``1 to 2 TiB free per host`` if each host
    has its own, otherwise ``... per file system``. The bytes are the total that fits if each host
    writes the same amount. Empty and None unless the free space of every host is known.
    """
    from tui.engine.preflight.rules import file_system_name

    names = [host.name for host in plan.hosts]
    if not plan.target or not all(_is_near(plan.target, facts.get(name, {})) for name in names):
        return "", None
    found: dict[str, list[int]] = {}
    for name in names:
        known = facts[name]
        fstype, source, mount, boot = (
            str(known.get(fact, ""))
            for fact in ("target_fstype", "target_source", "target_mount", "boot_id")
        )
        place = file_system_name(fstype, source, mount, boot or f"host {name}")
        found.setdefault(place, []).append(int(number_of(known, "target_free_bytes") or 0))
    free = [min(sizes) for sizes in found.values()]
    low, high = units.size(min(free)), units.size(max(free))
    per = " per host" if len(free) == len(names) else " per file system"
    text = f"{low if low == high else f'{low} to {high}'} free{per if len(free) > 1 else ''}"
    at = " on the root file system" if any(root_target(facts[name]) for name in names) else ""
    fits = min(min(sizes) * len(names) // len(sizes) for sizes in found.values())
    return f"{text}{at}", fits


def _is_near(target: str, facts: Mapping[str, Fact]) -> bool:
    """Return whether free space is known in the target, above or below it."""
    read = str(facts.get("target", ""))
    near = read == target or read.startswith(f"{target}/") or target.startswith(f"{read}/")
    return bool(read) and near and number_of(facts, "target_free_bytes") is not None


def needs_preview(plan: Plan) -> bool:
    """Return whether hosts must be examined before the launch.

    True if the plan may overwrite data, or load generators may be missing.
    """
    from tui.engine.preflight.host_check import has_several_tools
    from tui.engine.preflight.preview import overwrites

    return overwrites(plan) or has_several_tools(plan)


def missing_tools(plan: Plan, checks: Mapping[str, HostCheck]) -> list[str]:
    """Return a line for each step whose load generator is missing on checked hosts.

    The launch offers to skip these steps.
    """
    from tui.engine.preflight.host_check import has_several_tools, missing_by_checks, without

    if not (checks and has_several_tools(plan)):
        return []
    fit = without(plan, missing_by_checks(plan, checks))
    return [f"{left.text()}; the launch offers to skip this" for left in fit.left_out]


async def run_preflight(
    plan: Plan, paths: Paths, asker: Asker | None, heard: Callable[[str], object]
) -> list[HostReadiness]:
    """Run the preflight on the hosts of a plan; return their answers.

    `heard` is called with the name of each host that has answered.
    """
    from tui.engine.preflight.made_files import MADE_FILES, MadeFiles
    from tui.engine.preflight.preview import check_ahead
    from tui.remote.fan_out import connections_of

    async with connections_of(plan, paths.known_hosts, asker) as connections:
        return await check_ahead(plan, connections, MadeFiles(paths.data / MADE_FILES), heard)


class AtLogout:
    """Warnings about the effects of a logout on a run that has not started yet.

    `lines`: warnings for the hosts examined last.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._hosts: Sequence[HostAddress] = ()

    async def update(self, hosts: Sequence[HostAddress], paths: Paths) -> bool:
        """Examine the hosts if they have changed since last time.

        Returns whether the warnings changed.
        """
        if hosts == self._hosts:
            return False
        self._hosts, before = list(hosts), self.lines
        self.lines = [text for text in (await systemd(), await agent(hosts, paths)) if text]
        return self.lines != before


async def systemd() -> str | None:
    """Return a warning if systemd would end the run at logout; else None."""
    from tui.engine.preflight.logout import logout_warning

    return await asyncio.to_thread(logout_warning, os.environ)


async def agent(hosts: Sequence[HostAddress], paths: Paths) -> str | None:
    """Return a warning if the run's SSH keys would be gone at logout; else None.

    Contacts hosts only if the SSH agent is forwarded.
    """
    from tui.engine.preflight.logout import agent_may_go, agent_warning
    from tui.remote.connections import Connections

    if not await asyncio.to_thread(agent_may_go, os.environ):
        return None
    async with Connections(known_hosts=[paths.known_hosts]) as connections:
        return await agent_warning(hosts, connections, os.environ)
