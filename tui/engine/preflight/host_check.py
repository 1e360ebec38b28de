"""Check hosts without a plan: facts, load generators, reasons why a host cannot run a load."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from tui.model.address import HostAddress

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
    """Return the first problem that prevents runs of the expected load generators (None if there
    is none), and notes on copied programs of others that do not fit this machine.

    Copied programs count as expected.
    """
    from tui import workloads
    from tui.engine.preflight.programs import no_program
    from tui.engine.preflight.rules import directory_problems, tool_problems
    from tui.model.plan import of_machine
    from tui.text.problem_texts import problem_text

    machine = str(probe.values.get("arch"))
    mine = of_machine(programs, machine)
    usual = {need.command for each in workloads.expected() for need in each.requirements(())}
    needs = [need for each in workloads.every() for need in each.requirements(())]
    missing = dict.fromkeys(each.name for each in programs if each.name not in mine)
    problems = [no_program(name, machine) for name in missing if name in usual]
    for need in needs:
        if need.command in mine or (need.command in usual and need.command not in missing):
            problems += tool_problems(need, probe, mine)
    if directory:
        problems += directory_problems(directory, probe)
    unusual = [no_program(name, machine)[1] for name in missing if name not in usual]
    first = next(((code, problem_text(told)) for code, told in problems), None)
    return first, tuple(map(problem_text, unusual))
