"""Nothing of a task waits for ever: its directory goes, its shells are killed or stopped, at any
point of its life.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.lab.faults import kill
from tests.lab.sshd import parent_of
from tests.remote.conftest import AS_SH, agent_under
from tests.remote.helpers import running, sh, start, until
from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.local import LocalTransport
from tui.remote.transport import HostError

LEASE_S = 6
FRESH_S = 0.3
STUBBORN = sh("trap '' INT TERM; while :; do sleep 0.2; done")
SHELLS = ("supervisor", "runner", "guard")


class Processes:
    """All processes with their marks and command lines.

    Read again when what is known is older than a moment.
    """

    def __init__(self) -> None:
        self.read_at = 0.0
        self.said: dict[int, bytes] = {}

    def of(self, run_id: str) -> list[int]:
        if time.monotonic() - self.read_at > FRESH_S:
            self.said = dict(self.read())
            self.read_at = time.monotonic()
        return [
            pid for pid, said in self.said.items() if run_id.encode() in said and pid != os.getpid()
        ]

    def forget(self) -> None:
        """Read anew at the next look: what is known may be older than a task that has just
        begun.
        """
        self.read_at = 0.0

    def read(self) -> Iterator[tuple[int, bytes]]:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    yield (
                        int(entry.name),
                        (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes(),
                    )


PROCESSES = Processes()


def of_run(run_id: str) -> list[int]:
    """Pids of all that a run has here: loads and shells by their marks, shells by their command
    line as well.
    """
    return PROCESSES.of(run_id)


@asynccontextmanager
async def renewed(run_id: str) -> AsyncIterator[None]:
    """Renew the lease of a run's task, however long it takes to bring it to a point of its life."""
    lease = Path(f"/tmp/.benchtui-{os.getuid()}/{run_id}/local/t/lease")

    async def renew() -> None:
        for turn in itertools.count(1):
            with suppress(OSError):
                if lease.exists():
                    lease.write_text(f"{turn}\n")
            await asyncio.sleep(LEASE_S / 12)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing


async def armed(agent: Agent) -> Path:
    return Path(
        await start(agent, sh("echo ran >ran; sleep 300"), armed=True, lease_s=LEASE_S, grace_s=1)
    )


async def measuring(agent: Agent) -> Path:
    directory = Path(await start(agent, STUBBORN, lease_s=LEASE_S, grace_s=1))
    await running(agent, 1)
    return directory


async def stopping(agent: Agent) -> Path:
    directory = await measuring(agent)
    await agent.stop("t")
    return directory


async def disarmed(agent: Agent) -> Path:
    """The supervisor is about to say that nothing will come."""
    directory = await armed(agent)
    (directory / "stop").write_text("stop\n")
    os.kill(shells_of(directory)[0], signal.SIGUSR1)
    return directory


async def over(agent: Agent) -> Path:
    directory = Path(await start(agent, sh("true")))

    async def done() -> bool:
        return (directory / "done").exists()

    await until(done, "the end of a task")
    return directory


Point = Callable[[Agent], Awaitable[Path]]
POINTS: tuple[Point, ...] = (armed, disarmed, measuring, stopping, over)


def shells_of(directory: Path) -> list[int]:
    """The pids of a task's supervisor, runner and guard, in this order: the supervisor starts the
    runner first.
    """
    supervisor = int((directory / "pid").read_text().split()[0])
    pids = [pid for pid in of_run(directory.parent.parent.name) if parent_of(pid) == supervisor]
    return [supervisor, *(pid for pid in sorted(pids) if b"bt_supervise" in PROCESSES.said[pid])]


async def shell_of(directory: Path, which: str) -> int:
    """The pid of one of them; a child that is about to become `sleep` is none."""
    before: list[int] = []
    looked_at = 0.0

    async def settled() -> bool:
        nonlocal looked_at
        seen, before[:] = before[:], shells_of(directory)
        anew, looked_at = PROCESSES.read_at != looked_at, PROCESSES.read_at
        return anew and seen == before and len(before) == len(SHELLS)

    await until(settled, "supervisor, runner and guard")
    return before[SHELLS.index(which)]


async def ends(shell: str, point: Point, fault: Callable[[Path], Awaitable[str]]) -> str | None:
    """Bring a task to a point of its life, put a fault into its way.

    Return what it was when something stays.
    """
    agent = agent_under(shell)
    async with renewed(agent.run_id):
        directory = await point(agent)
        what = await fault(directory)
    try:
        await until(lambda: gone(agent.run_id), "the end of every process")
    except AssertionError:
        for pid in (left := of_run(agent.run_id)):
            kill(pid)
        return f"{shell}, {point.__name__}, {what}: {len(left)} processes stay"
    finally:
        shutil.rmtree(f"/tmp/.benchtui-{os.getuid()}/{agent.run_id}", ignore_errors=True)
    return None


async def gone(run_id: str) -> bool:
    return not of_run(run_id)


async def remove(directory: Path) -> str:
    while directory.parent.parent.exists():  # a shell may write into it while it goes
        shutil.rmtree(directory.parent.parent, ignore_errors=True)
    return "removed"


def signalled(which: str, number: signal.Signals) -> Callable[[Path], Awaitable[str]]:
    async def fault(directory: Path) -> str:
        os.kill(await shell_of(directory, which), number)
        return which

    return fault


async def test_task_ends_when_its_directory_is_removed_at_any_point() -> None:
    cases = (ends(shell, point, remove) for shell in AS_SH for point in POINTS)
    assert [left for left in await asyncio.gather(*cases) if left] == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
async def test_task_ends_when_one_of_its_shells_is(number: signal.Signals) -> None:
    points = (armed, measuring)
    faults = [signalled(which, number) for which in SHELLS]
    cases = (ends(shell, point, fault) for shell in AS_SH for point in points for fault in faults)
    assert [left for left in await asyncio.gather(*cases) if left] == []


async def test_load_that_outlives_supervisor_and_guard_is_found_by_a_sweep(
    shell_agent: Agent,
) -> None:
    async with renewed(shell_agent.run_id):
        directory = await measuring(shell_agent)
        shells = [await shell_of(directory, which) for which in ("guard", "supervisor")]
    for pid in shells:
        os.kill(pid, signal.SIGKILL)
    await shell_agent.sweep(kill=True)
    await shell_agent.clean()
    await until(lambda: gone(shell_agent.run_id), "the end of every process")


async def test_shells_that_are_all_stopped_and_without_a_directory_are_reported_and_ended(
    shell_agent: Agent,
) -> None:
    """What a task waits for may be gone while nobody of it can notice: the sweeps know the shells
    by their mark.
    """
    async with renewed(shell_agent.run_id):
        directory = await armed(shell_agent)
        shells = [await shell_of(directory, which) for which in SHELLS]
        for pid in shells:
            os.kill(pid, signal.SIGSTOP)
    await remove(directory)
    other = Agent(LocalTransport(HostAddress(name="local", transport="local")), "test-other")
    listed = [
        process for process in (await other.leftovers())[0] if process.run == shell_agent.run_id
    ]
    assert set(shells) <= {process.pid for process in listed}
    assert {(process.host, process.task) for process in listed} == {("local", "t")}
    assert set(shells) <= {process.pid for process in await shell_agent.sweep(kill=False)}
    await shell_agent.sweep(kill=True)
    await until(lambda: gone(shell_agent.run_id), "the end of every process")


async def test_shells_of_a_task_that_is_well_are_no_leftovers(agent: Agent) -> None:
    async with renewed(agent.run_id):  # a look at a busy machine may take longer than the lease
        await armed(agent)
        assert [
            process for process in (await agent.leftovers())[0] if process.run == agent.run_id
        ] == []
        with pytest.raises(HostError, match="still running"):
            await agent.clean()
