"""A run for databases of time series: one point a second, host and direction, and one for what came out.

The names are those of Prometheus, base units in them, and the same in line protocol as in OpenMetrics: a field of the
measurement ``benchtui`` is the metric ``benchtui_FIELD``, as VictoriaMetrics makes of it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from tui.metrics.registry import in_order
from tui.metrics.telemetry import parse_column
from tui.model.exporter import Second
from tui.model.record import RunRecord
from tui.model.search_record import IntervalRecord
from tui.model.step_record import DirectionRecord, HostTelemetryRecord, LatencyRecord, SeriesColumns, StepRecord
from tui.model.utc import parse_utc
from tui.results.export.tables import LATENCIES, percentile_name, scopes
from tui.results.sizing.found import found_figures

NAME = "benchtui"
RESULT = "benchtui_result"
TELEMETRY = "benchtui_telemetry"
NS = 1e-9
PRINTED = "latency_printed_"
BASE_UNITS = {"ms": ("_seconds", 1e-3), "bytes_per_s": ("_bytes_per_second", 1.0), "per_s": ("_per_second", 1.0),
              "number": ("", 1.0), "id": ("", 1.0), "count": ("", 1.0)}  # fmt: skip
FIELDS = {  # of what a search found
    "capacity": "capacity",
    "full_load": "full_load_iops",
    "knee": "knee_iops",
    "one_host": "scaling_one_host_iops",
    "contention": "scaling_contention",
    "coherence": "scaling_coherence",
    "best_hosts": "scaling_best_hosts",
}


@dataclass(frozen=True, slots=True)
class Point:
    """Values of one moment. `tags` name what they are of; `utc_ns` counts from 1970, None: nobody knows when."""

    name: str
    tags: Mapping[str, str]
    fields: Mapping[str, float]
    utc_ns: int | None


def tags_of(
    run_id: str, profile: str, step: str, direction: str, host: str | None, more: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return what a point is of. `scope` tells all hosts together (``all``) from one of them (``host``)."""
    scope = {"scope": "all"} if host is None else {"scope": "host", "host": host}
    return {"run": run_id, "profile": profile, "step": step, "direction": direction, **scope, **(more or {})}


def second(iops: float | None, bw: float | None, lat_mean_ns: float | None, p99_ns: float | None) -> dict[str, float]:
    """Return the fields of one second; what is unknown is left out."""
    values = {
        "iops": iops,
        "bytes_per_second": bw,
        "latency_mean_seconds": seconds(lat_mean_ns),
        "latency_p99_seconds": seconds(p99_ns),
    }
    return {name: value for name, value in values.items() if value is not None}


def point_of(at: Second) -> Point:
    """Return a second of a run that goes on as a point."""
    fields = second(at.iops, at.bw_bytes_per_s, at.lat_mean_ns, at.lat_p99_ns)
    stamp = None if at.utc is None else round(at.utc.timestamp() * 1000) * 1_000_000
    return Point(NAME, tags_of(at.run_id, at.profile, at.step, at.direction, at.host), fields, stamp)


def seconds(value_ns: float | None) -> float | None:
    """Return ns as seconds, without the digits that only the change of units brings."""
    return None if value_ns is None else float(f"{value_ns * NS:.12g}")


def utc_ns(begun: datetime | None, t_s: float | None) -> int | None:
    """Return a time of a run as ns from 1970."""
    return None if begun is None or t_s is None else round((begun.timestamp() + t_s) * 1000) * 1_000_000


def series_points(record: RunRecord) -> Iterator[Point]:
    """Yield every second of every host and direction, and of all hosts together; a column after the other."""
    begun = parse_utc(record.created_utc) if record.created_utc else None
    for step in record.steps:
        for column in step.series.columns if step.series is not None else ():
            tags = tags_of(record.run_id, record.profile.tag, step.name, column.direction, column.host)
            for place in range(len(column.iops)):
                if fields := second(*_values(column, place)) | _printed(column, place):
                    assert step.series is not None
                    t_s = step.series.start_s + place * step.series.step_s
                    yield Point(NAME, tags, fields, utc_ns(begun, t_s))


def _values(column: SeriesColumns, place: int) -> tuple[float | None, float | None, float | None, float | None]:
    lists = (column.iops, column.bw_bytes_per_s, column.lat_mean_ns, column.p99_ns)
    first, second_, third, fourth = (values[place] if place < len(values) else None for values in lists)
    return first, second_, third, fourth


def _printed(column: SeriesColumns, place: int) -> dict[str, float]:
    """Return the percentiles that the tool printed for a second: they hold for their host alone."""
    told = {name: seconds(values[place]) for name, values in column.printed_ns.items() if place < len(values)}
    known = {name: value for name, value in told.items() if value is not None}
    return {f"{PRINTED}p{name.replace('.', '_')}_seconds": value for name, value in known.items()}


def telemetry_points(record: RunRecord) -> Iterator[Point]:
    """Yield what every host did, an interval after the other: a point a subject, such as a NIC or a disk."""
    begun = parse_utc(record.created_utc) if record.created_utc else None
    for step in record.steps:
        for host in step.telemetry:
            tags = {"run": record.run_id, "profile": record.profile.tag, "step": step.name, "role": host.role}
            for subject, columns in _by_subject(host).items():
                own = tags | {"host": host.host, "subject": subject}
                for place, t_s in enumerate(host.t_s):
                    seen = ((name, by, values[place]) for name, by, values in columns if place < len(values))
                    if fields := {name: float(f"{value * by:.12g}") for name, by, value in seen if value is not None}:
                        yield Point(TELEMETRY, own, fields, utc_ns(begun, t_s))


def _by_subject(host: HostTelemetryRecord) -> dict[str, list[tuple[str, float, list[float | None]]]]:
    """Return the columns of a host by what they are of: field, what a value is multiplied by, values."""
    found: dict[str, list[tuple[str, float, list[float | None]]]] = {}
    for column in host.columns:
        parts = parse_column(column.name)
        unit, by = BASE_UNITS.get(column.unit, (f"_{column.unit}", 1.0))
        name = f"{parts.family}_{parts.field}{unit}"
        found.setdefault(parts.subject, []).append((name, by, host.values_of(column.name)))
    return found


def result_points(record: RunRecord) -> Iterator[Point]:
    """Yield what came out: a point a step, direction and host, and one an operation of a metadata benchmark."""
    begun = parse_utc(record.created_utc) if record.created_utc else None
    for step in record.steps:
        at = utc_ns(begun, _ended_s(record, step))
        more = {"repetition": str(step.repetition), **({"warmup": "true"} if step.warmup else {})}
        for host, dirs in scopes(step):
            for name in in_order(dirs):
                tags = tags_of(record.run_id, record.profile.tag, step.name, name, host, more)
                yield Point(RESULT, tags, _fields(dirs[name]), at)
        for name, each in step.metadata.operations.items() if step.metadata is not None else ():
            tags = {"run": record.run_id, "profile": record.profile.tag, "step": step.name, "operation": name, **more}
            known = {"operations_per_second": each.mean, "operations_per_second_stddev": each.stddev}
            if fields := {field: value for field, value in known.items() if value is not None}:
                yield Point(RESULT, tags, fields, at)
    yield from searched_points(record)


def searched_points(record: RunRecord) -> Iterator[Point]:
    """Yield what a search found: a point a figure and bound, and a number of hosts; bounds hold it with 95 %."""
    search = record.search
    if search is None:
        return
    at = utc_ns(parse_utc(record.created_utc) if record.created_utc else None, record.duration_s)
    tags = {"run": record.run_id, "profile": record.profile.tag}
    for each in found_figures(search):
        more: dict[str, str] = {}
        if each.name == "capacity" and search.answer is not None:
            if search.answer.step is None:
                continue  # in words alone
            limits = " and ".join(limit.text for limit in search.limits)
            more = {"unit": each.unit, "limits": limits, "state": search.answer.state}
        yield from _bounds({**tags, **more}, FIELDS[each.name], each.figure, at)
    for point in search.scaling.points if search.scaling is not None else ():
        own = {**tags, "hosts": str(point.hosts), "extrapolated": str(point.extrapolated).lower()}
        yield from _bounds(own, "scaling_iops", point.iops, at)
        if point.efficiency is not None:
            yield Point(RESULT, own, {"scaling_efficiency_ratio": point.efficiency}, at)


def _bounds(tags: dict[str, str], name: str, figure: IntervalRecord, at: int | None) -> Iterator[Point]:
    for bound in ("value", "low", "high"):
        if (value := getattr(figure, bound)) is not None:
            yield Point(RESULT, {**tags, "bound": bound}, {name: value}, at)


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
    exact = {"mean": latency.mean_ns, "stddev": latency.stddev_ns, "min": latency.min_ns, "max": latency.max_ns}
    quantiles = {percentile_name(name): value for name, value in latency.percentiles_ns.items()}
    values = {f"{kind}_{name}_seconds": seconds(value) for name, value in (exact | quantiles).items()}
    return {name: value for name, value in values.items() if value is not None}
