"""Check hosts without a plan: facts, load generators, reasons why a host cannot run a load.

Also finds load generators of a plan that are missing on hosts, and drops the steps that need them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from tui import workloads
from tui.engine.preflight import mpi_hosts
from tui.model.address import HostAddress
from tui.model.plan import LeftOut, Plan, Step, at_once
from tui.remote import mpi
from tui.remote.fan_out import checking_on, fan_out

if TYPE_CHECKING:
    from tui.engine.preflight.mpi_hosts import Seen
    from tui.model.hostfacts import Fact
    from tui.model.plan import CarriedProgram
    from tui.remote.agent import Agent
    from tui.remote.answers import HostProbe
    from tui.remote.connections import Connections


T = TypeVar("T")


class HostCheck(Struct, frozen=True):
    """Result of checking one host; unless `ok`, `code` and `message` give the problem."""

    name: str
    ok: bool
    code: str = ""
    message: str = ""
    facts: dict[str, Fact] = field(default_factory=dict)
    seen: Seen = field(default_factory=dict)  # of programs over all hosts
    # by command: capabilities only some profiles need
    extras: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # problems that concern only some runs
    copied: tuple[str, ...] = ()  # user's programs that were checked


async def check_hosts(
    addresses: Sequence[HostAddress],
    directory: str | None,
    connections: Connections,
    programs: Sequence[CarriedProgram] = (),
) -> list[HostCheck]:
    """Check all hosts at once and return the results in the given order.

    `programs` are copied to the hosts for the check, as for a run.
    """
    from tui.engine.preflight import mpi_hosts
    from tui.remote.fan_out import fan_out

    checks, errors = await fan_out(
        {each.name: check_host(each, directory, connections, programs) for each in addresses}
    )
    of_mpi = mpi_hosts.notes({name: check.seen for name, check in checks.items()})
    checks = {
        name: replace(check, notes=(*check.notes, *of_mpi[name])) for name, check in checks.items()
    }
    checks |= {
        name: HostCheck(name, False, error.code, error.message) for name, error in errors.items()
    }
    return [checks[address.name] for address in addresses]


async def check_host(
    address: HostAddress,
    directory: str | None,
    connections: Connections,
    programs: Sequence[CarriedProgram] = (),
) -> HostCheck:
    """Connect to one host, probe it and judge the result. Raises HostError."""
    from tui import workloads
    from tui.engine.preflight import mpi_hosts
    from tui.engine.preflight.programs import carried_facts, carrying_agent
    from tui.engine.preflight.rules import allocation_facts, commands_of
    from tui.model.plan import of_machine

    async with carrying_agent(address, connections, programs) as agent:
        looked_for = commands_of(
            [need for workload in workloads.every() for need in workload.requirements(())]
        )
        targets = [directory or "/tmp"]
        probe = await agent.probe(targets, looked_for)
        facts = await agent.facts(probe, targets, list(looked_for))
        seen = await mpi_hosts.probe_programs(agent, targets[0])
        extras = await _extras(agent, probe)
    problem, notes = problem_of(probe, directory, programs)
    notes = (*notes, *connections.way(address).notes(address))
    facts |= carried_facts(programs, facts)
    facts |= await allocation_facts(address, connections)
    facts |= mpi_hosts.facts_of(seen)
    return HostCheck(
        address.name,
        problem is None,
        *(problem or ("", "")),
        facts=facts,
        seen=seen,
        extras=extras,
        notes=notes,
        copied=tuple(of_machine(programs, str(facts.get("arch")))),
    )


async def _extras(agent: Agent, probe: HostProbe) -> dict[str, tuple[str, ...]]:
    """Return, by command, the capabilities that only some profiles need."""
    from tui import workloads
    from tui.engine.preflight.rules import try_commands

    async def ask(call: Callable[[Agent], Awaitable[T]]) -> T:
        return await call(agent)

    needs = [
        need
        for workload in workloads.every()
        for need in workload.extras()
        if need.command in probe.tools
    ]
    unable = await try_commands(ask, needs, probe)
    able = [need for need in needs if need.trial_of not in unable]
    names = dict.fromkeys(need.command for need in able)
    return {name: tuple(need.trial_of for need in able if need.command == name) for name in names}


def problem_of(
    probe: HostProbe, directory: str | None, programs: Sequence[CarriedProgram] = ()
) -> tuple[tuple[str, str] | None, tuple[str, ...]]:
    """Return the first problem that prevents runs of the expected load generators, and notes.

    The problem is None if there is none. The notes name copied programs of other load generators
    without a build for this machine; copied programs count as expected.
    """
    from tui import workloads
    from tui.engine.preflight.destroy import Problem
    from tui.engine.preflight.programs import no_program
    from tui.engine.preflight.rules import directory_problems, tool_problems
    from tui.model.plan import of_machine
    from tui.text.problem_texts import problem_text

    machine = str(probe.values.get("arch"))
    mine = of_machine(programs, machine)
    usual = {need.command for each in workloads.expected() for need in each.requirements(())}
    needs = [need for each in workloads.every() for need in each.requirements(())]
    missing = dict.fromkeys(each.name for each in programs if each.name not in mine)
    problems: list[Problem] = [no_program(name, machine) for name in missing if name in usual]
    for need in needs:
        if need.command in mine or (need.command in usual and need.command not in missing):
            problems += tool_problems(need, probe, mine)
    if directory:
        problems += directory_problems(directory, probe)
    unusual = [no_program(name, machine)[1] for name in missing if name not in usual]
    first = next(((code, problem_text(told)) for code, told in problems), None)
    return first, tuple(map(problem_text, unusual))


MissingTools = Mapping[str, list[str]]
"""Hosts by the name of a missing program or command."""


def has_several_tools(plan: Plan) -> bool:
    """Return whether a plan uses several load generators: without one, some steps remain."""
    return len({step.tool for step in plan.steps}) > 1


async def find_missing_tools(plan: Plan, connections: Connections) -> MissingTools:
    """Return the tools missing on the hosts of a plan.

    Skips hosts that cannot be checked; the engine reports why.
    """
    seen, _ = await fan_out(
        {host.name: _missing_on(plan, host, connections) for host in plan.hosts}
    )
    found: dict[str, list[str]] = {}
    for host, names in seen.items():
        for name in names:
            found.setdefault(name, []).append(host)
    return found


async def _missing_on(plan: Plan, address: HostAddress, connections: Connections) -> list[str]:
    steps = [step for step in plan.steps if address.name in step.hosts]
    programs = dict.fromkeys(name for step in steps for name in programs_of(step))
    required = [need for step in steps for need in workloads.of(step).requirements([step])]
    needs = {need.command: need.version_args for need in required}
    async with checking_on(address, connections, "look") as agent:
        probe = await agent.probe((), needs)
        facts = {name: await mpi.probe(agent, "/", name) for name in programs}
    absent = [name for name, found in facts.items() if not (found.program or found.not_executable)]
    carried = {each.name for each in plan.carried}
    return [
        *(command for command in needs if command not in probe.tools and command not in carried),
        *absent,
    ]


def missing_by_checks(plan: Plan, checks: Mapping[str, HostCheck]) -> MissingTools:
    """Return missing tools with their hosts, according to the last check of each host.

    Checks look for default names only.
    """
    looked_for = {need.command for each in workloads.every() for need in each.requirements(())}
    looked_for |= {program.launch.program for program in mpi_hosts.programs().values()}
    names = dict.fromkeys(
        name for step in plan.steps for name in needed(step) if name in looked_for
    )
    checked = {host.name: checks[host.name].facts for host in plan.hosts if host.name in checks}
    lacks = {
        name: [host for host, facts in checked.items() if facts and f"{name}_path" not in facts]
        for name in names
    }
    return {name: hosts for name, hosts in lacks.items() if hosts}


def programs_of(step: Step) -> list[str]:
    """Return the MPI program that a step launches over all its hosts, if any."""
    workload = workloads.of(step)
    return [workload.program(step).launch.program] if workload.executor == "mpi" else []


def needed(step: Step) -> list[str]:
    """Return the commands and programs that a step needs."""
    return [*programs_of(step), *(need.command for need in workloads.of(step).requirements([step]))]


def _missing(step: Step, missing_tools: MissingTools) -> str:
    """Return the first tool missing on a host of the step; empty if none is missing."""
    return next(
        (name for name in needed(step) if set(missing_tools.get(name, ())) & set(step.hosts)), ""
    )


def without(plan: Plan, missing_tools: MissingTools) -> Plan:
    """Return the plan without steps that hosts cannot run; unchanged if no step would be left.

    Steps concurrent with a removed one are removed too: alone they would be a different
    measurement.
    """
    kept: list[Step] = []
    out: dict[tuple[str, str], list[Step]] = {}
    for steps in at_once(plan.steps):
        missing = {step.index: name for step in steps if (name := _missing(step, missing_tools))}
        for step in steps:
            name = missing.get(step.index) or next(iter(missing.values()), "")
            (out.setdefault((step.part or plan.profile.tag, name), []) if name else kept).append(
                step
            )
    if not kept or not out:
        return plan
    steps = [
        replace(step, index=index, pause_s=step.pause_s if index else 0.0)
        for index, step in enumerate(kept)
    ]
    left = [
        LeftOut(tag, len(steps), hosts=list(missing_tools[name]), missing=name)
        for (tag, name), steps in out.items()
    ]
    return replace(plan, steps=steps, left_out=[*plan.left_out, *left])
