"""The limit of open files that many hosts need."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

RAISED = """
import asyncio, resource
from tui.model.address import HostAddress
from tui.remote.connections import Connections

async def connect() -> None:
    async with Connections() as connections:
        for number in range(1024):
            await connections.connect(HostAddress(f"h{number}", transport="local"))

asyncio.run(connect())
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def limits_after(soft: int, hard: int) -> list[int]:
    """Return the limits of a process that began with these, once it connected to 1024 hosts."""

    def begin() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    done = subprocess.run(
        [sys.executable, "-c", RAISED], preexec_fn=begin, capture_output=True, text=True, check=True
    )
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [(1024, 8192, 4352), (256, 1024, 1024), (8000, 8192, 8000)],
    ids=["to what is needed", "no higher than the hard limit", "never lower"],
)
def test_limit_of_open_files_is_raised_for_many_hosts(soft: int, hard: int, raised: int) -> None:
    assert limits_after(soft, hard) == [raised, hard]
