"""Devices that hold something, and files of somebody else: refused or named, in the command and in
the app.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.app.driver import User, opened, options
from tests.e2e.command import benchtui, command, environment, only_run
from tests.lab.disks import loop_device, mounted, quietly
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S
from tui.text.run_texts import run_text

PROFILE = """\
profile: own/raw
version: 1
title: Random writes to a raw device
tool: fio
allow_device: true
params:
  device: {kind: device, default: /dev/sdb}
  rw: {kind: text, default: randwrite}
fio:
  global: {ioengine: psync, rw: "{rw}", bs: 4k, filename: "{device}"}
  jobs:
    w: {size: 1M}
headline: {metric: iops, direction: write}
"""
FILES = """\
profile: own/files
version: 1
title: Random writes to a file
tool: fio
params:
  directory: {kind: directory, default: /mnt}
fio:
  global: {ioengine: psync, rw: randwrite, bs: 4k, size: 64k, directory: "{directory}"}
  jobs:
    db: {filename: db.img}
headline: {metric: iops, direction: write}
"""
READS = """\
profile: own/reads
version: 1
title: Random reads of a file that is not laid out before
tool: fio
params:
  directory: {kind: directory, default: /mnt}
  size: {kind: text, default: 64k}
fio:
  global: {ioengine: psync, rw: randread, bs: 4k, size: "{size}", directory: "{directory}"}
  jobs:
    db: {filename: db.img}
headline: {metric: iops, direction: read}
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[str]:
    with loop_device(tmp_path / "disk.img") as device:
        yield device


@pytest.fixture
def own(home: Path) -> Path:
    """A home with the two profiles."""
    (home / "profiles").mkdir()
    (home / "profiles" / "raw.yaml").write_text(PROFILE)
    (home / "profiles" / "files.yaml").write_text(FILES)
    return home


def run(home: Path, disk: str, *more: str) -> subprocess.CompletedProcess[str]:
    return benchtui(
        home, "run", "own/raw", "--hosts", "local", "--set", f"device={disk}", "--json", *more
    )


def codes(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [
        problem["code"] for host in json.loads(done.stdout)["hosts"] for problem in host["problems"]
    ]


@pytest.mark.e2e
def test_yes_alone_destroys_nothing_and_the_name_does(own: Path, disk: str, tmp_path: Path) -> None:
    done = run(own, disk, "--yes")
    assert done.returncode == 3 and done.stderr.endswith(
        f"benchtui: {disk} will be overwritten; to confirm: --destroy {disk}\n"
    )
    assert not (own / "runs").exists()
    done = run(own, disk, "--yes", "--destroy", disk)
    assert done.returncode == 0, done.stderr
    assert any((tmp_path / "disk.img").read_bytes()[: 1 << 20])
    record = json.loads(done.stdout)
    assert any(f"{disk}: 32 MiB" in run_text(message["text"]) for message in record["messages"]), (
        "what was found is kept"
    )


@pytest.mark.e2e
def test_file_system_and_mount_are_refused_whatever_is_said(
    own: Path, disk: str, tmp_path: Path
) -> None:
    quietly("mkfs.ext4", "-q", disk)
    done = run(own, disk, "--yes", "--destroy", disk)
    assert (done.returncode, codes(done)) == (3, ["device-has-filesystem"])
    assert f"{disk} contains ext4; if no longer needed" in done.stdout
    assert f"remove it first: wipefs --all {disk}" in done.stdout
    with mounted(disk, tmp_path / "mnt") as directory:
        (directory / "precious").write_text("data")
        done = run(own, disk, "--yes", "--destroy", disk)
        assert (done.returncode, codes(done)) == (3, ["device-mounted"])
        reading = run(own, disk, "--set", "rw=randread")
        assert reading.returncode == 0, "reading it needs no name and harms nobody"
        assert (directory / "precious").read_text() == "data"


@pytest.mark.e2e
def test_each_host_is_looked_at(lab: SshdLab, own: Path, disk: str) -> None:
    quietly("mkfs.ext4", "-q", disk)
    raw = ("own/raw", "--set", f"device={disk}", "--destroy", disk, "--json")
    done = benchtui(own, "run", *raw, "--hosts", "h1,h2", "--ssh-config", lab.ssh_config)
    assert (done.returncode, codes(done)) == (3, ["device-has-filesystem"] * 2)


@pytest.mark.e2e
def test_files_of_another_user_need_their_name_and_our_own_do_not(
    own: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    files = (
        "run",
        "own/files",
        "--hosts",
        "local",
        "--set",
        f"directory={target}",
        "--json",
        "--yes",
    )
    for _ in range(2):
        assert benchtui(own, *files).returncode == 0, (
            "made by the first run, overwritten by the second"
        )
    (target / "db.img").write_bytes(b"precious" * 100_000)
    done = benchtui(own, *files)
    assert (done.returncode, codes(done)) == (3, ["destroy-not-confirmed"])
    assert (target / "db.img").read_bytes() == b"precious" * 100_000


@pytest.mark.e2e
def test_a_short_file_of_another_user_is_not_laid_out_to_be_read(own: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (own / "profiles" / "reads.yaml").write_text(READS)
    reads = (
        "run",
        "own/reads",
        "--hosts",
        "local",
        "--set",
        f"directory={target}",
        "--json",
        "--yes",
    )
    (target / "db.img").write_bytes(b"customers")
    done = benchtui(own, *reads)
    assert (done.returncode, codes(done)) == (3, ["destroy-not-confirmed"])
    assert (target / "db.img").read_bytes() == b"customers"
    (target / "db.img").unlink()
    for size in ("64k", "128k", "256k"):  # a file of ours may grow again and again
        done = benchtui(own, *reads, "--set", f"size={size}")
        assert done.returncode == 0, done.stdout


@pytest.mark.e2e
@pytest.mark.parametrize(("typed", "code"), [("yes", 3), ("{disk}", 0)])
def test_on_a_terminal_the_name_is_typed(own: Path, disk: str, typed: str, code: int) -> None:
    ours, theirs = pty.openpty()
    words = command("run", "own/raw", "--hosts", "local", "--set", f"device={disk}")
    with subprocess.Popen(
        words, env=environment(own), stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        said = read_until(ours, "to overwrite it:")
        os.write(ours, typed.format(disk=disk).encode() + b"\n")
        read_until(ours, None)
        assert process.wait(PATIENCE_S) == code
    os.close(ours)
    assert f"local: {disk}: 32 MiB" in said and "no file system on it" in said


def words(user: User) -> str:
    """What the screen says, without its lines."""
    return " ".join(user.text.replace("│", " ").split())


def read_until(terminal: int, what: str | None) -> str:
    """Read a terminal until a text comes, or to its end."""
    said = b""
    while what is None or what.encode() not in said:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # nobody has it open any more
            data = b""
        if not data:
            assert what is None, said
            break
        said += data
    return said.decode(errors="replace")


@pytest.mark.e2e
async def test_the_app_refuses_a_disk_in_use(own: Path, disk: str, tmp_path: Path) -> None:
    quietly("mkfs.ext4", "-q", disk)
    given = options(
        own, hosts=("local",), profile="own/raw", review=True, overrides={"device": disk}
    )
    async with opened(given) as user:
        await user.starts()
        await user.sees("Refused")
        await user.sees(lambda: f"{disk} contains ext4" in words(user))
        assert not user.app.screen.query(Input), "there is nothing to type"
        await user.press("escape")
        assert user.scope == "review"
        with mounted(disk, tmp_path / "mnt"):
            await user.starts()
            await user.sees(lambda: f"{Path(disk).name} is mounted at" in words(user))
            await user.press("escape")
        assert not (own / "runs").exists()


@pytest.mark.e2e
async def test_the_app_has_the_name_typed(own: Path, disk: str) -> None:
    given = options(
        own, hosts=("local",), profile="own/raw", review=True, overrides={"device": disk}
    )
    async with opened(given, (120, 36)) as user:
        await user.starts()
        await user.sees(f"Type {disk} to overwrite it")
        await user.sees("32 MiB")
        await user.types("y")
        await user.press("enter")
        await user.sees(f"that is not {disk}")
        assert not (own / "runs").exists()
        await user.press("ctrl+u")
        await user.types(disk)
        await user.press("enter")
        await user.sees(lambda: user.scope == "live")
        run_dir = only_run(own)
        await user.sees(lambda: (run_dir / "run.json").exists())
        assert json.loads((run_dir / "run.json").read_text())["state"] == "complete"


@pytest.mark.e2e
async def test_the_app_asks_for_files_of_another_user(own: Path, tmp_path: Path) -> None:
    target = tmp_path / "t"
    target.mkdir()
    (target / "db.img").write_bytes(b"precious")
    given = options(
        own,
        hosts=("local",),
        profile="own/files",
        review=True,
        overrides={"directory": str(target)},
    )
    async with opened(given, (120, 36)) as user:
        await user.starts()
        await user.sees("All data on these targets will be lost")
        await user.press("escape")
        assert user.scope == "review"
    assert (target / "db.img").read_bytes() == b"precious"
