"""SSH configurations: what a value may be, which options are refused, limits of files that include
each other.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from asyncssh.agent import SSHAgentKeyPair
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tui.model.address import HostAddress
from tui.model.problem import UsageError
from tui.remote.keys import AgentKeyPair
from tui.remote.ssh_include import host_words
from tui.remote.ssh_options import ALIASES, OPTIONS, REFUSED
from tui.remote.sshconfig import Keyring, Resolved, resolve
from tui.remote.sshfile import ConfigFiles
from tui.remote.transport import HostError

PIECES = st.sampled_from(
    [
        *(option.name for option in OPTIONS.values()),
        *"=#\"'\\%!*?,[]{}@:~/\t\f\x0b\x1b\u202e\u00fc",
        "${",
        "none",
        "yes",
        "h1",
    ]
)
LINES = st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=6).map(" ".join)
REFUSED_LINES = {
    "bindinterface": "eth0",
    "canonicalizehostname": "yes",
    "knownhostscommand": "/usr/bin/keys %H",
    "proxyusefdpass": "yes",
    "requiredrsasize": "3072",
}


def read(path: Path, *lines: str, name: str = "h1", **more: Any) -> Resolved:
    """How a host is reached by a file with these lines."""
    path.write_text("".join(f"{line}\n" for line in lines))
    return resolve(HostAddress(name=name, **more), path, ())


def refusal(path: Path, *lines: str) -> str:
    with pytest.raises(HostError) as caught:
        read(path, *lines)
    assert caught.value.code == "config"
    return caught.value.message


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(LINES, max_size=8))
@example(["= hHost *"])
@example(["[]"])
@example(["Host", "Match", "Include", "="])
@example(["Host h1", "Port " + "9" * 5000])
@example(["HostName %", "IdentityFile ${HOME"])
@example(["HostName " + "*" * 400, "Match host " + "*a" * 200])
def test_no_text_is_more_than_one_printable_line_of_error(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "config"
    path.write_text(
        "\n".join(line for line in lines if "exec" not in line.lower()), encoding="utf-8"
    )
    try:
        found = resolve(HostAddress(name="h1"), path, ())
    except HostError as error:
        assert error.code == "config" and error.message.isprintable()
    else:
        assert 0 < found.port < 65536


def test_every_refused_option_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "config"
    assert set(REFUSED_LINES) == {
        name for name, option in OPTIONS.items() if option.fate == REFUSED
    }
    for name, value in REFUSED_LINES.items():
        message = refusal(path, "Host h1", f"  {OPTIONS[name].name} {value}")
        assert (
            f"{path} line 2" in message
            and OPTIONS[name].name in message
            and OPTIONS[name].why in message
        )


def test_refused_option_of_another_host_does_no_harm(tmp_path: Path) -> None:
    assert (
        read(tmp_path / "c", "Host other", "  ProxyUseFdpass yes", "Host h1", "  Port 2022").port
        == 2022
    )
    assert (
        read(
            tmp_path / "c", "ProxyUseFdpass no", "BindInterface none", "CanonicalizeHostname no"
        ).port
        == 22
    )


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("Prot 22", "Port"),
        ("Port twenty", "twenty"),
        ("Port 0", "65535"),
        ("Port 22 23", "23"),
        ("ConnectTimeout soon", "soon"),
        ("IdentitiesOnly maybe", "maybe"),
        ("AddressFamily inet5", "inet"),
        ("User", "no value"),
        ("User 'open", "no closing"),
        ("IdentityFile ${NO_SUCH_VARIABLE}/k", "NO_SUCH_VARIABLE"),
        ("HostName %q", "%q"),
        ("ProxyCommand nc %C", "%C"),
        ("ProxyJump b:99999", "b:99999"),
        ("Match hosts h1", "host"),
        ("Match host", "no value"),
        ("Match localnetwork 10.0.0.0/8", "localnetwork"),
        ('Match exec "exit %q"', "%q"),
        ("RefuseConnection closed", "closed"),
        ("KexAlgorithms no-such-kex", "no-such-kex"),
        ("PubkeyAcceptedAlgorithms no-such-key", "no-such-key"),
        ("CASignatureAlgorithms no-such-key", "no-such-key"),
        ("PreferredAuthentications gssapi-with-mic", "publickey"),
        ("Include ~no-such-user/x", "home directory"),
    ],
)
def test_what_ssh_refuses_is_refused_with_its_place(tmp_path: Path, line: str, hint: str) -> None:
    message = refusal(tmp_path / "config", "# comment", line)
    assert f"{tmp_path / 'config'} line 2" in message and hint in message


def test_every_alias_is_of_an_option() -> None:
    assert [name for name in ALIASES.values() if name not in OPTIONS] == []
    assert [name for name in ALIASES if name in OPTIONS] == []


def test_tokens_of_keys_certificates_and_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHERE", "/keys")
    lines = (
        "HostName %h.example.com",
        "User u-%n",
        "Port 2022",
        "IdentityFile ${WHERE}/%r@%h:%p-%n",
        "CertificateFile %d/%u",
    )
    found = read(tmp_path / "config", *lines)
    assert found.user == "u-h1"
    assert found.identities == ("/keys/u-h1@h1.example.com:2022-h1",)
    assert found.certificates == (
        f"{Path.home()}/{os.environ.get('USER', 'root') if os.getuid() else 'root'}",
    )


def test_what_is_given_comes_before_the_configuration(tmp_path: Path) -> None:
    lines = ("HostName 10.0.0.%h", "User a", "Port 1", "Match user b", "HostKeyAlias for-b")
    found = read(tmp_path / "config", *lines, address="10.0.0.9", user="b", port=7)
    assert (found.host, found.user, found.port, found.host_key_alias) == (
        "10.0.0.9",
        "b",
        7,
        "for-b",
    )


@pytest.mark.parametrize(
    ("lines", "methods"),
    [
        ((), "publickey,keyboard-interactive,password"),
        (("PasswordAuthentication no",), "publickey,keyboard-interactive"),
        (("BatchMode yes",), "publickey"),
        (("PreferredAuthentications password,gssapi-with-mic,publickey",), "password,publickey"),
        (("PubkeyAuthentication no", "ChallengeResponseAuthentication no"), "password"),
    ],
)
def test_ways_to_log_in(tmp_path: Path, lines: tuple[str, ...], methods: str) -> None:
    assert read(tmp_path / "config", *lines).methods == methods


def test_algorithms_that_asyncssh_does_not_have_are_left_out(tmp_path: Path) -> None:
    lines = (
        "Ciphers 3des-cbc-none,aes*-ctr",
        "MACs -hmac-md5*",
        "KexAlgorithms sntrup0@x,curve25519-sha256",
    )
    found = dict(read(tmp_path / "config", *lines).algorithms)
    assert found["encryption_algs"] == "aes*-ctr" and found["kex_algs"] == "curve25519-sha256"


@pytest.mark.parametrize(
    ("asked", "offered", "not_offered"),
    [
        ("ssh-ed25519*", "ssh-ed25519-cert-v01@openssh.com", "rsa-sha2-512"),
        ("-ssh-rsa,ssh-dss*", "rsa-sha2-512", "ssh-rsa"),
        ("rsa-sha2-512-cert-v01@openssh.com", "rsa-sha2-512-cert-v01@openssh.com", "rsa-sha2-512"),
        ("no-such-one,ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256", "ssh-ed25519"),
    ],
)
def test_keys_are_offered_by_the_algorithms_that_the_configuration_names(
    tmp_path: Path, asked: str, offered: str, not_offered: str
) -> None:
    found = read(tmp_path / "config", f"PubkeyAcceptedAlgorithms {asked}")
    assert offered in found.key_algorithms and not_offered not in found.key_algorithms
    signs = found.algorithm_options["signature_algs"].split(",")
    assert offered.replace("-cert-v01@openssh.com", "") in signs and "-cert-" not in ",".join(signs)


def test_an_algorithm_that_is_added_takes_none_away(tmp_path: Path) -> None:
    found = read(tmp_path / "config", "PubkeyAcceptedAlgorithms +ssh-rsa").key_algorithms
    assert {"ssh-rsa", "ssh-ed25519", "rsa-sha2-512"} <= set(found)


def test_relative_files_are_where_the_run_was_launched(tmp_path: Path) -> None:
    (tmp_path / "known").write_text("")
    (tmp_path / "ours").write_text("")
    lines: tuple[str, ...] = (
        "IdentityFile k",
        "CertificateFile c",
        "IdentityAgent a",
        "RevokedHostKeys r",
        "ProxyCommand ./jump %h",
    )
    lines += (
        "UserKnownHostsFile known",
        "GlobalKnownHostsFile ours",
        "Match exec 'test -e known'",
        "Port 2022",
    )
    (tmp_path / "config").write_text("".join(f"{line}\n" for line in lines))
    found = resolve(HostAddress(name="h1"), tmp_path / "config", (), directory=tmp_path)
    named = (
        *found.identities,
        *found.certificates,
        found.agent,
        *found.revoked,
        *found.known_hosts,
    )
    assert named == tuple(str(tmp_path / name) for name in ("k", "c", "a", "r", "known", "ours"))
    assert (found.port, found.directory) == (2022, tmp_path)
    by_inventory = resolve(
        HostAddress(name="h1", identity="k"), tmp_path / "config", (), directory=tmp_path
    )
    assert by_inventory.identities == (str(tmp_path / "k"),)


def test_command_of_match_runs_once_for_all_hosts(tmp_path: Path) -> None:
    path, log = tmp_path / "config", tmp_path / "log"
    path.write_text(f'Match exec "echo ran >>{log}"\n  Port 2022\n')
    files = ConfigFiles()
    assert [
        resolve(HostAddress(name=f"h{number}"), path, (), files).port for number in range(5)
    ] == [2022] * 5
    assert log.read_text() == "ran\n"


def test_command_of_match_that_hangs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.remote.ssh_settings.EXEC_TIMEOUT_S", 0.05)
    assert "sleep 7" in refusal(tmp_path / "config", 'Match exec "exec sleep 7"')


@pytest.mark.parametrize("mode", [0o666, 0o660])
def test_included_file_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    part = tmp_path / "part"
    part.write_text("Port 2022\n")
    part.chmod(mode)
    assert "permissions" in refusal(tmp_path / "config", f"Include {part}")


def test_without_a_named_file_the_users_and_the_systems_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("tui.remote.sshconfig.SYSTEM_FOLDER", tmp_path / "etc")
    monkeypatch.setattr("tui.remote.ssh_settings.SYSTEM_FOLDER", tmp_path / "etc")
    for folder, text in (
        (".ssh", "Host h1\n  Port 2022\nInclude more"),
        ("etc", "Port 2023\nInclude more"),
    ):
        (tmp_path / folder).mkdir(mode=0o700)
        (tmp_path / folder / ("config" if folder == ".ssh" else "ssh_config")).write_text(text)
        (tmp_path / folder / "more").write_text(f"IdentityFile {folder}\n")
        for path in (tmp_path / folder).iterdir():
            path.chmod(0o600)
    found = {name: resolve(HostAddress(name=name), None, ()) for name in ("h1", "h2")}
    assert (found["h1"].port, found["h2"].port) == (2022, 2023)
    assert found["h1"].identities == tuple(str(Path.cwd() / name) for name in (".ssh", "etc"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Include /**/*\n", "more than"),
        ("Include /dev/zero\n", ""),
        ("#" * (5 << 20), "larger than"),
    ],
    ids=["whole-file-system", "device", "long-file"],
)
def test_configuration_that_would_fill_the_memory_is_refused(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    files = ConfigFiles()
    if why:
        with pytest.raises(HostError, match=f"{why}|permissions"):
            resolve(HostAddress(name="h1"), path, (), files)
    else:
        assert resolve(HostAddress(name="h1"), path, (), files).port == 22


def test_each_file_is_read_once_for_all_hosts(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("".join(f"Host h{number}\n  Port {1000 + number}\n" for number in range(50)))
    files = ConfigFiles()
    first = resolve(HostAddress(name="h1"), path, (), files)
    path.unlink()
    found = [resolve(HostAddress(name=f"h{number}"), path, (), files).port for number in range(50)]
    assert found == [1000 + number for number in range(50)]
    assert first.port == 1001


@pytest.mark.parametrize(
    "text", ["Include {path}", "Include {folder}/*"], ids=["by-name", "by-pattern"]
)
def test_file_that_includes_itself_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text.format(path=path, folder=tmp_path))
    with pytest.raises(HostError, match="includes itself"):
        resolve(HostAddress(name="h1"), path, ())
    assert list(host_words(path)) == []


def test_files_that_multiply_are_reported(tmp_path: Path) -> None:
    for number in range(13):
        again = f"{tmp_path}/{number + 1}"
        (tmp_path / str(number)).write_text(f"Include {again} {again}\nHost h{number}\n")
    with pytest.raises(HostError, match="more than 1000 files"):
        resolve(HostAddress(name="h1"), tmp_path / "0", ())
    assert sorted(host_words(tmp_path / "0")) == sorted(f"h{number}" for number in range(13))


def test_control_characters_of_a_configuration_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("Host bad\x1b[2Jname good\n  Port \x1b]0;title\x07\n")
    with pytest.raises(HostError) as caught:
        resolve(HostAddress(name="good"), path, ())
    assert caught.value.message.isprintable()
    assert list(host_words(path)) == ["good"]


def test_include_never_searches_a_whole_file_system(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "config").write_text("Host deep\n  Port 2222\n")
    path = tmp_path / "main"
    path.write_text(f"Include {tmp_path}/**/config\n")
    assert resolve(HostAddress(name="deep"), path, ()).port == 22
    assert list(host_words(path)) == []


def test_a_home_directory_of_nobody_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "config"
    files = {"IdentityFile": "key", "CertificateFile": "key-cert.pub", "IdentityAgent": "agent"}
    path.write_text("".join(f"{option} ~no-such-user/{name}\n" for option, name in files.items()))
    found = resolve(HostAddress(name="h1"), path, ())
    keys, whys = Keyring().client_keys(found)
    assert keys == [] and [str(why) for why in whys] == [
        f"{Path.cwd()}/~no-such-user/key: No such file or directory"
    ]
    named = HostAddress(name="h1", identity="~no-such-user/key")
    assert resolve(named, path, ()).identities == found.identities
    path.write_text("Include ~no-such-user/config\nHost h1\n")
    with pytest.raises(HostError, match="home directory"):
        resolve(HostAddress(name="h1"), path, ())
    assert list(host_words(path)) == ["h1"]


def test_private_parts_of_asyncssh_that_we_use_are_there() -> None:
    """asyncssh is pinned to one minor version for these.

    A new one is tried with this test first.
    """
    pair = "algorithm sig_algorithm sig_algorithms host_key_algorithms public_data comment cert"
    assert words_of(asyncssh.SSHKeyPair.__init__).startswith(pair)
    agent: Any = None
    key = asyncssh.generate_private_key("ssh-ed25519").convert_to_public()
    offered = SSHAgentKeyPair(agent, key.algorithm, key.public_data, b"comment")
    copy = AgentKeyPair.of(offered)
    assert vars(copy) == vars(offered) and not copy.signed


def words_of(function: Callable[..., object]) -> str:
    return " ".join(list(inspect.signature(function).parameters)[1:])


@pytest.mark.parametrize("line", ["= hHost *", "=\n[]", 'Match ""', "=", "Include", "Host"])
def test_a_line_without_a_keyword_is_an_error_that_names_it(tmp_path: Path, line: str) -> None:
    path = tmp_path / "config"
    path.write_text(f"{line}\n[]\n")
    try:
        resolve(HostAddress(name="h1"), path, ())
    except HostError as error:
        assert str(path) in str(error)
    list(host_words(path))


def test_files_of_a_configuration_are_limited_together(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(f"Include {tmp_path}/**/*.conf {tmp_path}/more/*\n")
    (tmp_path / "more").mkdir()
    for number in range(9):
        (tmp_path / "more" / f"{number}.conf").write_bytes(b"#" * (1 << 19))
    with pytest.raises(HostError, match="larger than 4 MiB"):
        resolve(HostAddress(name="h1"), path, ())
    with pytest.raises(UsageError, match="larger than 4 MiB"):
        list(host_words(path))


def test_names_of_a_configuration_are_limited_together(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("".join(f"Host h{number}\n" for number in range(20_000)))
    with pytest.raises(UsageError, match="more than 16384 hosts"):
        list(host_words(path))


def test_an_include_looks_at_so_many_names_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tui.remote import ssh_include

    monkeypatch.setattr(ssh_include, "MOST_SCANNED", 10)
    path = tmp_path / "config"
    path.write_text(f"Include {tmp_path}/*/*/nosuch\n")
    for number in range(11):
        (tmp_path / str(number)).mkdir()
    with pytest.raises(HostError, match="more than 10 names"):
        resolve(HostAddress(name="h1"), path, ())
    with pytest.raises(UsageError, match="more than 10 names"):
        list(host_words(path))


def test_a_null_byte_in_an_include_names_no_file(tmp_path: Path) -> None:
    from tui.remote.ssh_include import matching

    assert matching(tmp_path / "a\0b" / "*") == matching(tmp_path / "*" / "a\0b") == []
