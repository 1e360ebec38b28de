"""The one srun that carries the channels of many nodes, on a real Slurm: what fails on one node
stays there.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from tests.e2e.command import environ_of, pids
from tests.lab.slurm import SlurmLab, missing
from tests.patience import PATIENCE_S
from tests.transports.slurm_runs import kill, sruns, words_of
from tui.engine.preflight.host_check import check_host
from tui.model.address import HostAddress
from tui.remote import way_slurm
from tui.remote.agent import Agent, Lease
from tui.remote.connections import Connections
from tui.remote.frames import WINDOW_BYTES
from tui.remote.transport import Channel, HostError
from tui.remote.way_command import PipedTransport
from tui.remote.way_slurm import TrunkTransport
from tui.text.problem_texts import problem_text

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.e2e]

NODES = ("h1", "h2", "h3", "h4")
SRUN_PROCESSES = 2  # it has a helper


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmLab]:
    with SlurmLab(tmp_path_factory.mktemp("slurm")) as lab:
        lab.run("salloc", "--no-shell", f"-N{len(NODES)}", "-t", "30")
        yield lab


class Nodes:
    """All nodes of the job, connected at the same time."""

    def __init__(self, lab: SlurmLab, connections: Connections) -> None:
        self.conf = lab.environ["SLURM_CONF"]
        self.connections = connections
        (job,) = lab.jobs()
        self.addresses = [HostAddress(name, transport="slurm", through=job) for name in NODES]
        self.transports: list[TrunkTransport] = []

    async def connect(self, *names: str) -> list[TrunkTransport]:
        """Connect nodes, all by default."""
        wanted = [each for each in self.addresses if each.name in (names or NODES)]
        found = await asyncio.gather(*map(self.connections.connect, wanted))
        assert all(isinstance(each, TrunkTransport) for each in found)
        return [each for each in found if isinstance(each, TrunkTransport)]

    def side(self, node: str, mode: str) -> list[int]:
        """Pids of the Python processes on a node: its `start` or `relay`."""
        mine = {f"SLURMD_NODENAME={node}".encode(), f"SLURM_CONF={self.conf}".encode()}
        return [
            pid for pid in pids() if mode.encode() in words_of(pid) and mine <= set(environ_of(pid))
        ]


@asynccontextmanager
async def connected(slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Nodes]:
    for name, value in slurm.environ.items():
        monkeypatch.setenv(name, value)
    async with Connections() as connections, asyncio.timeout(PATIENCE_S):
        nodes = Nodes(slurm, connections)
        nodes.transports = await nodes.connect()
        yield nodes


async def said(transport: TrunkTransport, command: str) -> str:
    """What a shell on the node prints."""
    return (await transport.run(f"echo BT-BEGIN\n{command}\n".encode(), 60)).stdout.decode()


async def first_of(channel: Channel) -> bytes:
    """The first bytes that a shell prints."""
    return await channel.read(64)


async def test_one_srun_carries_all_nodes(slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(slurm, monkeypatch) as nodes:
        shells = [await each.open(b"echo $SLURMD_NODENAME\n") for each in nodes.transports * 2]
        assert [(await first_of(each)).decode().strip() for each in shells] == [*NODES, *NODES]
        assert len(sruns(nodes.conf)) == SRUN_PROCESSES
        await asyncio.gather(*(each.close() for each in shells))


async def test_a_host_that_prints_endlessly_fills_no_memory_and_stops_no_other(
    slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(slurm, monkeypatch) as nodes:
        flood = await nodes.transports[0].open(b"exec yes\n")
        for other in nodes.transports[1:]:
            assert "ready" in await said(other, "echo ready")
        await flood.read(1)
        unread = sum(flood._unread.values())
        assert 0 < unread <= WINDOW_BYTES
        flood.drop()
        assert "ready" in await said(nodes.transports[0], "echo ready")


async def test_a_shell_that_does_not_read_stops_its_writer_alone(
    slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(slurm, monkeypatch) as nodes:
        deaf = await nodes.transports[0].open(b"echo $$; exec sleep 600\n")
        pid = int(await first_of(deaf))
        writing = asyncio.create_task(deaf.write(os.urandom(8 * WINDOW_BYTES)))
        for transport in nodes.transports:
            assert "ready" in await said(transport, "echo ready")
        assert not writing.done()
        os.kill(pid, signal.SIGKILL)
        await writing


async def test_a_load_is_in_a_step_that_outlives_the_relay(
    slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With proctrack/cgroup, Slurm kills all processes of the relay's step with it."""
    async with connected(slurm, monkeypatch) as nodes:
        (relay,) = nodes.side("h1", "relay")
        (number,) = [
            word.partition(b"=")[2].decode()
            for word in environ_of(relay)
            if word.startswith(b"SLURM_STEP_ID=")
        ]
        agent = Agent(nodes.transports[0], "trunk")
        waits = "echo $SLURM_STEP_ID; while [ ! -e go ]; do sleep 0.1; done; echo over"
        await agent.start("t", ["/bin/sh", "-c", waits], {}, lease=Lease(60, 5), armed=False)
        stream = await agent.stream("t", 0, 0)
        piece = await stream.next()
        assert piece is not None and piece[1].decode().strip() != number
        slurm.run("scancel", f"{nodes.addresses[0].through}.{number}")
        with pytest.raises(HostError):
            await stream.next()
        again = Agent((await nodes.connect("h1"))[0], "trunk")
        status = await again.status("t")
        assert not status.done
        await again.stop("t", abort=True)
        while not (await again.status("t")).done:
            await asyncio.sleep(0.05)
        await again.clean()


async def test_a_killed_starter_costs_its_node_one_connection(
    slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(slurm, monkeypatch) as nodes:
        shell = await nodes.transports[0].open(b"echo there\n")
        await first_of(shell)
        kill(nodes.side("h1", "start"))
        with pytest.raises(HostError) as caught:
            while await shell.read(64):
                pass
        assert (caught.value.code, caught.value.host) == ("lost", "h1")
        assert "ready" in await said(nodes.transports[1], "echo ready")
        assert "ready" in await said((await nodes.connect("h1"))[0], "echo ready")


async def test_all_nodes_come_back_after_srun_was_killed(
    slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(slurm, monkeypatch) as nodes:
        shells = [await each.open(b"echo there\n") for each in nodes.transports]
        await asyncio.gather(*map(first_of, shells))
        kill(sruns(nodes.conf))
        for shell in shells:
            with pytest.raises(HostError):
                while await shell.read(64):
                    pass
        for transport in await nodes.connect():
            assert "ready" in await said(transport, "echo ready")
        assert len(sruns(nodes.conf)) == SRUN_PROCESSES


@pytest.mark.slow
async def test_a_stopped_relay_is_given_up_and_the_others_stay(
    slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.remote.slurm_trunk.PING_S", 0.5)
    monkeypatch.setattr("tui.remote.slurm_trunk.SILENT_PINGS", 12)
    async with connected(slurm, monkeypatch) as nodes:
        (relay,) = nodes.side("h1", "relay")
        shell = await nodes.transports[0].open(b"")
        os.kill(relay, signal.SIGSTOP)
        with pytest.raises(HostError) as caught:
            await shell.read(64)
        assert caught.value.code == "lost"
        assert "ready" in await said(nodes.transports[1], "echo ready")
        assert "ready" in await said((await nodes.connect("h1"))[0], "echo ready")
        os.kill(relay, signal.SIGCONT)


async def test_a_node_without_python_gets_an_srun_for_each_shell(
    slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(way_slurm, "BOOT", way_slurm.BOOT.replace(way_slurm.PYTHONS, "no-such"))
    for name, value in slurm.environ.items():
        monkeypatch.setenv(name, value)
    (job,) = slurm.jobs()
    warnings: list[tuple[str | None, str]] = []
    async with Connections() as connections, asyncio.timeout(PATIENCE_S):
        connections.warn = lambda host, told: warnings.append((host, problem_text(told)))
        transport = await connections.connect(HostAddress("h1", transport="slurm", through=job))
        assert isinstance(transport, PipedTransport)
        await Agent(transport, "trunk").tasks()
        await transport.close()
        check = await check_host(transport.address, None, connections)
    assert [host for host, _ in warnings] == ["h1", "h1"]
    assert check.notes and check.notes[-1] == warnings[0][1] and "python3" in warnings[0][1]
