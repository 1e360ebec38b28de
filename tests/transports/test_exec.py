"""Hosts that a command gives a shell on: containers of namespaces, with nsenter as `podman exec
-i`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, start
from tests.lab.containers import Container, missing
from tests.patience import PATIENCE_S
from tui.model.address import HostAddress
from tui.remote.agent import Agent, Lease
from tui.remote.connections import Connections
from tui.remote.transport import HostError

LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"
OWN = ("--set", "directory=/tmp")  # of the container
pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture
def containers(tmp_path: Path) -> Iterator[list[Container]]:
    with Container(tmp_path, "c1") as first, Container(tmp_path, "c2") as second:
        yield [first, second]


@pytest.fixture
def inventory(containers: list[Container], home: Path) -> Path:
    file = home / "inventory.yaml"
    hosts = "".join(
        f"  {each.name}: {{exec: '{each.shell}', groups: [pods]}}\n" for each in containers
    )
    file.write_text(f"hosts:\n{hosts}")
    return file


def wait_for(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def address(container: Container) -> HostAddress:
    return HostAddress(container.name, transport="exec", through=container.shell)


async def test_a_task_is_streamed_byte_by_byte_and_continues_without_its_shell(
    containers: list[Container],
) -> None:
    async with Connections() as connections:
        agent = Agent(await connections.connect(address(containers[0])), "run1")
        words = ["/bin/sh", "-c", "for n in 1 2 3; do echo line $n; sleep 0.2; done; exit 7"]
        await agent.start("t", words, {}, lease=Lease(60, 5), armed=False)
        await agent.transport.close()  # every shell is gone
        again = Agent(await connections.connect(address(containers[0])), "run1")
        stream = await again.stream("t", 0, 0)
        await stream.close()
        async with asyncio.timeout(PATIENCE_S):
            while not (status := await again.status("t")).done:
                await asyncio.sleep(0.1)
        assert (status.exit_code, status.out_bytes) == (7, 21)
        assert (containers[0].tmp / f".benchtui-{os.getuid()}").is_dir()
        await again.clean()
        await again.transport.close()


async def test_a_container_that_is_gone_is_reported_with_what_the_command_said(
    containers: list[Container],
) -> None:
    containers[0].kill()
    async with Connections() as connections:
        agent = Agent(await connections.connect(address(containers[0])), "run1")
        with pytest.raises(HostError) as caught:
            await agent.tasks()
    assert caught.value.code == "channel-failed"
    assert "nsenter" in caught.value.message and "did not start a shell" in caught.value.message


@pytest.mark.parametrize(
    ("through", "told"),
    [
        ("no-such-program -i {host}", "no-such-program is not installed"),
        ("sh 'x", "no closing quotation"),
        (" ", "no command"),
    ],
)
async def test_a_command_that_cannot_be_is_reported(through: str, told: str) -> None:
    async with Connections() as connections:
        with pytest.raises(HostError, match=told):
            transport = await connections.connect(
                HostAddress("c", transport="exec", through=through)
            )
            await Agent(transport, "run1").tasks()


@pytest.mark.e2e
def test_a_run_on_containers_is_complete_and_leaves_nothing(
    containers: list[Container], inventory: Path, home: Path
) -> None:
    done = benchtui(
        home,
        "run",
        LOAD,
        "--hosts",
        "@pods",
        "--inventory",
        inventory,
        "--yes",
        "--json",
        *OWN,
        *("--set", "runtime=3s", "--set", "numjobs=1"),
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert [(host["name"], host["transport"]) for host in record["hosts"]] == [
        ("c1", "exec"),
        ("c2", "exec"),
    ]
    assert record["state"] == "complete"
    for container in containers:
        assert container.processes() == []
        assert not list(container.tmp.glob(".benchtui-*/*"))


@pytest.mark.e2e
def test_a_load_ends_with_its_lease_when_the_engine_is_killed_and_can_be_recovered(
    containers: list[Container], inventory: Path, home: Path
) -> None:
    process = start(
        *(
            home,
            "run",
            LOAD,
            "--hosts",
            "@pods",
            "--inventory",
            inventory,
            "--yes",
            "--lease",
            "10s",
        ),
        *("--set", "runtime=300", "--detach", *OWN),
    )
    run_id = process.communicate(timeout=PATIENCE_S)[0].strip()
    run_dir = next(home.rglob(run_id))
    journal = run_dir / "journal.jsonl"
    wait_for(lambda: journal.exists() and '"sample"' in journal.read_text(), "no sample")
    os.kill(int((run_dir / "engine.pid").read_text().split()[0]), signal.SIGKILL)
    wait_for(
        lambda: all(container.processes() == [] for container in containers), "the load goes on"
    )
    recovered = benchtui(home, "runs", "recover", run_id)
    assert recovered.returncode in (0, 4), recovered.stderr
    for container in containers:
        assert not list(container.tmp.glob(".benchtui-*/*"))
