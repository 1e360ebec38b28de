"""What a search found, in a report: the answer, the curve, throughput over hosts, the points as evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from tui.metrics import units
from tui.metrics.registry import BY_UNIT
from tui.model.search_record import IntervalRecord, ScalingRecord, SearchRecord
from tui.results.report.charts import rate_axis
from tui.results.report.document import Block, Cell, Chart, Facts, Paragraph, Table
from tui.results.report.document import Column as Heading
from tui.results.report.vega import GOOD, INK, MUTED, SERIES, WARN, Spec, latency_axis, layers, marked_axis
from tui.results.sizing.curve import CurvePoint, Trace, rate_unit, traces
from tui.results.sizing.words import limit_text, rate
from tui.results.text.chart import value_ticks
from tui.results.text.search import answer_facts, point_columns, point_rows, scaling_columns, start_texts
from tui.results.text.search_chart import METRIC, model_points
from tui.text.line import LABEL, Run
from tui.text.table import Column

Row = TypeVar("Row")
HEIGHT = 280
DASH = [6, 4]
AIR = 1.15
OPEN = 8.0  # a latency so many times over all limits does not widen the axis


def sizing_blocks(search: SearchRecord, *, drawn: bool) -> Iterator[Block]:
    """Yield what the system sustains: in words, as charts when they are to be `drawn`, as tables."""
    yield Facts([(name, [text]) for name, text, _ in answer_facts(search)])
    if drawn:
        yield from curve_chart(search)
        yield from scaling_chart(search.scaling) if search.scaling is not None else ()
    if search.scaling is not None and search.scaling.points:
        yield table_of("Throughput over hosts", scaling_columns(), search.scaling.points)
    if search.points:
        yield table_of("Points in the order they were measured", point_columns(search), point_rows(search))
    yield from (Paragraph(text, LABEL) for text in start_texts(search))


def table_of(title: str, columns: Sequence[Column[Row]], rows: Sequence[Row]) -> Table:
    """Return a table of a terminal as one of a report."""
    heads = [Heading(column.title, right=column.right) for column in columns]
    told: list[list[Cell]] = [[_cell(column.runs(row)) for column in columns] for row in rows]
    return Table(title, heads, told)


def _cell(runs: Sequence[Run]) -> Cell:
    return ("".join(text for text, _ in runs), runs[0][1]) if runs else ""


# -- latency over rate


def curve_chart(search: SearchRecord) -> Iterator[Chart]:
    """Yield latencies over the achieved rate, with limits, capacity and knee; nothing without points."""
    found = traces(search)
    if not found:
        return
    unit = rate_unit(search)
    rows = [_point(trace, each, unit) for trace in found for each in trace.points]
    limits = {trace.most_ns for trace in found if trace.most_ns}
    highest = max(row["v"] for row in rows)
    high = max([min(highest, max(limits) * OPEN) if limits else highest, *limits]) * AIR
    low = min([row["v"] for row in rows] + list(limits)) / AIR
    x = {"field": "x", **rate_axis(METRIC[unit], max(row["x"] for row in rows), f"achieved {BY_UNIT[unit].title}")}
    scale = {"type": "log", "domain": [low, high], "nice": False, "clamp": True}
    y = {"type": "quantitative", "scale": scale, "axis": latency_axis(low, high, "latency")}
    names = [trace.name for trace in found]
    color = {"field": "d", "type": "nominal", "sort": names, "legend": {"title": None},
             "scale": {"domain": names, "range": list(SERIES[: len(names)])}}  # fmt: skip
    line = {"mark": {"type": "line", "strokeWidth": 1.7},
            "encoding": {"x": x, "y": {"field": "v", **y}, "order": {"field": "o"}, "color": color}}  # fmt: skip
    points = {"mark": {"type": "point", "filled": True, "size": 42, "aria": True},
              "encoding": {"x": x, "y": {"field": "v", **y}, "color": color,
                           "description": {"field": "s"}}}  # fmt: skip
    broken = {"transform": [{"filter": "datum.b"}],
              "mark": {"type": "point", "shape": "cross", "angle": 45, "filled": True, "size": 150},
              "encoding": {"x": x, "y": {"field": "v", **y}, "color": {"value": WARN}}}  # fmt: skip
    marks = [*limit_layers(search, found, x, y), *_uprights(search, x, unit)]
    spec = layers(*marks, line, points, broken, data={"values": rows}, height=HEIGHT)
    title = f"Latency over {BY_UNIT[unit].title}"
    alt = f"{title}: {'; '.join(row['s'] for row in rows[:24])}"
    yield Chart(title, spec, alt, _reading(search, found))


def _point(trace: Trace, each: CurvePoint, unit: str) -> dict[str, Any]:
    verdict = each.point.verdict if trace.most_ns is not None else ""
    said = f"{trace.name} {units.latency(each.latency_ns)} at {rate(each.rate, unit)}"
    said += f", {verdict}" if verdict else ""
    order = each.point.offered_iops if each.point.offered_iops is not None else 1e18
    return {"x": each.rate, "v": each.latency_ns, "d": trace.name, "s": said, "o": order, "b": verdict == "breaks"}


def limit_layers(search: SearchRecord, found: Sequence[Trace], x: Spec, y: Spec) -> list[Spec]:
    """Return the limits of these traces as dashed lines with their words."""
    drawn = {trace.most_ns for trace in found if trace.most_ns}
    texts = {each.most: limit_text(each) for each in search.limits if each.metric == "latency" and each.most in drawn}
    rows = [{"v": most, "t": text, "x": 0.0} for most, text in texts.items()]
    if not rows:
        return []
    rule = {"data": {"values": rows}, "mark": {"type": "rule", "strokeDash": DASH, "stroke": WARN, "strokeWidth": 1.5},
            "encoding": {"y": {"field": "v", **y}}}  # fmt: skip
    text = {"data": {"values": rows}, "mark": {"type": "text", "align": "left", "dx": 4, "dy": -7, "fill": WARN},
            "encoding": {"x": x, "y": {"field": "v", **y}, "text": {"field": "t"}}}  # fmt: skip
    return [rule, text]


def _uprights(search: SearchRecord, x: Spec, unit: str) -> list[Spec]:
    """Return capacity and knee as upright lines, their intervals as bands."""
    found = []
    answer, knee = search.answer, search.knee
    if answer is not None and answer.state in ("found", "met-at-full-load") and answer.capacity.value:
        found.append((answer.capacity, "capacity", GOOD))
    if knee is not None and knee.iops.value and search.kind == "curve":
        found.append((knee.iops, "knee", MUTED))
    return [
        layer
        for figure, name, color in found
        for layer in upright(figure, f"{name} {rate(figure.value, unit)}", x, color, 12 if name == "capacity" else 26)
    ]


def upright(figure: IntervalRecord, text: str, x: Spec, color: str, text_y: int) -> list[Spec]:
    """Return the layers of an upright line with its text, and the band of its interval where that is known."""
    data = {"values": [{"x": figure.value, "lo": figure.low, "hi": figure.high, "t": text}]}
    band = {"data": data, "mark": {"type": "rect", "opacity": 0.13, "fill": color},
            "encoding": {"x": {**x, "field": "lo"}, "x2": {"field": "hi"}}}  # fmt: skip
    rule = {"data": data, "mark": {"type": "rule", "stroke": color, "strokeDash": DASH}, "encoding": {"x": x}}
    place = {"y": {"value": text_y}, "text": {"field": "t"}}
    said = {"data": data, "mark": {"type": "text", "align": "right", "dx": -5, "fill": color},
            "encoding": {"x": x, **place}}  # fmt: skip
    return [rule, said] if figure.low is None or figure.high is None else [band, rule, said]


def _reading(search: SearchRecord, found: Sequence[Trace]) -> str:
    said = "Each point is a load of its own; lines join them by what was offered, full load last."
    if any(trace.most_ns is not None for trace in found):
        said += " A cross broke its limit, the dashed line."
    return said + (" Bands are 95 % intervals." if search.answer is not None or search.knee is not None else "")


# -- throughput over hosts


def scaling_chart(scaling: ScalingRecord) -> Iterator[Chart]:
    """Yield throughput over hosts against linear growth, with the law; what it says beyond the measured is dashed."""
    measured = [point for point in scaling.points if not point.extrapolated and point.iops.value]
    if len(measured) < 2:
        return
    last, first = measured[-1].hosts, measured[0]
    most = max(point.hosts for point in scaling.points)
    each_host = (first.iops.value or 0.0) / first.hosts
    model = model_points(scaling)
    top = max([each_host * most] + [point.iops.high or point.iops.value or 0.0 for point in scaling.points])
    hosts = sorted({point.hosts for point in scaling.points})
    many = len(hosts) > 12
    axis = marked_axis(value_ticks("iops", float(most), 6), "hosts") if many else {"values": hosts, "title": "hosts"}
    x = {"field": "x", "type": "quantitative", "scale": {"domain": [0, most * 1.03], "nice": False}, "axis": axis}
    y = rate_axis("iops", top)
    linear = [{"x": 0.0, "v": 0.0}, {"x": float(most), "v": each_host * most}]
    spec = layers(
        _line(linear, x, y, MUTED, 1.2),
        _line([{"x": n, "v": v} for n, v in model if n <= last], x, y, SERIES[0], 1.8),
        _line([{"x": n, "v": v} for n, v in model if n >= last], x, y, SERIES[0], 1.8, dashed=True),
        *_scale_points(scaling, x, y),
        height=HEIGHT,
    )  # fmt: skip
    texts = [
        f"{point.hosts} hosts {rate(point.iops.value, 'iops')}, {units.percent(point.efficiency)} of linear"
        f"{' (extrapolated)' if point.extrapolated else ''}"
        for point in scaling.points
    ]
    note = "Grey: as the fewest hosts would grow linearly. Dashed: the fitted law beyond what was measured."
    yield Chart("IOPS over hosts", spec, f"IOPS over hosts: {'; '.join(texts)}", note)


def _line(rows: list[dict[str, float]], x: Spec, y: Spec, color: str, width: float, *, dashed: bool = False) -> Spec:
    mark: Spec = {"type": "line", "stroke": color, "strokeWidth": width}
    mark |= {"strokeDash": DASH} if dashed else {}
    return {"data": {"values": rows}, "mark": mark, "encoding": {"x": x, "y": {"field": "v", **y}}}


def _scale_points(scaling: ScalingRecord, x: Spec, y: Spec) -> list[Spec]:
    rows = [
        {"x": point.hosts, "v": point.iops.value, "lo": point.iops.low, "hi": point.iops.high,
         "s": f"{point.hosts} hosts: {rate(point.iops.value, 'iops')}", "e": units.percent(point.efficiency)}
        for point in scaling.points
        if not point.extrapolated
    ]  # fmt: skip
    data = {"values": rows}
    spread = {"data": data, "mark": {"type": "rule", "strokeWidth": 2, "stroke": INK, "opacity": 0.5},
              "encoding": {"x": x, "y": {"field": "lo", **y}, "y2": {"field": "hi"}}}  # fmt: skip
    points = {"data": data, "mark": {"type": "point", "filled": True, "size": 60, "fill": GOOD, "aria": True},
              "encoding": {"x": x, "y": {"field": "v", **y}, "description": {"field": "s"}}}  # fmt: skip
    texts = {"data": data, "mark": {"type": "text", "align": "left", "dx": 7, "dy": 9, "fill": MUTED},
             "encoding": {"x": x, "y": {"field": "v", **y}, "text": {"field": "e"}}}  # fmt: skip
    return [spread, points, texts]
