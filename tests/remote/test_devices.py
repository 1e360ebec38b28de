"""What the agent says of block devices: real loop devices, and the answers of disks that this
machine has not.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.disks import SIZE, loop_device, mounted, quietly
from tests.patience import PATIENCE_S
from tests.remote.conftest import SHELLS, UNDER_EACH
from tui.engine.preflight.destroy import all_of, uses_of
from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.answers import AgentAnswer
from tui.remote.devices import (
    SECTOR,
    DeviceFacts,
    DeviceSignature,
    DeviceUse,
    parse_devices,
    read_devices,
    read_room,
    signatures,
    windows,
)
from tui.remote.local import LocalTransport
from tui.text.problem_texts import problem_text


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[str]:
    with loop_device(tmp_path / "disk.img") as device:
        yield device


async def facts_of(path: str, shell: str = "", **environ: str) -> DeviceFacts:
    """What the agent says of one path, under a shell, with an environment."""
    argv = SHELLS[shell] if shell else ("/bin/sh",)
    transport = LocalTransport(
        HostAddress(name="local", transport="local"), argv, {"PATH": "/usr/bin:/bin", **environ}
    )
    return (await read_devices(Agent(transport, "test-devices"), [path]))[path]


@pytest.mark.parametrize("shell", UNDER_EACH)
async def test_an_empty_disk_is_distinguished_from_one_with_a_file_system(
    shell: str, disk: str
) -> None:
    found = await facts_of(disk, shell)
    assert (found.kind, found.name, found.size_bytes) == ("block", Path(disk).name, SIZE)
    assert (found.uses, found.signatures, found.unread) == ((), (), ())
    assert found.readable and found.writable and not found.read_only
    quietly("mkfs.ext4", "-q", disk)
    found = await facts_of(disk, shell)
    assert [(each.member, each.type) for each in found.signatures] == [(Path(disk).name, "ext4")]


@pytest.mark.parametrize("make", [("mkfs.ext4", "-q"), ("mkswap",)])
async def test_signatures_are_read_without_util_linux(make: tuple[str, ...], disk: str) -> None:
    """The nearest thing to a host without wipefs and blkid: its sectors are read, and judged
    here.
    """
    assert (await facts_of(disk, BENCHTUI_NO_UTIL_LINUX="1")).signatures == ()
    quietly(*make, disk)
    found = await facts_of(disk, BENCHTUI_NO_UTIL_LINUX="1")
    assert [each.type for each in found.signatures] == [(await facts_of(disk)).signatures[0].type]
    assert found.unread == ()


@pytest.mark.parametrize("shell", UNDER_EACH)
async def test_a_mounted_disk_says_where(shell: str, disk: str, tmp_path: Path) -> None:
    quietly("mkfs.ext4", "-q", disk)
    with mounted(disk, tmp_path / "a place"):
        assert (await facts_of(disk, shell)).uses == (
            DeviceUse(Path(disk).name, "mount", str(tmp_path / "a place")),
        )


async def test_a_disk_mounted_in_a_container_is_in_use(disk: str, tmp_path: Path) -> None:
    quietly("mkfs.ext4", "-q", disk)
    (tmp_path / "there").mkdir()
    script = 'mount "$1" "$2" && echo ready && read -r _'
    unshare = ["unshare", "--mount", "--propagation", "private"]
    command = [*unshare, "sh", "-c", script, "sh", disk, str(tmp_path / "there")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as container:
        assert container.stdout is not None and container.stdout.readline() == b"ready\n"
        (use,) = (await facts_of(disk)).uses
        container.communicate(b"\n", timeout=PATIENCE_S)
    assert use.kind == "mount" and use.detail.startswith("in the mount namespace of process ")


@pytest.mark.parametrize("shell", UNDER_EACH)
async def test_a_disk_that_a_process_holds_open_is_in_use(
    shell: str, disk: str, tmp_path: Path
) -> None:
    node = tmp_path / "other name"
    os.mknod(node, 0o600 | stat.S_IFBLK, Path(disk).stat().st_rdev)
    with node.open("rb"):
        found = await facts_of(disk, shell)
    (use,) = found.uses
    assert (use.kind, use.detail.split()[0]) == ("open", str(os.getpid()))
    assert f"{Path(disk).name} is open in process {os.getpid()} (" in problem_text(
        uses_of(found)[0]
    )
    assert (await facts_of(disk, shell)).uses == ()


async def test_a_disk_below_a_loop_device_is_in_use(disk: str) -> None:
    command = ["losetup", "-f", "--show", disk]
    upper = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    above = upper.stdout.strip()
    try:
        (use,) = uses_of(await facts_of(disk))
    finally:
        quietly("losetup", "-d", above)
    assert problem_text(use) == f"{Path(disk).name} is the backing store of {Path(above).name}"


def broken(directory: Path, *names: str) -> str:
    """A PATH on which these tools are there, and cannot run."""
    directory.mkdir()
    for name in names:
        (directory / name).write_text("#!/bin/sh\nexit 2\n")
        (directory / name).chmod(0o755)
    return f"{directory}:/usr/bin:/bin"


HELD = (
    "import os, sys; os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL); print('ready', flush=True);"
    " sys.stdin.read()"
)


@pytest.fixture
def claimed(disk: str) -> Iterator[str]:
    """A disk that a process has opened exclusively."""
    with subprocess.Popen(
        [sys.executable, "-c", HELD, disk], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"ready\n"
        yield disk
        holder.communicate(timeout=PATIENCE_S)


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="needs the python3 of the system")
async def test_a_perl_that_cannot_run_leaves_the_check_to_python(
    claimed: str, tmp_path: Path
) -> None:
    """No `find`, so that only the exclusive open can tell."""
    (use,) = (await facts_of(claimed, PATH=broken(tmp_path / "bin", "perl", "find"))).uses
    assert use.kind == "claimed"


@pytest.mark.skipif(
    Path("/usr/libexec/platform-python").exists(), reason="this machine has a third way"
)
async def test_a_check_that_nothing_can_make_is_reported(disk: str, tmp_path: Path) -> None:
    assert (await facts_of(disk)).unsure == ()
    found = await facts_of(disk, PATH=broken(tmp_path / "bin", "perl", "python3", "find"))
    assert found.uses == () and len(found.unsure) == 2
    assert problem_text(all_of(found)).count("cannot check") == 2


async def test_a_link_leads_to_its_disk_and_a_read_only_one_says_so(tmp_path: Path) -> None:
    with loop_device(tmp_path / "ro.img", "-r") as disk:
        link = tmp_path / "by-id"
        link.symlink_to(disk)
        found = await facts_of(str(link))
    assert (found.path, found.real, found.read_only) == (str(link), disk, True)


async def test_what_is_no_disk(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert (await facts_of(str(tmp_path / "file"))).kind == "other"
    assert (await facts_of(str(tmp_path / "absent"))).kind == ""
    null = await facts_of("/dev/null")
    assert (null.kind, null.real, null.name) == ("char", "/dev/null", "")


async def test_room_of_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    agent = Agent(LocalTransport(HostAddress(name="local", transport="local")), "test-devices")
    deep = str(tmp_path / "not" / "yet")
    room = await read_room(agent, [deep, "/"])
    here = (await agent.probe([str(tmp_path)])).dirs[str(tmp_path)]
    assert (room[deep].mount, room[deep].fstype) == (here.mount, here.fstype)
    assert room[deep].free_bytes is not None and room["/"].mount == "/"


SAID = """\
dev.0.kind=block
dev.0.name=sda
dev.0.sectors=1875385008
use=0 sda2 holder dm-0 LVM-w6Qk vg0-root
use=0 sda3 holder md127  \n\
use=0 sda4 ceph /var/lib/ceph/osd/ceph-3/block
use=0 sda5 holder dm-4 mpath-36001405 mpatha
use=0 sda6 swap
use=0 sda1 mount /boot/my\\040efi
use=0 sda claimed
use=0 sda open 812 ceph-osd
use=0 sda loop loop3
sig=0 sda gpt 0x200
sig=0 sda2 LVM2_member 0x218
part=0 sda1
part=0 sda2
"""


def test_partitions_of_a_disk_count_as_the_disk() -> None:
    lines = SAID.splitlines()
    values = dict(line.split("=", 1) for line in lines if line.startswith("dev."))
    found = parse_devices(AgentAnswer(values, lines), ["/dev/sda"])["/dev/sda"]
    assert [problem_text(use) for use in uses_of(found)] == [
        "sda2 is part of LVM vg0-root (dm-0)",
        "sda3 is part of RAID md127",
        "sda4 belongs to a Ceph OSD (/var/lib/ceph/osd/ceph-3/block)",
        "sda5 is part of multipath mpatha (dm-4)",
        "sda6 is swap",
        "sda1 is mounted at /boot/my efi",
        "sda is in use: the kernel refuses to open it exclusively",
        "sda is open in process 812 (ceph-osd)",
        "sda is the backing store of loop3",
    ]
    assert found.signatures == (
        DeviceSignature("sda", "gpt", "0x200"),
        DeviceSignature("sda2", "LVM2_member", "0x218"),
    )
    assert (found.partitions, found.size_bytes) == (("sda1", "sda2"), 1875385008 * 512)


PLACED = {
    "xfs": {0: b"XFSB"},
    "btrfs": {0x10040: b"_BHRfS_M"},
    "LVM2_member": {0x200: b"LABELONE"},
    "linux_raid_member": {0x1000: b"\xfc\x4e\x2b\xa9"},
    "crypto_LUKS": {0: b"LUKS\xba\xbe"},
    "ceph_bluestore": {0: b"bluestore block device\n"},
    "zfs_member": {0x4100: b"pool_guid"},
    "gpt": {0x200: b"EFI PART"},
    "vfat": {0x52: b"FAT32   "},
    "iso9660": {0x8001: b"CD001"},
    "VMFS_volume_member": {0x100000: b"\x0d\xd0\x01\xc0"},
    "dos": {510: b"\x55\xaa", 446: b"\x80\0\0\0\x83\0\0\0\0\x08\0\0\0\x10\0\0"},
}


def read(image: bytes) -> dict[int, bytes]:
    return {
        first: image[first * SECTOR : (first + count) * SECTOR]
        for first, count in windows(len(image) // SECTOR)
    }


@pytest.mark.parametrize(("kind", "parts"), PLACED.items())
def test_magic_bytes_of_what_cannot_be_made_here(kind: str, parts: dict[int, bytes]) -> None:
    image = bytearray(2 << 20)
    for offset, data in parts.items():
        image[offset : offset + len(data)] = data
    assert [found for found, _ in signatures(read(bytes(image)), len(image) // SECTOR)] == [kind]


RAID = b"\xfc\x4e\x2b\xa9"


@pytest.mark.parametrize(("back", "magic"), [(65536, RAID), (8192, RAID), (512, b"EFI PART")])
def test_signatures_at_the_end_of_a_disk(back: int, magic: bytes) -> None:
    image = bytearray(2 << 20)
    image[-back : len(image) - back + len(magic)] = magic
    kind = "gpt" if magic == b"EFI PART" else "linux_raid_member"
    assert [found for found, _ in signatures(read(bytes(image)), len(image) // SECTOR)] == [kind]


def test_random_data_is_no_signature() -> None:
    image = bytes(range(256)) * 8192
    assert list(signatures(read(image), len(image) // SECTOR)) == []
