"""Result: the lines of the tab Telemetry."""

from __future__ import annotations

from tui.app.screens.result_page import Page
from tui.text.line import Line, beside, labelled, rule
from tui.text.plot import LEAST_HEIGHT
from tui.view.host_links import speeds_of
from tui.view.host_load import client_limit, load_table
from tui.view.host_load_chart import load_charts

LEAST_PAIR, GUTTER = 100, 3  # width for two charts next to each other, and the gap between them


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
    mark, *said = client_limit(step, thresholds, speeds) or [("", "")]
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
