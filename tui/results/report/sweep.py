"""Sweeps and metadata benchmarks as charts: the figure over what was swept, with its knee; operations side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2
from typing import Any

from tui.metrics.registry import BY_UNIT
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.results.matrix.render import KNEE, knee_texts, title_of
from tui.results.matrix.scale import scale_of
from tui.results.matrix.table import MatrixTable, main_axis, tables_of
from tui.results.record.cells import Cell, cells_of_record
from tui.results.report.charts import rate_axis
from tui.results.report.document import Chart
from tui.results.report.vega import GOOD, SERIES, WIDTH, Spec, layers
from tui.results.text.matrix_chart import METRICS, Series, is_logarithmic, series_of

MOST_CURVES = 8
ROW_PX = 26


def sweep_charts(record: RunRecord) -> Iterator[Chart]:
    """Yield a chart for each table of the matrix whose figure goes along a numeric axis."""
    tables = tables_of(cells_of_record(record))
    for table in tables:
        axis = main_axis(table.cells, table.axes)
        found = series_of(table, axis) if axis is not None else []
        if axis is not None and found:
            more = len(found) - MOST_CURVES
            yield sweep_chart(table, axis, found[:MOST_CURVES], named=len(tables) > 1, left_out=more)


def sweep_chart(table: MatrixTable, axis: str, found: Sequence[Series], *, named: bool, left_out: int) -> Chart:
    """Return a table of the matrix over one of its axes, a curve for each of the others' values."""
    cells = [cell for each in found for cell in each.cells]
    numbers = sorted({(cell.numbers[axis], cell.texts[axis]) for cell in cells})
    logarithmic = is_logarithmic([number for number, _ in numbers])
    scale = scale_of(cells)

    def row(cell: Cell, name: str) -> dict[str, Any]:
        x = cell.numbers[axis]
        text = f"{cell.name}: {scale.text(cell.value)} {scale.unit}".rstrip()
        low, high = (min(cell.values), max(cell.values)) if len(cell.values) > 1 else (cell.value, cell.value)
        return {
            "x": log2(x) if logarithmic else x,
            "v": cell.value,
            "lo": low,
            "hi": high,
            "d": name,
            "s": text,
            "k": cell.key in table.knee_keys,
        }

    rows = [row(cell, each.name) for each in found for cell in each.cells]
    title = f"{title_of(table, profile=named).rpartition(', ')[0] or title_of(table, profile=named)} over {axis}"
    title = title[0].upper() + title[1:]
    spec = _spec(rows, [(log2(n) if logarithmic else n, text) for n, text in numbers], axis, cells, found)
    knees = knee_texts(table)
    alt = f"{title}: {'; '.join(row['s'] for row in rows[:24])}{'; ' + '; '.join(knees) if knees else ''}"
    note = " ".join(f"{KNEE} {text}." for text in knees[:3])
    note += f" {left_out} more curves are in the table alone." if left_out > 0 else ""
    if any(len(cell.values) > 1 for cell in cells):
        note += " Bars reach from the lowest to the highest repetition."
    return Chart(title, spec, alt, note.strip())


def _spec(
    rows: Sequence[dict[str, Any]],
    numbers: Sequence[tuple[float, str]],
    axis: str,
    cells: Sequence[Cell],
    found: Sequence[Series],
) -> Spec:
    names = [each.name for each in found]
    metric = METRICS[BY_UNIT[cells[0].unit].name]
    highest = max(float(row["hi"] or 0.0) for row in rows)
    y = rate_axis(metric, highest, cells[0].what)
    texts = [text for _, text in numbers]
    places = [place for place, _ in numbers]
    marks = {
        "values": places,
        "labelExpr": f"{texts}[indexof({places}, datum.value)]",
        "title": axis,
        "labelOverlap": "greedy",
    }
    x = {"field": "x", "type": "quantitative", "scale": {"nice": False, "padding": 12, "zero": False}, "axis": marks}
    legend = {"title": None} if any(names) else None
    color = {
        "field": "d",
        "type": "nominal",
        "sort": names,
        "legend": legend,
        "scale": {"domain": names, "range": list(SERIES[: len(names)])},
    }
    spread = {
        "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5},
        "encoding": {"y": {"field": "lo", **y}, "y2": {"field": "hi"}},
    }
    line = {"mark": {"type": "line", "strokeWidth": 1.7}, "encoding": {"y": {"field": "v", **y}}}
    points = {
        "mark": {"type": "point", "filled": True, "size": 34, "aria": True},
        "encoding": {"y": {"field": "v", **y}, "description": {"field": "s"}},
    }
    knee = {
        "transform": [{"filter": "datum.k"}],
        "mark": {"type": "point", "shape": "diamond", "size": 190, "filled": False, "strokeWidth": 2},
        "encoding": {"y": {"field": "v", **y}, "color": {"value": GOOD}},
    }
    return layers(spread, line, points, knee, data={"values": list(rows)}, encoding={"x": x, "color": color})


def operations_chart(step: StepRecord) -> Iterator[Chart]:
    """Yield the operations of a metadata benchmark, each iteration as a point."""
    found = step.metadata.operations if step.metadata is not None else {}
    known = {name: each for name, each in found.items() if each.mean is not None}
    if not known:
        return
    unit = BY_UNIT["ops_per_s"]
    rows: list[dict[str, Any]] = [
        {"o": name, "v": each.mean, "s": f"{name}: {unit.with_unit(each.mean)}"} for name, each in known.items()
    ]
    points = [{"o": name, "v": rate} for name, each in known.items() for rate in each.iterations]
    highest = max(rate for each in known.values() for rate in (each.mean or 0.0, *each.iterations))
    x = {"field": "v", **rate_axis("iops", highest, "operations per second")}
    axis = {"title": None, "ticks": False, "labelLimit": 160}
    y = {"field": "o", "type": "nominal", "sort": list(known), "axis": axis}
    bars = {
        "data": {"values": rows},
        "mark": {"type": "bar", "color": SERIES[0], "aria": True},
        "encoding": {"x": x, "y": y, "description": {"field": "s"}},
    }
    dots = {
        "data": {"values": points},
        "mark": {"type": "tick", "color": "var(--ink)", "thickness": 2},
        "encoding": {"x": x, "y": y},
    }
    spec = {"width": WIDTH, "height": ROW_PX * len(known), "layer": [bars, dots]}
    alt = "operations per second: " + ", ".join(f"{name} {unit.text(each.mean)}" for name, each in known.items())
    yield Chart("Operations side by side", spec, alt, "Marks are the iterations." if points else "")
