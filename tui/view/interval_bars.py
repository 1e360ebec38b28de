"""Intervals of changes as bars on a common scale around 0.

A bar that overlaps 0 may be no change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.analysis.compare import Change
from tui.text.line import FAINT, TEXT, Run
from tui.text.table import Column

WIDTH, LEAST_WIDTH = 31, 11  # odd: 0 is in the middle
HALF = WIDTH // 2
# the scale fits all of fewer rows than this; a longest interval up to this times the next one
FEW, FAR = 3, 1.5
SIGN_AND_UNIT = 3  # cells beside the digits of an edge
# half a scale; longer intervals end in an arrow
REACHES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)


def interval_bars(
    rows: Sequence[Change], role_of: Callable[[Change], str], drop: int, width: int = WIDTH
) -> list[Column[Change]]:
    """Return a column of interval bars in at most `width` cells, each in its role.

    The scale fits all intervals except the longest of three or more, if it is far longer than the
    others. No column without intervals or room.
    """
    ends = sorted(max(map(abs, span)) for each in rows if (span := _span(each)))
    if not ends or width < LEAST_WIDTH:
        return []
    fits_all = len(ends) < FEW or ends[-1] <= FAR * ends[-2]
    longest = ends[-1 if fits_all else -2]
    half = min(width, WIDTH) // 2 if width % 2 else min(width - 1, WIDTH) // 2
    reach = next((each for each in REACHES if longest <= each), REACHES[-1])
    percent = f"{reach * 100:.0f}"
    edge = f"{percent}{' %' if half > len(percent) + SIGN_AND_UNIT else '%'}"
    title = f"{f'-{edge}':<{half}}0{f'+{edge}':>{half}}"
    return [
        Column(
            title,
            lambda each: _bar(each, reach, role_of(each), half),
            width=2 * half + 1,
            drop=drop,
        )
    ]


def _span(change: Change) -> tuple[float, ...]:
    """Return both ends of a change's interval as shares, 0 for no change; empty if it has none."""
    effect = change.effect
    if effect is None or effect.low is None or effect.high is None:
        return ()
    return effect.low - 1, effect.high - 1


def _bar(change: Change, reach: float, role: str, half: int) -> list[Run]:
    span = _span(change)
    if not span:
        return [(" " * half, TEXT), ("│", FAINT)]
    low, high, middle = (_cell(each, reach, half) for each in (*span, change.change or 0.0))
    if span[1] < 0:  # beside 0, however close
        high, middle = min(high, half - 1), min(middle, half - 1)
        low = min(low, high)
    elif span[0] > 0:
        low, middle = max(low, half + 1), max(middle, half + 1)
        high = max(low, high)
    cells: list[Run] = [(" ", TEXT)] * (2 * half + 1)
    cells[half] = ("│", FAINT)
    cells[low : high + 1] = [("━", role)] * (high + 1 - low)
    if low <= half <= high:
        cells[half] = ("┿", role)  # 0 stays visible
    if span[0] < -reach:
        cells[0] = ("‹", role)
    if span[1] > reach:
        cells[-1] = ("›", role)
    cells[middle] = ("●", role)
    return cells


def _cell(share: float, reach: float, half: int) -> int:
    """Return the cell that shows a share; the last cell for shares beyond the scale."""
    return half + round(max(-1.0, min(1.0, share / reach)) * half)
