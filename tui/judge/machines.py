"""Checks of the hosts before the load: whether they are ready and alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.judge.check import (
    CheckResult,
    RunEvidence,
    Severity,
    UnknownError,
    Unread,
    of_hosts,
    run_check,
    two_hosts,
    unread_in_steps,
)
from tui.metrics import units
from tui.metrics.facts import compare, one_boot
from tui.model.criteria import default
from tui.model.host_tables import (
    OF_THE_SYSTEM,
    BlockLayer,
    Mount,
    OpenFile,
    Running,
    root_target,
    rows,
    steps_of,
)
from tui.model.hostfacts import CHANGED, boot_of, number_of
from tui.model.operands import Clause, Operands, clause

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.model.host_record import HostRecord
    from tui.model.plan import JobLoad
    from tui.model.step_record import Scalar

IN_MEMORY = ("tmpfs", "ramfs", "hugetlbfs", "devtmpfs")
MEMORY_DEVICES = ("ram", "zram", "nullb")  # brd, zram; null_blk, which discards data
# accepts direct I/O, but may still cache
MAY_CACHE = ("fuse", "9p", "virtiofs", "zfs", "ntfs", "vboxsf")
SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit")
FULL = default("target-full.full")
NAMED = 3
PACKAGED = "_packaged"  # ends the names of facts about programs


@of_hosts(lambda host: "" if host.facts else "host-facts")
@run_check(
    "host-differences",
    "Identical hosts",
    rule=(
        "kernel, tools, CPU, memory, links, mount options and relevant settings are the same on all"
        " hosts"
    ),
    advice=(
        "Compare the hosts (Facts on Result, or benchtui hosts check --facts) and align them, or"
        " quote the difference with the figure."
    ),
    source=(
        "facts read in preflight; for imports, the versions and options printed in the outputs"
    ),
)
def alike(evidence: RunEvidence) -> Iterator[CheckResult]:
    """A total over hosts that differ describes none of them, and cannot be reproduced with
    others.
    """
    known = {host.name: host.facts for host in evidence.hosts if host.facts}
    if len(known) < 2:
        versions = [*_printed_versions(evidence), *_other_jobs(evidence)]
        if not versions:
            raise two_hosts(len(evidence.hosts), "host-facts")
        yield from (
            CheckResult("warning", "differ", 1, 0, operands={"what": [each], "count": 1})
            for each in versions
        )
        return
    differing = [each for each in compare(known).differing if each.matters and each.differs]
    if differing:
        what = [
            clause(
                "fact", fact=each.name, groups=[(group.value, group.hosts) for group in each.groups]
            )
            for each in differing[:NAMED]
        ]
        operands: Operands = {"what": what, "count": len(differing)}
        yield CheckResult("warning", "differ", len(differing), 0, operands=operands)


@of_hosts(lambda host: "" if boot_of(host.facts) else "boot-ids")
@run_check(
    "one-machine",
    "A machine for each host",
    rule="a note if clients report the same boot ID: they run on one kernel",
    advice=(
        "Name each machine once, or quote the number of machines: hosts on one kernel share its"
        " CPUs, memory, network links and devices. Containers or pods on one node are a valid"
        " setup."
    ),
    source="/proc/sys/kernel/random/boot_id and the host name, read in preflight",
)
def one_machine(evidence: RunEvidence) -> Iterator[CheckResult]:
    """Two names of one machine do not add a client: both compete for the same CPUs and links."""
    clients = {host.name: host.facts for host in evidence.hosts if host.role == "client"}
    known = [name for name, facts in clients.items() if boot_of(facts)]
    if len(known) < 2:
        raise two_hosts(len(clients), "boot-ids")
    for group in one_boot(clients):
        operands: Operands = {"hosts": list(group.hosts)}
        code = "machine" if group.machine else "kernel"
        scope = {"hosts": " ".join(group.hosts)}
        yield CheckResult("info", code, len(group.hosts), 1, {**scope}, operands)


def _other_jobs(evidence: RunEvidence) -> Iterator[Clause]:
    """Yield the hosts of a step that ran other jobs than its first host."""
    for step in evidence.plan.steps:
        usual = [_load(job) for job in step.jobs]
        others = [
            task.host for task in step.tasks if task.jobs and [*map(_load, task.jobs)] != usual
        ]
        if others:
            yield clause("jobs", hosts=others, first=step.tasks[0].host)


def _load(job: JobLoad) -> tuple[object, ...]:
    rates = (*job.rate_iops.items(), *job.rate_bytes_per_s.items())
    return job.directions, job.held, job.block_bytes, job.random, job.direct, job.queues, rates


def _printed_versions(evidence: RunEvidence) -> Iterator[Clause]:
    """Yield the versions in the outputs of a step, if its hosts ran different ones."""
    for step in evidence.steps:
        hosts: dict[str, list[str]] = {}
        for host, task in step.tasks.items():
            if task.tool_version:
                hosts.setdefault(task.tool_version, []).append(host)
        if len(hosts) > 1:
            yield clause("versions", versions=list(hosts.items()))


@of_hosts(lambda host: "" if file_systems(host) or _layers(host) else "target-devices")
@run_check(
    "direct-io",
    "Direct I/O is direct",
    rule=(
        "neither the target nor a test file that is only read is in memory, including everything"
        " below loop devices and the overlay layer that holds the file; each open test file has"
        " O_DIRECT in at least one descriptor if all jobs set direct=1, and a descriptor without"
        " O_DIRECT if no job does; with direct I/O, no loop device below the target accesses its"
        " file through the page cache; a note if the file system may cache direct I/O"
    ),
    advice=(
        "Measure on the storage itself; compare with a working set much larger than the"
        " memory of clients and servers. Attach loop devices with losetup --direct-io=on."
    ),
    source=(
        "/proc/self/mountinfo and /sys/block of each target and of up to 16 files that are only"
        " read, down to the last device; flags of open files in /proc/PID/fdinfo"
    ),
    when="files",
)
def direct(evidence: RunEvidence) -> Iterator[CheckResult | Unread]:
    """O_DIRECT is a request.

    An in-memory file system accepts it but has no storage; other file systems accept it and still
    cache.
    """
    kinds = {host.name: file_systems(host) for host in evidence.hosts}
    devices = {
        host.name: {layer.name for layer in rows(host.facts, BlockLayer)} for host in evidence.hosts
    }
    opened = any(rows(host.facts, OpenFile) for host in evidence.hosts)
    if not any(kinds.values()) and not any(devices.values()) and not opened:
        raise UnknownError("target-devices")
    in_memory = {
        host: {name for name in names if _is_memory(name)} for host, names in devices.items()
    }
    yield from _opened_otherwise(evidence)
    yield from _named(in_memory, "error", "in-memory")
    yield from _on_kind(kinds, IN_MEMORY, "error", "in-memory")
    if any(job.direct for step in evidence.plan.steps for job in step.jobs):
        yield from _named(_buffered_loops(evidence), "warning", "buffered-loop")
        yield from _on_kind(kinds, MAY_CACHE, "info", "may-cache")


def _opened_otherwise(evidence: RunEvidence) -> Iterator[CheckResult | Unread]:
    """Yield a step whose load has a file open only without O_DIRECT although its jobs ask for
    O_DIRECT, or only with O_DIRECT although no job does: that is not the planned load.
    """
    ways = {host.name: _ways(host, len(evidence.plan.steps)) for host in evidence.hosts}
    asked: dict[int, bool] = {}
    for step in evidence.plan.steps:
        flags = {job.direct for job in step.jobs if job.stores}
        # fio opens what it trims without O_DIRECT (filesetup.c, generic_open_file)
        if len(flags) == 1 and not any("trim" in job.directions for job in step.jobs):
            asked[step.index] = flags.pop()
    for index, wanted in asked.items():
        wrong: dict[str, str] = {}
        for host, of_host in ways.items():
            # a file may also be open for something else, such as its layout
            opened = of_host.get(index, {})
            if only := [path for path, found in opened.items() if found == {not wanted}]:
                wrong[host] = only[0]
        if wrong:
            has, operands = ("without", "direct=1") if wanted else ("with", "direct=0")
            code = "not-direct" if wanted else "direct"
            scope: dict[str, Scalar] = {"hosts": " ".join(wrong)}
            yield CheckResult("error", code, has, operands, scope, {"paths": list(wrong.items())})
    read = {host: set(of_host) for host, of_host in ways.items()}
    yield from unread_in_steps(evidence, read, "open-files", asked)


def _ways(host: HostRecord, count: int) -> dict[int, dict[str, set[bool | None]]]:
    """Return, by step and path, whether the load had a file open with O_DIRECT or without."""
    found: dict[int, dict[str, set[bool | None]]] = {}
    for row in rows(host.facts, OpenFile):
        for step in steps_of(row, count):
            of_step = found.setdefault(step, {})
            of_step.setdefault(row.path, set()).add(row.is_direct(host.facts.get("arch")))
    return found


def _layers(host: HostRecord) -> list[BlockLayer]:
    return rows(host.facts, BlockLayer)


def _is_packaged(fact: str) -> bool:
    return fact.endswith(PACKAGED)


def _buffered_loops(evidence: RunEvidence) -> dict[str, set[str]]:
    """Return, by host, loop devices that read and write their file through the page cache."""
    return {
        host.name: {
            layer.name
            for layer in rows(host.facts, BlockLayer)
            if layer.kind == "loop" and layer.direct is False
        }
        for host in evidence.hosts
    }


def file_systems(host: HostRecord) -> set[str]:
    """Return the known file system types of a host's targets."""
    fact = host.facts.get("target_fstype")
    return {mount.fstype for mount in rows(host.facts, Mount) if mount.fstype} | (
        {str(fact)} if fact else set()
    )


def may_cache(kind: str) -> bool:
    """Return whether a file system accepts direct I/O but may still cache."""
    return kind.partition(".")[0] in MAY_CACHE


def _on_kind(
    kinds: dict[str, set[str]], doubtful: Sequence[str], severity: Severity, code: str
) -> Iterator[CheckResult]:
    found = {
        host: {name for name in names if name.partition(".")[0] in doubtful}
        for host, names in kinds.items()
    }
    yield from _named(found, severity, code)


def _is_memory(device: str) -> bool:
    return device.rstrip("0123456789") in MEMORY_DEVICES


def _named(kinds: dict[str, set[str]], severity: Severity, code: str) -> Iterator[CheckResult]:
    """Yield one result that names the hosts and the kinds found on them."""
    found = {host: names for host, names in kinds.items() if names}
    if found:
        names = sorted(set().union(*found.values()))
        scope: dict[str, Scalar] = {"hosts": " ".join(found)}
        operands: Operands = {"names": names, "hosts": list(found)}
        yield CheckResult(severity, code, ", ".join(names), "a disk", scope, operands)


@of_hosts(lambda host: "" if host.facts.get("target_mount") else "target-devices")
@run_check(
    "root-target",
    "The storage is mounted",
    rule=(
        "a note if the target is on the root file system (also through a bind mount) and not below"
        f" {', '.join(OF_THE_SYSTEM[:-1])} or {OF_THE_SYSTEM[-1]}; a warning if that is so on some"
        " hosts only"
    ),
    advice=(
        "Run findmnt --target DIRECTORY on the host. If the storage is not mounted there, mount it"
        " and measure again; if the system's own disk is what you measure, say so with the figure."
    ),
    source="df, stat and /proc/mounts, read in preflight",
    when="files",
)
def root(evidence: RunEvidence) -> Iterator[CheckResult]:
    """A file system that is not mounted leaves an empty directory: the load then measures the
    system's own disk."""
    clients = [host for host in evidence.hosts if host.role == "client"]
    known = {host.name: host.facts for host in clients if host.facts.get("target_mount")}
    if not known:
        raise UnknownError("target-devices")
    found = {name: kind for name, facts in known.items() if (kind := root_target(facts))}
    if found:
        severity: Severity = "info" if len(found) == len(known) else "warning"
        operands: Operands = {"names": sorted(set(found.values())), "hosts": list(found)}
        scope: dict[str, Scalar] = {"hosts": " ".join(found)}
        yield CheckResult(severity, "root", len(found), 0, scope, operands)


@of_hosts(lambda host: "" if number_of(host.facts, "target_full") is not None else "free-space")
@run_check(
    "target-full",
    "Free space on the target",
    rule=f"the target's file system is at most {units.share(FULL)} full",
    advice=("Free some space: nearly full flash and file systems are slower."),
    source="df -Pk",
    when="files",
)
def room(evidence: RunEvidence) -> Iterator[CheckResult]:
    """A nearly full target has few free blocks: garbage collection and fragmentation show in the
    figure.
    """
    full = {host.name: number_of(host.facts, "target_full") for host in evidence.hosts}
    known = {host: share for host, share in full.items() if share is not None}
    if not known:
        raise UnknownError("free-space")
    high = {
        host: share for host, share in known.items() if share > evidence.limit("target-full.full")
    }
    if high:
        worst = max(high, key=lambda host: high[host])
        yield CheckResult(
            "warning",
            "full",
            round(high[worst], 3),
            evidence.limit("target-full.full"),
            {"hosts": " ".join(high)},
            {"share": high[worst], "hosts": list(high)},
        )


@of_hosts(lambda host: "" if _layers(host) else "target-devices")
@run_check(
    "raid-rebuild",
    "Healthy RAID",
    rule="no RAID below the target is degraded or being rebuilt",
    advice="Wait until the rebuild has finished, then measure.",
    source="/sys/block/*/md",
    when="files",
)
def devices(evidence: RunEvidence) -> Iterator[CheckResult]:
    """While a RAID rebuilds, the load shares its disks with the rebuild."""
    layers = {host.name: rows(host.facts, BlockLayer) for host in evidence.hosts}
    if not any(layers.values()):
        raise UnknownError("target-devices")
    for host, found in layers.items():
        for layer in found:
            busy = layer.md_action if layer.md_action not in ("", "idle", "frozen", "none") else ""
            ill = busy or ("degraded" if layer.md_degraded else "")
            if ill:
                operands: Operands = {"host": host, "device": layer.name, "state": ill}
                operands["done"] = layer.md_done
                yield CheckResult("warning", "ill", ill, "idle", {"hosts": host}, operands)


@of_hosts(lambda host: "" if host.facts.get("governor") else "governor")
@run_check(
    "cpu-frequency",
    "CPU frequency and clock",
    rule=(
        "the governor is performance (otherwise a note; a warning for a latency headline),"
        " and the clock source is fast to read (otherwise a warning)"
    ),
    advice=(
        "Run cpupower frequency-set -g performance before you measure; put clocksource=tsc on the"
        " kernel command line."
    ),
    source="/sys/devices/system/cpu/cpufreq, /sys/devices/system/clocksource",
)
def frequency(evidence: RunEvidence) -> Iterator[CheckResult | Unread]:
    """A CPU that sleeps or clocks down between I/Os adds its wake-up time to each latency; a slow
    clock adds its own."""
    governors = {
        host.name: str(host.facts["governor"])
        for host in evidence.hosts
        if host.facts.get("governor")
    }
    clocks = {
        host.name: str(host.facts["clocksource"])
        for host in evidence.hosts
        if host.facts.get("clocksource")
    }
    if not governors and not clocks:
        raise UnknownError("host-facts")
    saving = {host: name for host, name in governors.items() if name != "performance"}
    if saving:
        headlines = [evidence.plan.headline_of(step) for step in evidence.plan.steps]
        by_latency = any(each is not None and each.metric == "latency" for each in headlines)
        severity: Severity = "warning" if by_latency else "info"
        yield _set_to(severity, "governor", saving)
    slow = {host: name for host, name in clocks.items() if name in SLOW_CLOCKS}
    if slow:
        yield _set_to("warning", "clock-source", slow)
    if not governors and not slow:
        raise UnknownError("governor", hosts=[host.name for host in evidence.hosts])
    servers = [host for host in evidence.hosts if host.role == "server"]
    unread = [host.name for host in servers if host.name not in governors]
    yield Unread(UnknownError("governor"), hosts=unread)


def _set_to(severity: Severity, code: str, found: dict[str, str]) -> CheckResult:
    operands: Operands = {"names": sorted(set(found.values())), "hosts": list(found)}
    return CheckResult(severity, code, len(found), 0, {"hosts": " ".join(found)}, operands)


@of_hosts(lambda host: "" if "cpus" in host.facts else "host-facts")
@run_check(
    "other-load",
    "Other load generators",
    rule="no other load generator is running on a host when the run starts",
    advice=(
        "Find out who started it, and measure after it has ended; hosts sweep removes"
        " leftovers of earlier runs."
    ),
    source="/proc/*/comm",
)
def other_load(evidence: RunEvidence) -> Iterator[CheckResult]:
    """Two benchmarks on one host can disturb each other. Only the name of the other process is
    known, not what it does.
    """
    if not any("cpus" in host.facts for host in evidence.hosts):
        raise UnknownError("host-facts")
    others = {host.name: rows(host.facts, Running) for host in evidence.hosts}
    found = {
        host: sorted({each.name for each in running}) for host, running in others.items() if running
    }
    if found:
        scope: dict[str, Scalar] = {"hosts": " ".join(found)}
        operands: Operands = {"running": list(found.items())}
        yield CheckResult("warning", "running", len(found), 0, scope, operands)


@of_hosts(lambda host: "" if any(map(_is_packaged, host.facts)) else "package-checksums")
@run_check(
    "changed-program",
    "Load generator unchanged since installed",
    rule=(
        "every load generator is the file installed by its package; programs without a"
        " package are not checked"
    ),
    advice=(
        "Reinstall the package, or find out who replaced the program and move it to another path."
    ),
    source="checksum, compared with the one in dpkg or rpm",
)
def as_packaged(evidence: RunEvidence) -> Iterator[CheckResult]:
    """A program that has a package's name and version but other contents may do anything."""
    known = {
        (tool, str(host.facts.get(f"{tool}_package")), host.name): value
        for host in evidence.hosts
        for name, value in host.facts.items()
        if _is_packaged(name)
        for tool in [name.removesuffix(PACKAGED)]
    }
    if not known:
        raise UnknownError("package-checksums")
    changed = [what for what, value in known.items() if value == CHANGED]
    if changed:
        operands: Operands = {"programs": changed}
        yield CheckResult("warning", "changed", len(changed), 0, operands=operands)


MACHINE_CHECKS = (
    alike,
    one_machine,
    direct,
    root,
    room,
    devices,
    frequency,
    other_load,
    as_packaged,
)
