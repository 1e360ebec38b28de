"""sshd 9.8 and newer penalises machines that connect without logging in, or fail to
(PerSourcePenalties).

Set BENCHTUI_SSHD to the path of such an sshd where that of the system is older; else some of these
are skipped.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest

from tests.lab.sshd import SSHD, SshdLab
from tui.engine.session.host_session import HostSession
from tui.model.address import HostAddress
from tui.remote.connections import Connections
from tui.remote.transport import HostError
from tui.text.run_texts import run_text

PROGRAM = os.environ.get("BENCHTUI_SSHD") or SSHD
NEWER = (9, 8)


def version() -> tuple[int, ...]:
    """The version of the sshd that is tested with; (0,) when there is none."""
    try:
        said = subprocess.run([PROGRAM, "-V"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return (0,)
    found = re.search(r"OpenSSH_(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0,)


newer = pytest.mark.skipif(
    version() < NEWER, reason="sshd is older than 9.8; BENCHTUI_SSHD names another one"
)
STRICT = "PerSourcePenalties min:3s max:6s noauth:1s authfail:2s"


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[SshdLab]:
    """One host that refuses a machine from the second failed login within seconds on, or the
    fourth without one.
    """
    with SshdLab(tmp_path / "strict", hosts=1, extra_config=(STRICT,), program=PROGRAM) as lab:
        yield lab


@pytest.fixture
def usual(tmp_path: Path) -> Iterator[SshdLab]:
    """One host with the penalties that sshd comes with, where it has any."""
    extra = ("PerSourcePenalties yes",) if version() >= NEWER else ()
    with SshdLab(tmp_path / "usual", hosts=1, extra_config=extra, program=PROGRAM) as lab:
        yield lab


def stranger(lab: SshdLab, tmp_path: Path) -> HostAddress:
    """The lab's host with a key that it does not take."""
    key = tmp_path / "stranger"
    key.write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    key.chmod(0o600)
    return HostAddress(name="h1", ssh_config=str(lab.ssh_config), identity=str(key))


async def knock_until_refused(lab: SshdLab) -> None:
    """Connect without logging in, as a port scanner does, until sshd has had enough."""
    for _ in range(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", lab.hosts[0].port)
        said = await reader.readline()
        writer.close()
        if said.startswith(b"Not allowed"):
            return
        await asyncio.sleep(0)
    raise AssertionError(lab.hosts[0].log)


async def test_forty_names_of_one_server_are_asked_for_its_key_once(
    usual: SshdLab, tmp_path: Path
) -> None:
    path = tmp_path / "config"
    path.write_text(
        f"Host name-*\n  HostKeyAlias %n\n{usual.ssh_config.read_text().split('h1', 1)[1]}"
    )
    async with Connections(ssh_config=path) as connections:
        found = await asyncio.gather(
            *(connections.presented(HostAddress(name=f"name-{n}")) for n in range(40))
        )
    assert {key.fingerprint for key in found} == {f"ssh-ed25519 {usual.hosts[0].fingerprint}"}
    assert usual.hosts[0].log.count("Connection from") == 2  # the first is that of the lab


async def test_trust_then_check_stays_below_the_threshold(usual: SshdLab) -> None:
    for _ in range(3):
        async with Connections() as connections:
            await connections.presented(usual.address("h1"))
        async with Connections() as connections:
            await connections.connect(usual.address("h1"))
    assert "activating" not in usual.hosts[0].log and "drop connection" not in usual.hosts[0].log


@pytest.mark.parametrize("known", [True, False], ids=["refused-key", "unknown-host-key"])
async def test_one_failing_attempt_then_the_user_is_told(
    usual: SshdLab, tmp_path: Path, known: bool
) -> None:
    address = stranger(usual, tmp_path) if known else usual.address("h1", known=False)
    async with Connections() as connections:
        with pytest.raises(HostError) as caught:
            await connections.connect(address)
    assert caught.value.code == ("auth-failed" if known else "host-key-unknown")
    assert usual.hosts[0].log.count("Connection from") == 2


async def test_reconnecting_never_repeats_a_log_in_that_was_turned_down(
    usual: SshdLab, tmp_path: Path
) -> None:
    async with Connections() as connections:
        session = HostSession(stranger(usual, tmp_path), connections, "run", lambda *_: None)  # type: ignore[arg-type]
        assert not await session.reconnect(20)
        assert "permission denied" in run_text(session.refusal)
    assert usual.hosts[0].log.count("Connection from") == 2


@newer
async def test_short_penalty_is_waited_out(strict: SshdLab) -> None:
    await knock_until_refused(strict)
    async with Connections() as connections:
        await connections.connect(strict.address("h1"))
        assert (await connections.presented(strict.address("h1"))).known


@newer
async def test_penalty_that_lasts_is_reported_with_its_length(
    usual: SshdLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.remote.connections.PENALTY_WAIT_S", 0.5)
    monkeypatch.setattr("tui.remote.connections.FIRST_PAUSE_S", 0.02)
    await knock_until_refused(usual)
    path = tmp_path / "config"
    text = usual.ssh_config.read_text()
    path.write_text(f"{text}\nHost inner\n  HostName 127.0.0.1\n  ProxyJump h1\n")
    for name, where in (("h1", ""), ("inner", "bastion h1: ")):
        async with Connections(ssh_config=path) as connections:
            with pytest.raises(HostError) as caught:
                await connections.connect(HostAddress(name=name))
            assert caught.value.message.startswith(
                f"{where}127.0.0.1 port {usual.hosts[0].port} refuses this machine"
            )
            assert "PerSourcePenalties" in caught.value.message
            with pytest.raises(HostError, match="PerSourcePenalties"):
                await connections.presented(HostAddress(name=name))
