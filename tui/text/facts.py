"""What hosts are, in a few lines: what all have in common, by subject, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tui.metrics.fact_groups import NONE, FactsTogether, Value, hosts_text, leaf_text, leaf_title
from tui.model.hostfacts import Fact
from tui.model.hosttables import Unknown, rows
from tui.text.line import BRIGHT, LABEL, TEXT, WARN, Run

PHRASES: dict[str, dict[str, str]] = {
    "system": {
        "os": "{}",
        "kernel": "{}",
        "machine": "{}",
        "virtualization": "virtualization {}",
        "container": "container {}",
        "boot_options": "booted with {}",
    },
    "cpu": {
        "cpu_model": "{}",
        "sockets": "{} sockets",
        "cores": "{} cores",
        "cpus": "{} CPUs",
        "cpus_usable": "{} usable",
        "numa": "{} NUMA nodes",
        "governor": "governor {}",
        "turbo": "turbo {}",
        "clocksource": "clock {}",
    },
    "memory": {
        "mem_bytes": "{}",
        "mem_usable_bytes": "{} usable",
        "swap_bytes": "swap {}",
        "transparent_hugepages": "transparent huge pages {}",
        "cgroup_cpus": "CPU limit {}",
        "cgroup_mem_bytes": "memory limit {}",
        "cgroup_io": "I/O limit {}",
    },
    "network": {
        "nics": "{} links",
        "nics.kind": "{}",
        "nics.speed_mbit": "{}",
        "nics.mtu": "MTU {}",
        "nics.driver": "{}",
        "nics.bond_mode": "bond {}",
        "rdma.rate": "RDMA {}",
        "rdma.link_layer": "{}",
        "fc_hosts.speed": "FC {}",
        "routes.nic": "server through {}",
    },
    "target": {
        "target_fstype": "{}",
        "target_source": "from {}",
        "target_full": "{} full",
        "mounts.nfs_version": "version {}",
        "mounts.options": "{}",
    },
    "disks": {
        "devices.model": "{}",
        "devices.transport": "{}",
        "devices.size_bytes": "{}",
        "devices.scheduler": "scheduler {}",
        "devices.nr_requests": "{} requests",
        "devices.write_cache": "cache {}",
        "devices.md_level": "{}",
        "devices.md_action": "RAID {}",
    },
}
"""What is told of hosts, by subject, and how; everything is in the record and in `hosts check --facts`."""

Fold = Iterator[tuple[str, list[Run]]]


def common_lines(found: FactsTogether) -> Fold:
    """Yield subject and text of what all hosts have in common."""
    for subject, phrases in PHRASES.items():
        told = ((name, phrase, _told(found, name)) for name, phrase in phrases.items())
        said = [_phrase(name, phrase, value) for name, phrase, value in told if value is not None]
        if said:
            yield subject, [(said[0], BRIGHT), ("".join(f", {each}" for each in said[1:]), TEXT)]


def _told(found: FactsTogether, name: str) -> Value:
    """Return a value that is worth a word: not that there is none of something."""
    value = found.common.get(name)
    return None if value in (0, NONE, "") else value


def _phrase(name: str, phrase: str, value: Value) -> str:
    said = phrase.format(leaf_text(name, value))
    return said.removesuffix("s") if value == 1 and phrase.startswith("{} ") else said


def differing_lines(found: FactsTogether) -> Fold:
    """Yield a label and a text for everything that hosts differ in: first what figures may differ by."""
    for each in sorted(found.differing, key=lambda each: (not each.differs, not each.matters)):
        role = WARN if each.differs and each.matters else TEXT
        yield ("differs" if each.differs else "unknown"), [(each.text, role)]


def unknown_lines(hosts: Mapping[str, Mapping[str, Fact]]) -> Iterator[str]:
    """Yield what could not be read, why, and on which hosts when not on all."""
    found: dict[Unknown, list[str]] = {}
    for host, facts in hosts.items():
        for each in rows(facts, Unknown):
            found.setdefault(each, []).append(host)
    for each, on in found.items():
        where = f" ({hosts_text(on)})" if len(on) < len(hosts) else ""
        yield f"{leaf_title(each.name)}: {each.reason}{where}"


def odd_lines(found: FactsTogether, host: str) -> Fold:
    """Yield what one host differs in from the others, what figures may differ by first."""
    for each in sorted(found.odd_of(host), key=lambda each: not each.matters):
        own = each.of(host)
        other = next((group for group in each.known if group is not own), None)
        if own is not None and other is not None:
            rest = f", {leaf_text(each.name, other.value)} on {hosts_text(other.hosts)}"
            said = f"{each.title}: {leaf_text(each.name, own.value)} here"
            yield "differs", [(said, WARN if each.matters else TEXT), (rest, LABEL)]
