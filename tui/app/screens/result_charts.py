"""Result: the charts of the summary and the lines of the tab Telemetry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui.app.screens.result_details import spread_charts
from tui.app.screens.result_page import NARROW, Page, metric_rule
from tui.text.line import Line, beside, labelled, rule
from tui.text.plot import LEAST_HEIGHT
from tui.view.charts import STARTS, ChartMetric, rate_and_latency
from tui.view.host_links import speeds_of
from tui.view.host_load import client_limit, load_table
from tui.view.host_load_chart import load_charts

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
    return [metric_rule(page, title, width, alone=width < LEAST_PAIR), *charts]


def row_charts(page: Page, width: int, height: int) -> list[Line]:
    """Return the charts of the row under the cursor in a suite; empty for other matrices."""
    matrix = page.shown_matrix
    if matrix is None or matrix.table.axes or matrix.cell.step is None or height < LEAST_HEIGHT:
        return []
    metric = METRICS.get(matrix.cell.unit, "iops")
    row = replace(page, inside=True, step=matrix.cell.step, metric=metric)
    found = _charts(row, width, height)
    gap = [Line()] if width >= NARROW else []
    return [*gap, rule(matrix.cell.name, "", width), *found] if found else []


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


def telemetry_lines(page: Page, width: int, height: int) -> list[Line]:
    """Return whether the clients limit the load, their load over time, and a table of the hosts.

    Empty without telemetry. On a narrow screen the first chart is above the table, the others are
    below it.
    """
    step = page.shown_step
    if step is None:
        return []
    thresholds, speeds = page.record.thresholds, speeds_of(page.record.hosts)
    table = load_table(step, "clients", thresholds, width, speeds)
    if not table:
        return []
    mark, *said = client_limit(step, thresholds, speeds, width) or [("", "")]
    lines = labelled([mark], said, width) if said else [Line.of(mark)] if mark[0] else []
    pairs = width >= LEAST_PAIR
    size = ((width - GUTTER) // 2, height) if pairs else (width, LEAST_HEIGHT)
    charts = load_charts(step, thresholds, size, speeds, coloured=page.colors)
    rows = (
        [
            beside(charts[at], charts[at + 1], size[0] + GUTTER) if charts[at + 1 :] else charts[at]
            for at in range(0, len(charts), 2)
        ]
        if pairs
        else charts
    )
    first, *others = rows or [[]]
    lines += [*first, rule("Load on hosts", "mean/maximum during the measurement", width)]
    for line in table:
        short = line.width <= width
        lines += (
            [line]
            if short
            else labelled(line.runs[:-1], [line.runs[-1]], width, None if line.runs[1:] else 2)
        )
    return [*lines, *(line for rows in others for line in (Line(), *rows))]
