"""What hosts did while a step went on, for the record: columns over time, means and maxima of the measured window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.journal.step import StepState
from tui.journal.telemetry import HostTelemetry
from tui.metrics.telemetry import metric_of
from tui.model.step_record import HostTelemetryRecord, TelemetryColumn
from tui.results.record.timing import HostSpan

Window = tuple[float, float]


def telemetry_records(
    seen: StepState, spans: Mapping[str, HostSpan], clients: Sequence[str]
) -> list[HostTelemetryRecord]:
    """Return what was seen of each host: the clients in the order of the plan, then servers by name."""
    return [_host(each, window) for each, window in windows_of(seen, spans, clients)]


def windows_of(
    seen: StepState, spans: Mapping[str, HostSpan], clients: Sequence[str]
) -> list[tuple[HostTelemetry, Window | None]]:
    """Return what was seen of each host with the time in which it measured, in the order of the record."""
    everywhere = _everywhere(seen, spans)
    place = {host: index for index, host in enumerate(clients)}
    hosts = sorted(seen.telemetry.values(), key=lambda each: (place.get(each.host, len(place)), each.host))
    return [(each, _window(spans.get(each.host)) or everywhere) for each in hosts]


def _window(span: HostSpan | None) -> Window | None:
    return (span.start_t, span.end_t) if span is not None else None


def _everywhere(seen: StepState, spans: Mapping[str, HostSpan]) -> Window | None:
    """Return when any host measured: of a program over all hosts, and of a server, nothing better is known."""
    if spans:
        return min(span.start_t for span in spans.values()), max(span.end_t for span in spans.values())
    phases = [phase for phase in seen.phases if phase.name == "measure" and phase.end_t is not None]
    return (phases[-1].start_t, phases[-1].end_t or phases[-1].start_t) if phases else None


def _host(host: HostTelemetry, window: Window | None) -> HostTelemetryRecord:
    start_s, end_s = window or (None, None)
    return HostTelemetryRecord(
        host=host.host,
        role=host.role,
        start_s=_short(start_s),
        end_s=_short(end_s),
        t_s=[round(t, 2) for t in host.end_t],
        interval_s=[round(seconds, 2) for seconds in host.interval_s],
        quiet=sum(host.quiet),
        columns=[_column(host, name, window) for name in host.columns],
        devices=dict(host.devices),
        unknown=dict(host.unknown),
    )


def _column(host: HostTelemetry, name: str, window: Window | None) -> TelemetryColumn:
    metric = metric_of(name)
    inside = list(host.weighted(name, *window)) if window is not None and metric.unit != "id" else []
    seconds = sum(weight for _, weight in inside)
    total = sum(value for value, _ in inside) if metric.unit == "count" else None
    mean = sum(value * weight for value, weight in inside) / seconds if seconds else None
    column = TelemetryColumn(
        name=name,
        unit=metric.unit,
        mean=_short(mean if total is None or mean is None else total),
        max=_short(max((value for value, _ in inside), default=None)),
    )
    values = [_short(value) for value in host.values(name)]
    if _is_constant(values):
        column.constant = values[0]
    else:
        column.values = values
    return column


def _is_constant(values: Sequence[float | None]) -> bool:
    return bool(values) and values[0] is not None and all(value == values[0] for value in values)


def _short(value: float | None) -> float | None:
    """Return a value with six significant digits: the columns keep no more, and the file is half as long."""
    return None if value is None else float(f"{value:.6g}") if abs(value) < 1e6 else round(value)
