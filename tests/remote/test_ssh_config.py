"""SSH configurations: read once and matched per host, with the same result as asyncssh's own loader."""

from __future__ import annotations

import getpass
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from asyncssh.agent import SSHAgentKeyPair
from asyncssh.config import SSHClientConfig
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tui.engine.hosts.ssh_names import words_in
from tui.model.address import HostAddress
from tui.remote.keys import AgentKeyPair
from tui.remote.sshconfig import Keyring, resolve
from tui.remote.sshfile import ConfigFiles, HostConfig
from tui.remote.transport import HostError

LINES = st.sampled_from(
    [
        "Host web1",
        "Host web1 web2",
        "Host WEB1",
        "host\tweb2 # comment",
        "Host=web1",
        '"Host" web2',
        "=Host web1",
        "\x0bHost web1",
        "Host web* !web2",
        "Host web2,web1",
        "Host *",
        "Host",
        "Match host web1",
        "Match exec true",
        "Match exec false user root",
        "Match originalhost web2",
        "Match final",
        "HostName 10.0.0.%%",
        "  HostName %h.example",
        "  Port 2222",
        "  Port = 2223",
        "  Port nonsense",
        "  User 'quoted name'",
        "  User unclosed'",
        "  IdentityFile ~/.ssh/%h-%n-%r",
        "  IdentityFile one two",
        "  ProxyJump bastion",
        "  ProxyCommand ssh -W %h:%p b",
        "  Compression maybe",
        "# gr\u00fc\u00dfe",
        "",
        "Include ANOTHER",
    ]
)


def theirs(path: Path, name: str) -> object:
    none: Any = None
    try:
        config = SSHClientConfig.load(none, [path], False, False, False, getpass.getuser(), "root", name, 7)
    except asyncssh.ConfigParseError as error:
        return str(error)
    return config.get_options(False)


def ours(path: Path, name: str, files: ConfigFiles) -> object:
    config = HostConfig(files, getpass.getuser(), "root", name, 7)
    try:
        config.parse(path)
    except asyncssh.ConfigParseError as error:
        return str(error)
    return config.get_options(False)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, max_size=14), st.lists(LINES.filter(lambda line: "Include" not in line), max_size=6))
@example(["Host web1", "  Port 1", "Include ANOTHER", "  User x"], ["Host web2", "  Port 2"])
def test_result_is_that_of_asyncssh(tmp_path: Path, lines: list[str], other: list[str]) -> None:
    path, another = tmp_path / "config", tmp_path / "other"
    path.write_text("\n".join(lines).replace("ANOTHER", str(another)))
    another.write_text("\r\n".join(other))
    files = ConfigFiles()
    for name in ("web1", "web2", "db"):
        assert ours(path, name, files) == theirs(path, name)


def test_each_file_is_read_once_for_all_hosts(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("".join(f"Host h{number}\n  Port {1000 + number}\n" for number in range(50)))
    files = ConfigFiles()
    first = resolve(HostAddress(name="h1"), path, (), files)
    path.unlink()
    found = [resolve(HostAddress(name=f"h{number}"), path, (), files).port for number in range(50)]
    assert found == [1000 + number for number in range(50)]
    assert first.port == 1001


def test_lines_of_other_hosts_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("".join(f"Host h{number}\n  Port 22\n" for number in range(500)))
    text = ConfigFiles().text(path, "h7")
    assert [line for line in text.splitlines() if line] == [b"Host h7", b"  Port 22"]
    assert text.count(b"\n") >= 1000, "line numbers stay"


@pytest.mark.parametrize("text", ["Include {path}", "Include {folder}/*"], ids=["by-name", "by-pattern"])
def test_file_that_includes_itself_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text.format(path=path, folder=tmp_path))
    with pytest.raises(HostError, match="includes itself"):
        resolve(HostAddress(name="h1"), path, ())
    assert list(words_in(path)) == []


def test_files_that_multiply_are_told(tmp_path: Path) -> None:
    for number in range(20):
        again = f"{tmp_path}/{number + 1}"
        (tmp_path / str(number)).write_text(f"Include {again} {again}\nHost h{number}\n")
    with pytest.raises(HostError, match="too many files"):
        resolve(HostAddress(name="h1"), tmp_path / "0", ())
    assert sorted(words_in(tmp_path / "0")) == sorted(f"h{number}" for number in range(20))


def test_control_characters_of_a_configuration_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("Host bad\x1b[2Jname good\n  Port \x1b]0;title\x07\n")
    with pytest.raises(HostError) as caught:
        resolve(HostAddress(name="good"), path, ())
    assert caught.value.message.isprintable()
    assert list(words_in(path)) == ["good"]


def test_include_never_searches_a_whole_file_system(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "config").write_text("Host deep\n  Port 2222\n")
    path = tmp_path / "main"
    path.write_text(f"Include {tmp_path}/**/config\n")
    assert resolve(HostAddress(name="deep"), path, ()).port == 22
    assert list(words_in(path)) == []


def test_a_home_directory_of_nobody_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "config"
    files = {"IdentityFile": "key", "CertificateFile": "key-cert.pub", "IdentityAgent": "agent"}
    path.write_text("".join(f"{option} ~no-such-user/{name}\n" for option, name in files.items()))
    found = resolve(HostAddress(name="h1"), path, ())
    keys, whys = Keyring().client_keys(found)
    assert keys == [] and [str(why) for why in whys] == [f"{Path.cwd()}/~no-such-user/key: No such file or directory"]
    named = HostAddress(name="h1", identity="~no-such-user/key")
    assert resolve(named, path, ()).identities == found.identities
    path.write_text("Include ~no-such-user/config\nHost h1\n")
    with pytest.raises(HostError, match="home directory"):
        resolve(HostAddress(name="h1"), path, ())
    assert list(words_in(path)) == ["h1"]


def test_private_parts_of_asyncssh_that_we_use_are_there(tmp_path: Path) -> None:
    """asyncssh is pinned to one minor version for these; a new one is tried with this test first."""
    config = HostConfig(ConfigFiles(), "me", (), "h", ())
    (tmp_path / "c").write_text("Host h\n")
    config.parse(tmp_path / "c")
    assert [name for name in ("_error", "_line_no", "_orig_host") if not hasattr(config, name)] == []
    assert words_of(SSHClientConfig.__init__) == "last_config reload canonical final local_user user host port"
    pair = "algorithm sig_algorithm sig_algorithms host_key_algorithms public_data comment cert"
    assert words_of(asyncssh.SSHKeyPair.__init__).startswith(pair)
    agent: Any = None
    key = asyncssh.generate_private_key("ssh-ed25519").convert_to_public()
    offered = SSHAgentKeyPair(agent, key.algorithm, key.public_data, b"comment")
    copy = AgentKeyPair.of(offered)
    assert vars(copy) == vars(offered) and not copy.signed


def words_of(function: Callable[..., object]) -> str:
    return " ".join(list(inspect.signature(function).parameters)[1:])
