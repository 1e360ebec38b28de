"""The load on hosts while a step measured: CPU, busiest core, NIC and disk of each, and sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from tui.judge.links import LINK
from tui.judge.severity import AT_CLIENT
from tui.judge.wording import bottleneck_text
from tui.metrics import units
from tui.metrics.telemetry import metric_of, parse_column
from tui.metrics.units import plural
from tui.model.step_record import HostTelemetryRecord, StepRecord
from tui.text.line import (
    GOOD,
    LABEL,
    TEXT,
    TITLE,
    WARN,
    Line,
    Run,
    fit,
    plain_lines,
    width_of,
    width_of_runs,
)
from tui.view.host_links import LinkSpeeds, is_alike, link_load, link_title

NO_SPEEDS: LinkSpeeds = {}
NAME_WIDTH = 14
CARRIES = 0.05  # of the busiest disk's traffic; a disk with less does not count


CLIENT_COLUMNS = (("cpu.busy", "CPU %", 8), ("core.busy", "core %", 9), ("gen.cpu", "{} cores", 12),
                  ("gen.thread", "thread %", 10))  # fmt: skip
SPELLED_COLUMNS = (("cpu.busy", "CPU %", 8), ("core.busy", "busiest core %", 16),
                   ("gen.cpu", "{} cores", 14),
                   ("gen.thread", "busiest {} thread %", 22))  # fmt: skip
SPELLED_FROM = 110  # cells of a table whose titles are spelled out
Columns = Sequence[tuple[str, str, int]]


def columns_of(step: StepRecord, columns: Columns = CLIENT_COLUMNS) -> Columns:
    """Return columns with the load generator's name in their titles."""
    tool = generator_of(step)
    return [
        (name, title.format(tool), max(width, len(title.format(tool)) + 2))
        for name, title, width in columns
    ]


def generator_of(step: StepRecord) -> str:
    """Return the name of a step's load generator; "load" if unknown."""
    return step.tool or "load"


def clients_of(step: StepRecord) -> list[HostTelemetryRecord]:
    """Return the telemetry of the clients that were monitored while the step measured."""
    return [each for each in step.telemetry if each.role == "client" and each.start_s is not None]


def servers_of(step: StepRecord) -> list[HostTelemetryRecord]:
    """Return the telemetry of the servers that were monitored while the step measured."""
    return [each for each in step.telemetry if each.role == "server" and each.start_s is not None]


def load_lines(step: StepRecord, speeds: LinkSpeeds = NO_SPEEDS) -> list[str]:
    """Return the load on a step's hosts as plain text; empty without telemetry."""
    return plain_lines(load_table(step, speeds=speeds))


def load_table(
    step: StepRecord,
    title: str = "load on hosts",
    thresholds: Mapping[str, float] | None = None,
    width: int = 80,
    speeds: LinkSpeeds = NO_SPEEDS,
) -> list[Line]:
    """Return mean and maximum load on each host in the measured window.

    Empty without telemetry. `thresholds` are those that the profile changed. Only the last
    column may exceed the width.
    """
    columns = columns_of(step, SPELLED_COLUMNS if width >= SPELLED_FROM else CLIENT_COLUMNS)
    marked = thresholds or {}
    return [
        *_table(title, clients_of(step), columns, marked, speeds),
        *_table("servers", servers_of(step), columns[:2], marked, speeds),
        *(Line.of((text, TEXT)) for text in load_sums(step)),
    ]


def load_sums(step: StepRecord) -> list[str]:
    """Return the CPU of process groups over all hosts, and the load's CPU per process."""
    return [*_groups([*clients_of(step), *servers_of(step)]), *_per_client(step)]


def _table(
    title: str,
    hosts: Sequence[HostTelemetryRecord],
    columns: Columns,
    thresholds: Mapping[str, float],
    speeds: LinkSpeeds,
) -> Iterator[Line]:
    if not hosts:
        return
    titles = "".join(f"{name:>{width}}" for _, name, width in columns)
    longest = max(map(width_of, (title, *(host.host for host in hosts))))
    room = min(longest, NAME_WIDTH)
    yield Line.of(
        (fit(title, room), TITLE), (f" {titles}  ", LABEL), (busiest_title(hosts, speeds), LABEL)
    )
    named = not is_alike(hosts, speeds)
    for host in hosts:
        cells = [load_cell(host, name, width, thresholds) for name, _, width in columns]
        told = nic_and_disk(host, speeds, named=named)
        yield Line.of((f"{fit(host.host, room)} ", TEXT), *cells, ("  ", TEXT), (told, TEXT))


def load_cell(
    host: HostTelemetryRecord,
    name: str,
    width: int = 0,
    thresholds: Mapping[str, float] | None = None,
) -> Run:
    """Return mean and maximum of a column, marked if that resource limits the load."""
    full = metric_of(name).is_full(host.mean_of(name), thresholds)
    return f"{_both(host, name):>{width}}", WARN if full else TEXT


def busiest_title(hosts: Sequence[HostTelemetryRecord], speeds: LinkSpeeds) -> str:
    """Return the title of the last column: NIC and disk, as far as telemetry has them."""
    nic = link_title(hosts, speeds)
    has_disks = any(parse_column(name).family == "dev" for host in hosts for name in host.names)
    found = [*([nic] if nic else []), *(["disk"] if has_disks else [])]
    return f"busiest {', '.join(found)}" if found else ""


class BusiestClient(Struct, frozen=True):
    """The client with the highest mean of one percentage in the measured window."""

    name: str  # of the column; empty: its busiest link
    title: str
    host: str
    mean: float

    @property
    def text(self) -> str:
        """The resource, its mean and the host: ``core 68 % (h3)``."""
        return f"{self.title} {self.mean:.0f} % ({self.host})"

    def is_full(self, thresholds: Mapping[str, float]) -> bool:
        """Return whether the mean is at the limit of the resource."""
        if not self.name:
            return self.mean > LINK * 100
        return metric_of(self.name).is_full(self.mean, thresholds)


RESOURCES = (("core.busy", "core"), ("cpu.busy", "CPU"), ("gen.thread", "{} thread"))


def busiest_clients(step: StepRecord, speeds: LinkSpeeds = NO_SPEEDS) -> list[BusiestClient]:
    """Return the busiest client of each resource; those without data are left out."""
    found = []
    for name, title in RESOURCES:
        known = {
            host.host: mean for host in clients_of(step) if (mean := host.mean_of(name)) is not None
        }
        if known:
            most = max(known, key=lambda host: known[host])
            found.append(BusiestClient(name, title.format(generator_of(step)), most, known[most]))
    shares = {
        host.host: load.share
        for host in clients_of(step)
        if (load := link_load(host, speeds)) is not None and load.share is not None
    }
    if shares:
        most = max(shares, key=lambda host: shares[host])
        found.append(BusiestClient("", "NIC", most, shares[most] * 100))
    return found


def fullest_texts(step: StepRecord, speeds: LinkSpeeds = NO_SPEEDS) -> Iterator[str]:
    """Yield a line with the busiest client of each resource, by mean over the measured window."""
    if found := busiest_clients(step, speeds):
        yield f"busiest clients (mean): {', '.join(each.text for each in found)}"


def client_limit(
    step: StepRecord,
    thresholds: Mapping[str, float],
    speeds: LinkSpeeds = NO_SPEEDS,
    width: int = 80,
) -> list[Run]:
    """Return whether a resource of the clients limits the load, and the busiest client of each
    resource, as many as `width` cells hold; empty without their telemetry.

    `thresholds` are those that the profile changed.
    """
    busiest = busiest_clients(step, speeds)
    if not busiest:
        return []
    bottleneck = step.bottleneck
    if bottleneck is not None and bottleneck.kind in AT_CLIENT:
        text = bottleneck_text(bottleneck, len(step.results.per_host))
        return [("! ", WARN), (f"limited by {text}", WARN)]
    full = [each.text for each in busiest if each.is_full(thresholds)]
    if full:
        return [("! ", WARN), (f"saturated on at least one client: {', '.join(full)}", WARN)]
    known: list[Run] = (
        [] if bottleneck is None else [("✓ ", GOOD), ("no client limit found", GOOD), (": ", TEXT)]
    )
    texts = [each.text for each in busiest]
    room = width - width_of_runs(known)
    named = (f"busiest {', '.join(texts[:count])}" for count in range(len(texts), 1, -1))
    text = next((each for each in named if width_of(each) <= room), f"busiest {texts[0]}")
    return [*known, (text, TEXT)]


def _groups(hosts: Sequence[HostTelemetryRecord]) -> Iterator[str]:
    """Yield the CPU of each process group over all its hosts, and per disk with traffic."""
    names = dict.fromkeys(
        parse_column(name).subject for host in hosts for name in _family(host, "group")
    )
    for name in names:
        having = [host for host in hosts if host.mean_of(f"group.{name}.procs")]
        cpu = sum(host.mean_of(f"group.{name}.cpu") or 0.0 for host in having)
        count = round(sum(host.mean_of(f"group.{name}.procs") or 0.0 for host in having))
        disks = sum(len(disks_in_use(host)) for host in having)
        per_disk = f"; {cpu / disks:.1f} % per disk ({disks} with traffic)" if disks else ""
        processes = f"{count} process{'' if count == 1 else 'es'}"
        hosts_text = plural(len(having), "host")
        yield f"{name} CPU: {cores_text(cpu)}, {processes} on {hosts_text}{per_disk}"


def cores_text(percent: float) -> str:
    """Return CPU time in % of a core as text: ``36 % of a core``, ``19.3 cores``."""
    return f"{percent:.0f} % of a core" if percent < 100 else f"{percent / 100:.1f} cores"


def _per_client(step: StepRecord) -> Iterator[str]:
    """Yield the load's CPU over all clients, and per client process."""
    known = [
        (_workers(host), cpu)
        for host in clients_of(step)
        if (cpu := host.mean_of("gen.cpu")) is not None
    ]
    workers = sum(each for each, _ in known)
    if not workers:
        return
    cpu = sum(each for _, each in known)
    each = f"{cpu / workers:.1f} % of a core"
    per = "in 1 client process"
    if workers > 1:
        per = f"for each of {workers:,} processes"
    yield f"{generator_of(step)} CPU on all clients: {cores_text(cpu)}, {each} {per}"


def _workers(host: HostTelemetryRecord) -> int:
    """Return the number of processes that do I/O. If there are several, the first only waits."""
    column = host.column("gen.procs")
    count = round(column.max) if column is not None and column.max is not None else 0
    return max(count - 1, 1) if count else 0


def disks_in_use(host: HostTelemetryRecord) -> list[str]:
    """Return the names of the disks with a notable share of the traffic."""
    traffic = {name: _traffic(host, "dev", name, ("rd", "wr")) for name in _subjects(host, "dev")}
    most = max(traffic.values(), default=0.0)
    return [name for name, value in traffic.items() if value > CARRIES * most]


def nic_and_disk(host: HostTelemetryRecord, speeds: LinkSpeeds, *, named: bool = True) -> str:
    """Return the link with the most traffic, and the disk with the highest utilisation.

    `named`: with the link's speed.
    """
    link = link_load(host, speeds)
    disks = {name: host.mean_of(f"dev.{name}.busy") or 0.0 for name in _subjects(host, "dev")}
    disk = max(disks, key=lambda name: disks[name], default="")
    parts = [link.text(named=named)] if link is not None else []
    parts += [f"{disk} {disks[disk]:.0f} %"] if disk else []
    return ", ".join(parts)


def _both(host: HostTelemetryRecord, name: str) -> str:
    """Return mean and maximum of a percentage, CPU time in cores; a dash if unknown."""
    column = host.column(name)
    if column is None or column.mean is None or column.max is None:
        return units.UNKNOWN
    if name == "gen.cpu":
        return "/".join(
            f"{each / 100:.{1 if each >= 100 else 2}f}" for each in (column.mean, column.max)
        )
    return f"{column.mean:.0f}/{column.max:.0f}"


def _traffic(host: HostTelemetryRecord, family: str, subject: str, fields: Iterable[str]) -> float:
    return sum(host.mean_of(f"{family}.{subject}.{field}") or 0.0 for field in fields)


def _family(host: HostTelemetryRecord, family: str) -> list[str]:
    return [name for name in host.names if metric_of(name).family == family]


def _subjects(host: HostTelemetryRecord, family: str) -> list[str]:
    found = dict.fromkeys(parse_column(name).subject for name in _family(host, family))
    return [name for name in found if name != "others"]


Seconds = list[float | None]


def by_second(host: HostTelemetryRecord, name: str | None) -> Seconds:
    """Return a telemetry column by second of the measured window.

    All seconds are unknown if there is no such column.
    """
    ends = host.t_s[-1] if host.t_s else 0.0
    start, end = host.start_s or 0.0, host.end_s if host.end_s is not None else ends
    found: Seconds = [None] * max(1, round(end - start))
    for t, value in zip(host.t_s, host.values_of(name) if name else (), strict=False):
        place = int(t - start - 0.5)
        if 0 <= place < len(found) and t > start:
            found[place] = value
    return found
