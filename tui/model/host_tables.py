"""Facts of a host that are tables: NUMA nodes, links, mounts, block devices, target files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct, field

from tui.model.hostfacts import Fact


class Unknown(Struct, frozen=True, omit_defaults=True):
    """A fact that could not be read. `name` is that of the fact, `reason` for people."""

    name: str
    reason: str = ""


class NumaNode(Struct, frozen=True, omit_defaults=True):
    """A NUMA node: its CPUs as the kernel lists them (``0-15,64-79``), and its memory."""

    node: str
    cpus: str = ""
    mem_bytes: int | None = None


class CState(Struct, frozen=True, omit_defaults=True):
    """A sleep state of CPU 0: how long waking up takes."""

    name: str
    latency_us: int | None = None
    disabled: bool | None = None


class Nic(Struct, frozen=True, omit_defaults=True):
    """A network link. `kind`: physical, bond, bridge, stacked (a VLAN or the like), virtual.

    `over` and `slaves` are the links it is made of, `master` the bond or bridge it belongs to.
    `driver` is the kernel's module, `state` is up, down, ...
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
    """A port of a Fibre Channel adapter; `speed` as the driver says it, ``16 Gbit``."""

    name: str
    speed: str = ""
    state: str = ""


class Mount(Struct, frozen=True, omit_defaults=True):
    """The mount that a target lies on.

    `server` and `nfs_version` of network file systems alone; free for this user.
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


class Route(Struct, frozen=True, omit_defaults=True):
    """Through which link a storage server is reached.

    `via` is the gateway, empty when it is on the same network.
    """

    server: str
    nic: str = ""
    source: str = ""
    via: str = ""


class BlockLayer(Struct, frozen=True, omit_defaults=True):
    """A block device below a target: partition, lvm, multipath, crypt, dm, md, loop, disk, ...

    `below` are the devices it lies on; the last ones are the disks. `paths` are those of a
    namespace of NVMe. `wwid` is a disk's own name, the same on every host that sees it; `number`
    the kernel's major:minor. `md_action`: idle, resync, recover, check, ...; `md_done` such as
    ``1024 / 2048`` sectors.
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
    wwid: str = ""
    paths: int | None = None
    number: str = ""
    md_level: str = ""
    md_state: str = ""
    md_action: str = ""
    md_degraded: int | None = None
    md_done: str = ""


class Written(Struct, frozen=True, omit_defaults=True):
    """How much of what a step reads was ever written, of the files that were looked at.

    `path`: the worst of them.
    """

    step: int
    files: int
    size_bytes: int
    never_written_bytes: int
    path: str = ""


class Content(Struct, frozen=True, omit_defaults=True):
    """What some blocks of a step's files held: `kind` says whether the step reads them or has
    written them.

    Of `blocks` of 4 KiB `zero` are zeros; the others have `distinct` contents, of each of which
    gzip leaves `packed`.
    """

    step: int
    kind: Literal["read", "written"]
    blocks: int
    zero: int = 0
    distinct: int = 0
    packed: float | None = None


class TargetFile(Struct, frozen=True, omit_defaults=True):
    """What a test file is, whatever it is called: equal for two names, mounts or hosts of one file.

    `file_system`: the boot of the machine, or the kind of network file system, and its id.
    `identity`: the inode; of a file that was not there yet ``DIRECTORY-INODE/NAME``.
    """

    path: str
    file_system: str
    identity: str


class Running(Struct, frozen=True, omit_defaults=True):
    """A load generator that ran before we started anything."""

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
    "content": Content,
}
_NAMES = {kind: name for name, kind in TABLES.items()}
T = TypeVar("T", bound=Struct)


def rows(facts: Mapping[str, Fact], kind: type[T]) -> list[T]:
    """Return the rows of the table of this kind.

    None when it is not known, and none for rows that are no such.
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
    """Return why a fact is not known; empty when it is, or when nobody said why."""
    return next((each.reason for each in rows(facts, Unknown) if each.name == name), "")


# on import: two threads at the first one crash
_decoders = [msgspec.json.Decoder(kind) for kind in TABLES.values()]
