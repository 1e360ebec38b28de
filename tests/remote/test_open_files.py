"""The files that loads have open, with the flags they were opened with."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.remote.helpers import start, until
from tui.engine.executors.open_files import cksum
from tui.model.host_tables import OpenFile
from tui.remote.agent import Agent
from tui.remote.answers import AgentAnswer, LoadProcess, load_processes

LOAD = """\
import os, sys, time
made = os.O_RDWR | os.O_CREAT
held = [os.open(sys.argv[1], made | os.O_DIRECT), os.open(sys.argv[2], made)]
time.sleep(300)
"""


async def test_open_files_are_listed_with_their_flags(shell_agent: Agent, tmp_path: Path) -> None:
    direct, cached = tmp_path / "direct data.0", tmp_path / "cached"
    await start(shell_agent, [sys.executable, "-c", LOAD, str(direct), str(cached)])
    found: dict[str, bool | None] = {}
    ran: list[LoadProcess] = []

    async def seen() -> bool:
        ran[:] = await shell_agent.open_files("job")
        opened = [OpenFile(0, path, flags) for each in ran for flags, path in each.files]
        found.update({each.path: each.is_direct(platform.machine()) for each in opened})
        return {str(direct), str(cached)} <= found.keys()

    await until(seen, "the open files of the load")
    assert (found[str(direct)], found[str(cached)]) == (True, False)
    assert not [path for path in found if path.startswith(("/proc/", "/sys/"))]
    (load,) = [each for each in ran if str(direct) in [path for _, path in each.files]]
    assert load.words.endswith(f" {direct} {cached}")


def test_commands_are_told_with_checksum_and_preloaded_libraries() -> None:
    lines = [
        "open=7 0100002 /mnt/a b",
        "ran=7 123:45 - /usr/bin/fio --eta=never job.fio ",
        "ran=8 - /opt/x.so: fio",
    ]
    assert load_processes(AgentAnswer(lines=lines)) == [
        LoadProcess(7, ((0o100002, "/mnt/a b"),), "/usr/bin/fio --eta=never job.fio", "123:45"),
        LoadProcess(8, (), "fio", "", "/opt/x.so"),
    ]


def stamps(pid: int, changed: str, made: str) -> list[str]:
    day = "2026-11-29 15:00:0"
    return [
        f"stamp={day}{changed} +0000|{day}1.0 +0000|/proc/{pid}/cwd/job.fio",
        f"stamp={day}9.0 +0000|{day}{made} +0000|/proc/{pid}/cwd/reserve.done",
        f"ran={pid} 1:2 - fio job.fio",
    ]


def test_a_job_file_that_was_changed_behind_the_files_made_after_it_was_touched() -> None:
    lines = [*stamps(7, "1.5", "1.5"), *stamps(8, "1.6", "1.5"), "ran=9 1:2 - fio job.fio"]
    assert [each.touched for each in load_processes(AgentAnswer(lines=lines))] == [
        False,
        True,
        False,
    ]


def test_libraries_in_place_of_the_systems_are_told_once_by_process() -> None:
    lines = ["mapped=7 /opt/a b/libaio.so.1", "mapped=7 /opt/a b/libaio.so.1", "ran=7 - - fio"]
    (load,) = load_processes(AgentAnswer(lines=lines))
    assert load.replaced == ("/opt/a b/libaio.so.1",)


@pytest.mark.parametrize("own", [True, False])
async def test_a_load_that_is_another_program_than_the_one_checked_is_told(
    shell_agent: Agent, tmp_path: Path, own: bool
) -> None:
    data, checked = tmp_path / "data", tmp_path / "a tool"
    if own:
        checked.symlink_to(sys.executable)
    else:
        checked.write_text(f'#!/bin/sh\n"{sys.executable}" "$@"\n')
        checked.chmod(0o755)
    await start(shell_agent, [str(checked), "-c", LOAD, str(data), str(tmp_path / "other")])
    found: list[LoadProcess] = []

    async def seen() -> bool:
        every = await shell_agent.open_files("job", str(checked))
        found[:] = [each for each in every if str(data) in [path for _, path in each.files]]
        return bool(found)

    await until(seen, "the open files of the load")
    (load,) = found
    assert load.program == ("" if own else str(Path(sys.executable).resolve()))


async def test_a_library_copied_elsewhere_is_found_and_the_systems_are_not(
    shell_agent: Agent, tmp_path: Path
) -> None:
    """The C library's mathematics are mapped by a copy's path: what they do does not matter."""
    own = next(
        (path for path in map(Path, mapped_by_python()) if path.name.startswith("libm.so")), None
    )
    if own is None:
        pytest.skip("this Python has its mathematics elsewhere")
    copy, data = tmp_path / "libm.so.6", tmp_path / "data"
    copy.write_bytes(own.read_bytes())
    load = f"import ctypes\nctypes.CDLL({str(copy)!r})\n{LOAD}"
    await start(shell_agent, [sys.executable, "-c", load, str(data), str(tmp_path / "other")])
    found: list[LoadProcess] = []

    async def seen() -> bool:
        found[:] = [each for each in await shell_agent.open_files("job") if each.files]
        return any(path == str(data) for each in found for _, path in each.files)

    await until(seen, "the open files of the load")
    replaced = {path for each in found for path in each.replaced}
    assert str(copy) in replaced
    assert not [path for path in replaced if path.startswith(("/lib", "/usr/lib"))]


def mapped_by_python() -> list[str]:
    """Return the libraries that a Python with ctypes maps."""
    code = "import math, ctypes; print(open('/proc/self/maps').read())"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [line.split()[-1] for line in text.stdout.splitlines() if ".so" in line]


@pytest.mark.parametrize("content", [b"", b"[global]\nbs=4k\n", b"x" * 70_000])
def test_checksums_are_those_of_cksum(content: bytes) -> None:
    printed = subprocess.run(["cksum"], input=content, capture_output=True, check=True).stdout
    assert cksum(content) == ":".join(printed.decode().split()[:2])


async def test_without_a_load_nothing_is_open(shell_agent: Agent) -> None:
    assert await shell_agent.open_files("job") == []
