"""Searches beside each other in a report: what is said of them, their curves or growth with hosts in one chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tui.metrics import units
from tui.metrics.registry import BY_UNIT, METRICS
from tui.model.search_record import SearchRecord
from tui.results.compare.searches import SearchChange, search_facts
from tui.results.compare.searches_beside import hosts_columns
from tui.results.report.charts import rate_axis
from tui.results.report.document import Block, Chart, Facts, Paragraph
from tui.results.report.sizing import AIR, HEIGHT, limit_layers, table_of, upright
from tui.results.report.vega import SERIES, Spec, latency_axis, layers
from tui.results.sizing.curve import Trace, rate_unit, same_traces
from tui.results.sizing.words import measured_scales, rate
from tui.results.text.search_chart import METRIC, capacity_of
from tui.text.line import LABEL

Row = dict[str, Any]


def compared_blocks(found: SearchChange, name: str, first: str) -> Iterator[Block]:
    """Yield what is said of a search against the first one: figures with intervals, the hosts that both have."""
    yield Paragraph(f"What they sustain, {name} against {first}:", LABEL)
    yield Facts([(each.strip(), ["".join(text for text, _ in runs)]) for each, runs in search_facts(found)])
    if found.hosts:
        yield table_of(f"Throughput over hosts: {first} is A, {name} is B", hosts_columns(), found.hosts)


def over_each_other(searches: Mapping[str, SearchRecord]) -> Iterator[Chart]:
    """Yield the searches in one chart: latency over load, or throughput over hosts; nothing without two of a kind."""
    grown = {name: each for name, each in searches.items() if each.scaling is not None}
    yield from _growth(grown) if len(grown) > 1 else _curves(searches)


def _curves(searches: Mapping[str, SearchRecord]) -> Iterator[Chart]:
    first = next(iter(searches.values()))
    pairs = {name: same_traces(first, each) for name, each in searches.items() if each.objective == first.objective}
    drawn: dict[str, Trace] = {name: pair[1] for name, pair in pairs.items() if pair is not None}
    if len(drawn) < 2:
        return
    unit, trace = rate_unit(first), next(iter(drawn.values()))
    rows: list[Row] = [
        {"x": each.rate, "v": each.latency_ns, "d": name, "o": place,
         "s": f"{name}: {units.latency(each.latency_ns)} at {rate(each.rate, unit)}"}
        for name, curve in drawn.items()
        for place, each in enumerate(curve.points)
    ]  # fmt: skip
    most = [trace.most_ns] if trace.most_ns else []
    low, high = min([row["v"] for row in rows] + most) / AIR, max([row["v"] for row in rows] + most) * AIR
    x = {"field": "x", **rate_axis(METRIC[unit], max(row["x"] for row in rows), f"achieved {BY_UNIT[unit].title}")}
    scale = {"type": "log", "domain": [low, high], "nice": False, "clamp": True}
    y = {"field": "v", "type": "quantitative", "scale": scale, "axis": latency_axis(low, high, "latency")}
    what = f"{trace.direction} {trace.kind} over {BY_UNIT[unit].title}"
    marks = _capacities({name: searches[name] for name in drawn}, x)
    note = "Upright lines are the capacities, bands their 95 % intervals." if marks else ""
    yield _lines(what, rows, list(drawn), x, y, [*limit_layers(first, [trace], x, y), *marks], note)


def _capacities(searches: Mapping[str, SearchRecord], x: Spec) -> list[Spec]:
    found: list[Spec] = []
    for place, (name, search) in enumerate(searches.items()):
        if search.answer is not None and capacity_of(search) is not None:
            text = f"capacity {name} {rate(search.answer.capacity.value, rate_unit(search))}"
            found += upright(search.answer.capacity, text, x, SERIES[place % len(SERIES)], 12 + 14 * place)
    return found


def _growth(searches: Mapping[str, SearchRecord]) -> Iterator[Chart]:
    rows: list[Row] = [
        {"x": hosts, "v": point.iops.value, "d": name, "o": hosts,
         "s": f"{name}: {hosts} hosts {METRICS['iops'].with_unit(point.iops.value)}"}
        for name, search in searches.items() if search.scaling is not None
        for hosts, point in sorted(measured_scales(search.scaling).items()) if point.iops.value
    ]  # fmt: skip
    if not rows:
        return
    hosts = sorted({row["x"] for row in rows})
    axis = {"values": hosts, "title": "hosts"}
    x = {"field": "x", "type": "quantitative", "scale": {"domain": [0, hosts[-1] * 1.03], "nice": False}, "axis": axis}
    y = {"field": "v", **rate_axis("iops", max(row["v"] for row in rows))}
    yield _lines("IOPS over hosts", rows, list(searches), x, y, [])


def _lines(what: str, rows: list[Row], names: list[str], x: Spec, y: Spec, more: list[Spec], note: str = "") -> Chart:
    color = {"field": "d", "type": "nominal", "sort": names, "legend": {"title": None},
             "scale": {"domain": names, "range": [SERIES[at % len(SERIES)] for at in range(len(names))]}}  # fmt: skip
    line = {"mark": {"type": "line", "strokeWidth": 1.7},
            "encoding": {"x": x, "y": y, "order": {"field": "o"}, "color": color}}  # fmt: skip
    points = {"mark": {"type": "point", "filled": True, "size": 42, "aria": True},
              "encoding": {"x": x, "y": y, "color": color, "description": {"field": "s"}}}  # fmt: skip
    title = f"{what}, searches over each other"
    alt = f"{title}: {'; '.join(row['s'] for row in rows[:24])}"
    return Chart(title, layers(*more, line, points, data={"values": rows}, height=HEIGHT), alt, note)
