"""Latencies of two sides over each other: percentile curves, and histograms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10

from tui.metrics import figures, units
from tui.metrics.buckets import index_to_value, label
from tui.metrics.histogram import Histogram
from tui.metrics.registry import METRICS, MIXED, in_order
from tui.model.plan import Headline
from tui.results.compare.compare import Comparison
from tui.results.compare.measured import Point, points_of
from tui.text.line import Line
from tui.text.plot import ROLES, Axis, Curve, Ticks, plot

CURVE = (50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999)
MARKED = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
HEIGHT = 18
NAMES = ("A", "B")
CLASSES_A_DECADE = 20
ROUND = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,))  # up to 1, up to 3, and more decades


def charts(found: Comparison, width: int, height: int = HEIGHT, *, coloured: bool = False) -> Iterator[list[Line]]:
    """Yield charts of each direction: of the only point, or of the first whose headline is worse or better."""
    ours, theirs = points_of(found.a), points_of(found.b)
    keys = [key for key in ours if key in theirs]
    told = {point.name for point in found.points if point.headline and point.headline.word in ("worse", "better")}
    key = next((key for key in keys if ours[key].name in told), keys[0] if keys else None)
    if key is None:
        return
    names = {name for attempt in ours[key].attempts for name in attempt.step.results.aggregate} - {MIXED}
    for name in in_order(names):
        sides = [merged(side[key], name) for side in (ours, theirs)]
        if all(sides):
            what = f"{ours[key].name} {name}".strip()
            yield percentile_curves(what, sides, width, height, coloured=coloured)
            yield histograms(what, sides, width, height, coloured=coloured)


def merged(point: Point, name: str) -> Histogram:
    """Return the latencies of all repetitions together; empty where a histogram is not known."""
    found = Histogram()
    for attempt in point.attempts:
        latency = attempt.latency(Headline("latency", name))
        if latency is not None and latency.buckets is not None:
            found.merge(Histogram(dict(zip(latency.buckets.idx, latency.buckets.n, strict=True))))
    return found


def percentile_curves(
    what: str, sides: Sequence[Histogram], width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return latency over percentile, both logarithmic: each mark on the axis is a tenth of the I/Os before."""
    curves = []
    for place, each in enumerate(sides):
        known = [value for value in CURVE if figures.enough_behind(each.total, value)]
        values = each.percentiles(known) if known else {}
        points = [_nines(value) for value in known], [log10(values[label(value)]) for value in known]
        curves.append(Curve([points] if known else [], ROLES[place], NAMES[place]))
    highs = [high for curve in curves for _, ys in curve.parts for high in ys]
    most = max((x for curve in curves for xs, _ in curve.parts for x in xs), default=1.0)
    ticks = Ticks([_nines(value) for value in MARKED if _nines(value) <= most],
                  [f"p{label(value)}" for value in MARKED if _nines(value) <= most])  # fmt: skip
    return plot(f"{what} latency by percentile", curves, Axis(_nines(50.0), most, ticks),
                _latency_axis(highs), width, height, coloured=coloured)  # fmt: skip


def _nines(percentile: float) -> float:
    return -log10(1 - percentile / 100)


def histograms(
    what: str, sides: Sequence[Histogram], width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return the share of I/Os over the logarithm of their latency."""
    shares = [_shares(each) for each in sides]
    low, high = min(min(each) for each in shares), max(max(each) for each in shares)
    curves = []
    for place, each in enumerate(shares):
        classes = range(low - 1, high + 2)
        points = [(at + 0.5) / CLASSES_A_DECADE for at in classes], [each.get(at, 0.0) for at in classes]
        curves.append(Curve([points], ROLES[place], NAMES[place]))
    top = max(max(each.values()) for each in shares)
    marks = Ticks([top * part / 4 for part in range(5)], [units.percent(top * part / 4) for part in range(5)])
    axis = _latency_axis([(low - 1) / CLASSES_A_DECADE, (high + 2) / CLASSES_A_DECADE])
    return plot(f"{what} share of I/Os by latency", curves, axis, Axis(0, top, marks), width, height,
                coloured=coloured)  # fmt: skip


def _shares(found: Histogram) -> dict[int, float]:
    """Return the share of I/Os by class of latency, so many classes a decade."""
    counts: dict[int, int] = {}
    for index, count in found.items():
        at = floor(log10(max(index_to_value(index), 1)) * CLASSES_A_DECADE)
        counts[at] = counts.get(at, 0) + count
    return {at: count / found.total for at, count in counts.items()}


def _latency_axis(logarithms: Sequence[float]) -> Axis:
    low, high = min(logarithms, default=0.0), max(logarithms, default=1.0)
    powers = range(floor(low), ceil(high) + 1)
    steps = ROUND[0 if high - low < 1 else 1 if high - low < 3 else 2]
    found = [log10(step * 10**power) for power in powers for step in steps]
    inside = [each for each in found if low <= each <= high] or [low, high]
    return Axis(low, max(high, low + 0.1), Ticks(inside, [METRICS["latency"].rounded(10**each) for each in inside]))
