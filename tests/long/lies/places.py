"""Places that are not what a benchmark wants: file systems that fill, mounts that differ, devices
and links at their limits. All real, and taken down again; they need root."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.lab.disks import quietly
from tests.lab.sshd import SshdLab
from tests.lab.tmpfs import fill
from tests.long.lies.lie import Place, Sabotage, Setting, hosts_of
from tests.long.lies.sabotage import OWN_PIDS, _is_measuring, meanwhile, while_measuring

MIB = 1 << 20
BLKIO, CPU = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup/cpu")
MEMORY = Path("/sys/fs/cgroup/memory")
PERIOD_US = 100_000
LIMIT = 4 * MIB
FILE = 32 * MIB


@contextmanager
def loop_device(image: Path, size: int, *options: str) -> Iterator[str]:
    """Yield the path of a loop device over a file that is written whole, or has holes when it
    exists.
    """
    if not image.exists():
        quietly(
            "dd",
            "if=/dev/urandom",
            f"of={image}",
            f"bs={MIB}",
            f"count={size // MIB}",
            "conv=fsync",
        )
    command = ["losetup", "-f", "--show", *options, str(image)]
    device = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    try:
        yield device
    finally:
        quietly("losetup", "-d", device)
        image.unlink()


@contextmanager
def small_disk(place: Place, size: int, *options: str, image: Path | None = None) -> Iterator[Path]:
    """Yield a small file system of its own, mounted with `options`.

    Its image is on the target's disk, or `image`.
    """
    file_of_disk = image or place.folder / "disk"
    with file_of_disk.open("wb") as file:
        file.truncate(size)
    with loop_device(file_of_disk, size) as device:
        quietly("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0", device)
        where = place.folder / "mnt"
        where.mkdir()
        quietly("mount", *options, device, where)
        try:
            yield where
        finally:
            quietly("umount", where)


@contextmanager
def fills(place: Place) -> Iterator[Setting]:
    """A file system that somebody else fills while the load extends its file."""
    with small_disk(place, 96 * MIB) as where:

        def work(over: threading.Event) -> None:
            while not over.wait(0.1):
                if any(map(_is_measuring, place.loads("local"))):
                    over.wait(1)
                    fill(where)
                    return

        with meanwhile(work):
            yield Setting(filename=f"{where}/data")


def filled(share: float) -> Sabotage:
    """A file system that is so full."""

    @contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        with small_disk(place, 512 * MIB) as where:
            found = os.statvfs(where)
            with (where / "old").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, int(found.f_bavail * found.f_frsize * share))
            yield Setting(filename=f"{where}/data")

    return sabotage


nearly_full = filled(7 / 8)


@contextmanager
def memory_below(place: Place) -> Iterator[Setting]:
    """A file system on a loop device whose file is in memory."""
    image = Path(tempfile.mkstemp(prefix="lie-", dir="/dev/shm")[1])
    with small_disk(place, 96 * MIB, image=image) as where:
        yield Setting(filename=f"{where}/data")


@contextmanager
def layered(place: Place) -> Iterator[Setting]:
    """An overlay on the target's disk whose file is in a lower layer in memory."""
    where = place.folder / "mnt"
    with tempfile.TemporaryDirectory(prefix="lie-", dir="/dev/shm") as lower:
        layers = {"lowerdir": Path(lower)}
        layers |= {f"{name}dir": place.folder / name for name in ("upper", "work")}
        for each in (where, layers["upperdir"], layers["workdir"]):
            each.mkdir()
        quietly("dd", "if=/dev/urandom", f"of={lower}/data", f"bs={MIB}", f"count={FILE // MIB}")
        options = ",".join(f"{name}={path}" for name, path in layers.items())
        quietly("mount", "-t", "overlay", "-o", options, "lie", where)
        try:
            yield Setting(filename=f"{where}/data")
        finally:
            quietly("umount", where)


@contextmanager
def no_barriers(place: Place) -> Iterator[Setting]:
    """A file system whose flushes do not reach the device."""
    with small_disk(place, 96 * MIB, "-o", "nobarrier") as where:
        yield Setting(filename=f"{where}/data")


@contextmanager
def one_device(place: Place) -> Iterator[Setting]:
    """A block device that two hosts see."""
    with (
        loop_device(place.folder / "disk", 32 * MIB) as device,
        SshdLab(place.folder / "lab", 2, wrapper=OWN_PIDS) as lab,
    ):
        yield Setting(hosts_of(lab), filename=device)


@contextmanager
def slow_device(place: Place) -> Iterator[Setting]:
    """A block device that does its I/O in one queue, on a file."""
    with loop_device(place.folder / "disk", 32 * MIB, "--direct-io=on") as device:
        yield Setting(filename=device)


def mounted_with(*options: str) -> Sabotage:
    """Hosts, each with a file system of its own at the same place, mounted with one of these
    options each.
    """

    @contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        with _mounted_with(place, options) as setting:
            yield setting

    return sabotage


@contextmanager
def _mounted_with(place: Place, options: Sequence[str]) -> Iterator[Setting]:
    there = place.folder / "mnt"
    there.mkdir()
    lab = SshdLab(place.folder / "lab", len(options))
    for host, option in zip(lab.hosts, options, strict=True):
        image = place.folder / f"{host.name}.img"
        with image.open("wb") as file:
            file.truncate(96 * MIB)
        quietly("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
        mount = f'mount -o loop,{option} "$0" {there} && exec "$@"'
        host.wrapper = (*OWN_PIDS, "sh", "-c", mount, str(image))
    with lab:
        yield Setting(hosts_of(lab), filename=f"{there}/data.{{host}}")


mounted_otherwise = mounted_with("noatime", "sync")


def throttled(place: Place) -> AbstractContextManager[Setting | None]:
    """A host whose control group may read little from the disk."""
    return throttled_to(LIMIT)(place)


def throttled_to(*limits: int, every_s: float = 5.0) -> Sabotage:
    """A host whose control group may read so much from the disk, and so much from there on."""

    @contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        with throttle(place) as (lab, limit):
            limit(limits[0])
            with while_measuring(
                place, "h1", lambda turn: limit(limits[min(turn, len(limits) - 1)]), every_s
            ):
                yield Setting(hosts_of(lab))

    return sabotage


@contextmanager
def throttle(place: Place) -> Iterator[tuple[SshdLab, Callable[[int], None]]]:
    """Yield a host in a control group of its own, and what says how many bytes a second it may
    read.
    """
    device = place.target.stat().st_dev
    with host_in_group(place, BLKIO) as (lab, group):

        def limit(bytes_per_s: int) -> None:
            rule = f"{os.major(device)}:{os.minor(device)} {bytes_per_s}\n"
            (group / "blkio.throttle.read_bps_device").write_text(rule)

        yield lab, limit


def allowed_io(what: str, limit: int, *, loop: bool) -> Sabotage:
    """A host whose control group allows so much of one kind (``read_bps``, ``write_iops``) of the
    disk, or of a file system of its own on a loop device.
    """

    @contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        disk = small_disk(place, 96 * MIB) if loop else contextlib.nullcontext(place.target)
        with disk as where, host_in_group(place, BLKIO) as (lab, group):
            device = where.stat().st_dev
            rule = f"{os.major(device)}:{os.minor(device)} {limit}\n"
            (group / f"blkio.throttle.{what}_device").write_text(rule)
            yield Setting(hosts_of(lab), filename=f"{where}/data")

    return sabotage


def allowed_memory(limit: int) -> Sabotage:
    """A host whose control group may use so many bytes of memory, page cache included."""

    @contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        with host_in_group(place, MEMORY) as (lab, group):
            (group / "memory.limit_in_bytes").write_text(f"{limit}\n")
            yield Setting(hosts_of(lab))

    return sabotage


def allowed_cpu(share: float) -> Sabotage:
    """A host whose control group may use this share of a core."""

    @contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        with host_in_group(place, CPU) as (lab, group):
            (group / "cpu.cfs_period_us").write_text(f"{PERIOD_US}\n")
            (group / "cpu.cfs_quota_us").write_text(f"{share * PERIOD_US:.0f}\n")
            yield Setting(hosts_of(lab))

    return sabotage


@contextmanager
def host_in_group(place: Place, controller: Path) -> Iterator[tuple[SshdLab, Path]]:
    """Yield a host all of whose processes are in a control group of their own, and the group."""
    group = controller / f"lies-{os.getpid()}-{place.folder.name}"
    group.mkdir()
    try:
        join = ("sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh")
        with SshdLab(place.folder / "lab", 1, wrapper=join) as lab:
            yield lab, group
    finally:
        _leave(group)


def _leave(group: Path) -> None:
    """Remove a control group; what still ends in it is moved to the one above."""
    for _ in range(100):
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (group.parent / "cgroup.procs").write_text(pid)
        with contextlib.suppress(OSError):
            group.rmdir()
            return
    group.rmdir()
