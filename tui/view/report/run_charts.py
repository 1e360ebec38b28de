"""The charts of a run in a report: sweeps, metadata operations, telemetry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log2
from typing import Any

from tui.metrics import units
from tui.metrics.registry import BY_UNIT, metric_of_operation, rate_of_operation
from tui.metrics.telemetry import parse_column
from tui.model.record import RunRecord
from tui.model.step_record import HostTelemetryRecord, OperationRecord, StepRecord
from tui.record.cells import Cell, cells_of_record
from tui.record.matrix import MatrixTable, main_axis, tables_of
from tui.view.document import Chart
from tui.view.host_load import Seconds, by_second, clients_of, servers_of
from tui.view.matrix import KNEE, knee_texts, scale_of
from tui.view.matrix_chart import METRICS, SweepCurve, chart_title, is_logarithmic, series_of
from tui.view.report.step_charts import (
    SeriesSpan,
    band_layer,
    points_of,
    rate_axis,
    reading_note,
    rows_over,
    time_axis,
)
from tui.view.report.vega import GOOD, SERIES, WIDTH, Spec, layers

MOST_CURVES = 8
ROW_PX = 26


def sweep_charts(record: RunRecord) -> Iterator[Chart]:
    """Yield a chart for each table of the matrix with a numeric axis."""
    tables = tables_of(cells_of_record(record))
    for table in tables:
        axis = main_axis(table.cells, table.axes)
        found = series_of(table, axis) if axis is not None else []
        if axis is not None and found:
            more = len(found) - MOST_CURVES
            yield sweep_chart(
                table, axis, found[:MOST_CURVES], named=len(tables) > 1, left_out=more
            )


def sweep_chart(
    table: MatrixTable, axis: str, found: Sequence[SweepCurve], *, named: bool, left_out: int
) -> Chart:
    """Return a chart of a matrix table over one axis, a curve per value of the other axes.

    `left_out`: number of curves not drawn.
    """
    cells = [cell for each in found for cell in each.cells]
    numbers = sorted({(cell.numbers[axis], cell.texts[axis]) for cell in cells})
    logarithmic = is_logarithmic([number for number, _ in numbers])
    scale = scale_of(cells)

    def row(cell: Cell, name: str) -> dict[str, Any]:
        x = cell.numbers[axis]
        text = f"{cell.name}: {scale.text(cell.value)} {scale.unit}".rstrip()
        low, high = (
            (min(cell.values), max(cell.values))
            if len(cell.values) > 1
            else (cell.value, cell.value)
        )
        return {
            "x": log2(x) if logarithmic else x,
            "v": cell.value,
            "lo": low,
            "hi": high,
            "d": name,
            "s": text,
            "k": cell.key in table.knee_keys,
        }

    rows = [row(cell, each.name) for each in found for cell in each.cells]
    title = chart_title(table, axis, named=named)
    title = title[0].upper() + title[1:]
    spec = _sweep_spec(
        rows, [(log2(n) if logarithmic else n, text) for n, text in numbers], axis, cells, found
    )
    knees = knee_texts(table)
    alt = (
        f"{title}:"
        f" {'; '.join(row['s'] for row in rows[:24])}{'; ' + '; '.join(knees) if knees else ''}"
    )
    note = " ".join(f"{KNEE} {text}." for text in knees[:3])
    note += f" {units.plural(left_out, 'more curve')}: see the table." if left_out > 0 else ""
    if any(len(cell.values) > 1 for cell in cells):
        note += " Bars span the lowest to the highest repetition."
    return Chart(title, spec, alt, note.strip())


def _sweep_spec(
    rows: Sequence[dict[str, Any]],
    numbers: Sequence[tuple[float, str]],
    axis: str,
    cells: Sequence[Cell],
    found: Sequence[SweepCurve],
) -> Spec:
    names = [each.name for each in found]
    metric = METRICS[BY_UNIT[cells[0].unit].name]
    highest = max(float(row["hi"] or 0.0) for row in rows)
    y = rate_axis(metric, highest, cells[0].what)
    texts = [text for _, text in numbers]
    places = [place for place, _ in numbers]
    marks = {
        "values": places,
        "labelExpr": f"{texts}[indexof({places}, datum.value)]",
        "title": axis,
        "labelOverlap": "greedy",
    }
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"nice": False, "padding": 12, "zero": False},
        "axis": marks,
    }
    legend = {"title": None} if any(names) else None
    color = {
        "field": "d",
        "type": "nominal",
        "sort": names,
        "legend": legend,
        "scale": {"domain": names, "range": list(SERIES[: len(names)])},
    }
    spread = {
        "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5},
        "encoding": {"y": {"field": "lo", **y}, "y2": {"field": "hi"}},
    }
    line = {"mark": {"type": "line", "strokeWidth": 1.7}, "encoding": {"y": {"field": "v", **y}}}
    points = {
        "mark": {"type": "point", "filled": True, "size": 34, "aria": True},
        "encoding": {"y": {"field": "v", **y}, "description": {"field": "s"}},
    }
    knee = {
        "transform": [{"filter": "datum.k"}],
        "mark": {
            "type": "point",
            "shape": "diamond",
            "size": 190,
            "filled": False,
            "strokeWidth": 2,
        },
        "encoding": {"y": {"field": "v", **y}, "color": {"value": GOOD}},
    }
    return layers(
        spread, line, points, knee, data={"values": list(rows)}, encoding={"x": x, "color": color}
    )


def operations_chart(step: StepRecord) -> Iterator[Chart]:
    """Yield charts of an MPI benchmark's operations.

    Operations that move bytes come first. Each iteration is a mark.
    """
    found = step.metadata.operations if step.metadata is not None else {}
    for moving in (True, False):
        known = {
            n: each
            for n, each in found.items()
            if each.mean is not None and bool(each.bytes_per_op) is moving
        }
        if known:
            yield _operations_chart(known)


def _operations_chart(known: Mapping[str, OperationRecord]) -> Chart:
    moved = {name: each.bytes_per_op for name, each in known.items()}
    unit = metric_of_operation(max(moved.values()))
    means = {name: rate_of_operation(each.mean, moved[name]) or 0.0 for name, each in known.items()}
    rows: list[dict[str, Any]] = [
        {"o": name, "v": mean, "s": f"{name}: {unit.with_unit(mean)}"}
        for name, mean in means.items()
    ]
    points = [
        {"o": name, "v": rate_of_operation(rate, moved[name])}
        for name, each in known.items()
        for rate in each.iterations
    ]
    highest = max(row["v"] for row in (*rows, *points))
    what = "operations per second" if unit.counted else unit.title
    x = {"field": "v", **rate_axis("iops" if unit.counted else "bandwidth", highest, what)}
    axis = {"title": None, "ticks": False, "labelLimit": 160}
    y = {"field": "o", "type": "nominal", "sort": list(known), "axis": axis}
    bars = {
        "data": {"values": rows},
        "mark": {"type": "bar", "color": SERIES[0], "aria": True},
        "encoding": {"x": x, "y": y, "description": {"field": "s"}},
    }
    dots = {
        "data": {"values": points},
        "mark": {"type": "tick", "color": "var(--ink)", "thickness": 2},
        "encoding": {"x": x, "y": y},
    }
    spec = {"width": WIDTH, "height": ROW_PX * len(known), "layer": [bars, dots]}
    alt = f"{what}: " + ", ".join(f"{name} {unit.text(mean)}" for name, mean in means.items())
    return Chart("Operations side by side", spec, alt, "Marks: iterations." if points else "")


RATES = (
    ("Network", ("nic", "rdma"), (("received", "rx"), ("sent", "tx"))),
    ("Disks", ("dev",), (("read", "rd"), ("written", "wr"))),
)
BY_ROLE = ((clients_of, "hosts"), (servers_of, "servers"))


def telemetry_charts(step: StepRecord) -> Iterator[Chart]:
    """Yield charts of CPU, network and disks over the measured time; none without telemetry."""
    for monitored, who in BY_ROLE:
        hosts = [each for each in monitored(step) if each.t_s]
        if hosts:
            yield from _cpu(hosts, who)
            yield from _rates(hosts, who)


def _cpu(hosts: Sequence[HostTelemetryRecord], who: str) -> Iterator[Chart]:
    """Yield the CPU over all hosts: mean, lowest, highest, and the busiest core."""
    curves = {
        "all cores": [by_second(each, "cpu.busy") for each in hosts],
        "busiest core": [by_second(each, "core.busy") for each in hosts],
    }
    points = {name: rows_over(columns) for name, columns in curves.items()}
    points = {
        name: found
        for name, found in points.items()
        if any(point.mean is not None for point in found)
    }
    if not points:
        return
    seconds = max(len(column) for columns in curves.values() for column in columns)
    rows = [
        {"t": p.t_s, "v": p.mean, "lo": p.low, "hi": p.high, "d": name}
        for name, found in points.items()
        for p in found
    ]
    axis = {"values": [0, 25, 50, 75, 100], "labelExpr": "datum.value + ' %'", "title": "CPU"}
    y = {"type": "quantitative", "scale": {"domain": [0, 100], "nice": False}, "axis": axis}
    several = "Line: mean of the hosts; band: lowest to highest host. "
    note = (several if len(hosts) > 1 else "") + reading_note(seconds, "all seconds of all hosts")
    alt = f"{who[:-1].capitalize()} CPU: " + "; ".join(
        f"{name} {_span(found, '%')}" for name, found in points.items()
    )
    yield Chart(
        f"{who[:-1].capitalize()} CPU", _telemetry_spec(rows, list(points), y, seconds), alt, note
    )


def _rates(hosts: Sequence[HostTelemetryRecord], who: str) -> Iterator[Chart]:
    for title, families, parts in RATES:
        curves = {name: points_of(_summed(hosts, families, field)) for name, field in parts}
        curves = {
            name: found for name, found in curves.items() if any(point.high for point in found)
        }
        if not curves:
            continue
        seconds = max(len(by_second(each, None)) for each in hosts)
        rows = [
            {"t": p.t_s, "v": p.mean, "lo": p.low, "hi": p.high, "d": name}
            for name, found in curves.items()
            for p in found
        ]
        y = rate_axis(
            "bandwidth",
            max(point.high or 0.0 for found in curves.values() for point in found),
            title.lower(),
        )
        alt = f"{title} of all {who} together: " + "; ".join(
            f"{name} {_span(found, '')}" for name, found in curves.items()
        )
        note = f"Sum of all {who}. {reading_note(seconds)}".strip()
        name = f"{who[:-1].capitalize()} {title.lower()}"
        yield Chart(name, _telemetry_spec(rows, list(curves), y, seconds), alt, note)


def _span(points: Sequence[SeriesSpan], unit: str) -> str:
    known = [point for point in points if point.low is not None]
    low, high = min(p.low or 0.0 for p in known), max(p.high or 0.0 for p in known)
    return (
        f"{low:.0f} to {high:.0f} %"
        if unit
        else f"{units.bandwidth(low)} to {units.bandwidth(high)}"
    )


def _telemetry_spec(
    rows: list[dict[str, Any]], names: list[str], y: dict[str, Any], seconds: int
) -> dict[str, Any]:
    color = {
        "field": "d",
        "type": "nominal",
        "legend": {"title": None},
        "scale": {"domain": names, "range": list(SERIES[: len(names)])},
    }
    band = band_layer(y, color, len(rows) // len(names))
    line = {
        "mark": {"type": "line", "strokeWidth": 1.6},
        "encoding": {"y": {"field": "v", **y}, "color": color},
    }
    return layers(
        band, line, height=150, data={"values": rows}, encoding={"x": time_axis(max(seconds, 1))}
    )


def _summed(hosts: Sequence[HostTelemetryRecord], families: Sequence[str], field: str) -> Seconds:
    """Return the sum over hosts and devices by second; unknown if a host has no sample."""
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
    """Return whether a device's traffic counts.

    Devices below the target's carry the same bytes again.
    """
    parts = parse_column(name)
    return (
        parts.family != "dev"
        or host.devices.get(parts.subject) != "below"
        or "top" not in host.devices.values()
    )
