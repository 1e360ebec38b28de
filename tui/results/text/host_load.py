"""What hosts did while they were measured, as text: a line a host, storage nodes after those that generated load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tui.metrics import units
from tui.metrics.telemetry import metric_of, parse_column
from tui.metrics.units import plural
from tui.model.step_record import HostTelemetryRecord, StepRecord
from tui.text.line import LABEL, TEXT, TITLE, WARN, Line, Run, plain_lines

NAME_WIDTH = 14
CARRIES = 0.05  # of the traffic of the busiest disk: one with less is not part of it


CLIENT_COLUMNS = (("cpu.busy", "CPU %", 8), ("core.busy", "core %", 9), ("gen.cpu", "load %", 9),
                  ("gen.thread", "thread %", 10))  # fmt: skip
SERVER_COLUMNS = CLIENT_COLUMNS[:2]
Columns = Sequence[tuple[str, str, int]]


def load_lines(step: StepRecord) -> list[str]:
    """Return the tables of a step as plain text; nothing when nobody looked."""
    return plain_lines(load_table(step))


def load_table(
    step: StepRecord, title: str = "load on hosts", thresholds: Mapping[str, float] | None = None
) -> list[Line]:
    """Return the tables of a step, mean and maximum in the measured window; nothing when nobody looked.

    `thresholds` are those that the profile changed. The last run of a line is what may be too long for it.
    """
    clients = [each for each in step.telemetry if each.role == "client" and each.start_s is not None]
    servers = [each for each in step.telemetry if each.role == "server" and each.start_s is not None]
    return [
        *_table(title, clients, CLIENT_COLUMNS, thresholds or {}),
        *_table("servers", servers, SERVER_COLUMNS, thresholds or {}),
        *(Line.of((text, TEXT)) for text in load_sums(step)),
    ]


def load_sums(step: StepRecord) -> list[str]:
    """Return the CPU of groups of processes over all hosts, and of the load per process."""
    looked = [each for each in step.telemetry if each.start_s is not None]
    clients = [each for each in looked if each.role == "client"]
    return [*_groups([*clients, *(each for each in looked if each.role == "server")]), *_per_client(clients)]


def _table(
    title: str, hosts: Sequence[HostTelemetryRecord], columns: Columns, thresholds: Mapping[str, float]
) -> Iterator[Line]:
    if not hosts:
        return
    titles = "".join(f"{name:>{width}}" for _, name, width in columns)
    yield Line.of((f"{title:<{NAME_WIDTH}} ", TITLE), (f"{titles}  ", LABEL), ("busiest NIC, disk", LABEL))
    for host in hosts:
        cells = [load_cell(host, name, width, thresholds) for name, _, width in columns]
        name = (f"{host.host[:NAME_WIDTH]:<{NAME_WIDTH}} ", TEXT)
        yield Line.of(name, *cells, ("  ", TEXT), (nic_and_disk(host), TEXT))


def load_cell(
    host: HostTelemetryRecord, name: str, width: int = 0, thresholds: Mapping[str, float] | None = None
) -> Run:
    """Return mean and maximum of a share, marked where it holds the load back."""
    full = metric_of(name).is_full(host.mean_of(name), thresholds)
    return f"{_both(host, name):>{width}}", WARN if full else TEXT


FULLEST = (("cpu.busy", "CPU"), ("core.busy", "core"), ("gen.thread", "thread of the load"))


def fullest_texts(step: StepRecord) -> Iterator[str]:
    """Yield how full the fullest of the clients was, by mean over the measured window."""
    clients = [each for each in step.telemetry if each.role == "client" and each.start_s is not None]
    parts = []
    for name, title in FULLEST:
        known = {host.host: mean for host in clients if (mean := host.mean_of(name)) is not None}
        if known:
            most = max(known, key=lambda host: known[host])
            parts.append(f"{title} {known[most]:.0f} % ({most})")
    if parts:
        yield f"busiest of the clients, on average: {', '.join(parts)}"


def _groups(hosts: Sequence[HostTelemetryRecord]) -> Iterator[str]:
    """Yield the CPU of each group of processes over all hosts that have it, and per disk that carried traffic."""
    names = dict.fromkeys(parse_column(name).subject for host in hosts for name in _family(host, "group"))
    for name in names:
        having = [host for host in hosts if host.mean_of(f"group.{name}.procs")]
        cpu = sum(host.mean_of(f"group.{name}.cpu") or 0.0 for host in having)
        count = round(sum(host.mean_of(f"group.{name}.procs") or 0.0 for host in having))
        disks = sum(len(disks_in_use(host)) for host in having)
        per_disk = f"; {cpu / disks:.1f} % per disk ({disks} with traffic)" if disks else ""
        hosts_text = plural(len(having), "host")
        yield f"CPU of {name}: {cpu:.0f} % of a core, {count} processes on {hosts_text}{per_disk}"


def _per_client(hosts: Sequence[HostTelemetryRecord]) -> Iterator[str]:
    """Yield the load's CPU per process, on hosts whose storage nodes are looked at as well."""
    known = [(_workers(host), cpu) for host in hosts if (cpu := host.mean_of("gen.cpu")) is not None]
    workers = sum(each for each, _ in known)
    if not workers:
        return
    cpu = sum(each for _, each in known)
    yield f"CPU of the load: {cpu:.0f} % of a core, {cpu / workers:.1f} % per client process ({workers})"


def _workers(host: HostTelemetryRecord) -> int:
    """Return the processes that do the work: where there are several, the first one only waits for them."""
    column = host.column("gen.procs")
    count = round(column.max) if column is not None and column.max is not None else 0
    return max(count - 1, 1) if count else 0


def disks_in_use(host: HostTelemetryRecord) -> list[str]:
    """Return the names of the disks that carried a share of the traffic."""
    traffic = {name: _traffic(host, "dev", name, ("rd", "wr")) for name in _subjects(host, "dev")}
    most = max(traffic.values(), default=0.0)
    return [name for name, value in traffic.items() if value > CARRIES * most]


def nic_and_disk(host: HostTelemetryRecord) -> str:
    """Return the link with the most traffic and the disk that was busy longest."""
    nics = {name: _traffic(host, "nic", name, ("rx", "tx")) for name in _subjects(host, "nic")}
    nics |= {name: _traffic(host, "rdma", name, ("rx", "tx")) for name in _subjects(host, "rdma")}
    nic = max(nics, key=lambda name: nics[name], default="")
    disks = {name: host.mean_of(f"dev.{name}.busy") or 0.0 for name in _subjects(host, "dev")}
    disk = max(disks, key=lambda name: disks[name], default="")
    parts = [f"{nic} {units.bandwidth(nics[nic])}"] if nic else []
    parts += [f"{disk} {disks[disk]:.0f} %"] if disk else []
    return ", ".join(parts)


def _both(host: HostTelemetryRecord, name: str) -> str:
    """Return mean and maximum of a share; a dash for what is unknown."""
    column = host.column(name)
    if column is None or column.mean is None or column.max is None:
        return units.UNKNOWN
    return f"{column.mean:.0f}/{column.max:.0f}"


def _traffic(host: HostTelemetryRecord, family: str, subject: str, fields: Iterable[str]) -> float:
    return sum(host.mean_of(f"{family}.{subject}.{field}") or 0.0 for field in fields)


def _family(host: HostTelemetryRecord, family: str) -> list[str]:
    return [name for name in host.names if metric_of(name).family == family]


def _subjects(host: HostTelemetryRecord, family: str) -> list[str]:
    found = dict.fromkeys(parse_column(name).subject for name in _family(host, family))
    return [name for name in found if name != "others"]
