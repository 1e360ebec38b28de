"""The limit of open files that many hosts need."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

RAISED = """
import resource
from tui.remote.fan_out import allow_open_files
allow_open_files(1024)
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def limits_after(soft: int, hard: int) -> list[int]:
    """Return the limits of a process that began with these, once it expects 1024 hosts."""

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
