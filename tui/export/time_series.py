"""A run for time series databases: points, InfluxDB line protocol, OpenMetrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tui.export.export_table import percentile_name
from tui.export.tables import LATENCIES, scopes
from tui.metrics.registry import in_order
from tui.metrics.telemetry import parse_column
from tui.model.event import Event
from tui.model.exporter import Exporter, ExportFile, ExportSecond, ExportSource, text_parts
from tui.model.figure_record import DirectionRecord, LatencyRecord, SeriesColumns
from tui.model.plain_data import parse_utc
from tui.model.problem import UsageError
from tui.model.record import RunRecord
from tui.model.search_record import ConfidenceInterval
from tui.model.step_record import HostTelemetryRecord, StepRecord
from tui.record.search_figures import found_figures

NAME = "benchtui"
RESULT_NAME = "benchtui_result"
TELEMETRY = "benchtui_telemetry"
NS = 1e-9
PRINTED = "latency_printed_"
BASE_UNITS = {"ms": ("_seconds", 1e-3), "bytes_per_s": ("_bytes_per_second", 1.0),
    "per_s": ("_per_second", 1.0),
              "number": ("", 1.0), "id": ("", 1.0), "count": ("", 1.0)}  # fmt: skip
FIELDS = {  # of a search's results
    "capacity": "capacity",
    "full_load": "full_load_iops",
    "knee": "knee_iops",
    "one_host": "scaling_one_host_iops",
    "contention": "scaling_contention",
    "coherence": "scaling_coherence",
    "best_hosts": "scaling_best_hosts",
}


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """Values at one time.

    `tags` identify what they belong to; `utc_ns` counts from 1970 and is None if the time is
    unknown.
    """

    name: str
    tags: Mapping[str, str]
    fields: Mapping[str, float]
    utc_ns: int | None


def tags_of(
    run_id: str,
    profile: str,
    step: str,
    direction: str,
    host: str | None,
    more: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the tags of a point.

    `scope` is ``all`` (all hosts together) or ``host``.
    """
    scope = {"scope": "all"} if host is None else {"scope": "host", "host": host}
    return {
        "run": run_id,
        "profile": profile,
        "step": step,
        "direction": direction,
        **scope,
        **(more or {}),
    }


def second(
    iops: float | None, bw: float | None, lat_mean_ns: float | None, p99_ns: float | None
) -> dict[str, float]:
    """Return the known values of one second as fields, latencies in seconds."""
    values = {
        "iops": iops,
        "bytes_per_second": bw,
        "latency_mean_seconds": seconds(lat_mean_ns),
        "latency_p99_seconds": seconds(p99_ns),
    }
    return {name: value for name, value in values.items() if value is not None}


def point_of(at: ExportSecond) -> SeriesPoint:
    """Return one second of a live run as a point."""
    fields = second(at.iops, at.bw_bytes_per_s, at.lat_mean_ns, at.lat_p99_ns)
    stamp = None if at.utc is None else round(at.utc.timestamp() * 1000) * 1_000_000
    return SeriesPoint(
        NAME, tags_of(at.run_id, at.profile, at.step, at.direction, at.host), fields, stamp
    )


def seconds(value_ns: float | None) -> float | None:
    """Return ns converted to seconds, rounded so that the conversion adds no digits; None stays
    None.
    """
    return None if value_ns is None else float(f"{value_ns * NS:.12g}")


def utc_ns(begun: datetime | None, t_s: float | None) -> int | None:
    """Return a time of a run as ns since 1970; `t_s` counts from its start.

    None if either is unknown.
    """
    return (
        None
        if begun is None or t_s is None
        else round((begun.timestamp() + t_s) * 1000) * 1_000_000
    )


def series_points(record: RunRecord) -> Iterator[SeriesPoint]:
    """Yield every second of all hosts together and of each host, by direction.

    They are ordered by step, then by host and direction, then by time.
    """
    begun = parse_utc(record.created_utc) if record.created_utc else None
    for step in record.steps:
        for column in step.series.columns if step.series is not None else ():
            tags = tags_of(
                record.run_id, record.profile.tag, step.name, column.direction, column.host
            )
            for place in range(len(column.iops)):
                if fields := second(*_values(column, place)) | _printed(column, place):
                    assert step.series is not None
                    t_s = step.series.start_s + place * step.series.step_s
                    yield SeriesPoint(NAME, tags, fields, utc_ns(begun, t_s))


def _values(
    column: SeriesColumns, place: int
) -> tuple[float | None, float | None, float | None, float | None]:
    lists = (column.iops, column.bw_bytes_per_s, column.lat_mean_ns, column.p99_ns)
    first, second_, third, fourth = (
        values[place] if place < len(values) else None for values in lists
    )
    return first, second_, third, fourth


def _printed(column: SeriesColumns, place: int) -> dict[str, float]:
    """Return the percentiles that the tool itself printed for a second.

    They are valid for a single host only, because percentiles cannot be merged.
    """
    found = {
        name: seconds(values[place])
        for name, values in column.printed_ns.items()
        if place < len(values)
    }
    known = {name: value for name, value in found.items() if value is not None}
    return {f"{PRINTED}{percentile_name(name)}_seconds": value for name, value in known.items()}


def telemetry_points(record: RunRecord) -> Iterator[SeriesPoint]:
    """Yield every telemetry interval of every host.

    There is one point per subject, such as a NIC or a disk.
    """
    begun = parse_utc(record.created_utc) if record.created_utc else None
    for step in record.steps:
        for host in step.telemetry:
            tags = {
                "run": record.run_id,
                "profile": record.profile.tag,
                "step": step.name,
                "role": host.role,
            }
            for subject, columns in _by_subject(host).items():
                own = tags | {"host": host.host, "subject": subject}
                for place, t_s in enumerate(host.t_s):
                    seen = (
                        (name, by, values[place])
                        for name, by, values in columns
                        if place < len(values)
                    )
                    if fields := {
                        name: float(f"{value * by:.12g}")
                        for name, by, value in seen
                        if value is not None
                    }:
                        yield SeriesPoint(TELEMETRY, own, fields, utc_ns(begun, t_s))


def _by_subject(
    host: HostTelemetryRecord,
) -> dict[str, list[tuple[str, float, list[float | None]]]]:
    """Return a host's telemetry columns by subject: field, factor to SI units, values."""
    found: dict[str, list[tuple[str, float, list[float | None]]]] = {}
    for column in host.columns:
        parts = parse_column(column.name)
        unit, by = BASE_UNITS.get(column.unit, (f"_{column.unit}", 1.0))
        name = f"{parts.family}_{parts.field}{unit}"
        found.setdefault(parts.subject, []).append((name, by, host.values_of(column.name)))
    return found


def result_points(record: RunRecord) -> Iterator[SeriesPoint]:
    """Yield the results of a run.

    There is one point per step, direction and host (and for all hosts together), and per operation
    of an MPI benchmark; then the points of a search.
    """
    begun = parse_utc(record.created_utc) if record.created_utc else None
    for step in record.steps:
        at = utc_ns(begun, _ended_s(record, step))
        more = {"repetition": str(step.repetition), **({"warmup": "true"} if step.warmup else {})}
        for host, dirs in scopes(step):
            for name in in_order(dirs):
                tags = tags_of(record.run_id, record.profile.tag, step.name, name, host, more)
                yield SeriesPoint(RESULT_NAME, tags, _fields(dirs[name]), at)
        for name, each in step.metadata.operations.items() if step.metadata is not None else ():
            tags = {
                "run": record.run_id,
                "profile": record.profile.tag,
                "step": step.name,
                "operation": name,
                **more,
            }
            known = {
                "operations_per_second": each.mean,
                "operations_per_second_stddev": each.stddev,
            }
            known |= (
                {"bytes_per_second": each.mean * each.bytes_per_op}
                if each.mean and each.bytes_per_op
                else {}
            )
            if fields := {field: value for field, value in known.items() if value is not None}:
                yield SeriesPoint(RESULT_NAME, tags, fields, at)
    yield from searched_points(record)


def searched_points(record: RunRecord) -> Iterator[SeriesPoint]:
    """Yield the results of a search.

    Each figure has three points: its value and the ends of its 95 % interval. For scaling, each
    number of hosts has the same three, and one for its efficiency.
    """
    search = record.search
    if search is None:
        return
    at = utc_ns(parse_utc(record.created_utc) if record.created_utc else None, record.duration_s)
    tags = {"run": record.run_id, "profile": record.profile.tag}
    for each in found_figures(search):
        more: dict[str, str] = {}
        if each.name == "capacity" and search.answer is not None:
            if search.answer.step is None:
                continue  # no number
            limits = " and ".join(limit.text for limit in search.limits)
            more = {"unit": each.unit, "limits": limits, "state": search.answer.state}
        yield from _bounds({**tags, **more}, FIELDS[each.name], each.figure, at)
    for point in search.scaling.points if search.scaling is not None else ():
        own = {**tags, "hosts": str(point.hosts), "extrapolated": str(point.extrapolated).lower()}
        yield from _bounds(own, "scaling_iops", point.iops, at)
        if point.efficiency is not None:
            yield SeriesPoint(RESULT_NAME, own, {"scaling_efficiency_ratio": point.efficiency}, at)


def _bounds(
    tags: dict[str, str], name: str, figure: ConfidenceInterval, at: int | None
) -> Iterator[SeriesPoint]:
    for bound in ("value", "low", "high"):
        if (value := getattr(figure, bound)) is not None:
            yield SeriesPoint(RESULT_NAME, {**tags, "bound": bound}, {name: value}, at)


def _ended_s(record: RunRecord, step: StepRecord) -> float | None:
    ends = [task.end_s for task in step.tasks.values() if task.end_s is not None]
    return max(ends, default=record.duration_s)


def _fields(part: DirectionRecord) -> dict[str, float]:
    counts = {"ios": float(part.ios), "bytes": float(part.bytes)}
    rates = {"iops": part.iops, "bytes_per_second": part.bw_bytes_per_s}
    known = {name: value for name, value in rates.items() if value is not None}
    for kind in LATENCIES:
        known |= _latency_fields(kind, getattr(part, kind))
    return counts | known


def _latency_fields(kind: str, latency: LatencyRecord | None) -> dict[str, float]:
    if latency is None:
        return {}
    exact = {
        "mean": latency.mean_ns,
        "stddev": latency.stddev_ns,
        "min": latency.min_ns,
        "max": latency.max_ns,
    }
    quantiles = {percentile_name(name): value for name, value in latency.percentiles_ns.items()}
    values = {
        f"{kind}_{name}_seconds": seconds(value) for name, value in (exact | quantiles).items()
    }
    return {name: value for name, value in values.items() if value is not None}


def line_of(point: SeriesPoint) -> str:
    """Return a point as one line of InfluxDB line protocol, with a newline.

    All fields are floats: databases refuse a field that changes its type.
    """
    tags = "".join(
        f",{_key(name)}={_key(value)}" for name, value in sorted(point.tags.items()) if value
    )
    fields = ",".join(f"{_key(name)}={value!r}" for name, value in point.fields.items())
    return (
        f"{_key(point.name)}{tags} {fields}{'' if point.utc_ns is None else f' {point.utc_ns}'}\n"
    )


def _key(text: str) -> str:
    """Return a text with the special characters of line protocol escaped.

    Line breaks, which have no escape, become blanks; trailing backslashes are removed.
    """
    flat = " ".join(text.split("\n")).replace("\r", " ").rstrip("\\")
    return flat.replace(",", r"\,").replace("=", r"\=").replace(" ", r"\ ")


def _files(source: ExportSource) -> Iterator[ExportFile]:
    points = (
        point
        for found in (series_points, telemetry_points, result_points)
        for point in found(source.record)
    )
    yield ExportFile(f"{source.record.run_id}.lp", text_parts(map(line_of, points)))


def _stream(moment: ExportSecond | Event | RunRecord) -> str:
    if isinstance(moment, RunRecord):
        return "".join(map(line_of, result_points(moment)))
    return (
        line_of(point)
        if isinstance(moment, ExportSecond) and (point := point_of(moment)).fields
        else ""
    )


LINES = Exporter(
    "samples and results",
    _files,
    tools="InfluxDB, VictoriaMetrics",
    details="Influx line protocol of every second; Telegraf reads it too",
    stream=_stream,
)


HELP = {
    "iops": "I/Os per second",
    "bytes_per_second": "Bytes per second",
    "latency_mean_seconds": "Mean latency in that second",
    "latency_p99_seconds": "99th percentile latency in that second",
}
SEARCHED = {
    "capacity": "Capacity: the highest load within all limits, in the unit of its label",
    "full_load_iops": "I/Os per second at full load",
    "knee_iops": "Rate above which latency grows faster than load",
    "scaling_one_host_iops": "Single-host rate by the scaling law",
    "scaling_contention": "Scaling law: contention",
    "scaling_coherence": "Scaling law: coherence",
    "scaling_best_hosts": "Scaling law: number of hosts at peak throughput",
    "scaling_iops": "I/Os per second at full load, by number of hosts",
    "scaling_efficiency_ratio": ("Throughput as a share of linear scaling, by number of hosts"),
}
Labels = Mapping[str, str]


@dataclass(slots=True)
class Family:
    """An OpenMetrics family: the samples of one metric.

    A sample is (name suffix, labels, value, time in ns since 1970).
    """

    name: str
    kind: str
    help: str
    samples: list[tuple[str, Labels, float, int | None]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the family's lines, nothing if it has no samples."""
        if not self.samples:
            return
        yield f"# HELP {self.name} {_escaped(self.help)}\n# TYPE {self.name} {self.kind}\n"
        for suffix, labels, value, at in self.samples:
            pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            yield (
                f"{self.name}{suffix}{{{pairs}}}"
                f" {value!r}{'' if at is None else f' {at / 1e9:.3f}'}\n"
            )


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _document(families: Iterable[Family]) -> Iterator[str]:
    for family in families:
        yield from family.lines()
    yield "# EOF\n"


def _result(source: ExportSource) -> Iterator[ExportFile]:
    yield ExportFile(
        f"{source.record.run_id}.prom", text_parts(_document(result_families(source.record)))
    )


def _series(source: ExportSource) -> Iterator[ExportFile]:
    points = [*series_points(source.record), *telemetry_points(source.record)]
    if not points:
        raise UsageError(
            f"{source.record.run_id}: no per-second series; use the format openmetrics"
        )
    if points[0].utc_ns is None:
        raise UsageError(f"{source.record.run_id}: no start time; OpenMetrics series need one")
    yield ExportFile(f"{source.record.run_id}.om", text_parts(_document(series_families(points))))


def series_families(points: Iterable[SeriesPoint]) -> list[Family]:
    """Return the per-second samples, one family per field.

    Measured figures come first, then telemetry.
    """
    found = {
        f"{NAME}_{name}": Family(f"{NAME}_{name}", "gauge", text) for name, text in HELP.items()
    }
    for point in points:
        for field_name, value in point.fields.items():
            name = f"{point.name}_{field_name}"
            about = "Telemetry of a host: docs/telemetry.md"
            if field_name.startswith(PRINTED):
                about = "Per-second percentile as printed by the load generator; cannot be merged"
            family = found.setdefault(name, Family(name, "gauge", about))
            family.samples.append(("", point.tags, value, point.utc_ns))
    for family in found.values():  # samples of one series must be adjacent and in time order
        family.samples.sort(key=lambda sample: (*sample[1].values(), sample[3]))
    return list(found.values())


def result_families(record: RunRecord) -> list[Family]:
    """Return the results without warm-up steps, one family per figure.

    They have no timestamps, because textfile collectors refuse them.
    """
    rates = [
        Family(f"{NAME}_result_{name}", "gauge", f"{HELP[name]} over the run")
        for name in list(HELP)[:2]
    ]
    latency = Family(
        f"{NAME}_result_latency_seconds",
        "summary",
        "Latency over the run, of kind slat, clat or lat",
    )
    most = Family(f"{NAME}_result_latency_max_seconds", "gauge", "Maximum latency in the run")
    for step in record.steps:
        if step.warmup:
            continue
        more = {"repetition": str(step.repetition)}
        for host, dirs in scopes(step):
            for name in in_order(dirs):
                tags = tags_of(record.run_id, record.profile.tag, step.name, name, host, more)
                _add(rates, latency, most, tags, dirs[name])
    return [
        _about(record),
        *rates,
        latency,
        most,
        *_operations(record),
        *_searched(record),
        _findings(record),
    ]


def _add(
    rates: list[Family], latency: Family, most: Family, tags: Labels, part: DirectionRecord
) -> None:
    for family, value in zip(rates, (part.iops, part.bw_bytes_per_s), strict=True):
        if value is not None:
            family.samples.append(("", tags, value, None))
    for kind in LATENCIES:
        each: LatencyRecord | None = getattr(part, kind)
        if each is None or not each.n:
            continue
        own = {**tags, "kind": kind}
        for name, value_ns in each.percentiles_ns.items():
            quantile = f"{float(name) / 100:.6g}"
            latency.samples.append(("", {**own, "quantile": quantile}, value_ns / 1e9, None))
        latency.samples.append(("_count", own, each.n, None))
        if each.mean_ns is not None:
            latency.samples.append(
                ("_sum", own, float(f"{each.mean_ns * each.n / 1e9:.12g}"), None)
            )
        if (value := seconds(each.max_ns)) is not None:
            most.samples.append(("", own, value, None))


def _about(record: RunRecord) -> Family:
    labels = {
        "run": record.run_id,
        "profile": record.profile.tag,
        "target": record.target or "",
        "state": record.state,
        "verdict": record.verdict or "",
        "created": record.created_utc or "",
        "version": record.provenance.benchtui_version or "",
    }
    about = "Run labels: profile, verdict"
    # node_exporter does not know the type info
    return Family(f"{NAME}_run_info", "gauge", about, [("", labels, 1, None)])


def _operations(record: RunRecord) -> list[Family]:
    """Return the rates of an MPI benchmark's operations.

    There is a family for bandwidth if any operation moves bytes.
    """
    rates = Family(
        f"{NAME}_result_operations_per_second",
        "gauge",
        "Operations per second, mean over iterations",
    )
    moved = Family(
        f"{NAME}_result_operations_bytes_per_second",
        "gauge",
        "Bandwidth of operations, mean over iterations",
    )
    for step in record.steps:
        for name, each in step.metadata.operations.items() if step.metadata is not None else ():
            if each.mean is not None:
                labels = {
                    "run": record.run_id,
                    "profile": record.profile.tag,
                    "step": step.name,
                    "operation": name,
                }
                labels |= {"repetition": str(step.repetition)}
                rates.samples.append(("", labels, each.mean, None))
                if each.bytes_per_op:
                    moved.samples.append(("", labels, each.mean * each.bytes_per_op, None))
    return [rates, moved] if moved.samples else [rates]


def _searched(record: RunRecord) -> Iterator[Family]:
    """Yield the results of a search: one family per figure, with the ends of its interval."""
    found = {
        name: Family(f"{NAME}_result_{name}", "gauge", text) for name, text in SEARCHED.items()
    }
    for point in searched_points(record):
        for name, value in point.fields.items():
            found[name].samples.append(("", point.tags, value, None))
    yield from found.values()


def _findings(record: RunRecord) -> Family:
    family = Family(f"{NAME}_findings", "gauge", "Number of findings, by severity")
    for severity in ("error", "warning", "info"):
        number = sum(finding.severity == severity for finding in record.findings)
        labels = {"run": record.run_id, "profile": record.profile.tag, "severity": severity}
        family.samples.append(("", labels, number, None))
    return family


RESULT = Exporter(
    "results as metrics",
    _result,
    tools="node_exporter, Pushgateway",
    details="OpenMetrics without times, for node_exporter's textfile collector or a Pushgateway",
)
SERIES = Exporter(
    "samples as metrics",
    _series,
    tools="backfilling Prometheus",
    details="OpenMetrics of every second, for promtool tsdb create-blocks-from openmetrics",
)
