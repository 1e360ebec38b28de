"""Whether all that a run is going to write has room: added up over steps, directories, and hosts that share disks."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from tui.engine.safety.host_look import HostFindings, Problem, tasks_of
from tui.metrics import units
from tui.model.plan import HostTask, Plan, is_device
from tui.model.sharing import file_system_name
from tui.remote.agent import FileInfo
from tui.remote.probe import DirFacts, HostProbe

HEADROOM = 1.05  # a file system that is filled to the last block measures its allocator
DIRECTORIES_LOOKED_AT = 50


class Place(Struct):
    """A file system: bytes that files will newly take, by path, and who was seen on it with which free space."""

    files: dict[str, int] = field(default_factory=dict)
    hosts: dict[str, DirFacts] = field(default_factory=dict)

    @property
    def demand(self) -> int:
        """Bytes that are still to be written."""
        return sum(self.files.values())


def judge_space(plan: Plan, found: Mapping[str, HostFindings]) -> dict[str, Problem]:
    """Return, by host, that a file system cannot take all that is going to be written to it.

    Hosts that share a file system (the same network source, or the same machine) are added up; a path that several
    steps or hosts use counts once.
    """
    problems: dict[str, Problem] = {}
    for place in places(plan, found):
        for host, facts in place.hosts.items():
            if over(facts, place.demand):
                problems.setdefault(host, no_space(facts, place.demand))
    return problems


def places(plan: Plan, found: Mapping[str, HostFindings]) -> Iterable[Place]:
    """Return the file systems that the plan writes to."""
    known: dict[str, Place] = {}
    for host, findings in found.items():
        for path, size in new_bytes(tasks_of(plan, host), findings.files).items():
            facts = findings.room_of(path)
            if facts is None or facts.free_bytes is None:
                continue
            place = known.setdefault(file_system_of(host, findings.probe, facts), Place())
            place.hosts.setdefault(host, facts)
            place.files[path] = max(size, place.files.get(path, 0))
    return known.values()


def directories_to_look_at(tasks: Iterable[HostTask]) -> list[str]:
    """Return the directories whose room matters; when there are very many, the one above them all."""
    files = (spec.path for task in tasks for spec in task.files if not is_device(spec.path))
    found = sorted({posixpath.dirname(path) for path in files})
    return found if len(found) <= DIRECTORIES_LOOKED_AT else [posixpath.commonpath(found)]


def file_system_of(host: str, probe: HostProbe, facts: DirFacts) -> str:
    """Return a name that hosts on the same file system share; where no boot is known, a host is its own machine."""
    return file_system_name(facts.fstype, facts.source, facts.mount, probe.boot_id or f"host {host}")


def new_bytes(tasks: Iterable[HostTask], files: Mapping[str, FileInfo | None]) -> dict[str, int]:
    """Return by path how many bytes a host will newly occupy over all its steps: a path has its largest size."""
    sizes: dict[str, int] = {}
    for task in tasks:
        for spec in task.files:
            sizes[spec.path] = max(spec.size_bytes, sizes.get(spec.path, 0))
    missing = {path: size - allocated(files.get(path)) for path, size in sizes.items() if not on_device(path, files)}
    return {path: size for path, size in missing.items() if size > 0}


def on_device(path: str, files: Mapping[str, FileInfo | None]) -> bool:
    """Return whether a path takes no room of a file system."""
    info = files.get(path)
    return is_device(path) or (info is not None and info.kind != "file")


def allocated(info: FileInfo | None) -> int:
    """Return the bytes a file occupies already."""
    return min(info.allocated, info.size) if info is not None else 0


def over(facts: DirFacts, demand: int) -> bool:
    """Return whether the demand with headroom exceeds the free space."""
    return demand > 0 and demand * HEADROOM > (facts.free_bytes or 0)


def no_space(facts: DirFacts, demand: int) -> Problem:
    """Return the problem of a file system that is too small."""
    need, free = units.size(int(demand * HEADROOM)), units.size(facts.free_bytes or 0)
    where = f"{facts.path} ({facts.fstype} on {facts.source})"
    if facts.total_bytes is not None and demand > facts.total_bytes:
        total = units.size(facts.total_bytes)
        return "no-space", f"{need} are needed, the whole file system of {where} has {total}; choose a smaller size"
    return "no-space", f"{need} are needed (5 % headroom included), {free} are free at {where}"
