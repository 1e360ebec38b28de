"""Registry of telemetry columns of a host, with unit, source and format.

A column is named FAMILY.FIELD or FAMILY.SUBJECT.FIELD. The subject is a NIC, device, port or
process group and may contain dots (``nic.eth0.100.rx``). Values are per interval of about a second;
None is unknown, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from tui.metrics import units

TelemetryUnit = Literal[
    "percent", "core_percent", "bytes_per_s", "bytes", "per_s", "count", "ms", "number", "id"
]
Better = Literal["higher", "lower", ""]


def _percent(value: float | None) -> str:
    return (
        units.UNKNOWN
        if value is None
        else f"{value:.0f} %"
        if value >= 9.95 or value == 0
        else f"{value:.1f} %"
    )


def _ms(value: float | None) -> str:
    return units.latency(None if value is None else value * 1e6)


FORMATTERS: dict[TelemetryUnit, Callable[[float | None], str]] = {
    "percent": _percent,
    "core_percent": _percent,  # 100 is one core
    "bytes_per_s": units.bandwidth,
    "bytes": units.size,
    "per_s": lambda value: units.iops(value) + ("/s" if value is not None else ""),
    "count": units.count,
    "ms": _ms,
    "number": lambda value: units.UNKNOWN if value is None else f"{value:g}",
    "id": lambda value: units.UNKNOWN if value is None else f"{value:g}",
}


class TelemetryMetric(Struct, frozen=True):
    """One kind of column.

    Counts are summed over a window; ids have no mean; all other values are averaged over time.
    """

    family: str
    field: str
    unit: TelemetryUnit
    title: str
    source: str
    better: Better = ""
    full: float | None = None  # saturated above this value
    threshold: str = ""  # name under which a profile may change it

    def text(self, value: float | None) -> str:
        """Return a value as text with its unit."""
        return FORMATTERS[self.unit](value)

    def is_full(self, value: float | None, thresholds: Mapping[str, float] | None = None) -> bool:
        """Return whether a value means saturation.

        `thresholds`: thresholds that a profile changed, by name.
        """
        full = (thresholds or {}).get(self.threshold, self.full)
        return full is not None and value is not None and value > full


CPU, LOAD = "/proc/stat", "/proc/PID/stat of the load's processes, their children and threads"
SCHEDSTAT = "/proc/PID/schedstat of the load's processes and threads"
IO = "/proc/PID/io of the load's processes"
NETSTAT = "/proc/net/netstat"
NET, RDMA = "/proc/net/dev", "/sys/class/infiniband/*/ports/*/counters"
DISK, NFS = "/proc/diskstats", "/proc/self/mountstats, the mount of the target"
MEMORY, PRESSURE = "/proc/meminfo", "/proc/pressure/{cpu,io,memory}"
GROUP = "/proc/PID/stat of processes that match a pattern (grep on /proc/PID/comm, then cmdline)"

_ALL = (
    TelemetryMetric(
        "cpu",
        "busy",
        "percent",
        "CPU busy, all cores",
        CPU,
        "lower",
        full=85.0,
        threshold="client-cpu.host",
    ),
    TelemetryMetric("cpu", "iowait", "percent", "CPU idle, waiting for I/O", CPU),
    TelemetryMetric("cpu", "steal", "percent", "CPU steal by the hypervisor", CPU, "lower"),
    TelemetryMetric("cpu", "softirq", "percent", "CPU in soft interrupts", CPU, "lower"),
    TelemetryMetric(
        "cpu",
        "throttled",
        "percent",
        "periods in which the control group was throttled",
        "cpu.stat of the load's control group and of parents with a limit",
        "lower",
        full=5.0,
        threshold="client-cpu.throttled",
    ),
    TelemetryMetric("core", "number", "id", "number of the busiest core", CPU),
    TelemetryMetric(
        "core",
        "busy",
        "percent",
        "busiest core",
        CPU,
        "lower",
        full=95.0,
        threshold="client-cpu.core",
    ),
    TelemetryMetric(
        "core", "softirq", "percent", "soft interrupts of the busiest core", CPU, "lower"
    ),
    TelemetryMetric("core", "hot", "number", "cores busy for more than 95 %", CPU, "lower"),
    TelemetryMetric("gen", "procs", "number", "load processes", LOAD),
    TelemetryMetric("gen", "cpu", "core_percent", "CPU used by all load processes", LOAD, "lower"),
    TelemetryMetric(
        "gen",
        "thread",
        "core_percent",
        "busiest load thread",
        LOAD,
        "lower",
        full=95.0,
        threshold="client-cpu.thread",
    ),
    TelemetryMetric(
        "gen", "wait", "core_percent", "load threads waiting for a CPU", SCHEDSTAT, "lower"
    ),
    TelemetryMetric("gen", "rchar", "bytes_per_s", "bytes read by the load's system calls", IO),
    TelemetryMetric("gen", "wchar", "bytes_per_s", "bytes written by the load's system calls", IO),
    TelemetryMetric("gen", "read_bytes", "bytes_per_s", "bytes read from storage for the load", IO),
    TelemetryMetric(
        "gen", "write_bytes", "bytes_per_s", "bytes the load caused to be written to storage", IO
    ),
    TelemetryMetric("nic", "rx", "bytes_per_s", "received", NET),
    TelemetryMetric("nic", "tx", "bytes_per_s", "sent", NET),
    TelemetryMetric("nic", "bad", "count", "errors and drops", NET, "lower"),
    TelemetryMetric("tcp", "out", "per_s", "TCP segments sent", "/proc/net/snmp"),
    TelemetryMetric(
        "tcp", "retrans", "count", "TCP segments retransmitted", "/proc/net/snmp", "lower"
    ),
    TelemetryMetric(
        "tcp",
        "dup",
        "count",
        "duplicate segments the receiver reported (DSACK)",
        f"{NETSTAT}: TCPDSACKRecv",
        "lower",
    ),
    TelemetryMetric("rdma", "rx", "bytes_per_s", "received", f"{RDMA}/port_rcv_data x 4"),
    TelemetryMetric("rdma", "tx", "bytes_per_s", "sent", f"{RDMA}/port_xmit_data x 4"),
    TelemetryMetric(
        "rdma",
        "bad",
        "count",
        "errors",
        f"{RDMA}: port_rcv_errors, port_xmit_discards, symbol_error",
    ),
    TelemetryMetric("dev", "rd", "bytes_per_s", "read", DISK),
    TelemetryMetric("dev", "wr", "bytes_per_s", "written", DISK),
    TelemetryMetric("dev", "reads", "per_s", "reads", DISK),
    TelemetryMetric("dev", "writes", "per_s", "writes", DISK),
    TelemetryMetric("dev", "rlat", "ms", "mean read time", DISK, "lower"),
    TelemetryMetric("dev", "wlat", "ms", "mean write time", DISK, "lower"),
    # a device that serves requests in parallel can be busy all the time with more to give
    TelemetryMetric("dev", "busy", "percent", "time with requests in flight (io_ticks)", DISK),
    TelemetryMetric("dev", "queue", "number", "requests in flight", DISK),
    TelemetryMetric("dev", "flushes", "per_s", "flushes (since Linux 5.5)", DISK),
    TelemetryMetric("dev", "bytes", "bytes_per_s", "read and written by all other disks", DISK),
    TelemetryMetric("nfs", "rd_normal", "bytes_per_s", "read through the page cache", NFS),
    TelemetryMetric("nfs", "wr_normal", "bytes_per_s", "written through the page cache", NFS),
    TelemetryMetric("nfs", "rd_direct", "bytes_per_s", "read with O_DIRECT", NFS),
    TelemetryMetric("nfs", "wr_direct", "bytes_per_s", "written with O_DIRECT", NFS),
    TelemetryMetric("nfs", "rd_server", "bytes_per_s", "read from the server", NFS),
    TelemetryMetric("nfs", "wr_server", "bytes_per_s", "written to the server", NFS),
    TelemetryMetric("nfs", "ops", "per_s", "calls", NFS),
    TelemetryMetric("nfs", "rtt", "ms", "mean round-trip time of a call", NFS, "lower"),
    TelemetryMetric(
        "nfs", "exec", "ms", "mean call time, including the wait on the client", NFS, "lower"
    ),
    TelemetryMetric("nfs", "retrans", "count", "calls retransmitted", NFS, "lower"),
    TelemetryMetric("mem", "available", "bytes", "memory available", MEMORY),
    TelemetryMetric("mem", "cached", "bytes", "page cache", MEMORY),
    TelemetryMetric("mem", "dirty", "bytes", "dirty page cache", MEMORY),
    TelemetryMetric("mem", "writeback", "bytes", "page cache under writeback", MEMORY),
    TelemetryMetric("psi", "some", "percent", "time in which some tasks waited", PRESSURE, "lower"),
    TelemetryMetric("psi", "full", "percent", "time in which all tasks waited", PRESSURE, "lower"),
    TelemetryMetric("group", "procs", "number", "processes", GROUP),
    TelemetryMetric("group", "cpu", "core_percent", "CPU", GROUP, "lower"),
)
TELEMETRY: dict[tuple[str, str], TelemetryMetric] = {
    (each.family, each.field): each for each in _ALL
}
"""All kinds of columns, by family and field."""


class ColumnName(Struct, frozen=True):
    """Parts of a column's name; `subject` is empty if the family has only one subject."""

    family: str
    subject: str
    field: str


@lru_cache(4096)
def parse_column(name: str) -> ColumnName:
    """Split a column's name into its parts."""
    family, *between, field = name.split(".") if "." in name else (name, "")
    return ColumnName(family, ".".join(between), field)


@lru_cache(4096)
def metric_of(name: str) -> TelemetryMetric:
    """Return the metric of a column; an unknown column is a plain number."""
    parts = parse_column(name)
    known = TELEMETRY.get((parts.family, parts.field))
    return known or TelemetryMetric(
        parts.family, parts.field, "number", name, "unknown to this version"
    )
