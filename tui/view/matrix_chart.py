"""A sweep as text charts: its figure along one axis, one curve per value of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2, log10

from tui.metrics.registry import BY_UNIT
from tui.metrics.units import plural
from tui.record.cells import Cell
from tui.record.matrix import MatrixTable, main_axis, series_over
from tui.text.line import BAD, LABEL, Line, clip
from tui.text.plot import (
    LEAST_HEIGHT,
    LEAST_WIDTH,
    ROLES,
    WRONG,
    Axis,
    AxisTicks,
    Curve,
    Plot,
    plot_rows,
)
from tui.view.charts import ChartMetric, log_axis, value_axis
from tui.view.matrix import series_role, title_of

METRICS: dict[str, ChartMetric] = {
    "iops": "iops",
    "ops": "iops",
    "bandwidth": "bandwidth",
    "latency": "latency",
}
MOST_CURVES = 8
LOG_SPAN = 8.0  # an axis with uneven values over more than this factor is logarithmic
LOW = 0.1  # of the highest value: a curve below it would be drawn along the axis


@dataclass(frozen=True, slots=True)
class SweepCurve:
    """One curve of a sweep: fixed values of the other axes, and cells by ascending value."""

    name: str
    cells: Sequence[Cell]


def table_chart(
    table: MatrixTable, width: int, height: int, *, named: bool = False, coloured: bool = False
) -> list[Line]:
    """Return one table as a chart with a legend; empty if there is nothing to draw.

    Curves differ in colour or, without `coloured`, in their marks. Invalid points are marked.
    """
    axis = main_axis(table.cells, table.axes)
    found = series_of(table, axis) if axis is not None else []
    if axis is None or not found:
        return []
    title = chart_title(table, axis, named=named)
    size = (max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT))
    return [
        *_draw(table, axis, found[:MOST_CURVES], title, size, coloured),
        *_notes(found, width),
    ]


def chart_title(table: MatrixTable, axis: str, *, named: bool) -> str:
    """Return the title of a table's chart, without the unit: ``read bandwidth by numjobs``."""
    title = title_of(table, profile=named)
    return f"{title.rpartition(', ')[0] or title} by {axis}"


def series_of(table: MatrixTable, axis: str) -> list[SweepCurve]:
    """Return the curves over an axis; those with a single point are left out."""
    series = series_over(table.cells, table.axes, axis)
    named = {
        " ".join(f"{name}={text}" for name, text in others): cells
        for others, cells in series.items()
    }
    return [SweepCurve(name, cells) for name, cells in named.items() if len(cells) > 1]


def _notes(series: Sequence[SweepCurve], width: int) -> list[Line]:
    """Return the meaning of the marks, and the number of curves left out."""
    more = len(series) - MOST_CURVES
    lines = [Line.of((f"  {plural(more, 'more curve')} not shown", LABEL))] if more > 0 else []
    if any(cell.invalid for each in series[:MOST_CURVES] for cell in each.cells):
        said = [(f"  {WRONG}", BAD), (" invalid: see findings", LABEL)]
        lines.append(Line.of(*clip(said, width)))
    return lines


def is_logarithmic(values: Sequence[float]) -> bool:
    """Return whether to draw an axis logarithmically: for three or more positive values that are
    powers of two or cover a wide range.
    """
    if min(values) <= 0:
        return False
    doublings = [log2(value) for value in values]
    powers = all(abs(each - round(each)) < 1e-9 for each in doublings)
    return len(values) > 2 and (powers or max(values) / min(values) > LOG_SPAN)


def has_log_figures(series: Sequence[SweepCurve]) -> bool:
    """Return whether to draw figures logarithmically: one curve is far below another."""
    tops = [max(cell.value or 0.0 for cell in each.cells) for each in series]
    return 0 < min(tops) < LOW * max(tops)


def _draw(
    table: MatrixTable,
    axis: str,
    series: Sequence[SweepCurve],
    title: str,
    size: tuple[int, int],
    coloured: bool,
) -> list[Line]:
    width, height = size
    numbers = sorted(
        {(cell.numbers[axis], cell.texts[axis]) for each in series for cell in each.cells}
    )
    logarithmic = is_logarithmic([number for number, _ in numbers])
    places = {number: log2(number) if logarithmic else number for number, _ in numbers}

    figures = [cell.value or 0.0 for each in series for cell in each.cells]
    lowest, highest = min((value for value in figures if value > 0), default=1.0), max(figures)
    is_log = has_log_figures(series)

    def at(value: float) -> float:
        return log10(max(value, lowest)) if is_log else value

    def points(cells: Sequence[Cell]) -> tuple[list[float], list[float]]:
        xs = [places[cell.numbers[axis]] for cell in cells]
        return xs, [at(cell.value or 0.0) for cell in cells]

    def curve(each: SweepCurve, place: int) -> Curve:
        role = ROLES[place % len(ROLES)] if len(series) > 1 else series_role(each.cells[0])
        knees = [cell for cell in each.cells if cell.key in table.knee_keys]
        wrong = [cell for cell in each.cells if cell.invalid]
        return Curve(
            [points(each.cells)], role, each.name, points=points(knees), wrong=points(wrong)
        )

    metric, rows = METRICS[BY_UNIT[series[0].cells[0].unit].name], plot_rows(height)
    up = log_axis(metric, lowest, highest, rows) if is_log else value_axis(metric, highest, rows)
    title += ", log scale" if is_log else ""
    low, high = min(places.values()), max(places.values())
    air = (high - low) * 0.02
    across = Axis(
        low - air,
        high + air,
        axis_ticks([(places[number], text) for number, text in numbers], width),
    )
    curves = [curve(each, place) for place, each in enumerate(series)]
    return Plot(title, curves, across, up).lines(width, height, coloured=coloured)


def axis_ticks(values: Sequence[tuple[float, str]], width: int) -> AxisTicks:
    """Return ticks at ascending values, without those whose labels would touch."""
    return AxisTicks(*map(list, zip(*_apart(values, width), strict=True)))


def _apart(values: Sequence[tuple[float, str]], width: int) -> Iterator[tuple[float, str]]:
    span = (values[-1][0] - values[0][0]) or 1.0
    end = float("-inf")
    for place, text in values:
        column = (place - values[0][0]) / span * (width - 12)
        if column - len(text) / 2 > end:
            yield place, text
            end = column + len(text) / 2 + 1
