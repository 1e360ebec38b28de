"""Find load generators missing on hosts before launch, so that a suite can run without them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui import workloads
from tui.engine.preflight import mpi_hosts
from tui.model.address import HostAddress
from tui.model.plan import LeftOut, Plan, Step, at_once
from tui.remote import mpi
from tui.remote.fan_out import checking_on, fan_out

if TYPE_CHECKING:
    from tui.engine.preflight.host_check import HostCheck
    from tui.remote.connections import Connections

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
    """Return the hosts without a tool according to their last check, which tries default names
    only.
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
