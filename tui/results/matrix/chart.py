"""The sweep of a run as charts for terminals: its figure over an axis, one curve a value of the other axes.

Drawn by plotext, as `tui.results.text.chart` is: its figure is one for the whole process, not for several threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from tui.model.record import RunRecord
from tui.results.matrix.cells import Cell, cells_of_record
from tui.results.matrix.format import KNEE, title_of
from tui.results.matrix.table import MatrixTable, main_axis, series_over, tables_of
from tui.results.text.chart import COLORS, LEAST_HEIGHT, LEAST_WIDTH, MARKS, NAMES, ChartMetric, Ticks, value_ticks

METRICS: dict[str, ChartMetric] = {"iops": "iops", "ops_per_s": "iops", "bytes_per_s": "bandwidth", "ns": "latency"}
MOST_CURVES = 8
LOG_SPAN = 8.0  # an axis whose values span more than this factor, unevenly, is drawn logarithmic


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve: the values of the axes that stay the same, and its cells by ascending value of the chart's axis."""

    name: str
    cells: Sequence[Cell]


def matrix_charts(record: RunRecord, width: int = 80, height: int = 20, color: bool = False) -> list[str]:
    """Return a chart for each sweep of a run with at least two points on its axis; none for suites without sweeps."""
    tables = tables_of(cells_of_record(record))
    drawn = (table_chart(table, width, height, color, named=len(tables) > 1) for table in tables)
    return [text for text in drawn if text]


def table_chart(table: MatrixTable, width: int, height: int, color: bool = False, *, named: bool = False) -> str:
    """Return the chart of one table in at most `width` columns; an empty text when there is nothing to draw."""
    text, curves = drawn(table, width, height, color, named=named)
    return "\n".join([text, *legend_lines(curves, width)]) if text else ""


def drawn(
    table: MatrixTable, width: int, height: int, color: bool, *, named: bool = False, marks: bool = True
) -> tuple[str, list[Curve]]:
    """Return a chart without its legend, and its curves in the order of COLORS.

    Curves differ by `marks` as well as by colour; where colours alone tell them apart, fine lines look better.
    """
    axis = main_axis(table.cells, table.axes)
    curves = curves_of(table, axis) if axis is not None else []
    if axis is None or not curves:
        return "", []
    title = f"{title_of(table, profile=named).rpartition(', ')[0] or title_of(table, profile=named)} over {axis}"
    shown = curves[:MOST_CURVES]
    text = _draw(table, axis, shown, title, (max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)), color, marks)
    return text, curves


def curves_of(table: MatrixTable, axis: str) -> list[Curve]:
    """Return the curves over an axis that have two points or more."""
    series = series_over(table.cells, table.axes, axis)
    named = {" ".join(f"{name}={text}" for name, text in others): cells for others, cells in series.items()}
    return [Curve(name, cells) for name, cells in named.items() if len(cells) > 1]


def legend_lines(curves: Sequence[Curve], width: int) -> list[str]:
    """Return which curve is drawn how, wrapped; nothing for one curve without a name."""
    import textwrap

    if not any(curve.name for curve in curves):
        return []
    names = [f"{curve.name} ({NAMES[place % len(NAMES)]})" for place, curve in enumerate(curves[:MOST_CURVES])]
    more = [f"{len(curves) - MOST_CURVES} more are not drawn"] if len(curves) > MOST_CURVES else []
    return textwrap.wrap(", ".join([*names, *more]), max(20, width - 2), initial_indent="  ", subsequent_indent="  ")


def is_logarithmic(values: Sequence[float]) -> bool:
    """Tell whether an axis is better read in doublings: powers of two, or values that span a wide range."""
    if min(values) <= 0:
        return False
    doublings = [log2(value) for value in values]
    powers = all(abs(each - round(each)) < 1e-9 for each in doublings)
    return len(values) > 2 and (powers or max(values) / min(values) > LOG_SPAN)


def _draw(
    table: MatrixTable,
    axis: str,
    curves: Sequence[Curve],
    title: str,
    size: tuple[int, int],
    color: bool,
    marks: bool,
) -> str:
    import plotext

    width, height = size
    numbers = sorted({(cell.numbers[axis], cell.texts[axis]) for curve in curves for cell in curve.cells})
    logarithmic = is_logarithmic([number for number, _ in numbers])
    places = {number: log2(number) if logarithmic else number for number, _ in numbers}
    figure = plotext.figure
    figure.clear()
    figure.theme("simple" if color else "colorless")
    figure.plot_size(width, height)
    figure.title(title)
    figure.legend(False)
    knees = table.knee_keys
    for place, curve in enumerate(curves):
        mark = MARKS[place % len(MARKS)] if marks else MARKS[place // len(COLORS) % len(MARKS)]
        _add_curve(plotext, [(places[cell.numbers[axis]], cell.value or 0.0) for cell in curve.cells], mark, place)
        found = [(places[c.numbers[axis]], c.value or 0.0) for c in curve.cells if c.key in knees]
        if found:
            _add_points(plotext, found, KNEE, COLORS[place % len(COLORS)])
    highest = max(cell.value or 0.0 for curve in curves for cell in curve.cells)
    top = value_ticks(METRICS[curves[0].cells[0].unit], highest, max(2, (height - 4) // 3))
    ruler = figure.ruler("y")
    ruler.lim(0, top.positions[-1])
    ruler.ticks(top.positions, top.labels)
    ticks = axis_ticks([(places[number], text) for number, text in numbers], width)
    low, high = min(places.values()), max(places.values())
    ruler = figure.ruler("x")
    ruler.lim(low - (high - low) * 0.02, high + (high - low) * 0.02)
    ruler.ticks(ticks.positions, ticks.labels)
    lines = figure.build().string(colorless=not color).split("\n")
    figure.clear()
    return "\n".join(line.rstrip() for line in lines).rstrip("\n")


def _add_curve(plotext: Any, points: Sequence[tuple[float, float]], mark: str, place: int) -> None:
    marker = plotext.marker(mark, pixel=COLORS[place % len(COLORS)])
    signal = plotext.figure.signal([x for x, _ in points], [y for _, y in points], marker=marker)
    signal.lines(True)
    plotext.figure.draw(signal)


def _add_points(plotext: Any, points: Sequence[tuple[float, float]], mark: str, color: str) -> None:
    signal = plotext.figure.signal(
        [x for x, _ in points], [y for _, y in points], marker=plotext.marker(mark, pixel=color)
    )
    plotext.figure.draw(signal)


def axis_ticks(values: Sequence[tuple[float, str]], width: int) -> Ticks:
    """Return a mark at every value as people write it; those whose labels would touch are left out."""
    return Ticks(*map(list, zip(*_apart(values, width), strict=True)))


def _apart(values: Sequence[tuple[float, str]], width: int) -> Iterator[tuple[float, str]]:
    span = (values[-1][0] - values[0][0]) or 1.0
    end = float("-inf")
    for place, text in values:
        column = (place - values[0][0]) / span * (width - 12)
        if column - len(text) / 2 > end:
            yield place, text
            end = column + len(text) / 2 + 1

