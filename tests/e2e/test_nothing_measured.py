"""A run of which no I/O completed: everything that tells how it ended says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, only_run

pytestmark = pytest.mark.e2e

# direct I/O at an offset that no sector begins at fails with EINVAL on a disk's file system
UNALIGNED = ("direct=1", "offset=100")


def test_exit_code_journal_record_and_list_agree(two_hosts: list[str], tmp_path: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "target"
    target.mkdir()
    words = ["rw=randread", "bs=4k", f"directory={target}", "size=1m", "runtime=1s", "ramp_time=0"]
    words += ["iodepth=1", "numjobs=1", *UNALIGNED]
    done = benchtui(home, "run", "fio", *words, *two_hosts)
    assert done.returncode == 4, done.stderr
    run_dir = only_run(home)
    record = json.loads((run_dir / "run.json").read_bytes())
    failed = record["steps"][0]["results"]["per_host"].values()
    if any(each["read"]["bytes"] for each in failed):
        pytest.skip("this file system takes direct I/O at any offset")
    *_, ended = map(json.loads, (run_dir / "journal.jsonl").read_bytes().splitlines())
    assert (ended["type"], ended["state"], ended["exit_code"]) == ("run_ended", "failed", 4)
    assert (record["state"], record["exit_code"]) == ("failed", 4)
    assert record["reason"] == ended["reason"]
    assert record["verdict"] is None
    (listed,) = json.loads(benchtui(home, "runs", "list", "--json").stdout)
    assert listed["state"] == "failed"
