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
        LoadProcess(((0o100002, "/mnt/a b"),), "/usr/bin/fio --eta=never job.fio", "123:45"),
        LoadProcess((), "fio", "", "/opt/x.so"),
    ]


@pytest.mark.parametrize("content", [b"", b"[global]\nbs=4k\n", b"x" * 70_000])
def test_checksums_are_those_of_cksum(content: bytes) -> None:
    printed = subprocess.run(["cksum"], input=content, capture_output=True, check=True).stdout
    assert cksum(content) == ":".join(printed.decode().split()[:2])


async def test_without_a_load_nothing_is_open(shell_agent: Agent) -> None:
    assert await shell_agent.open_files("job") == []
