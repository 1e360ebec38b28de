"""A look at what a run would destroy, before it is started: so that somebody can read it and type the names.

The engine looks again when it starts and does not rely on this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.engine.hosts.fan_out import fan_out, looking_on
from tui.engine.safety.destroy import (
    device_line,
    devices_of,
    foreign_files,
    is_named,
    names_for,
    ours,
    overwritten,
    refusals,
    to_identify,
    unnamed_devices,
)
from tui.engine.safety.host_look import HostFindings, tasks_of
from tui.model.address import HostAddress
from tui.model.plan import HARMLESS, FileSpec, Plan, is_device
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.remote.devices import DeviceFacts
from tui.remote.made import identify
from tui.remote.probe import HostProbe

if TYPE_CHECKING:
    from tui.engine.safety.made_files import MadeFiles
    from tui.remote.connections import Connections


@dataclass(frozen=True, slots=True)
class HostTargets:
    """The devices of a run on one host, which of them it writes to, and files of somebody else that it overwrites."""

    host: str
    devices: tuple[DeviceFacts, ...] = ()
    written: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    error: str = ""  # why the host could not be looked at

    @property
    def refused(self) -> list[str]:
        """Why devices are not written to, whatever is typed."""
        return [text for facts in self.devices if facts.path in self.written for _, text in refusals(facts)]

    def lines(self) -> Iterator[str]:
        """Yield what was found, for people."""
        if self.error:
            yield f"{self.host}: not looked at: {self.error}"
        yield from (f"{self.host}: {device_line(facts)}" for facts in self.devices)
        for image in self.images:
            yield f"{self.host}: image {image}: what it holds, and who uses it, cannot be seen from here"
        if self.files:
            more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
            yield f"{self.host}: {self.files[0]}{more}: no run of yours has made this, and it is overwritten"


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would overwrite on all hosts, and which names must be typed to agree."""

    hosts: tuple[HostTargets, ...]
    names: tuple[str, ...]

    @property
    def problems(self) -> list[Problem]:
        """What keeps the run from starting whatever is typed."""
        return [Problem(text, host=each.host) for each in self.hosts for text in each.refused]

    @property
    def lines(self) -> list[str]:
        """What was found, host by host."""
        return [line for each in self.hosts for line in each.lines()]


def overwrites(plan: Plan) -> bool:
    """Return whether a plan could overwrite anything."""
    tasks = (task for step in plan.steps for task in step.tasks)
    return any(task.written or task.images or any(map(could_be_made, task.files)) for task in tasks)


def could_be_made(spec: FileSpec) -> bool:
    """Return whether a file is laid out, by us or by fio, when it is missing or short, even to be read."""
    return spec.size_bytes > 0 and not is_device(spec.path)


def check_names(plan: Plan) -> None:
    """Raise UsageError for a name to be destroyed that the plan does not overwrite: it may be a slip of the pen."""
    right = targets_named(plan, plan.destroy)
    if wrong := [name for name in plan.destroy if name not in right]:
        paths = targets(plan)
        said = (f"--destroy {name}: no target of this run{did_you_mean(name, paths)}" for name in wrong)
        raise UsageError(list(map(Problem, said)))


def targets(plan: Plan) -> set[str]:
    """Return the files, devices and images of a plan."""
    tasks = [task for step in plan.steps for task in step.tasks]
    return {spec.path for task in tasks for spec in task.files} | {image for task in tasks for image in task.images}


def targets_named(plan: Plan, names: Sequence[str]) -> list[str]:
    """Return those of some names that are targets of a plan, or directories of them."""
    paths = targets(plan)
    return [name for name in names if name in paths or any(is_named(path, [name]) for path in paths)]


async def preview(plan: Plan, connections: Connections, made_files: MadeFiles) -> Preview:
    """Look at the targets of all hosts. A host that cannot be reached is named in its findings."""
    work = {address.name: _look(plan, address, connections, made_files) for address in plan.hosts}
    seen, errors = await fan_out(work)
    seen |= {name: HostTargets(name, error=error.message) for name, error in errors.items()}
    found = [seen[address.name] for address in plan.hosts]
    files = sorted({path for each in found for path in each.files})
    # some are devices by what the host says, whatever they are called
    devices = [facts.path for each in found for facts in each.devices if facts.path in each.written]
    unnamed = [path for path in devices if path not in plan.destroy and path not in HARMLESS]
    names = dict.fromkeys([*unnamed_devices(plan), *unnamed, *names_for(files)])
    return Preview(tuple(found), tuple(names))


async def _look(plan: Plan, address: HostAddress, connections: Connections, made_files: MadeFiles) -> HostTargets:
    tasks = tasks_of(plan, address.name)
    async with looking_on(address, connections, "preview") as agent:
        wanted = sorted({spec.path for task in tasks for spec in task.files})
        files = await agent.files(wanted) if wanted else {}
        paths = devices_of(tasks, files)
        made = made_files.on(address.name)
        now = await identify(agent, to_identify(files, made))
        devices = await agent.devices(paths) if paths else {}
    findings = HostFindings(HostProbe({}, {}), files, devices, ours=ours(files, made, now.files))
    touched = overwritten(tasks, files)
    return HostTargets(
        address.name,
        devices=tuple(devices.values()),
        written=frozenset(touched),
        images=tuple(dict.fromkeys(image for task in tasks for image in task.images)),
        files=tuple(path for path in foreign_files(touched, findings) if not is_named(path, plan.destroy)),
    )
