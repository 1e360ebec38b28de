"""One operator at a time on a host, and the host's clock against ours."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.remote.conftest import SHELLS, UNDER_EACH, new_run_id, put_away
from tests.remote.helpers import ended, sh, start, until
from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.local import LocalTransport
from tui.remote.transport import HostError

NewAgent = Callable[[], Agent]
ANOTHER_USER = 54321


@pytest_asyncio.fixture(params=UNDER_EACH)
async def new_agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[NewAgent]:
    """Makes agents of runs that share one directory of locks."""
    made: list[Agent] = []
    environ = {
        **os.environ,
        "BENCHTUI_LOCKS": str(tmp_path / "locks"),
        "BENCHTUI_SH": " ".join(SHELLS[request.param]),
    }

    def make() -> Agent:
        transport = LocalTransport(
            HostAddress(name="local", transport="local"), SHELLS[request.param], environ
        )
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


async def test_who_only_asks_is_told_who_holds_the_host_and_takes_nothing(
    new_agent: NewAgent, tmp_path: Path
) -> None:
    first, second = new_agent(), new_agent()
    assert await second.locked() is None
    assert await first.lock(60, "anna on jump1") is None
    holder = await second.locked()
    assert holder is not None and (holder.run, holder.owner) == (first.run_id, "anna on jump1")
    assert await first.locked() is None
    (lock,) = tmp_path.glob("locks*/lock.*")
    # as if its time had passed
    lock.write_text(lock.read_text().replace(lock.read_text().split()[0], "1", 1))
    assert await second.locked() is None
    assert lock.exists()


async def test_lock_that_is_not_renewed_is_free_again(new_agent: NewAgent) -> None:
    first, second = new_agent(), new_agent()
    assert await first.lock(2, "anna") is None

    async def free() -> bool:
        return await second.lock(60, "bert") is None

    await until(free, "a lock that has run out")


async def test_leases_of_the_stream_keep_the_lock(new_agent: NewAgent, tmp_path: Path) -> None:
    agent = new_agent()
    assert await agent.lock(30, "anna") is None
    (lock,) = tmp_path.glob("locks*/lock.*")
    # as if 30 s had passed
    lock.write_text(lock.read_text().replace(lock.read_text().split()[0], "1", 1))
    await start(agent, sh("sleep 60"))
    stream = await agent.stream("t", 0, 0)
    await stream.renew()

    async def pushed_on() -> bool:
        return int(lock.read_text().split()[0]) > 1

    await until(pushed_on, "a renewed lock")
    assert await new_agent().lock(30, "bert") is not None
    await stream.close()


async def test_force_takes_the_host_beside_the_other_run(
    new_agent: NewAgent, tmp_path: Path
) -> None:
    first, second = new_agent(), new_agent()
    await first.lock(60, "anna")
    assert await second.lock(60, "bert", force=True) is not None
    assert len(list(tmp_path.glob("locks*/lock.*"))) == 2


async def test_lock_never_follows_a_link_that_lies_in_wait(
    new_agent: NewAgent, tmp_path: Path
) -> None:
    agent = new_agent()
    precious, locks = tmp_path / "precious", tmp_path / f"locks-{os.getuid()}"
    precious.write_text("untouched")
    locks.mkdir()
    (locks / f"lock.{agent.run_id}.local").symlink_to(precious)
    assert await agent.lock(60, "anna") is None
    assert precious.read_text() == "untouched"


async def test_locks_that_are_a_link_are_refused(new_agent: NewAgent, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"locks-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HostError, match="is not a directory of this user"):
        await new_agent().lock(60, "anna")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what somebody else owns")
async def test_locks_that_another_user_made_first_are_refused(
    new_agent: NewAgent, tmp_path: Path
) -> None:
    locks = tmp_path / f"locks-{os.getuid()}"
    locks.mkdir(mode=0o777)
    os.chown(locks, ANOTHER_USER, ANOTHER_USER)
    with pytest.raises(HostError, match="another user created it"):
        await new_agent().lock(60, "anna")
    assert list(locks.iterdir()) == []


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def uptime_s() -> int:
    return int(float(Path("/proc/uptime").read_text().split()[0]))


@pytest.mark.parametrize(
    "place", [f"locks-{ANOTHER_USER}", "locks"], ids=["own-directory", "of-an-older-version"]
)
async def test_host_that_another_user_has_locked_is_noticed(
    new_agent: NewAgent, tmp_path: Path, place: str
) -> None:
    (tmp_path / place).mkdir()
    lock = tmp_path / place / "lock.0.20261121T101112Z-other.h1"
    lock.write_text(f"{uptime_s() + 100} {boot_id()} 60 other bert\x1b[2J on jump2\n")
    holder = await new_agent().lock(60, "anna")
    assert holder is not None
    assert (holder.run, holder.owner) == ("other", "bert [2J on jump2")
    assert 0 < holder.left_s <= 100
    assert lock.exists(), "it is not ours to remove"


def hostile(marker: Path) -> list[str]:
    """What a number in a file could be instead: code for bash, octal, beyond every shell's
    arithmetic, nothing.
    """
    return [
        f"a[$(echo>{marker})]",
        "x[`echo>a`]",
        "09",
        "-1",
        "99999999999999999999",
        "5;date",
        "''",
    ]


async def test_lock_of_another_user_is_data_and_no_code(
    new_agent: NewAgent, tmp_path: Path
) -> None:
    marker, others = tmp_path / "executed", tmp_path / f"locks-{ANOTHER_USER}"
    others.mkdir()
    for number, word in enumerate(hostile(marker)):
        for field, seconds in ((word, "60"), (str(uptime_s() + 100), word)):
            (others / f"lock.{number}.{field == word}").write_text(
                f"{field} {boot_id()} {seconds} other bert\n"
            )
    (others / "lock.endless").symlink_to("/dev/zero")
    (others / "lock.long").write_text("9" * 1_000_000)
    assert await new_agent().lock(60, "anna") is None
    assert not marker.exists()


@pytest.mark.parametrize("place", [0, 2], ids=["until", "seconds"])
async def test_renewed_lock_counts_with_nothing_but_digits(
    new_agent: NewAgent, tmp_path: Path, place: int
) -> None:
    """bash and mksh run a command that stands in an index inside $(( )): whoever can write a lock
    would run code.
    """
    marker = tmp_path / "executed"
    agent = new_agent()
    await start(agent, sh("sleep 60"))
    stream = await agent.stream("t", 0, 0)
    for word in hostile(marker):
        assert await agent.lock(60, "anna") is None
        (lock,) = tmp_path.glob("locks*/lock.*")
        words = lock.read_text().split()
        words[place] = word
        lock.write_text(" ".join(words) + "\n")
        lease = Path(f"/tmp/.benchtui-{os.getuid()}/{agent.run_id}/local/t/lease")
        before = lease.read_text()
        await stream.renew()

        async def renewed(lease: Path = lease, before: str = before) -> bool:
            return lease.read_text() != before

        await until(renewed, "a renewed lease")
    await stream.renew()
    await agent.stop("t", abort=True)
    await ended(agent)  # the listener has had its turn
    assert not marker.exists()
    await stream.close()


async def test_clock_of_this_machine_is_ours(agent: Agent) -> None:
    clock = await agent.clock()
    assert clock is not None
    assert abs(clock.offset_s) <= clock.uncertainty_s + 0.05
    assert 0 < clock.uncertainty_s < 1


async def test_clock_over_ssh(ssh_agent: Agent) -> None:
    clock = await ssh_agent.clock()
    assert clock is not None
    assert abs(clock.offset_s) <= clock.uncertainty_s + 0.05
