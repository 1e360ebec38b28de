"""A load generator of the user's own is brought to the hosts, used, recorded, and removed."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, only_run
from tests.lab.sshd import SshdLab

pytestmark = pytest.mark.e2e
LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"


def test_hosts_use_the_program_that_was_brought_along(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    (target := tmp_path / "target").mkdir()
    (folder := tmp_path / "static").mkdir()
    mine = folder / "fio"
    shutil.copy(shutil.which("fio") or "", mine)
    # runs as before, and has a checksum of its own
    mine.write_bytes(mine.read_bytes() + b"another one")
    hosts = ["--hosts", "h[1-2]", "--ssh-config", str(lab.ssh_config), "--yes"]
    short = [word for each in (f"directory={target}", "runtime=1s") for word in ("--set", each)]
    done = benchtui(home, "run", LOAD, *hosts, *short, "--with", folder, "--json")
    assert done.returncode == 0, done.stderr
    record, run = json.loads(done.stdout), only_run(home)
    wanted = hashlib.sha256(mine.read_bytes()).hexdigest()
    assert [each["sha256"] for each in record["provenance"]["carried"]] == [wanted]
    assert [host["facts"]["fio_sha256"] for host in record["hosts"]] == [wanted] * 2
    assert f"--with {folder}" in (run / "command.txt").read_text()
    assert list(Path("/tmp").glob(f".benchtui-*/{run.name}")) == []
