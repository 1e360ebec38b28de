"""Overlays: the layers in which files are, and the devices below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.proctree import Files, ProcTree
from tests.remote import machines
from tests.remote.conftest import facts_of
from tui.model.host_tables import Mount, rows
from tui.remote.telemetry import Device


async def test_an_overlay_is_followed_to_its_upper_directory(tmp_path: Path, shell: str) -> None:
    overlay = (
        "53 22 0:40 / /merged rw - overlay overlay"
        " rw,lowerdir=/low,upperdir=/data/up,workdir=/data/work"
    )
    machine = machines.loop_device("/dev/shm/disk.img", machines.IN_MEMORY, overlay)
    root = machines.plant(tmp_path, machine | {"/dev/shm": "/", "/merged": "/", "/data/up": "/"})
    facts = await facts_of(root, shell, "/merged")
    assert [mount.fstype for mount in rows(facts, Mount)] == ["overlay", "ext4", "tmpfs"]
    assert "upperdir" not in rows(facts, Mount)[0].options, "each container has its own"


def overlay(options: str) -> dict[str, str]:
    """/merged over layers on /data (ext4 on a loop device) and in memory, seen from its
    subdirectory /in it.
    """
    line = f"53 22 0:40 /in /merged rw - overlay none rw,{options},workdir=/data/work"
    machine = machines.loop_device("/disk.img", machines.IN_MEMORY, line)
    kept = ("/data/up/in/new", "/data/low/in/old", "/dev/shm/a b:c/in/old", "/dev/shm/a b:c/in/ram")
    seen = {f"/merged/{name}": "" for name in ("new", "old", "ram")}
    return machine | dict.fromkeys(kept, "") | seen | {"/data/work": "/"}


LOWER = r"/dev/shm/a\040b\134:c"


@pytest.mark.parametrize(
    ("options", "file", "found"),
    [
        (f"lowerdir=/data/low:{LOWER},upperdir=/data/up", "new", ["overlay", "ext4"]),
        (f"lowerdir=/data/low:{LOWER},upperdir=/data/up", "old", ["overlay", "ext4"]),
        (f"lowerdir={LOWER}:/data/low,upperdir=/data/up", "old", ["overlay", "ext4", "tmpfs"]),
        (f"lowerdir=/data/low:{LOWER},upperdir=/data/up", "ram", ["overlay", "ext4", "tmpfs"]),
        (f"lowerdir+=/data/low,lowerdir+={LOWER},upperdir=/data/up", "ram", ["overlay", "ext4", "tmpfs"]),
        (f"lowerdir=/data/low:{'/gone:' * 200}{LOWER},upperdir=/data/up", "ram", ["overlay", "ext4", "tmpfs"]),
        (f"lowerdir=/data/low:{LOWER},upperdir=/elsewhere", "ram", ["overlay"]),
    ],
)  # fmt: skip
async def test_a_file_that_is_only_read_is_in_the_highest_layer_that_has_it(
    tmp_path: Path, shell: str, options: str, file: str, found: list[str]
) -> None:
    root = machines.plant(tmp_path, overlay(options))
    facts = await facts_of(root, shell, "/merged", f"read:/merged/{file}")
    kinds = [mount.fstype for mount in rows(facts, Mount)]
    assert list(dict.fromkeys(kinds)) == found


async def test_a_loop_device_whose_file_is_in_a_layer_in_memory_is_in_memory(
    tmp_path: Path, shell: str
) -> None:
    layers = overlay(f"lowerdir=/data/low:{LOWER},upperdir=/data/up")
    layers |= {"/sys/devices/virtual/block/loop0/loop/backing_file": "/merged/ram"}
    facts = await facts_of(machines.plant(tmp_path, layers), shell, "/dev/loop0")
    assert [mount.fstype for mount in rows(facts, Mount)] == ["overlay", "tmpfs"]


@pytest.mark.parametrize(
    ("lower", "devices"), [("tmpfs", ["vda"]), ("ext4", ["vda", "vdb"]), ("fuse.ceph", [])]
)
def test_an_overlay_has_the_devices_of_all_its_layers(
    lower: str, devices: list[str], tmp_path: Path
) -> None:
    """Unless one is on a file system whose devices are unknown: bytes would seem to be missing."""
    place = {"tmpfs": "0:50", "ext4": "254:1", "fuse.ceph": "0:50"}[lower]
    info = (
        f"22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 {place} / /low rw - {lower} none rw\n"
        f"31 22 0:60 / {tmp_path} rw - overlay none rw,lowerdir=/low:/gone,upperdir=/up\n"
    )
    files: Files = {
        "proc/self/mountinfo": info,
        "sys/devices/vda/dev": "254:0\n",
        "sys/devices/vdb/dev": "254:1\n",
    }
    tree = ProcTree(tmp_path / "t", [files])
    root = tmp_path / "t" / "root"
    for number, name in enumerate(("vda", "vdb")):
        (root / "sys/dev/block").mkdir(parents=True, exist_ok=True)
        (root / f"sys/dev/block/254:{number}").symlink_to(root / f"sys/devices/{name}")
    for layer in ("low", "up"):
        (root / layer).mkdir()
    lines = tree.lines(targets=[str(tmp_path)])
    assert [line.name for line in lines if isinstance(line, Device)] == devices
