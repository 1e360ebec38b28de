"""The tab of latencies: every percentile of every direction, what is behind it, histogram and percentile curves."""

from __future__ import annotations

from tui.app.screens.result.page import Page
from tui.app.widgets.graph_panels import KEYS
from tui.metrics import registry, units
from tui.metrics.buckets import PERCENTILES, label
from tui.metrics.figures import Latency, behind, kind_of, latency_of, shown_percentile
from tui.metrics.histogram import Histogram
from tui.metrics.registry import MIXED
from tui.results.text.latency_chart import Counted, histograms, percentile_curves
from tui.results.text.remarks import bucket_texts
from tui.text.line import LABEL, TEXT, VALUE, Line, Run, beside, fit, labelled, rule

CELL, BEHIND = 11, 13
GUTTER, LEAST_BESIDE = 3, 38  # between table and charts; cells that charts beside the table have
KINDS = ("clat", "slat", "lat")


def latency_lines(page: Page, width: int, height: int) -> list[Line]:
    """Return percentiles as a table, and histogram and curves over each other: beside it where there is room."""
    step = page.shown_step
    if step is None or not page.all_hosts:
        return [Line.of(("no latencies of single I/Os were measured here", LABEL))]
    kind = page.record.latency_kind_of(step)
    found: dict[str, Latency] = {}
    for name in registry.in_order(page.all_hosts):
        latency = latency_of(page.all_hosts[name], name, kind)
        if latency is not None and latency.n:
            found[name] = latency
    if not found:
        return [Line.of(("no latencies were counted here", LABEL))]
    who = page.shown_job or ("all hosts" if len(step.results.per_host) > 1 else "one host")
    lines = [rule(f"Percentiles, {who}", f"{kind}, of all I/Os together: nothing is averaged", width)]
    table = _table(found, kind, width)
    counted = [
        Counted(name, KEYS.get(name, "other"), Histogram.from_buckets(each.buckets))
        for name, each in found.items()
        if each.buckets is not None and name != MIXED
    ]
    table += [Line.of((text, LABEL)) for text in bucket_texts(found)]
    if not counted:
        said = "no histogram is kept: percentiles are as the load generator printed them"
        return [*lines, *table, Line(), *labelled([], [(said, LABEL)], width)]
    at = max(line.width for line in table) + GUTTER
    if width - at < LEAST_BESIDE:
        return [*lines, *table, Line(), *_charts(counted, width, height, coloured=page.colors)]
    even = (len(table) - 1) // 2  # two charts and the line between them end with the table
    height = even if height == even + 1 else height
    return [*lines, *beside(table, _charts(counted, width - at, height, coloured=page.colors), at)]


def _charts(counted: list[Counted], width: int, height: int, *, coloured: bool) -> list[Line]:
    """Return histogram and percentile curves of all directions."""
    what = counted[0].name if len(counted) == 1 else ""
    curves = percentile_curves(what, counted, width, height, coloured=coloured)
    return [*histograms(what, counted, width, height, coloured=coloured), Line(), *curves]


def _table(found: dict[str, Latency], kind: str, width: int) -> list[Line]:
    wide = width >= 12 + len(found) * (CELL + BEHIND)
    shown = list(found) if wide or 12 + len(found) * CELL <= width else list(found)[: (width - 12) // CELL]
    head: list[Run] = [(fit("", 10), LABEL)]
    for name in shown:
        title = name if kind_of(name, kind) == kind else f"{name} ({kind_of(name, kind)})"
        head.append((fit(title, CELL, right=True), KEYS.get(name, TEXT)))
        head += [(fit("I/Os behind", BEHIND, right=True), LABEL)] if wide else []
    lines = [Line.of(*head)]
    for title, of in (("I/Os", _count), ("min", _least), ("mean", _mean), ("deviation", _deviation)):
        lines.append(_line(title, [of(found[name]) for name in shown], wide=wide, role=LABEL))
    known = sorted({*PERCENTILES, *(float(each) for name in shown for each in found[name].percentiles_ns)})
    for value in known:
        cells = [units.latency(shown_percentile(found[name], value)) for name in shown]
        tails = [f"{behind(found[name].n, value):,.0f}" for name in shown]
        lines.append(_line(f"p{label(value)}", cells, wide=wide, tails=tails, role=VALUE))
    return [*lines, _line("max", [units.latency(found[name].max_ns) for name in shown], wide=wide, role=VALUE)]


def _line(title: str, cells: list[str], *, wide: bool, role: str, tails: list[str] | None = None) -> Line:
    runs: list[Run] = [(fit(title, 10), LABEL)]
    for place, cell in enumerate(cells):
        runs.append((fit(cell, CELL, right=True), role))
        runs += [(fit(tails[place] if tails else "", BEHIND, right=True), LABEL)] if wide else []
    return Line.of(*runs)


def _count(latency: Latency) -> str:
    return f"{latency.n:,}" if latency.n < 10**9 else units.count(latency.n)


def _least(latency: Latency) -> str:
    return units.latency(latency.min_ns)


def _mean(latency: Latency) -> str:
    return units.latency(latency.mean_ns)


def _deviation(latency: Latency) -> str:
    return units.latency(latency.stddev_ns)
