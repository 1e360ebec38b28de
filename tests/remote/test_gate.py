"""Handshakes that adapt to what a server takes at a time: sshd's MaxStartups, whatever it is."""

from __future__ import annotations

import asyncio
import select
import shutil
from pathlib import Path

import asyncssh
import pytest

from tests.lab.sshd import SshdLab
from tests.remote.test_ssh_connect import target
from tui.model.address import HostAddress
from tui.remote import connections as gates
from tui.remote.connections import Connections, Gate
from tui.remote.login import LoginAttempt

NARROW = "MaxStartups 2:100:3"  # sshd drops the third that is not logged in yet, at the latest
MANY = 40


async def most_at_a_time(gate: Gate, visitors: int) -> int:
    """How many of so many visitors are inside together."""
    inside = most = 0

    async def visit() -> None:
        nonlocal inside, most
        async with gate.turn():
            inside += 1
            most = max(most, inside)
            for _ in range(3):
                await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(visit() for _ in range(visitors)))
    return most


async def test_begins_below_the_limit_that_sshd_comes_with() -> None:
    assert await most_at_a_time(Gate(32), 50) == 8


async def test_widens_slowly_while_the_server_greets_and_never_beyond_its_widest() -> None:
    gate = Gate(12)
    for _ in range(11):
        gate.greeted()
    assert await most_at_a_time(gate, 50) == 9
    for _ in range(1000):
        gate.greeted()
    assert await most_at_a_time(gate, 50) == 12


async def test_halves_once_for_all_that_were_turned_away_together() -> None:
    gate = Gate(32)
    async with gate.turn() as first, gate.turn() as second:
        gate.hung_up(first)
        gate.hung_up(second)
    assert await most_at_a_time(gate, 50) == 4
    assert gate.refused == 2


async def test_one_is_always_let_in() -> None:
    gate = Gate(32)
    for _ in range(20):
        async with gate.turn() as began:
            gate.hung_up(began)
    assert await most_at_a_time(gate, 5) == 1


async def test_a_visitor_that_gives_up_waiting_leaves_no_place_taken() -> None:
    gate = Gate(1)
    async with gate.turn():
        waiting = [asyncio.create_task(most_at_a_time(gate, 1)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
    waiting[1].cancel()  # it was let in just now
    assert await waiting[2] == 1
    assert await most_at_a_time(gate, 3) == 1


async def turned_away(gate: Gate, visitors: int, places: int) -> int:
    """How often a server with so many places turns visitors away until all were inside."""
    inside = 0

    async def visit() -> None:
        nonlocal inside
        while True:
            async with gate.turn() as began:
                if inside < places:
                    inside += 1
                    for _ in range(3):
                        await asyncio.sleep(0)
                    inside -= 1
                    gate.greeted()
                    return
                gate.hung_up(began)

    await asyncio.gather(*(visit() for _ in range(visitors)))
    return gate.refused


async def test_visitors_are_turned_away_less_than_once_each() -> None:
    gate = Gate(32)
    assert 0 < await turned_away(gate, MANY, places=2) < MANY / 2
    assert gate.limit < 5


async def dropped_by(busy: SshdLab) -> tuple[Gate, int]:
    """Log in to a server many times at once.

    Return the gate, and how many connections the server has dropped.
    """
    before = busy.hosts[0].log.count("drop connection")
    async with Connections(ssh_config=busy.ssh_config) as connections:
        await asyncio.gather(*(connections.connect(busy.address("h1")) for _ in range(MANY)))
        (gate,) = connections.gates.values()
    return gate, busy.hosts[0].log.count("drop connection") - before


async def test_all_get_into_a_busy_server_and_few_are_turned_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer than without learning, on the same machine at the same time: how many it is hangs on
    how busy that is.
    """
    with SshdLab(tmp_path / "busy", hosts=1, extra_config=(NARROW,)) as busy:
        learning, dropped = await dropped_by(busy)
        with monkeypatch.context() as patch:
            patch.setattr(gates, "START", 16.0)
            patch.setattr(gates, "BACKOFF", 1.0)
            _, usual = await dropped_by(busy)
    assert learning.refused == dropped
    assert 0 < dropped < usual
    assert learning.limit < 5


async def test_a_bastion_behind_a_proxy_command_is_one_server(lab: SshdLab, tmp_path: Path) -> None:
    """Each host's ssh logs in to the bastion anew: that is what MaxStartups is about."""
    ssh = shutil.which("ssh")
    if ssh is None:
        pytest.skip("no ssh on this machine")
    with SshdLab(tmp_path / "bastion", hosts=1, prefix="jump", extra_config=(NARROW,)) as bastion:
        path = tmp_path / "config"
        jump = f"{ssh} -F {bastion.ssh_config} -W %h:%p jump1"
        names = [f"box{n}" for n in range(12)]
        path.write_text(
            "\n".join(
                f"Host {name}\n  ProxyCommand {jump}\n{target(lab, n % 4 + 1)}"
                for n, name in enumerate(names)
            )
        )
        async with Connections(ssh_config=path) as connections:
            await asyncio.gather(*(connections.connect(HostAddress(name=name)) for name in names))
            (gate,) = connections.gates.values()
        assert gate.passed == 12
        assert gate.refused == bastion.hosts[0].log.count("drop connection") > 0


async def test_a_proxy_command_that_hangs_up_before_we_greet_is_tried_again(
    lab: SshdLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our first line then breaks the pipe: seen on a busy machine, where the command is quicker
    than we are.
    """
    ssh = shutil.which("ssh")
    if ssh is None:
        pytest.skip("no ssh on this machine")
    known = tmp_path / "known"
    proxy, path = tmp_path / "proxy", tmp_path / "config"
    proxy.write_text(
        f"if mkdir {tmp_path}/first; then\n"
        f"    n=0; while [ ! -e {known} ] && [ $n -lt 2000 ]; do n=$((n + 1)); sleep 0.01; done\n"
        "    exec sleep 20 0<&-\n"
        "fi\n"
        f"exec {ssh} -F {lab.ssh_config} -W $1:$2 h2\n"
    )
    path.write_text(f"Host box\n  ProxyCommand sh {proxy} %h %p\n{target(lab, 1)}")
    kept = LoginAttempt.connection_made

    def late(self: LoginAttempt, conn: asyncssh.SSHClientConnection) -> None:
        if not known.exists():
            known.touch()
            wait_for_the_command_to_hang_up(conn)
        kept(self, conn)

    monkeypatch.setattr(LoginAttempt, "connection_made", late)
    async with Connections(ssh_config=path) as connections:
        await connections.connect(HostAddress(name="box"))
        (gate,) = connections.gates.values()
    assert (gate.refused, gate.passed) == (1, 1)


def wait_for_the_command_to_hang_up(conn: asyncssh.SSHClientConnection) -> None:
    """Hold the loop until nobody reads any more what we write."""
    poll = select.poll()
    poll.register(conn.get_extra_info("subprocess").stdin.fileno(), 0)  # errors are always told
    assert poll.poll(60_000), "the proxy command reads on"
