"""Convert the agent's facts (sh/facts.sh) to the typed facts of tui/model/hostfacts.py."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tui.model.host_tables import TABLES
from tui.model.hostfacts import CHANGED, HOST_FACTS, Fact
from tui.model.plain import printable
from tui.remote.answers import AgentAnswer, DirFacts, HostProbe, as_int

Words = dict[str, str]

# `none [mq-deadline] kyber`: the kernel brackets its choice
CHOSEN = re.compile(r"\[([^\]]*)\]")
OCTAL = re.compile(r"\\([0-3][0-7]{2})")
RATE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) Gb/sec")
QUOTA = re.compile(r"([0-9]{1,15}) ([1-9][0-9]{0,14})")
NO_LIMIT = 1 << 60  # a memory limit no machine has: "none" in control groups v1
UNKNOWN_SPEEDS = (0, 0xFFFFFFFF)  # drivers' values for an unknown link speed
BOOT_OPTIONS = re.compile(
    r"(mitigations|nopti|pti|nospectre_v\d|spectre_v\d|spec_store_bypass_disable|l1tf|mds|tsx\w*|retbleed|isolcpus"
    r"|nohz\w*|rcu_nocb\w*|idle|intel_idle\.\w+|processor\.\w+|intel_pstate|amd_pstate|cpufreq\.\w+|cpuidle\.\w+"
    r"|iommu\w*|intel_iommu|amd_iommu|hugepages|hugepagesz|default_hugepagesz|transparent_hugepage|numa\w*|clocksource"
    r"|tsc|nosmt|maxcpus|nr_cpus|mem|elevator|scsi_mod\.\w+|nvme\w*\.\w+|dm_mod\.\w+|dm_multipath\.\w+|pcie_aspm"
    r"|preempt|threadirqs|skew_tick|nmi_watchdog|nowatchdog|audit|selinux|psi)(=.*)?"
)
OWN_OPTIONS = (
    "addr",
    "clientaddr",
    "mountaddr",
    "mountport",
    "port",
    "mon_addr",
    "size",
    "nr_inodes",
    "nr_blocks",
    "upperdir",  # of an overlay: each container has its own
    "workdir",
)
"""Mount options whose values differ on every host."""
OWN_COLUMNS = ("name", "label", "below", "wwid")
"""Columns in which even identical block devices differ."""
REASONS = {
    "absent": "{} does not exist",
    "denied": "{} is not readable by this user",
    "empty": "{} has no value",
    "not-found": "no mount found for {}",
    "no-device": "/sys has no block device {}",
    "no-command": "command {} not found",
    "no-route": "no route to {}",
    "by-name": "no IP address known for server {}",
    "zfs": "/sys does not list the disks of ZFS dataset {}",
    "overlay": "an overlay file system can have several lower file systems",
}
VIRTUAL = (
    ("amazon ec2", "amazon"),
    ("google", "google"),
    ("openstack", "kvm"),
    ("kvm", "kvm"),
    ("qemu", "kvm"),
    ("red hat", "kvm"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("microsoft corporation virtual machine", "hyper-v"),
    ("xen", "xen"),
    ("parallels", "parallels"),
    ("nutanix", "nutanix"),
)
SOME_KIND = "vm-other"  # names as in systemd-detect-virt


def host_facts(probe: HostProbe, answer: AgentAnswer, commands: Sequence[str]) -> dict[str, Fact]:
    """Return all facts of a host, from its probe and from the answer of `bt_facts` for these
    commands.
    """
    facts = {**probe.facts(), **parse_facts(answer, commands)}
    if isinstance(listed := facts.get("mounts"), list):
        facts["mounts"] = [row | room_of(probe.dirs.get(row["path"])) for row in listed]
    memory = [
        size
        for name in ("mem_bytes", "cgroup_mem_bytes")
        if isinstance(size := facts.get(name), int)
    ]
    if memory and isinstance(facts.get("mem_bytes"), int):
        facts["mem_usable_bytes"] = min(memory)
    return with_unknown(facts)


def room_of(found: DirFacts | None) -> dict[str, int]:
    """Return size and free space of a target as columns of the mounts table."""
    sizes = (
        {} if found is None else {"total_bytes": found.total_bytes, "free_bytes": found.free_bytes}
    )
    return {name: size for name, size in sizes.items() if size is not None}


def with_unknown(facts: Mapping[str, Fact], why: str = "") -> dict[str, Fact]:
    """Return facts with missing registry facts listed as unknown, except those about targets and
    tools.

    Without a reason `why`, only those whose absence has no meaning of its own are listed.
    """
    facts = dict(facts)
    listed = facts.pop("unknown", None)
    unknown = (
        {row["name"]: row for row in listed if isinstance(row, dict)}
        if isinstance(listed, list)
        else {}
    )
    for name, known in HOST_FACTS.items():
        if (
            name not in facts
            and (why or not known.absent)
            and known.section not in ("target", "tools")
        ):
            unknown.setdefault(name, _unknown(name, why or f"{known.source} does not contain it"))
    return {**facts, "unknown": list(unknown.values())} if unknown else facts


def parse_facts(answer: AgentAnswer, commands: Sequence[str] = ()) -> dict[str, Fact]:
    """Parse the facts in an answer.

    All have the registry's types, whatever the host sends; unknown facts are absent.
    """
    lines = FactLines(answer)
    facts: dict[str, Fact] = {name: read(lines) for name, read in READERS.items()}
    facts |= {name: table(lines, name) for name in TABLES if name in ROW_READERS}
    for index, command in enumerate(commands):
        name = posixpath.basename(command)
        facts[f"{name}_sha256"] = lines.one(f"checksum.{index}")
        facts[f"{name}_package"] = lines.one(f"package.{index}")
        facts[f"{name}_packaged"] = PACKAGED.get(lines.one(f"intact.{index}"))
    facts["unknown"] = [
        row for line in lines.all("unknown") if (row := unknown_row(line))
    ] + silent_links(facts["nics"])
    return {name: value for name, value in facts.items() if value not in (None, "", [], {})}


PACKAGED = {"1": "as packaged", "0": CHANGED}


class FactLines:
    """Lines of an answer by key, as printable text."""

    def __init__(self, answer: AgentAnswer) -> None:
        self._lines: dict[str, list[str]] = {}
        for line in answer.lines:
            key, equals, value = line.partition("=")
            if equals:
                self._lines.setdefault(key, []).append(value)

    def all(self, key: str) -> list[str]:
        """Return all values of a key."""
        return [text for value in self._lines.get(key, []) if (text := clean(value))]

    def one(self, key: str) -> str:
        """Return the first value of a key; empty if there is none."""
        return next(iter(self.all(key)), "")

    def rows(self, key: str) -> list[Words]:
        """Return the rows of a table, each as values by column."""
        listed = (value.split("\t") for value in self._lines.get(key, []))
        pairs = ((column.partition("=") for column in row) for row in listed)
        return [{name: text for name, _, value in row if (text := clean(value))} for row in pairs]


def clean(text: str) -> str:
    """Return text without control characters, valid in every file format."""
    return printable(text).strip()


# -- plain facts


def chosen(text: str) -> str:
    """Return the text in brackets, such as the active choice of several; without brackets, the
    whole text.
    """
    match = CHOSEN.search(text)
    return match[1] if match else text


def virtualization(lines: FactLines) -> str:
    """Return "none" or the kind of virtual machine; empty if unknown."""
    flag, kind = lines.one("cpu_hypervisor"), lines.one("hypervisor")
    if flag == "0" and not kind:
        # cloud providers also sell whole machines under their name
        return "none"
    named = f"{lines.one('dmi_vendor')} {lines.one('dmi_product')}".lower()
    found = next((name for word, name in VIRTUAL if word in named), "")
    return kind or found or (SOME_KIND if flag == "1" else "")


def container(lines: FactLines) -> str:
    """Return the kind of container; empty if none is recognised."""
    words = lines.one("container").split()
    if not words:
        return ""
    return (
        words[1]
        if len(words) > 1
        else {".dockerenv": "docker", ".containerenv": "podman"}.get(words[0], words[0])
    )


def boot_options(lines: FactLines) -> list[str]:
    """Return performance-relevant options of the kernel command line.

    Others are dropped, because they may contain names and secrets.
    """
    return sorted(word for word in lines.one("boot_line").split() if BOOT_OPTIONS.fullmatch(word))


def vulnerabilities(lines: FactLines, *, mitigated: bool) -> list[str]:
    """Return the CPU's vulnerabilities that have a mitigation, or those that have none."""
    pairs = (line.partition(" ") for line in lines.all("vulnerability"))
    return sorted({name for name, _, state in pairs if state.startswith("Mitigation") == mitigated})


def turbo(lines: FactLines) -> str:
    """Return "on", "off", or "" if unknown."""
    off, boost = lines.one("no_turbo"), lines.one("boost")
    return {"0": "on", "1": "off"}.get(off) or {"1": "on", "0": "off"}.get(boost, "")


def cpu_list(text: str) -> int | None:
    """Return the number of CPUs in a list such as ``0-15,64-79``; None if it is malformed."""
    total = 0
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low, high = as_int(first), as_int(last if dash else first)
        if low is None or high is None or high < low:
            return None
        total += high - low + 1
    return total


def cgroup_cpus(lines: FactLines) -> float | None:
    """Return the control group's CPU limit, in CPUs; None if there is none."""
    quotas = [match for line in lines.all("cgroup_cpu") if (match := QUOTA.fullmatch(line))]
    return min((round(int(each[1]) / int(each[2]), 3) for each in quotas), default=None)


def cgroup_memory(lines: FactLines) -> int | None:
    """Return the control group's memory limit in bytes; None if there is none."""
    sizes = [size for line in lines.all("cgroup_memory") if (size := as_int(line)) is not None]
    return min((size for size in sizes if size < NO_LIMIT), default=None)


def cpus_usable(lines: FactLines) -> float | None:
    """Return the number of CPUs that a load can use; None if unknown."""
    allowed = cpu_list(lines.one("cpus_allowed"))
    limits = [limit for limit in (allowed, cgroup_cpus(lines)) if limit is not None]
    return min(limits) if allowed is not None else None


def limit(name: str, place: int) -> Callable[[FactLines], int | None]:
    """Return a parser of limits ``soft hard unit`` that picks one word; its result is None if
    unlimited or unknown.
    """

    def read(lines: FactLines) -> int | None:
        words = lines.one(name).split()
        return as_int(words[place]) if len(words) > place else None

    return read


def sysctls(lines: FactLines) -> dict[str, str]:
    """Return kernel settings by their dotted names."""
    pairs = (line.partition(" ") for line in lines.all("sysctl"))
    return {name.replace("/", "."): " ".join(value.split()) for name, _, value in pairs if value}


def text(name: str) -> Callable[[FactLines], str]:
    """Return a parser that returns the line of this name unchanged."""
    return lambda lines: lines.one(name)


def count(name: str, unit: int = 1) -> Callable[[FactLines], int | None]:
    """Return a parser of the integer of this name, times `unit`; its result is None if unknown."""

    def read(lines: FactLines) -> int | None:
        number = as_int(lines.one(name))
        return None if number is None else number * unit

    return read


def known_count(name: str) -> Callable[[FactLines], int | None]:
    """Return a parser of the integer of this name; its result is None if unknown or 0."""
    return lambda lines: count(name)(lines) or None


READERS: dict[str, Callable[[FactLines], Fact]] = {
    "machine": lambda lines: f"{lines.one('dmi_vendor')} {lines.one('dmi_product')}".strip(),
    "virtualization": virtualization,
    "container": container,
    "boot_options": boot_options,
    "mitigated": lambda lines: vulnerabilities(lines, mitigated=True),
    "vulnerable": lambda lines: vulnerabilities(lines, mitigated=False),
    "clocksource": text("clocksource"),
    "sockets": known_count("sockets"),
    "cores": known_count("cores"),
    "cpus_usable": cpus_usable,
    "cpus_allowed": text("cpus_allowed"),
    "governor": lambda lines: ", ".join(lines.all("governor")),
    "cpufreq_driver": text("cpufreq_driver"),
    "energy_preference": text("energy_preference"),
    "turbo": turbo,
    "idle_driver": text("idle_driver"),
    "swap_bytes": count("swap_kib", 1024),
    "swap_free_bytes": count("swap_free_kib", 1024),
    "hugepages": count("hugepages"),
    "hugepage_bytes": count("hugepage_kib", 1024),
    "transparent_hugepages": lambda lines: chosen(lines.one("transparent_hugepages")),
    "cgroup_version": lambda lines: (
        "v1" if "v1" in lines.all("cgroup_version") else lines.one("cgroup_version")
    ),
    "cgroup_cpus": cgroup_cpus,
    "cgroup_mem_bytes": cgroup_memory,
    "cgroup_io": lambda lines: lines.all("cgroup_io"),
    "nofile": limit("limit_nofile", 0),
    "nofile_hard": limit("limit_nofile", 1),
    "memlock_bytes": limit("limit_memlock", 0),
    "memlock_hard_bytes": limit("limit_memlock", 1),
    "sysctls": sysctls,
}


# -- tables


def table(lines: FactLines, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table, with the columns of host_tables.py; rows without a name are
    dropped.
    """
    kind, found = TABLES[name], []
    for words in ROW_READERS[name](lines):
        try:
            found.append(msgspec.to_builtins(msgspec.convert(typed(words, kind), kind)))
        except msgspec.ValidationError:
            continue
    return found


def typed(words: Words, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Convert a row's values to the types of this struct; invalid values are dropped."""
    found: dict[str, Any] = {}
    for each in msgspec.structs.fields(kind):
        if each.name in words:
            value = CASTS.get(str(each.type), str)(words[each.name])
            if value is not None:
                found[each.name] = value
    return found


CASTS: dict[str, Callable[[str], Any]] = {
    str(int | None): as_int,
    str(float | None): lambda text: (
        float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text) else None
    ),
    str(bool | None): lambda text: {"0": False, "1": True}.get(text),
    str(list[str]): lambda text: [word for word in re.split(r"[,\s]+", text) if word],
}


def sized(words: Words, name: str, of: str, unit: int) -> Words:
    """Add column `name` to a row: column `of` in bytes, where `unit` is the bytes per unit."""
    size = as_int(words.get(of, ""))
    return words if size is None else {**words, name: str(size * unit)}


def first_word(words: Words, *names: str) -> Words:
    """Return a row with these columns cut to their first word: ``802.3ad`` from ``802.3ad 4``."""
    return {name: value.split()[0] if name in names else value for name, value in words.items()}


def numa(lines: FactLines) -> Iterable[Words]:
    """Return the NUMA nodes in order of their numbers, merged from lines on CPUs and on memory."""
    nodes: dict[str, Words] = {}
    for line in lines.all("node"):
        name, _, value = line.partition(" ")
        node = nodes.setdefault(name, {"node": name.removeprefix("node")})
        if memory := re.search(r"MemTotal:\s*([0-9]+) kB", value):
            node.update(sized({"kib": memory[1]}, "mem_bytes", "kib", 1024))
        elif cpu_list(value):
            node["cpus"] = value
    return sorted(nodes.values(), key=lambda node: (len(node["node"]), node["node"]))


def nics(lines: FactLines) -> Iterable[Words]:
    """Yield the network links."""
    for words in lines.rows("nics"):
        row = first_word(words, "bond_mode", "bond_hash")
        if as_int(row.get("speed_mbit", "")) in UNKNOWN_SPEEDS:
            row.pop("speed_mbit")
        yield row if row.get("duplex") != "unknown" else {**row, "duplex": ""}


def rdma(lines: FactLines) -> Iterable[Words]:
    """Yield the RDMA links, parsed from texts such as ``4: ACTIVE`` and ``100 Gb/sec (4X EDR)``."""
    for words in lines.rows("rdma"):
        rate = RATE.match(words.get("rate", ""))
        state = words.get("state", "").rpartition(": ")[2]
        yield {**words, "state": state, **({"rate_gbit": rate[1]} if rate else {})}


def mounts(lines: FactLines) -> Iterable[Words]:
    """Yield the mounts of targets."""
    for words in lines.rows("mounts"):
        options = list(dict.fromkeys(words.get("options", "").split(",")))
        version = next(
            (option.partition("=")[2] for option in options if option.startswith("vers=")), ""
        )
        kept = [option for option in options if option.partition("=")[0] not in OWN_OPTIONS]
        row = {name: unescaped(value) for name, value in words.items()}
        yield {
            **row,
            "options": ",".join(kept),
            "nfs_version": version if "nfs" in row.get("fstype", "") else "",
        }


def unescaped(text: str) -> str:
    """Return a path of /proc/self/mountinfo with octal escapes decoded."""
    return clean(OCTAL.sub(lambda match: chr(int(match[1], 8)), text))


def routes(lines: FactLines) -> Iterable[Words]:
    """Yield the routes to storage servers, from ``ip -o route get``."""
    for words in lines.rows("routes"):
        parts = words.get("line", "").split()
        after = dict(itertools.pairwise(parts))
        yield {
            "server": words.get("server", ""),
            **{new: after.get(old, "") for new, old in ROUTE_WORDS},
        }


ROUTE_WORDS = (("nic", "dev"), ("source", "src"), ("via", "via"))


def devices(lines: FactLines) -> Iterable[Words]:
    """Yield block devices.

    The agent abbreviates a device that equals an earlier one; it is expanded here.
    """
    seen: dict[str, Words] = {}
    for words in lines.rows("devices"):
        alike = seen.get(words.get("like", ""), {})
        row = {**{name: value for name, value in alike.items() if name not in OWN_COLUMNS}, **words}
        seen[words.get("name", "")] = row
        row = sized(
            sized(row, "size_bytes", "sectors", 512), "read_ahead_bytes", "read_ahead_kib", 1024
        )
        yield {**row, "scheduler": chosen(row.get("scheduler", ""))}


ROW_READERS: dict[str, Callable[[FactLines], Iterable[Words]]] = {
    "numa": numa,
    "cstates": lambda lines: lines.rows("cstates"),
    "nics": nics,
    "rdma": rdma,
    "fc_hosts": lambda lines: lines.rows("fc_hosts"),
    "mounts": mounts,
    "routes": routes,
    "devices": devices,
    "running": lambda lines: lines.rows("running"),
}


def silent_links(nics: Fact) -> list[dict[str, str]]:
    """Return an unknown fact for each link that is up but reports no speed, as virtual links do."""
    links = [row for row in nics if isinstance(row, dict)] if isinstance(nics, list) else []
    up = (row["name"] for row in links if row.get("state") == "up" and "speed_mbit" not in row)
    return [
        _unknown("nics.speed_mbit", f"the driver of {name} does not report its speed")
        for name in up
    ]


def _unknown(name: str, reason: str) -> dict[str, str]:
    return {"name": name, "reason": reason}


def unknown_row(line: str) -> dict[str, str] | None:
    """Parse an unknown fact from ``NAME REASON WHERE``; None if malformed."""
    name, reason, where = [*line.split(" ", 2), "", ""][:3]
    return (
        {"name": name, "reason": REASONS.get(reason, "{}").replace("{}", where or reason)}
        if name
        else None
    )
