"""Distinguish a login shell that does not start from a silent host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tui.remote.agent
import tui.remote.ssh
from tests.lab.sshd import SshdLab
from tests.remote.conftest import new_run_id
from tui.remote.agent import Agent
from tui.remote.connections import Connections
from tui.remote.transport import HostError

WAITS = """\
#!/bin/sh
echo "waiting for the lock of the module system"
while [ -e {lock} ]; do sleep 0.1; done
exec /bin/sh
"""


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[tuple[SshdLab, Path]]:
    """A host whose login waits for a file to be gone; the file."""
    lock, shell = tmp_path / "lock", tmp_path / "shell"
    shell.write_text(WAITS.format(lock=lock))
    shell.chmod(0o755)
    with SshdLab(tmp_path / "lab", hosts=1, extra_config=(f"ForceCommand {shell}",)) as lab:
        yield lab, lock
    lock.unlink(missing_ok=True)


async def test_login_shell_that_waits_is_named(
    waiting: tuple[SshdLab, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, lock = waiting
    lock.touch()
    monkeypatch.setattr(tui.remote.ssh, "SHELL_S", 1.0)
    async with Connections(ssh_config=lab.ssh_config) as connections:
        agent = Agent(await connections.connect(lab.address("h1")), new_run_id())
        with pytest.raises(HostError, match="the login shell did not start within 1 s") as slow:
            await agent.probe()
        lock.unlink()
    assert slow.value.code == "slow-shell"
    assert "lock of the module system" in slow.value.message


async def test_login_shell_of_a_stream_that_waits_is_named(
    waiting: tuple[SshdLab, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, lock = waiting
    async with Connections(ssh_config=lab.ssh_config) as connections:
        agent = Agent(await connections.connect(lab.address("h1")), new_run_id())
        await agent.tasks()
        lock.touch()
        monkeypatch.setattr(tui.remote.agent, "STREAM_TIMEOUT_S", 1.0)
        with pytest.raises(HostError, match="the login shell did not start within 1 s"):
            await agent.stream("t", 0, 0)
        lock.unlink()
