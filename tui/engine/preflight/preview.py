"""Check the hosts of a plan before launch: data that would be overwritten, reasons to refuse."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from tui.engine.preflight.destroy import (
    HostFindings,
    all_of,
    devices_of,
    foreign_files,
    is_named,
    names_for,
    ours,
    overwritten,
    refusals,
    tasks_of,
    to_identify,
    unnamed_devices,
)
from tui.engine.preflight.rules import judge_space, new_bytes
from tui.metrics import units
from tui.model.address import HostAddress
from tui.model.host_tables import on_root
from tui.model.hostfacts import Fact
from tui.model.objects import ObjectSet
from tui.model.plain import some
from tui.model.plan import HARMLESS, FileSpec, HostTask, Plan, is_device
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.remote.answers import DirFacts, HostProbe
from tui.remote.devices import DeviceFacts, read_devices
from tui.remote.fan_out import checking_on, fan_out
from tui.remote.files import stat_files
from tui.remote.made import identify
from tui.text.problem_texts import problem_text

if TYPE_CHECKING:
    from tui.engine.preflight.made_files import MadeFiles
    from tui.remote.agent import Agent, Holder
    from tui.remote.connections import Connections
    from tui.remote.mpi import MpiFacts


DOES: tuple[Literal["put", "delete"], ...] = ("put", "delete")


@dataclass(frozen=True, slots=True)
class HostTargets:
    """Targets on one host: devices, devices written to, and foreign files that would be
    overwritten.
    """

    host: str
    devices: tuple[DeviceFacts, ...] = ()
    written: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    objects: tuple[ObjectSet, ...] = ()
    error: str = ""  # why the host could not be checked

    @property
    def refused(self) -> list[str]:
        """Reasons to refuse devices whether or not the user confirms them."""
        return [
            problem_text(told)
            for facts in self.devices
            if facts.path in self.written
            for _, told in refusals(facts)
        ]

    def lines(self) -> Iterator[str]:
        """Yield what the run would overwrite on the host, as text lines, without objects."""
        if self.error:
            yield f"{self.host}: not checked: {self.error}"
        yield from (f"{self.host}: {problem_text(all_of(each))}" for each in self.devices)
        for image in self.images:
            yield (f"{self.host}: image {image}: contents and use are unknown")
        if self.files:
            more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
            yield (
                f"{self.host}: {self.files[0]}{more}: not created by your runs; will be overwritten"
            )


@dataclass(frozen=True, slots=True)
class Preview:
    """Data that a run would overwrite on all hosts, and the names that the user must confirm."""

    hosts: tuple[HostTargets, ...]
    names: tuple[str, ...]

    @property
    def problems(self) -> list[Problem]:
        """Problems that no confirmation resolves."""
        return [Problem(text, host=each.host) for each in self.hosts for text in each.refused]

    @property
    def lines(self) -> list[str]:
        """What the run would overwrite, as text lines, host by host."""
        return [line for each in self.hosts for line in each.lines()]

    @property
    def objects(self) -> dict[str, tuple[ObjectSet, ...]]:
        """Objects that each host would overwrite or delete."""
        return {each.host: each.objects for each in self.hosts if each.objects}


def overwrites(plan: Plan) -> bool:
    """Return whether a plan can overwrite anything."""
    tasks = [task for step in plan.steps for task in step.tasks]
    beyond = any(task.images or task.stores_changed for task in tasks)
    return beyond or any(task.written or any(map(could_be_made, task.files)) for task in tasks)


def could_be_made(spec: FileSpec) -> bool:
    """Return whether benchtui or fio would lay out this file if missing or short, even to read
    it.
    """
    return spec.size_bytes > 0 and not is_device(spec.path)


def check_names(plan: Plan) -> None:
    """Raise UsageError for a confirmed name that the plan does not overwrite; it may be a typo."""
    right = targets_named(plan, plan.destroy)
    if wrong := [name for name in plan.destroy if name not in right]:
        paths = sorted(targets(plan))
        known = some(paths) or "none"
        raise UsageError(
            [
                Problem(
                    f"--destroy {name}: not a target of this run{did_you_mean(name, paths)};"
                    f" targets: {known}"
                )
                for name in wrong
            ]
        )


def targets(plan: Plan) -> set[str]:
    """Return the files, devices, images and buckets of a plan."""
    tasks = [task for step in plan.steps for task in step.tasks]
    beyond = {name for task in tasks for name in (*task.images, *task.stores_changed)}
    return {spec.path for task in tasks for spec in task.files} | beyond


def targets_named(plan: Plan, names: Sequence[str]) -> list[str]:
    """Return the names that are targets of the plan or directories containing targets."""
    paths = targets(plan)
    return [
        name for name in names if name in paths or any(is_named(path, [name]) for path in paths)
    ]


async def preview(plan: Plan, connections: Connections, made_files: MadeFiles) -> Preview:
    """Check the targets on all hosts. The result includes unreachable hosts."""
    work = {
        address.name: _targets_on_host(plan, address, connections, made_files)
        for address in plan.hosts
    }
    seen, errors = await fan_out(work)
    seen |= {name: HostTargets(name, error=error.message) for name, error in errors.items()}
    found = [seen[address.name] for address in plan.hosts]
    files = sorted({path for each in found for path in each.files})
    # some are devices on the host, whatever their path
    devices = [facts.path for each in found for facts in each.devices if facts.path in each.written]
    unnamed = [path for path in devices if path not in plan.destroy and path not in HARMLESS]
    names = dict.fromkeys([*unnamed_devices(plan), *unnamed, *names_for(files)])
    return Preview(tuple(found), tuple(names))


async def _targets_on_host(
    plan: Plan, address: HostAddress, connections: Connections, made_files: MadeFiles
) -> HostTargets:
    tasks = tasks_of(plan, address.name)
    async with checking_on(address, connections, "preview") as agent:
        wanted = sorted({spec.path for task in tasks for spec in task.files})
        files = await stat_files(agent, wanted) if wanted else {}
        paths = devices_of(tasks, files)
        made = made_files.on(address.name)
        now = await identify(agent, to_identify(files, made))
        devices = await read_devices(agent, paths) if paths else {}
    findings = HostFindings(HostProbe({}, {}), files, devices, ours=ours(files, made, now.files))
    touched = overwritten(tasks, files)
    return HostTargets(
        address.name,
        devices=tuple(devices.values()),
        written=frozenset(touched),
        images=tuple(dict.fromkeys(image for task in tasks for image in task.images)),
        objects=changed_objects(tasks),
        files=tuple(
            path for path in foreign_files(touched, findings) if not is_named(path, plan.destroy)
        ),
    )


def changed_objects(tasks: Iterable[HostTask]) -> tuple[ObjectSet, ...]:
    """Return distinct object sets that are overwritten or deleted, with all their operations."""
    found: dict[tuple[str, str], ObjectSet] = {}
    for each in (each for task in tasks for each in task.objects if each.changes):
        before = found.get(each.key, each)
        does = tuple(name for name in DOES if name in (*before.does, *each.does))
        found[each.key] = ObjectSet(
            each.store, each.names, max(before.count, each.count), each.size_bytes, does
        )
    return tuple(found.values())


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HostReadiness:
    """Readiness of one host: problems (empty if ready), all facts, and a summary: tool versions,
    MPI, free space, bytes to lay out.
    """

    host: str
    problems: tuple[str, ...] = ()
    summary: str = ""
    facts: dict[str, Fact] = field(default_factory=dict)
    in_use: bool = False  # another run's
    missing_bytes: int | None = None  # of files, still to be written; None: unknown


async def check_ahead(
    plan: Plan,
    connections: Connections,
    made_files: MadeFiles,
    heard: Callable[[str], object] = lambda _: None,
) -> list[HostReadiness]:
    """Check all hosts at once by the rules of the preflight.

    Calls `heard` for each host once its check has ended, also if it failed. Takes no locks and
    launches no MPI program, which would disturb others.
    """
    work = {
        address.name: _preflight_host(plan, address, connections, made_files, heard)
        for address in plan.hosts
    }
    looked, errors = await fan_out(work)
    found = {name: findings for name, ((findings, *_), _) in looked.items()}
    short = judge_space(plan, found)
    answers = {name: _judged(plan, name, *each) for name, (each, _) in looked.items()}
    seen = {name: each for name, (_, each) in looked.items()}
    for name, (facts, problems) in mpi_answers(plan, seen).items():
        summary = ", ".join(part for part in (answers[name].summary, *facts) if part)
        answers[name] = replace(
            answers[name], problems=(*answers[name].problems, *problems), summary=summary
        )
    answers |= {name: HostReadiness(name, (error.message,)) for name, error in errors.items()}
    for name, (_, told) in short.items():
        said = (*answers[name].problems, problem_text(told))
        answers[name] = replace(answers[name], problems=said)
    return [answers[address.name] for address in plan.hosts]


async def _preflight_host(
    plan: Plan,
    address: HostAddress,
    connections: Connections,
    made_files: MadeFiles,
    heard: Callable[[str], object],
) -> tuple[tuple[HostFindings, dict[str, Fact], Holder | None], dict[str, MpiFacts]]:
    from tui.engine.preflight.mpi_hosts import launches_of
    from tui.engine.preflight.rules import collect_findings, facts_of
    from tui.remote.mpi import probe

    try:
        async with checking_on(address, connections, "preflight") as agent:

            async def ask(call: Callable[[Agent], Awaitable[T]]) -> T:
                return await call(agent)

            made = made_files.on(address.name)
            findings = await collect_findings(plan, address.name, ask, made, known_secrets(plan))
            facts, holder = await facts_of(plan, address.name, ask, findings), await agent.locked()
            seen = {
                key: await probe(agent, step.mpi.directory, step.mpi.program)
                for key, step in launches_of(plan.steps).items()
                if step.mpi is not None and address.name in step.hosts
            }
            return (findings, facts, holder), seen
    finally:
        heard(address.name)


def known_secrets(plan: Plan) -> dict[str, str]:
    """Return the plan's secrets that are set in the environment."""
    return {name: os.environ[name] for name in plan.secrets if os.environ.get(name)}


def mpi_answers(
    plan: Plan, seen: Mapping[str, Mapping[str, MpiFacts]]
) -> dict[str, tuple[list[str], list[str]]]:
    """Return, by host, the MPI facts and the reasons why the host cannot take part.

    Programs whose first host has no answer are left out.
    """
    from tui.engine.preflight.mpi_hosts import (
        PACKAGE,
        cluster_of,
        judge,
        launches_of,
        with_advice,
    )

    answers: dict[str, tuple[list[str], list[str]]] = {}
    for key, step in launches_of(plan.steps).items():
        facts = {host: seen[host][key] for host in step.hosts if key in seen.get(host, {})}
        if step.hosts[0] not in facts:
            continue
        cluster = cluster_of(step, facts)
        problems = judge(cluster)
        for host, each in facts.items():
            texts, wrong = answers.setdefault(host, ([], []))
            launcher = each.launcher(cluster.family)
            texts += [each.program] if each.program else []
            texts += [f"{PACKAGE[cluster.family]} {launcher.version}"] if launcher else []
            told = (with_advice(plan, step.tool, each) for each in problems.get(host, []))
            wrong += map(problem_text, told)
    return answers


def _judged(
    plan: Plan, host: str, findings: HostFindings, facts: dict[str, Fact], holder: Holder | None
) -> HostReadiness:
    from tui.engine.preflight.programs import is_carried
    from tui.engine.preflight.rules import in_use_by, judge_host

    machine = str(findings.probe.values.get("arch"))
    problems = [
        problem_text(told)
        for code, told in judge_host(plan, host, findings)
        if not is_carried(plan, code, machine)
    ]
    in_use = holder is not None and not (plan.take_locks or plan.wait_s)
    if holder is not None and in_use:
        problems.append(in_use_by(holder))
    missing = sum(new_bytes(tasks_of(plan, host), findings.files).values())
    return HostReadiness(
        host, tuple(problems), ", ".join(_host_texts(findings, missing)), facts, in_use, missing
    )


def _type_of(facts: DirFacts) -> str:
    same = on_root(facts.path, facts.mount, same=facts.on_root)
    return f"{facts.fstype}, the root file system" if same else facts.fstype


def _host_texts(findings: HostFindings, missing: int) -> list[str]:
    """Return tool versions, free space at the target, and the amount still to lay out."""
    texts = [tool.text for tool in findings.probe.tools.values()]
    places = {
        facts.mount: facts for facts in findings.probe.dirs.values() if facts.free_bytes is not None
    }
    texts += [
        f"{units.size(facts.free_bytes or 0)} free at {facts.path} ({_type_of(facts)})"
        for facts in places.values()
    ]
    return [*texts, f"{units.size(missing)} to lay out"] if missing else texts
