"""A line of values in braille."""

from __future__ import annotations

from itertools import product

from tui.text.sparkline import trace


def heights(rows: list[str]) -> list[list[int]]:
    """Return the levels of the dots in each column, 0 at the bottom."""
    dots = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
    return [
        [
            4 * floor + step
            for floor, step in product(range(len(rows)), range(4))
            if ord(rows[len(rows) - 1 - floor][cell]) & dots[column][step]
        ]
        for cell, column in product(range(len(rows[0])), range(2))
    ]


def test_a_level_line_has_one_dot_in_each_column() -> None:
    assert heights(trace([5.0] * 8, 4, 2, 0, 8)) == [[4]] * 8


def test_a_jump_is_joined_up_to_the_level_it_starts_from() -> None:
    low, up, down, _ = heights(trace([1, 8, 1, 1], 2, 2, 0, 8))
    assert low == [0]
    assert up == list(range(1, 8)), "the value is its last dot"
    assert down == list(range(7))


def test_a_gap_has_no_dots() -> None:
    assert heights(trace([8, None, 8, 8], 2, 2, 0, 8)) == [[7], [], [7], [7]]
