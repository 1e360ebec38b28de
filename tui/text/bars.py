"""Bars in a line: one that goes to either side of a middle."""

from __future__ import annotations

from typing import Literal

from tui.text.line import FAINT, TEXT, Run

MARKS = {"braille": ("╺", "━", "╸"), "block": ("▐", "█", "▌"), "ascii": ("", "#", "")}
"""What begins, fills and ends a bar; without half cells a bar is rounded to whole ones."""
REACHES = (0.2, 0.5, 1.0)


def reach_of(widest: float) -> float:
    """Return the deviation that a whole bar stands for: the least step that holds the widest, 100 % at most."""
    return next((reach for reach in REACHES if widest <= reach), REACHES[-1])


def diverging(
    share: float | None, reach: float, width: int, role: str, symbols: Literal["braille", "block", "ascii"]
) -> list[Run]:
    """Return a bar of `width` cells around a thin middle line: to the left what is below 0, to the right what is above.

    `share` None draws nothing. Something beyond half a cell is always seen.
    """
    half = (width - 1) // 2
    start, full, end = MARKS[symbols]
    cells = min(1.0, abs(share or 0.0) / reach) * half
    whole, rest = divmod(round(cells * 2), 2) if start else (round(cells), 0)
    below = share is not None and share < 0
    bar = (start * rest + full * whole) if below else (full * whole + end * rest)
    blank: Run = (" " * (half - len(bar)), TEXT)
    empty: Run = (" " * half, TEXT)
    axis: Run = ("│" if share is not None else " ", FAINT)
    return [blank, (bar, role), axis, empty] if below else [empty, axis, (bar, role), blank]
