"""Intervals of changes as bars on a common scale around 0.

A bar that overlaps 0 may be no change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.analysis.compare import Change, Word
from tui.text.line import FAINT, LABEL, TEXT, Run
from tui.text.table import Column

WIDTH = 31  # odd: 0 is in the middle
HALF = WIDTH // 2
# half a scale; longer intervals end in an arrow
REACHES = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)


def interval_bars(
    rows: Sequence[Change], roles: Mapping[Word, str], drop: int
) -> list[Column[Change]]:
    """Return a column of interval bars, coloured by the result; no column without intervals."""
    ends = [abs(end) for each in rows for end in _span(each)]
    if not ends:
        return []
    reach = next((each for each in REACHES if max(ends) <= each), REACHES[-1])
    edge = f"{reach * 100:.0f} %"
    title = f"{f'-{edge}':<{HALF}}0{f'+{edge}':>{HALF}}"
    return [
        Column(
            title,
            lambda each: _bar(each, reach, roles.get(each.word, LABEL)),
            width=WIDTH,
            drop=drop,
        )
    ]


def _span(change: Change) -> tuple[float, ...]:
    """Return both ends of a change's interval as shares, 0 for no change; empty without one."""
    effect = change.effect
    if effect is None or effect.low is None or effect.high is None:
        return ()
    return effect.low - 1, effect.high - 1


def _bar(change: Change, reach: float, role: str) -> list[Run]:
    span = _span(change)
    if not span:
        return [(" " * HALF, TEXT), ("│", FAINT)]
    low, high, middle = (_cell(each, reach) for each in (*span, change.change or 0.0))
    cells: list[Run] = [(" ", TEXT)] * WIDTH
    cells[HALF] = ("│", FAINT)
    cells[low : high + 1] = [("━", role)] * (high + 1 - low)
    if low <= HALF <= high:
        cells[HALF] = ("┿", role)  # 0 stays visible
    if span[0] < -reach:
        cells[0] = ("‹", role)
    if span[1] > reach:
        cells[-1] = ("›", role)
    cells[middle] = ("●", role)
    return cells


def _cell(share: float, reach: float) -> int:
    """Return the cell that shows a share; the last cell for shares beyond the scale."""
    return HALF + round(max(-1.0, min(1.0, share / reach)) * HALF)
