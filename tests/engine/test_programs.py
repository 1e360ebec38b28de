"""Programs that a run brings along: which of a folder it takes, and what it refuses."""

from __future__ import annotations

import hashlib
import platform
import shutil
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.preflight.host_check import problem_of
from tui.engine.preflight.programs import (
    MACHINES,
    programs_for_check,
    read_program,
    with_programs,
)
from tui.engine.run.preflight import copy_programs
from tui.engine.run.run import open_run
from tui.model.address import HostAddress
from tui.model.plan import Plan, of_machine
from tui.model.problem import UsageError
from tui.remote.answers import HostProbe, ToolFacts
from tui.remote.connections import Connections
from tui.remote.transport import HostError
from tui.view.plan import caveats_of

X86, ARM = 62, 183
LOCAL = HostAddress("local", transport="local")


def plan(tag: str = "demo/quick") -> Plan:
    return build_plan(Catalogue(Path("/nowhere")).load(tag), Choices([LOCAL]))


def program(path: Path, machine: int = X86, *, dynamic: bool = False) -> Path:
    """Write the head of an ELF program with one segment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<I", 3 if dynamic else 1) + bytes(52)
    path.write_bytes(b"\x7fELF" + bytes([2, 1, 1]) + bytes(9) + head + segment)
    return path


def test_a_folder_may_hold_one_program_or_one_for_each_machine(tmp_path: Path) -> None:
    program(tmp_path / "one" / "fio")
    program(tmp_path / "many" / "x86_64" / "fio")
    program(tmp_path / "many" / "aarch64" / "fio", ARM)
    assert [
        each.machine for each in with_programs(plan(), tmp_path / "one", required=True).carried
    ] == ["x86_64"]
    many = with_programs(plan(), tmp_path / "many", required=True)
    assert of_machine(many.carried, "aarch64")["fio"].path == str(
        tmp_path / "many" / "aarch64" / "fio"
    )


def test_a_real_program_is_read_as_what_it_is() -> None:
    path = Path(shutil.which("fio") or "/bin/sh").resolve()
    found = read_program(path)
    assert (found.sha256, found.bytes) == (
        hashlib.sha256(path.read_bytes()).hexdigest(),
        path.stat().st_size,
    )
    assert found.dynamic  # as distributions build it


def test_a_program_that_is_not_static_is_reported(tmp_path: Path) -> None:
    program(tmp_path / "fio", dynamic=True)
    assert "dynamically linked" in caveats_of(with_programs(plan(), tmp_path, required=True))[-1]


def test_a_folder_without_what_the_plan_needs_is_refused_only_when_it_was_asked_for(
    tmp_path: Path,
) -> None:
    program(tmp_path / "elbencho")
    with pytest.raises(UsageError, match="contains no fio"):
        with_programs(plan(), tmp_path, required=True)
    assert with_programs(plan(), tmp_path, required=False).carried == []


def test_programs_of_mpi_are_not_brought_along(tmp_path: Path) -> None:
    program(tmp_path / "mdtest")
    with pytest.raises(UsageError, match="MPI"):
        with_programs(plan("weka/mdtest"), tmp_path, required=True)


def test_two_programs_for_one_machine_are_refused(tmp_path: Path) -> None:
    program(tmp_path / "fio")
    program(tmp_path / "aarch64" / "fio", ARM)
    program(tmp_path / "x86_64" / "fio")
    with pytest.raises(UsageError, match="duplicate"):
        with_programs(plan(), tmp_path, required=True)


async def test_a_program_that_changed_since_the_launch_is_not_brought_along(tmp_path: Path) -> None:
    here = platform.machine()
    mine = program(
        tmp_path / here / "fio", {name: number for (number, _), name in MACHINES.items()}[here]
    )
    planned = with_programs(plan(), tmp_path, required=True)
    mine.write_bytes(mine.read_bytes() + b"changed")
    (run_dir := tmp_path / "20261128T000000Z-programs-0000").mkdir()
    async with Connections() as connections:
        ctx = open_run(run_dir, planned, connections)
        (session,) = ctx.sessions
        await session.connect()
        with pytest.raises(HostError, match="changed since the launch"):
            await copy_programs(ctx, session)
        await session.disconnect()


def test_a_check_takes_every_program_that_some_run_would_copy(tmp_path: Path) -> None:
    program(tmp_path / "fio")
    program(tmp_path / "aarch64" / "elbencho", ARM)
    program(tmp_path / "mdtest")
    found = programs_for_check(tmp_path, required=True)
    assert {each.name: each.machine for each in found} == {"fio": "x86_64", "elbencho": "aarch64"}
    with pytest.raises(UsageError, match="no fio or elbencho"):
        programs_for_check(Path("/proc"), required=True)
    with pytest.raises(UsageError, match="no such directory"):
        programs_for_check(tmp_path / "nowhere", required=True)
    assert programs_for_check(tmp_path / "nowhere", required=False) == []


def test_only_a_missing_program_that_all_hosts_are_expected_to_have_fails_a_check(
    tmp_path: Path,
) -> None:
    program(tmp_path / "fio", ARM)
    program(tmp_path / "elbencho", ARM)
    probe = HostProbe({"arch": "x86_64"}, {"fio": ToolFacts("/usr/bin/fio", "fio-3.38", (3, 38))})
    problem, notes = problem_of(probe, None, programs_for_check(tmp_path, required=True))
    assert problem == ("no-program", "no fio for x86_64 in the --with folder")
    assert notes == ("no elbencho for x86_64 in the --with folder",)


def test_only_folders_of_machines_are_looked_into(tmp_path: Path) -> None:
    program(tmp_path / "x86_64" / "fio")
    program(tmp_path / "old" / "fio")
    assert len(with_programs(plan(), tmp_path, required=True).carried) == 1


@given(st.binary(max_size=200))
def test_what_is_no_program_is_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("program") / "fio"
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_program(path)
    assert len(caught.value.problems) == 1


@given(st.integers(0, 120), st.binary(min_size=1, max_size=8))
def test_a_damaged_head_never_ends_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, at: int, change: bytes
) -> None:
    path = program(tmp_path_factory.mktemp("program") / "fio")
    data = bytearray(path.read_bytes())
    data[at : at + len(change)] = change
    path.write_bytes(data)
    try:
        read_program(path)
    except UsageError as error:
        assert len(error.problems) == 1
