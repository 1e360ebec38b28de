"""Latencies of two sides in one chart: percentile curves, histograms, load curves of searches."""

from __future__ import annotations

from collections.abc import Iterator

from tui.analysis.compare import Comparison
from tui.analysis.measured import points_of
from tui.metrics.registry import MIXED, in_order
from tui.text.line import Line
from tui.text.plot import ROLES
from tui.view.charts import NamedHistogram, histograms, percentile_curves
from tui.view.search_chart import overlay_chart, scaling_overlay

HEIGHT = 18
NAMES = ("A", "B")


def charts(
    found: Comparison, width: int, height: int = HEIGHT, *, coloured: bool = False
) -> Iterator[list[Line]]:
    """Yield the percentile curves and the histogram of each direction at one point.

    The point is the only one, or the first whose headline is better or worse. For searches, yields
    one chart of latency vs. load, or throughput by number of hosts, from each side's first search.
    """
    one, other = found.a[0].search, found.b[0].search
    if found.search is not None and one is not None and other is not None:
        drawn = overlay_chart if one.scaling is None else scaling_overlay
        if chart := drawn(one, other, width, height, coloured=coloured):
            yield chart
        return
    ours, theirs = points_of(found.a), points_of(found.b)
    keys = [key for key in ours if key in theirs]
    changed = {
        point.name
        for point in found.points
        if point.headline and point.headline.word in ("worse", "better")
    }
    key = next((key for key in keys if ours[key].name in changed), keys[0] if keys else None)
    if key is None:
        return
    names = {name for attempt in ours[key].attempts for name in attempt.step.results.aggregate} - {
        MIXED
    }
    for name in in_order(names):
        sides = [side[key].merged(name) for side in (ours, theirs)]
        if all(sides):
            what = f"{ours[key].name} {name}".strip()
            both = [NamedHistogram(*each) for each in zip(NAMES, ROLES, sides, strict=False)]
            yield percentile_curves(what, both, width, height, coloured=coloured)
            yield histograms(what, both, width, height, coloured=coloured)
