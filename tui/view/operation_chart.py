"""Operations of a finished metadata benchmark as charts: their ranges on one logarithmic scale, and
each iteration relative to the operation's best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log

from msgspec import Struct

from tui.metrics import units
from tui.metrics.registry import Metric, metric_of_operation
from tui.model.step_record import MetadataRecord, OperationRecord
from tui.text.line import FAINT, LABEL, TEXT, VALUE, Line, Run, beside, fit, rule, width_of
from tui.text.sparkline import Symbols
from tui.view.operation_tables import name_width
from tui.view.operations import colour_of

GUTTER = 3
CLOSE = 1e-9  # relative error of a logarithm
LEAST_AXIS = 24  # cells of a scale
LEAST_PAIR = 150  # width from which the two charts are next to each other
DECIMAL, BETWEEN = 10, (1, 2, 5)  # labels of a decade that is wide enough
SAID = 20  # cells of the figure beside the bar of an iteration
BARS: Mapping[Symbols, tuple[str, str, str]] = {  # grid, range, mean
    "braille": ("·", "━", "●"),
    "block": ("·", "━", "●"),
    "ascii": (".", "=", "o"),
}
Operations = Mapping[str, OperationRecord]


class RateScale(Struct, frozen=True):
    """A logarithmic scale: its labelled values in ascending order, and the cells it covers."""

    ticks: Sequence[float]
    cells: int

    def cell(self, rate: float) -> int:
        """Return the cell of a rate."""
        share = log(rate / self.ticks[0]) / log(self.ticks[-1] / self.ticks[0])
        return max(0, min(self.cells - 1, round(share * (self.cells - 1))))


def operation_charts(
    metadata: MetadataRecord, width: int, height: int, symbols: Symbols
) -> list[Line]:
    """Return the charts of a benchmark's operations, in at most `height` lines.

    Ranges come first; the iterations are next to them where there is room. Operations that move
    data have a scale of their own. Empty if there is no room.
    """
    lines: list[Line] = []
    for moving in (False, True):
        found = {
            name: each
            for name, each in metadata.operations.items()
            if bool(each.bytes_per_op) == moving and each.mean and min(_span(each)) > 0
        }
        room = height - len(lines) - (1 if lines else 0)
        drawn = _charts(found, metadata, width, room, symbols) if found else []
        lines += [*([Line()] if lines and drawn else []), *drawn]
    return lines


def _charts(
    found: Operations, metadata: MetadataRecord, width: int, height: int, symbols: Symbols
) -> list[Line]:
    wide = name_width(metadata) + 1
    each = (height - 2) // len(found)
    if each < 1:
        return []
    most = max(len(each.iterations) for each in found.values())
    pair = width >= LEAST_PAIR and 1 < most < each
    half = (width - GUTTER) // 2 if pair else width
    rows = most + 1 if pair else 1 + (each > 1)
    ranges = _ranges(found, half, rows, wide, symbols)
    if not pair or not ranges:
        return ranges
    lines = _iterations(found, width - half - GUTTER, wide, symbols)
    return beside(ranges, lines, half + GUTTER)


def _span(each: OperationRecord) -> tuple[float, float]:
    """Return the lowest and the highest rate of the summary, bytes per second if it moves data."""
    known = [value for value in (each.min, each.mean, each.max) if value is not None] or [0.0]
    return min(known) * (each.bytes_per_op or 1), max(known) * (each.bytes_per_op or 1)


def _ranges(found: Operations, width: int, rows: int, wide: int, symbols: Symbols) -> list[Line]:
    """Return each operation's range from min to max, with its mean, `rows` lines each."""
    metric = metric_of_operation(next(iter(found.values())).bytes_per_op)
    ends = [end for each in found.values() for end in _span(each)]
    if width - wide < LEAST_AXIS:
        return []
    scale = RateScale(_ticks(min(ends), max(ends), metric, width - wide), width - wide)
    ticks = {scale.cell(value): metric.rounded(value) for value in scale.ticks}
    title = f"Range of {metric.title}" + ("/s" if metric.counted else "")
    lines = [rule(title, "min, mean, max; logarithmic", width), _axis(ticks, wide, width)]
    grid, line, point = BARS[symbols]
    for place, (name, each) in enumerate(found.items()):
        cells: list[Run] = [(" ", TEXT)] * scale.cells
        for at in ticks:
            cells[at] = (grid, FAINT)
        empty = Line.of((" " * wide, TEXT), *cells)
        role = colour_of(name, TEXT)
        low, high = (scale.cell(end) for end in _span(each))
        cells[low : high + 1] = [(line, role)] * (high + 1 - low)
        mean = (each.mean or 0.0) * (each.bytes_per_op or 1)
        cells[scale.cell(mean)] = (point, VALUE)
        lines.append(Line.of((fit(name, wide), role), *cells))
        lines += [empty] * (rows - 1 if place < len(found) - 1 else 0)
    return lines


def _ticks(least: float, most: float, metric: Metric, cells: int) -> list[float]:
    """Return the values to label on a scale that contains `least` to `most`, as many powers as have
    room; it begins and ends at a label.
    """
    base = 10 if metric.base == 1000 else 2
    # log(1000, 10) is a little below 3
    first, last = floor(log(least, base) + CLOSE), ceil(log(most, base) - CLOSE)
    last = max(last, first + 1)
    widest = max(width_of(metric.rounded(float(base**power))) for power in range(first, last + 1))
    apart = (cells - 1) / (last - first)
    every = max(1, ceil((widest + 2) / apart))
    last = first + ceil((last - first) / every) * every
    fine = base == DECIMAL and apart >= len(BETWEEN) * (widest + 4)
    found = [
        times * float(base) ** power
        for power in range(first, last + 1, every)
        for times in (BETWEEN if fine else (1,))
        if times == 1 or power < last
    ]
    low = max(at for at, value in enumerate(found[:-1]) if value <= least * (1 + CLOSE) or not at)
    high = next(at for at, value in enumerate(found) if value >= most * (1 - CLOSE) and at > low)
    return found[low : high + 1]


def _axis(ticks: Mapping[int, str], wide: int, width: int) -> Line:
    """Return the labels of a scale, each above its cell."""
    text = " " * width
    for at, label in ticks.items():
        start = max(0, min(width - len(label), wide + at - len(label) // 2))
        text = text[:start] + label + text[start + len(label) :]
    return Line.of((text, LABEL))


def _iterations(found: Operations, width: int, wide: int, symbols: Symbols) -> list[Line]:
    """Return a bar for each iteration of each operation, relative to the operation's best."""
    lines = [rule("By iteration", "relative to the best", width), Line()]
    mark = "it. "
    room = width - wide - len(mark) - 3 - SAID
    for place, (name, each) in enumerate(found.items()):
        metric, role = metric_of_operation(each.bytes_per_op), colour_of(name, TEXT)
        best = max(each.iterations, default=0.0)
        for number, rate in enumerate(each.iterations, 1):
            full = max(1, round(rate / best * room)) if best else 0
            said = metric.text(rate * (each.bytes_per_op or 1))
            below = "best" if rate == best else units.share(rate / best - 1, sign="+")
            lines.append(
                Line.of(
                    (fit(name if number == 1 else "", wide), role),
                    (f"{mark}{number:<3}", LABEL),
                    (BARS[symbols][1] * full, role),
                    (f" {said}", VALUE),
                    (f"  {below}", LABEL),
                )
            )
        lines += [Line()] * (1 if place < len(found) - 1 else 0)
    return lines
