"""Result: the charts of the summary, next to each other where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui.app.screens.result_details import metric_rule, spread_charts
from tui.app.screens.result_page import Page
from tui.text.line import Line, beside, rule
from tui.view.charts import STARTS, ChartMetric, rate_and_latency

GUTTER = 3  # between two charts
LEAST_PAIR = 100  # width from which two charts are next to each other
LEAST_FOUR = 27  # height from which there are two rows of them
METRICS: dict[str, ChartMetric] = {"bytes_per_s": "bandwidth", "ns": "latency"}  # by unit


def chart_lines(page: Page, width: int, height: int) -> list[Line]:
    """Return the charts of the current step, with their heading.

    Where there is room, the rate and latency are next to each other, with the histogram and the
    percentile curves below them.
    """
    title, charts = "Over time", _charts(page, width, height)
    first = over_time(page, width, height + 1)[:1] if width < LEAST_PAIR else []
    if first and len(first[0]) > 1 and len(first[0][0].runs) == 1:
        # a title without a legend: the heading has it
        what, starts, at = first[0][0].plain.partition(STARTS)
        title, charts = f"{what} over time{starts}{at}", first[0][1:]
    title += "" if page.shown_job is None else ", all jobs"
    return [metric_rule(page, title, width), *charts]


def row_charts(page: Page, width: int, height: int) -> list[Line]:
    """Return the charts of the row under the cursor of a suite; empty for other matrices."""
    matrix = page.shown_matrix
    if matrix is None or matrix.table.axes or matrix.cell.step is None:
        return []
    metric = METRICS.get(matrix.cell.unit, "iops")
    row = replace(page, inside=True, step=matrix.cell.step, metric=metric)
    found = _charts(row, width, height)
    return [Line(), rule(matrix.cell.name, "", width), *found] if found else []


def _charts(page: Page, width: int, height: int) -> list[Line]:
    """Return one chart or, where there is room, two or four."""
    if width < LEAST_PAIR:
        return (over_time(page, width, height) or spread_charts(page, width, height) or [[]])[0]
    half, upper = half_of(width), (height - 1) // 2
    if not (above := over_time(page, half, height)):
        return _row(spread_charts(page, half, height), half)
    if height < LEAST_FOUR or not (below := spread_charts(page, half, height - 1 - upper)):
        return _row(above, half)
    return [*_row(over_time(page, half, upper), half), Line(), *_row(below, half)]


def half_of(width: int) -> int:
    """Return the width of one of two charts next to each other."""
    return (width - GUTTER) // 2


def charts_in_row(page: Page, width: int, height: int) -> list[Line]:
    """Return the rate and the latency over time next to each other; empty without samples."""
    return _row(over_time(page, half_of(width), height), half_of(width))


def _row(charts: Sequence[list[Line]], half: int) -> list[Line]:
    if len(charts) < 2:
        return charts[0] if charts else []
    return beside(charts[0], charts[1], half + GUTTER)


def over_time(page: Page, width: int, height: int) -> list[list[Line]]:
    """Return the rate and the latency over time, the chosen metric first; empty without samples."""
    step, record = page.shown_step, page.record
    if step is None or step.series is None:
        return []
    rate: ChartMetric = "iops" if page.metric == "latency" else page.metric
    charts = rate_and_latency(record, rate, width, height, step=step.index, coloured=page.colors)
    return charts[::-1] if page.metric == "latency" else charts
