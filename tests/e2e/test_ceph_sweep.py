"""The Ceph sweep, scaled to points of one second on this machine: the table, the chart, resume
after a power cut.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command import benchtui
from tests.e2e.test_matrix import events
from tests.e2e.test_recovery import kill_engine, record_of
from tests.patience import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SETTINGS = ("--set", "runtime=1s", "--set", "size=64M")


def test_the_ceph_sweep_is_resumed_after_kill_9_and_gives_the_table_of_the_source(
    home: Path, tmp_path: Path
) -> None:
    words = (
        "run",
        "ceph/randread",
        "--hosts",
        "local",
        "--set",
        f"directory={tmp_path}",
        *SETTINGS,
    )
    started = benchtui(home, *words, "--detach")
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: len(events(run_dir, "step_ended")) >= 8, "eight points")
    kill_engine(run_dir)
    resumed = benchtui(home, "runs", "resume", run_dir.name)
    assert resumed.returncode == 0, resumed.stderr
    record = record_of(run_dir)
    points = [(cell["point"]["numjobs"], cell["point"]["bs"]) for cell in record["matrix"]["cells"]]
    single = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 32768]
    assert points[:12] == [(1, kib * 1024) for kib in single]
    assert {cell["state"] for cell in record["matrix"]["cells"]} == {"done"}
    assert all(cell["headline"]["value"] > 0 for cell in record["matrix"]["cells"])
    shown = benchtui(home, "runs", "show", run_dir.name, "--plot").stdout
    assert "numjobs    bs  MiB/s" in shown
    assert "read bandwidth" in shown
