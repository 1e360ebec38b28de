"""The value axis of a short chart: round values, each with a mark at its exact height."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from math import floor, log2, log10

from msgspec import Struct

from tui.text.line import FAINT, LABEL, TEXT, Run, fit, width_of
from tui.text.sparkline import Symbols

MOST_STEPS = 5
EVEN = 1.5  # how many times as far apart as the closest labels others may be
ROUND = ((1, 2, 2.5, 5), (1.25, 1.5, 3, 4, 6, 7.5))  # leading digits of steps, the roundest first
SAME = 1e-6
LEVELS = "▁─▔"  # low, middle or high in the cell
PLAIN_LEVELS = "_-'"
LEAST_COLUMNS = 16  # minimum width of the chart next to its labels
MOST_EMPTY = "\u2800 "


class Tick(Struct, frozen=True):
    """A tick of an axis: its row (0 is the top), its mark, and its label."""

    row: int
    mark: str
    text: str


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


def steps_of(top: float, rows: int, base: int = 1000) -> int:
    """Return how many equal round steps divide 0 to `top`: as many as fit into `rows`.

    Labels of more than two are about equally far apart.
    """
    most = min(MOST_STEPS, (rows + 1) // 2)
    counts = [count for count in range(most, 1, -1) if count == 2 or _is_even(count, rows)]
    return next(
        (count for known in ROUND for count in counts if _is_round(top / count, base, known)), 1
    )


def _is_even(count: int, rows: int) -> bool:
    """Return whether the labels of `count` steps are about as far apart as each other."""
    at = [level_of(step / count, rows, "block")[0] for step in range(count + 1)]
    gaps = [low - high for low, high in pairwise(at)]
    return max(gaps) <= EVEN * min(gaps)


def _is_round(step: float, base: int, known: Collection[float]) -> bool:
    """Return whether a step is round in its unit.

    A step is round if it is one of `known` times a power of ten, or for binary units a power of
    two.
    """
    while step >= base:
        step /= base
    while 0 < step < 1:
        step *= base
    if base != 1000 and abs(log2(step) - round(log2(step))) < SAME:
        return True
    lead = step / 10.0 ** floor(log10(step) + SAME)
    return any(abs(lead - each) < SAME for each in known)


def ticks_of(
    top: float,
    rows: int,
    text: Callable[[float], str],
    symbols: Symbols,
    *,
    base: int = 1000,
    below: int = 0,
) -> list[Tick]:
    """Return the ticks of `rows` rows from 0 to `top`, and of `below` rows that hang from 0."""
    count = steps_of(top, min(rows, below) if below else rows, base)
    found = [
        Tick(*level_of(step / count, rows, symbols), text(top * step / count))
        for step in range(1, count + 1)
    ]
    zero = Tick(*level_of(0.0, rows, symbols), "0")
    found = [zero, *found] if all(each.row != zero.row for each in found) else found
    for step in range(1, count + 1) if below else ():
        row, mark = level_of(step / count, below, symbols, hanging=True)
        found.append(Tick(rows + row, mark, text(top * step / count)))
    return found


def room_of(ticks: Sequence[Tick], width: int) -> int:
    """Return how many of a chart's `width` cells labels and marks take; 0 if they do not fit."""
    room = max((width_of(each.text) for each in ticks), default=-1) + 1
    return room if width - room >= LEAST_COLUMNS else 0


def with_ticks(
    rows: Sequence[Sequence[Run]], ticks: Sequence[Tick], room: int, *, grid: bool
) -> list[tuple[Run, ...]]:
    """Return the rows of a chart after their labels, which are `room` cells wide.

    `grid` draws a faint line from each inner mark through the empty part of the chart; the frame is
    the outer line.
    """
    known = {each.row: each for each in ticks}
    found: list[tuple[Run, ...]] = []
    for place, row in enumerate(rows):
        tick = known.get(place)
        if tick is None:
            found.append(((" " * room, TEXT), *row))
            continue
        label = fit(tick.text, room - 1, right=True)
        runs = (
            [_ruled(run, tick.mark) for run in row] if grid and 0 < place < len(rows) - 1 else row
        )
        found.append(((label, LABEL), (tick.mark, FAINT), *runs))
    return found


def _ruled(run: Run, mark: str) -> Run:
    text, role = run
    return (mark * len(text), FAINT) if role == TEXT and not text.strip(MOST_EMPTY) else run
