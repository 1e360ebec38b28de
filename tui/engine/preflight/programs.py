"""Programs of the user's own that a run brings along: which of a folder the plan needs, and what they are."""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace

from tui import workloads
from tui.engine.preflight.rules import commands_of, requirements_of
from tui.model.plan import CarriedProgram, Plan
from tui.model.problem import Problem, UsageError

MOST_BYTES = 256 << 20
MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64", 21: "ppc64le", 22: "s390x"}  # elf.h, e_machine
PT_INTERP = 3  # elf.h: the program is started by a dynamic linker


def with_programs(plan: Plan, folder: Path, *, required: bool) -> Plan:
    """Return a plan that brings its load generators along: FOLDER/NAME, or FOLDER/MACHINE/NAME for several machines.

    Raises UsageError for what is no program, and, if `required`, when there are none of those that the plan needs.
    """
    names = carried_names(plan)
    paths = [path for name in names for path in (folder / name, *sorted(folder.glob(f"*/{name}"))) if path.is_file()]
    if not paths and not required:
        return plan
    if not paths:
        told = f"no {' or '.join(names)} here, nor in a folder such as x86_64"
        mpi = "the load generators of this plan are started by MPI, and have to be installed on the hosts"
        raise UsageError(Problem(told if names else mpi, file=str(folder)))
    found = [read_program(path) for path in paths]
    twice = [one.path for one, other in pairwise(found) if _same_kind(one, other)]
    if twice:
        raise UsageError(Problem("there is another one for the same machine", file=twice[0]))
    dynamic = [each.name for each in found if each.dynamic]
    remarks = [f"{name} is not static: it needs the same libraries on the hosts" for name in dict.fromkeys(dynamic)]
    return replace(plan, carried=found, remarks=[*plan.remarks, *remarks])


def carried_names(plan: Plan) -> list[str]:
    """Return the commands of a plan that can be brought along: those of MPI are the same path on all hosts."""
    steps = [step for step in plan.steps if workloads.of(step).executor == "per-host"]
    commands = commands_of(requirements_of(replace(plan, steps=steps)))
    return [name for name in commands if "/" not in name]


def read_program(path: Path) -> CarriedProgram:
    """Return what a program is. Raises UsageError for what is no ELF program, or is too large."""
    try:
        stat = path.stat()
        return _read_program(path.absolute(), stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise UsageError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from error


@functools.lru_cache(maxsize=16)
def _read_program(path: Path, size: int, _: int) -> CarriedProgram:
    """Return what a program is; it is read again once it has another size or time of change."""
    data = path.read_bytes() if size <= MOST_BYTES else b""
    if not data:
        raise UsageError(Problem(f"a program of 1 to {MOST_BYTES >> 20} MiB is allowed", file=str(path)))
    machine, dynamic = _elf(path, data)
    return CarriedProgram(path.name, str(path), hashlib.sha256(data).hexdigest(), size, machine, dynamic)


def _same_kind(one: CarriedProgram, other: CarriedProgram) -> bool:
    return (one.name, one.machine) == (other.name, other.machine)


def _elf(path: Path, data: bytes) -> tuple[str, bool]:
    """Return the machine of an ELF program, and whether a dynamic linker starts it."""
    if len(data) < 64 or data[:4] != b"\x7fELF" or data[4] != 2:
        raise UsageError(Problem("is no program for 64-bit Linux (ELF)", file=str(path)))
    order = "<" if data[5] == 1 else ">"
    (number,) = struct.unpack_from(f"{order}H", data, 18)
    (offset,) = struct.unpack_from(f"{order}Q", data, 32)
    size, count = struct.unpack_from(f"{order}HH", data, 54)
    kinds = [_segment(order, data, offset + at * size) for at in range(count)]
    if number not in MACHINES:
        raise UsageError(Problem(f"is for an unknown machine ({number}); known are {', '.join(MACHINES.values())}",
                                 file=str(path)))  # fmt: skip
    return MACHINES[number], PT_INTERP in kinds


def _segment(order: str, data: bytes, at: int) -> int:
    return int(struct.unpack_from(f"{order}I", data, at)[0]) if 0 <= at <= len(data) - 4 else 0


def is_carried(plan: Plan, code: str) -> bool:
    """Tell whether a problem of a host is about a program that the run brings along."""
    return any(code.startswith(f"{each.name}-") for each in plan.carried)


def of_machine(programs: Sequence[CarriedProgram], machine: str) -> dict[str, CarriedProgram]:
    """Return the programs for a machine (`uname -m`), by name."""
    return {each.name: each for each in programs if each.machine == machine}
