"""The history of a run's profile on its target: each run's headline, and lasting changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from tui.analysis.trend import LEAST, Trend, others_of
from tui.metrics import units
from tui.metrics.registry import BY_UNIT
from tui.metrics.units import plural
from tui.model.record import RunRecord
from tui.text.line import LABEL, TEXT
from tui.view.charts import ChartMetric
from tui.view.document import Block, Cell, Chart, DocumentColumn, DocumentTable, Paragraph
from tui.view.report.step_charts import rate_axis
from tui.view.report.vega import INK, MUTED, SERIES, layers
from tui.view.trend import change_word

MOST_CHARTS = 4
MOST_MARKS = 10
# by unit; others have the axis of a rate per second
AXES: dict[str, ChartMetric] = {"bytes_per_s": "bandwidth", "ns": "latency"}


def history_blocks(record: RunRecord, trends: Sequence[Trend], *, drawn: bool) -> Iterator[Block]:
    """Yield the profile's history on the run's target; for a sweep, each point's history.

    `drawn`: with charts of the first few histories.
    """
    for found in trends:
        yield Paragraph(*_change_text(found))
    if trends:
        yield _table(record, trends)
    for found in trends[:MOST_CHARTS] if drawn else ():
        if found.unit in BY_UNIT and len(found.runs) > 1:
            yield _chart(record, found)


def _change_text(found: Trend) -> tuple[str, str]:
    """Return the last change of a history as text, and its role."""
    runs = f"{found.name}: {plural(len(found.runs), 'run')} on this target"
    if not found.changes:
        few = (
            f"; {2 * LEAST} are required to detect a change"
            if len(found.runs) < 2 * LEAST
            else ", no change detected"
        )
        return runs + few, LABEL
    last = found.changes[-1]
    word, role = change_word(found, last)
    since = found.runs[last.at]
    when = f", {since.utc[:10]}" if since.utc else ""
    return (
        f"{runs}: {word} since {since.run_id}{when}: {units.change(last.ratio)} (p {last.p:.3f})",
        role,
    )


def _table(record: RunRecord, trends: Sequence[Trend]) -> DocumentTable:
    """Return a table of the spans between changes: first run, number of runs, median, change."""
    rows: list[list[Cell]] = []
    for found in trends:
        metric, changes = BY_UNIT.get(found.unit), {each.at: each for each in found.changes}
        for begin, end in found.spans:
            middle = median(found.values[begin:end])
            change = changes.get(begin)
            first, ours = (
                found.runs[begin],
                any(run.run_id == record.run_id for run in found.runs[begin:end]),
            )
            change_cell: Cell = (
                ""
                if change is None
                else (f"{units.change(change.ratio)} (p {change.p:.3f})", _role(found, begin))
            )
            shown = metric.with_unit(middle) if metric is not None else f"{middle:g}"
            since = f"{first.run_id} ({first.utc[:10]})" if first.utc else first.run_id
            rows.append(
                [
                    found.name,
                    since,
                    str(end - begin),
                    shown,
                    change_cell,
                    "this run" if ours else "",
                ]
            )
    numbers = [DocumentColumn(title, right=True) for title in ("runs", "median", "change")]
    note = " ".join(
        filter(None, (_left_out(max(each.left_out for each in trends)), _apart(trends)))
    )
    return DocumentTable(
        "History on this target",
        [DocumentColumn("what"), DocumentColumn("from"), *numbers, DocumentColumn("")],
        rows,
        note,
    )


def _left_out(count: int) -> str:
    return f"{plural(count, 'more run')} excluded: incomplete or invalid." if count else ""


def _apart(trends: Sequence[Trend]) -> str:
    """Return, as text, how many runs were left out because they were measured differently."""
    count = sum(each.runs for each in others_of(trends))
    return (
        f"{plural(count, 'more run')} excluded: different parameters, hosts or tools."
        if count
        else ""
    )


def _role(found: Trend, begin: int) -> str:
    change = next((each for each in found.changes if each.at == begin), None)
    return TEXT if change is None else change_word(found, change)[1]


def _chart(record: RunRecord, found: Trend) -> Chart:
    """Return a chart of the headline by run.

    A line shows the median of each span; the point of this run is filled.
    """
    metric = BY_UNIT[found.unit]
    rows: list[dict[str, Any]] = []
    for number, run in enumerate(found.runs, 1):
        ours = run.run_id == record.run_id
        said = (
            f"{run.run_id}: {metric.with_unit(run.headline_value)}{' (this run)' if ours else ''}"
        )
        rows.append({"n": number, "v": run.headline_value, "s": said, "o": ours})
    spans = [{"from": begin + 0.5, "to": end + 0.5, "m": median(found.values[begin:end])}
             for begin, end in found.spans]  # fmt: skip
    y = rate_axis(AXES.get(found.unit, "iops"), max(found.values), metric.title)
    marks = list(range(1, len(rows) + 1, max(1, len(rows) // MOST_MARKS)))
    scale = {"domain": [0.5, len(rows) + 0.5], "nice": False}
    x = {
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": "run", "values": marks, "format": "d"},
    }
    points: dict[str, Any] = {"type": "point", "aria": True, "opacity": 1}
    at = {"x": {"field": "n", **x}, "y": {"field": "v", **y}, "description": {"field": "s"}}
    spec = layers(
        {
            "data": {"values": spans},
            "mark": {"type": "rule", "strokeWidth": 2, "color": MUTED},
            "encoding": {
                "x": {"field": "from", **x},
                "x2": {"field": "to"},
                "y": {"field": "m", **y},
            },
        },
        {
            "transform": [{"filter": "!datum.o"}],
            "mark": {**points, "color": SERIES[0], "size": 40, "filled": True},
            "encoding": at,
        },
        {
            "transform": [{"filter": "datum.o"}],
            "mark": {**points, "color": INK, "size": 130, "filled": True, "shape": "diamond"},
            "encoding": at,
        },
        data={"values": rows},
    )
    said = _change_text(found)[0]
    note = "Lines: medians between changes; diamond: this run."
    return Chart(f"{found.name}: {metric.title} by run", spec, f"{said}. {len(rows)} runs.", note)
