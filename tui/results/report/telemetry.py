"""What hosts did while they measured, as charts: CPU, links, disks; of clients and of storage nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tui.metrics import units
from tui.metrics.telemetry import parse_column
from tui.model.step_record import HostTelemetryRecord, StepRecord
from tui.results.report.charts import band_layer, rate_axis, time_axis
from tui.results.report.document import Chart
from tui.results.report.over_time import Point, points_of, reading_note, rows_over
from tui.results.report.vega import SERIES, layers

Seconds = list[float | None]
RATES = (
    ("Network", ("nic", "rdma"), (("received", "rx"), ("sent", "tx"))),
    ("Disks", ("dev",), (("read", "rd"), ("written", "wr"))),
)
ROLES = (("client", "hosts"), ("server", "servers"))


def telemetry_charts(step: StepRecord) -> Iterator[Chart]:
    """Yield charts of CPU, network and disks over the measured time; nothing of what nobody looked at."""
    for role, who in ROLES:
        hosts = [each for each in step.telemetry if each.role == role and each.start_s is not None and each.t_s]
        if hosts:
            yield from _cpu(hosts, who)
            yield from _rates(hosts, who)


def _cpu(hosts: Sequence[HostTelemetryRecord], who: str) -> Iterator[Chart]:
    """Yield CPU over all hosts: the mean of them with the lowest and highest, and the busiest core anywhere."""
    curves = {
        "all cores": [by_second(each, "cpu.busy") for each in hosts],
        "busiest core": [by_second(each, "core.busy") for each in hosts],
    }
    points = {name: rows_over(columns) for name, columns in curves.items()}
    points = {name: found for name, found in points.items() if any(point.mean is not None for point in found)}
    if not points:
        return
    seconds = max(len(column) for columns in curves.values() for column in columns)
    rows = [
        {"t": p.t_s, "v": p.mean, "lo": p.low, "hi": p.high, "d": name} for name, found in points.items() for p in found
    ]
    axis = {"values": [0, 25, 50, 75, 100], "labelExpr": "datum.value + ' %'", "title": "CPU"}
    y = {"type": "quantitative", "scale": {"domain": [0, 100], "nice": False}, "axis": axis}
    several = "The line is the mean of the hosts, the band reaches from the lowest to the highest of them. "
    note = (several if len(hosts) > 1 else "") + reading_note(seconds, "the seconds of all of them")
    alt = f"CPU of {who}: " + "; ".join(f"{name} {_span(found, '%')}" for name, found in points.items())
    yield Chart(f"CPU of {who}", _spec(rows, list(points), y, seconds), alt, note)


def _rates(hosts: Sequence[HostTelemetryRecord], who: str) -> Iterator[Chart]:
    for title, families, parts in RATES:
        curves = {name: points_of(_summed(hosts, families, field)) for name, field in parts}
        curves = {name: found for name, found in curves.items() if any(point.high for point in found)}
        if not curves:
            continue
        seconds = max(len(by_second(each, None)) for each in hosts)
        rows = [
            {"t": p.t_s, "v": p.mean, "lo": p.low, "hi": p.high, "d": name}
            for name, found in curves.items()
            for p in found
        ]
        y = rate_axis(
            "bandwidth", max(point.high or 0.0 for found in curves.values() for point in found), title.lower()
        )
        alt = f"{title} of {who}, all together: " + "; ".join(
            f"{name} {_span(found, '')}" for name, found in curves.items()
        )
        note = f"All {who} together. {reading_note(seconds)}".strip()
        yield Chart(f"{title} of {who}", _spec(rows, list(curves), y, seconds), alt, note)


def _span(points: Sequence[Point], unit: str) -> str:
    known = [point for point in points if point.low is not None]
    low, high = min(p.low or 0.0 for p in known), max(p.high or 0.0 for p in known)
    return f"{low:.0f} to {high:.0f} %" if unit else f"{units.bandwidth(low)} to {units.bandwidth(high)}"


def _spec(rows: list[dict[str, Any]], names: list[str], y: dict[str, Any], seconds: int) -> dict[str, Any]:
    color = {
        "field": "d",
        "type": "nominal",
        "legend": {"title": None},
        "scale": {"domain": names, "range": list(SERIES[: len(names)])},
    }
    band = band_layer(y, color, len(rows) // len(names))
    line = {"mark": {"type": "line", "strokeWidth": 1.6}, "encoding": {"y": {"field": "v", **y}, "color": color}}
    return layers(band, line, height=150, data={"values": rows}, encoding={"x": time_axis(max(seconds, 1))})


def by_second(host: HostTelemetryRecord, name: str | None) -> Seconds:
    """Return a column by the second of the measured window; without a name the seconds alone, unknown."""
    start, end = host.start_s or 0.0, host.end_s if host.end_s is not None else host.t_s[-1]
    found: Seconds = [None] * max(1, round(end - start))
    for t, value in zip(host.t_s, host.values_of(name) if name else (), strict=False):
        place = int(t - start - 0.5)
        if 0 <= place < len(found) and t > start:
            found[place] = value
    return found


def _summed(hosts: Sequence[HostTelemetryRecord], families: Sequence[str], field: str) -> Seconds:
    """Return the sum over hosts and subjects by second; of a second that a host did not tell nothing is known."""
    columns = [_of_host(each, families, field) for each in hosts]
    columns = [column for column in columns if column]
    length = max(map(len, columns), default=0)
    total: Seconds = []
    for place in range(length):
        values = [column[place] if place < len(column) else None for column in columns]
        known = [value for value in values if value is not None]
        total.append(sum(known) if known and len(known) == len(values) else None)
    return total


def _of_host(host: HostTelemetryRecord, families: Sequence[str], field: str) -> Seconds:
    names = [name for name in host.names if _is(name, families, field) and _counts(host, name)]
    columns = [by_second(host, name) for name in names]
    return [
        sum(v for v in row if v is not None) if any(v is not None for v in row) else None
        for row in zip(*columns, strict=True)
    ]


def _is(name: str, families: Sequence[str], field: str) -> bool:
    parts = parse_column(name)
    return parts.family in families and parts.field == field


def _counts(host: HostTelemetryRecord, name: str) -> bool:
    """Tell whether a device's traffic counts once: those below the target carry the same bytes again."""
    parts = parse_column(name)
    return parts.family != "dev" or host.devices.get(parts.subject) != "below" or "top" not in host.devices.values()
