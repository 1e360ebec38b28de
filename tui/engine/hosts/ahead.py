"""A look at the hosts of a plan before it is started: what each has, and every reason why it would refuse the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from tui.engine.hosts.fan_out import fan_out, looking_on
from tui.engine.planning.space import judge_space, new_bytes
from tui.engine.safety.host_look import HostFindings, tasks_of
from tui.metrics import units
from tui.model.address import HostAddress
from tui.model.hostfacts import Fact
from tui.model.plan import Plan

if TYPE_CHECKING:
    from tui.engine.safety.made_files import MadeFiles
    from tui.remote.agent import Agent, Holder
    from tui.remote.connections import Connections

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

    Locks are looked at and not taken, MPI is not tried: both would be felt by others.
    """
    work = {address.name: _look(plan, address, connections, made_files, heard) for address in plan.hosts}
    looked, errors = await fan_out(work)
    found = {name: findings for name, (findings, *_) in looked.items()}
    short = judge_space(plan, found)
    answers = {name: _judged(plan, name, *each) for name, each in looked.items()}
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
) -> tuple[HostFindings, dict[str, Fact], Holder | None]:
    from tui.engine.running.preflight import facts_of, look_at

    try:
        async with looking_on(address, connections, "preflight") as agent:

            async def ask(call: Callable[[Agent], Awaitable[T]]) -> T:
                return await call(agent)

            findings = await look_at(plan, address.name, ask, made_files.sizes(address.name))
            return findings, await facts_of(plan, address.name, ask, findings), await agent.locked()
    finally:
        heard(address.name)


def _judged(plan: Plan, host: str, findings: HostFindings, facts: dict[str, Fact], holder: Holder | None) -> Answer:
    from tui.engine.running.locks import in_use_by
    from tui.engine.running.preflight import judge_host

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
