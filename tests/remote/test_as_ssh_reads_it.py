"""SSH configurations mean to benchtui what they mean to ssh: 111 files, compared with `ssh -G -F
FILE HOST`.

BENCHTUI_SSH names another ssh than that of PATH.
"""

from __future__ import annotations

import gzip
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tui.model.address import HostAddress
from tui.remote.ssh_options import ALIASES, HONOURED, OPTIONS
from tui.remote.ssh_settings import ConfigSource, SshSettings
from tui.remote.sshconfig import read_settings
from tui.remote.sshfile import ConfigFiles

SSH = os.environ.get("BENCHTUI_SSH") or shutil.which("ssh")
MANUAL = Path("/usr/share/man/man5/ssh_config.5.gz")
CORPUS = Path(__file__).parents[1] / "data" / "ssh_config"
FILES = sorted(path.name for path in CORPUS.iterdir() if path.is_file())
HOSTS = ("node-1", "node-2", "node-10", "x.tele.example.com")
LISTS = ("identityfile", "certificatefile")
PATHS = ("userknownhostsfile", "globalknownhostsfile")
WORDS = tuple(
    name
    for name, option in OPTIONS.items()
    if option.fate == HONOURED and name not in (*LISTS, *PATHS)
)
NOT_PRINTED = (
    "refuseconnection",
    "revokedhostkeys",
    "casignaturealgorithms",
    "hostname",
    "port",
    "user",
    "proxyjump",
)
EXPANDED_BY_SSH = (
    "ciphers",
    "macs",
    "kexalgorithms",
    "hostkeyalgorithms",
    "pubkeyacceptedalgorithms",
)
TRUE = {"true": "yes", "false": "no"}

pytestmark = pytest.mark.skipif(SSH is None, reason="no ssh")


def as_ssh(path: Path, host: str) -> dict[str, list[str]]:
    """What ssh makes of a file for a host."""
    done = subprocess.run(
        [str(SSH), "-G", "-F", path, host], capture_output=True, text=True, check=False
    )
    if "configuration option: tag" in done.stderr:  # OpenSSH before 9.4
        return {}
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        key = key.lower()
        found.setdefault(ALIASES.get(key, key), []).append(value)
    return found


def as_benchtui(path: Path, host: str) -> SshSettings:
    return read_settings(HostAddress(name=host), [ConfigSource(path)], ConfigFiles())


def differences(path: Path, host: str) -> Iterator[str]:
    """Where the two differ."""
    theirs, ours = as_ssh(path, host), as_benchtui(path, host)
    if not theirs:
        return
    always = {"hostname": ours.hostname, "port": str(ours.number("port", 22)), "user": ours.user}
    for name, value in always.items():
        if [value] != theirs[name]:
            yield f"{name}: {value!r}, ssh {theirs[name]}"
    yield from jumps(ours, theirs.get("proxyjump", []))
    for name in (*LISTS, *PATHS):
        if (found := ours.words(name)) is not None and printed(ours, name, found) != home_of(
            name, theirs.get(name, [])
        ):
            yield f"{name}: {found}, ssh {theirs.get(name)}"
    for name in WORDS:
        if name in NOT_PRINTED or name in EXPANDED_BY_SSH:
            continue
        value = (ours.words(name) or ("",))[0]
        if value and not same(value, theirs.get(name, [""])[0]):
            yield f"{name}: {value!r}, ssh {theirs.get(name)}"


def jumps(ours: SshSettings, theirs: list[str]) -> Iterator[str]:
    """Where ProxyJump differs: ssh prints no scheme, and nothing for `none`."""
    text = ours.text("proxyjump").removeprefix("ssh://").removeprefix("none")
    if [text] != (theirs or [""]):
        yield f"proxyjump: {text!r}, ssh {theirs}"


def printed(ours: SshSettings, name: str, found: tuple[str, ...]) -> list[str]:
    """Values as ssh prints them: keys as they stand, known_hosts files with their tokens
    replaced.
    """
    return list(found) if name in LISTS else [ours.path(name, each) for each in found or ("none",)]


def home_of(name: str, values: list[str]) -> list[str]:
    if name in LISTS:
        return values
    return [str(Path(each).expanduser()) for line in values for each in line.split()]


def same(value: str, theirs: str) -> bool:
    if theirs == "" and value.lower() == "none":  # what asks for nothing is not printed
        return True
    theirs = "0" if theirs == "none" and value.isdigit() else theirs.replace(str(Path.home()), "~")
    return TRUE.get(theirs, theirs).lower() == TRUE.get(value, value).lower()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files, with the place of the parts that they include, and permissions that ssh takes."""
    folder = tmp_path_factory.mktemp("ssh_config")
    (folder / "parts").mkdir()
    for path in CORPUS.rglob("*"):
        if path.is_file():
            copy = folder / path.relative_to(CORPUS)
            copy.write_bytes(path.read_bytes().replace(b"@DIR@", str(folder).encode()))
            copy.chmod(0o600)
    return folder


def test_a_hundred_configurations_mean_what_they_mean_to_ssh(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what ssh goes by, whatever HOME says
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    pairs = [
        (name, host)
        for name in FILES
        for host in HOSTS[: 4 if "tele" in name else 3 if "wildcard" in name else 2]
    ]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda pair: [*differences(corpus / pair[0], pair[1])], pairs))
    wrong = [
        f"{name} {host} {what}"
        for (name, host), each in zip(pairs, found, strict=True)
        for what in each
    ]
    assert len(FILES) >= 100 and wrong == []


@pytest.mark.parametrize(
    ("jump", "host"),
    [
        ("gate", "gate"),
        ("u@gate:2200", "gate"),
        ("ssh://gate:2200", "gate"),
        ("a,u@[fe80::1]:2200", "fe80::1"),
        ("none", ""),
    ],
)
def test_the_last_bastion_is_a_host_without_user_and_port(
    tmp_path: Path, jump: str, host: str
) -> None:
    path = tmp_path / "config"
    path.write_text(f"ProxyJump {jump}\n")
    assert as_benchtui(path, "h").last_jump == host


def test_every_option_that_ssh_prints_is_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("ProxyJump b\nIdentityAgent a\nControlPath c\nLocalForward 1 b:2\nSendEnv A\n")
    unknown = set(as_ssh(path, "h")) - set(OPTIONS) - set(ALIASES)
    assert unknown == {"host"} - set(OPTIONS)


@pytest.mark.skipif(not MANUAL.is_file(), reason="no manual page of ssh_config")
def test_every_option_of_the_manual_is_in_the_table() -> None:
    named = re.findall(
        r"^\.It Cm ([A-Z]\w+)$", gzip.decompress(MANUAL.read_bytes()).decode(), re.MULTILINE
    )
    assert len(named) > 90 and [name for name in named if name.lower() not in OPTIONS] == []
