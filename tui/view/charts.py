"""Charts of a run as text: values over time, percentile curves, histograms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil, floor, log10, nan
from typing import Literal

from msgspec.structs import replace

from tui.metrics import figures
from tui.metrics.buckets import index_to_value, label
from tui.metrics.histogram import Histogram
from tui.metrics.registry import METRICS
from tui.metrics.units import clock
from tui.model.figure_record import SeriesColumns, SeriesRecord
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.text.line import LABEL, Line
from tui.text.plot import (
    BASE,
    DOWN,
    LEAST_WIDTH,
    ROLES,
    Axis,
    AxisTicks,
    Curve,
    Plot,
    dot_of,
    dots_of,
    known_parts,
    plot_rows,
    row_of,
)

ChartMetric = Literal["iops", "bandwidth", "latency"]
Drawn = Literal["iops", "bandwidth", "latency", "p99"]
Values = Sequence[float | None]

STEADY = 0.6  # of the largest value: if all are above, an axis need not start at 0
STARTS = " (axis starts at "  # in a title
LEAST_SPAN = 0.05  # of the largest value: an axis is not zoomed further
LOG_AIR = 1.05
LEAST_GAP = 2  # rows between ticks of a logarithmic axis
LOW = 6  # rows of a chart whose ticks may be adjacent
FACTORS = (2, 4, 10, 100, 1000, 10**6)  # from tick to tick of a logarithmic axis
LEADS = (1, 2, 5)  # first digits of its first tick
FEW, MANY = 0.4, 6  # cost of two ticks or more than MANY, as a share of the range
SAME = 1e-9
DAY_S = 86400
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, DAY_S)


def chart(
    record: RunRecord,
    metric: Drawn = "iops",
    width: int = 80,
    height: int = 20,
    step: int | None = None,
    *,
    coloured: bool = False,
) -> list[Line]:
    """Return a chart of one step over time, in lines of at most `width` cells.

    `step`: by default the headline's; if it has no samples, the first step with samples is drawn.
    Each direction has its own colour; without `coloured` also its own mark. Returns a one-line
    message if there are no samples.
    """
    found = _plot(record, metric, width, height, step)
    if found is None:
        return [Line.of((f"no {_name(metric)} over time in {record.run_id}", LABEL))]
    return found.lines(width, height, coloured=coloured)


def aligned_charts(
    record: RunRecord,
    metrics: Sequence[Drawn],
    width: int,
    height: int,
    step: int | None = None,
    *,
    coloured: bool = False,
) -> list[list[Line]]:
    """Return charts of one step over time, with their time axes aligned.

    If values differ little, the value axis starts above 0, and the title says so. A metric without
    samples is one line that says so.
    """
    plots = [_plot(record, each, width, height, step, zoomed=True) for each in metrics]
    wide = max((each.label_width(height) for each in plots if each is not None), default=0)
    return [
        chart(record, metric, width, height, step)
        if plot is None
        else plot.lines(width, height, coloured=coloured, label_width=wide)
        for metric, plot in zip(metrics, plots, strict=True)
    ]


def rate_and_latency(
    record: RunRecord,
    rate: Drawn,
    width: int,
    height: int,
    step: int | None = None,
    *,
    coloured: bool = False,
) -> list[list[Line]]:
    """Return charts of a rate and of the latency of one step, with their time axes aligned.

    If the rate varies little, its axis starts above 0, and the title says so. A rate without
    samples is one line that says so, latency without samples is left out.
    """
    first = _plot(record, rate, width, height, step, zoomed=True)
    second = _latency_plot(record, width, height, step)
    wide = max(
        (each.label_width(height) for each in (first, second) if each is not None), default=0
    )
    charts = [
        chart(record, rate, width, height, step)
        if first is None
        else first.lines(width, height, coloured=coloured, label_width=wide)
    ]
    if second is not None:
        charts.append(second.lines(width, height, coloured=coloured, label_width=wide))
    return charts


def _latency_plot(record: RunRecord, width: int, height: int, step: int | None) -> Plot | None:
    """Return the latency of one step over time; None without samples.

    One direction has its mean and p99, several have p99 only.
    """
    found = _step(record, step)
    series = found.series if found is not None else None
    tails = _values_by_direction(series, "p99") if series is not None else {}
    if found is None or series is None or not tails:
        return None
    title = "p99 latency"
    named = [(found.called(name), name, values) for name, values in tails.items()]
    if len(tails) == 1:
        (direction,) = tails
        title = f"{found.called(direction)} latency"
        means = _values_by_direction(series, "latency").get(direction)
        named = [] if means is None else [("mean", direction, means)]
        named.append(("p99", "latency", tails[direction]))
    known = [value for _, _, values in named for value in values if value is not None]
    seconds = max(len(values) for _, _, values in named) * series.step_s
    width, rows = max(width, LEAST_WIDTH), plot_rows(height)
    curves = [
        curve_over_time(name, values, series.step_s, role=role_of(role))
        for name, role, values in named
    ]
    y = value_axis("latency", max(known), rows)
    return Plot(title, curves, time_axis(seconds, width), y)


def _plot(
    record: RunRecord,
    metric: Drawn,
    width: int,
    height: int,
    step: int | None,
    *,
    zoomed: bool = False,
) -> Plot | None:
    """Return a metric of one step over time; None without samples."""
    found = _step(record, step)
    series = found.series if found is not None else None
    values = _values_by_direction(series, metric) if series is not None else {}
    if found is None or series is None or not values:
        return None
    width, rows = max(width, LEAST_WIDTH), plot_rows(height)
    seconds = max(len(each) for each in values.values()) * series.step_s
    known = [value for each in values.values() for value in each if value is not None]
    called = {name: found.called(name) for name in values}
    title, lowest, highest = _title(metric, list(called.values())), min(known), max(known)
    y = value_axis(unit_of(metric), highest, rows)
    if zoomed and lowest > STEADY * highest:
        y = value_axis(unit_of(metric), highest, rows, lowest)
        title += f"{STARTS}{y.ticks.labels[0]})" if y.low else ""
    curves = [
        curve_over_time(
            called[name],
            each,
            series.step_s,
            role=role_of(name),
            filled=len(values) == 1 and not y.low,
        )
        for name, each in values.items()
    ]
    return Plot(title, curves, time_axis(seconds, width), y)


def _values_by_direction(series: SeriesRecord, metric: Drawn) -> dict[str, Values]:
    """Return each direction's per-second values over all hosts; directions without values are left
    out.
    """
    columns = {
        column.direction: values_of(column, metric)
        for column in series.columns
        if column.host is None
    }
    return {
        name: values
        for name, values in columns.items()
        if any(value is not None for value in values)
    }


def _step(record: RunRecord, wanted: int | None) -> StepRecord | None:
    """Return the wanted step, by default the headline's; the first with samples if it has none."""
    if wanted is None and record.headline is not None:
        wanted = record.headline.step
    steps = [step for step in record.steps if step.series is not None]
    return next((step for step in steps if step.index == wanted), steps[0] if steps else None)


def values_of(column: SeriesColumns, metric: Drawn) -> Values:
    """Return a metric's values second by second, for one host or all together."""
    known: dict[Drawn, Values] = {
        "iops": column.iops,
        "bandwidth": column.bw_bytes_per_s,
        "p99": column.p99_ns,
    }
    return known.get(metric, column.lat_mean_ns)


def _name(metric: Drawn) -> str:
    statistic = {"latency": "mean ", "p99": "p99 "}.get(metric, "")
    return statistic + METRICS[unit_of(metric)].title


def unit_of(metric: Drawn) -> ChartMetric:
    """Return the metric that provides the unit and scale of a curve."""
    return "latency" if metric == "p99" else metric


def _title(metric: Drawn, directions: list[str]) -> str:
    return f"{directions[0]} {_name(metric)}" if len(directions) == 1 else _name(metric)


def curve_over_time(
    name: str, values: Values, step_s: float, *, role: str, filled: bool = False
) -> Curve:
    """Return one curve over time, with gaps where values are unknown."""
    parts = []
    for start, part in known_parts(values):
        middles = [(start + offset + 0.5) * step_s for offset in range(len(part))]
        # a single value is a line, too
        times = [start * step_s, *middles, (start + len(part)) * step_s]
        parts.append((times, [part[0], *part, part[-1]]))
    return Curve(parts, role, name, filled)


def role_of(direction: str) -> str:
    """Return the role of a direction's curve."""
    return direction if direction in ROLES else "other"


def value_axis(metric: ChartMetric, highest: float, rows: int, lowest: float = 0.0) -> Axis:
    """Return an axis with round ticks, from 0 or just below `lowest` to just above `highest`."""
    scale, unit = METRICS[metric].scale(highest)
    high, marks = even_marks(highest / scale, rows, lowest / scale)
    labels = [f"{mark:.6g}{unit}" if mark else "0" for mark in marks]
    return Axis(marks[0] * scale, high * scale, AxisTicks([mark * scale for mark in marks], labels))


def log_axis(metric: ChartMetric, lowest: float, highest: float, rows: int) -> Axis:
    """Return a logarithmic axis: positions are powers of ten, labels are values.

    Ticks are equal factors and whole rows apart. The axis is the shortest one; few or many ticks,
    and values beyond the outermost ones, count as extra length.
    """
    size, unit = METRICS[metric].scale(highest) if metric == "bandwidth" else (1.0, "")
    low, high = log10(lowest / size), log10(max(highest, lowest * LOG_AIR) / size)
    least = LEAST_GAP if rows > LOW else 1
    found: dict[float, Axis] = {}
    for factor in FACTORS:
        starts = [floor(low) + at + log10(lead) for at in (-1, 0, 1) for lead in LEADS]
        for start in (each for each in starts if low - log10(factor) < each <= high):
            for apart in range(least, rows):
                axis, marks = _ticked(start, log10(factor), apart, low, rows)
                if axis.high < high or len(marks) < 2 or not all(map(_is_short, marks)):
                    continue
                above = max(0.0, high - marks[-1]) + max(0.0, marks[0] - low)
                cost = (axis.high - axis.low + above) / (high - low)
                cost += (len(marks) == 2) * FEW + (len(marks) > MANY) * FEW
                texts = [
                    f"{10**each:.6g}{unit}" if unit else METRICS[metric].rounded(10**each)
                    for each in marks
                ]
                ticks = AxisTicks([each + log10(size) for each in marks], texts)
                ends = axis.low + log10(size), axis.high + log10(size)
                found.setdefault(cost, Axis(*ends, ticks))
    return found[min(found)]


def _is_short(position: float) -> bool:
    """Return whether the value at a position has at most two digits that are not 0."""
    value: float = 10.0**position
    return abs(float(f"{value:.2g}") / value - 1) < SAME


def _ticked(
    start: float, step: float, apart: int, low: float, rows: int
) -> tuple[Axis, list[float]]:
    """Return the ends of an axis of `rows` rows from `low` or below, and its ticks: `start` and
    others, a `step` and whole rows `apart`.
    """
    below = max(0, ceil((start - low) / step * apart - SAME))
    first = start - below / apart * step
    last = first + dots_of(rows) / DOWN / apart * step
    marks = range(-(below // apart), (rows - 1 - below) // apart + 1)
    return Axis(first, last, AxisTicks([], [])), [start + mark * step for mark in marks]


def limit_axis(limit_ns: float, lowest: float, highest: float, rows: int) -> Axis:
    """Return a logarithmic axis of latencies, with ticks at a limit and equal factors from it."""
    low, high, least = log10(lowest), log10(highest), LEAST_GAP if rows > LOW else 1
    for factor in FACTORS:
        for apart in range(rows, least - 1, -1):
            axis, marks = _ticked(log10(limit_ns), log10(factor), apart, low, rows)
            if axis.high >= high and len(marks) > 1:
                values = [float(f"{10**each:.2g}") for each in marks]
                texts = [METRICS["latency"].rounded(each) for each in values]
                return replace(axis, ticks=AxisTicks(marks, texts))
    return log_axis("latency", lowest, highest, rows)


def with_open_ends(axis: Axis, rows: int, least: float, most: float) -> Axis:
    """Return a logarithmic latency axis, its end rows labelled ``<`` or ``≥`` if values exceed it.

    `least`, `most`: the extreme values, as positions on the axis.
    """
    ticks = dict(zip(axis.ticks.positions, axis.ticks.labels, strict=True))
    at = {row_of(each, axis.low, axis.high, rows): each for each in ticks}
    dot = dot_of(axis, rows)
    for row, sign, edge in (
        (rows - 1, "≥" if most > axis.high else "", (rows - 1) * DOWN - BASE),
        (0, "<" if least < axis.low else "", DOWN - BASE),
    ):
        if sign:
            ticks.pop(at.get(row, nan), None)
            value = axis.low + edge * dot
            beside = {row - 1, row + 1} & at.keys() if rows > LOW else set()
            for each in beside:
                ticks.pop(at[each], None)
            text = METRICS["latency"].rounded(float(f"{10.0**value:.2g}"))
            ticks[axis.low + row * DOWN * dot] = sign + text
    found = sorted(ticks)
    return replace(axis, ticks=AxisTicks(found, [ticks[each] for each in found]))


def even_marks(highest: float, rows: int, lowest: float = 0.0) -> tuple[float, list[float]]:
    """Return the end of an axis, and its ticks: round values, whole rows apart, the last at or
    above `highest`.

    The axis is the shortest one; less round steps, and a single one, count as extra length. The
    first tick is the start of the axis. `rows`: height of the axis in cells.
    """
    closest, most = max(2, -(-rows // MANY)), max(highest, 1e-9)
    span = max(most - lowest, LEAST_SPAN * most)
    found: dict[float, tuple[float, int]] = {}
    for apart in range(closest, min(closest + 4, rows)):
        count = (rows - 1) // apart
        for place, leads in enumerate(EVEN):
            step = _step_between(lowest, most, count, leads)
            cost = step * rows / apart / span + place * LESS_ROUND + (count == 1) * FEW
            found.setdefault(round(cost, 9), (step, apart))
    step, apart = found[min(found)]
    first = floor(lowest / step)
    marks = [step * (first + at) for at in range((rows - 1) // apart + 1)]
    return marks[0] + step * dots_of(rows) / (apart * DOWN), marks


def _step_between(lowest: float, highest: float, count: int, leads: Sequence[float]) -> float:
    """Return the smallest round step for which `count` steps cover `lowest` to `highest`."""
    step = round_step(max(highest - lowest, LEAST_SPAN * highest) / count, leads)
    while step * (floor(lowest / step) + count) < highest * (1 - 1e-9):
        step = round_step(step * 1.01, leads)
    return step


def time_axis(seconds: float, width: int) -> Axis:
    """Return an axis of time with ticks at round times."""
    ticks = time_ticks(seconds, width)
    return Axis(0, seconds, ticks, ticks.positions[1] if len(ticks.positions) > 1 else None)


def value_ticks(metric: ChartMetric, highest: float, count: int, lowest: float = 0.0) -> AxisTicks:
    """Return about `count` round ticks: the first is at or below `lowest`, the last at or above
    `highest`.
    """
    scale, unit = METRICS[metric].scale(highest)
    step = round_step(max(highest - lowest, 1e-9) / scale / count)
    first, last = floor(lowest / scale / step), ceil(max(highest, 1e-9) / scale / step - 1e-9)
    marks = [step * index for index in range(first, last + 1)]
    return AxisTicks(
        [mark * scale for mark in marks], [f"{mark:.6g}{unit}" if mark else "0" for mark in marks]
    )


COARSE = (1, 2, 2.5, 5, 10)
EVEN = (
    (1, 2, 2.5, 3, 4, 5, 10),
    (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10),
    (1, 1.2, 1.25, 1.5, 1.6, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 7.5, 8, 9, 10),
)  # the roundest first
LESS_ROUND = 0.1  # cost of a less round step, as a share of the range of values


def round_step(least: float, leads: Sequence[float] = COARSE) -> float:
    """Return the smallest of `leads` times a power of ten that is at least `least`."""
    power = 10.0 ** floor(log10(least))
    steps = (factor * power for factor in leads)
    return float(f"{next(step for step in steps if step >= least * (1 - 1e-9)):.6g}")


def time_ticks(seconds: float, width: int) -> AxisTicks:
    """Return ticks at round times, far enough apart for their labels."""
    count = max(1, width // 12)
    step = next(
        (each for each in TIME_STEPS if seconds / each <= count),
        ceil(seconds / count / DAY_S) * DAY_S,
    )
    marks = range(0, floor(seconds) + 1, step)
    return AxisTicks([float(mark) for mark in marks], [clock(mark) for mark in marks])


CURVE = (50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999)
MARKED = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
# ends of an axis of changes
CHANGE_REACHES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
CLASSES_A_DECADE = 20
RARE = 0.001  # share of the I/Os beyond each end of a histogram
ROUND = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,))  # ticks of a decade
AXIS, LABEL_GAP = 10, 8  # cells beside the chart, and from tick to tick


@dataclass(frozen=True, slots=True)
class NamedHistogram:
    """The latency histogram behind one curve, with the curve's name and role."""

    name: str
    role: str
    counts: Histogram


def percentile_curves(
    what: str, found: Sequence[NamedHistogram], width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return a chart of latency by percentile, both logarithmic.

    From one tick of the percentile axis to the next, the share of slower I/Os falls to a tenth.
    Percentiles with too few slower I/Os are left out.
    """
    curves = []
    for each in found:
        known = [value for value in CURVE if figures.enough_behind(each.counts.total, value)]
        values = each.counts.percentiles(known) if known else {}
        points = (
            [_nines(value) for value in known],
            [log10(values[label(value)]) for value in known],
        )
        curves.append(Curve([points] if known else [], each.role, each.name))
    highs = [high for curve in curves for _, ys in curve.parts for high in ys]
    most = max((x for curve in curves for xs, _ in curve.parts for x in xs), default=1.0)
    title = f"{what} latency by percentile".strip()
    powers = [10**each for each in highs] or [1.0, 10.0]
    y = log_axis("latency", min(powers), max(powers), plot_rows(height))
    return Plot(title, curves, _percentile_axis(most), y).lines(width, height, coloured=coloured)


def change_by_percentile(
    what: str,
    first: NamedHistogram,
    second: NamedHistogram,
    size: tuple[int, int],
    *,
    coloured: bool = False,
) -> list[Line]:
    """Return a chart of how much slower `second` is than `first`, the zero line, by percentile.

    Percentiles with too few slower I/Os are left out; empty if fewer than two are left. `size`:
    columns and rows.
    """
    least = min(first.counts.total, second.counts.total)
    known = [value for value in CURVE if figures.enough_behind(least, value)]
    if len(known) < 2:
        return []
    ours, theirs = (side.counts.percentiles(known) for side in (first, second))
    xs = [_nines(value) for value in known]
    shares = [theirs[label(each)] / max(ours[label(each)], 1) - 1 for each in known]
    most = max(abs(share) for share in shares)
    reach = next((each for each in CHANGE_REACHES if most <= each), most)
    y = _change_axis(reach, plot_rows(size[1]), shares)
    curves = [
        Curve([(xs, [0.0] * len(xs))], LABEL, first.name, dashed=True),
        Curve([(xs, shares)], second.role, second.name),
    ]
    about = f"{second.name} against {first.name}, below 0 is faster"
    title = f"{what} latency: {about}" if what else about
    return Plot(title, curves, _percentile_axis(xs[-1]), y).lines(*size, coloured=coloured)


def _change_axis(reach: float, rows: int, shares: Sequence[float]) -> Axis:
    """Return an axis of changes with ticks whole rows apart.

    0 is in the middle, or at an end if all `shares` are on one side of it.
    """
    low = -reach if min(shares) < 0 else 0.0
    high = reach if max(shares) > 0 or not low else 0.0
    sides = (high - low) / reach
    most = 2 if rows > 2 * sides * LEAST_GAP else 1  # ticks on each side of 0
    count = round(most * sides)
    step, apart = (high - low) / count, max(1, (rows - 1) // count)
    marks = [low + step * at for at in range(count + 1)]
    labels = [f"{mark * 100:+.3g} %" if abs(mark) > step / 2 else "0" for mark in marks]
    return Axis(low, low + step * dots_of(rows) / DOWN / apart, AxisTicks(marks, labels))


def _percentile_axis(most: float) -> Axis:
    shown = [value for value in MARKED if _nines(value) <= most]
    ticks = AxisTicks([_nines(each) for each in shown], [f"p{label(each)}" for each in shown])
    return Axis(_nines(50.0), most, ticks)


def _nines(percentile: float) -> float:
    return -log10(1 - percentile / 100)


def histograms(
    what: str, found: Sequence[NamedHistogram], width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return a chart of the share of I/Os by latency, on a logarithmic axis."""
    shares = [_shares(each.counts) for each in found]
    ends = [_main_classes(share) for share in shares]
    low, high = min(first for first, _ in ends), max(last for _, last in ends)
    beyond = any(max(share) > high for share in shares)
    curves = []
    for each, share in zip(found, shares, strict=True):
        classes = range(low - 1, high + 2)
        points = (
            [(at + 0.5) / CLASSES_A_DECADE for at in classes],
            [share.get(at, 0.0) for at in classes],
        )
        curves.append(Curve([points], each.role, each.name, filled=len(found) == 1))
    axis = _latency_axis(
        (low - 1) / CLASSES_A_DECADE, (high + 2) / CLASSES_A_DECADE, max(width, LEAST_WIDTH)
    )
    shown = _share_axis(max(max(each.values()) for each in shares), plot_rows(height))
    title = f"{what} I/Os by latency{f', to p{100 - 100 * RARE:g}' if beyond else ''}".strip()
    return Plot(title, curves, axis, shown).lines(width, height, coloured=coloured)


def _main_classes(shares: Mapping[int, float]) -> tuple[int, int]:
    """Return the first and the last latency class without the rarest I/Os at each end."""
    found = sorted(shares)
    sums = list(accumulate(shares[each] for each in found))
    return found[bisect_left(sums, RARE)], found[bisect_left(sums, 1 - RARE)]


def _share_axis(top: float, rows: int) -> Axis:
    """Return an axis of shares from 0 to `top` with round ticks."""
    high, marks = even_marks(top * 100, rows)
    ticks = AxisTicks([mark / 100 for mark in marks], [f"{mark:.6g} %" for mark in marks])
    return Axis(0, high / 100, ticks)


def _shares(found: Histogram) -> dict[int, float]:
    """Return the share of I/Os by latency class; every decade has the same number of classes."""
    counts: dict[int, int] = {}
    for index, count in found.items():
        at = floor(log10(max(index_to_value(index), 1)) * CLASSES_A_DECADE)
        counts[at] = counts.get(at, 0) + count
    return {at: count / found.total for at, count in counts.items()}


def _latency_axis(low: float, high: float, width: int) -> Axis:
    """Return a horizontal axis of latencies: the densest set of ticks whose labels all fit."""
    powers = range(floor(low), ceil(high) + 1)
    sets = [[log10(lead * 10**power) for power in powers for lead in each] for each in ROUND]
    inside = [[each for each in found if low <= each <= high] for found in sets]
    shown = next(
        (
            found
            for found in inside
            if all((b - a) / (high - low) * (width - AXIS) >= LABEL_GAP for a, b in pairwise(found))
        ),
        inside[-1],
    ) or [low, high]
    texts = [METRICS["latency"].rounded(10**each) for each in shown]
    return Axis(low, high, AxisTicks(shown, texts))
