"""Registry of host facts: types, sources, table columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

Fact = str | int | float | bool | list[Any] | dict[str, Any] | None
"""A fact as stored in files: its type follows from `kind` in the registry; table rows are those of
host_tables.py.
"""

Section = Literal[
    "system", "CPU", "memory", "limits", "network", "target", "kernel settings", "tools"
]


class HostFact(Struct, frozen=True):
    """Registry entry of a fact. `title` is its display name, `source` where the agent reads it
    (tui/remote/sh/).

    `kind`: text; count, bytes and number; list of texts; map of texts; table of the rows declared
    in host_tables.py. `differs`: meaning of a difference between hosts: "matters" (may affect
    figures), "shown" (worth a look), "expected" (unique to each host). Numbers within the share
    `tolerance` count as equal. `columns` are the table columns that are compared. `absent` is the
    meaning of a fact that is neither present nor listed as unknown.
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
CGROUP = "/proc/self/cgroup and /sys/fs/cgroup, the lowest limit of the group and its parents"
ALLOCATION_ENDS = "allocation_ends"  # UTC
MEMORY_TOLERANCE = 0.02  # firmware reserves a little, differently on each machine

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
        "kernel boot options",
        "/proc/cmdline, performance-relevant options",
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
        f"CPUs allowed for the agent, and {CGROUP}",
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
        "cgroup_io_during",
        "I/O limits during the load",
        f"io.max, blkio.throttle: {CGROUP}, three times within each load",
        "list",
        "limits",
        "expected",
        absent="unchanged",
    ),
    HostFact(
        "cgroup_io_after",
        "I/O limits afterwards",
        f"io.max, blkio.throttle: {CGROUP}, after each step",
        "list",
        "limits",
        "expected",
        absent="unchanged",
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
        "maximum open files",
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
        "maximum locked memory",
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
        "/sys/class/net: hardware links that are up, and bonds, VLANs and bridges on them",
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
    HostFact(
        "target_on_root",
        "on the root file system",
        "stat: the device of the target is that of /",
        section="target",
        differs="shown",
    ),
    HostFact("target_total_bytes", "size", "df -Pk", "bytes", "target", "shown", MEMORY_TOLERANCE),
    HostFact("target_free_bytes", "free", "df -Pk", "bytes", "target", "expected"),
    HostFact(
        "target_full",
        "full",
        "df -Pk: used / (used + available)",
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
        "/sys/dev/block, /sys/class/block: the devices below the target",
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
            "direct",
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
        absent="not read, or unknown",
    ),
    HostFact(
        "content",
        "content",
        (
            "dd, cksum and gzip of 16 blocks of 4 KiB, and od of 1 MiB, before the first 8 reading"
            " steps and after writing steps"
        ),
        "table",
        "target",
        "expected",
        absent="no file on the host was read or written",
    ),
    HostFact(
        "files",
        "files",
        "stat of the first 64 test files, or of their directories before they exist",
        "table",
        "target",
        "expected",
        absent="none",
    ),
    HostFact(
        "open_files",
        "open files",
        "/proc/PID/fd and fdinfo of the load, 3 s into each step: flags of open(2)",
        "table",
        "target",
        "expected",
        absent="none of the test files, or not visible to this user",
    ),
    HostFact(
        "load_commands",
        "load commands",
        "/proc/PID/cmdline, environ, exe, maps and cwd of the load, 3 s into each step",
        "table",
        "target",
        "expected",
        absent="no process with a test file open, or not visible to this user",
    ),
    HostFact(
        "shares_files_with",
        "shares files with",
        "all hosts' file systems",
        section="target",
        differs="expected",
    ),
)

_REST = (
    HostFact("sysctls", "sysctl", "/proc/sys", "map", "kernel settings", "matters"),
    HostFact("tools", "tools", "command -v", section="tools"),
    HostFact(
        "running",
        "running load generators",
        "/proc/*/comm",
        "table",
        "tools",
        "expected",
        absent="none",
    ),
    HostFact(
        "unknown", "unknown", "facts that could not be read, and why", "table", "tools", "expected"
    ),
)

HOST_FACTS: dict[str, HostFact] = {
    each.name: each for each in (*_SYSTEM, *_CPU, *_MEMORY, *_LIMITS, *_NETWORK, *_TARGET, *_REST)
}

UNKNOWN_BOOT = "unknown"  # the agent's value if the kernel reports no boot id

TOOL_FACTS = {
    "_version": ("{}", "COMMAND --version", "matters"),
    "_path": ("{} at", "command -v", "shown"),
    "_sha256": ("SHA-256 of {}", "sha256sum", "matters"),
    "_package": (
        "package of {}",
        "dpkg or rpm file lists; absent: no package owns the file",
        "shown",
    ),
    "_packaged": (
        "{} is",
        "checksums of the file and of its package: as packaged, or changed",
        "matters",
    ),
}
"""Facts about load generator commands, by suffix of the fact's name: title, source, `differs`."""


CHANGED = "changed"  # value for a command whose checksum is not its package's


def fact_of(name: str) -> HostFact:
    """Return the registry entry of a fact, including the facts that load generators add."""
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
    """Return a host's boot id; empty if its kernel reports none.

    Two empty ids do not mean the same boot.
    """
    boot = str(facts.get("boot_id") or UNKNOWN_BOOT)
    return "" if boot == UNKNOWN_BOOT else boot


def is_number(name: str) -> bool:
    """Return whether a fact is an integer: a count, or a size in bytes."""
    return fact_of(name).kind in ("count", "bytes")


def number_of(facts: Mapping[str, Fact], name: str) -> float | None:
    """Return a numeric fact; None if it is unknown, or not a number."""
    value = facts.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
