"""Login shells that talk, take their time, or are no POSIX shell at all."""

from __future__ import annotations

import getpass
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.sshd import SshdLab
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e

TALKATIVE = """#!/bin/sh
echo "Welcome to $(uname -n), you have mail"
echo "BT-STREAM BT-BEGIN BT-END: only a message of the day" >&2
exec /bin/sh "$@"
"""
SLOW = """#!/bin/sh
sleep 1
exec /bin/sh "$@"
"""
SAYS_GOODBYE = """#!/bin/sh
/bin/sh "$@"
code=$?
echo "goodbye"
echo "session closed" >&2
exit $code
"""
REAL_SHELLS = ("bash", "mksh", "tcsh", "csh", "fish", "zsh")


@contextmanager
def login_shell(root: Path, shell: Path) -> Iterator[SshdLab]:
    """One host where this user's login shell is another one: its sshd sees another /etc/passwd."""
    root.mkdir()
    user = f"{getpass.getuser()}:"
    passwd = root / "passwd"
    with passwd.open("w") as file:
        for line in Path("/etc/passwd").read_text().splitlines():
            changed = f"{line.rpartition(':')[0]}:{shell}" if line.startswith(user) else line
            file.write(changed + "\n")
    wrapper = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        f'set -e; mount --bind {passwd} /etc/passwd; exec "$@"',
        "sh",
    ]
    if subprocess.run([*wrapper, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no mount namespaces here")
    with SshdLab(root / "lab", hosts=1, wrapper=wrapper) as lab:
        yield lab


def assert_runs_well(lab: SshdLab, home: Path, target: Path) -> None:
    with LiveRun.begin(home, lab, target, {"runtime": "3s"}, hosts="h1", lease_s=30) as run:
        record = run.finished()
        assert record["state"] == "complete", record["reason"]
        assert violations(run, record) == []
        assert all(each.whole for each in run.spool.tasks())


def script(folder: Path, text: str) -> Path:
    path = folder / "login-shell"
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("text", [TALKATIVE, SLOW], ids=["talkative", "slow"])
def test_login_shell_that_is_a_script(text: str, home: Path, tmp_path: Path, target: Path) -> None:
    with login_shell(tmp_path / "host", script(tmp_path, text)) as lab:
        assert_runs_well(lab, home, target)


@pytest.mark.parametrize("name", REAL_SHELLS)
def test_other_login_shell(name: str, home: Path, tmp_path: Path, target: Path) -> None:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} on this machine")
    with login_shell(tmp_path / "host", Path(found)) as lab:
        assert_runs_well(lab, home, target)


def test_banner_of_the_server(home: Path, tmp_path: Path, target: Path) -> None:
    banner = tmp_path / "banner"
    banner.write_text("Authorized use only.\n" * 40)
    with SshdLab(tmp_path / "lab", hosts=1, extra_config=[f"Banner {banner}"]) as lab:
        assert_runs_well(lab, home, target)


@pytest.mark.parametrize(
    "forced", ["echo only backups are allowed here", "false", "cat", "internal-sftp"]
)
def test_forced_command_is_named(forced: str, home: Path, tmp_path: Path, target: Path) -> None:
    with (
        SshdLab(tmp_path / "lab", hosts=1, extra_config=[f"ForceCommand {forced}"]) as lab,
        LiveRun.begin(home, lab, target, {"runtime": "3s"}, hosts="h1") as run,
    ):
        record = run.finished()
        assert record["state"] == "failed"
        assert record["exit_code"] == 3
        assert problem_codes(record, "h1") == {"forced-command"}
        told = run_text(record["hosts"][0]["problems"][0]["message"])
        assert "forced command" in told
        assert "only backups" in told or not forced.startswith("echo")


def test_login_shell_that_prints_when_all_is_over(home: Path, tmp_path: Path, target: Path) -> None:
    with (
        login_shell(tmp_path / "host", script(tmp_path, SAYS_GOODBYE)) as lab,
        LiveRun.begin(home, lab, target, {"runtime": "3s"}, hosts="h1") as run,
    ):
        record = run.finished()
        assert record["state"] == "failed"
        told = run_text(record["hosts"][0]["problems"][0]["message"])
        assert "prints after our script has ended: goodbye" in told


def test_login_shell_that_is_no_shell(home: Path, tmp_path: Path, target: Path) -> None:
    nologin = script(tmp_path, "#!/bin/sh\necho This account is currently not available.\nexit 1\n")
    with (
        login_shell(tmp_path / "host", nologin) as lab,
        LiveRun.begin(home, lab, target, {"runtime": "3s"}, hosts="h1") as run,
    ):
        record = run.finished()
        assert record["state"] == "failed"
        told = run_text(record["hosts"][0]["problems"][0]["message"])
        assert "This account is currently not available." in told
