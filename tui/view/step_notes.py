"""Notes next to the figures of a step: preconditioning, length, checks, host load, problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median_high
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.judge.severity import submission_waits
from tui.library.seal import NOT_AS_SEALED
from tui.metrics import units
from tui.metrics.figures import Latency, latency_of
from tui.metrics.registry import BOTH, METRICS, MIXED, in_order, meaning
from tui.metrics.repeat import shows_ci
from tui.metrics.telemetry import metric_of, parse_column
from tui.metrics.units import plural
from tui.model.criteria import THRESHOLDS
from tui.model.plain import some
from tui.model.plan import Headline
from tui.model.record import RunRecord
from tui.model.step_record import HostTelemetryRecord, StepRecord
from tui.record.headline import coverage_text, length_text
from tui.record.progress import rounds_text
from tui.text.line import (
    LABEL,
    SEVERITY_MARKS,
    TEXT,
    TITLE,
    VALUE,
    WARN,
    Line,
    Run,
    labelled,
    plain_lines,
)
from tui.text.search import caveats

if TYPE_CHECKING:
    from tui.model.figure_record import AggregateRecord
    from tui.model.record import AttestationRecord, Finding, HeadlineRecord
    from tui.model.step_record import FillRecord, RoundsRecord

LEFT_OUT = "skipped at launch, although the profile requires it"
POINTS_SHOWN = 6
FIGURES_SHOWN = 10
OFTEN = {1: "once", 2: "twice"}


def precondition_texts(record: RunRecord) -> list[str]:
    """Return whether preconditioning was skipped, the fills, and the rounds of the first points,
    unsteady ones first; empty if the run has none.
    """
    found = record.precondition
    if found is None:
        return []
    several = len(found.rounds) > 1
    ordered = sorted(found.rounds, key=lambda each: each.attained is True)
    rounds = [_rounds_text(record, each, several=several) for each in ordered[:POINTS_SHOWN]]
    left = len(ordered) - POINTS_SHOWN
    more = [f"and {plural(left, 'more point')}"] if left > 0 else []
    return [*([LEFT_OUT] if found.left_out else []), *map(_fill_text, found.fills), *rounds, *more]


def _fill_text(fill: FillRecord) -> str:
    size = f", {units.size(fill.bytes)} in total" if fill.bytes is not None else ""
    took = f", in {units.duration(fill.duration_s)}" if fill.duration_s is not None else ""
    often = OFTEN.get(fill.times, f"{fill.times} times")
    return f"filled {often}{size}{took}" if fill.whole else f"fill {often}{size}: incomplete"


def _rounds_text(record: RunRecord, rounds: RoundsRecord, *, several: bool) -> str:
    name = (
        f"{rounds.cell.removeprefix(record.profile.tag).strip() or rounds.cell}: "
        if several
        else ""
    )
    figures = _figures(_headline_of(record, rounds), rounds.values)
    return f"{name}{rounds_text(rounds)}{f'; {figures}' if figures else ''}"


def _figures(headline: HeadlineRecord | None, values: Sequence[float | None]) -> str:
    """Return the last figures of the rounds, oldest first: ``write IOPS 402, 400, 401``."""
    if headline is None or not values:
        return ""
    shown = [METRICS[headline.metric].text(value) for value in values[-FIGURES_SHOWN:]]
    cut = ["..."] if len(values) > FIGURES_SHOWN else []
    return (
        f"{meaning(Headline(headline.metric, headline.direction, headline.percentile))} "
        f"{', '.join([*cut, *shown])}"
    )


def _headline_of(record: RunRecord, rounds: RoundsRecord) -> HeadlineRecord | None:
    cells = record.matrix.cells if record.matrix is not None else []
    return (
        next((cell.headline for cell in cells if cell.key == rounds.cell), None) or record.headline
    )


def step_label(record: RunRecord, step: StepRecord) -> str:
    """Return a step's place within its point: ``fill``, ``round 4``, ``warm-up``, ``#2``.

    Empty for the only step of a point.
    """
    found = record.precondition
    if found is not None and any(step.index == fill.step for fill in found.fills):
        return "fill"
    rounds = found.rounds if found is not None else []
    if number := next(
        (each.steps.index(step.index) + 1 for each in rounds if step.index in each.steps), 0
    ):
        return f"round {number}"
    return "warm-up" if step.warmup else f"#{step.repetition}" if step.repetition > 1 else ""


def attest_texts(record: RunRecord) -> list[str]:
    """Return each attested condition with its answer and author.

    Conditions not answered with yes come first.
    """
    order = ("no", "unknown", "yes")
    return [
        _attest_text(each)
        for each in sorted(record.attested, key=lambda each: order.index(each.answer))
    ]


def _attest_text(each: AttestationRecord) -> str:
    said = ", ".join(_signature(each))
    return f"{each.answer}: {each.question} ({said})"


def _signature(each: AttestationRecord) -> Iterator[str]:
    yield each.id
    yield from (each.by,) if each.by else ()
    yield from (each.utc,) if each.utc else ()


VERDICTS: dict[str, str] = {
    "valid": "valid",
    "valid-with-warnings": "valid with warnings",
    "invalid": "INVALID",
}


def submission_text(step: StepRecord, kind: str) -> str:
    """Return how much of the latency is submission wait; empty if it is small."""
    said = "lat includes the" if kind == "lat" else "clat excludes the"
    waits = (
        f"{said} submission wait: {name} mean slat {units.latency(slat)}, mean lat"
        f" {units.latency(lat)}"
        for name, slat, lat in submission_waits(step)
    )
    return next(waits, "")


def checks_text(record: RunRecord) -> str:
    """Return the verdict, the findings and how many checks ran; empty if the run was not judged.

    ``valid: no findings; 21 checks ran, 9 had no data``. Records of older versions have only the
    findings, or also the number of checks.
    """
    if record.verdict is None:
        return ""
    found = found_text([finding.severity for finding in record.findings])
    if record.checks is None:
        return found
    made = f"{plural(len(record.checks), 'check')} ran"
    if record.checks_not_made is None:
        return f"{made}, {found}"
    missed = f", {len(record.checks_not_made)} had no data" if record.checks_not_made else ""
    changed = [
        f"{name} {value:g} (default {_usual(name)})" for name, value in record.thresholds.items()
    ]
    otherwise = f"; changed thresholds: {', '.join(changed)}" if changed else ""
    since = f"; {NOT_AS_SEALED}" if record.judged_since else ""
    weak = ", ".join(caveats(record.search) if record.verdict != "invalid" else ())
    verdict = f"{VERDICTS[record.verdict]}{f', but {weak}' if weak else ''}"
    return f"{verdict}: {found}; {made}{missed}{otherwise}{since}"


def _usual(name: str) -> str:
    known = THRESHOLDS.get(name)
    return f"{known.value:g}" if known is not None else "?"


def found_text(severities: Sequence[str]) -> str:
    """Return the number of findings by severity: ``1 error, 2 warnings, 1 note``."""
    words = (("error", "error"), ("warning", "warning"), ("info", "note"))
    counts = [(severities.count(severity), word) for severity, word in words]
    return ", ".join(plural(count, word) for count, word in counts if count) or "no findings"


def finding_place(record: RunRecord, finding: Finding) -> str:
    """Return the steps that a finding is about: ``on 3 of 8 steps``, or the name of one step.

    Empty if the run has one step, or the finding is about the run.
    """
    if len(record.steps) < 2:
        return ""
    step, several = finding.scope.get("step"), str(finding.scope.get("steps") or "").split()
    if several:
        return f"on {len(several)} of {len(record.steps)} steps"
    known = isinstance(step, int) and 0 <= step < len(record.steps)
    return record.steps[step].name if isinstance(step, int) and known else ""


def repeated_text(record: RunRecord) -> str:
    """Return the number of repetitions of the headline, and their spread.

    Empty if it was measured once.
    """
    found, matrix = record.headline, record.matrix
    if found is None or found.step is None or matrix is None:
        return ""
    cell = next((cell for cell in matrix.cells if found.step in cell.steps), None)
    values = [value for value in cell.values if value is not None] if cell is not None else []
    if cell is None or len(values) < 2:
        return ""
    text = METRICS[found.metric].text
    if shows_ci(values, cell.ci_relative):
        return (
            f"median of {len(values)}; mean {text(fmean(values))} ±"
            f" {(cell.ci_relative or 0.0) * 100:.1f} % (95 %)"
        )
    return f"median of {len(values)}, from {text(min(values))} to {text(max(values))}"


WORTH_TELLING = 0.01  # a difference of rates


def note_texts(step: StepRecord, kind: str) -> Iterator[str]:
    """Yield notes: names of requests, submission wait, rebuilt figures, bucket error, lost hosts,
    windows, skew.
    """
    yield from request_texts(step)
    yield from filter(None, (submission_text(step, kind),))
    if any(
        result.from_samples for dirs in step.results.per_host.values() for result in dirs.values()
    ):
        yield "~ rebuilt from samples: no result from the tool"
    shown = {
        name: latency_of(result, name, kind) for name, result in step.results.aggregate.items()
    }
    yield from bucket_texts(shown)
    if step.lost_hosts:
        yield f"coverage: {coverage_text(step.coverage)}"
    yield from window_texts(step, step.results.aggregate)
    yield from timing_texts(step)


def request_texts(step: StepRecord) -> list[str]:
    """Return the directions that requests of a store count as; empty for files and devices."""
    named = [f"{request} is {name}" for name, request in step.requests.items()]
    return [f"in findings and limits {', '.join(named)}"] if named else []


def window_texts(step: StepRecord, dirs: Mapping[str, AggregateRecord]) -> Iterator[str]:
    """Yield the rate while all hosts measured, where it differs from the whole step's rate, and
    that reads and writes have no total.
    """
    if {"read", "write"} <= dirs.keys() and not {MIXED, BOTH} & dirs.keys():
        yield "read and write did not run at the same time: no mixed total"
    for direction, result in dirs.items():
        if result.interval is not None and abs(result.window_difference or 0.0) > WORTH_TELLING:
            span = units.seconds(result.interval.end_s - result.interval.start_s)
            window = (
                f"{units.iops(result.iops_window)} IOPS"
                f" ({(result.window_difference or 0.0) * 100:+.1f} %)"
            )
            yield f"{step.called(direction)}: {window} while all hosts measured ({span})"


def bucket_texts(found: Mapping[str, Latency | None]) -> list[str]:
    """Return the bucket error of percentiles by direction, for tools with their own buckets."""
    known = {name: None if each is None else each.bucket_width for name, each in found.items()}
    return width_texts({name: width for name, width in known.items() if width is not None})


def width_texts(found: Mapping[str, float]) -> list[str]:
    """Return the bucket error of percentiles, from the width of the buckets by direction."""
    widths: dict[float, list[str]] = {}
    for name, width in found.items():
        widths.setdefault(width, []).append(name)
    return [
        f"percentiles of {', '.join(names)}: upper edges of the load generator's buckets, up to "
        f"{width * 100:.{0 if width >= 0.1 else 1}f} % above the true value"
        for width, names in widths.items()
    ]


def length_texts(step: StepRecord) -> Iterator[str]:
    """Yield the measured time of a step, if known."""
    yield from filter(None, (length_text(step.measured_s, step.runtime_s),))


def timing_texts(step: StepRecord) -> Iterator[str]:
    """Yield start skew, end skew and common window of the hosts; nothing for one host."""
    timing = step.timing
    if timing is None or timing.start_skew_s is None:
        return
    start = f"start skew {_skew(timing.start_skew_s, timing.start_skew_uncertainty_s)}"
    end = f"end skew {_skew(timing.end_skew_s, timing.end_skew_uncertainty_s)}"
    window = (
        f"common window {timing.window.length_s:.1f} s"
        if timing.window is not None
        else "no common window"
    )
    yield f"{start}, {end}; {window}"


def _skew(value_s: float | None, uncertainty_s: float | None) -> str:
    if value_s is None:
        return units.UNKNOWN
    return f"{value_s:.3f} s" + (f" ± {uncertainty_s:.3f} s" if uncertainty_s is not None else "")


NOT_MERGEABLE = "printed by the tool each second; cannot be merged over hosts"


def printed_lines(step: StepRecord) -> list[tuple[str, str]]:
    """Return the percentiles that the tool itself printed, as (host and direction, text).

    Empty if it printed none.
    """
    found = {}
    for column in step.series.columns if step.series is not None else ():
        if column.host is not None and (text := _percentiles_text(column.printed_ns)):
            found[column.host, column.direction] = text
    names = in_order({name for _, name in found})
    hosts = dict.fromkeys(host for host, _ in found)
    return [
        (f"{host} {name}", found[host, name])
        for host in hosts
        for name in names
        if (host, name) in found
    ]


def _percentiles_text(printed: Mapping[str, list[int | None]]) -> str:
    parts = []
    for name in sorted(printed, key=float):
        if values := [value for value in printed[name] if value is not None]:
            parts.append(
                f"p{name} median {units.latency(median_high(values))}, max"
                f" {units.latency(max(values))}"
            )
    return "; ".join(parts)


def now_text(printed_ns: Mapping[str, int]) -> str:
    """Return the percentiles printed for one interval: ``p99 1.20 ms, p99.9 3.10 ms``.

    Empty if there are none.
    """
    return ", ".join(
        f"p{name} {units.latency(printed_ns[name])}" for name in sorted(printed_ns, key=float)
    )


class SharedProblem(Struct, frozen=True):
    """A problem, and the hosts that have it."""

    hosts: list[str]
    phase: str
    code: str
    message: str
    fatal: bool


def shared_problems(record: RunRecord) -> list[SharedProblem]:
    """Return each problem of hosts once, with its hosts, in the order of the record."""
    found: dict[tuple[str, str, str, bool], list[str]] = {}
    for host in record.hosts:
        for each in host.problems:
            found.setdefault((each.phase, each.code, each.message, each.fatal), []).append(
                host.name
            )
    return [SharedProblem(list(dict.fromkeys(hosts)), *what) for what, hosts in found.items()]


def problem_lines(record: RunRecord, width: int, *, every: bool = False) -> list[Line]:
    """Return the problems of hosts with a few names; if `every`, with all names and the code."""
    lines: list[Line] = []
    for each in shared_problems(record):
        mark, role = SEVERITY_MARKS["error" if each.fatal else "warning"]
        names = some(each.hosts, len(each.hosts)) if every else some(each.hosts)
        said: list[Run] = [(f"{names}  ", VALUE), (each.message, TEXT)]
        code: list[Run] = [(f"  {each.code}", LABEL)] if every and each.code else []
        lines += labelled([(f"{mark} ", role)], [*said, *code], width)
    return lines


def measured_nothing(record: RunRecord) -> bool:
    """Return whether a run failed before any load. Host facts would then explain no figures."""
    return record.state == "failed" and not any(
        step.results.aggregate or step.metadata for step in record.steps
    )


NAME_WIDTH = 14
CARRIES = 0.05  # of the busiest disk's traffic; a disk with less does not count


CLIENT_COLUMNS = (("cpu.busy", "CPU %", 8), ("core.busy", "core %", 9), ("gen.cpu", "load %", 9),
                  ("gen.thread", "thread %", 10))  # fmt: skip
SPELLED_COLUMNS = (("cpu.busy", "CPU %", 8), ("core.busy", "busiest core %", 16),
                   ("gen.cpu", "load, % of a core", 19),
                   ("gen.thread", "busiest thread %", 18))  # fmt: skip
SPELLED_FROM = 110  # cells of a table whose titles are spelled out
Columns = Sequence[tuple[str, str, int]]


def load_lines(step: StepRecord) -> list[str]:
    """Return the load on a step's hosts as plain text; empty without telemetry."""
    return plain_lines(load_table(step))


def load_table(
    step: StepRecord,
    title: str = "load on hosts",
    thresholds: Mapping[str, float] | None = None,
    width: int = 80,
) -> list[Line]:
    """Return mean and maximum load on each host in the measured window.

    Empty without telemetry. `thresholds` are those that the profile changed. Only the last run of a
    line may exceed the width.
    """
    clients = [
        each for each in step.telemetry if each.role == "client" and each.start_s is not None
    ]
    servers = [
        each for each in step.telemetry if each.role == "server" and each.start_s is not None
    ]
    columns = SPELLED_COLUMNS if width >= SPELLED_FROM else CLIENT_COLUMNS
    return [
        *_table(title, clients, columns, thresholds or {}),
        *_table("servers", servers, columns[:2], thresholds or {}),
        *(Line.of((text, TEXT)) for text in load_sums(step)),
    ]


def load_sums(step: StepRecord) -> list[str]:
    """Return the CPU of process groups over all hosts, and the load's CPU per process."""
    looked = [each for each in step.telemetry if each.start_s is not None]
    clients = [each for each in looked if each.role == "client"]
    return [
        *_groups([*clients, *(each for each in looked if each.role == "server")]),
        *_per_client(clients),
    ]


def _table(
    title: str,
    hosts: Sequence[HostTelemetryRecord],
    columns: Columns,
    thresholds: Mapping[str, float],
) -> Iterator[Line]:
    if not hosts:
        return
    titles = "".join(f"{name:>{width}}" for _, name, width in columns)
    yield Line.of(
        (f"{title:<{NAME_WIDTH}} ", TITLE), (f"{titles}  ", LABEL), ("busiest NIC, disk", LABEL)
    )
    for host in hosts:
        cells = [load_cell(host, name, width, thresholds) for name, _, width in columns]
        name = (f"{host.host[:NAME_WIDTH]:<{NAME_WIDTH}} ", TEXT)
        yield Line.of(name, *cells, ("  ", TEXT), (nic_and_disk(host), TEXT))


def load_cell(
    host: HostTelemetryRecord,
    name: str,
    width: int = 0,
    thresholds: Mapping[str, float] | None = None,
) -> Run:
    """Return mean and maximum of a percentage, marked if that resource limits the load."""
    full = metric_of(name).is_full(host.mean_of(name), thresholds)
    return f"{_both(host, name):>{width}}", WARN if full else TEXT


FULLEST = (("cpu.busy", "CPU"), ("core.busy", "core"), ("gen.thread", "load thread"))


def fullest_texts(step: StepRecord) -> Iterator[str]:
    """Yield the busiest client of each resource, by mean over the measured window."""
    clients = [
        each for each in step.telemetry if each.role == "client" and each.start_s is not None
    ]
    parts = []
    for name, title in FULLEST:
        known = {host.host: mean for host in clients if (mean := host.mean_of(name)) is not None}
        if known:
            most = max(known, key=lambda host: known[host])
            parts.append(f"{title} {known[most]:.0f} % ({most})")
    if parts:
        yield f"busiest clients (mean): {', '.join(parts)}"


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


def _per_client(hosts: Sequence[HostTelemetryRecord]) -> Iterator[str]:
    """Yield the load's CPU over all hosts, and per client process."""
    known = [
        (_workers(host), cpu) for host in hosts if (cpu := host.mean_of("gen.cpu")) is not None
    ]
    workers = sum(each for each, _ in known)
    if not workers:
        return
    cpu = sum(each for _, each in known)
    each = f"{cpu / workers:.1f} % of a core"
    many = "in 1 client process" if workers == 1 else f"in each of {workers} client processes"
    yield f"load CPU: {cores_text(cpu)}, {each} {many}"


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


def busiest_link(host: HostTelemetryRecord) -> tuple[str, str] | None:
    """Return family and name of the link with the most traffic; None without links."""
    known = [(family, name) for family in ("nic", "rdma") for name in _subjects(host, family)]
    return max(known, key=lambda each: _traffic(host, each[0], each[1], ("rx", "tx")), default=None)


def nic_and_disk(host: HostTelemetryRecord) -> str:
    """Return the link with the most traffic, and the disk with the highest utilisation."""
    link = busiest_link(host)
    disks = {name: host.mean_of(f"dev.{name}.busy") or 0.0 for name in _subjects(host, "dev")}
    disk = max(disks, key=lambda name: disks[name], default="")
    parts = []
    if link is not None:
        family, nic = link
        parts.append(f"{nic} {units.bandwidth(_traffic(host, family, nic, ('rx', 'tx')))}")
    parts += [f"{disk} {disks[disk]:.0f} %"] if disk else []
    return ", ".join(parts)


def _both(host: HostTelemetryRecord, name: str) -> str:
    """Return mean and maximum of a percentage; a dash if unknown."""
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
