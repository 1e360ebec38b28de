"""Sizes of direct I/O: a host takes or refuses them by the device under its target."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, only_run
from tests.lab.disks import loop_device, mounted, quietly

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(("sector", "size", "taken"), [
    ("512", "3k", True), ("512", "1000", False), ("4096", "512", False), ("4096", "8k", True),
])  # fmt: skip
def test_a_file_system_takes_multiples_of_its_devices_blocks(
    two_hosts: list[str], tmp_path: Path, sector: str, size: str, *, taken: bool
) -> None:
    home = tmp_path / "home"
    with loop_device(tmp_path / "image", "--sector-size", sector) as device:
        quietly("mkfs.ext4", "-q", device)
        with mounted(device, tmp_path / "mnt") as target:
            done = benchtui(
                home, "run", "fio", "rw=randread", f"bs={size}", "direct=1", f"directory={target}",
                "size=1m", "runtime=1s", "ramp_time=0", "iodepth=1", "numjobs=1", "rate_iops=10",
                *two_hosts,
            )  # fmt: skip
    record = json.loads((only_run(home) / "run.json").read_bytes())
    if taken:
        assert record["state"] == "complete", done.stderr
        return
    assert (done.returncode, record["state"]) == (3, "failed"), done.stderr
    assert {each["code"] for host in record["hosts"] for each in host["problems"]} == {"block-size"}
