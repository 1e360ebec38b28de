"""Figures in large digits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.text.digits import ROWS, SEGMENTS, SOLID, FigureTile, large_digits, tile_lines
from tui.text.sparkline import Symbols

TILES = [
    FigureTile("read IOPS", "192", "k", drop=1),
    FigureTile("p50", "81.4", "µs", drop=2),
    FigureTile("p99", "1.57", "ms"),
]


@pytest.mark.parametrize("glyphs", [SOLID, SEGMENTS], ids=["solid", "ascii"])
def test_no_two_characters_look_the_same(glyphs: dict[str, tuple[str, str, str]]) -> None:
    alike = {each: rows for each, rows in glyphs.items() if each != "–"}  # a dash is a minus
    assert len(set(alike.values())) == len(alike)
    assert all(
        len({len(row) for row in rows}) == 1 and len(rows) == ROWS for rows in glyphs.values()
    )


@given(st.text("0123456789.-–<n", max_size=12))
def test_ascii_digits_are_ascii_and_rows_are_of_one_width(text: str) -> None:
    rows = large_digits(text, "ascii")
    assert all(row.isascii() for row in rows) and len({len(row) for row in rows}) == 1


@pytest.mark.parametrize("symbols", ["braille", "block", "ascii"])
@given(width=st.integers(1, 240))
def test_tiles_never_exceed_the_width_and_what_gives_way_goes_whole(
    symbols: Symbols, width: int
) -> None:
    lines = tile_lines(TILES, width, symbols)
    assert len(lines) == ROWS + 1 and all(line.width <= width for line in lines)
    if width >= 20:
        assert "p99" in lines[0].plain


def test_a_title_is_shortened_before_a_tile_is_dropped() -> None:
    tiles = [
        FigureTile("IOPS", "192", "k"),
        FigureTile("p99 latency", "157", "µs", aside="so far 160 µs", drop=1, short="p99"),
    ]
    assert "p99 latency" in tile_lines(tiles, 60, "braille")[0].plain
    narrow = tile_lines(tiles, 36, "braille")[0].plain
    assert "p99  so far 160 µs" in narrow and "latency" not in narrow
    assert "p99" not in tile_lines(tiles, 20, "braille")[0].plain
