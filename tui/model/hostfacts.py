"""Facts of a host: which there are, what they hold, and how they are read. One place for probe, screens and record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Fact = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class HostFact:
    """One fact. `title` is what people call it, `source` how the agent reads it (tui/remote/sh/probe.sh)."""

    name: str
    title: str
    source: str
    kind: Literal["text", "count", "bytes"] = "text"


HOST_FACTS: dict[str, HostFact] = {
    each.name: each
    for each in (
        HostFact("kernel", "kernel", "uname -sr"),
        HostFact("arch", "architecture", "uname -m"),
        HostFact("hostname", "host name", "uname -n"),
        HostFact("uid", "user id", "id -u", "count"),
        HostFact("user", "user", "id -un"),
        HostFact("boot_id", "boot", "/proc/sys/kernel/random/boot_id"),
        HostFact("cpus", "CPUs", "getconf _NPROCESSORS_ONLN", "count"),
        HostFact("cpu_model", "CPU", "/proc/cpuinfo"),
        HostFact("mem_bytes", "memory", "/proc/meminfo, MemTotal", "bytes"),
        HostFact("mem_available_bytes", "available memory", "/proc/meminfo, MemAvailable", "bytes"),
        HostFact("load1", "load", "/proc/loadavg"),
        HostFact("os", "OS", "/etc/os-release"),
        HostFact("tools", "tools", "command -v"),
        HostFact("target", "target", "the profile's directory or device"),
        HostFact("target_fstype", "file system", "df -Pk, /proc/mounts"),
        HostFact("target_source", "mounted from", "df -Pk, /proc/mounts"),
        HostFact("target_mount", "mounted at", "df -Pk, /proc/mounts"),
        HostFact("target_mount_options", "mount options", "df -Pk, /proc/mounts"),
        HostFact("target_total_bytes", "size", "df -Pk", "bytes"),
        HostFact("target_free_bytes", "free", "df -Pk", "bytes"),
    )
}


def is_number(name: str) -> bool:
    """Tell whether a fact is a whole number; sizes are, known or not."""
    known = HOST_FACTS.get(name)
    return known.kind != "text" if known is not None else name.endswith("_bytes")


def number_of(facts: Mapping[str, Fact], name: str) -> float | None:
    """Return a fact that is a number; None when it is not known, or not one."""
    value = facts.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
