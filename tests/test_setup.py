"""`.ci/setup`: what `make demo` and `make test` do before anything else, in a sandbox of its own.

The sandbox is a PATH with the usual utilities, without fio and without a package manager unless a
test puts one there. A `pip` module in the project's folder stands in for the real one, so that
nothing is fetched: it writes down its arguments and leaves the command that an install leaves. A
venv is made without pip: unpacking it takes seconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parent.parent
UTILITIES = ["sh", "cat", "cksum", "dirname", "env", "id", "ln", "mktemp", "rm", "tail", "true"]
PIP = """
import os, sys
if "install" in sys.argv:
    open("pip.log", "a").write(" ".join(sys.argv[1:]) + "\\n")
    open(".venv/bin/benchtui", "w").close()
    os.chmod(".venv/bin/benchtui", 0o755)
"""


@dataclass
class Sandbox:
    """A project folder and the only folder on PATH."""

    tree: Path
    bin: Path

    def script(self, name: str, text: str) -> None:
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.bin / name).chmod(0o755)

    def setup(self, purpose: str = "demo") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.tree / ".ci" / "setup", purpose],
            env={"PATH": str(self.bin), "HOME": str(self.tree), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    @property
    def pip_log(self) -> list[str]:
        log = self.tree / "pip.log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    made = Sandbox(tmp_path / "tree", tmp_path / "bin")
    (made.tree / ".ci").mkdir(parents=True)
    (made.tree / "tui").mkdir()
    (made.tree / "tui" / "thing.py").write_text("x = 1\n")
    (made.tree / "pip.py").write_text(PIP)
    shutil.copy(ROOT / ".ci" / "setup", made.tree / ".ci" / "setup")
    shutil.copy(ROOT / "pyproject.toml", made.tree)
    made.bin.mkdir()
    for name in UTILITIES:
        (made.bin / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    made.script(
        "python3",
        f'[ "$1 $2" != "-m venv" ] || set -- "$@" --without-pip\nexec "{sys.executable}" "$@"',
    )
    return made


def test_a_machine_without_root_rights_is_told_what_to_install(sandbox: Sandbox) -> None:
    sandbox.script("apt-get", "exit 100")
    sandbox.script("id", "echo 1000")
    done = sandbox.setup()
    assert done.returncode == 1
    assert (
        done.stderr
        == "benchtui: please install fio: there are no root rights here and no sudo without a"
        " password\n"
    )


def test_a_sudo_that_asks_for_a_password_is_not_used_without_a_terminal(sandbox: Sandbox) -> None:
    sandbox.script("apt-get", "exit 100")
    sandbox.script("id", "echo 1000")
    sandbox.script("sudo", "echo sudo: a password is required >&2; exit 1")
    done = sandbox.setup()
    assert done.returncode == 1
    assert done.stderr.startswith("benchtui: please install fio: ")
    assert done.stderr.count("\n") == 1


def test_an_unknown_package_manager_is_told_what_to_install(sandbox: Sandbox) -> None:
    done = sandbox.setup()
    assert done.returncode == 1
    assert done.stderr.startswith("benchtui: please install fio: this system's package manager")
    assert done.stderr.count("\n") == 1


def test_no_python_is_one_sentence(sandbox: Sandbox) -> None:
    sandbox.script("python3", "exit 1")  # as an old one answers to the question whether it is 3.11
    done = sandbox.setup()
    assert done.returncode == 1
    assert done.stderr.startswith("benchtui: please install Python 3.11 or newer")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("manager", "arguments"),
    [
        (
            "apt-get",
            (
                "install -y -qq --no-install-recommends -o Acquire::Retries=3 -o"
                " DPkg::Lock::Timeout=120 fio"
            ),
        ),
        ("dnf", "install -y -q fio"),
        ("yum", "install -y -q fio"),
        ("zypper", "--non-interactive --quiet install --no-recommends fio"),
        ("apk", "add --quiet --no-cache fio"),
        ("pacman", "-Sy --noconfirm --needed --quiet fio"),
    ],
)
def test_only_what_is_missing_is_asked_for_and_quietly(
    sandbox: Sandbox, manager: str, arguments: str
) -> None:
    sandbox.script("id", "echo 0")
    sandbox.script(manager, f'echo "{manager} $*" >>calls; exit 1')
    assert sandbox.setup().returncode == 1
    assert (sandbox.tree / "calls").read_text().splitlines()[-1] == f"{manager} {arguments}"


def test_a_user_with_sudo_gets_what_is_missing_and_the_project(sandbox: Sandbox) -> None:
    sandbox.script("id", "echo 1000")
    sandbox.script("sudo", 'echo "sudo $*" >>calls; test "$1" = -n && shift; exec "$@"')
    sandbox.script("dnf", f'ln -s "$(command -v true)" {sandbox.bin}/fio')
    done = sandbox.setup()
    assert done.returncode == 0, done.stderr
    assert (sandbox.tree / "calls").read_text().splitlines() == [
        "sudo -n true",
        "sudo -n dnf install -y -q fio",
    ]
    assert done.stderr.splitlines() == [
        "benchtui: installing fio",
        "benchtui: installing benchtui into .venv",
    ]
    assert done.stdout == ""


def test_a_package_manager_that_fails_is_quoted_and_what_it_did_not_bring_named(
    sandbox: Sandbox,
) -> None:
    sandbox.script("id", "echo 0")
    sandbox.script("apt-get", "echo 'E: Unable to locate package fio' >&2; exit 100")
    done = sandbox.setup()
    assert done.returncode == 1
    assert "E: Unable to locate package fio" in done.stderr
    assert done.stderr.splitlines()[-1] == "benchtui: please install fio: apt-get did not bring it"


@pytest.fixture
def ready(sandbox: Sandbox) -> Sandbox:
    """A sandbox that has been set up, on a venv without pip: the stand-in is used, and compiling
    pip takes seconds.
    """
    sandbox.script("fio", "echo fio-3.33")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", sandbox.tree / ".venv"], check=True
    )
    done = sandbox.setup()
    assert done.returncode == 0, done.stderr
    assert len(sandbox.pip_log) == 1
    return sandbox


def test_the_second_time_nothing_is_installed_and_nothing_said(ready: Sandbox) -> None:
    done = ready.setup()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(ready.pip_log) == 1


def test_a_changed_pyproject_is_installed_again(ready: Sandbox) -> None:
    with (ready.tree / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert ready.setup().returncode == 0
    assert len(ready.pip_log) == 2


def test_a_tree_that_was_moved_is_installed_again(ready: Sandbox, tmp_path: Path) -> None:
    shutil.copytree(ready.tree, tmp_path / "moved", symlinks=True)
    moved = Sandbox(tmp_path / "moved", ready.bin)
    assert moved.setup().returncode == 0
    assert len(moved.pip_log) == 2


def test_a_venv_without_its_python_is_created_again(ready: Sandbox) -> None:
    for name in ("python", "python3"):
        (ready.tree / ".venv" / "bin" / name).unlink()
        (ready.tree / ".venv" / "bin" / name).symlink_to("/nonexistent/python3")
    assert ready.setup().returncode == 0
    assert os.access(ready.tree / ".venv" / "bin" / "python", os.X_OK)


def test_the_package_is_compiled_though_the_environment_says_not_to(ready: Sandbox) -> None:
    assert list((ready.tree / "tui").rglob("*.pyc")) != []
