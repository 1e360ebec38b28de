"""Columns: declared once, dropped by their importance, as wide as they need in text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.text.line import plain_lines
from tui.text.table import Column, column_at, fitted, head_line, table_line, text_table, widths

Disk = tuple[str, int]
COLUMNS: tuple[Column[Disk], ...] = (
    Column("", lambda _: "[ ]", 3),
    Column("name", lambda disk: disk[0], least=10),
    Column("extra", lambda _: "more", 12, drop=1),
    Column("size", lambda disk: [(f"{disk[1]}", "value"), (" GiB", "label")], 8, right=True),
)


def test_a_row_shows_each_cell_in_its_column() -> None:
    rooms = widths(COLUMNS, 40)
    assert rooms == [3, 11, 12, 8]
    assert plain_lines(
        [head_line(COLUMNS, rooms), table_line(COLUMNS, rooms, ("nvme0n1", 400))]
    ) == [
        "     name         extra             size",
        "[ ]  nvme0n1      more           400 GiB",
    ]


def test_the_column_of_least_importance_goes_first() -> None:
    assert widths(COLUMNS, 30) == [3, 15, 0, 8]
    assert "extra" not in head_line(COLUMNS, widths(COLUMNS, 30)).plain


def test_columns_that_take_what_is_left_take_no_more_than_they_want() -> None:
    columns = (Column[str]("a", str, least=4, most=6), Column[str]("b", str, least=4))
    assert widths(columns, 30) == [6, 22]


WITH_NOTE: tuple[Column[Disk], ...] = (
    Column("name", lambda disk: disk[0], least=6, wants=20, most=30, order=len),
    Column("note", lambda _: "in the rack", least=8, drop=1),
    Column("size", lambda disk: f"{disk[1]} GiB", 8, right=True),
)


def test_a_column_goes_before_another_is_cut_to_less_than_it_wants() -> None:
    assert widths(WITH_NOTE, 40) == [20, 8, 8]
    assert widths(WITH_NOTE, 39) == [29, 0, 8]
    assert widths(WITH_NOTE, 24) == [14, 0, 8]


def test_a_column_takes_the_room_of_less_important_ones_and_its_least_before_it_goes() -> None:
    columns = (
        Column[str]("name", str, 10),
        Column[str]("took", str, 6, drop=2),
        Column[str]("note", str, least=8, wants=20, most=20, drop=1),
    )
    assert widths(columns, 40) == [10, 6, 20]
    assert widths(columns, 39) == [10, 0, 20]
    assert widths(columns, 31) == [10, 0, 19]
    assert widths(columns, 19) == [19 - 9, 0, 0]


def test_room_that_a_column_does_not_need_goes_to_the_others() -> None:
    narrow, wide = (
        fitted(WITH_NOTE, [("sda", 400)]),
        fitted(WITH_NOTE, [("a-disk-with-a-long-name", 400)]),
    )
    assert widths(narrow, 39) == [5, 11, 7]  # the name's title with the mark of the order
    assert widths(wide, 50) == [23, 11, 7]
    assert widths(wide, 38) == [23, 0, 7]


def test_a_declared_width_is_kept_if_some_rows_were_not_measured() -> None:
    assert widths(fitted(WITH_NOTE, [("sda", 400)], all_rows=False), 39) == [5, 11, 8]


@given(st.integers(25, 200), st.text(max_size=40))
def test_every_row_is_as_wide_as_the_table(width: int, name: str) -> None:
    rooms = widths(COLUMNS, width)
    assert (
        table_line(COLUMNS, rooms, (name.replace("\n", ""), 1)).width
        == head_line(COLUMNS, rooms).width
        == width
    )


def test_a_gap_belongs_to_the_column_behind_it() -> None:
    rooms = widths(COLUMNS, 40)
    assert [column_at(COLUMNS, rooms, x) for x in (0, 2, 3, 5, 39)] == [0, 0, 1, 1, 3]


def test_a_table_of_text_is_as_wide_as_its_cells() -> None:
    columns = [
        Column[Disk]("disk", lambda disk: disk[0]),
        Column[Disk]("GiB", lambda disk: str(disk[1]), right=True),
    ]
    assert plain_lines(
        text_table(columns, [("nvme0n1", 400), ("a-disk-with-a-long-name", 8000)])
    ) == [
        "disk                      GiB",
        "nvme0n1                   400",
        "a-disk-with-a-long-name  8000",
    ]
