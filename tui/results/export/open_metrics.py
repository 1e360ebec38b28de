"""OpenMetrics text: what came out, for a collector of files; or every second with its time, to be backfilled.

Collectors of files read an older text format (Prometheus 0.0.4): what came out is written so that both parsers take it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tui.metrics.registry import in_order
from tui.model.exporter import Exporter, ExportFile, Source, text_parts
from tui.model.problem import UsageError
from tui.model.record import RunRecord
from tui.model.step_record import DirectionRecord, LatencyRecord
from tui.results.export.points import (
    NAME,
    PRINTED,
    Point,
    searched_points,
    seconds,
    series_points,
    tags_of,
    telemetry_points,
)
from tui.results.export.tables import LATENCIES, scopes

HELP = {
    "iops": "I/Os per second",
    "bytes_per_second": "Bytes per second",
    "latency_mean_seconds": "Mean latency of the second",
    "latency_p99_seconds": "99th percentile of the latency of the second",
}
SEARCHED = {
    "capacity": "Load that keeps all limits, in the unit of its label",
    "full_load_iops": "I/Os per second at full load",
    "knee_iops": "Rate from which on latency grows faster than load",
    "scaling_one_host_iops": "Rate of one host alone, by the scaling law",
    "scaling_contention": "Contention of the scaling law",
    "scaling_coherence": "Coherence of the scaling law",
    "scaling_best_hosts": "Hosts at which the scaling law has its maximum",
    "scaling_iops": "I/Os per second with so many hosts at full load",
    "scaling_efficiency_ratio": "Throughput with so many hosts, as a share of linear growth from the fewest",
}
Labels = Mapping[str, str]


@dataclass(slots=True)
class Family:
    """The samples of one metric: (suffix of the name, labels, value, time in ns from 1970)."""

    name: str
    kind: str
    help: str
    samples: list[tuple[str, Labels, float, int | None]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield its lines; none when it has no samples."""
        if not self.samples:
            return
        yield f"# HELP {self.name} {_escaped(self.help)}\n# TYPE {self.name} {self.kind}\n"
        for suffix, labels, value, at in self.samples:
            told = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            yield f"{self.name}{suffix}{{{told}}} {value!r}{'' if at is None else f' {at / 1e9:.3f}'}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _document(families: Iterable[Family]) -> Iterator[str]:
    for family in families:
        yield from family.lines()
    yield "# EOF\n"


def _result(source: Source) -> Iterator[ExportFile]:
    yield ExportFile(f"{source.record.run_id}.prom", text_parts(_document(result_families(source.record))))


def _series(source: Source) -> Iterator[ExportFile]:
    points = [*series_points(source.record), *telemetry_points(source.record)]
    if not points:
        raise UsageError(f"{source.record.run_id}: nothing is known of it second by second; the format openmetrics is")
    if points[0].utc_ns is None:
        raise UsageError(f"{source.record.run_id}: nobody knows when it was, and this format is for what has times")
    yield ExportFile(f"{source.record.run_id}.om", text_parts(_document(series_families(points))))


def series_families(points: Iterable[Point]) -> list[Family]:
    """Return the seconds of a run, a family a field; what hosts did meanwhile follows what they measured."""
    found = {f"{NAME}_{name}": Family(f"{NAME}_{name}", "gauge", text) for name, text in HELP.items()}
    for point in points:
        for field_name, value in point.fields.items():
            name = f"{point.name}_{field_name}"
            about = "Telemetry of a host: docs/telemetry.md"
            if field_name.startswith(PRINTED):
                about = "Percentile of the second as the load generator printed it; cannot be merged"
            family = found.setdefault(name, Family(name, "gauge", about))
            family.samples.append(("", point.tags, value, point.utc_ns))
    for family in found.values():  # what has the same labels must stand together, by time
        family.samples.sort(key=lambda sample: (*sample[1].values(), sample[3]))
    return list(found.values())


def result_families(record: RunRecord) -> list[Family]:
    """Return what came out of a run: no times, a collector of files refuses them."""
    rates = [Family(f"{NAME}_result_{name}", "gauge", f"{HELP[name]} over the run") for name in list(HELP)[:2]]
    latency = Family(f"{NAME}_result_latency_seconds", "summary", "Latency over the run, of kind slat, clat or lat")
    most = Family(f"{NAME}_result_latency_max_seconds", "gauge", "Longest latency of the run")
    for step in record.steps:
        if step.warmup:
            continue
        more = {"repetition": str(step.repetition)}
        for host, dirs in scopes(step):
            for name in in_order(dirs):
                tags = tags_of(record.run_id, record.profile.tag, step.name, name, host, more)
                _add(rates, latency, most, tags, dirs[name])
    return [_about(record), *rates, latency, most, _operations(record), *_searched(record), _findings(record)]


def _add(rates: list[Family], latency: Family, most: Family, tags: Labels, part: DirectionRecord) -> None:
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
            latency.samples.append(("_sum", own, float(f"{each.mean_ns * each.n / 1e9:.12g}"), None))
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
    told = "What was run, and what is to be thought of it"
    return Family(f"{NAME}_run_info", "gauge", told, [("", labels, 1, None)])  # collectors do not know the type info


def _operations(record: RunRecord) -> Family:
    family = Family(
        f"{NAME}_result_operations_per_second", "gauge", "Metadata operations per second, mean of iterations"
    )
    for step in record.steps:
        for name, each in step.metadata.operations.items() if step.metadata is not None else ():
            if each.mean is not None:
                labels = {"run": record.run_id, "profile": record.profile.tag, "step": step.name, "operation": name}
                family.samples.append(("", labels | {"repetition": str(step.repetition)}, each.mean, None))
    return family


def _searched(record: RunRecord) -> Iterator[Family]:
    """Yield what a search found, a family a figure: both ends of its interval stand beside it."""
    found = {name: Family(f"{NAME}_result_{name}", "gauge", text) for name, text in SEARCHED.items()}
    for point in searched_points(record):
        for name, value in point.fields.items():
            found[name].samples.append(("", point.tags, value, None))
    yield from found.values()


def _findings(record: RunRecord) -> Family:
    family = Family(f"{NAME}_findings", "gauge", "What the checks of the run found, by severity")
    for severity in ("error", "warning", "info"):
        number = sum(finding.severity == severity for finding in record.findings)
        labels = {"run": record.run_id, "profile": record.profile.tag, "severity": severity}
        family.samples.append(("", labels, number, None))
    return family


RESULT = Exporter("OpenMetrics, what came out (node_exporter's textfile collector, Pushgateway)", _result)
SERIES = Exporter("OpenMetrics, every second with its time (promtool tsdb create-blocks-from openmetrics)", _series)
