"""What a logout would take away from a run: told before it is launched."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.agent import ssh_agent
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S
from tui.engine.preflight import logout
from tui.engine.preflight.logout import is_forwarded
from tui.model.address import HostAddress
from tui.remote.connections import Connections

NO_BUS = {"USER": "bench", "PATH": "/nonexistent"}
SESSION = "0::/user.slice/user-1000.slice/session-3.scope\n"
MANAGED = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-u1.scope\n"


def machine(root: Path, *, kills: str = "yes", cgroup: str = SESSION, linger: bool = False) -> Path:
    """The files of a machine with systemd, as far as a logout depends on them."""
    files = {
        "run/systemd/system/x": "",
        "etc/systemd/logind.conf": f"[Login]\nKillUserProcesses={kills}\n",
        "proc/self/cgroup": cgroup,
        **({"var/lib/systemd/linger/bench": ""} if linger else {}),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_nothing_is_reported_without_systemd(tmp_path: Path) -> None:
    assert logout.logout_warning(NO_BUS, tmp_path) is None


def test_nothing_is_reported_where_processes_are_kept(tmp_path: Path) -> None:
    assert logout.logout_warning(NO_BUS, machine(tmp_path, kills="no")) is None


def test_root_is_left_alone_by_systemd(tmp_path: Path) -> None:
    assert logout.logout_warning({**NO_BUS, "USER": "root"}, machine(tmp_path)) is None


@pytest.mark.parametrize(
    ("cgroup", "linger", "ends"),
    [(SESSION, False, True), (SESSION, True, True), (MANAGED, False, True), (MANAGED, True, False)],
)
def test_a_run_survives_only_outside_the_session_and_with_linger(
    tmp_path: Path, cgroup: str, linger: bool, ends: bool
) -> None:
    root = machine(tmp_path, cgroup=cgroup, linger=linger)
    assert logout.ends_at_logout(NO_BUS, root) is ends
    assert ("systemd-run --user --scope" in (logout.logout_warning(NO_BUS, root) or "")) is ends


@pytest.mark.parametrize(
    ("text", "kills"),
    [
        ("", None),
        ("[Login]\n#KillUserProcesses=no\n", False),
        ("[Login]\n#KillUserProcesses=yes\n", True),
        ("[Login]\n#KillUserProcesses=no\n[Login]\nKillUserProcesses=yes\n", True),
        ("[Login]\nKillUserProcesses=yes\n[Login]\nKillUserProcesses=no\n", False),
    ],
)
def test_logind_files_are_read_as_systemd_does(text: str, kills: bool | None) -> None:
    assert logout.last_setting(text) is kills


@pytest.fixture
def own_agent(tmp_path: Path, lab: SshdLab) -> Iterator[Path]:
    """A real ssh-agent of this machine that holds the lab's key."""
    with ssh_agent(tmp_path / "agent.sock", [lab.client_key]) as path:
        yield path


@pytest.fixture
def forwarded(lab: SshdLab, own_agent: Path, tmp_path: Path) -> Iterator[Path]:
    """The socket of that agent, forwarded to a session on h1 by a real ssh."""
    if shutil.which("ssh") is None:
        pytest.skip("no ssh on this machine")
    told = tmp_path / "socket"
    script = f"echo $SSH_AUTH_SOCK > {told}.new; mv {told}.new {told}; exec cat"
    environ = {**os.environ, "SSH_AUTH_SOCK": str(own_agent)}
    session = subprocess.Popen(
        ["ssh", "-A", "-F", lab.ssh_config, "h1", script], env=environ, stdin=subprocess.PIPE
    )
    wait_for(told)
    yield Path(told.read_text().strip())
    session.communicate(timeout=PATIENCE_S)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.02)


def test_an_agent_of_this_machine_is_not_forwarded(own_agent: Path) -> None:
    assert not is_forwarded(str(own_agent), {"SSH_CONNECTION": "::1 1 ::1 22"})


def test_a_forwarded_agent_is_recognised_by_who_listens(forwarded: Path, tmp_path: Path) -> None:
    assert is_forwarded(str(forwarded), {})
    link = tmp_path / "auth_sock"  # as people keep one for tmux
    link.symlink_to(forwarded)
    assert is_forwarded(str(link), {})


def test_where_the_owner_is_hidden_the_name_decides(tmp_path: Path) -> None:
    inside = {"SSH_CONNECTION": "::1 1 ::1 22"}
    assert is_forwarded("/tmp/ssh-AbCdEf/agent.99999999", inside)
    assert not is_forwarded("/tmp/ssh-AbCdEf/agent.99999999", {})
    assert is_forwarded("/home/me/.ssh/agent/s.Xy12.sshd.Zz34", {})
    assert not is_forwarded("/home/me/.ssh/agent/s.Xy12.agent.Zz34", inside)
    assert not is_forwarded("/run/user/1000/keyring/ssh", inside)


async def warning(
    lab: SshdLab, agent: Path, hosts: list[HostAddress], monkeypatch: pytest.MonkeyPatch
) -> str | None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent))
    async with Connections() as connections:
        return await logout.agent_warning(hosts, connections, os.environ)


def by_agent_alone(lab: SshdLab, tmp_path: Path) -> list[HostAddress]:
    """Hosts whose configuration names no key file that could be used."""
    path = tmp_path / "config"
    lines = lab.ssh_config.read_text().splitlines()
    path.write_text("\n".join(line for line in lines if "Identit" not in line))
    return [HostAddress(name=name, ssh_config=str(path)) for name in lab.names]


async def test_hosts_that_take_a_key_of_a_forwarded_agent_are_named(
    lab: SshdLab, forwarded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lab.host("h2").log.count("Accepted publickey")
    monkeypatch.setenv("HOME", str(tmp_path))
    text = await warning(lab, forwarded, by_agent_alone(lab, tmp_path), monkeypatch)
    assert text is not None and "forwarded agent" in text and "(used by h1)" in text
    assert lab.host("h2").log.count("Accepted publickey") == before  # one host of a kind is enough


async def test_nothing_is_reported_when_a_key_file_lets_us_in(
    lab: SshdLab, forwarded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await warning(lab, forwarded, lab.addresses(), monkeypatch) is None


async def test_nothing_is_reported_of_an_agent_of_this_machine(
    lab: SshdLab, own_agent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await warning(lab, own_agent, by_agent_alone(lab, tmp_path), monkeypatch) is None
