"""Removing from hosts what a run that is over has created there: exactly what its record names, and nothing else.

A file goes when it is what the run made: a plain file that has not grown since, and, when the run was complete, is no
smaller either. A directory goes when it is empty; only the one that an MPI run made under its own name goes whole.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tui.engine.found import tasks_of
from tui.engine.ledger import Ledger
from tui.engine.preflight import owner
from tui.metrics import units
from tui.model.plan import HostAddress, Plan
from tui.remote import mpi
from tui.remote.agent import Agent, FileInfo
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.model.record import RunRecord
    from tui.remote.connections import Connections

CLEAN_S = 600.0
LEASE_S = 120.0
NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Created:
    """What a run's record names on one host. `sizes` are those the plan gave its files, 0 when it knew none."""

    address: HostAddress
    paths: tuple[str, ...]
    sizes: Mapping[str, int]
    complete: bool  # whether the run came to its good end, so that its files are whole


@dataclass
class Cleaning:
    """One host before or after: what goes (with its bytes), what was not there, what stays and why."""

    host: str
    goes: dict[str, int] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    stays: dict[str, str] = field(default_factory=dict)
    error: str = ""

    @property
    def bytes(self) -> int:
        """Bytes of what goes."""
        return sum(self.goes.values())

    @property
    def settled(self) -> list[str]:
        """What the record need not name any more."""
        return [*self.goes, *self.absent]

    def lines(self, *, done: bool) -> list[str]:
        """Return it for people: what is going to happen, or what has."""
        if self.error:
            return [f"{self.host}: {self.error}"]
        verb = "removed" if done else "will be removed"
        said = [f"{some(self.goes)}, {units.size(self.bytes)}: {verb}"] if self.goes else []
        said += [f"{some(self.absent)}: not there any more"] if self.absent else []
        said += [f"{path}: {'stayed' if done else 'stays'}: {why}" for path, why in self.stays.items()]
        return [f"{self.host}: {text}" for text in said or ["nothing to remove"]]


def some(paths: Iterable[str]) -> str:
    """Return the first few paths and how many more there are."""
    listed = list(paths)
    more = f" and {len(listed) - NAMES_SHOWN} more" if len(listed) > NAMES_SHOWN else ""
    return ", ".join(listed[:NAMES_SHOWN]) + more


def created_of(plan: Plan, record: RunRecord) -> list[Created]:
    """Return what a run left, host by host; hosts with nothing are left out."""
    addresses = {host.name: host for host in plan.hosts}
    whole = record.state == "complete"
    return [
        Created(addresses[host.name], tuple(host.files_left.paths), sizes_of(plan, host.name), whole)
        for host in record.hosts
        if host.files_left is not None and host.name in addresses
    ]


def sizes_of(plan: Plan, host: str) -> dict[str, int]:
    """Return the largest size that the plan gives each file of a host."""
    sizes: dict[str, int] = {}
    for task in tasks_of(plan, host):
        for spec in task.files:
            sizes[spec.path] = max(spec.size_bytes, sizes.get(spec.path, 0))
    return sizes


async def look(run_id: str, found: Sequence[Created], connections: Connections) -> list[Cleaning]:
    """Return what would go on each host. Nothing is changed."""
    return list(await asyncio.gather(*(_guarded(run_id, each, connections, remove=False) for each in found)))


async def clean(run_dir: Path, found: Sequence[Created], connections: Connections) -> list[Cleaning]:
    """Look again, remove, and return what has become of everything on each host."""
    ledger = Ledger.beside(run_dir)
    cleaned = await asyncio.gather(*(_guarded(run_dir.name, each, connections, remove=True) for each in found))
    for cleaning in cleaned:
        ledger.forget(cleaning.host, cleaning.settled)
    return list(cleaned)


async def _guarded(run_id: str, created: Created, connections: Connections, *, remove: bool) -> Cleaning:
    name = created.address.name
    try:
        async with asyncio.timeout(CLEAN_S):
            transport = await connections.connect(created.address)
            try:
                agent = Agent(transport, run_id)
                return await (_remove(agent, created) if remove else _look(agent, created))
            finally:
                await transport.close()
    except TimeoutError:
        return Cleaning(name, error=f"no answer in {CLEAN_S:g}s")
    except HostError as error:
        return Cleaning(name, error=error.message)


async def _look(agent: Agent, created: Created) -> Cleaning:
    return judge(created, await agent.files(created.paths))


def judge(created: Created, infos: Mapping[str, FileInfo | None]) -> Cleaning:
    """Return what goes and what stays, by what stands at each path now. Directories are judged by what goes in them."""
    cleaning = Cleaning(created.address.name)
    for path in created.paths:
        info = infos.get(path)
        if info is None:
            cleaning.absent.append(path)
        elif why := why_kept(created, path, info):
            cleaning.stays[path] = why
        else:
            cleaning.goes[path] = info.size if info.kind == "file" else 0
    return cleaning


def why_kept(created: Created, path: str, info: FileInfo) -> str:
    """Return why a path is not what the run made; an empty text when it is."""
    size = created.sizes.get(path)
    if size is None:
        return "" if info.kind in ("directory", "file") else f"it is a {info.kind} now"
    if info.kind != "file":
        return f"it is a {info.kind} now, not the file that the run made"
    if size and (info.size > size or (created.complete and info.size < size)):
        return f"it has {units.size(info.size)} now, the run made it with {units.size(size)}"
    return ""


async def _remove(agent: Agent, created: Created) -> Cleaning:
    held = await agent.lock(LEASE_S, owner())
    if held is not None and held.run != agent.run_id:
        return Cleaning(agent.host, error=f"in use by run {held.run} of {held.owner}: not cleaned")
    try:
        return await _remove_locked(agent, created)
    finally:
        with suppress(HostError):
            await agent.unlock()


async def _remove_locked(agent: Agent, created: Created) -> Cleaning:
    cleaning = await _look(agent, created)
    for path in cleaning.goes:
        if is_own_directory(agent.run_id, path) and path not in created.sizes:
            await mpi.remove_rest(agent, path)
    gone = set(await agent.remove(list(cleaning.goes)))
    infos = await agent.files([path for path in cleaning.goes if path not in gone])
    for path, info in infos.items():
        if info is not None:
            del cleaning.goes[path]
            cleaning.stays[path] = "it is not empty" if info.kind == "directory" else "it could not be removed"
    return cleaning


def is_own_directory(run_id: str, path: str) -> bool:
    """Return whether a directory is the one that the run made under its own name, so that all in it is the run's."""
    return posixpath.basename(path) == f"benchtui-{run_id}"
