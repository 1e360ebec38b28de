"""Areas on a time axis, as runs of block characters: scales, buckets, a second area in front, areas that hang. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from tui.metrics.sparkline import Symbols, area
from tui.text.line import BRIGHT, TEXT, Run

Value = float | None
NICE = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
BLOCKS = " ▁▂▃▄▅▆▇█"
FULL = 8
LEVELS = "▁─▔"  # a line low, in the middle or high in its cell
PLAIN_LEVELS = "_-'"


def nice_ceiling(value: float, base: int = 1000) -> float:
    """Return the smallest round number that is not below `value`: the top of a scale, round in units of `base`."""
    if value <= 0:
        return 1.0
    unit = 1.0
    while value >= unit * base:
        unit *= base
    while value < unit:
        unit /= base
    decades = (unit * power for power in (1, 10, 100, 1000))
    steps = (step * decade for decade in decades for step in NICE)
    return next((step for step in steps if value * 0.999 <= step <= unit * base), unit * base)


def merge_values(values: Sequence[Value], peaks: bool = False) -> Value:
    """Return the mean (or the largest) of the values that are not gaps."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return max(known) if peaks else sum(known) / len(known)


def painted(
    back: Sequence[Value],
    front: Sequence[Value],
    key: str,
    size: tuple[int, int],
    top: float,
    symbols: Symbols,
    *,
    hanging: bool = False,
) -> list[tuple[Run, ...]]:
    """Return the rows of an area of `size` (width, rows), top row first, oldest value at the left edge.

    Without a front area, rows fade from the tip to the base line; with one, the back is weak and the front strong.
    `hanging` turns the area over: its base line is the top edge.
    """
    width, rows = size
    marks: Symbols = "ascii" if symbols == "ascii" else "block"
    texts = _rows(back, width, rows, top, marks)
    fronts = _rows(front, width, rows, top, marks) if front else [""] * rows
    order = range(rows - 1, -1, -1) if hanging else range(rows)
    if not front:
        keys = [shade(key, row, rows) for row in range(rows)]
        return [_row(texts[row], "", keys[row], keys[row], hanging=hanging and marks == "block") for row in order]
    weak = f"{key}*45"
    return [_row(texts[row], fronts[row], weak, key, hanging=hanging and marks == "block") for row in order]


def with_level(
    rows: Sequence[tuple[Run, ...]], values: Sequence[Value], top: float, symbols: Symbols, *, hanging: bool = False
) -> list[tuple[Run, ...]]:
    """Return the rows of an area with a line at these values, one a column; it keeps the colour of what it crosses."""
    if not values:
        return list(rows)
    marks = PLAIN_LEVELS if symbols == "ascii" else LEVELS
    cells = [[(mark, key) for text, key in row for mark in text] for row in rows]
    for column, value in enumerate(values):
        if value is None or not cells:
            continue
        row, mark = _place(value / top, len(cells), marks, hanging=hanging)
        if column < len(cells[row]):
            cells[row][column] = _over(cells[row][column], mark)
    return [joined(row) for row in cells]


def _place(share: float, rows: int, marks: str, *, hanging: bool) -> tuple[int, str]:
    """Return the row, 0 at the top, and the mark of a height; what hangs grows downwards."""
    level = max(0, min(rows * len(marks) - 1, int(share * rows * len(marks))))
    row, third = divmod(level, len(marks))
    return (row, marks[-1 - third]) if hanging else (rows - 1 - row, marks[third])


def _over(cell: Run, mark: str) -> Run:
    """Return a mark on the colour of a cell that is filled, else alone."""
    behind, key = cell
    if behind != BLOCKS[FULL]:
        return mark, BRIGHT
    return mark, f"{BRIGHT}/{key.partition('/')[0].removesuffix('~')}"


def shade(key: str, row: int, rows: int) -> str:
    """Return the style key of a row, 0 at the tip: full strength there, weaker towards the base line."""
    strength = 100 - round(45 * row / max(1, rows - 1) / 5) * 5
    return key if strength == 100 else f"{key}*{strength}"


def _rows(values: Sequence[Value], width: int, rows: int, top: float, marks: Symbols) -> list[str]:
    return area([*values, *[None] * (width - len(values))], width, rows, marks, 0, top)


def _row(back: str, front: str, weak: str, strong: str, *, hanging: bool) -> tuple[Run, ...]:
    """Return one row, cell by cell, neighbours of one style joined."""
    pairs = zip(back, front or " " * len(back), strict=True)
    return joined(_cell(behind, before, weak, strong, hanging) for behind, before in pairs)


def _cell(behind: str, before: str, weak: str, strong: str, hanging: bool) -> Run:
    """Return one cell. A front that fills part of a cell stands on the colour of the back, where that fills it."""
    if behind not in BLOCKS:  # ASCII: one mark, the nearer area decides its strength
        return behind, strong if before != " " else weak
    if before == " ":
        return _part(behind, weak, hanging)
    full_behind = BLOCKS.index(behind) == FULL
    level = BLOCKS.index(before)
    if level == FULL or not full_behind:
        return _part(before, strong, hanging)
    return (BLOCKS[FULL - level], f"{weak}/{strong}") if hanging else (before, f"{strong}/{weak}")


def _part(mark: str, key: str, hanging: bool) -> Run:
    """Return a partly filled cell; upper parts are lower parts in reverse, terminals have no others."""
    level = BLOCKS.index(mark)
    if not level:
        return " ", TEXT
    return (BLOCKS[FULL - level], f"{key}~") if hanging and level < FULL else (mark, key)


def joined(cells: Iterable[Run]) -> tuple[Run, ...]:
    """Return the cells with neighbours of one style in one run."""
    return tuple(("".join(text for text, _ in group), key) for key, group in groupby(cells, key=lambda cell: cell[1]))
