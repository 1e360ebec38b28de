"""Texts about what telemetry shows: CPU, network, traffic, limits of control groups."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics import units
from tui.text.form import Text
from tui.text.names import told_of

LEFT = ", all that the hypervisor leaves"


def throttled(percent: float, cpus: float | None) -> str:
    """Return in what share of the periods the control group throttled the load."""
    of = f" (limit {cpus:g} CPUs)" if cpus is not None else ""
    return f"throttled by its control group{of} in {percent:.0f} % of the periods"


def limit(number: str, what: str, limit: float) -> str:
    """Return a limit of a control group: ``reads of 100 MiB/s on 8:0``."""
    return f"{limit_text(what, limit)} on {number}"


def limit_text(what: str, limit: float) -> str:
    """Return a limit without its device: ``reads of 100 MiB/s``."""
    direction, _, unit = what.partition("_")
    rate = units.bandwidth(limit) if unit == "bps" else f"{units.iops(limit)} IOPS"
    return f"{direction}s of {rate}"


def now(now: str, before: str | None) -> str:
    """Return a limit that changed, and what it was."""
    return f"{now} (before: {before.partition(' on ')[0] if before else 'none'})"


def merged(hosts: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return several texts about each host, with equal ones merged."""
    return told_of({host: ", ".join(texts) for host, texts in hosts})


MOVED = "{direction}: devices and mounts of {host} moved only {share:share} of the bytes; the rest"
NOT_READ = "came from a cache, was never written, or bypassed these counters"
NOT_WRITTEN = "did not reach storage in that time, or bypassed these counters"
BY_COUNTER = {
    "mounts": "{direction}: NFS mounts of {host} moved only {share:share} of the bytes; the rest",
    "devices": "{direction}: devices of {host} moved only {share:share} of the bytes; the rest",
    "processes": (
        "{direction}: the kernel of {host} counts only {share:share} of the bytes for the load's"
        " processes; the rest"
    ),
}


def for_seconds(what: str, seconds: float, of_s: float) -> str:
    """Return the highest value of a limit, and how long it was reached: ``99 % busy in the busiest
    second, at the limit for 40 s of 60 s``.
    """
    return f"{what} in the busiest second, at the limit for {seconds:.0f} s of {of_s:.0f} s"


OBSERVED: dict[str, dict[str, Text]] = {
    "storage-traffic": {
        "read": f"{MOVED} {NOT_READ}",
        "written": f"{MOVED} {NOT_WRITTEN}",
        **{f"read-{counter}": f"{moved} {NOT_READ}" for counter, moved in BY_COUNTER.items()},
        **{f"written-{counter}": f"{moved} {NOT_WRITTEN}" for counter, moved in BY_COUNTER.items()},
        **{
            f"{way}-{counter}-or-clock": f"{moved} {told}, or the load generator's clock is slow"
            " (too few samples to tell)"
            for way, told in (("read", NOT_READ), ("written", NOT_WRITTEN))
            for counter, moved in BY_COUNTER.items()
        },
        **{
            f"clock-{counter}": (
                f"{moved.rpartition(';')[0]} per second: the load's byte count and clock disagree"
            )
            for counter, moved in BY_COUNTER.items()
        },
    },
    "object-traffic": {
        "carried": "{direction}: the links of {host} carried {share:share} of the bytes counted"
    },
    "client-cpu": {
        "bound": "client CPU near its limit: {hosts:range}",
        "cpu-for-seconds": for_seconds,
        "stolen": "{host}: {percent:.1f} % CPU steal by the hypervisor",
        "threads": "threads of the load use {percent:.0f} % of a core each",
        "busy": "{percent:.0f} % busy",
        "core": "core {core} is {percent:.0f} % busy",
        "a-core": "a core is {percent:.0f} % busy",
        "throttled": throttled,
        "thread": "a thread of the load uses {percent:.0f} % of a core",
        "thread-left": f"a thread of the load uses {{percent:.0f}} % of a core{LEFT}",
        "interrupts": "a core spends {percent:.0f} % of the time in soft interrupts",
        "allowed": "the load uses {percent:.0f} % of the {cpus:g} allowed CPUs",
        "queued": "processes of the load wait for a CPU {percent:.0f} % of the time they want one",
    },
    "network": {
        "full": "network near its limit: {hosts:range}",
        "link": "{link} carries {share:share} of its {gbit_per_s:g} Gbit/s",
        "link-for-seconds": for_seconds,
        "lossy": "the network loses packets: {hosts:merged}",
        "segments": "{share:share1} of TCP segments were retransmitted",
        "calls": "{calls:.0f} NFS calls were retransmitted",
    },
    "background-load": {
        "noisy": "not quiet before the load: {hosts:colon}",
        "busy": "{what} {percent:.0f} % busy",
        "carries": "{link} carries {bytes_per_s:bandwidth}",
    },
    "io-limit": {
        "reached": "the load is at the I/O limit of its control group: {hosts:range}",
        "limit": limit,
        "changed": lambda hosts: (
            f"the I/O limits of the control group changed during the run: {merged(hosts)}"
        ),
        "now": now,
        "lifted": "{limit} lifted",
    },
    "memory-limit": {
        "page-cache": (
            "{host}: the control group limits the page cache to {limit_bytes:size} of"
            " {memory_bytes:size} of memory; the files are {files_bytes:size}"
        )
    },
    "other-traffic": {
        "more": lambda hosts: f"foreign traffic on the storage: {merged(hosts)}",
        "above": (
            "{direction} {bytes_per_s:bandwidth} above the load's {own_bytes_per_s:bandwidth}"
        ),
        "servers": (
            "disks of the storage nodes {direction} {moved_bytes_per_s:bandwidth}, most of it on"
            " {server}; the load only reads, at {read_bytes_per_s:bandwidth}"
        ),
    },
}
