"""Filled graphs of plain characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.text.sparkline import Symbols, area, spark

EMPTY: dict[Symbols, str] = {"braille": "⠀", "block": " ", "ascii": " "}
values = st.lists(st.none() | st.floats(0, 1e9), max_size=300)
symbols = st.sampled_from(["braille", "block", "ascii"])


def test_blocks_show_eighths() -> None:
    assert spark([1, 2, 3, 4, 5, 6, 7, 8], 8, "block") == "▁▂▃▄▅▆▇█"


def test_braille_shows_two_values_a_cell_filled_from_the_bottom() -> None:
    assert spark([4, 4, 1, 2], 2, "braille") == "⣿⣠"


def test_ascii_has_four_steps() -> None:
    assert spark([1, 2, 3, 4], 4, "ascii") == ".:+#"


def test_a_gap_is_blank_and_zero_is_not() -> None:
    assert spark([8, None, 0], 3, "block") == "█ ▁"


def test_fewer_values_than_columns_are_on_the_right() -> None:
    assert spark([1], 4, "block") == "   █"


def test_more_values_than_columns_are_averaged() -> None:
    assert spark([0, 8, 4, 4], 2, "block", high=8) == "▄▄"


def test_an_area_is_filled_from_the_bottom_row_up() -> None:
    assert area([8, 16, 24], 3, 3, "block", high=24) == ["  █", " ██", "███"]


def test_values_above_the_given_top_are_cut_off() -> None:
    assert spark([100, 4], 2, "block", high=8) == "█▄"


def test_a_row_counts_from_the_given_low() -> None:
    assert spark([100, 104, 108], 3, "block", low=100, high=108) == "▁▄█"


@given(values, st.integers(1, 120), st.integers(1, 8), symbols)
def test_a_graph_is_exactly_as_large_as_asked(
    data: list[float | None], width: int, height: int, marks: Symbols
) -> None:
    rows = area(data, width, height, marks)
    assert [len(row) for row in rows] == [width] * height


@given(st.integers(1, 60), st.integers(1, 6), symbols)
def test_gaps_alone_draw_nothing(width: int, height: int, marks: Symbols) -> None:
    assert set("".join(area([None] * width, width, height, marks))) == {EMPTY[marks]}


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=50))
def test_not_a_number_is_a_gap(data: list[float]) -> None:
    assert spark([float("nan"), *data], len(data) + 1, "block")[0] == " "
