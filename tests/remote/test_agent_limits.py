"""Commands that the agent runs while it looks at a host: one that hangs is ended, and carries the
run's mark.
"""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from pathlib import Path

import pytest

from tests.lab.faults import marked
from tests.remote.conftest import SHELLS, UNDER_EACH
from tests.remote.helpers import until
from tui.remote.agent import Agent
from tui.remote.scripts import functions

DETACHED = "setsid sh -c 'while :; do sleep 0.2; done' & while :; do sleep 0.2; done"


def said_by(shell: str, text: str, command: str) -> bytes:
    """What a text prints in one shell behind the agent's functions; the command is its `$0`."""
    argv = [*SHELLS[shell], "-c", f"{functions('base')}\n{text}", command]
    return subprocess.run(argv, capture_output=True, check=True).stdout


@pytest.mark.parametrize("shell", UNDER_EACH)
@pytest.mark.parametrize(
    "command", ["exec sleep 600", DETACHED], ids=["alone", "with-a-session-of-its-own"]
)
def test_command_that_hangs_is_ended_with_all_that_it_started(shell: str, command: str) -> None:
    run = f"look-{uuid.uuid4().hex}"
    text = f'BT_TOKEN={run}; BT_CALLER={run}/h; said=$(bt_limited 1 sh -c "$0" 2>&1); echo $?'
    done = subprocess.run(
        [*SHELLS[shell], "-c", f"{functions('base')}\n{text}", command],
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"124\n"
    assert marked(run) == []


@pytest.mark.parametrize("shell", UNDER_EACH)
@pytest.mark.parametrize(
    ("command", "code"), [("echo said", b"said 0\n"), ("echo said; exit 7", b"said 7\n")]
)
def test_command_that_ends_is_left_alone(shell: str, command: str, code: bytes) -> None:
    text = 'BT_TOKEN=x; BT_CALLER=r/h; said=$(bt_limited 60 sh -c "$0"); echo "$said $?"'
    done = subprocess.run(
        [*SHELLS[shell], "-c", f"{functions('base')}\n{text}", command],
        capture_output=True,
        check=True,
    )
    assert done.stdout == code


async def test_probe_that_hangs_is_found_and_ended_by_the_sweep_of_its_run(
    shell_agent: Agent, tmp_path: Path
) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\nexec sleep 600\n")
    tool.chmod(0o755)
    probing = asyncio.create_task(shell_agent.probe(commands={str(tool): ("--version",)}))

    async def seen() -> bool:
        return "look" in {
            process.task.partition("-")[0] for process in await shell_agent.sweep(kill=False)
        }

    await until(seen, "the command that hangs")
    await shell_agent.sweep(kill=True)
    assert (await probing).tools[str(tool)].version is None
    assert marked(shell_agent.run_id) == []


async def test_look_that_continues_is_no_leftover(shell_agent: Agent, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\nexec sleep 600\n")
    tool.chmod(0o755)
    probing = asyncio.create_task(shell_agent.probe(commands={str(tool): ("--version",)}))

    async def seen() -> bool:
        return bool(marked(shell_agent.run_id))

    await until(seen, "the command that hangs")
    processes, _ = await shell_agent.leftovers()
    assert [each for each in processes if each.run == shell_agent.run_id] == []
    await shell_agent.sweep(kill=True)
    await probing
