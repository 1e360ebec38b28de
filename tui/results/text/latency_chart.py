"""Latencies as charts: percentile curves, and histograms, of one thing or of several over each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from tui.metrics import figures
from tui.metrics.buckets import index_to_value, label
from tui.metrics.histogram import Histogram
from tui.metrics.registry import METRICS
from tui.results.text.chart import even_marks
from tui.text.line import Line
from tui.text.plot import Axis, Curve, Ticks, plot, plot_rows

CURVE = (50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999)
MARKED = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
CLASSES_A_DECADE = 20
ROUND = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,))  # up to 1, up to 3, and more decades


@dataclass(frozen=True, slots=True)
class Counted:
    """The latencies of one curve: what it is called, how it is drawn, what was counted."""

    name: str
    role: str
    counts: Histogram


def percentile_curves(
    what: str, found: Sequence[Counted], width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return latency over percentile, both logarithmic: each mark on the axis is a tenth of the I/Os before."""
    curves = []
    for each in found:
        known = [value for value in CURVE if figures.enough_behind(each.counts.total, value)]
        values = each.counts.percentiles(known) if known else {}
        points = [_nines(value) for value in known], [log10(values[label(value)]) for value in known]
        curves.append(Curve([points] if known else [], each.role, each.name))
    highs = [high for curve in curves for _, ys in curve.parts for high in ys]
    most = max((x for curve in curves for xs, _ in curve.parts for x in xs), default=1.0)
    ticks = Ticks([_nines(value) for value in MARKED if _nines(value) <= most],
                  [f"p{label(value)}" for value in MARKED if _nines(value) <= most])  # fmt: skip
    return plot(f"{what} latency by percentile".strip(), curves, Axis(_nines(50.0), most, ticks),
                _latency_axis(highs), width, height, coloured=coloured)  # fmt: skip


def _nines(percentile: float) -> float:
    return -log10(1 - percentile / 100)


def histograms(what: str, found: Sequence[Counted], width: int, height: int, *, coloured: bool = False) -> list[Line]:
    """Return the share of I/Os over the logarithm of their latency."""
    shares = [_shares(each.counts) for each in found]
    low, high = min(min(each) for each in shares), max(max(each) for each in shares)
    curves = []
    for each, share in zip(found, shares, strict=True):
        classes = range(low - 1, high + 2)
        points = [(at + 0.5) / CLASSES_A_DECADE for at in classes], [share.get(at, 0.0) for at in classes]
        curves.append(Curve([points], each.role, each.name, filled=len(found) == 1))
    axis = _latency_axis([(low - 1) / CLASSES_A_DECADE, (high + 2) / CLASSES_A_DECADE])
    shown = _share_axis(max(max(each.values()) for each in shares), plot_rows(height))
    return plot(f"{what} share of I/Os by latency".strip(), curves, axis, shown, width, height, coloured=coloured)


def _share_axis(top: float, rows: int) -> Axis:
    """Return an axis of shares with round marks."""
    high, marks = even_marks(top * 100, rows)
    return Axis(0, high / 100, Ticks([mark / 100 for mark in marks], [f"{mark:.6g} %" for mark in marks]))


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
