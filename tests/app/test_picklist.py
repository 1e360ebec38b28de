"""The list widget: columns that give way, a cursor that stays with its thing."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from tui.app.terminal.theme import THEMES
from tui.app.widgets.picklist import Column, PickList, Row, fit, layout

COLUMNS = (Column("", 3), Column("name", least=10), Column("extra", 12, drop=1), Column("size", 8, right=True))


def row(key: str) -> Row:
    return Row(key, (("[ ]", "dim"), (key, ""), ("more", ""), ("4 GiB", "")))


def heading(title: str) -> Row:
    return Row(f"@{title}", (("", ""), (title, "")), heading=True)


class ListApp(App[None]):
    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__()
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = "benchtui-dark"
        self.rows = rows
        self.moves: list[str] = []

    def compose(self) -> ComposeResult:
        yield PickList(COLUMNS)

    def on_mount(self) -> None:
        self.picklist.set_rows(self.rows)
        self.picklist.focus()

    @property
    def picklist(self) -> PickList:
        return self.query_one(PickList)

    def on_pick_list_moved(self, event: PickList.Moved) -> None:
        self.moves.append(event.key)

    def lines(self) -> list[str]:
        return [self.picklist.render_line(y).text.rstrip() for y in range(self.picklist.size.height)]


ROWS = [heading("weka"), *(row(f"weka-{n:02d}") for n in range(1, 41))]


@given(st.text(max_size=30), st.integers(1, 40), st.booleans())
def test_a_cell_is_exactly_as_wide_as_its_column(text: str, width: int, right: bool) -> None:
    assert cell_len(fit(text.replace("\x00", ""), width, right)) == width


@given(st.integers(20, 200))
def test_columns_fill_the_line_and_never_more(width: int) -> None:
    widths = layout(COLUMNS, width)
    shown = [w for w in widths if w]
    if width >= 3 + 10 + 8 + 2 * 2:
        assert sum(shown) + 2 * (len(shown) - 1) == width


def test_a_narrow_list_drops_the_column_that_matters_least() -> None:
    assert layout(COLUMNS, 30)[2] == 0
    assert layout(COLUMNS, 60)[2] == 12


async def test_the_cursor_starts_on_the_first_thing_not_on_its_heading() -> None:
    app = ListApp(ROWS)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        assert app.picklist.cursor_key == "weka-01"
        assert app.lines()[1].startswith("weka")


async def test_j_k_g_and_G_move_the_cursor_and_it_stays_in_sight() -> None:
    app = ListApp(ROWS)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("j", "j", "k")
        assert app.picklist.cursor_key == "weka-02"
        await pilot.press("G")
        assert app.picklist.cursor_key == "weka-40"
        assert any("weka-40" in line for line in app.lines())
        await pilot.press("g")
        assert app.picklist.cursor_key == "@weka"
        assert app.lines()[1].startswith("weka")


async def test_the_cursor_stays_on_its_key_when_rows_above_it_go() -> None:
    app = ListApp(ROWS)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press(*("j",) * 6)
        assert app.picklist.cursor_key == "weka-07"
        app.picklist.set_rows([row("weka-07"), row("weka-09")])
        assert app.picklist.cursor_key == "weka-07"


async def test_the_cursor_goes_to_a_neighbour_when_its_row_is_gone() -> None:
    app = ListApp([row("a"), row("b"), row("c")])
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("j")
        app.picklist.set_rows([row("a"), row("c")])
        assert app.picklist.cursor_key == "c"


async def test_an_empty_list_has_no_cursor_and_survives_every_key() -> None:
    app = ListApp([])
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("j", "k", "g", "G", "ctrl+d", "ctrl+u")
        assert app.picklist.cursor_key is None


async def test_a_changed_row_is_shown_without_moving_anything() -> None:
    app = ListApp(ROWS)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("j")
        app.picklist.update_row(Row("weka-03", (("[x]", "accent"), ("weka-03", ""), ("new", ""), ("8 GiB", ""))))
        await pilot.pause()
        assert app.picklist.cursor_key == "weka-02"
        assert any("[x]" in line and "8 GiB" in line for line in app.lines())


async def test_a_click_moves_the_cursor() -> None:
    app = ListApp(ROWS)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.click(PickList, offset=(6, 4))
        assert app.picklist.cursor_key == "weka-03"
        assert app.moves[-1] == "weka-03"


async def test_host_names_of_wide_characters_keep_the_columns_aligned() -> None:
    app = ListApp([row("weka-01"), row("хост-一二三")])
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        lines = [app.picklist.render_line(y).text for y in (1, 2)]
        first, second = (cell_len(line[: line.index("4 GiB")]) for line in lines)
        assert first == second
