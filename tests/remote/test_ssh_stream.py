"""Streaming a load's output over real SSH: byte for byte, whatever happens to the connection."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.lab.faults import shells
from tests.lab.sshd import SshdLab
from tests.remote.conftest import new_run_id, put_away
from tests.remote.helpers import FIO, collect, ended, fio_job, running, sh, start, until
from tests.remote.proxy import Proxy, proxy_to
from tui.model.address import HostAddress
from tui.remote.agent import Agent, AgentStream
from tui.remote.connections import Connections, Timeouts
from tui.remote.transport import HostError

# 2.5 MB in pieces: every byte value, no newline at the end, something on stderr in between
WRITER = sh(
    "i=0; while [ $i -lt 40 ]; do dd if=blob bs=64k count=1 skip=$i 2>/dev/null; echo line $i >&2; "
    "sleep 0.05; i=$((i+1)); done; printf end"
)


@pytest_asyncio.fixture
async def proxy(lab: SshdLab) -> AsyncIterator[Proxy]:
    async with proxy_to(lab.host("h1").port) as made:
        yield made


@pytest_asyncio.fixture
async def proxied(lab: SshdLab, proxy: Proxy, tmp_path: Path) -> AsyncIterator[Connections]:
    """Connections to h1 through the proxy, that notice a dead peer in two seconds."""
    known = tmp_path / "known"
    known.write_text(f"h1 {lab.host('h1').public_key}\n")
    config = tmp_path / "config"
    text = lab.ssh_config.read_text().replace(
        f"Port {lab.host('h1').port}", f"Port {proxy.port}\n  HostKeyAlias h1"
    )
    config.write_text(text.replace(str(lab.known_hosts), str(known)))
    async with Connections(
        ssh_config=config, timeouts=Timeouts(keepalive_s=0.5, keepalive_count=3)
    ) as connections:
        yield connections


@pytest_asyncio.fixture
async def load(
    lab: SshdLab, connections: Connections, tmp_path: Path
) -> AsyncIterator[tuple[Agent, bytes]]:
    """A run on h1 (over a connection that stays up) that prints a known blob, and that blob."""
    agent = Agent(await connections.connect(lab.address("h1")), new_run_id())
    blob = random.Random(7).randbytes(40 * 65536)
    (tmp_path / "blob").write_bytes(blob)
    await start(agent, sh(f"cd {tmp_path}; {WRITER[2]}"))
    yield agent, blob + b"end"
    await put_away(agent)


STDERR = b"".join(b"line %d\n" % number for number in range(40))


async def through(connections: Connections, run_id: str) -> Agent:
    return Agent(await connections.connect(HostAddress(name="h1")), run_id)


async def take(stream: AgentStream, size: int, out: bytearray, err: bytearray) -> None:
    """Read from a stream until `out` has at least `size` bytes."""
    while len(out) < size and (piece := await stream.next()) is not None:
        (out if piece[0] == "out" else err).extend(piece[1])


async def test_output_arrives_byte_for_byte(load: tuple[Agent, bytes]) -> None:
    agent, blob = load
    stream = await agent.stream("t", 0, 0)
    out, err = await collect(stream)
    assert hashlib.sha256(out).hexdigest() == hashlib.sha256(blob).hexdigest()
    assert err == STDERR
    assert stream.complete
    assert (stream.out_offset, stream.err_offset) == (len(blob), len(STDERR))


@pytest.mark.parametrize("offset", [0, 1, 65535, 65536, 65537, 40 * 65536 + 2, 40 * 65536 + 3])
async def test_stream_begins_at_any_offset(load: tuple[Agent, bytes], offset: int) -> None:
    agent, blob = load
    await ended(agent)
    out, err = await collect(await agent.stream("t", offset, 7))
    assert out == blob[offset:]
    assert err == STDERR[7:]


@pytest.mark.parametrize("fault", ["reset", "hang_up", "stall"])
async def test_nothing_is_lost_or_doubled_when_the_connection_breaks(
    load: tuple[Agent, bytes], proxied: Connections, proxy: Proxy, fault: str
) -> None:
    agent, blob = load
    out, err = bytearray(), bytearray()
    for cut_at in (100_000, 900_000, 2_000_000):
        stream = await (await through(proxied, agent.run_id)).stream("t", len(out), len(err))
        await take(stream, cut_at, out, err)
        if fault == "stall":
            proxy.stalled = True
        else:
            getattr(proxy, fault)()
        with pytest.raises(HostError) as caught:
            await take(stream, 1 << 40, out, err)
        assert caught.value.code == "lost"
        assert not stream.complete
        proxy.stalled = False
    stream = await (await through(proxied, agent.run_id)).stream("t", len(out), len(err))
    await take(stream, 1 << 40, out, err)
    assert stream.complete
    assert hashlib.sha256(out).hexdigest() == hashlib.sha256(blob).hexdigest()
    assert bytes(err) == STDERR


async def test_newer_stream_ends_the_older_one(load: tuple[Agent, bytes], lab: SshdLab) -> None:
    agent, blob = load
    first = await agent.stream("t", 0, 0)
    async with Connections(ssh_config=lab.ssh_config) as other:
        second = await (await through(other, agent.run_id)).stream("t", 0, 0)
        old = await collect(first)
        assert not first.complete
        assert blob.startswith(old[0])
        assert (await collect(second))[0] == blob


async def test_stream_with_a_clock_that_is_behind_takes_over(
    load: tuple[Agent, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, blob = load
    first = await agent.stream("t", 0, 0)
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000_000)
    assert (await collect(await agent.stream("t", 0, 0)))[0] == blob
    await first.close()


async def test_closing_the_stream_leaves_the_load_alone(load: tuple[Agent, bytes]) -> None:
    agent, blob = load
    stream = await agent.stream("t", 0, 0)
    await stream.close()
    status = await ended(agent)
    assert (status.exit_code, status.reason, status.out_bytes) == (0, "exit", len(blob))


async def test_stream_of_a_task_that_is_not_there_is_refused(ssh_agent: Agent) -> None:
    with pytest.raises(HostError, match="no task none of run"):
        await ssh_agent.stream("none", 0, 0)


async def test_lost_connection_is_noticed_while_a_call_waits(
    proxied: Connections, proxy: Proxy
) -> None:
    agent = await through(proxied, new_run_id())
    proxy.stalled = True
    with pytest.raises(HostError) as caught:
        await agent.probe()
    assert caught.value.code in ("lost", "channel-failed")


async def test_go_reaches_armed_loads_after_it_was_said(ssh_agent: Agent) -> None:
    delays = []
    for number in range(5):
        task = f"t{number}"
        await start(ssh_agent, sh("date +%s.%N"), task=task, armed=True)
        stream = await ssh_agent.stream(task, 0, 0)
        said = time.time()
        await stream.go()
        delays.append(float((await collect(stream))[0]) - said)
    assert all(delay > 0 for delay in delays)


async def test_fio_over_ssh_streams_whole_objects_and_stops_with_results(
    ssh_agent: Agent, tmp_path: Path
) -> None:
    await start(ssh_agent, FIO, files={"job.fio": fio_job(tmp_path)}, armed=True)
    stream = await ssh_agent.stream("t", 0, 0)
    await stream.go()
    out, err = bytearray(), bytearray()
    await take(stream, 20_000, out, err)
    await ssh_agent.stop("t")
    await take(stream, 1 << 40, out, err)
    assert stream.complete
    assert out.rstrip().endswith(b"}")
    assert (await ended(ssh_agent)).exit_code == 128
    assert await ssh_agent.sweep(kill=False) == []


async def test_renewed_lease_keeps_the_load_and_a_dead_controller_ends_it(
    lab: SshdLab, tmp_path: Path
) -> None:
    run_id = new_run_id()
    async with Connections(ssh_config=lab.ssh_config) as connections:
        agent = Agent(await connections.connect(lab.address("h1")), run_id)
        await start(agent, FIO, files={"job.fio": fio_job(tmp_path)}, lease_s=6)
        stream = await agent.stream("t", 0, 0)
        reader = asyncio.create_task(take(stream, 1 << 40, bytearray(), bytearray()))
        await running(agent, 4)
        begin = time.monotonic()
        while time.monotonic() < begin + 9:  # longer than the lease
            await stream.renew()
            assert not (await agent.status("t")).done
            await asyncio.sleep(0.5)
        reader.cancel()
        # no goodbye: as if the controller had been killed
        agent.transport.connection.abort()  # type: ignore[attr-defined]
    async with Connections(ssh_config=lab.ssh_config) as connections:
        agent = Agent(await connections.connect(lab.address("h1")), run_id)
        assert (await ended(agent)).reason == "lease"
        await put_away(agent)


async def test_load_whose_supervisor_was_killed_ends_with_its_results(
    ssh_agent: Agent, tmp_path: Path
) -> None:
    directory = Path(await start(ssh_agent, FIO, files={"job.fio": fio_job(tmp_path)}))
    await running(ssh_agent, 4)
    kill(int((directory / "pid").read_text().split()[0]))
    status = await ended(ssh_agent)
    assert (status.exit_code, status.reason, status.alive) == (128, "supervisor-died", False)
    assert await ssh_agent.sweep(kill=False) == []
    stream = await ssh_agent.stream("t", 0, 0)
    out, _ = await collect(stream)
    assert stream.complete
    assert out.rstrip().endswith(b"}")


async def test_sweep_finds_what_no_one_watches(ssh_agent: Agent, tmp_path: Path) -> None:
    directory = Path(await start(ssh_agent, FIO, files={"job.fio": fio_job(tmp_path)}))
    await running(ssh_agent, 4)
    supervisor = int((directory / "pid").read_text().split()[0])
    watchers = (supervisor, *(pid for pid in shells(ssh_agent.run_id) if pid != supervisor))
    for shell in watchers:
        os.kill(shell, signal.SIGSTOP)  # else one sees another one's end, and ends the load
    for shell in watchers:
        kill(shell)

    async def unwatched() -> bool:
        return not (await ssh_agent.status("t")).alive

    await until(unwatched, "the end of those who watch")
    assert not (await ssh_agent.status("t")).done
    assert len(await ssh_agent.sweep(kill=True)) == 4
    assert await ssh_agent.sweep(kill=False) == []


async def test_fio_main_killed_leaves_no_worker(ssh_agent: Agent, tmp_path: Path) -> None:
    directory = Path(await start(ssh_agent, FIO, files={"job.fio": fio_job(tmp_path)}))
    await running(ssh_agent, 4)
    kill(int((directory / "load").read_text().split()[0]))
    status = await ended(ssh_agent)
    assert (status.exit_code, status.reason) == (137, "exit")
    assert await ssh_agent.sweep(kill=False) == []


async def test_runner_killed_ends_the_load(ssh_agent: Agent) -> None:
    directory = Path(await start(ssh_agent, sh("sleep 300")))
    await running(ssh_agent, 1)
    supervisor = int((directory / "pid").read_text().split()[0])
    load = int((directory / "load").read_text().split()[0])
    kill(int(Path(f"/proc/{load}/stat").read_text().rpartition(")")[2].split()[1]))
    status = await ended(ssh_agent)
    assert (status.exit_code, status.reason) == (None, "runner-died")

    async def supervisor_gone() -> bool:
        return not Path(f"/proc/{supervisor}").exists()

    await until(supervisor_gone, "the end of the supervisor")


def kill(pid: int) -> None:
    import os
    import signal

    os.kill(pid, signal.SIGKILL)
