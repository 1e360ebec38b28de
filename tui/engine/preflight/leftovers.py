"""Find leftovers of earlier runs on hosts, and remove them when asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.metrics import units
from tui.model.address import HostAddress
from tui.remote.agent import MarkedProcess, TaskDir, host_mark
from tui.remote.fan_out import agent_on, fan_out
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.remote.connections import Connections


@dataclass(frozen=True, slots=True)
class Leftover:
    """What one run left on one host. `mark` is the run's name for the host."""

    host: str
    run: str
    mark: str
    processes: tuple[MarkedProcess, ...]
    directories: tuple[TaskDir, ...]

    @property
    def live(self) -> bool:
        """Whether it has a supervisor: then it is no leftover, and ends when its lease expires."""
        return any(directory.alive for directory in self.directories)

    def line(self) -> str:
        """Return it for people."""
        parts = [f"{len(self.processes)} processes" if self.processes else "no process"]
        if self.directories:
            oldest = max(directory.age_s for directory in self.directories)
            size = sum(directory.bytes for directory in self.directories)
            state = "still supervised" if self.live else "ended"
            parts.append(f"{state}, {units.duration(oldest)} old, {units.size(size)}")
        commands = sorted({process.command.split(" ")[0] for process in self.processes})
        known_as = "" if self.mark == host_mark(self.host) else f" (as {self.mark})"
        return (
            f"{self.host}: run {self.run}{known_as}: "
            f"{', '.join(parts)} {' '.join(commands)}".rstrip()
        )


async def find_leftovers(
    addresses: Sequence[HostAddress], connections: Connections
) -> tuple[list[Leftover], list[HostError]]:
    """Return what is left on all hosts, and the hosts that did not answer."""
    found, errors = await fan_out(
        {address.name: _find(address, connections) for address in addresses}
    )
    return [leftover for each in found.values() for leftover in each], list(errors.values())


async def remove_leftovers(
    addresses: Sequence[HostAddress], leftovers: Iterable[Leftover], connections: Connections
) -> list[HostError]:
    """End the processes of leftovers by their mark and remove their directories.

    Return what failed.
    """
    of_host: dict[str, list[Leftover]] = {}
    for leftover in leftovers:
        of_host.setdefault(leftover.host, []).append(leftover)
    work = {
        each.name: _remove(each, of_host[each.name], connections)
        for each in addresses
        if each.name in of_host
    }
    return list((await fan_out(work))[1].values())


async def _find(address: HostAddress, connections: Connections) -> list[Leftover]:
    async with agent_on(address, connections, "sweep") as agent:
        processes, directories = await agent.leftovers()
    keys = dict.fromkeys(
        [(p.run, p.host) for p in processes] + [(d.run, d.host) for d in directories]
    )
    return [
        Leftover(
            address.name,
            run,
            mark,
            tuple(p for p in processes if (p.run, p.host) == (run, mark)),
            tuple(d for d in directories if (d.run, d.host) == (run, mark)),
        )
        for run, mark in keys
    ]


async def _remove(
    address: HostAddress, leftovers: Iterable[Leftover], connections: Connections
) -> None:
    errors: list[HostError] = []
    async with agent_on(address, connections, "sweep") as agent:
        for leftover in leftovers:
            try:
                await agent.end_leftovers(leftover.run, leftover.mark)
            except HostError as error:  # continue with the others of this host
                errors.append(error)
    if errors:
        raise errors[0]
