"""The list widget: columns that give way, a cursor that stays with its thing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult

from tui.app.terminal.theme import THEMES
from tui.app.widgets.picklist import Heading, PickList
from tui.text.table import Column

TICKED: set[str] = set()
MADE: list[str] = []


def name_of(name: str) -> str:
    """Return a row's name, and remember that it was asked for."""
    MADE.append(name)
    return name


COLUMNS = (
    Column[str]("", lambda name: "[x]" if name in TICKED else "[ ]", 3),
    Column[str]("name", name_of, least=10, order=len),
    Column[str]("extra", lambda _: "more", 12, drop=1, order=lambda name: name[::-1]),
    Column[str]("size", lambda name: "8 GiB" if name in TICKED else "4 GiB", 8, right=True),
)


class ListApp(App[None]):
    def __init__(self, rows: Sequence[str | Heading]) -> None:
        super().__init__()
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = "benchtui-dark"
        self.rows = rows
        self.moves: list[str] = []

    def compose(self) -> ComposeResult:
        yield PickList(COLUMNS, str)

    def on_mount(self) -> None:
        self.picklist.set_rows(self.rows)
        self.picklist.focus()

    @property
    def picklist(self) -> PickList[str]:
        return self.query_one(PickList)

    def on_pick_list_moved(self, event: PickList.Moved) -> None:
        self.moves.append(event.key)

    def lines(self) -> list[str]:
        return [
            self.picklist.render_line(y).text.rstrip() for y in range(self.picklist.size.height)
        ]


ROWS: list[str | Heading] = [Heading("@weka", "weka"), *(f"weka-{n:02d}" for n in range(1, 41))]


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
        app.picklist.set_rows(["weka-07", "weka-09"])
        assert app.picklist.cursor_key == "weka-07"


async def test_the_cursor_goes_to_a_neighbour_when_its_row_is_gone() -> None:
    app = ListApp(["a", "b", "c"])
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("j")
        app.picklist.set_rows(["a", "c"])
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
        TICKED.add("weka-03")
        app.picklist.update_lines()
        await pilot.pause()
        TICKED.clear()
        assert app.picklist.cursor_key == "weka-02"
        assert any("[x]" in line and "8 GiB" in line for line in app.lines())


async def test_only_rows_in_sight_are_made() -> None:
    app = ListApp([f"weka-{n:05d}" for n in range(10_000)])
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        MADE.clear()
        await pilot.press("G")
        assert app.picklist.cursor_key == "weka-09999"
        assert 0 < len(MADE) <= 2 * 11 and min(MADE) >= "weka-09980"


async def test_a_list_with_more_rows_than_room_has_a_scroll_bar_that_follows() -> None:
    app = ListApp(ROWS)
    async with app.run_test(size=(60, 12)) as pilot:

        def bar() -> list[bool]:
            return [line.runs[-1][1] == "thumb~" for line in app.picklist.painted[1:]]

        await pilot.pause()
        assert bar()[0] and not bar()[-1]
        await pilot.press("G")
        assert bar()[-1] and not bar()[0]
        app.picklist.set_rows(ROWS[:4])
        assert not any(bar())


async def test_the_wheel_scrolls_and_leaves_the_cursor() -> None:
    app = ListApp(ROWS)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        app.picklist.scroll_rows(5)
        app.picklist.update_lines()
        assert app.picklist.cursor_key == "weka-01" and "weka-05" in app.lines()[1]


async def test_rows_are_sorted_by_the_columns_that_have_an_order_and_back() -> None:
    app = ListApp(["ccc", "a", "bb"])
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        app.picklist.sort_by_next()
        assert app.picklist.rows == ["a", "bb", "ccc"] and "name▾" in app.lines()[0]
        app.picklist.sort_by_next(reverse=True)
        assert app.picklist.rows == ["ccc", "bb", "a"] and "name▴" in app.lines()[0]
        app.picklist.sort_by_next()
        app.picklist.sort_by_next()
        assert app.picklist.rows == ["ccc", "a", "bb"] and app.picklist.cursor_key == "ccc"


async def test_the_column_that_rows_are_sorted_by_is_in_sight_however_little_room_there_is() -> (
    None
):
    app = ListApp(["cb", "ac", "ba"])
    async with app.run_test(size=(30, 12)) as pilot:
        await pilot.pause()
        assert "extra" not in app.lines()[0]
        app.picklist.sort_by_next()
        assert "extra" not in app.lines()[0]
        app.picklist.sort_by_next()
        assert "extra▾" in app.lines()[0] and app.picklist.rows == ["ba", "cb", "ac"]


@pytest.mark.parametrize("theme", THEMES)
async def test_the_row_under_the_cursor_looks_different_with_the_focus_elsewhere_too(
    theme: str,
) -> None:
    app = ListApp(["a", "bb"])
    app.theme = THEMES[theme].name
    async with app.run_test(size=(60, 12)) as pilot:
        for take_focus in (True, False):
            app.screen.set_focus(app.picklist if take_focus else None)
            await pilot.pause()
            here, other = ([part.style for part in app.picklist.render_line(y)] for y in (1, 2))
            assert app.picklist.cursor_key == "a" and here != other


async def test_a_click_moves_the_cursor() -> None:
    app = ListApp(ROWS)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.click(PickList, offset=(6, 4))
        assert app.picklist.cursor_key == "weka-03"
        assert app.moves[-1] == "weka-03"


async def test_host_names_of_wide_characters_keep_the_columns_aligned() -> None:
    app = ListApp(["weka-01", "хост-一二三"])
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        lines = [app.picklist.render_line(y).text for y in (1, 2)]
        first, second = (cell_len(line[: line.index("4 GiB")]) for line in lines)
        assert first == second


async def test_rows_stay_in_order_when_the_column_that_they_are_sorted_by_goes() -> None:
    app = ListApp(["aab", "aaaa", "ba"])
    async with app.run_test(size=(60, 12)) as pilot:
        for _ in range(2):
            app.picklist.sort_by_next()
        app.picklist.columns = tuple(column for column in COLUMNS if column.title != "extra")
        app.picklist.set_rows(["aab", "aaaa", "ba"])
        await pilot.pause()
        assert [line.split()[2] for line in app.lines()[1:4]] == ["aaaa", "ba", "aab"]
        app.picklist.sort_by_next()
        await pilot.pause()
        assert [line.split()[2] for line in app.lines()[1:4]] == ["ba", "aab", "aaaa"]
