"""Whoever of those that watch over a load is killed or stopped: another one ends it, and nothing
marked stays.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.lab.faults import kill, marked, shells
from tests.lab.sshd import parent_of
from tests.remote.conftest import AS_SH, agent_under
from tests.remote.helpers import running, sh, start, until
from tests.remote.test_agent_ends import LEASE_S, PROCESSES, STUBBORN, gone, of_run, renewed
from tui.remote.agent import Agent, Lease
from tui.remote.telemetry import telemetry_command, telemetry_files


def first(path: Path) -> int:
    return int(path.read_text().split()[0])


async def watchers(directory: Path) -> dict[str, int]:
    """The pids of supervisor, guard and runner, and of the keeper that the runner has."""

    async def there() -> bool:
        return (
            (directory / "guard").exists()
            and (directory / "load").exists()
            and keeper() is not None
        )

    def keeper() -> int | None:
        run, load = directory.parent.parent.name, first(directory / "load")
        runner = parent_of(load)
        return next(
            (pid for pid in shells(run) if parent_of(pid) == runner != first(directory / "pid")),
            None,
        )

    await until(there, "all who watch over a load")
    found = {
        "supervisor": first(directory / "pid"),
        "guard": first(directory / "guard"),
        "keeper": keeper(),
    }
    return {**found, "runner": parent_of(first(directory / "load"))}  # type: ignore[dict-item]


async def left_after(shell: str, who: tuple[str, ...], number: signal.Signals) -> list[str]:
    """Signal some of those who watch over a load at one moment; return what never ends."""
    agent = agent_under(shell)
    async with renewed(agent.run_id):
        directory = Path(await start(agent, STUBBORN, lease_s=LEASE_S, grace_s=1))
        await running(agent, 1)
        pids = await watchers(directory)
    for name in who:
        os.kill(pids[name], number)
    PROCESSES.forget()
    try:
        await until(lambda: gone(agent.run_id), "the end of every process")
    except AssertionError:
        return [f"{shell}, {who}: {pid}" for pid in of_run(agent.run_id)]
    finally:
        for pid in of_run(agent.run_id):
            kill(pid)
        shutil.rmtree(f"/tmp/.benchtui-{os.getuid()}/{agent.run_id}", ignore_errors=True)
    return []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
async def test_load_ends_without_supervisor_and_guard(number: signal.Signals) -> None:
    cases = (left_after(shell, ("supervisor", "guard"), number) for shell in AS_SH)
    assert [left for found in await asyncio.gather(*cases) for left in found] == []


async def test_load_ends_without_any_two_of_those_who_watch_it() -> None:
    pairs = [
        ("supervisor", "keeper"),
        ("guard", "keeper"),
        ("supervisor", "runner"),
        ("guard", "runner"),
    ]
    cases = (
        left_after("dash", pair, signal.SIGKILL)
        for pair in (*pairs, ("supervisor", "guard", "runner"))
    )
    assert [left for found in await asyncio.gather(*cases) for left in found] == []


async def test_telemetry_ends_itself_when_all_who_watch_it_are_killed(agent: Agent) -> None:
    command, files = telemetry_command(["t"], [], []), telemetry_files({})
    async with renewed(agent.run_id):
        directory = Path(
            await agent.start("t", command, files, lease=Lease(LEASE_S, 1), armed=False)
        )
        await until(lambda: printed(directory), "a line of telemetry")
        pids = await watchers(directory)
    for pid in pids.values():
        os.kill(pid, signal.SIGKILL)
    PROCESSES.forget()
    await until(lambda: gone(agent.run_id), "the end of every process")


async def printed(directory: Path) -> bool:
    return (directory / "out").stat().st_size > 0


async def test_keeper_goes_with_a_load_that_ends_well(agent: Agent) -> None:
    await start(agent, sh("sleep 0.5"))

    async def over() -> bool:
        return (
            (await agent.status("t")).done and not shells(agent.run_id) and not marked(agent.run_id)
        )

    await until(over, "the end of all shells")
