"""The files that loads have open, with the flags they were opened with."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from tests.remote.helpers import start, until
from tui.model.host_tables import OpenFile
from tui.remote.agent import Agent

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

    async def seen() -> bool:
        opened = [OpenFile(0, path, flags) for flags, path in await shell_agent.open_files()]
        found.update({each.path: each.is_direct(platform.machine()) for each in opened})
        return {str(direct), str(cached)} <= found.keys()

    await until(seen, "the open files of the load")
    assert (found[str(direct)], found[str(cached)]) == (True, False)
    assert not [path for path in found if path.startswith(("/proc/", "/sys/"))]


async def test_without_a_load_nothing_is_open(shell_agent: Agent) -> None:
    assert await shell_agent.open_files() == []
