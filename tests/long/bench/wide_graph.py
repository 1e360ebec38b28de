"""What a wide graph of the screens costs: 200 values in 100 columns and 6 rows."""

from __future__ import annotations

import timeit
from functools import partial

from tui.text.sparkline import Symbols, area

MARKS: tuple[Symbols, ...] = ("braille", "block", "ascii")
TIMES = 20


def main() -> int:
    """Print the best of five rounds for each kind of symbols."""
    data = [float(index * 37 % 101) for index in range(200)]
    print("a graph of 200 values in 100 columns and 6 rows")
    for marks in MARKS:
        best = (
            min(timeit.repeat(partial(area, data, 100, 6, marks), number=TIMES, repeat=5)) / TIMES
        )
        print(f"  {marks:8}{best * 1000:.2f} ms")
    return 0
