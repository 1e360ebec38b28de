"""Charts of one step in a report. Long series are shortened without losing extremes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log10
from statistics import median
from typing import Any

from tui.judge.stragglers import STRAGGLER_HOSTS, rates_of
from tui.metrics import units
from tui.metrics.buckets import SHOWN_PERCENTILES, label
from tui.metrics.figures import enough_behind, kind_of, latency_of
from tui.metrics.histogram import index_to_value
from tui.metrics.registry import METRICS, direction
from tui.metrics.series import SHARE_NAMES
from tui.model.criteria import default
from tui.model.figure_record import DirectionRecord, SeriesRecord
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.text.plot import merged
from tui.view.charts import ChartMetric, time_ticks, value_ticks
from tui.view.document import Chart
from tui.view.report import vega
from tui.view.report.heat import Heat, HeatCounts, patches_of
from tui.view.report.overview import directions_of
from tui.view.report.vega import (
    HEAT,
    INK,
    WIDTH,
    Spec,
    colors_of,
    latency_axis,
    layers,
    marked_axis,
)

MOST_POINTS = 180
Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class SeriesSpan:
    """Several seconds of a series: mean, lowest and highest value. `t_s` is their middle."""

    t_s: float
    mean: float | None
    low: float | None
    high: float | None


def seconds_per_point(seconds: float, most: int = MOST_POINTS) -> int:
    """Return how many seconds each point of a chart covers."""
    return max(1, ceil(seconds / most))


def points_of(
    values: Values, step_s: float = 1.0, most: int = MOST_POINTS, weights: Values = ()
) -> list[SeriesSpan]:
    """Return a series in at most `most` points: mean of the known values, and extremes.

    A point without known values is unknown. Mean latencies are weighted by the I/Os of each second
    (`weights`).
    """
    width = seconds_per_point(len(values), most)
    return [
        _point(values[at : at + width], weights[at : at + width], (at + width / 2) * step_s)
        for at in range(0, len(values), width)
    ]


def _point(values: Values, weights: Values, t_s: float) -> SeriesSpan:
    known = [value for value in values if value is not None]
    if not known:
        return SeriesSpan(t_s, None, None, None)
    return SeriesSpan(t_s, merged(values, weights, peaks=False), min(known), max(known))


def reading_note(seconds: int, what: str = "single seconds") -> str:
    """Return how to read a down-sampled series; empty if each point is one second."""
    width = seconds_per_point(seconds)
    return f"Each point covers {width} s; line: mean; band: range over {what}." if width > 1 else ""


def rows_over(columns: Sequence[Values]) -> list[SeriesSpan]:
    """Return several series of equal length, with a value per second, as one: mean, lowest and
    highest of all values.
    """
    length = max(map(len, columns), default=0)
    width = seconds_per_point(length)
    found = []
    for at in range(0, length, width):
        values = [value for column in columns for value in column[at : at + width]]
        found.append(_point(values, (), at + width / 2))
    return found


MOST_HOSTS = 128
FEW_ROWS, FINE_BITS = 28, 3  # of a narrow heat map: eight rows per doubling of the latency
ROW_PX, ROWS = 16, 24
SQUARES = {"title": None, "symbolType": "square", "symbolStrokeWidth": 0}
FAR_BELOW = "far below the median"
Rows = list[dict[str, Any]]
T = {"field": "t", "type": "quantitative"}


def charts_of(record: RunRecord, step: StepRecord, heat: Heat) -> Iterator[Chart]:
    """Yield the charts of a step; unknown figures have none."""
    yield from _throughput(step)
    yield from _percentiles_over_time(step, heat)
    for name in directions_of(step):
        if (step.index, name) in heat:
            yield _heat_map(
                heat[step.index, name], name, kind_of(name, record.latency_kind_of(step))
            )
    yield from _distribution(step, record.latency_kind_of(step))
    for name in directions_of(step):
        yield from _hosts(record, step, name)


def time_axis(seconds: float) -> Spec:
    """Return the encoding of time, from the first measured second."""
    axis = {
        **marked_axis(time_ticks(seconds, 84), "time since the start of the measurement"),
        "grid": False,
    }
    return {**T, "scale": {"domain": [0, seconds], "nice": False}, "axis": axis}


def rate_axis(metric: ChartMetric, highest: float, title: str = "") -> Spec:
    """Return the encoding of a rate, from 0, in the units that screens use."""
    ticks = value_ticks(metric, highest, 4)
    name = title or METRICS[metric].title
    scale = {"domain": [0, ticks.positions[-1]], "nice": False}
    return {"type": "quantitative", "scale": scale, "axis": marked_axis(ticks, name)}


# -- over time


def _throughput(step: StepRecord) -> Iterator[Chart]:
    """Yield charts of operations per second and of bandwidth, where known."""
    series = step.series
    if series is None:
        return
    moving = [name for name in directions_of(step) if direction(name).moves_data]
    counted = [name for name in directions_of(step) if name in _known(series, "iops")]
    metric: ChartMetric
    for metric, names in (("iops", counted), ("bandwidth", moving)):
        found = _known(series, metric)
        curves = {name: points_of(found[name], series.step_s) for name in names if name in found}
        if curves:
            title = METRICS[metric].title
            yield band_chart(
                metric, curves, _seconds(series), f"{title[0].upper()}{title[1:]} over time"
            )


def _known(series: SeriesRecord, metric: ChartMetric) -> dict[str, Values]:
    """Return the values of all hosts together by direction, where known."""
    columns = [column for column in series.columns if column.host is None]
    found = {
        each.direction: each.iops if metric == "iops" else each.bw_bytes_per_s for each in columns
    }
    return {
        name: values for name, values in found.items() if any(value is not None for value in values)
    }


def _seconds(series: SeriesRecord) -> float:
    return max((len(column.iops) for column in series.columns), default=0) * series.step_s


def band_chart(
    metric: ChartMetric, curves: Mapping[str, Sequence[SeriesSpan]], seconds: float, title: str
) -> Chart:
    """Return a chart of rates: lines are means, bands span the extremes."""
    rows: Rows = [
        {"t": point.t_s, "v": point.mean, "lo": point.low, "hi": point.high, "d": name}
        for name, points in curves.items()
        for point in points
    ]
    highest = max(
        (point.high or 0.0 for points in curves.values() for point in points), default=0.0
    )
    y = rate_axis(metric, highest)
    color = {
        "field": "d",
        "type": "nominal",
        "scale": colors_of(list(curves)),
        "legend": {"title": None},
    }
    band = band_layer(y, color, max(len(points) for points in curves.values()))
    line = {
        "mark": {"type": "line", "strokeWidth": 1.7, "point": _single(curves)},
        "encoding": {"y": {"field": "v", **y}, "color": color},
    }
    spec = layers(band, line, data={"values": rows}, encoding={"x": time_axis(seconds)})
    said = "; ".join(f"{name} {_range_text(metric, points)}" for name, points in curves.items())
    note = reading_note(round(seconds))
    return Chart(title, spec, f"{title}, all hosts together: {said}", note)


def band_layer(y: Spec, color: Spec, points: int) -> Spec:
    """Return the layer of bands, from the lowest to the highest value of each point."""
    mark = {"type": "rule", "opacity": 0.3, "strokeWidth": round(max(1.5, 450 / max(points, 1)), 1)}
    return {
        "mark": mark,
        "encoding": {"y": {"field": "lo", **y}, "y2": {"field": "hi"}, "color": color},
    }


def _single(curves: Mapping[str, Sequence[SeriesSpan]]) -> Any:
    """Return how to mark points if curves have too few for a visible line, otherwise False."""
    return (
        {"size": 24, "filled": True}
        if all(len(points) < 3 for points in curves.values())
        else False
    )


def _range_text(metric: str, points: Sequence[SeriesSpan]) -> str:
    known = [point for point in points if point.mean is not None]
    if not known:
        return "unknown"
    low, high = min(p.low or 0.0 for p in known), max(p.high or 0.0 for p in known)
    return f"from {METRICS[metric].text(low)} to {METRICS[metric].text(high)}"


def _percentiles_over_time(step: StepRecord, heat: Heat) -> Iterator[Chart]:
    """Yield one chart per direction: percentiles over time, merged over hosts.

    If there are no histograms, the chart shows p99 and mean.
    """
    series = step.series
    if series is None:
        return
    for name in directions_of(step):
        found = heat.get((step.index, name))
        curves = _exact(found) if found is not None else _coarse(series, name)
        width = found.width_s if found is not None else 1
        known = [value for points in curves.values() for _, value in points if value]
        if known:
            note = _percentile_note(found, width)
            yield _percentile_chart(name, curves, _seconds(series), min(known), max(known), note)


Curve = list[tuple[float, float | None]]


def _exact(heat: HeatCounts) -> dict[str, Curve]:
    rows = heat.percentiles(SHOWN_PERCENTILES)
    times = [(place + 0.5) * heat.width_s for place in range(len(rows))]
    found = {
        f"p{label(each)}": [(t, row[each]) for t, row in zip(times, rows, strict=True)]
        for each in SHOWN_PERCENTILES
    }
    return {name: points for name, points in found.items() if any(value for _, value in points)}


def _coarse(series: SeriesRecord, name: str) -> dict[str, Curve]:
    column = next(
        (each for each in series.columns if each.host is None and each.direction == name), None
    )
    if column is None:
        return {}
    parts: dict[str, Values] = {
        "mean": column.lat_mean_ns,
        "p99": [v and float(v) for v in column.p99_ns],
    }
    found = {
        what: [
            (p.t_s, p.high if what == "p99" else p.mean)
            for p in points_of(values, series.step_s, weights=column.iops)
        ]
        for what, values in parts.items()
    }
    return {what: points for what, points in found.items() if any(value for _, value in points)}


def _percentile_note(found: HeatCounts | None, width: int) -> str:
    if found is None:
        return (
            "No per-second histograms: each point shows the mean and the highest p99 of any second."
        )
    span = (
        f"Each point covers all I/Os of {'one second' if width == 1 else f'{width} s'} on all hosts"
    )
    return (
        f"{span}, from merged histograms. Points with fewer than {units.TAIL_SAMPLES} I/Os above"
        " the percentile are omitted."
    )


def _percentile_chart(
    name: str, curves: Mapping[str, Curve], seconds: float, low: float, high: float, note: str
) -> Chart:
    rows: Rows = [
        {"t": t, "v": value, "d": what} for what, points in curves.items() for t, value in points
    ]
    names = list(curves)
    scale = {"domain": names, "range": [f"var(--p{place + 1})" for place in range(len(names))]}
    domain = [low / 1.15, high * 1.15]
    y = {
        "field": "v",
        "type": "quantitative",
        "scale": {"type": "log", "domain": domain, "nice": False},
        "axis": latency_axis(low / 1.15, high * 1.15, f"{name} latency"),
    }
    color = {
        "field": "d",
        "type": "nominal",
        "scale": scale,
        "sort": names,
        "legend": {"title": None},
    }
    few = all(len(points) < 3 for points in curves.values())
    mark = {"type": "line", "strokeWidth": 1.7, "point": {"size": 24} if few else False}
    spec = layers(
        {"mark": mark, "encoding": {"y": y, "color": color}},
        data={"values": rows},
        encoding={"x": time_axis(seconds)},
    )
    said = ", ".join(_curve_text(what, points) for what, points in curves.items())
    return Chart(
        f"{name.capitalize()} latency percentiles over time",
        spec,
        f"{name} latency over time: {said}",
        note,
    )


def _curve_text(what: str, points: Curve) -> str:
    known = [value for _, value in points if value is not None]
    return f"{what} from {units.latency(min(known))} to {units.latency(max(known))}"


# -- heat map and distribution


def _heat_map(heat: HeatCounts, name: str, kind: str) -> Chart:
    patches = patches_of(heat)
    if len({patch.low_ns for patch in patches}) < FEW_ROWS:
        patches = patches_of(heat, FINE_BITS)
    low, high = min(patch.low_ns for patch in patches), max(patch.high_ns for patch in patches)
    seconds = len(heat.columns) * heat.width_s
    rows: Rows = [
        {
            "t": patch.column * heat.width_s,
            "e": patch.end * heat.width_s,
            "lo": patch.low_ns,
            "hi": patch.high_ns,
            "w": SHARE_NAMES[patch.weight],
        }
        for patch in patches
    ]
    y = {
        "field": "lo",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {**latency_axis(low, high, f"{name} latency"), "grid": False},
    }
    legend = {
        "title": "share of the column's I/Os (lower bound)",
        "symbolType": "square",
        "symbolStrokeWidth": 0,
    }
    scale = {"domain": list(SHARE_NAMES), "range": list(HEAT)}
    encoding = {
        "x": time_axis(seconds),
        "x2": {"field": "e"},
        "y": y,
        "y2": {"field": "hi"},
        "color": {"field": "w", "type": "ordinal", "scale": scale, "legend": legend},
    }
    spec = {
        "width": WIDTH,
        "height": 230,
        "data": {"values": rows},
        "mark": {"type": "rect", "strokeWidth": 0},
        "encoding": encoding,
    }
    span = f"from {units.latency(low)} to {units.latency(high)}"
    alt = f"heat map of {name} latency over {units.duration(seconds)}, {span}"
    note = f"All I/Os of all hosts by {kind}, {heat.width_s} s per column."
    return Chart(f"{name.capitalize()} latency heat map", spec, alt, note)


def _distribution(step: StepRecord, kind: str) -> Iterator[Chart]:
    """Yield latency by share of I/Os, with an axis by number of nines."""
    curves = {
        name: tail_curve(step.results.aggregate[name], name, kind) for name in directions_of(step)
    }
    if chart := tail_chart({name: points for name, points in curves.items() if len(points) > 1}):
        yield chart


def tail_curve(result: DirectionRecord, name: str, kind: str) -> Curve:
    """Return (1 / share of slower I/Os, latency in ns) for a step's histogram.

    The curve ends where too few I/Os are slower; it is empty without a histogram.
    """
    latency = latency_of(result, name, kind)
    histogram = latency.buckets if latency is not None else None
    if latency is None or histogram is None:
        return []
    return tail_of(zip(histogram.idx, histogram.n, strict=True), latency.n)


def tail_of(counts: Iterable[tuple[int, int]], total: int) -> Curve:
    """Return (1 / share of slower I/Os, latency in ns) for counts by bucket.

    `total`: number of all I/Os. The curve ends where too few I/Os are slower.
    """
    found, reached = [], 0
    for index, count in counts:
        reached += count
        share = reached / total * 100
        if reached < total and enough_behind(total, share):
            found.append((1 / (1 - reached / total), float(index_to_value(index))))
    return _thinned(found)


def _thinned(points: list[tuple[float, float]]) -> Curve:
    """Return points far enough apart to be distinguished: at most 40 per nine."""
    kept: Curve = []
    for x, y in points:
        if not kept or log10(x) - log10(kept[-1][0]) >= 0.025:
            kept.append((x, y))
    return kept


NINES = {
    1: "0",
    2: "50 %",
    10: "90 %",
    100: "99 %",
    1000: "99.9 %",
    10**4: "99.99 %",
    10**5: "99.999 %",
    10**6: "99.9999 %",
}


def tail_chart(curves: Mapping[str, Curve], title: str = "Latency distribution") -> Chart | None:
    """Return a chart of latency by percentile, with a curve per name; None without curves."""
    rows: Rows = [{"x": x, "v": y, "d": name} for name, points in curves.items() for x, y in points]
    if not rows:
        return None
    low, high = min(row["v"] for row in rows) / 1.15, max(row["v"] for row in rows) * 1.15
    right = max(row["x"] for row in rows)
    marks = [mark for mark in NINES if mark <= right]
    axis = {
        "values": marks,
        "labelExpr": f"{[NINES[m] for m in marks]}[indexof({marks}, datum.value)]",
        "title": "share of I/Os at or below",
    }
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [1, right], "nice": False},
        "axis": axis,
    }
    y = {
        "field": "v",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": latency_axis(low, high, "latency"),
    }
    color = {
        "field": "d",
        "type": "nominal",
        "scale": colors_of(list(curves)),
        "legend": {"title": None},
    }
    spec = layers(
        {
            "mark": {"type": "line", "strokeWidth": 1.8},
            "encoding": {"x": x, "y": y, "color": color},
        },
        data={"values": rows},
    )
    said = "; ".join(
        f"{name} up to {units.latency(points[-1][1])}" for name, points in curves.items() if points
    )
    note = (
        f"Merged histograms of all hosts, up to the percentile with {units.TAIL_SAMPLES}"
        " slower I/Os."
    )
    return Chart(title, spec, f"{title}, latency by percentile: {said}", note)


# -- hosts


def _hosts(record: RunRecord, step: StepRecord, name: str) -> Iterator[Chart]:
    """Yield a chart with a bar per host; hosts far below the median have another colour."""
    rates = rates_of(step, name)
    if len(rates) < 2:
        return
    middle = median(rates.values())
    least = (
        record.thresholds.get("straggler.rate", default("straggler.rate")) * middle
        if len(rates) >= STRAGGLER_HOSTS
        else 0.0
    )
    if not middle:
        return
    shown = set(sorted(rates, key=lambda host: rates[host])[:MOST_HOSTS])
    order = [host for host in rates if host in shown]
    slow = [host for host in order if rates[host] < least]
    rows: Rows = [
        {
            "h": host,
            "v": rates[host],
            "m": middle,
            "c": FAR_BELOW if host in slow else name,
            "s": (
                f"{host}: {units.iops(rates[host])} IOPS, {units.share(rates[host] / middle)} of"
                " the median"
            ),
        }
        for host in order
    ]
    x = {
        "field": "v",
        **rate_axis("iops", max(rates.values()), f"{name} {direction(name).counted}"),
    }
    scale = {
        "domain": [name, FAR_BELOW],
        "range": [vega.COLORS.get(name, vega.SERIES[0]), vega.WARN],
    }
    color = {"field": "c", "type": "nominal", "scale": scale, "legend": SQUARES if slow else None}
    # many hosts: bars side by side
    along, across = ("x", "y") if len(order) <= ROWS else ("y", "x")
    axis = {
        "title": None,
        "labelLimit": 160 if along == "x" else 70,
        "ticks": False,
        "labelOverlap": "greedy",
    }
    places = {
        "field": "h",
        "type": "nominal",
        "sort": order,
        "axis": axis,
        "scale": {"paddingInner": 0.25},
    }
    bars = {
        "mark": {"type": "bar", "aria": True},
        "encoding": {across: places, along: x, "color": color, "description": {"field": "s"}},
    }
    rule = {
        "mark": {"type": "rule", "strokeDash": [3, 3], "color": INK},
        "encoding": {along: {"aggregate": "max", "field": "m", "type": "quantitative"}},
    }
    height = ROW_PX * len(order) if along == "x" else vega.HEIGHT
    spec = layers(bars, rule, height=height, data={"values": rows})
    more = (
        f" The {len(shown)} slowest of {len(rates)} hosts are shown."
        if len(rates) > len(shown)
        else ""
    )
    alt = f"{name} IOPS of {len(rows)} hosts, median {units.iops(middle)}"
    alt += f"; far below: {', '.join(slow)}" if slow else "; none far below"
    yield Chart(f"Hosts: {name}", spec, alt, f"The dashed line is the median host.{more}")
