"""Preflight rules: what keeps a host from running a plan, and in which words.

Pure; real hosts are in tests/e2e.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from tests.engine.test_planning import plan
from tui.engine.preflight.destroy import HostFindings
from tui.engine.preflight.rules import (
    doubtful_blocks,
    file_system_of,
    judge_host,
    judge_space,
    tool_problems,
)
from tui.engine.run.preflight import tell_leftovers
from tui.model.operands import Clause, clause
from tui.model.plan import Plan
from tui.remote.answers import DirFacts, FileInfo, HostProbe, TaskDir, ToolFacts, version_of
from tui.text.problem_texts import problem_text
from tui.workloads.base import Requirement

TARGET = "/mnt/weka/fio"
ROOM = DirFacts(TARGET, True, True, False, True, "ext4", "/dev/sda", "/mnt", "rw", 2**40, 2**39)


def probe(
    fio: str | None = "fio-3.33", room: DirFacts = ROOM, boot_id: str = "boot-1"
) -> HostProbe:
    tools = {} if fio is None else {"fio": ToolFacts("/usr/bin/fio", fio, version_of(fio))}
    return HostProbe({"boot_id": boot_id, "user": "bench"}, tools, {TARGET: room})


def codes(plan: Plan, findings: HostFindings) -> list[str]:
    return [code for code, _ in judge_host(plan, "h1", findings)]


def test_host_that_has_all_is_fit() -> None:
    assert codes(plan(), HostFindings(probe())) == []


@pytest.mark.parametrize(
    ("fio", "code"),
    [
        (None, "fio-missing"),
        ("fio-3.17", "fio-too-old"),
        ("fio-2.99", "fio-too-old"),
        ("", "fio-unusable"),
    ],
)
def test_fio_that_will_not_do(fio: str | None, code: str) -> None:
    assert [found for found, _ in tool_problems(Requirement("fio", (3, 18)), probe(fio))] == [code]


def test_a_missing_command_says_where_it_comes_from() -> None:
    ((code, message),) = tool_problems(Requirement("fio", source="from packages"), probe(None))
    assert code == "fio-missing"
    text = problem_text(message)
    assert "from packages" in text and "--with DIR" in text


def test_a_missing_command_names_the_package_of_the_hosts_distribution() -> None:
    there = HostProbe({"os": "Rocky Linux 9.4 (Blue Onyx)"}, {})
    ((_, message),) = tool_problems(Requirement("fio", (3, 18), package="fio"), there)
    assert "install fio 3.18 or newer: dnf install fio" in problem_text(message)


@pytest.mark.parametrize("fio", ["fio-3.18", "fio-3.42-135-gf5344384", "fio-4.0"])
def test_fio_that_will_do(fio: str) -> None:
    assert not list(tool_problems(Requirement("fio", (3, 18)), probe(fio)))


@pytest.mark.parametrize(
    ("room", "code"),
    [
        (DirFacts(TARGET), "dir-missing"),
        (DirFacts(TARGET, exists=True), "dir-not-a-directory"),
        (DirFacts(TARGET, exists=True, is_dir=True), "dir-not-writable"),
    ],
)
def test_directory_that_will_not_do(room: DirFacts, code: str) -> None:
    assert codes(plan(), HostFindings(probe(room=room))) == [code]


def test_device_where_a_file_is_meant_is_refused() -> None:
    path = plan().steps[0].tasks[0].files[0].path
    assert codes(plan(), HostFindings(probe(), {path: FileInfo(0, 0, "block")})) == [
        "target-is-device"
    ]


def test_device_is_allowed_when_the_profile_says_so() -> None:
    wanted = replace(plan(), allow_device=True)
    path = wanted.steps[0].tasks[0].files[0].path
    assert codes(wanted, HostFindings(probe(), {path: FileInfo(0, 0, "block")})) == []


def space(first: HostProbe, second: HostProbe) -> list[str]:
    return sorted(judge_space(plan(), {"h1": HostFindings(first), "h2": HostFindings(second)}))


def test_hosts_on_one_network_file_system_are_added_up() -> None:
    """Each host needs 128 MiB; 200 MiB are enough for one of them."""
    export = DirFacts(
        TARGET, True, True, False, True, "nfs4", "filer:/x", "/mnt", "rw", 2**40, 200 * 2**20
    )
    assert space(probe(room=export, boot_id="a"), probe(room=export, boot_id="b")) == ["h1", "h2"]


def test_disks_of_two_machines_are_not_added_up() -> None:
    disk = DirFacts(
        TARGET, True, True, False, True, "ext4", "/dev/sda", "/mnt", "rw", 2**40, 200 * 2**20
    )
    assert space(probe(room=disk, boot_id="a"), probe(room=disk, boot_id="b")) == []


def test_disk_of_one_machine_under_two_names_is_one_disk() -> None:
    assert file_system_of("h1", probe(), ROOM) == file_system_of("h2", probe(), ROOM)
    assert file_system_of("h1", probe(boot_id="a"), ROOM) != file_system_of(
        "h2", probe(boot_id="b"), ROOM
    )


@pytest.mark.parametrize("boot", ["unknown", ""])
def test_disks_of_hosts_whose_boot_nobody_knows_are_not_added_up(boot: str) -> None:
    disk = DirFacts(
        TARGET, True, True, False, True, "ext4", "/dev/sda", "/mnt", "rw", 2**40, 200 * 2**20
    )
    assert space(probe(room=disk, boot_id=boot), probe(room=disk, boot_id=boot)) == []


def test_files_that_are_there_whole_need_no_room() -> None:
    full = DirFacts(TARGET, True, True, False, True, "ext4", "/dev/sda", "/mnt", "rw", 2**40, 2**20)
    size = 32 * 2**20
    files = {spec.path: FileInfo(size, size) for spec in plan().steps[0].tasks[0].files}
    only_first = {"h1": HostFindings(probe(room=full), dict(files))}
    assert judge_space(plan(), only_first) == {}


def test_what_ended_runs_left_is_reported_but_not_the_ended_steps_of_one_that_continues() -> None:
    said: list[Clause] = []
    session = cast(Any, SimpleNamespace(run_id="own", say=lambda _, text: said.append(text)))
    dirs = {"own": (False,), "goes-on": (False, True), "is-over": (False, False)}
    tasks = [
        TaskDir(run, "h1", f"{n}.measure", alive, not alive, 60)
        for run in dirs
        for n, alive in enumerate(dirs[run])
    ]
    tell_leftovers(session, tasks)
    assert said == [clause("leftovers", runs=["is-over"])]


@pytest.mark.parametrize(
    ("fstype", "block", "size", "refused", "doubtful"),
    [
        ("ext4", 512, 3072, False, False),
        ("ext4", 512, 1000, True, False),
        ("xfs", 4096, 3072, True, False),
        ("xfs", 4096, 8192, False, False),
        ("nfs4", None, 1000, False, False),
        ("fuse.sshfs", None, 1000, False, False),
        ("lustre", None, 1000, False, True),
        ("lustre", None, 3072, False, False),
        ("", None, 1000, False, True),
    ],
)
def test_sizes_of_direct_io_are_judged_by_what_is_under_the_target(
    fstype: str, block: int | None, size: int, refused: bool, doubtful: bool
) -> None:
    room = msgspec.structs.replace(ROOM, fstype=fstype, logical_block_bytes=block)
    made = plan()
    for step in made.steps:
        for task in step.tasks:
            task.job_file = f"[j]\nioengine=psync\ndirect=1\ndirectory={TARGET}\nbs={size}\n"
    found = HostFindings(probe(room=room))
    assert ("block-size" in codes(made, found)) == refused
    assert bool(list(doubtful_blocks(made, "h1", found))) == doubtful
