"""Facts of a host: which there are, what they hold, and the rows of those that are tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct, field

Fact = str | int | float | bool | list[Any] | dict[str, Any] | None
"""A fact as files hold it: `kind` in the registry says of which shape, rows of tables are those of
hosttables.py.
"""

Section = Literal[
    "system", "CPU", "memory", "limits", "network", "target", "kernel settings", "tools"
]


class HostFact(Struct, frozen=True):
    """One fact. `title` is what people call it, `source` where the agent reads it (tui/remote/sh/).

    `kind`: text; count, bytes and number; list of texts; map of texts; table of the rows that
    hosttables.py declares. `differs`: what it means when hosts of one run have different ones.
    "matters": figures may differ by it, "shown": worth a look, "expected": each host has its own.
    Numbers within the share `tolerance` are the same. `columns` of a table are those that are
    compared. `absent` says what it means when a fact is neither there nor listed as unknown.
    """

    name: str
    title: str
    source: str
    kind: Literal["text", "count", "bytes", "number", "list", "map", "table"] = "text"
    section: Section = "system"
    differs: Literal["matters", "shown", "expected"] = "shown"
    tolerance: float = 0.0
    columns: tuple[str, ...] = ()
    absent: str = ""


CPU = "/sys/devices/system/cpu"
CGROUP = "/proc/self/cgroup and /sys/fs/cgroup, the smallest of our group and those above it"
ALLOCATION_ENDS = "allocation_ends"  # UTC
MEMORY_TOLERANCE = 0.02  # firmware takes a little for itself, and not the same everywhere

_SYSTEM = (
    HostFact("kernel", "kernel", "uname -sr", differs="matters"),
    HostFact("arch", "architecture", "uname -m", differs="matters"),
    HostFact("os", "OS", "/etc/os-release", differs="matters"),
    HostFact("hostname", "host name", "uname -n", differs="expected"),
    HostFact("uid", "user id", "id -u", "count", differs="expected"),
    HostFact("user", "user", "id -un", differs="expected"),
    HostFact("boot_id", "boot", "/proc/sys/kernel/random/boot_id", differs="expected"),
    HostFact("load1", "load", "/proc/loadavg", differs="expected"),
    HostFact("machine", "machine", "/sys/class/dmi/id", differs="matters"),
    HostFact(
        "virtualization",
        "virtualization",
        "/sys/class/dmi/id, /sys/hypervisor, flags in /proc/cpuinfo",
        differs="matters",
    ),
    HostFact(
        "container",
        "container",
        "/run/systemd/container, /.dockerenv",
        differs="matters",
        absent="none",
    ),
    HostFact(
        "boot_options",
        "boot options",
        "/proc/cmdline, performance-relevant ones",
        "list",
        differs="matters",
        absent="none",
    ),
    HostFact(
        "mitigated",
        "mitigations",
        f"{CPU}/vulnerabilities",
        "list",
        differs="matters",
        absent="none",
    ),
    HostFact("vulnerable", "without mitigation", f"{CPU}/vulnerabilities", "list", absent="none"),
    HostFact("clocksource", "clock source", "/sys/devices/system/clocksource", differs="matters"),
)

_CPU = (
    HostFact("cpus", "CPUs", "getconf _NPROCESSORS_ONLN", "count", "CPU", "matters"),
    HostFact("cpu_model", "CPU", "/proc/cpuinfo", section="CPU", differs="matters"),
    HostFact("sockets", "sockets", f"{CPU}/cpu*/topology", "count", "CPU", "matters"),
    HostFact("cores", "cores", f"{CPU}/cpu*/topology", "count", "CPU", "matters"),
    HostFact(
        "cpus_usable",
        "usable CPUs",
        f"CPUs that are allowed to us, and {CGROUP}",
        "number",
        "CPU",
        "matters",
    ),
    HostFact(
        "cpus_allowed", "allowed CPUs", "/proc/self/status", section="CPU", differs="expected"
    ),
    HostFact("numa", "NUMA nodes", "/sys/devices/system/node", "table", "CPU", "matters"),
    HostFact(
        "governor",
        "governor",
        f"{CPU}/cpufreq/policy*/scaling_governor",
        section="CPU",
        differs="matters",
    ),
    HostFact(
        "cpufreq_driver", "frequency driver", f"{CPU}/cpufreq/policy*/scaling_driver", section="CPU"
    ),
    HostFact(
        "energy_preference",
        "energy preference",
        f"{CPU}/cpufreq/policy*/energy_performance_preference",
        section="CPU",
    ),
    HostFact(
        "turbo",
        "turbo",
        f"{CPU}/intel_pstate/no_turbo, {CPU}/cpufreq/boost",
        section="CPU",
        differs="matters",
    ),
    HostFact(
        "idle_driver",
        "idle driver",
        f"{CPU}/cpuidle/current_driver",
        section="CPU",
        differs="matters",
    ),
    HostFact(
        "cstates",
        "C-states",
        f"{CPU}/cpu0/cpuidle",
        "table",
        "CPU",
        columns=("name", "latency_us", "disabled"),
    ),
)

_MEMORY = (
    HostFact(
        "mem_bytes",
        "memory",
        "/proc/meminfo, MemTotal",
        "bytes",
        "memory",
        "matters",
        MEMORY_TOLERANCE,
    ),
    HostFact(
        "mem_usable_bytes",
        "usable memory",
        f"memory, and {CGROUP}",
        "bytes",
        "memory",
        "matters",
        MEMORY_TOLERANCE,
    ),
    HostFact(
        "mem_available_bytes",
        "available memory",
        "/proc/meminfo, MemAvailable",
        "bytes",
        "memory",
        "expected",
    ),
    HostFact(
        "swap_bytes",
        "swap",
        "/proc/meminfo, SwapTotal",
        "bytes",
        "memory",
        "shown",
        MEMORY_TOLERANCE,
    ),
    HostFact(
        "swap_free_bytes", "free swap", "/proc/meminfo, SwapFree", "bytes", "memory", "expected"
    ),
    HostFact("hugepages", "huge pages", "/proc/meminfo, HugePages_Total", "count", "memory"),
    HostFact(
        "hugepage_bytes", "size of huge pages", "/proc/meminfo, Hugepagesize", "bytes", "memory"
    ),
    HostFact(
        "transparent_hugepages",
        "transparent huge pages",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        section="memory",
    ),
)

_LIMITS = (
    HostFact("cgroup_version", "control groups", CGROUP, section="limits"),
    HostFact(
        "cgroup_cpus",
        "CPU limit",
        f"cpu.max, cpu.cfs_quota_us: {CGROUP}",
        "number",
        "limits",
        "matters",
        absent="none",
    ),
    HostFact(
        "cgroup_mem_bytes",
        "memory limit",
        f"memory.max, memory.high, memory.limit_in_bytes: {CGROUP}",
        "bytes",
        "limits",
        "matters",
        absent="none",
    ),
    HostFact(
        "cgroup_io",
        "I/O limits",
        f"io.max, blkio.throttle: {CGROUP}",
        "list",
        "limits",
        "matters",
        absent="none",
    ),
    HostFact(
        ALLOCATION_ENDS,
        "allocation ends",
        "the transport: squeue",
        section="limits",
        differs="expected",
    ),
    HostFact("nofile", "open files", "/proc/self/limits", "count", "limits", absent="no limit"),
    HostFact(
        "nofile_hard",
        "open files, at most",
        "/proc/self/limits",
        "count",
        "limits",
        absent="no limit",
    ),
    HostFact(
        "memlock_bytes", "locked memory", "/proc/self/limits", "bytes", "limits", absent="no limit"
    ),
    HostFact(
        "memlock_hard_bytes",
        "locked memory, at most",
        "/proc/self/limits",
        "bytes",
        "limits",
        absent="no limit",
    ),
)

_NETWORK = (
    HostFact(
        "nics",
        "links",
        "/sys/class/net: hardware that is up, and bonds, VLANs and bridges of it",
        "table",
        "network",
        "matters",
        columns=("kind", "state", "speed_mbit", "mtu", "driver", "bond_mode", "bond_hash"),
    ),
    HostFact(
        "rdma",
        "RDMA links",
        "/sys/class/infiniband",
        "table",
        "network",
        "matters",
        columns=("state", "rate", "link_layer"),
        absent="none",
    ),
    HostFact(
        "fc_hosts",
        "FC ports",
        "/sys/class/fc_host",
        "table",
        "network",
        "matters",
        columns=("speed", "state"),
        absent="none",
    ),
    HostFact(
        "routes",
        "routes",
        "ip route get, to each storage server",
        "table",
        "network",
        columns=("nic", "via"),
        absent="none",
    ),
)

_TARGET = (
    HostFact(
        "target",
        "target",
        "the profile's directory or device",
        section="target",
        differs="expected",
    ),
    HostFact(
        "target_fstype", "file system", "df -Pk, /proc/mounts", section="target", differs="matters"
    ),
    HostFact(
        "target_source", "mounted from", "df -Pk, /proc/mounts", section="target", differs="shown"
    ),
    HostFact(
        "target_mount", "mounted at", "df -Pk, /proc/mounts", section="target", differs="shown"
    ),
    HostFact(
        "target_mount_options",
        "mount options",
        "df -Pk, /proc/mounts",
        section="target",
        differs="expected",
    ),
    HostFact("target_total_bytes", "size", "df -Pk", "bytes", "target", "shown", MEMORY_TOLERANCE),
    HostFact("target_free_bytes", "free", "df -Pk", "bytes", "target", "expected"),
    HostFact(
        "target_full",
        "full",
        "df -Pk, used against used and available",
        "number",
        "target",
        "shown",
        0.1,
    ),
    HostFact(
        "mounts",
        "mounts",
        "/proc/self/mountinfo",
        "table",
        "target",
        "matters",
        columns=("options", "nfs_version"),
    ),
    HostFact(
        "devices",
        "devices",
        "/sys/dev/block, /sys/class/block: what lies below the target",
        "table",
        "target",
        "matters",
        MEMORY_TOLERANCE,
        (
            "kind",
            "model",
            "transport",
            "size_bytes",
            "scheduler",
            "nr_requests",
            "write_cache",
            "read_ahead_bytes",
            "rotational",
            "paths",
            "md_level",
            "md_action",
            "md_degraded",
        ),
        absent="none",
    ),
    HostFact(
        "written",
        "written",
        "filefrag -v, before each step that reads",
        "table",
        "target",
        "expected",
        absent="nothing was read, or not known",
    ),
    HostFact(
        "content",
        "content",
        "dd, cksum and gzip of 16 blocks of 4 KiB, before the first 8 steps that read and after"
        " those that write",
        "table",
        "target",
        "expected",
        absent="no file of the host was read or written",
    ),
    HostFact(
        "files",
        "files",
        "stat of the test files or, until they are there, of their directories; the first 64",
        "table",
        "target",
        "expected",
        absent="none",
    ),
    HostFact(
        "shares_files_with",
        "shares files with",
        "the file systems of all hosts",
        section="target",
        differs="expected",
    ),
)

_REST = (
    HostFact("sysctls", "sysctl", "/proc/sys", "map", "kernel settings", "matters"),
    HostFact("tools", "tools", "command -v", section="tools"),
    HostFact(
        "running",
        "load generators that run",
        "/proc/*/comm",
        "table",
        "tools",
        "expected",
        absent="none",
    ),
    HostFact("unknown", "unknown", "what could not be read, and why", "table", "tools", "expected"),
)

HOST_FACTS: dict[str, HostFact] = {
    each.name: each for each in (*_SYSTEM, *_CPU, *_MEMORY, *_LIMITS, *_NETWORK, *_TARGET, *_REST)
}

UNKNOWN_BOOT = "unknown"  # what the agent says where the kernel tells no boot

TOOL_FACTS = {
    "_version": ("{}", "COMMAND --version", "matters"),
    "_path": ("{} at", "command -v", "shown"),
    "_sha256": ("SHA-256 of {}", "sha256sum", "matters"),
    "_package": ("package of {}", "lists of dpkg or rpm; absent: no package owns it", "shown"),
    "_packaged": (
        "{} is",
        "its checksum and that of its package: as packaged, or changed",
        "matters",
    ),
}
"""What is known of the commands of load generators, by the end of the fact's name: title, source,
differs.
"""


CHANGED = "changed"  # what a command is whose checksum is not that of its package


def fact_of(name: str) -> HostFact:
    """Return what the registry says of a fact; load generators bring facts of their own."""
    if name in HOST_FACTS:
        return HOST_FACTS[name]
    for ending, (title, source, differs) in TOOL_FACTS.items():
        if name.endswith(ending):
            tool = name.removesuffix(ending)
            return HostFact(name, title.format(tool), source, section="tools", differs=differs)  # type: ignore[arg-type]
    return HostFact(
        name, name, "", "bytes" if name.endswith("_bytes") else "text", differs="expected"
    )


def boot_of(facts: Mapping[str, Fact]) -> str:
    """Return the id of a host's present boot.

    Empty where its kernel tells none, and such a boot is nobody's.
    """
    boot = str(facts.get("boot_id") or UNKNOWN_BOOT)
    return "" if boot == UNKNOWN_BOOT else boot


def is_number(name: str) -> bool:
    """Tell whether a fact is a whole number; sizes are, known or not."""
    return fact_of(name).kind in ("count", "bytes")


def number_of(facts: Mapping[str, Fact], name: str) -> float | None:
    """Return a fact that is a number; None when it is not known, or not one."""
    value = facts.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


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
# on import: two threads at the first one crash
_decoders = [msgspec.json.Decoder(kind) for kind in TABLES.values()]
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
