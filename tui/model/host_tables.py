"""Host facts in table form: NUMA nodes, links, mounts, block devices, target files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from tui.model.hostfacts import Fact


class Unknown(Struct, frozen=True, omit_defaults=True):
    """A fact that could not be read, by `name`, with the `reason` as text."""

    name: str
    reason: str = ""


class NumaNode(Struct, frozen=True, omit_defaults=True):
    """A NUMA node: its CPUs in the kernel's list format (``0-15,64-79``), and its memory."""

    node: str
    cpus: str = ""
    mem_bytes: int | None = None


class CState(Struct, frozen=True, omit_defaults=True):
    """An idle state of CPU 0, with its exit latency."""

    name: str
    latency_us: int | None = None
    disabled: bool | None = None


class Nic(Struct, frozen=True, omit_defaults=True):
    """A network link. `kind`: physical, bond, bridge, stacked (such as a VLAN), virtual.

    `over` and `slaves` are the links below it, `master` is the bond or bridge it belongs to.
    `driver` is the kernel module, `state` is up, down, ...
    """

    name: str
    kind: str = ""
    state: str = ""
    speed_mbit: int | None = None
    mtu: int | None = None
    duplex: str = ""
    driver: str = ""
    numa_node: int | None = None
    master: str = ""
    over: list[str] = field(default_factory=list)
    slaves: list[str] = field(default_factory=list)
    bond_mode: str = ""
    bond_active: str = ""
    bond_hash: str = ""


class RdmaLink(Struct, frozen=True, omit_defaults=True):
    """A port of an RDMA device. `link_layer`: InfiniBand or Ethernet (RoCE)."""

    device: str
    port: int | None = None
    state: str = ""
    rate_gbit: float | None = None
    rate: str = ""
    link_layer: str = ""
    nic: str = ""


class FcHost(Struct, frozen=True, omit_defaults=True):
    """A port of a Fibre Channel adapter; `speed` as reported by the driver, ``16 Gbit``."""

    name: str
    speed: str = ""
    state: str = ""


class Mount(Struct, frozen=True, omit_defaults=True):
    """Mount of a target.

    `server` and `nfs_version` exist for network file systems only; free space is that available to
    this user.
    """

    path: str
    at: str = ""
    fstype: str = ""
    source: str = ""
    options: list[str] = field(default_factory=list)
    server: str = ""
    nfs_version: str = ""
    total_bytes: int | None = None
    free_bytes: int | None = None


# a target below these is meant to be on the system's own disk
OF_THE_SYSTEM = ("/tmp", "/var/tmp", "/home", "/root")


def on_root(path: str, mount: str, *, same: bool = False) -> bool:
    """Return whether a target is on the root file system although its path may be meant as the
    mount point of a storage system.

    `same`: it has the device of `/`, which a bind mount of a directory has too.
    """
    named = any(f"{path}/".startswith(f"{own}/") for own in OF_THE_SYSTEM)
    return (mount == "/" or same) and bool(path) and not named


def root_target(facts: Mapping[str, Fact]) -> str:
    """Return type and source of the root file system if a host's target is on it, such as ``ext4,
    /dev/vda``; else an empty text. See `on_root`.
    """
    target, mount = (str(facts.get(name, "")) for name in ("target", "target_mount"))
    if not on_root(target, mount, same=facts.get("target_on_root") == "yes"):
        return ""
    words = (facts.get(f"target_{name}") for name in ("fstype", "source"))
    return ", ".join(dict.fromkeys(str(word) for word in words if word))


class Route(Struct, frozen=True, omit_defaults=True):
    """Link through which a storage server is reached.

    `via` is the gateway; empty on the same network.
    """

    server: str
    nic: str = ""
    source: str = ""
    via: str = ""


class BlockLayer(Struct, frozen=True, omit_defaults=True):
    """A block device underneath a target: partition, lvm, multipath, crypt, dm, md, loop, disk, ...

    `below` are the devices beneath it, down to the disks. `paths`: number of paths to an
    NVMe namespace.
    `wwid` is a disk's own name, equal on every host; `number` is the kernel's major:minor.
    `md_action`: idle, resync, recover, check, ...; `md_done`: progress in sectors, such as ``1024 /
    2048``. `direct` of a loop device: whether it uses its file with direct I/O.
    """

    name: str
    kind: str = ""
    label: str = ""
    below: list[str] = field(default_factory=list)
    size_bytes: int | None = None
    model: str = ""
    transport: str = ""
    rotational: bool | None = None
    scheduler: str = ""
    nr_requests: int | None = None
    write_cache: str = ""
    read_ahead_bytes: int | None = None
    logical_block_bytes: int | None = None
    backing: str = ""
    direct: bool | None = None
    wwid: str = ""
    paths: int | None = None
    number: str = ""
    md_level: str = ""
    md_state: str = ""
    md_action: str = ""
    md_degraded: int | None = None
    md_done: str = ""


class Written(Struct, frozen=True, omit_defaults=True):
    """How much of the data that a step reads was never written, over the inspected files.

    `path`: the file with the most bytes never written.
    """

    step: int
    files: int
    size_bytes: int
    never_written_bytes: int
    path: str = ""


class Content(Struct, frozen=True, omit_defaults=True):
    """Content of sampled blocks of a step's files; `kind`: read or written by the step.

    Of `blocks` blocks of 4 KiB, `zero` contain only zeros; the others have `distinct` different
    contents, which gzip compresses to the share `packed`. `row`, `apart`: share of distinct pieces
    among all non-zero pieces of 16 bytes, within one contiguous MiB and over all sampled blocks.
    `never_written`: share of the files without written extents, read only if most blocks are zeros.
    """

    step: int
    kind: Literal["read", "written"]
    blocks: int
    zero: int = 0
    distinct: int = 0
    packed: float | None = None
    row: float | None = None
    apart: float | None = None
    never_written: float | None = None


class TargetFile(Struct, frozen=True, omit_defaults=True):
    """Identity of a test file: equal for the same file under other names, mounts or hosts.

    `file_system`: the machine's boot id, or kind and id of a network file system. `identity`: the
    inode, or ``DIRECTORY-INODE/NAME`` for a file that does not exist yet.
    """

    path: str
    file_system: str
    identity: str


# of open(2), by the start of `uname -m` (arch/*/include/uapi/asm/fcntl.h); the same bits are
# O_DIRECTORY and O_LARGEFILE elsewhere
O_DIRECT = {
    "x86_64": 0o40000, "i686": 0o40000, "riscv64": 0o40000, "s390x": 0o40000,
    "loongarch64": 0o40000, "aarch64": 0o200000, "arm": 0o200000, "ppc64": 0o400000,
}  # fmt: skip


class OpenFile(Struct, frozen=True, omit_defaults=True):
    """A test file that a step's load had open. `flags`: its open(2) flags. `later`: other steps
    that had it open with the same flags, such as `1-9 12`.
    """

    step: int
    path: str
    flags: int
    later: str = ""

    def is_direct(self, arch: object) -> bool | None:
        """Return whether its I/O bypasses the page cache; None for an unknown architecture."""
        for name, bit in O_DIRECT.items():
            if str(arch).startswith(name):
                return bool(self.flags & bit)
        return None


class LoadCommand(Struct, frozen=True, omit_defaults=True):
    """A process of a step's load that had a test file open; if the load opens none (I/O over a
    network), one that has the job file as an argument; if it has only other files open, one that
    has such a file open.

    `words`: its command line, joined by spaces; empty for a load generator that changes it.
    `other_job`: its job file was not the one that was sent. `preload`: preloaded libraries, joined
    by colons. `touched`: its job file was changed after it was sent. `replaced`: libraries that it
    maps in place of the system's, joined by colons. `program`: the file it runs, if that is not the
    load generator that was checked before the run. `elsewhere`: files that the load has open
    although it has none of the test files open, joined by colons. `later`: other steps with the
    same process, such as `1-9 12`.
    """

    step: int
    words: str = ""
    other_job: bool = False
    preload: str = ""
    touched: bool = False
    replaced: str = ""
    program: str = ""
    elsewhere: str = ""
    later: str = ""


OfSteps = TypeVar("OfSteps", OpenFile, LoadCommand)
SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def steps_of(row: OpenFile | LoadCommand, count: int) -> list[int]:
    """Return the indices of the steps that a row is about, of a run with `count` steps."""
    spans = ((int(first), int(last or first)) for first, last in SPAN.findall(row.later))
    later = (range(first, min(last + 1, count)) for first, last in spans)
    return sorted({row.step}.union(*later))


def with_rows(
    known: Sequence[OfSteps], found: Sequence[OfSteps], step: int, most: int
) -> list[OfSteps]:
    """Return a table with the rows found in a step; a row that was already in it gets one more
    step.

    New rows beyond `most` are dropped.
    """
    table = list(known)
    places = {replace(row, step=0, later=""): place for place, row in enumerate(table)}
    for row in found:
        place = places.get(replace(row, step=0, later=""))
        if place is not None:
            table[place] = _seen_again(table[place], step)
        elif len(table) < most:
            table.append(row)
    return table


def _seen_again(row: OfSteps, step: int) -> OfSteps:
    if step in steps_of(row, step + 1):
        return row
    spans = row.later.split()
    first, _, last = spans[-1].partition("-") if spans else ("", "", "")
    if first and int(last or first) == step - 1:
        spans[-1] = f"{first}-{step}"
    else:
        spans.append(str(step))
    return replace(row, later=" ".join(spans))


class Running(Struct, frozen=True, omit_defaults=True):
    """A load generator that was already running before benchtui started anything."""

    name: str
    pid: int | None = None


TABLES: dict[str, type[Struct]] = {
    "unknown": Unknown,
    "numa": NumaNode,
    "cstates": CState,
    "nics": Nic,
    "rdma": RdmaLink,
    "fc_hosts": FcHost,
    "mounts": Mount,
    "routes": Route,
    "devices": BlockLayer,
    "running": Running,
    "written": Written,
    "files": TargetFile,
    "open_files": OpenFile,
    "load_commands": LoadCommand,
    "content": Content,
}
_NAMES = {kind: name for name, kind in TABLES.items()}
T = TypeVar("T", bound=Struct)


def rows(facts: Mapping[str, Fact], kind: type[T]) -> list[T]:
    """Return the rows of a table as structs of this kind.

    Empty if the fact is unknown; malformed rows are dropped.
    """
    listed = facts.get(_NAMES[kind])
    found: list[T] = []
    for each in listed if isinstance(listed, list) else []:
        try:
            found.append(msgspec.convert(each, kind))
        except msgspec.ValidationError:
            continue
    return found


def why_unknown(facts: Mapping[str, Fact], name: str) -> str:
    """Return why a fact is unknown; empty if it is known or no reason was given."""
    return next((each.reason for each in rows(facts, Unknown) if each.name == name), "")


# at import time: concurrent first use from two threads crashes
_decoders = [msgspec.json.Decoder(kind) for kind in TABLES.values()]
