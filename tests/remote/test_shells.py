"""Calls over SSH: one shell answers many, a call that goes wrong costs that shell alone."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path

import pytest

from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S
from tests.remote.conftest import new_run_id
from tests.remote.helpers import until
from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.connections import Connections
from tui.remote.files import stat_files
from tui.remote.local import LocalTransport
from tui.remote.scripts import Script
from tui.remote.ssh import SshTransport
from tui.remote.transport import HostError

BASHRC = 'echo "$$" >>"$HOME/logins"\necho Welcome\n'


async def answered(transport: SshTransport, call: str, timeout_s: float = PATIENCE_S) -> bytes:
    """What a call of ours prints between its marks."""
    done = await transport.call(Script("0badc0de", call, ("base",)), timeout_s)
    assert done.exit_status == 0, done
    return done.stdout.split(b"BT-BEGIN 0badc0de\n")[1].removesuffix(b"BT-END 0badc0de 0\n")


@pytest.fixture
async def transport(lab: SshdLab, connections: Connections) -> SshTransport:
    """A connection whose first call has been made."""
    opened = await connections.connect(lab.address("h1"))
    assert isinstance(opened, SshTransport)
    await answered(opened, "true")
    return opened


async def test_many_calls_cost_two_log_ins(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text(BASHRC)
    with SshdLab(tmp_path / "lab", hosts=1, extra_config=(f"SetEnv HOME={tmp_path}",)) as noisy:
        async with Connections(ssh_config=noisy.ssh_config) as connections:
            agent = Agent(await connections.connect(noisy.address("h1")), new_run_id())
            for number in range(8):
                path = tmp_path / f"file{number}"
                path.write_bytes(b"x" * number)
                assert (
                    info := (await stat_files(agent, [str(path)]))[str(path)]
                ) is not None and info.size == number
    logged_in = tmp_path / "logins"
    if not logged_in.exists():
        pytest.skip("the login shell does not read ~/.bashrc")
    assert len(logged_in.read_text().splitlines()) == 2


async def test_calls_stay_in_one_shell_and_leave_nothing_in_it(transport: SshTransport) -> None:
    first = await answered(transport, "cd /usr; umask 077; BT_X=left; echo $$")
    assert await answered(transport, "echo $$") == first
    assert await answered(transport, 'echo "$PWD ${BT_X-none}"') != b"/usr left\n"


async def test_calls_at_the_same_time_do_not_wait_for_each_other(
    transport: SshTransport, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    waiting = asyncio.create_task(answered(transport, f"read -r word <{tmp_path}/fifo; echo $word"))
    assert await answered(transport, f"echo said >{tmp_path}/fifo; echo second") == b"second\n"
    assert await waiting == b"said\n"


async def test_call_that_takes_too_long_costs_its_shell_alone(transport: SshTransport) -> None:
    with pytest.raises(HostError) as caught:
        await answered(transport, "sleep 30", 0.5)
    assert (caught.value.code, caught.value.message) == ("timeout", "no answer in 0.5 s")
    assert await answered(transport, "echo still here") == b"still here\n"


async def test_call_that_is_cancelled_costs_its_shell_alone(
    transport: SshTransport, tmp_path: Path
) -> None:
    call = asyncio.create_task(answered(transport, f"touch {tmp_path}/begun; sleep 30"))

    async def begun() -> bool:
        return (tmp_path / "begun").exists()

    await until(begun, "the call")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await answered(transport, "echo still here") == b"still here\n"


async def test_shell_that_was_killed_between_calls_is_replaced(
    transport: SshTransport,
) -> None:
    pid = int(await answered(transport, "echo $$"))
    os.kill(pid, signal.SIGKILL)
    assert int(await answered(transport, "echo $$")) != pid


async def test_shell_that_is_killed_in_a_call_is_reported_and_replaced(
    transport: SshTransport,
) -> None:
    done = await transport.call(Script("0badc0de", "kill -KILL $$; exit 1", ("base",)), 30)
    assert done.exit_status is None and b"BT-END" not in done.stdout
    assert await answered(transport, "echo again") == b"again\n"


async def test_server_of_few_sessions_gets_the_shell_back_for_a_stream(tmp_path: Path) -> None:
    with SshdLab(tmp_path / "lab", hosts=1, extra_config=("MaxSessions 1",)) as narrow:
        async with Connections(ssh_config=narrow.ssh_config) as connections:
            agent = Agent(await connections.connect(narrow.address("h1")), new_run_id())
            await stat_files(agent, ["/"])
            await stat_files(agent, ["/"])
            assert await agent.clock() is not None


@pytest.mark.parametrize("place", ["local", "ssh", "ssh-again"])
async def test_answer_without_an_end_is_refused(
    place: str, lab: SshdLab, connections: Connections
) -> None:
    here = LocalTransport(HostAddress(name="local", transport="local"))
    transport = here if place == "local" else await connections.connect(lab.address("h1"))
    if place == "ssh-again":
        await transport.call(Script("0badc0de", "true", ("base",)), 30)
    with pytest.raises(HostError, match="answer to one call has more than 16384 KiB") as refused:
        await transport.call(Script("0badc0de", "yes", ("base",)), 60)
    assert refused.value.code == "flooded"


@pytest.mark.parametrize("place", ["local", "ssh", "ssh-again"])
async def test_stderr_without_an_end_is_refused(
    place: str, lab: SshdLab, connections: Connections
) -> None:
    here = LocalTransport(HostAddress(name="local", transport="local"))
    transport = here if place == "local" else await connections.connect(lab.address("h1"))
    if place == "ssh-again":
        await transport.call(Script("0badc0de", "true", ("base",)), 30)
    with pytest.raises(HostError) as refused:
        await transport.call(Script("0badc0de", "yes >&2", ("base",)), 60)
    assert refused.value.code == "flooded"


async def test_clock_is_asked_in_the_shell_that_answers_the_other_calls(
    transport: SshTransport,
) -> None:
    agent = Agent(transport, new_run_id())
    pid = await answered(transport, "echo $$")
    clock = await agent.clock()
    assert clock is not None and abs(clock.offset_s) <= clock.uncertainty_s + 0.05
    assert await answered(transport, "echo $$") == pid


async def test_clock_is_asked_when_the_shell_was_killed_between_calls(
    transport: SshTransport,
) -> None:
    os.kill(int(await answered(transport, "echo $$")), signal.SIGKILL)
    assert await Agent(transport, new_run_id()).clock() is not None


async def test_clock_that_cannot_be_read_leaves_the_shell_to_the_next_call(
    transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = await answered(transport, "echo $$")
    monkeypatch.setattr("tui.remote.stream.STAMP", re.compile(rb"never"))
    assert await Agent(transport, new_run_id()).clock() is None
    assert await answered(transport, "echo $$") == pid
