"""Whatever the umask, what benchtui writes is for its user alone, also on hosts.

What a load writes is the load's.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, command, environment, measures, only_run
from tests.patience import PATIENCE_S, wait_until

PROFILE = """\
profile: own/umask
version: 1
title: Random writes in a directory of the run's own
tool: fio
params:
  directory: {kind: directory, default: /mnt}
prepare: {layout: true}
fio:
  global:
    {ioengine: psync, rw: randwrite, bs: 4k, rate_iops: 10, time_based: 1, runtime: 60s,
     directory: "{directory}/{host}"}
  jobs:
    data: {filesize: 64k}
headline: {metric: iops, direction: write}
"""


def open_to_others(directory: Path) -> Iterator[str]:
    """Everything at and below a directory that anybody else may read, write or enter."""
    for root, names, files in os.walk(directory):
        for path in (Path(root), *(Path(root, name) for name in (*names, *files))):
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode) and mode & 0o077:
                yield f"{path} {mode & 0o777:o}"


@pytest.mark.e2e
@pytest.mark.parametrize(
    "umask", [0o000, pytest.param(0o022, marks=pytest.mark.slow)], ids=["umask 000", "umask 022"]
)
def test_all_that_is_written_is_private(tmp_path: Path, umask: int) -> None:
    home, target = tmp_path / "home", tmp_path / "target"
    target.mkdir()

    def under_umask(*words: str | Path) -> None:
        done = benchtui(home, *words, umask=umask)
        assert done.returncode in (0, 4), done.stderr

    under_umask("hosts", "add", "far", "--address", "127.0.0.9")  # makes the home
    (home / "profiles").mkdir(mode=0o700, exist_ok=True)
    (home / "profiles" / "umask.yaml").touch(0o600)
    (home / "profiles" / "umask.yaml").write_text(PROFILE)
    words = ("run", "own/umask", "--hosts", "local", "--set", f"directory={target}", "--detach")
    subprocess.run(
        command(*words), env=environment(home), umask=umask, check=True, timeout=PATIENCE_S
    )  # with an engine of its own
    run_dir = only_run(home)
    try:
        wait_until(lambda: measures(run_dir), "the measurement")
        spool = Path(f"/tmp/.benchtui-{os.getuid()}") / run_dir.name
        assert {path.name for path in spool.rglob("*")} >= {
            "lease",
            "streamer",
            "out",
            "agent.sh",
            "job.fio",
        }
        assert list(open_to_others(spool)) == []
        assert (target / "local").stat().st_mode & 0o777 == 0o777 & ~umask, (
            "directories for the load are the load's"
        )
    finally:
        benchtui(home, "stop", "last")
    wait_until((run_dir / "run.json").exists, "the end of the run")
    under_umask("runs", "tag", "last", "kept")
    under_umask("runs", "note", "last", "a note")
    under_umask("runs", "list")
    under_umask("report", "last", "-o", home / "report.html")
    under_umask("export", "last", "csv", "-o", home / "csv")
    under_umask("runs", "pack", "last", "-o", home / "packed.btr")
    under_umask("import", next((run_dir / "raw").glob("*.out.gz")))
    assert len(list((home / "runs").glob("*Z-*"))) == 2
    lock_directory = home / f"locks-{os.getuid()}"  # everybody may read who holds a host
    assert [each for each in open_to_others(home) if not each.startswith(str(lock_directory))] == []
