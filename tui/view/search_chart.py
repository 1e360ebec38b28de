"""Charts of a search as text: load curve, and scaling by number of hosts."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from msgspec.structs import replace

from tui.metrics.registry import BY_UNIT
from tui.model.search_record import ScalingRecord, SearchRecord
from tui.record.search_figures import PointNow, Trace, main_of, rate_unit, same_traces, traces
from tui.text.line import BAD, BRIGHT, GOOD, WARN, Line
from tui.text.plot import (
    LEAST_HEIGHT,
    LEAST_WIDTH,
    POINT,
    ROLES,
    SIDES,
    WRONG,
    Axis,
    AxisTicks,
    Curve,
    Plot,
    plot_rows,
)
from tui.text.search import limit_text, measured_scales
from tui.view.charts import (
    ChartMetric,
    limit_axis,
    log_axis,
    value_axis,
    value_ticks,
    with_open_ends,
)

METRIC: dict[str, ChartMetric] = {"iops": "iops", "bytes_per_s": "bandwidth"}
AIR = 1.05
# octaves per row: latencies further from the limits are drawn at the edge, so that those on either
# side of a limit are apart
OPEN = 0.4
CLEAR_ROWS = 12  # minimum rows to draw curves without a limit too
FAR = 0.4  # of the highest rate: if the lowest is above this, the axis does not begin at 0
WEAK = "*55"  # strength of curves without a limit, beside the one that has it
NOW = "latency"  # a colour not used by the first three curves
UNCLEAR, HERE = "?", "●"  # points that neither meet nor break a limit, the current point


def curve_chart(
    search: SearchRecord,
    width: int,
    height: int,
    *,
    coloured: bool = False,
    now: float | None = None,
    reached: PointNow | None = None,
) -> list[Line]:
    """Return the load curve: latency vs. achieved rate; empty without points.

    It shows the limits, the capacity and the knee. `now`: offered rate of the current point in I/Os
    per second; `reached`: its figures so far.
    """
    found = traces(search)
    if not found:
        return []
    width, height = max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)
    limited = [trace for trace in found if trace.most_ns is not None]
    if limited and plot_rows(height) < CLEAR_ROWS:
        found = limited  # in few rows curves hide each other
    y = _latency_axis(found, plot_rows(height))
    x = _rate_axis(search, found, width)
    named = next((f"{trace.direction} " for trace in found if not trace.named), "")
    title = f"{named}latency vs. {BY_UNIT[rate_unit(search)].title}"
    if len(found) == 1:
        title = title.replace("latency", found[0].name, 1)
    main = main_of(found)
    mark = []
    if main is not None and reached is not None:
        mark = _reached(search, main, reached, x, y)
    curves = [
        *_limits(search, found, x, y),
        *_uprights(search, x, y, now if not mark else None),
    ]
    has_limit = any(trace.most_ns is not None for trace in found)
    for place, trace in enumerate(found):
        curve = _curve(trace, place, y, marked=trace is main)
        curve = replace(curve, name="") if len(found) == 1 else curve
        weak = has_limit and trace.most_ns is None
        curves.append(replace(curve, role=curve.role + WEAK) if weak else curve)
    unclear = [each for trace in found if trace.most_ns is not None for each in _unclear(trace, y)]
    curves += [*unclear, *mark]
    judged = search.limits and search.points
    marks = [(f"{POINT} meets", GOOD), (f"{WRONG} breaks", BAD)] if judged else []
    marks += [(f"{UNCLEAR} unclear", WARN)] if unclear else []
    marks += [(f"{HERE} now", NOW)] if mark else []
    return Plot(title, curves, x, y, marks).lines(width, height, coloured=coloured)


def overlay_chart(
    a: SearchRecord, b: SearchRecord, width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return the load curves of two searches in one chart, with their capacities.

    Empty unless both have a curve.
    """
    pair = same_traces(a, b)
    if pair is None:
        return []
    width, height = max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)
    y, x = _latency_axis(pair, plot_rows(height)), _rate_axis(a, pair, width)
    curves = _limits(a, pair[:1], x, y)
    for place, (name, search, trace) in enumerate(zip("AB", (a, b), pair, strict=True)):
        if (most := capacity_of(search)) is not None and most <= x.high:
            upright = Curve(
                [([most, most], [y.low, y.high])], SIDES[place], f"capacity {name}", dashed=True
            )
            curves.append(replace(upright, mark="|:"[place]))
        curve = _curve(trace, place, y, marked=True)
        curves.append(replace(curve, name=name, role=SIDES[place], mark="•+"[place]))
        curves += _unclear(trace, y)
    title = f"{pair[0].direction} {pair[0].kind} vs. {BY_UNIT[rate_unit(a)].title}"
    return Plot(title, curves, x, y).lines(width, height, coloured=coloured)


def capacity_of(search: SearchRecord) -> float | None:
    """Return the capacity that a search found; None if it found none."""
    answer = search.answer
    found = answer is not None and answer.state == "found"
    return answer.capacity.value or None if answer is not None and found else None


def _curve(trace: Trace, place: int, y: Axis, *, marked: bool) -> Curve:
    """Return a trace as a curve.

    Its points are marked by their verdict; with `marked`, also without a limit.
    """

    def at(*verdicts: str) -> tuple[list[float], list[float]]:
        kept = [each for each in trace.points if not verdicts or each.point.verdict in verdicts]
        return [each.rate for each in kept], [_at(y, each.latency_ns) for each in kept]

    whole = at()
    curve = Curve([whole], ROLES[place % len(ROLES)], trace.name, mark="•+%="[place % 4])
    if trace.most_ns is not None:
        limit = _at(y, trace.most_ns)
        (xs, meets), (wrong_xs, breaks) = at("meets"), at("breaks")
        return replace(
            curve,
            # never on the other side of the limit: one in its row is as close to it as that
            points=(xs, [min(each, limit) for each in meets]),
            wrong=(wrong_xs, [max(each, limit) for each in breaks]),
        )
    return replace(curve, plain=whole) if marked else curve


def _unclear(trace: Trace, y: Axis) -> list[Curve]:
    """Return, as a list of marks, the points of a trace that neither meet nor break its limit."""
    kept = [each for each in trace.points if each.point.verdict == "unclear"]
    places = [each.rate for each in kept], [_at(y, each.latency_ns) for each in kept]
    return [Curve([], WARN, plain=places, sign=UNCLEAR)] if kept else []


def _reached(search: SearchRecord, main: Trace, now: PointNow, x: Axis, y: Axis) -> list[Curve]:
    """Return the current point so far as a mark; empty if it has no latency for this curve."""
    rate = now.bw_bytes_per_s if search.objective == "bandwidth" else now.iops
    rate = min(max(rate, x.low), x.high)
    found = [each.value_ns for each in now.latencies if each.name == main.name]
    places = [_at(y, value) for value in found[:1]]
    return [Curve([], NOW, plain=([rate], [each]), sign=HERE) for each in places]


def _limits(search: SearchRecord, found: Sequence[Trace], x: Axis, y: Axis) -> list[Curve]:
    """Return each limit as a line, if it is within the chart."""
    drawn = {trace.most_ns for trace in found if trace.most_ns is not None}
    texts = {
        each.most: limit_text(each)
        for each in search.limits
        if each.most in drawn and each.metric == "latency"
    }
    return [
        Curve([([x.low, x.high], [_at(y, most)] * 2)], BAD, text, dashed=True, mark="-")
        for most, text in texts.items()
        if most is not None
    ]


def _uprights(search: SearchRecord, x: Axis, y: Axis, now: float | None) -> list[Curve]:
    """Return capacity, knee and offered rate as vertical lines."""
    found = []
    knee = search.knee
    if (most := capacity_of(search)) is not None:
        found.append(("capacity", most, BRIGHT, "|"))
    if knee is not None and knee.iops.value and search.kind == "curve":
        found.append(("knee", knee.iops.value, NOW, ":"))
    if now is not None and rate_unit(search) == "iops":
        found.append(("now", now, NOW, "!"))
    return [
        Curve([([at, at], [y.low, y.high])], role, name, dashed=True, mark=mark)
        for name, at, role, mark in found
        if x.low <= at <= x.high
    ]


def _latency_axis(found: Sequence[Trace], rows: int) -> Axis:
    """Return a logarithmic axis of latencies.

    Latencies far from all limits do not extend it: they are drawn at its ends, whose labels say so.
    """
    values = [
        each.latency_ns for trace in found for each in trace.points if each.latency_ns > 0
    ] or [1e6]
    limits = [trace.most_ns for trace in found if trace.most_ns]
    least, most, reach = min(values), max(values), 2.0 ** (OPEN * rows)
    if not limits:
        return log_axis("latency", least, most, rows)
    least = max(min(least, *limits), min(limits) / reach)
    most = min(max(most, *limits), max(limits) * reach)
    one = len(set(limits)) == 1
    axis = (
        limit_axis(limits[0], least, most, rows) if one else log_axis("latency", least, most, rows)
    )
    return with_open_ends(axis, rows, log10(min(values)), log10(max(values)))


def _at(y: Axis, latency_ns: float) -> float:
    return min(max(log10(max(latency_ns, 1.0)), y.low), y.high)


def _rate_axis(search: SearchRecord, found: Sequence[Trace], width: int) -> Axis:
    """Return an axis of rates: from 0 or, if all points are far from it, from the lowest one."""
    rates = [each.rate for trace in found for each in trace.points]
    lowest, highest = min(rates), max(rates)
    far = FAR * highest < lowest < highest
    metric = METRIC[rate_unit(search)]
    low = lowest - (highest - lowest) * (AIR - 1) if far else 0.0
    ticks = value_ticks(metric, highest, max(2, width // 12), low)
    return Axis(low, highest * AIR, ticks)


def scaling_chart(
    scaling: ScalingRecord, width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return throughput by number of hosts: measured, linear scaling, scaling law.

    The law's extrapolation is dashed. Empty for a single host count.
    """
    known = _measured(scaling)
    if len(known) < 2:
        return []
    width, height = max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)
    model, last = model_points(scaling), known[-1][0]
    most = max(point.hosts for point in scaling.points)
    each_host = known[0][1] / known[0][0]
    highest = max([rate for _, rate in (*known, *model)])
    top = min(each_host * most, highest * 1.5)
    inside = [point for point in model if point[0] <= last]
    beyond = [point for point in model if point[0] >= last]
    curves = [
        Curve([([0.0, top / each_host], [0.0, top])], "other", "linear", mark="/"),
        Curve([_columns(inside)] if inside else [], "read", "model" if inside else "", mark="•"),
        Curve([_columns(beyond)] if len(beyond) > 1 else [], "latency",
            "extrapolated" if len(beyond) > 1 else "",
              dashed=True, mark="-"),
        Curve([], GOOD, points=_columns(known)),
    ]  # fmt: skip
    x = Axis(0, most * AIR, _host_ticks([point.hosts for point in scaling.points], width))
    y = value_axis("iops", top, plot_rows(height))
    return Plot("IOPS by number of hosts", curves, x, y).lines(width, height, coloured=coloured)


def scaling_overlay(
    a: SearchRecord, b: SearchRecord, width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return the throughput of two searches by number of hosts, with linear scaling from A. Empty
    unless both measured it, one of them at several host counts.
    """
    pair = [_measured(search.scaling) if search.scaling is not None else [] for search in (a, b)]
    if not all(pair) or max(map(len, pair)) < 2:
        return []
    width, height = max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)
    hosts = sorted({count for side in pair for count, _ in side})
    each_host = pair[0][0][1] / pair[0][0][0]
    top = min(each_host * hosts[-1], max(rate for side in pair for _, rate in side) * 1.5)
    curves = [Curve([([0.0, top / each_host], [0.0, top])], "other", "linear from A", mark="/")]
    curves += [
        Curve([_columns(side)], SIDES[place], name, points=_columns(side), mark="•+"[place])
        for place, (name, side) in enumerate(zip("AB", pair, strict=True))
    ]
    x = Axis(0, hosts[-1] * AIR, _host_ticks([round(each) for each in hosts], width))
    y = value_axis("iops", top, plot_rows(height))
    return Plot("IOPS by number of hosts", curves, x, y).lines(width, height, coloured=coloured)


def _measured(scaling: ScalingRecord) -> list[tuple[float, float]]:
    """Return the measured throughput by number of hosts, ascending."""
    found = measured_scales(scaling)
    return [(float(hosts), rate) for hosts in sorted(found) if (rate := found[hosts].iops.value)]


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


MODEL_PLACES = 48  # of the law's curve


def model_points(scaling: ScalingRecord) -> list[tuple[float, float]]:
    """Return the scaling law's throughput from one host to the largest number of hosts; empty
    without a law.
    """
    if (
        scaling.rate is None
        or scaling.contention is None
        or scaling.coherence is None
        or scaling.rate.value is None
    ):
        return []
    most = max((point.hosts for point in scaling.points), default=1)
    rate, sigma, kappa = (
        scaling.rate.value,
        scaling.contention.value or 0.0,
        scaling.coherence.value or 0.0,
    )
    hosts = [1 + (most - 1) * place / MODEL_PLACES for place in range(MODEL_PLACES + 1)]
    return [(n, rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))) for n in hosts]


def _host_ticks(hosts: Sequence[int], width: int) -> AxisTicks:
    kept: list[int] = []
    for count in sorted(set(hosts)):
        if not kept or (count - kept[-1]) / max(hosts) * (width - 10) > 4:
            kept.append(count)
    return AxisTicks([float(count) for count in kept], [str(count) for count in kept])
