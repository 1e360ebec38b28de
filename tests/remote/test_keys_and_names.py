"""Host certificates, revoked keys, user certificates, keys that only an agent has, odd user names,
IPv6 addresses.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest

from tests.lab.agent import ssh_agent
from tests.lab.sshd import SshdLab
from tui.model.address import HostAddress
from tui.remote.connections import Connections
from tui.remote.sshconfig import resolve
from tui.remote.transport import HostError

AUTHORITY = asyncssh.generate_private_key("ssh-ed25519")
OTHER = asyncssh.generate_private_key("ssh-ed25519")


def public(key: asyncssh.SSHKey) -> str:
    return " ".join(key.export_public_key().decode().split()[:2])


@dataclass
class Certified:
    """A lab host whose sshd has a host certificate, and takes users with a certificate of the same
    authority.
    """

    lab: SshdLab
    root: Path

    @property
    def place(self) -> str:
        return f"[127.0.0.1]:{self.lab.hosts[0].port}"

    def address(self, known: Sequence[str], *lines: str) -> HostAddress:
        """The host by a known_hosts file and lines of a configuration."""
        (self.root / "known").write_text("".join(f"{line}\n" for line in known))
        text = f"UserKnownHostsFile {self.root / 'known'}\n" + "".join(
            f"{line}\n" for line in lines
        )
        (self.root / "config").write_text(text + self.lab.ssh_config.read_text())
        return HostAddress(name="h1", ssh_config=str(self.root / "config"))


def restart(lab: SshdLab, *lines: str) -> None:
    """Start the lab's host again with more options."""
    host = lab.hosts[0]
    host.options = lines
    host.stop()
    host.start()
    lab.write_config()


@pytest.fixture
def certified(tmp_path: Path) -> Iterator[Certified]:
    with SshdLab(tmp_path / "lab", hosts=1) as lab:
        host = lab.hosts[0]
        made = AUTHORITY.generate_host_certificate(host.key, "h1", principals=["127.0.0.1"])
        (host.root / "host_key-cert.pub").write_bytes(made.export_certificate())
        (host.root / "authority.pub").write_bytes(AUTHORITY.export_public_key())
        restart(
            lab,
            f"HostCertificate {host.root / 'host_key-cert.pub'}",
            f"TrustedUserCAKeys {host.root / 'authority.pub'}",
        )
        yield Certified(lab, tmp_path)


async def connects(address: HostAddress) -> bool:
    async with Connections() as connections:
        await connections.connect(address)
    return True


async def refusal(address: HostAddress) -> HostError:
    async with Connections() as connections:
        with pytest.raises(HostError) as caught:
            await connections.connect(address)
    assert caught.value.message.isprintable()
    return caught.value


async def test_certificate_of_an_authority_is_taken(certified: Certified) -> None:
    assert await connects(
        certified.address([f"@cert-authority {certified.place} {public(AUTHORITY)}"])
    )
    assert await connects(certified.address([f"@cert-authority [127.0.0.*]:* {public(AUTHORITY)}"]))


async def test_certificate_of_another_authority_is_an_unknown_key(certified: Certified) -> None:
    error = await refusal(certified.address([f"@cert-authority {certified.place} {public(OTHER)}"]))
    assert error.code == "host-key-unknown" and "authority" in error.message.lower().replace(
        "ca key", "authority"
    )


async def test_key_on_file_is_enough_where_an_authority_is_on_file_too(
    certified: Certified,
) -> None:
    """ssh takes the plain key of a host whose certificate is of another authority."""
    lines = [
        f"@cert-authority {certified.place} {public(OTHER)}",
        certified.lab.hosts[0].known_hosts_line.strip(),
    ]
    assert await connects(certified.address(lines))


async def test_revoked_authority_is_refused(certified: Certified) -> None:
    lines = [
        f"@cert-authority {certified.place} {public(AUTHORITY)}",
        f"@revoked * {public(AUTHORITY)}",
    ]
    assert (await refusal(certified.address(lines))).code == "host-key-revoked"


async def test_certificate_for_another_name_is_refused_with_the_reason(
    certified: Certified,
) -> None:
    host = certified.lab.hosts[0]
    made = AUTHORITY.generate_host_certificate(host.key, "h1", principals=["elsewhere.example.com"])
    (host.root / "host_key-cert.pub").write_bytes(made.export_certificate())
    restart(certified.lab, f"HostCertificate {host.root / 'host_key-cert.pub'}")
    error = await refusal(
        certified.address([f"@cert-authority {certified.place} {public(AUTHORITY)}"])
    )
    assert error.code == "host-key-unknown" and "principal" in error.message


async def test_revoked_host_keys_file_is_obeyed(certified: Certified) -> None:
    revoked = certified.root / "revoked"
    known = [certified.lab.hosts[0].known_hosts_line.strip()]
    revoked.write_text(f"{public(OTHER)}\n# comment\n{certified.lab.hosts[0].public_key} of h1\n")
    option = f"RevokedHostKeys {revoked}"
    assert (await refusal(certified.address(known, option))).code == "host-key-revoked"
    revoked.write_text(f"{public(OTHER)}\n")
    assert await connects(certified.address(known, option))
    revoked.unlink()
    assert str(revoked) in (await refusal(certified.address(known, option))).message


async def test_user_certificate_is_offered(certified: Certified) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    path = certified.root / "user"
    path.write_bytes(key.export_private_key())
    path.chmod(0o600)
    made = AUTHORITY.generate_user_certificate(key, "me", principals=[certified.lab.user])
    (certified.root / "elsewhere-cert.pub").write_bytes(made.export_certificate())
    known = [certified.lab.hosts[0].known_hosts_line.strip()]
    lines = (
        "IdentitiesOnly yes",
        "IdentityFile none",
        f"CertificateFile {certified.root}/elsewhere-cert.pub",
    )
    address = certified.address(known, *lines)
    with_key = HostAddress(name="h1", ssh_config=address.ssh_config, identity=str(path))
    assert await connects(with_key)
    (certified.root / "elsewhere-cert.pub").unlink()
    assert (await refusal(with_key)).code == "auth-failed"


async def test_only_keys_that_the_configuration_accepts_are_offered(certified: Certified) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    path = certified.root / "user"
    path.write_bytes(key.export_private_key())
    path.chmod(0o600)
    made = AUTHORITY.generate_user_certificate(key, "me", principals=[certified.lab.user])
    (certified.root / "user-cert.pub").write_bytes(made.export_certificate())
    known = [certified.lab.hosts[0].known_hosts_line.strip()]

    async def tried(algorithms: str) -> str:
        address = certified.address(
            known, f"PubkeyAcceptedAlgorithms {algorithms}", "IdentitiesOnly yes"
        )
        named = HostAddress(name="h1", ssh_config=address.ssh_config, identity=str(path))
        try:
            await connects(named)
        except HostError as error:
            return error.message
        return "connected"

    assert await tried("ssh-ed25519-cert-v01@openssh.com") == "connected"
    before = certified.lab.hosts[0].log.count("Failed publickey")
    assert "PubkeyAcceptedAlgorithms" in await tried("ecdsa-*")
    assert certified.lab.hosts[0].log.count("Failed publickey") == before  # nothing was offered
    # the plain key, which is not authorized
    assert "PubkeyAcceptedAlgorithms" in await tried("ssh-ed25519")
    assert certified.lab.hosts[0].log.count("Failed publickey") == before + 1


async def test_signatures_of_authorities_that_the_configuration_does_not_name_are_refused(
    certified: Certified,
) -> None:
    known = [f"@cert-authority {certified.place} {public(AUTHORITY)}"]
    assert await connects(certified.address(known, "CASignatureAlgorithms ssh-ed25519"))
    error = await refusal(certified.address(known, "CASignatureAlgorithms ecdsa-sha2-nistp256"))
    assert error.code == "host-key-unknown"
    plain = [certified.lab.hosts[0].known_hosts_line.strip()]
    # keys of users go on
    assert await connects(certified.address(plain, "CASignatureAlgorithms ecdsa-sha2-nistp256"))


async def test_key_that_only_an_agent_has_is_offered_by_its_public_half(
    certified: Certified, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = []
    for number in range(8):  # more than MaxAuthTries: with IdentitiesOnly none of them is offered
        path = certified.root / f"other{number}"
        path.write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
        path.chmod(0o600)
        others.append(path)
    (certified.root / "mine.pub").write_bytes((certified.lab.root / "client_key.pub").read_bytes())
    known = [certified.lab.hosts[0].known_hosts_line.strip()]
    address = certified.address(
        known, "IdentitiesOnly yes", f"IdentityFile {certified.root / 'mine'}"
    )
    text = (
        Path(str(address.ssh_config))
        .read_text()
        .replace(f"  IdentityFile {certified.lab.client_key}\n", "")
    )
    Path(str(address.ssh_config)).write_text(text)
    with ssh_agent(certified.root / "agent.sock", [*others, certified.lab.client_key]) as sock:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(sock))
        assert await connects(address)


@pytest.mark.parametrize(
    "user",
    [
        "first.last",
        "bench@corp.example.com",
        r"CORP\bench",
        "odd user",
        "jürgen",
        "x" * 300,
        "-oProxyCommand=x",
        "$(id)",
    ],
)
async def test_odd_user_names_reach_the_server_as_they_are(certified: Certified, user: str) -> None:
    known = [certified.lab.hosts[0].known_hosts_line.strip()]
    address = certified.address(known)
    error = await refusal(HostAddress(name="h1", ssh_config=address.ssh_config, user=user))
    assert error.code == "auth-failed" and user[:50] in error.message
    assert f"user {written(user)[:60]}" in certified.lab.hosts[0].log


def written(user: str) -> str:
    """A name as sshd writes it into its log."""
    plain = {0x5C: "\\\\", **{code: chr(code) for code in range(32, 127) if code != 0x5C}}
    return "".join(plain.get(code) or f"\\{code:03o}" for code in user.encode())


async def test_ipv6_addresses_are_those_of_ssh(tmp_path: Path) -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    with SshdLab(
        tmp_path / "six", hosts=1, extra_config=("ListenAddress ::1", "ListenAddress 127.0.0.1")
    ) as lab:
        known, config = tmp_path / "known", tmp_path / "config"
        known.write_text(f"[::1]:{lab.hosts[0].port} {lab.hosts[0].public_key}\n")
        text = lab.ssh_config.read_text().replace(str(lab.known_hosts), str(known))
        for host in ("::1", "0:0:0:0:0:0:0:1"):
            config.write_text(text.replace("HostName 127.0.0.1", f"HostName {host}"))
            assert await connects(HostAddress(name="h1", ssh_config=str(config)))


def test_address_with_a_scope_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("HostName fe80::1%%eth9\n")
    assert resolve(HostAddress(name="h1"), path, ()).host == "fe80::1%eth9"


async def test_certificate_of_a_key_that_an_agent_has_is_offered(
    certified: Certified, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    path = certified.root / "held"
    path.write_bytes(key.export_private_key())
    path.chmod(0o600)
    made = AUTHORITY.generate_user_certificate(key, "me", principals=[certified.lab.user])
    (certified.root / "held.pub").write_bytes(key.export_public_key())
    known = [certified.lab.hosts[0].known_hosts_line.strip()]
    address = HostAddress(
        name="h1", ssh_config=certified.address(known).ssh_config, identity=str(path)
    )
    with ssh_agent(certified.root / "agent.sock", [path]) as sock:
        path.unlink()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(sock))
        assert (await refusal(address)).code == "auth-failed"
        (certified.root / "held-cert.pub").write_bytes(made.export_certificate())
        assert await connects(address)
