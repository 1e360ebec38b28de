"""What can be said of programs over all hosts before there is a plan: which MPI hosts have, and whether it is alike."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui import workloads
from tui.engine.preflight.cluster import PACKAGE, Cluster, addresses_of, doubts, family_of, judge
from tui.remote import mpi

if TYPE_CHECKING:
    from tui.model.hostfacts import Fact
    from tui.remote.agent import Agent
    from tui.workloads.mpi import MpiProgram

Seen = Mapping[str, mpi.MpiFacts]
"""What a host has, by load generator."""


def programs() -> dict[str, MpiProgram]:
    """Return what hosts are looked at for, by load generator."""
    simplest = {workload.name: workload.simplest() for workload in workloads.every()}
    return {name: program for name, program in simplest.items() if program is not None}


async def look(agent: Agent, directory: str) -> Seen:
    """Return what a host has. Raises HostError."""
    return {tool: await mpi.probe(agent, directory, each.launch.program) for tool, each in programs().items()}


def facts_of(seen: Seen) -> dict[str, Fact]:
    """Return it as facts of the host: the program's path, the MPI it was built with, the launchers that are there."""
    found: dict[str, Fact] = {}
    for tool, facts in seen.items():
        found["mpi"] = ", ".join(dict.fromkeys(f"{PACKAGE[each.family]} {each.version}" for each in facts.launchers))
        if facts.program:
            found |= {f"{posixpath.basename(programs()[tool].launch.program)}_path": facts.program}
            found |= {f"{tool}_mpi": PACKAGE[facts.family]} if facts.family else {}
    return {name: value for name, value in found.items() if value}


def notes(seen: Mapping[str, Seen]) -> dict[str, list[str]]:
    """Return by host what the preflight of a run over all of them would say; nothing where no host has the program."""
    told: dict[str, list[str]] = {host: [] for host in seen}
    for tool, program in programs().items():
        facts = {host: each[tool] for host, each in seen.items() if tool in each}
        having = [host for host in facts if facts[host].program]
        if not having:
            continue
        ordered = {host: facts[host] for host in (*having, *facts)}  # one that has it leads, as in a run
        cluster = Cluster(
            tool, program, ordered, family_of(program.launch, facts[having[0]]), addresses_of(program.launch, ordered)
        )
        problems, doubtful = judge(cluster), doubts(cluster)
        for host in facts:
            messages = [message for _, message in problems.get(host, [])]
            told[host] += [f"{tool}: {text}" for text in (*messages, *doubtful.get(host, []))]
        told[having[0]] += [f"{tool}: {text}" for text in [workloads.get(tool).advice("checked")] if text]
    return told
