"""Sparklines in braille, eighth blocks or ASCII; lines in braille."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, isfinite
from typing import Literal

Symbols = Literal["braille", "block", "ascii"]

# dots in a braille column, filled from the bottom: 0 to 4 rows
_LEFT = (0x00, 0x40, 0x44, 0x46, 0x47)
_RIGHT = (0x00, 0x80, 0xA0, 0xB0, 0xB8)
_BRAILLE = [[chr(0x2800 + left + right) for right in _RIGHT] for left in _LEFT]
_BLOCK = " ▁▂▃▄▅▆▇█"
_ASCII = " .:+#"
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))  # of a braille column, from the bottom


def spark(
    values: Sequence[float | None],
    width: int,
    symbols: Symbols = "braille",
    low: float = 0,
    high: float | None = None,
) -> str:
    """Return one row of `width` characters. `high` defaults to the largest value."""
    return area(values, width, 1, symbols, low, high)[0]


def twice_mean(values: Sequence[float | None]) -> float:
    """Return the top of a scale from 0 on which a steady series is level at half height."""
    known = [value for value in values if value is not None]
    return 2 * sum(known) / len(known) if known else 0.0


def area(
    values: Sequence[float | None],
    width: int,
    height: int,
    symbols: Symbols = "braille",
    low: float = 0,
    high: float | None = None,
) -> list[str]:
    """Return `height` rows of `width` characters, top row first.

    `high` defaults to the largest value.
    """
    if width <= 0 or height <= 0:
        return [""] * max(height, 0)
    per_cell, steps = {"braille": (2, 4), "block": (1, 8), "ascii": (1, 4)}[symbols]
    columns = _fit(values, width * per_cell)
    levels = _levels(columns, steps * height, low, high)
    return [_row(levels, floor * steps, steps, symbols) for floor in range(height - 1, -1, -1)]


def trace(
    values: Sequence[float | None], width: int, height: int, low: float, high: float
) -> list[str]:
    """Return values as a line in braille: `height` rows of `width` characters, top row first.

    For an axis that does not start at 0, where the heights of an area would be misleading.
    """
    if width <= 0 or height <= 0:
        return [""] * max(height, 0)
    levels = _levels(_fit(values, 2 * width), 4 * height, low, high)
    dots = [[0x2800] * width for _ in range(height)]
    for at, level in enumerate(levels):
        if not level:
            continue
        before = (levels[at - 1] if at else 0) or level
        # a jump is joined without the level that it starts from
        joined = range(min(before + 1, level), max(before - 1, level) + 1)
        for each in joined:
            floor, step = divmod(each - 1, 4)
            dots[height - 1 - floor][at // 2] |= _DOTS[at % 2][step]
    return ["".join(map(chr, row)) for row in dots]


def _fit(values: Sequence[float | None], columns: int) -> list[float | None]:
    """Return exactly `columns` values: averages if there are more, padded with gaps on the left if
    fewer.
    """
    known = [None if value is None or not isfinite(value) else float(value) for value in values]
    missing = columns - len(known)
    if missing >= 0:
        return [None] * missing + known
    edges = [index * len(known) // columns for index in range(columns + 1)]
    return [_mean(known[start:end]) for start, end in pairwise(edges)]


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def _levels(
    columns: Sequence[float | None], steps: int, low: float, high: float | None
) -> list[int]:
    """Return how many steps of each column are filled: 0 for a gap, otherwise 1 to `steps`."""
    if high is None:
        high = max((value for value in columns if value is not None), default=low)
    span = high - low
    return [0 if value is None else _level(value - low, span, steps) for value in columns]


def _level(value: float, span: float, steps: int) -> int:
    """Return a value as a level from 1 to `steps`.

    A small constant keeps float noise from raising an exact step to the next one.
    """
    if value <= 0 or span <= 0:
        return 1
    return steps if value >= span else max(ceil(value / span * steps - 1e-9), 1)


def _row(levels: Sequence[int], base: int, steps: int, symbols: Symbols) -> str:
    """Return one row of a chart: the characters for levels `base` to `base + steps`."""
    fill = [min(max(level - base, 0), steps) for level in levels]
    if symbols == "braille":
        return "".join(
            _BRAILLE[left][right] for left, right in zip(fill[::2], fill[1::2], strict=True)
        )
    marks = _BLOCK if symbols == "block" else _ASCII
    return "".join(marks[step] for step in fill)
