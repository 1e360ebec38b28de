"""What other runs left on a host: a load that nobody watches is ended, a spool that nobody fetched
goes in the end.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.faults import forget_on_hosts, kill, marked
from tests.remote.conftest import UNDER_EACH, agent_under, new_run_id
from tests.remote.helpers import ended, running, sh, start, until
from tests.remote.test_agent_ends import LEASE_S, PROCESSES, STUBBORN, of_run, renewed
from tests.remote.test_agent_watchers import watchers
from tui.remote.agent import KEPT_DAYS, Agent
from tui.remote.answers import AgentAnswer, Gone, parse_expired

DAY_S = 86_400


@pytest.fixture(params=UNDER_EACH)
def other(request: pytest.FixtureRequest) -> Iterator[Agent]:
    """An agent of another run, which leaves what it has; all of it goes with the test."""
    made = agent_under(request.param)
    yield made
    PROCESSES.forget()
    for pid in of_run(made.run_id):
        kill(pid)
    forget_on_hosts(made.run_id)  # one of its shells may write yet


def last_changed(directory: Path, days: float) -> None:
    """Make everything in a directory this many days old."""
    when = time.time() - days * DAY_S
    for path in [*directory.rglob("*"), directory]:
        os.utime(path, (when, when), follow_symlinks=False)


async def spooled(agent: Agent, days: float) -> Path:
    """Leave the output of a load that was over this many days ago, as an engine that was killed
    does.
    """
    directory = Path(await start(agent, sh("echo measured"))).parent
    await ended(agent)
    await until(lambda: no_shell(agent), "the end of its shells")
    last_changed(directory, days)
    return directory


async def no_shell(agent: Agent) -> bool:
    return not of_run(agent.run_id)


async def expired_by(agent: Agent) -> tuple[list[str], list[str]]:
    """What another run's agent ends and removes of this run when it comes to the host.

    Other tests' runs come to this machine as well, and may be first.
    """
    found = await Agent(agent.transport, new_run_id()).expire()
    of = [
        [gone.run for gone in part if gone.run == agent.run_id]
        for part in (found.ended, found.removed)
    ]
    return of[0], of[1]


async def test_uncollected_spool_goes_after_its_days(other: Agent) -> None:
    directory = await spooled(other, KEPT_DAYS + 1)
    await expired_by(other)
    assert not directory.exists()


async def test_spool_may_be_fetched_until_then(other: Agent) -> None:
    directory = await spooled(other, KEPT_DAYS - 1)
    assert await expired_by(other) == ([], [])
    assert (directory / "t" / "out").read_text() == "measured\n"


async def test_spool_with_one_new_file_stays(other: Agent) -> None:
    directory = await spooled(other, KEPT_DAYS + 1)
    os.utime(directory / "t" / "out")
    assert await expired_by(other) == ([], [])
    assert directory.exists()


async def test_the_run_itself_keeps_its_spool(other: Agent) -> None:
    await spooled(other, KEPT_DAYS + 1)
    assert [gone.run for gone in (await other.expire()).removed if gone.run == other.run_id] == []


async def test_load_that_is_supervised_stays_however_old_it_looks(other: Agent) -> None:
    directory = Path(await start(other, STUBBORN)).parent
    await running(other, 1)
    last_changed(directory, KEPT_DAYS + 1)
    assert await expired_by(other) == ([], [])
    assert directory.exists()
    assert marked(other.run_id)


async def test_link_is_not_followed(other: Agent, tmp_path: Path) -> None:
    directory = await spooled(other, KEPT_DAYS + 1)
    shutil.move(directory, tmp_path / "precious")
    directory.symlink_to(tmp_path / "precious")
    last_changed(tmp_path / "precious", KEPT_DAYS + 1)
    assert await expired_by(other) == ([], [])
    assert (tmp_path / "precious" / "t" / "out").exists()


def test_what_was_removed_is_reported_with_its_run() -> None:
    lines = ["ended=3 run-1/h1/0.measure", "removed=12 run-2/h1", "removed=? run-3/h1"]
    expired = parse_expired(AgentAnswer(lines=lines))
    assert (expired.ended, expired.removed) == (
        [Gone("run-1", "h1", 3)],
        [Gone("run-2", "h1", 12 * 1024)],
    )


async def unwatched(agent: Agent) -> Path:
    """Leave a load that never ends, all of whose shells were killed at one moment.

    Return its directory.
    """
    async with renewed(agent.run_id):
        directory = Path(await start(agent, STUBBORN, lease_s=LEASE_S, grace_s=1))
        await running(agent, 1)
        pids = await watchers(directory)
    for pid in pids.values():  # stopped first: the last would act before it is killed
        os.kill(pid, signal.SIGSTOP)
    for pid in pids.values():
        os.kill(pid, signal.SIGKILL)
    return directory


async def test_load_that_lost_all_its_shells_is_ended_by_the_next_run(other: Agent) -> None:
    directory = await unwatched(other)
    last_changed(directory, 1)
    await expired_by(other)
    assert marked(other.run_id) == []
    assert directory.exists(), "what it has measured may be fetched yet"


async def test_load_that_lost_all_its_shells_is_left_to_its_engine_within_the_lease(
    other: Agent,
) -> None:
    await unwatched(other)
    assert await expired_by(other) == ([], [])
    assert marked(other.run_id)
