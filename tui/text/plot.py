"""Charts as lines of runs. The one place that knows plotext: curves go in, cells with roles come out.

plotext is loaded only here. Its figure is one for the whole process: not for several threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tui.text.line import GOOD, LABEL, Line

LEAST_WIDTH, LEAST_HEIGHT = 30, 8
ROLES = ("read", "write", "other", "latency")  # of curves, in their order
MARKS = ("braille", "•", "x", "+")  # so that curves can be told apart without colour
NAMES = ("line", "dots", "x", "+")
POINT = "◆"
SGR = {"read": 12, "write": 11, "other": 10, "latency": 13, GOOD: 15}  # colours of terminals, of 256


@dataclass(frozen=True, slots=True)
class Ticks:
    """Where an axis has marks, and what stands there."""

    positions: list[float]
    labels: list[str]


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis spans, and its marks."""

    low: float
    high: float
    ticks: Ticks


@dataclass(frozen=True, slots=True)
class Curve:
    """Points joined by lines, in parts where values between them are unknown; `points` stand out on it."""

    parts: Sequence[tuple[Sequence[float], Sequence[float]]]
    role: str = ROLES[0]
    mark: str = MARKS[0]
    filled: bool = False
    points: tuple[Sequence[float], Sequence[float]] = ((), ())


def plot(title: str, curves: Sequence[Curve], x: Axis, y: Axis, width: int, height: int) -> list[Line]:
    """Return a chart with a frame, in lines of at most `width` cells, 30 by 8 at least."""
    import plotext

    figure = plotext.figure
    figure.clear()
    figure.theme("simple")
    figure.plot_size(max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT))
    figure.title(title)
    figure.legend(False)  # it would lie over the curves
    pixels = {role: plotext.pixel(code) for role, code in SGR.items()}
    for curve in curves:
        for xs, ys in curve.parts:
            _draw(plotext, xs, ys, plotext.marker(curve.mark, pixel=pixels[curve.role]), curve)
        if curve.points[0]:
            _draw(plotext, *curve.points, plotext.marker(POINT, pixel=pixels[GOOD]), None)
    for name, axis in (("x", x), ("y", y)):
        ruler = figure.ruler(name)
        ruler.lim(axis.low, axis.high)
        ruler.ticks(axis.ticks.positions, axis.ticks.labels)
    lines = _cells(figure.build(), {pixel.foreground(): role for role, pixel in pixels.items()})
    figure.clear()
    return lines


def _draw(plotext: Any, xs: Sequence[float], ys: Sequence[float], marker: Any, curve: Curve | None) -> None:
    signal = plotext.figure.signal(list(xs), list(ys), marker=marker)
    if curve is not None:
        signal.lines(True)
    if curve is not None and curve.filled:
        signal.fillx(True)
    plotext.figure.draw(signal)


def _cells(matrix: Any, roles: dict[tuple[int, int, int], str]) -> list[Line]:
    """Return plotext's canvas as lines, blanks at their ends left out."""
    lines = []
    for row, text in enumerate(matrix.string(colorless=True).split("\n")):
        cells = ((mark, roles.get(matrix.get(row, at).foreground(), LABEL) if mark != " " else LABEL)
                 for at, mark in enumerate(text.rstrip()))  # fmt: skip
        runs = (("".join(mark for mark, _ in group), role) for role, group in groupby(cells, key=lambda cell: cell[1]))
        lines.append(Line(tuple(runs)))
    while lines and not lines[-1].runs:
        lines.pop()
    return lines


def coloured(lines: Iterable[Line]) -> str:
    """Return lines for a terminal, curves in their colours."""
    return "\n".join(
        "".join(f"\x1b[38;5;{SGR[role]}m{text}\x1b[0m" if role in SGR else text for text, role in line.runs)
        for line in lines
    )
