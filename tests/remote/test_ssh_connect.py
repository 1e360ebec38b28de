"""Connecting by SSH to real sshd instances: host keys, user keys, bastions, what a failure says."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest

from tests.lab.agent import ssh_agent
from tests.lab.sshd import LabHost, SshdLab, refusing_port
from tui.engine.inputs.user_files import add_lines
from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.connections import Connections, Timeouts
from tui.remote.transport import HostError


async def refusal(
    address: HostAddress, connections: Connections | None = None, connect_timeout_s: float = 10
) -> HostError:
    """The error that a connection ends with."""
    async with connections or Connections(timeouts=Timeouts(connect_timeout_s)) as opened:
        with pytest.raises(HostError) as caught:
            await opened.connect(address)
    return caught.value


def config(path: Path, host: LabHost, lab: SshdLab, *lines: str, name: str = "") -> Path:
    """A configuration of one lab host, `lines` before the usual ones (the first value of an option
    holds).
    """
    usual = (
        f"HostName 127.0.0.1\nPort {host.port}\nUser {lab.user}\nIdentityFile {lab.client_key}\n"
        f"UserKnownHostsFile {lab.known_hosts}\nGlobalKnownHostsFile /dev/null\n"
    )
    path.write_text(f"Host {name or host.name}\n" + "".join(f"{line}\n" for line in lines) + usual)
    return path


async def uname(connections: Connections, address: HostAddress) -> str:
    transport = await connections.connect(address)
    return str((await Agent(transport, "check").probe()).values["kernel"])


async def test_hosts_of_the_configuration_are_reached(
    lab: SshdLab, connections: Connections
) -> None:
    kernels = await asyncio.gather(*(uname(connections, address) for address in lab.addresses()))
    assert len(kernels) == 4 and all(kernel.startswith("Linux ") for kernel in kernels)


async def test_explicit_address_port_user_and_key_win_over_the_configuration(
    lab: SshdLab, tmp_path: Path
) -> None:
    wrong = tmp_path / "config"
    wrong.write_text(
        "Host box\n  HostName 127.0.0.99\n  Port 1\n  User nobody\n  IdentityFile /none\n"
        f"  UserKnownHostsFile {lab.known_hosts}\n"
    )
    address = HostAddress(
        name="box",
        address="127.0.0.1",
        port=lab.host("h1").port,
        user=lab.user,
        identity=str(lab.client_key),
        ssh_config=str(wrong),
    )
    async with Connections() as connections:
        assert (await uname(connections, address)).startswith("Linux ")


async def test_unknown_host_key_is_refused_with_its_fingerprint_and_what_to_do(
    lab: SshdLab,
) -> None:
    error = await refusal(lab.address("h1", known=False))
    assert error.code == "host-key-unknown"
    assert lab.host("h1").fingerprint in error.message
    assert "benchtui hosts trust h1" in error.message


async def test_key_of_a_name_that_is_not_known_is_reported_as_at_log_in() -> None:
    async with Connections() as connections:
        with pytest.raises(HostError, match=r"unknown host name nothing\.invalid"):
            await connections.presented(HostAddress(name="nothing.invalid"))


async def test_pinned_key_is_trusted(lab: SshdLab, tmp_path: Path) -> None:
    pins = tmp_path / "pins"
    async with Connections(known_hosts=[pins]) as connections:
        presented = await connections.presented(lab.address("h1", known=False))
        assert not presented.known
        add_lines(pins, [presented.line])
    assert pins.stat().st_mode & 0o777 == 0o600
    async with Connections(known_hosts=[pins]) as connections:
        assert (await connections.presented(lab.address("h1", known=False))).known
        assert (await uname(connections, lab.address("h1", known=False))).startswith("Linux ")
    assert (
        await refusal(lab.address("h2", known=False), Connections(known_hosts=[pins]))
    ).code == "host-key-unknown"


async def test_hashed_entry_is_found(lab: SshdLab, tmp_path: Path) -> None:
    hashed = tmp_path / "hashed"
    hashed.write_text(lab.host("h1").known_hosts_line)
    subprocess.run(["ssh-keygen", "-H", "-f", hashed], check=True, capture_output=True)
    assert hashed.read_text().startswith("|1|")
    async with Connections(known_hosts=[hashed]) as connections:
        assert (await uname(connections, lab.address("h1", known=False))).startswith("Linux ")


@pytest.mark.parametrize("other_type", ["ssh-ed25519", "ecdsa-sha2-nistp256"])
async def test_changed_host_key_is_refused_with_both_fingerprints(
    lab: SshdLab, tmp_path: Path, other_type: str
) -> None:
    other = asyncssh.generate_private_key(other_type)
    pins = tmp_path / "pins"
    pins.write_text(f"[127.0.0.1]:{lab.host('h1').port} {other.export_public_key().decode()}")
    address = lab.address("h1", known=False)
    error = await refusal(address, Connections(known_hosts=[pins]))
    assert error.code == "host-key-changed"
    assert lab.host("h1").fingerprint in error.message and other.get_fingerprint() in error.message
    async with Connections(known_hosts=[pins]) as connections:
        with pytest.raises(HostError, match="host key changed"):
            await connections.presented(address)


async def test_revoked_host_key_is_refused(lab: SshdLab, tmp_path: Path) -> None:
    pins = tmp_path / "pins"
    pins.write_text(f"@revoked {lab.host('h1').known_hosts_line}{lab.host('h1').known_hosts_line}")
    assert (
        await refusal(lab.address("h1", known=False), Connections(known_hosts=[pins]))
    ).code == "host-key-revoked"


async def test_host_key_alias_is_what_the_key_is_filed_under(lab: SshdLab, tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text(f"the-box {lab.host('h1').public_key}\n")
    path = config(
        tmp_path / "config",
        lab.host("h1"),
        lab,
        "HostKeyAlias the-box",
        f"UserKnownHostsFile {known}",
        name="box",
    )
    async with Connections(ssh_config=path) as connections:
        assert (await uname(connections, HostAddress(name="box"))).startswith("Linux ")
        assert (await connections.presented(HostAddress(name="box"))).pattern == "the-box"


async def test_wrong_key_is_reported(lab: SshdLab, tmp_path: Path, alone: Path) -> None:
    key = tmp_path / "other"
    key.write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    path = config(tmp_path / "config", lab.host("h1"), lab, f"IdentityFile {key}")
    path.write_text(path.read_text().replace(f"IdentityFile {lab.client_key}\n", ""))
    error = await refusal(HostAddress(name="h1", ssh_config=str(path)))
    assert error.code == "auth-failed"
    assert f"permission denied for {lab.user}@127.0.0.1:{lab.host('h1').port}" in error.message


async def test_key_that_cannot_be_read_is_named(lab: SshdLab, tmp_path: Path, alone: Path) -> None:
    base = lab.address("h1")
    missing = HostAddress(name="h1", ssh_config=base.ssh_config, identity=str(tmp_path / "none"))
    error = await refusal(missing)
    assert error.code == "key-unreadable"
    assert f"{tmp_path}/none: No such file" in error.message


@pytest.fixture
def encrypted(tmp_path: Path, lab: SshdLab) -> Path:
    """The lab's client key behind a passphrase."""
    path = tmp_path / "encrypted"
    path.write_bytes(
        asyncssh.read_private_key(lab.client_key).export_private_key(passphrase="secret", rounds=50)
    )
    path.chmod(0o600)
    return path


async def test_encrypted_key_without_agent_is_named(
    lab: SshdLab, encrypted: Path, alone: Path
) -> None:
    address = HostAddress(name="h1", ssh_config=str(lab.ssh_config), identity=str(encrypted))
    error = await refusal(address)
    assert error.code == "key-encrypted"
    assert f"{encrypted} is encrypted: add it to an SSH agent" in error.message


@pytest.fixture
def ssh_agent_socket(
    tmp_path: Path, lab: SshdLab, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A real ssh-agent that holds the lab's key among others."""
    other = tmp_path / "other"
    other.write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    other.chmod(0o600)
    with ssh_agent(tmp_path / "agent.sock", [other, lab.client_key]) as path:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        yield path


async def test_agent_stands_in_for_an_encrypted_key(
    lab: SshdLab,
    encrypted: Path,
    alone: Path,
    ssh_agent_socket: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(ssh_agent_socket))
    addresses = [
        HostAddress(name=name, ssh_config=str(lab.ssh_config), identity=str(encrypted))
        for name in lab.names
    ]
    # IdentitiesOnly needs it
    encrypted.with_suffix(".pub").write_bytes((lab.root / "client_key.pub").read_bytes())
    async with Connections() as connections:
        kernels = await asyncio.gather(*(uname(connections, address) for address in addresses))
    assert len(kernels) == 4


async def test_refused_connection_is_reported(lab: SshdLab) -> None:
    with refusing_port() as port:
        error = await refusal(HostAddress(name="gone", address="127.0.0.1", port=port))
    assert (error.code, error.message) == (
        "refused",
        f"connection refused by 127.0.0.1 port {port}",
    )


async def test_unknown_name_is_reported() -> None:
    error = await refusal(HostAddress(name="no-such-host.invalid"))
    assert error.code == "unreachable"
    assert "no-such-host.invalid" in error.message


async def test_server_that_says_nothing_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = await refusal(
            HostAddress(name="mute", address="127.0.0.1", port=silent.getsockname()[1]),
            connect_timeout_s=0.5,
        )
    assert error.code == "timeout"


async def test_server_that_always_hangs_up_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.remote.connections.FIRST_PAUSE_S", 0.01)
    calls = 0

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    error = await refusal(HostAddress(name="busy", address="127.0.0.1", port=port))
    server.close()
    assert error.code == "lost" and "MaxStartups" in error.message
    assert calls == 6


async def test_broken_configuration_is_reported_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("Host box\n  Port twenty\n")
    error = await refusal(HostAddress(name="box", ssh_config=str(path)))
    assert error.code == "config"
    assert re.search(rf"{path} line 2: .*twenty", error.message)


async def test_hosts_behind_one_bastion_share_its_connection(lab: SshdLab, tmp_path: Path) -> None:
    lines = [
        lab.ssh_config.read_text(),
        *(f"Host in{n}\n  ProxyJump h1\n{target(lab, n)}" for n in (2, 3, 4)),
    ]
    path = tmp_path / "config"
    path.write_text("\n".join(lines))
    before = lab.host("h1").log.count("Accepted publickey")
    async with Connections(ssh_config=path) as connections:
        kernels = await asyncio.gather(
            *(uname(connections, HostAddress(name=f"in{n}")) for n in (2, 3, 4))
        )
    assert len(kernels) == 3
    assert lab.host("h1").log.count("Accepted publickey") == before + 1


async def test_chain_of_bastions_is_followed(lab: SshdLab, tmp_path: Path) -> None:
    path = tmp_path / "config"
    text = lab.ssh_config.read_text().replace("Host h2\n", "Host h2\n  ProxyJump h1\n")
    path.write_text(
        f"{text}\nHost deep\n  ProxyJump h2\n{target(lab, 3)}\nHost listed\n  ProxyJump"
        f" h1,h4\n{target(lab, 3)}"
    )
    before = lab.host("h1").log.count("Accepted publickey")
    async with Connections(ssh_config=path) as connections:
        for name in ("deep", "listed"):
            assert (await uname(connections, HostAddress(name=name))).startswith("Linux ")
    assert lab.host("h1").log.count("Accepted publickey") == before + 1


async def test_bastion_that_cannot_be_reached_is_named(lab: SshdLab, tmp_path: Path) -> None:
    path = tmp_path / "config"
    with refusing_port() as port:
        path.write_text(
            f"Host jump\n  HostName 127.0.0.1\n  Port {port}\nHost box\n  ProxyJump"
            f" jump\n{target(lab, 1)}"
        )
        error = await refusal(HostAddress(name="box", ssh_config=str(path)))
    assert (error.code, error.host) == ("refused", "box")
    assert error.message.startswith("bastion jump: connection refused")


async def test_bastion_loop_is_reported(lab: SshdLab, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("Host a\n  ProxyJump b\nHost b\n  ProxyJump a\n")
    error = await refusal(HostAddress(name="a", ssh_config=str(path)))
    assert error.code == "config" and "is a loop" in error.message


async def test_target_behind_bastion_that_is_down_is_reported(lab: SshdLab, tmp_path: Path) -> None:
    path = tmp_path / "config"
    with refusing_port() as port:
        box = f"Host box\n  ProxyJump h1\n  HostName 127.0.0.1\n  Port {port}\n"
        path.write_text(f"{lab.ssh_config.read_text()}\n{box}")
        error = await refusal(HostAddress(name="box", ssh_config=str(path)))
    assert error.code == "unreachable" and "the bastion cannot reach" in error.message


async def test_proxy_command_is_used(lab: SshdLab, tmp_path: Path) -> None:
    tools = {"nc": "nc %h %p", "socat": "socat - TCP:%h:%p", "busybox": "busybox nc %h %p"}
    command = next((line for tool, line in tools.items() if shutil.which(tool)), None)
    if command is None:
        pytest.skip("no tool that connects stdin to a port")
    path = config(tmp_path / "config", lab.host("h1"), lab, f"ProxyCommand {command}")
    async with Connections(ssh_config=path) as connections:
        assert (await uname(connections, HostAddress(name="h1"))).startswith("Linux ")


async def test_busy_bastion_is_tried_again(tmp_path: Path) -> None:
    """MaxStartups 2:100:2 drops every third handshake that is under way at the same time."""
    with SshdLab(tmp_path / "busy", hosts=1, extra_config=("MaxStartups 2:100:2",)) as busy:
        async with Connections(ssh_config=busy.ssh_config, handshakes=8) as connections:
            transports = await asyncio.gather(
                *(connections.connect(busy.address("h1")) for _ in range(12))
            )
            assert len(transports) == 12
        assert "drop connection" in busy.hosts[0].log


def target(lab: SshdLab, number: int) -> str:
    """The configuration lines of a lab host, without its name."""
    blocks = lab.ssh_config.read_text().split("Host ")
    block = next(block for block in blocks if block.startswith(f"h{number}\n"))
    return block.split("\n", 1)[1]


async def test_connections_that_are_left_while_a_bastion_greets_are_closed_in_order(
    tmp_path: Path,
) -> None:
    """As when a run is stopped while it connects."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = tmp_path / "config"
        config.write_text(
            f"Host bastion\n  HostName 127.0.0.1\n  Port {silent.getsockname()[1]}\nHost box\n "
            " ProxyJump bastion\n"
        )
        async with Connections(ssh_config=config) as connections:
            connecting = asyncio.create_task(connections.connect(HostAddress(name="box")))
            reached, _ = await asyncio.to_thread(silent.accept)
            connecting.cancel()
        reached.close()
    await asyncio.gather(connecting, return_exceptions=True)
    assert asyncio.all_tasks() == {asyncio.current_task()}
