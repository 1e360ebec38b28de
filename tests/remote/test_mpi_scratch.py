"""Shared memory of MPI programs: a directory of the run, one in it for each host, gone with the
run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.remote.conftest import UNDER_EACH, agent_under, put_away
from tui.model.address import HostAddress
from tui.remote import mpi
from tui.remote.agent import Agent
from tui.remote.local import LocalTransport


@pytest.mark.parametrize("shell", UNDER_EACH)
async def test_each_host_of_a_run_has_its_own_and_cleaning_takes_it(shell: str) -> None:
    agent = agent_under(shell)
    other = Agent(LocalTransport(HostAddress(name="other", transport="local")), agent.run_id)
    try:
        shared = Path(await mpi.make_scratch(agent))
        await mpi.make_scratch(other)
        assert shared.name == f"benchtui-{agent.run_id}" and shared.stat().st_mode & 0o77 == 0
        (shared / "local" / "vader_segment.h.0.1.0").touch()
        await agent.clean()
        assert [path.name for path in shared.iterdir()] == ["other"]
    finally:
        await put_away(agent)
        await put_away(other)
    assert not shared.exists()


async def test_a_link_that_somebody_put_there_is_not_used(agent: Agent, tmp_path: Path) -> None:
    link = Path(f"/dev/shm/benchtui-{agent.run_id}")
    link.symlink_to(tmp_path)
    try:
        assert await mpi.make_scratch(agent) == ""
        assert list(tmp_path.iterdir()) == []
        await agent.clean()
        assert link.is_symlink()
    finally:
        link.unlink()
