"""What a look at one host found, for the rules that judge it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from msgspec import Struct, field

from tui.model.plan import HostTask, Plan
from tui.remote.agent import FileInfo
from tui.remote.devices import DeviceFacts
from tui.remote.probe import DirFacts, HostProbe

Problem = tuple[str, str]  # code and message


class HostFindings(Struct):
    """What was found on one host. `files` are those of the plan by path, None for those that are not there."""

    probe: HostProbe
    files: dict[str, FileInfo | None] = field(default_factory=dict)
    devices: dict[str, DeviceFacts] = field(default_factory=dict)
    room: dict[str, DirFacts] = field(default_factory=dict)  # by directory, which need not be there yet
    ours: frozenset[str] = frozenset()  # files that runs of ours made
    trials: dict[str, str] = field(default_factory=dict)  # what commands said that failed at what they are for

    def room_of(self, path: str) -> DirFacts | None:
        """Return the file system that a file lies on, or will; None when it was not looked at."""
        for directory in parents(path):
            facts = self.room.get(directory) or self.probe.dirs.get(directory)
            if facts is not None:
                return facts
        return None


def parents(path: str) -> Iterator[str]:
    """Yield the directories above a path, the nearest first."""
    while path not in ("/", ""):
        path = posixpath.dirname(path)
        yield path


def tasks_of(plan: Plan, host: str) -> list[HostTask]:
    """Return what a host does in all steps."""
    return [task for step in plan.steps for task in step.tasks if task.host == host]


def sizes_of(plan: Plan, host: str) -> dict[str, int]:
    """Return the largest size that the plan gives each file of a host."""
    sizes: dict[str, int] = {}
    for task in tasks_of(plan, host):
        for spec in task.files:
            sizes[spec.path] = max(spec.size_bytes, sizes.get(spec.path, 0))
    return sizes
