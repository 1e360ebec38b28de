"""Runs on hosts that want a password or a passphrase: asked for on a real terminal, once, and never
kept anywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest

from tests.app.tmux import Terminal
from tests.e2e.command import benchtui, journal_has, measures, only_run
from tests.lab.accounts import BY_PASSWORD, with_password
from tests.lab.faults import kill
from tests.lab.faults_run import LOAD
from tests.lab.sshd import SshdLab
from tests.patience import wait_until
from tests.samples.journals import told_in

pytestmark = pytest.mark.e2e
SECRET = "hunter2-very-secret"


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshdLab]:
    """Two hosts that take a password and nothing else."""
    root = tmp_path_factory.mktemp("walled")
    with SshdLab(
        root / "lab", hosts=2, extra_config=BY_PASSWORD, wrapper=with_password(root, SECRET)
    ) as lab:
        yield lab


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    return path


def load(lab: SshdLab, target: Path, hosts: str = "h[1-2]", runtime: str = "3s") -> list[str]:
    places = ["--hosts", hosts, "--ssh-config", str(lab.ssh_config), "--set", f"directory={target}"]
    return ["run", str(LOAD), *places, "--set", f"runtime={runtime}", "--lease", "20s"]


def terminal(folder: Path, *arguments: str) -> Terminal:
    shared = {"BENCHTUI_LOCKS": os.environ["BENCHTUI_LOCKS"]}
    return Terminal(folder, *arguments, size="120x36", environ=shared)


def exit_code(screen: Terminal) -> int:
    screen.wait_until(
        lambda: screen.code_file.exists() and screen.code_file.read_text().strip() != "",
        "an exit code",
    )
    return int(screen.code_file.read_text())


def run_of(home: Path) -> Path:
    """The run of this home, once its engine has begun it."""
    wait_until(lambda: any(home.glob("runs/*/journal.jsonl")), "a run")
    return only_run(home)


def places_of(secret: str, folder: Path) -> list[str]:
    """Every file under a folder, and every process's words and environment, that a secret stands
    in.
    """
    needle = secret.encode()
    files = [path for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()]
    found = [str(path) for path in files]
    for entry in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                if needle in (entry / name).read_bytes():
                    found.append(str(entry / name))
            except OSError:
                continue
    return found


def test_password_is_asked_once_kept_nowhere_and_used_to_reconnect(
    walled: SshdLab, tmp_path: Path, target: Path
) -> None:
    home = tmp_path / "home"
    with terminal(tmp_path, *load(walled, target, runtime="5s")) as screen:
        screen.wait_for("Password:")
        screen.keys(SECRET, "Enter")
        run_dir = run_of(home)
        wait_until(lambda: measures(run_dir), "a measurement")
        assert places_of(SECRET, home) == []
        for pid in walled.host("h1").sessions():
            kill(pid)
        assert exit_code(screen) == 0
        assert SECRET not in screen.screen()
        assert screen.screen().count("Password:") <= 1, "once; it may have left the screen"
    told = (run_dir / "journal.jsonl").read_text()
    assert "reconnected" in told and '"state":"complete"' in told
    assert "connection lost: connection lost" not in told
    assert places_of(SECRET, home) == []


def test_without_a_terminal_each_host_says_what_it_wants(
    walled: SshdLab, tmp_path: Path, target: Path
) -> None:
    done = benchtui(tmp_path / "home", *load(walled, target))
    assert done.returncode == 3
    run_dir = only_run(tmp_path / "home")
    assert journal_has(run_dir, '"code":"password-needed"')
    for name in ("h1", "h2"):
        (text,) = told_in(run_dir, name)
        assert "ssh-copy-id" in text


def test_check_without_a_terminal_says_what_each_host_wants(
    walled: SshdLab, tmp_path: Path
) -> None:
    done = benchtui(
        tmp_path / "home", "hosts", "check", "h[1-2]", "--ssh-config", walled.ssh_config
    )
    assert done.returncode == 3
    assert (
        len(re.findall(r"h[12] +FAIL .*accepts a password, but there is no terminal", done.stdout))
        == 2
    )


def test_check_asks_for_a_passphrase_once(lab: SshdLab, tmp_path: Path) -> None:
    key = tmp_path / "locked"
    key.write_bytes(
        asyncssh.read_private_key(lab.client_key).export_private_key(passphrase=SECRET, rounds=50)
    )
    config = tmp_path / "config"
    config.write_text(
        lab.ssh_config.read_text().replace(f"IdentityFile {lab.client_key}", f"IdentityFile {key}")
    )
    with terminal(tmp_path, "hosts", "check", "h[1-4]", "--ssh-config", str(config)) as screen:
        screen.wait_for("Passphrase:")
        screen.keys("not-this-one", "Enter")
        # behind a path, which may fill the line
        told = "wrong passphrase, 2 of 3 tries left"
        screen.wait_until(lambda: "".join(told.split()) in "".join(screen.screen().split()), told)
        screen.keys(SECRET, "Enter")
        assert exit_code(screen) == 0
        assert screen.screen().count("Passphrase:") == 2
        assert "not-this-one" not in screen.screen() and SECRET not in screen.screen()


def test_nothing_typed_ends_the_run_before_it_starts(
    walled: SshdLab, tmp_path: Path, target: Path
) -> None:
    with terminal(tmp_path, *load(walled, target)) as screen:
        screen.wait_for("Password:")
        screen.keys("C-d")
        assert exit_code(screen) == 3
        assert "no input" in screen.screen()


def test_interrupted_prompt_stops_the_run_and_leaves_the_terminal_as_it_was(
    walled: SshdLab, tmp_path: Path, target: Path
) -> None:
    with terminal(tmp_path, *load(walled, target)) as screen:
        screen.wait_for("Password:")
        screen.keys("C-c")
        assert exit_code(screen) != 0
        screen.keys("echo-is-on")
        screen.wait_for("echo-is-on")
    assert '"run_ended"' in (only_run(tmp_path / "home") / "journal.jsonl").read_text()


@pytest.mark.slow
def test_recovering_asks_again(walled: SshdLab, tmp_path: Path, target: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with terminal(first, *load(walled, target, "h1", "8s"), "--detach") as screen:
        screen.wait_for("Password:")
        screen.keys(SECRET, "Enter")
        assert exit_code(screen) == 0
    run_dir = run_of(first / "home")
    journal = run_dir / "journal.jsonl"
    wait_until(lambda: measures(run_dir), "a measurement")
    kill(int((run_dir / "engine.pid").read_text().split()[0]))
    (second / "home").symlink_to(first / "home")
    with terminal(second, "runs", "recover") as screen:
        screen.wait_for("Password:")
        screen.keys(SECRET, "Enter")
        assert exit_code(screen) == 0
    assert "taken over" in journal.read_text() and '"state":"complete"' in journal.read_text()
