"""The value axis of a short chart: round values, each with a mark at its exact height."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import ceil, floor, log2, log10

from msgspec import Struct

from tui.text.line import FAINT, LABEL, TEXT, Run, fit, width_of
from tui.text.sparkline import Symbols

MOST_STEPS = 5
NICE = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
# leading digits of steps, the roundest first
ROUND = ((1, 2, 2.5, 5), (1.25, 1.5, 3, 4, 6, 7.5, 8), (1.2, 1.6, 3.5, 4.5, 7, 9))
LESS_ROUND = 0.1  # cost of a less round step, as a share of the largest value
ONLY = 0.45  # cost of a single step, likewise
LOW = 4  # with fewer rows, a single step costs nothing
SAME = 1e-6
LEEWAY = 0.001  # by which values may be above the last tick
LEVELS = "▁─▔"  # low, middle or high in the cell
PLAIN_LEVELS = "_-'"
LEAST_COLUMNS = 14  # minimum width of the chart next to its labels
MOST_EMPTY = "\u2800 "


class Tick(Struct, frozen=True):
    """A tick of an axis: its row (0 is the top), its mark, and its label."""

    row: int
    mark: str
    text: str


def nice_ceiling(value: float) -> float:
    """Return the smallest round number of at least `value`, as the top of a scale.

    It may be below `value` by 0.1 %; 1 for 0 or less.
    """
    if value <= 0:
        return 1.0
    unit = _unit_of(value, 1000)
    decades = (unit * power for power in (1, 10, 100, 1000))
    steps = (step * decade for decade in decades for step in NICE)
    return next((step for step in steps if value * 0.999 <= step <= unit * 1000), unit * 1000)


def level_of(
    share: float, rows: int, symbols: Symbols, *, hanging: bool = False
) -> tuple[int, str]:
    """Return the row (0 is the top) and the mark that show a height from 0 to 1.

    `hanging`: the chart grows downwards.
    """
    marks = PLAIN_LEVELS if symbols == "ascii" else LEVELS
    level = max(0, min(rows * len(marks) - 1, int(share * rows * len(marks))))
    row, third = divmod(level, len(marks))
    return (row, marks[-1 - third]) if hanging else (rows - 1 - row, marks[third])


class Scale(Struct, frozen=True):
    """A scale from 0: its round step, the rows of one step, the value at the upper edge, and a
    value in whose unit steps are round.
    """

    step: float
    apart: int
    top: float
    size: float


def scale_of(most: float, rows: int, base: int = 1000) -> Scale:
    """Return a scale of `rows` rows whose last tick is at least `most`, with 0.1 % of leeway.

    Ticks are whole rows apart. It is the lowest such scale, or a slightly higher one whose step is
    rounder, or that has more than one.
    """
    most = max(most, 0.0) or 1.0
    unit = _unit_of(most, base)
    found: list[tuple[float, int, Scale]] = []
    for count in range(1, max(1, min(MOST_STEPS, rows // 2)) + 1):
        apart = max(1, rows // count)
        for place, known in enumerate(ROUND):
            step = _round_step(most * (1 - LEEWAY) / count, unit, base, known)
            scale = Scale(step, apart, step * rows / apart, most if base != 1000 else step * count)
            cost = scale.top / most + place * LESS_ROUND + (count == 1 and rows >= LOW) * ONLY
            found.append((round(cost, 6), -count, scale))
    return min(found, key=lambda each: each[:2])[2]


def _unit_of(value: float, base: int) -> float:
    """Return the unit of a value, a power of `base`."""
    unit = 1.0
    while value >= unit * base:
        unit *= base
    while value < unit:
        unit /= base
    return unit


def _round_step(least: float, unit: float, base: int, known: Collection[float]) -> float:
    """Return the smallest step of at least `least` that is round in a unit."""
    lead = least / unit
    decade = 10.0 ** floor(log10(lead) + SAME)
    steps = [each * power for power in (decade, decade * 10) for each in known]
    steps += [2.0 ** ceil(log2(lead) - SAME)] if base != 1000 else []
    return unit * min(step for step in steps if step >= lead * (1 - SAME))


def ticks_of(
    scale: Scale, rows: int, text: Callable[[float], str], symbols: Symbols, *, both: bool = False
) -> list[Tick]:
    """Return the ticks of a chart of `rows` rows; a tick is at the far edge of its row.

    The 0 of a single area is the frame below it: its row is the one after the last. With `both`,
    a second area hangs down; their 0 is the row between them, if there is one.
    """
    marks = PLAIN_LEVELS if symbols == "ascii" else LEVELS
    upper = rows_above(rows) if both else rows
    found = [] if both and rows % 2 == 0 else [Tick(upper, marks[1], "0")]
    for place in range(scale.apart, upper + 1, scale.apart):
        label = text(scale.step * place / scale.apart)
        found.append(Tick(upper - place, marks[-1], label))
        if both:
            found.append(Tick(rows - 1 - upper + place, marks[0], label))
    return found


def rows_above(rows: int) -> int:
    """Return the number of rows of each of two areas, one growing upwards, one downwards."""
    return rows // 2


def room_of(ticks: Sequence[Tick], width: int) -> int:
    """Return how many of a chart's `width` cells labels and marks take; 0 if they do not fit."""
    room = max((width_of(each.text) for each in ticks), default=-1) + 1
    return room if width - room >= LEAST_COLUMNS else 0


def with_ticks(
    rows: Sequence[Sequence[Run]], ticks: Sequence[Tick], room: int, *, grid: bool
) -> list[tuple[Run, ...]]:
    """Return the rows of a chart after their labels, which are `room` cells wide.

    `grid` draws a faint line from each inner mark through its row, if that has no values: pieces of
    a line between values would look like values. The outermost rows get none: the frame is there.
    """
    known = {each.row: each for each in ticks}
    found: list[tuple[Run, ...]] = []
    for place, row in enumerate(rows):
        tick = known.get(place)
        if tick is None:
            found.append(((" " * room, TEXT), *row))
            continue
        label = fit(tick.text, room - 1, right=True)
        is_inner = grid and 0 < place < len(rows) - 1
        runs = (
            [(tick.mark * width_of(text), FAINT) for text, _ in row]
            if is_inner and all(map(_is_empty, row))
            else row
        )
        found.append(((label, LABEL), (tick.mark, FAINT), *runs))
    return found


def _is_empty(run: Run) -> bool:
    text, role = run
    return role == TEXT and not text.strip(MOST_EMPTY)
