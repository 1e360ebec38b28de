"""Partitions, links to them, and members of RAID and LVM, on a loop device: what of them may be
written to.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.disks import loop_device, mounted, quietly
from tests.patience import PATIENCE_S, wait_until
from tui.engine.preflight.destroy import refusals
from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.devices import read_devices
from tui.remote.local import LocalTransport

START, SECTORS = 2048, 16384  # of the first of two partitions of 8 MiB


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[str]:
    """A disk with two partitions, added by hand: not every kernel looks for them on loop
    devices.
    """
    if shutil.which("addpart") is None:
        pytest.skip("no addpart on this machine")
    with loop_device(tmp_path / "disk.img") as device:
        entries = [
            struct.pack("<B3xB3xII", 0, 0x83, START + index * SECTORS, SECTORS) for index in (0, 1)
        ]
        with Path(device).open("r+b") as file:
            file.seek(446)
            file.write(b"".join(entries).ljust(64, b"\0") + b"\x55\xaa")
        try:
            for number, start in ((1, START), (2, START + SECTORS)):
                words = ["addpart", device, str(number), str(start), str(SECTORS)]
                if subprocess.run(
                    words, capture_output=True, timeout=PATIENCE_S, check=False
                ).returncode:
                    pytest.skip("this kernel adds no partitions")
            wait_until(Path(f"{device}p2").exists, "the nodes of the partitions")
            yield device
        finally:  # a loop device that is detached keeps them
            wait_until(lambda: not _left(device), "the end of the partitions")


def _left(device: str) -> list[Path]:
    """Remove the partitions, and return those that something has open just now."""
    name = Path(device).name
    for added in ("1", "2"):
        subprocess.run(
            ["delpart", device, added], capture_output=True, timeout=PATIENCE_S, check=False
        )
    return list(Path("/sys/block", name).glob(f"{name}p*"))


async def refused(*paths: str, **environ: str) -> dict[str, str]:
    """Why each path is refused; empty: it may be written to once it is named."""
    transport = LocalTransport(
        HostAddress(name="h", transport="local"), environ={"PATH": "/usr/bin:/bin", **environ}
    )
    found = await read_devices(Agent(transport, "test-partitions"), paths)
    return {
        Path(path).name: next((code for code, _ in refusals(facts)), "")
        for path, facts in found.items()
    }


async def test_a_partition_counts_alone_and_its_disk_counts_whole(
    disk: str, tmp_path: Path
) -> None:
    first, second = f"{disk}p1", f"{disk}p2"
    (tmp_path / "by-id").symlink_to(second)
    names = (disk, first, second, str(tmp_path / "by-id"))
    codes = ["device-has-filesystem", "", "", ""]  # its partition table
    assert list((await refused(*names)).values()) == codes
    quietly("mkfs.ext4", "-q", second)
    codes = ["device-has-filesystem", "", "device-has-filesystem", "device-has-filesystem"]
    assert list((await refused(*names)).values()) == codes
    with mounted(second, tmp_path / "mounted"):
        codes = ["device-mounted", "", "device-mounted", "device-mounted"]
        assert list((await refused(*names)).values()) == codes


def raid_member() -> dict[int, bytes]:
    """Metadata 1.2 of md, 4 KiB from the beginning: Documentation/driver-api/md,
    mdp_superblock_1.
    """
    block = bytearray(256 + 2)
    struct.pack_into("<III", block, 0, 0xA92B4EFC, 1, 0)
    block[16:32] = bytes(range(16))
    struct.pack_into("<IIQII", block, 72, 1, 0, 8192, 0, 2)
    struct.pack_into("<QQQ", block, 128, 2048, 8192, 8)
    struct.pack_into("<I", block, 220, 1)
    words = struct.unpack_from("<64I", block)
    total = sum(words) + struct.unpack_from("<H", block, 256)[0]
    struct.pack_into("<I", block, 216, ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF)
    return {4096: bytes(block)}


def lvm_member() -> dict[int, bytes]:
    """The label of a physical volume, in its second sector: LVM2 lib/label/label.h."""
    label = bytearray(512)
    label[0:8] = b"LABELONE"
    struct.pack_into("<Q", label, 8, 1)
    struct.pack_into("<I", label, 20, 32)
    label[24:32] = b"LVM2 001"
    label[32:64] = b"abcdefghijklmnopqrstuvwxyz012345"
    struct.pack_into(
        "<I", label, 16, zlib.crc32(bytes(label[20:]), 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    )
    return {512: bytes(label)}


@pytest.mark.parametrize("member", [raid_member, lvm_member])
@pytest.mark.parametrize("without_util_linux", [False, True])
async def test_a_member_of_something_larger_is_refused(
    disk: str, member: object, without_util_linux: bool
) -> None:
    assert callable(member)
    with Path(f"{disk}p1").open("r+b") as file:
        for offset, data in member().items():
            file.seek(offset)
            file.write(data)
    environ = {"BENCHTUI_NO_UTIL_LINUX": "1"} if without_util_linux else {}
    codes = await refused(f"{disk}p1", f"{disk}p2", **environ)
    assert list(codes.values()) == ["device-has-filesystem", ""]
