"""One operator at a time on a host, and the host's clock against ours."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.remote.conftest import PRESENT, SHELLS, new_run_id, put_away
from tests.remote.helpers import sh, start, until
from tui.model.plan import HostAddress
from tui.remote.agent import Agent
from tui.remote.local import LocalTransport
from tui.remote.transport import HostError

NewAgent = Callable[[], Agent]


@pytest_asyncio.fixture(params=PRESENT)
async def new_agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[NewAgent]:
    """Makes agents of runs that share one directory of locks."""
    made: list[Agent] = []
    environ = {**os.environ, "BENCHTUI_LOCKS": str(tmp_path / "locks"), "BENCHTUI_SH": " ".join(SHELLS[request.param])}

    def make() -> Agent:
        transport = LocalTransport(HostAddress(name="local", transport="local"), SHELLS[request.param], environ)
        made.append(Agent(transport, new_run_id()))
        return made[-1]

    yield make
    for agent in made:
        await put_away(agent)


async def test_second_run_is_told_who_holds_the_host(new_agent: NewAgent) -> None:
    first, second = new_agent(), new_agent()
    assert await first.lock(60, "anna on jump1") is None
    holder = await second.lock(60, "bert on jump2")
    assert holder is not None
    assert (holder.run, holder.owner) == (first.run_id, "anna on jump1")
    assert 55 <= holder.left_s <= 60
    await first.unlock()
    assert await second.lock(60, "bert on jump2") is None


async def test_lock_that_is_not_renewed_is_free_again(new_agent: NewAgent) -> None:
    first, second = new_agent(), new_agent()
    assert await first.lock(2, "anna") is None

    async def free() -> bool:
        return await second.lock(60, "bert") is None

    await until(free, "a lock that has run out")


async def test_leases_of_the_stream_keep_the_lock(new_agent: NewAgent, tmp_path: Path) -> None:
    agent = new_agent()
    assert await agent.lock(30, "anna") is None
    (lock,) = (tmp_path / "locks").glob("lock.*")
    lock.write_text(lock.read_text().replace(lock.read_text().split()[0], "1", 1))  # as if 30 s had passed
    await start(agent, sh("sleep 60"))
    stream = await agent.stream("t", 0, 0)
    await stream.renew()

    async def pushed_on() -> bool:
        return int(lock.read_text().split()[0]) > 1

    await until(pushed_on, "a renewed lock")
    assert await new_agent().lock(30, "bert") is not None
    await stream.close()


async def test_force_takes_the_host_beside_the_other_run(new_agent: NewAgent, tmp_path: Path) -> None:
    first, second = new_agent(), new_agent()
    await first.lock(60, "anna")
    assert await second.lock(60, "bert", force=True) is not None
    assert len(list((tmp_path / "locks").glob("lock.*"))) == 2


async def test_lock_never_follows_a_link_that_lies_in_wait(new_agent: NewAgent, tmp_path: Path) -> None:
    agent = new_agent()
    precious, locks = tmp_path / "precious", tmp_path / "locks"
    precious.write_text("untouched")
    locks.mkdir(mode=0o1777)
    (locks / f"lock.{os.getuid()}.{agent.run_id}.local").symlink_to(precious)
    assert await agent.lock(60, "anna") is None
    assert precious.read_text() == "untouched"


async def test_locks_that_are_a_link_are_refused(new_agent: NewAgent, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "locks").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HostError, match="is not a directory"):
        await new_agent().lock(60, "anna")


async def test_clock_of_this_machine_is_ours(agent: Agent) -> None:
    clock = await agent.clock()
    assert clock is not None
    assert abs(clock.offset_s) <= clock.uncertainty_s + 0.05
    assert 0 < clock.uncertainty_s < 1


async def test_clock_over_ssh(ssh_agent: Agent) -> None:
    clock = await ssh_agent.clock()
    assert clock is not None
    assert abs(clock.offset_s) <= clock.uncertainty_s + 0.05
