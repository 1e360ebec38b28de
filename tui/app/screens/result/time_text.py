"""The tab of what was measured over time: rates, mean and p99 latency of all hosts, and each host beside the others."""

from __future__ import annotations

from tui.app.screens.result.hosts_text import spread_of_hosts
from tui.app.screens.result.page import Page, course
from tui.metrics.registry import METRICS, MIXED
from tui.metrics.registry import direction as direction_of
from tui.model.step_record import SeriesColumns
from tui.results.text.chart import Drawn, chart, unit_of, values_of
from tui.text.line import BAD, LABEL, TEXT, Line, Run, fit, rule, spread

METRIC_KEYS: tuple[tuple[Drawn, str, str], ...] = (
    ("iops", "i", "IOPS"), ("bandwidth", "b", "bandwidth"), ("latency", "l", "latency")
)  # fmt: skip
NAME_WIDTH = 16


def metric_rule(page: Page, title: str, width: int) -> Line:
    """Return a heading with the keys that choose what is drawn."""
    keys: list[Run] = []
    for metric, key, name in METRIC_KEYS:
        role = "value" if metric == page.metric else LABEL
        keys += [("  " if keys else "", TEXT), (key, "accent"), (f" {name}", role)]
    return Line.of(*spread([(title, "title"), (" ", TEXT)], [(" ", TEXT), *keys], width, "─", "faint"))


def time_lines(page: Page, width: int, height: int) -> list[Line]:
    """Return the charts of the shown step one below the other, then a line a host."""
    step = page.shown_step
    if step is None or step.series is None:
        return [Line.of(("nothing is known of this run over time: there are no samples", LABEL))]
    rates: Drawn = "bandwidth" if page.metric == "bandwidth" else "iops"
    order: tuple[Drawn, ...] = ("latency", "p99", rates) if page.metric == "latency" else (rates, "latency", "p99")
    title = "Over time" if len(page.jobs) < 2 else "Over time, all jobs"
    lines = [metric_rule(page, title, width)]
    for drawn in order:
        lines += [*chart(page.record, drawn, width, height, step=step.index, coloured=page.colors), Line()]
    return [*lines, *host_lines(page, width)]


def host_lines(page: Page, width: int) -> list[Line]:
    """Return each host's course as one line, those that lag first; all in one scale."""
    step = page.shown_step
    columns = step.series.columns if step is not None and step.series is not None else []
    found = [column for column in columns if column.host is not None]
    if len({column.host for column in found}) < 2:
        return []
    shown: Drawn = "p99" if page.metric == "latency" else page.metric
    names = [name for name in dict.fromkeys(column.direction for column in found) if direction_of(name).in_total]
    lines: list[Line] = []
    for name in [each for each in names if each != MIXED] or names:
        lines += [*_of_direction(page, [each for each in found if each.direction == name], shown, width), Line()]
    return lines


def _of_direction(page: Page, columns: list[SeriesColumns], shown: Drawn, width: int) -> list[Line]:
    deviation = spread_of_hosts(page)
    metric = METRICS[unit_of(shown)]
    known = [value for column in columns for value in values_of(column, shown) if value is not None]
    top = max(known, default=0.0)
    said = "p99" if shown == "p99" else metric.title
    lines = [rule(f"Each host, {columns[0].direction} {said}", f"0 to {metric.text(top)}", width)]
    order = sorted(columns, key=lambda each: deviation.shares.get(each.host or "") or 0.0)  # the slowest first
    name_width = min(NAME_WIDTH, max(len(column.host or "") for column in columns) + 1)
    for column in order:
        values = values_of(column, shown)
        here = [value for value in values if value is not None]
        span = f" {metric.rounded(min(here))}–{metric.rounded(max(here))}" if here else " no samples"
        late = deviation.lags(column.host or "")
        line = course(values, width - name_width - 18, page.symbols, top, peaks=shown == "p99")
        runs: list[Run] = [(fit(column.host or "", name_width), BAD if late else TEXT), (line, columns[0].direction)]
        lines.append(Line.of(*runs, (span, LABEL)))
    return lines
