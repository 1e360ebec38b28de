"""A look at the hosts of a plan before it is started: what each has, and every reason why it would refuse the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from tui.engine.hosts.fan_out import fan_out, looking_on
from tui.engine.safety.host_look import HostFindings, tasks_of
from tui.engine.safety.space import judge_space, new_bytes
from tui.metrics import units
from tui.model.address import HostAddress
from tui.model.hostfacts import Fact
from tui.model.plan import Plan, Step

if TYPE_CHECKING:
    from tui.engine.safety.made_files import MadeFiles
    from tui.remote.agent import Agent, Holder
    from tui.remote.connections import Connections
    from tui.remote.mpi import MpiFacts

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """One host: why it would refuse the run (it is ready without a problem), what it has, and all that it is."""

    host: str
    problems: tuple[str, ...] = ()
    said: str = ""
    facts: dict[str, Fact] = field(default_factory=dict)
    in_use: bool = False  # by another run


async def look_ahead(
    plan: Plan, connections: Connections, made_files: MadeFiles, heard: Callable[[str], object] = lambda _: None
) -> list[Answer]:
    """Ask all hosts at once and judge them by the rules of the preflight. `heard` is told each host that answered.

    Locks are looked at and not taken, MPI is not launched: both would be felt by others.
    """
    work = {address.name: _look(plan, address, connections, made_files, heard) for address in plan.hosts}
    looked, errors = await fan_out(work)
    found = {name: findings for name, ((findings, *_), _) in looked.items()}
    short = judge_space(plan, found)
    answers = {name: _judged(plan, name, *each) for name, (each, _) in looked.items()}
    for name, (said, problems) in mpi_answers(plan, {name: seen for name, (_, seen) in looked.items()}).items():
        told = ", ".join(part for part in (answers[name].said, *said) if part)
        answers[name] = replace(answers[name], problems=(*answers[name].problems, *problems), said=told)
    answers |= {name: Answer(name, (error.message,)) for name, error in errors.items()}
    for name, (_, message) in short.items():
        answers[name] = replace(answers[name], problems=(*answers[name].problems, message))
    return [answers[address.name] for address in plan.hosts]


async def _look(
    plan: Plan,
    address: HostAddress,
    connections: Connections,
    made_files: MadeFiles,
    heard: Callable[[str], object],
) -> tuple[tuple[HostFindings, dict[str, Fact], Holder | None], dict[str, MpiFacts]]:
    from tui.engine.preflight.rules import facts_of, look_at
    from tui.remote.mpi import probe

    try:
        async with looking_on(address, connections, "preflight") as agent:

            async def ask(call: Callable[[Agent], Awaitable[T]]) -> T:
                return await call(agent)

            findings = await look_at(plan, address.name, ask, made_files.on(address.name))
            facts, holder = await facts_of(plan, address.name, ask, findings), await agent.locked()
            launches = {key: step.mpi for key, step in launched(plan).items() if address.name in step.hosts}
            seen = {key: await probe(agent, each.directory, each.program) for key, each in launches.items() if each}
            return (findings, facts, holder), seen
    finally:
        heard(address.name)


def launched(plan: Plan) -> dict[str, Step]:
    """Return a step for each program that is launched over all hosts."""
    from tui.engine.preflight.cluster import key_of

    return {key_of(step): step for step in plan.steps if step.mpi is not None}


def mpi_answers(plan: Plan, seen: Mapping[str, Mapping[str, MpiFacts]]) -> dict[str, tuple[list[str], list[str]]]:
    """Return by host what it has for MPI programs, and why it cannot take part; without the first host nothing."""
    from tui.engine.preflight.cluster import PACKAGE, cluster_of, judge, with_advice

    answers: dict[str, tuple[list[str], list[str]]] = {}
    for key, step in launched(plan).items():
        facts = {host: seen[host][key] for host in step.hosts if key in seen.get(host, {})}
        if step.hosts[0] not in facts:
            continue
        cluster = cluster_of(step, facts)
        problems = judge(cluster)
        for host, each in facts.items():
            said, wrong = answers.setdefault(host, ([], []))
            launcher = each.launcher(cluster.family)
            said += [each.program] if each.program else []
            said += [f"{PACKAGE[cluster.family]} {launcher.version}"] if launcher else []
            wrong += [with_advice(plan, step.tool, problem) for problem in problems.get(host, [])]
    return answers


def _judged(plan: Plan, host: str, findings: HostFindings, facts: dict[str, Fact], holder: Holder | None) -> Answer:
    from tui.engine.preflight.rules import in_use_by, judge_host

    problems = [message for _, message in judge_host(plan, host, findings)]
    in_use = holder is not None and not (plan.take_locks or plan.wait_s)
    if holder is not None and in_use:
        problems.append(in_use_by(holder))
    return Answer(host, tuple(problems), ", ".join(_said(plan, host, findings)), facts, in_use)


def _said(plan: Plan, host: str, findings: HostFindings) -> list[str]:
    """Return the versions of its tools, the room where the files go, and what is still to be laid out."""
    said = [tool.text for tool in findings.probe.tools.values()]
    places = {facts.mount: facts for facts in findings.probe.dirs.values() if facts.free_bytes is not None}
    said += [f"{units.size(facts.free_bytes or 0)} free at {facts.path} ({facts.fstype})" for facts in places.values()]
    missing = sum(new_bytes(tasks_of(plan, host), findings.files).values())
    return [*said, f"{units.size(missing)} to lay out"] if missing else said
