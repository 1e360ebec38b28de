"""Find load generators that the user provides, read their ELF headers and copy them to hosts.

Copies go to a directory that is removed with the run.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import gzip
import hashlib
import secrets
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui import workloads
from tui.engine.preflight.rules import commands_of, requirements_of
from tui.model.bounded import read_file
from tui.model.operands import Clause, clause
from tui.model.plan import CarriedProgram, Plan, of_machine
from tui.model.problem import Problem, UsageError
from tui.remote.fan_out import agent_on
from tui.remote.files import copy_program
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.model.hostfacts import Fact
    from tui.remote.agent import Agent
    from tui.remote.connections import Connections

MOST_BYTES = 256 << 20
MACHINES = {  # elf.h: e_machine, and 1 for little or 2 for big endian
    (62, 1): "x86_64", (183, 1): "aarch64", (243, 1): "riscv64", (21, 1): "ppc64le",
    (21, 2): "ppc64", (22, 2): "s390x",
}  # fmt: skip
PT_INTERP = 3  # elf.h: the program needs a dynamic linker
CLEAN_S = 20.0


def with_programs(plan: Plan, folder: Path, *, required: bool) -> Plan:
    """Return the plan with programs to copy to the hosts, from FOLDER/NAME or FOLDER/MACHINE/NAME.

    Raises UsageError for files that are not programs, and, if `required`, when none of the plan's
    programs is found.
    """
    names = carried_names(plan)
    if required and not names:
        mpi = "MPI starts the load generators in this plan; install them on the hosts"
        raise UsageError(Problem(mpi, file=str(folder)))
    found = programs_in(folder, names, required=required)
    if not found:
        return plan
    return replace(plan, carried=found, caveats=[*plan.caveats, *caveats_of(found)])


def caveats_of(programs: Sequence[CarriedProgram]) -> list[Clause]:
    """Return a caveat on each program that is dynamically linked."""
    dynamic = dict.fromkeys(each.name for each in programs if each.dynamic)
    return [clause("dynamic-program", program=name) for name in dynamic]


def programs_for_check(folder: Path, *, required: bool) -> list[CarriedProgram]:
    """Return the programs in a folder that a run of any load generator would copy.

    Raises UsageError as `programs_in` does.
    """
    needs = [
        need
        for workload in workloads.every()
        if workload.executor == "per-host"
        for need in workload.requirements(())
    ]
    names = [name for name in commands_of(needs) if "/" not in name]
    return programs_in(folder, names, required=required)


def programs_in(folder: Path, names: Sequence[str], *, required: bool) -> list[CarriedProgram]:
    """Return the programs with these names in a folder and its per-architecture subfolders.

    Raises UsageError for files that are not programs, for two programs of the same name and
    architecture, and, if `required`, when there is none.
    """
    places = [folder, *(folder / machine for machine in dict.fromkeys(MACHINES.values()))]
    paths = [place / name for name in names for place in places if (place / name).is_file()]
    if required and not paths:
        why = f"contains no {' or '.join(names)}, nor does a subfolder such as x86_64/"
        why = why if folder.is_dir() else "no such directory"
        raise UsageError(Problem(why, file=str(folder)))
    found = [read_program(path) for path in paths]
    by_kind: dict[tuple[str, str], CarriedProgram] = {}
    for each in found:
        other = by_kind.setdefault((each.name, each.machine), each)
        if other is not each:
            raise UsageError(
                Problem(f"duplicate: {other.path} is also for {each.machine}", file=each.path)
            )
    return found


def carried_names(plan: Plan, host: str | None = None) -> list[str]:
    """Return the commands that can be copied to a host, or to any host if `host` is None.

    Excludes those that MPI starts.
    """
    steps = [step for step in plan.steps if workloads.of(step).executor == "per-host"]
    commands = commands_of(requirements_of(replace(plan, steps=steps), host))
    return [name for name in commands if "/" not in name]


def read_program(path: Path) -> CarriedProgram:
    """Read a program's ELF header and checksum.

    Raises UsageError if it is not a 64-bit ELF program of a supported machine, is too large, or
    cannot be read.
    """
    try:
        stat = path.stat()
        return _read_program(path.absolute(), stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise UsageError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from error


@functools.lru_cache(maxsize=16)
def _read_program(path: Path, size: int, _: int) -> CarriedProgram:
    """Read a program's header; cached by size and modification time."""
    data = read_file(path, MOST_BYTES) if size <= MOST_BYTES else b""
    if not data:
        why = f"larger than {MOST_BYTES >> 20} MiB" if size else "the file is empty"
        raise UsageError(Problem(why, file=str(path)))
    machine, dynamic = _elf(path, data)
    return CarriedProgram(
        path.name, str(path), hashlib.sha256(data).hexdigest(), size, machine, dynamic
    )


def _elf(path: Path, data: bytes) -> tuple[str, bool]:
    """Return the architecture of an ELF program, and whether it is dynamically linked."""
    if len(data) < 64 or data[:4] != b"\x7fELF" or data[4] != 2:
        raise UsageError(Problem("not a 64-bit ELF executable", file=str(path)))
    order = "<" if data[5] == 1 else ">"
    (number,) = struct.unpack_from(f"{order}H", data, 18)
    (offset,) = struct.unpack_from(f"{order}Q", data, 32)
    size, count = struct.unpack_from(f"{order}HH", data, 54)
    kinds = [_segment(order, data, offset + at * size) for at in range(count)]
    machine = MACHINES.get((number, data[5]))
    if machine is None:
        known = ", ".join(MACHINES.values())
        raise UsageError(
            Problem(f"unsupported machine (e_machine {number}); supported: {known}", file=str(path))
        )
    return machine, PT_INTERP in kinds


def _segment(order: str, data: bytes, at: int) -> int:
    return int(struct.unpack_from(f"{order}I", data, at)[0]) if 0 <= at <= len(data) - 4 else 0


def is_carried(plan: Plan, code: str, machine: str) -> bool:
    """Return whether a problem is about a program that the run copies to that host."""
    return any(code.startswith(f"{name}-") for name in of_machine(plan.carried, machine))


@asynccontextmanager
async def carrying_agent(
    address: HostAddress, connections: Connections, programs: Sequence[CarriedProgram]
) -> AsyncIterator[Agent]:
    """Connect to a host for a check, with the programs for its architecture copied until the
    context exits.

    Raises HostError.
    """
    run_id = (
        f"check-{secrets.token_hex(4)}" if programs else "check"
    )  # another check may run at the same time
    async with agent_on(address, connections, run_id, carries=bool(programs)) as agent:
        if not programs:
            yield agent
            return
        try:
            arch = str((await agent.probe()).values.get("arch"))
            for program in of_machine(programs, arch).values():
                await carry(agent, program)
            yield agent
        finally:
            await _remove(agent)


async def _remove(agent: Agent) -> None:
    try:
        async with asyncio.timeout(CLEAN_S):
            await agent.end_leftovers(agent.run_id, agent.mark)
    except (HostError, TimeoutError) as error:
        late = clause("no-answer", limit_s=CLEAN_S)
        code, why = (error.code, error.told) if isinstance(error, HostError) else ("timeout", late)
        raise HostError(code, agent.host, clause("programs-left", quote=why)) from error


async def carry(agent: Agent, program: CarriedProgram) -> None:
    """Copy a program to a host unless it is already there with the planned checksum. Raises
    HostError.
    """
    try:
        packed = await asyncio.to_thread(_packed, program.path, program.sha256)
    except OSError as error:
        told = clause("program-unread", path=program.path, quote=str(error.strerror))
        raise HostError("no-program", agent.host, told) from error
    if not packed:
        told = clause("program-changed", path=program.path)
        raise HostError("no-program", agent.host, told)
    await copy_program(agent, program.name, packed, program.sha256)


def no_program(name: str, machine: str) -> tuple[str, Clause]:
    """Return the problem for a host whose architecture has no program in the folder."""
    return "no-program", clause("no-program", program=name, machine=machine)


def carried_facts(programs: Sequence[CarriedProgram], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return host facts with the original paths of copied programs instead of temporary ones."""
    mine = of_machine(programs, str(facts.get("arch")))
    return {f"{name}_path": each.path for name, each in mine.items() if f"{name}_path" in facts}


_packing = Lock()  # many hosts wait for the same program, which is packed once


def _packed(path: str, sha256: str) -> str:
    """Return a program as base64-encoded gzip; empty if it has changed since the plan."""
    with _packing:
        return _packed_once(path, sha256)


@functools.lru_cache(maxsize=4)
def _packed_once(path: str, sha256: str) -> str:
    data = read_file(path, MOST_BYTES)
    return (
        base64.b64encode(gzip.compress(data, 6)).decode()
        if hashlib.sha256(data).hexdigest() == sha256
        else ""
    )
