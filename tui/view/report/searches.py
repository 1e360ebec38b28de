"""Searches in a report: answer, load curve, throughput by number of hosts; also side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tui.analysis.searches import SearchChange, hosts_columns, search_facts
from tui.metrics import units
from tui.metrics.registry import BY_UNIT, METRICS
from tui.model.search_record import ConfidenceInterval, ScalingRecord, SearchRecord
from tui.record.search_figures import CurvePoint, Trace, rate_unit, same_traces, traces
from tui.text.line import LABEL, Run
from tui.text.search import limit_text, measured_scales, rate
from tui.text.table import Column
from tui.view.charts import value_ticks
from tui.view.document import Block, Cell, Chart, DocumentTable, Facts, Paragraph
from tui.view.document import DocumentColumn as Heading
from tui.view.report.step_charts import rate_axis
from tui.view.report.vega import (
    GOOD,
    INK,
    MUTED,
    SERIES,
    WARN,
    Spec,
    latency_axis,
    layers,
    marked_axis,
)
from tui.view.search import answer_facts, column_notes, point_columns, point_rows, scaling_columns
from tui.view.search_chart import METRIC, capacity_of, model_points

Row = TypeVar("Row")
HEIGHT = 280
DASH = [6, 4]
AIR = 1.15
OPEN = 8.0  # latencies above this multiple of the largest limit do not widen the axis


def sizing_blocks(search: SearchRecord, *, drawn: bool) -> Iterator[Block]:
    """Yield the result of a search: text, tables and, if `drawn`, charts."""
    yield Facts([(name, [text]) for name, text, _ in answer_facts(search)])
    if drawn:
        yield from curve_chart(search)
        yield from scaling_chart(search.scaling) if search.scaling is not None else ()
    if search.scaling is not None and search.scaling.points:
        yield table_of("Throughput by number of hosts", scaling_columns(), search.scaling.points)
    if search.points:
        yield table_of("Points in measuring order", point_columns(search), point_rows(search))
    yield from (Paragraph(text, LABEL) for text in column_notes(search))


def table_of(title: str, columns: Sequence[Column[Row]], rows: Sequence[Row]) -> DocumentTable:
    """Return a report table with the columns of a terminal table."""
    heads = [Heading(column.title, right=column.right) for column in columns]
    cells: list[list[Cell]] = [[_cell(column.runs(row)) for column in columns] for row in rows]
    return DocumentTable(title, heads, cells)


def _cell(runs: Sequence[Run]) -> Cell:
    return ("".join(text for text, _ in runs), runs[0][1]) if runs else ""


# -- latency over rate


def curve_chart(search: SearchRecord) -> Iterator[Chart]:
    """Yield a chart of latency vs. achieved rate; yield nothing without points.

    It shows the limits, the capacity and the knee.
    """
    found = traces(search)
    if not found:
        return
    unit = rate_unit(search)
    rows = [_point(trace, each, unit) for trace in found for each in trace.points]
    limits = {trace.most_ns for trace in found if trace.most_ns}
    highest = max(row["v"] for row in rows)
    high = max([min(highest, max(limits) * OPEN) if limits else highest, *limits]) * AIR
    low = min([row["v"] for row in rows] + list(limits)) / AIR
    x = {
        "field": "x",
        **rate_axis(METRIC[unit], max(row["x"] for row in rows), f"achieved {BY_UNIT[unit].title}"),
    }
    scale = {"type": "log", "domain": [low, high], "nice": False, "clamp": True}
    y = {"type": "quantitative", "scale": scale, "axis": latency_axis(low, high, "latency")}
    names = [trace.name for trace in found]
    color = {"field": "d", "type": "nominal", "sort": names, "legend": {"title": None},
             "scale": {"domain": names, "range": list(SERIES[: len(names)])}}  # fmt: skip
    line = {"mark": {"type": "line", "strokeWidth": 1.7},
            "encoding": {"x": x, "y": {"field": "v", **y}, "order": {"field": "o"},
                "color": color}}  # fmt: skip
    points = {"mark": {"type": "point", "filled": True, "size": 42, "aria": True},
              "encoding": {"x": x, "y": {"field": "v", **y}, "color": color,
                           "description": {"field": "s"}}}  # fmt: skip
    broken = {"transform": [{"filter": "datum.b"}],
              "mark": {"type": "point", "shape": "cross", "angle": 45, "filled": True, "size": 150},
              "encoding": {"x": x, "y": {"field": "v", **y}, "color": {"value": WARN}}}  # fmt: skip
    marks = [*limit_layers(search, found, x, y), *_uprights(search, x, unit)]
    spec = layers(*marks, line, points, broken, data={"values": rows}, height=HEIGHT)
    title = f"Latency vs. {BY_UNIT[unit].title}"
    alt = f"{title}: {'; '.join(row['s'] for row in rows[:24])}"
    yield Chart(title, spec, alt, _reading(search, found))


def _point(trace: Trace, each: CurvePoint, unit: str) -> dict[str, Any]:
    verdict = each.point.verdict if trace.most_ns is not None else ""
    said = f"{trace.name} {units.latency(each.latency_ns)} at {rate(each.rate, unit)}"
    said += f", {verdict}" if verdict else ""
    order = each.point.offered_iops if each.point.offered_iops is not None else 1e18
    return {
        "x": each.rate,
        "v": each.latency_ns,
        "d": trace.name,
        "s": said,
        "o": order,
        "b": verdict == "breaks",
    }


def limit_layers(search: SearchRecord, found: Sequence[Trace], x: Spec, y: Spec) -> list[Spec]:
    """Return the limits on these traces as dashed, labelled lines."""
    drawn = {trace.most_ns for trace in found if trace.most_ns}
    texts = {
        each.most: limit_text(each)
        for each in search.limits
        if each.metric == "latency" and each.most in drawn
    }
    rows = [{"v": most, "t": text, "x": 0.0} for most, text in texts.items()]
    if not rows:
        return []
    rule = {"data": {"values": rows}, "mark": {"type": "rule", "strokeDash": DASH, "stroke": WARN,
        "strokeWidth": 1.5},
            "encoding": {"y": {"field": "v", **y}}}  # fmt: skip
    text = {"data": {"values": rows}, "mark": {"type": "text", "align": "left", "dx": 4, "dy": -7,
        "fill": WARN},
            "encoding": {"x": x, "y": {"field": "v", **y}, "text": {"field": "t"}}}  # fmt: skip
    return [rule, text]


def _uprights(search: SearchRecord, x: Spec, unit: str) -> list[Spec]:
    """Return vertical lines for capacity and knee, with bands for their intervals."""
    found = []
    answer, knee = search.answer, search.knee
    if answer is not None and answer.state == "found" and answer.capacity.value:
        found.append((answer.capacity, "capacity", GOOD))
    if knee is not None and knee.iops.value and search.kind == "curve":
        found.append((knee.iops, "knee", MUTED))
    return [
        layer
        for figure, name, color in found
        for layer in upright(
            figure, f"{name} {rate(figure.value, unit)}", x, color, 12 if name == "capacity" else 26
        )
    ]


def upright(figure: ConfidenceInterval, text: str, x: Spec, color: str, text_y: int) -> list[Spec]:
    """Return the layers of a vertical line: label, and a band if the interval is known."""
    data = {"values": [{"x": figure.value, "lo": figure.low, "hi": figure.high, "t": text}]}
    band = {"data": data, "mark": {"type": "rect", "opacity": 0.13, "fill": color},
            "encoding": {"x": {**x, "field": "lo"}, "x2": {"field": "hi"}}}  # fmt: skip
    rule = {
        "data": data,
        "mark": {"type": "rule", "stroke": color, "strokeDash": DASH},
        "encoding": {"x": x},
    }
    place = {"y": {"value": text_y}, "text": {"field": "t"}}
    said = {"data": data, "mark": {"type": "text", "align": "right", "dx": -5, "fill": color},
            "encoding": {"x": x, **place}}  # fmt: skip
    return [rule, said] if figure.low is None or figure.high is None else [band, rule, said]


def _reading(search: SearchRecord, found: Sequence[Trace]) -> str:
    said = (
        "Each point is a separate load; lines connect the points by offered load, full load last."
    )
    if any(trace.most_ns is not None for trace in found):
        said += " Crosses mark points over the limit (dashed line)."
    return said + (
        " Bands are 95 % intervals." if search.answer is not None or search.knee is not None else ""
    )


# -- throughput over hosts


def scaling_chart(scaling: ScalingRecord) -> Iterator[Chart]:
    """Yield throughput by number of hosts, with linear scaling and the scaling law.

    Extrapolation is dashed. Yields nothing for fewer than two host counts.
    """
    measured = [point for point in scaling.points if not point.extrapolated and point.iops.value]
    if len(measured) < 2:
        return
    last, first = measured[-1].hosts, measured[0]
    most = max(point.hosts for point in scaling.points)
    each_host = (first.iops.value or 0.0) / first.hosts
    model = model_points(scaling)
    top = max(
        [each_host * most]
        + [point.iops.high or point.iops.value or 0.0 for point in scaling.points]
    )
    hosts = sorted({point.hosts for point in scaling.points})
    many = len(hosts) > 12
    axis = (
        marked_axis(value_ticks("iops", float(most), 6), "hosts")
        if many
        else {"values": hosts, "title": "hosts"}
    )
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"domain": [0, most * 1.03], "nice": False},
        "axis": axis,
    }
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
        f"{units.plural(point.hosts, 'host')} {rate(point.iops.value, 'iops')},"
        f" {units.percent(point.efficiency)} of"
        f" linear{' (extrapolated)' if point.extrapolated else ''}"
        for point in scaling.points
    ]
    note = "Grey: linear scaling from the fewest hosts. Dashed: extrapolation of the fitted law."
    yield Chart(
        "IOPS by number of hosts", spec, f"IOPS by number of hosts: {'; '.join(texts)}", note
    )


def _line(
    rows: list[dict[str, float]],
    x: Spec,
    y: Spec,
    color: str,
    width: float,
    *,
    dashed: bool = False,
) -> Spec:
    mark: Spec = {"type": "line", "stroke": color, "strokeWidth": width}
    mark |= {"strokeDash": DASH} if dashed else {}
    return {"data": {"values": rows}, "mark": mark, "encoding": {"x": x, "y": {"field": "v", **y}}}


def _scale_points(scaling: ScalingRecord, x: Spec, y: Spec) -> list[Spec]:
    rows = [
        {"x": point.hosts, "v": point.iops.value, "lo": point.iops.low, "hi": point.iops.high,
         "s": f"{units.plural(point.hosts, 'host')}: {rate(point.iops.value, 'iops')}",
         "e": units.percent(point.efficiency)}
        for point in scaling.points
        if not point.extrapolated
    ]  # fmt: skip
    data = {"values": rows}
    spread = {"data": data, "mark": {"type": "rule", "strokeWidth": 2, "stroke": INK,
        "opacity": 0.5},
              "encoding": {"x": x, "y": {"field": "lo", **y}, "y2": {"field": "hi"}}}  # fmt: skip
    points = {"data": data, "mark": {"type": "point", "filled": True, "size": 60, "fill": GOOD,
        "aria": True},
              "encoding": {"x": x, "y": {"field": "v", **y},
                  "description": {"field": "s"}}}  # fmt: skip
    texts = {"data": data, "mark": {"type": "text", "align": "left", "dx": 7, "dy": 9,
        "fill": MUTED},
             "encoding": {"x": x, "y": {"field": "v", **y}, "text": {"field": "e"}}}  # fmt: skip
    return [spread, points, texts]


ChartRow = dict[str, Any]


def compared_blocks(found: SearchChange, name: str) -> Iterator[Block]:
    """Yield the comparison of a search with the first one, A.

    It has figures with intervals, and throughput at the numbers of hosts that both measured.
    """
    yield Paragraph(f"Capacity, {name} compared with A:", LABEL)
    yield Facts(
        [(each.strip(), ["".join(text for text, _ in runs)]) for each, runs in search_facts(found)]
    )
    if found.hosts:
        yield table_of(
            f"Throughput by number of hosts: A, and {name} as B",
            hosts_columns(),
            found.hosts,
        )


def over_each_other(searches: Mapping[str, SearchRecord]) -> Iterator[Chart]:
    """Yield the searches in one chart, if at least two are of the same kind.

    The chart shows latency vs. load, or throughput by number of hosts.
    """
    grown = {name: each for name, each in searches.items() if each.scaling is not None}
    yield from _growth(grown) if len(grown) > 1 else _curves(searches)


def _curves(searches: Mapping[str, SearchRecord]) -> Iterator[Chart]:
    first = next(iter(searches.values()))
    pairs = {
        name: same_traces(first, each)
        for name, each in searches.items()
        if each.objective == first.objective
    }
    drawn: dict[str, Trace] = {name: pair[1] for name, pair in pairs.items() if pair is not None}
    if len(drawn) < 2:
        return
    unit, trace = rate_unit(first), next(iter(drawn.values()))
    rows: list[ChartRow] = [
        {"x": each.rate, "v": each.latency_ns, "d": name, "o": place,
         "s": f"{name}: {units.latency(each.latency_ns)} at {rate(each.rate, unit)}"}
        for name, curve in drawn.items()
        for place, each in enumerate(curve.points)
    ]  # fmt: skip
    most = [trace.most_ns] if trace.most_ns else []
    low, high = (
        min([row["v"] for row in rows] + most) / AIR,
        max([row["v"] for row in rows] + most) * AIR,
    )
    x = {
        "field": "x",
        **rate_axis(METRIC[unit], max(row["x"] for row in rows), f"achieved {BY_UNIT[unit].title}"),
    }
    scale = {"type": "log", "domain": [low, high], "nice": False, "clamp": True}
    y = {
        "field": "v",
        "type": "quantitative",
        "scale": scale,
        "axis": latency_axis(low, high, "latency"),
    }
    what = f"{trace.direction} {trace.kind} vs. {BY_UNIT[unit].title}"
    marks = _capacities({name: searches[name] for name in drawn}, x)
    note = "Vertical lines: capacities; bands: 95 % intervals." if marks else ""
    more = [*limit_layers(first, [trace], x, y), *marks]
    yield _lines(what, rows, list(drawn), {"x": x, "y": y}, more, note)


def _capacities(searches: Mapping[str, SearchRecord], x: Spec) -> list[Spec]:
    found: list[Spec] = []
    for place, (name, search) in enumerate(searches.items()):
        if search.answer is not None and capacity_of(search) is not None:
            text = f"capacity {name} {rate(search.answer.capacity.value, rate_unit(search))}"
            found += upright(
                search.answer.capacity, text, x, SERIES[place % len(SERIES)], 12 + 14 * place
            )
    return found


def _growth(searches: Mapping[str, SearchRecord]) -> Iterator[Chart]:
    rows: list[ChartRow] = [
        {"x": hosts, "v": point.iops.value, "d": name, "o": hosts,
         "s": (f"{name}: {units.plural(hosts, 'host')} "
               f"{METRICS['iops'].with_unit(point.iops.value)}")}
        for name, search in searches.items() if search.scaling is not None
        for hosts, point in sorted(measured_scales(search.scaling).items()) if point.iops.value
    ]  # fmt: skip
    if not rows:
        return
    hosts = sorted({row["x"] for row in rows})
    axis = {"values": hosts, "title": "hosts"}
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"domain": [0, hosts[-1] * 1.03], "nice": False},
        "axis": axis,
    }
    y = {"field": "v", **rate_axis("iops", max(row["v"] for row in rows))}
    yield _lines("IOPS by number of hosts", rows, list(searches), {"x": x, "y": y}, [])


def _lines(
    what: str,
    rows: list[ChartRow],
    names: list[str],
    axes: Spec,
    more: list[Spec],
    note: str = "",
) -> Chart:
    color = {"field": "d", "type": "nominal", "sort": names, "legend": {"title": None},
             "scale": {"domain": names,
                 "range": [SERIES[at % len(SERIES)] for at in range(len(names))]}}  # fmt: skip
    line = {"mark": {"type": "line", "strokeWidth": 1.7},
            "encoding": {**axes, "order": {"field": "o"}, "color": color}}  # fmt: skip
    points = {"mark": {"type": "point", "filled": True, "size": 42, "aria": True},
              "encoding": {**axes, "color": color,
                  "description": {"field": "s"}}}  # fmt: skip
    title = f"{what}, searches compared"
    alt = f"{title}: {'; '.join(row['s'] for row in rows[:24])}"
    return Chart(
        title, layers(*more, line, points, data={"values": rows}, height=HEIGHT), alt, note
    )
