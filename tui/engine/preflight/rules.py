"""Preflight rules for every host: load generators, free space, end of its allocation."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from tui import workloads
from tui.engine.preflight.destroy import (
    HostFindings,
    Problem,
    devices_of,
    judge_targets,
    ours,
    tasks_of,
    to_identify,
)
from tui.engine.preflight.made_files import Files
from tui.model.hostfacts import ALLOCATION_ENDS, Fact
from tui.model.operands import clause, of_tool, unique
from tui.model.plain_data import format_utc
from tui.model.plan import (
    CarriedProgram,
    FileSpec,
    HostTask,
    Identities,
    Plan,
    Step,
    is_device,
    of_machine,
)
from tui.remote.agent import Agent, Holder
from tui.remote.answers import DirFacts, FileInfo, HostProbe
from tui.remote.devices import read_devices, read_room
from tui.remote.files import stat_files
from tui.remote.made import identify
from tui.workloads.base import Requirement, Workload

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.remote.connections import Connections

NOTHING_COPIED: Mapping[str, CarriedProgram] = MappingProxyType({})
HEADROOM = 1.05  # a file system filled to the last block measures its allocator
SECTOR = 512  # bytes, the smallest logical block of any device
ANY_SIZE = ("nfs", "fuse")  # file systems on which direct I/O may have any size
MOST_DIRECTORIES = 50  # in which free space is checked
NETWORK_FILE_SYSTEMS = (
    "nfs", "nfs4", "cifs", "smb3", "ceph", "fuse", "wekafs", "lustre", "gpfs", "beegfs",
    "glusterfs",
)  # fmt: skip


class FileSystemSpace(Struct):
    """A file system: bytes to be added, by path, and its free space as seen by each host."""

    files: dict[str, int] = field(default_factory=dict)
    hosts: dict[str, DirFacts] = field(default_factory=dict)

    @property
    def demand(self) -> int:
        """Total bytes still to be written."""
        return sum(self.files.values())


def judge_space(plan: Plan, found: Mapping[str, HostFindings]) -> dict[str, Problem]:
    """Return, by host, the problem of a file system that is too small for the planned files.

    Adds up hosts that share a file system (same network source, or same machine); counts a path
    once even if several steps or hosts use it.
    """
    problems: dict[str, Problem] = {}
    for place in places(plan, found):
        for host, facts in place.hosts.items():
            if over(facts, place.demand):
                problems.setdefault(host, no_space(facts, place.demand))
    return problems


def places(plan: Plan, found: Mapping[str, HostFindings]) -> Iterable[FileSystemSpace]:
    """Return the file systems that the plan writes to."""
    known: dict[str, FileSystemSpace] = {}
    for host, findings in found.items():
        for path, size in new_bytes(tasks_of(plan, host), findings.files).items():
            facts = findings.room_of(path)
            if facts is None or facts.free_bytes is None:
                continue
            place = known.setdefault(file_system_of(host, findings.probe, facts), FileSystemSpace())
            place.hosts.setdefault(host, facts)
            place.files[path] = max(size, place.files.get(path, 0))
    return known.values()


def space_directories(tasks: Iterable[HostTask]) -> list[str]:
    """Return the directories in which to check free space; their common parent if there are very
    many.
    """
    files = (spec.path for task in tasks for spec in task.files if not is_device(spec.path))
    found = sorted({posixpath.dirname(path) for path in files})
    return found if len(found) <= MOST_DIRECTORIES else [posixpath.commonpath(found)]


def file_system_name(fstype: str, source: str, mount: str, machine: str) -> str:
    """Return a name that is equal for hosts on the same file system: network source, or machine and
    mount.
    """
    return f"{fstype} {source}" if is_network(fstype, source) else f"{machine} {mount or source}"


def is_network(fstype: str, source: str) -> bool:
    """Return whether several hosts can mount this type of file system."""
    return fstype.startswith(NETWORK_FILE_SYSTEMS) or ":" in source


def file_system_of(host: str, probe: HostProbe, facts: DirFacts) -> str:
    """Return a name that is equal for hosts on the same file system.

    A host with an unknown boot id counts as a separate machine.
    """
    return file_system_name(
        facts.fstype, facts.source, facts.mount, probe.boot_id or f"host {host}"
    )


def identified_by(host: str, findings: HostFindings, path: str) -> str:
    """Return the scope in which a file's inode is unique: a network file system or a machine; empty
    if unknown.

    Containers on one machine have overlays with equal inodes; for them the scope is the container.
    """
    room = findings.room_of(path)
    if room is None or not room.fstype:
        return ""
    if is_network(room.fstype, room.source):
        return room.fstype
    machine = findings.probe.boot_id or f"host {host}"
    return (
        f"{machine} {findings.probe.values.get('hostname')}"
        if room.fstype == "overlay"
        else machine
    )


def new_bytes(tasks: Iterable[HostTask], files: Mapping[str, FileInfo | None]) -> dict[str, int]:
    """Return the bytes that a host will add, by path: the largest size of each path over all steps.

    If the first of a set of numbered files exists, all are assumed to exist.
    """
    largest: dict[str, FileSpec] = {}
    for task in tasks:
        for spec in task.files:
            if spec.path not in largest or spec.size_bytes > largest[spec.path].size_bytes:
                largest[spec.path] = spec
    missing = {
        path: (spec.size_bytes - allocated(files.get(path))) * max(spec.count, 1)
        for path, spec in largest.items()
        if not on_device(path, files)
    }
    return {path: size for path, size in missing.items() if size > 0}


def on_device(path: str, files: Mapping[str, FileInfo | None]) -> bool:
    """Return whether a path needs no file system space, because it is a device or otherwise not a
    regular file.
    """
    info = files.get(path)
    return is_device(path) or (info is not None and info.kind != "file")


def allocated(info: FileInfo | None) -> int:
    """Return a file's allocated bytes, limited to its size; 0 if it does not exist."""
    return min(info.allocated, info.size) if info is not None else 0


def over(facts: DirFacts, demand: int) -> bool:
    """Return whether the demand plus headroom exceeds the free space."""
    return demand > 0 and demand * HEADROOM > (facts.free_bytes or 0)


def no_space(facts: DirFacts, demand: int) -> Problem:
    """Return the problem of a file system that is too small."""
    where = clause("file-system", path=facts.path, fstype=facts.fstype, source=facts.source)
    need, total = int(demand * HEADROOM), facts.total_bytes
    if total is not None and demand > total:
        told = clause("file-system-too-small", need_bytes=need, place=where, total_bytes=total)
    else:
        free = facts.free_bytes or 0
        told = clause("no-space", need_bytes=need, free_bytes=free, place=where)
    return "no-space", told


T = TypeVar("T")
TARGETS = 8  # of files in many directories
READ_FILES = 16  # whose place is looked up on a host


class Ask(Protocol):
    """Calls a host's agent; may repeat the call."""

    async def __call__(self, call: Callable[[Agent], Awaitable[T]]) -> T:
        """Return the agent's answer. Raises HostError."""


async def collect_findings(
    plan: Plan, host: str, ask: Ask, made: Files, secrets: Mapping[str, str]
) -> HostFindings:
    """Collect the facts of a host that the rules need.

    `made` are files that this user's runs created there; `secrets` are the run's known secrets.
    """
    tasks = tasks_of(plan, host)
    directories = required_directories(tasks)
    paths = sorted({spec.path for task in tasks for spec in task.files})
    probe = await ask(
        lambda agent: agent.probe(directories, commands_of(requirements_of(plan, host)))
    )
    files = await ask(lambda agent: stat_files(agent, paths)) if paths else {}
    room_at = space_directories(tasks)
    room = await ask(lambda agent: read_room(agent, room_at)) if room_at else {}
    disks = devices_of(tasks, files)
    devices = await ask(lambda agent: read_devices(agent, disks)) if disks else {}
    # the profile names single files: its target is their location
    if not directories:
        probe = replace(probe, dirs=room)
    trials = await try_commands(ask, requirements_of(plan, host), probe)
    able = not trials and all(name in secrets for name in plan.secrets)
    unreached = await check_targets(plan, host, ask, probe, secrets) if able else []
    counts = {spec.path: spec.count for task in tasks for spec in task.files}
    known = to_identify(files, made)
    now = await ask(lambda agent: identify(agent, known, counts)) if known else Identities()
    return HostFindings(
        probe, files, devices, room, ours(files, made, now.files), trials, unreached
    )


async def facts_of(plan: Plan, host: str, ask: Ask, found: HostFindings) -> dict[str, Fact]:
    """Return all facts of a checked host, including the devices underneath its targets."""
    tasks = tasks_of(plan, host)
    targets = [
        *(required_directories(tasks) or space_directories(tasks)[:TARGETS]),
        *found.devices,
        *(f"read:{path}" for path in _only_read(tasks, found.files)[:READ_FILES]),
    ]
    commands = list(commands_of(requirements_of(plan, host)))
    return await ask(lambda agent: agent.facts(found.probe, targets, commands))


def _only_read(tasks: Sequence[HostTask], found: Mapping[str, FileInfo | None]) -> list[str]:
    """Return the complete files that no task writes: they may be in another layer or mount than
    new files in their directory.
    """
    written = {spec.path for task in tasks for spec in task.written}
    wanted = {
        spec.path: spec.size_bytes
        for task in tasks
        for spec in task.files
        if spec.path not in written and not is_device(spec.path)
    }
    return [
        path
        for path, size in wanted.items()
        if (file := found.get(path)) is not None and file.size >= size
    ]


def required_directories(tasks: Sequence[HostTask]) -> list[str]:
    """Return the directories that must exist on the host."""
    return sorted({task.required_dir for task in tasks if task.required_dir})


async def try_commands(ask: Ask, needs: Iterable[Requirement], probe: HostProbe) -> dict[str, str]:
    """Run the commands' trials, and return the error messages by capability."""
    tries = {
        need.trial_of: need for need in needs if need.trial_args and need.command in probe.tools
    }
    answers: dict[str, str] = {}
    for what, need in tries.items():
        output = await ask(partial(Agent.trial, words=(need.command, *need.trial_args)))
        answers[what] = "" if need.trial_fine and need.trial_fine in output else output
    return {what: output for what, output in answers.items() if output}


async def check_targets(
    plan: Plan, host: str, ask: Ask, probe: HostProbe, secrets: Mapping[str, str]
) -> list[Problem]:
    """Return problems of targets that are not files of the host (such as buckets): missing, or not
    answering.
    """
    values = {name: secrets[name] for name in plan.secrets}
    found: list[Problem] = []
    for workload, steps in tools_of(plan, host):
        for check in workload.target_checks(steps):
            if check.needs in probe.tools:
                output = await ask(partial(Agent.trial, words=check.words, environ=values))
                for value in values.values():
                    output = output.replace(value, "***")
                if output and (problem := workload.target_problem(check, output)):
                    code, told = problem
                    found.append((code, of_tool(workload.name, told)))
    return unique(found)


def judge_host(plan: Plan, host: str, findings: HostFindings) -> list[Problem]:
    """Return why a host cannot run the plan: tools, directories, targets."""
    needs = requirements_of(plan, host)
    copied = of_machine(plan.carried, str(findings.probe.values.get("arch")))
    problems = [each for need in needs for each in tool_problems(need, findings.probe, copied)]
    problems += [*trial_problems(needs, findings), *findings.unreached]
    for task in tasks_of(plan, host):
        problems += (
            directory_problems(task.required_dir, findings.probe) if task.required_dir else []
        )
        problems += judge_files(plan, task, findings.files)
    problems += block_problems(plan, host, findings)
    return unique([*problems, *judge_targets(plan, host, findings)])


def requirements_of(plan: Plan, host: str | None = None) -> list[Requirement]:
    """Return the requirements of the plan's load generators, on one host or on any."""
    return [
        need for workload, steps in tools_of(plan, host) for need in workload.requirements(steps)
    ]


def tools_of(plan: Plan, host: str | None = None) -> list[tuple[Workload, list[Step]]]:
    """Return the plan's load generators with their steps, on one host or on any."""
    own = plan.steps if host is None else [*filter(None, (of_host(s, host) for s in plan.steps))]
    tools = dict.fromkeys(step.tool for step in own)
    steps = {tool: [step for step in own if step.tool == tool] for tool in tools}
    return [(workloads.of(steps[tool][0]), steps[tool]) for tool in tools]


def of_host(step: Step, host: str) -> Step | None:
    """Return the step reduced to one host; None if the host takes no part."""
    tasks = [task for task in step.tasks if task.host == host]
    return replace(step, tasks=tasks) if tasks else None


def commands_of(needs: Iterable[Requirement]) -> dict[str, tuple[str, ...]]:
    """Return the commands to look for, each with the arguments that print its version."""
    return {need.command: need.version_args for need in needs}


def trial_problems(needs: Iterable[Requirement], findings: HostFindings) -> Iterable[Problem]:
    """Yield problems of commands whose trial failed."""
    for need in needs:
        if need.trial_of in findings.trials:
            found = findings.probe.tools[need.command]
            yield (
                f"{need.command}-unfit",
                clause(
                    "program-unfit",
                    path=found.path,
                    version=found.text,
                    feature=need.trial_of,
                    quote=findings.trials[need.trial_of],
                    source=need.source,
                ),
            )


def tool_problems(
    need: Requirement, probe: HostProbe, copied: Mapping[str, CarriedProgram] = NOTHING_COPIED
) -> Iterable[Problem]:
    """Yield problems of a command that is missing, does not start, or is too old.

    `copied`: programs copied to the host for the run, by name.
    """
    tool, minimum = posixpath.basename(need.command), need.minimum
    found = probe.tools.get(need.command)
    mine = copied.get(need.command)
    hint = "" if mine or "/" in need.command else "copy"
    if found is None:
        yield (
            f"{tool}-missing",
            clause(
                "program-missing",
                program=need.command,
                minimum=list(minimum or ()),
                os=str(probe.values.get("os", "")),
                package=need.package,
                source=need.source,
                hint=hint,
            ),
        )
        return
    path = mine.path if mine else found.path
    if found.failed:
        hint = "static" if mine and mine.dynamic else hint
        told = clause(
            "program-fails", path=path, exit_code=found.failed, quote=found.text, hint=hint
        )
        yield f"{tool}-unusable", told
    elif minimum and found.version is None:
        told = clause("program-without-version", path=path, quote=found.text, hint=hint)
        yield f"{tool}-unusable", told
    elif minimum and found.version is not None and found.version < minimum:
        told = clause(
            "program-too-old",
            path=path,
            program=tool,
            version=found.text,
            minimum=list(minimum),
            hint=hint,
        )
        yield f"{tool}-too-old", told


def directory_problems(directory: str, probe: HostProbe) -> Iterable[Problem]:
    """Yield problems of a target directory that is missing, not a directory, or not writable."""
    facts = probe.dirs.get(directory)
    if facts is None:
        return
    if not facts.exists:
        yield "dir-missing", clause("directory-missing", path=directory)
    elif not facts.is_dir:
        yield "dir-not-a-directory", clause("not-a-directory", path=directory)
    elif not facts.writable:
        told = clause("directory-not-writable", path=directory, user=probe.user)
        yield "dir-not-writable", told


def judge_files(
    plan: Plan, task: HostTask, files: Mapping[str, FileInfo | None]
) -> Iterable[Problem]:
    """Yield problems of planned files that are not regular files; devices only if the profile
    allows them.
    """
    for spec in task.files:
        info = files.get(spec.path)
        if info is None:
            if is_device(spec.path):
                yield "device-missing", clause("target-missing", path=spec.path)
        elif info.kind in ("block", "char") and not plan.allow_device:
            told = clause("target-is-device", path=spec.path, kind=info.kind)
            yield "target-is-device", told
        elif info.kind not in ("file", "block", "char"):
            told = clause("target-not-a-file", path=spec.path, kind=info.kind)
            yield "target-not-a-file", told


def block_problems(plan: Plan, host: str, findings: HostFindings) -> Iterable[Problem]:
    """Yield problems of direct I/O in sizes that the device under a target does not support."""
    for path, size in direct_sizes(plan, host):
        block = findings.logical_block_of(path)
        if block and size % block:
            yield "block-size", clause("block-size", path=path, size=size, block=block)


def doubtful_blocks(plan: Plan, host: str, findings: HostFindings) -> Iterable[tuple[str, int]]:
    """Yield targets with sizes of direct I/O that the file system may refuse.

    The logical block size of the device underneath is unknown.
    """
    for path, size in direct_sizes(plan, host):
        room = findings.room_of(posixpath.join(path, "file"))
        doubtful = room is not None and not room.fstype.startswith(ANY_SIZE)
        if doubtful and size % SECTOR and findings.logical_block_of(path) is None:
            yield path, size


def direct_sizes(plan: Plan, host: str) -> list[tuple[str, int]]:
    """Return the targets of a host with each size of direct I/O on them, without duplicates."""
    return list(
        dict.fromkeys(
            (path, size)
            for workload, steps in tools_of(plan, host)
            for step in steps
            for task in step.tasks
            for path, sizes in workload.direct_sizes(task).items()
            for size in sizes
        )
    )


def in_use_by(holder: Holder) -> str:
    """Return a message that names the run and user holding a host."""
    return f"in use by run {holder.run} of {holder.owner}"


async def allocation_facts(address: HostAddress, connections: Connections) -> dict[str, Fact]:
    """Return when the host's allocation ends, by this machine's clock.

    Empty if there is no time limit or it is unknown.
    """
    left_s = (await connections.way(address).limits(address)).left_s
    if left_s is None:
        return {}
    return {ALLOCATION_ENDS: format_utc(datetime.now(UTC) + timedelta(seconds=left_s))}
