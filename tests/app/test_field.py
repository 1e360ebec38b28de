"""Text fields: what does not fit says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from textual.app import App
from textual.widget import Widget

from tui.app.terminal.theme import ANSI, DARK, SYMBOLS
from tui.app.widgets.form import TextInput

WIDTH = 12  # ten for the value: a blank stands at each side


class Form(App[None]):
    """One field and another one to go to."""

    CSS = f"TextInput {{ width: {WIDTH}; }}"

    def __init__(self, value: str, symbols: str) -> None:
        super().__init__()
        self.register_theme(DARK)
        self.theme = DARK.name
        self.value, self.symbols = value, SYMBOLS[symbols]

    def compose(self) -> Iterator[Widget]:
        yield TextInput(self.value)
        yield TextInput()


def shown(app: Form) -> str:
    """Return what stands in the first field."""
    strips = app.screen._compositor.render_strips()
    return strips[0].text[:WIDTH]


@pytest.mark.parametrize(
    ("value", "symbols", "begin"),
    [
        ("4k,8k,16k,32k,64k", "braille", " 4k,8k,16k… "),
        ("4k,8k,16k,32k,64k", "ascii", " 4k,8k,16k~ "),
        ("4k,8k,16k,", "braille", " 4k,8k,16k, "),
    ],
)
async def test_a_value_that_is_wider_than_its_field_ends_in_an_ellipsis(
    value: str, symbols: str, begin: str
) -> None:
    app = Form(value, symbols)
    async with app.run_test(size=(40, 4)) as pilot:
        app.set_focus(None)
        await pilot.pause()
        assert shown(app) == begin


async def test_an_empty_field_is_seen_where_the_palette_has_no_second_ground() -> None:
    for value, begin in (
        ("", " __________ "),
        ("4G", " 4G _______ "),
        ("4k,8k,16k,32k", " 4k,8k,16k… "),
    ):
        app = Form(value, "braille")
        async with app.run_test(size=(40, 4)) as pilot:
            app.register_theme(ANSI)
            app.theme = ANSI.name
            app.set_focus(None)
            await pilot.pause()
            assert shown(app) == begin
            app.query(TextInput).first().focus()
            await pilot.pause()
            assert "_" not in shown(app), "who is in the field sees its ground"


async def test_who_is_in_the_field_sees_the_value_alone_and_leaves_marks_on_both_sides() -> None:
    app = Form("4k,8k,16k,32k,64k,128k", "braille")
    async with app.run_test(size=(40, 4)) as pilot:
        field = app.query(TextInput).first()
        field.focus()
        field.cursor_position = 12
        await pilot.pause()
        assert "…" not in shown(app)
        begin = field.scroll_offset.x
        assert 0 < begin < 12
        await pilot.press("tab")
        await pilot.pause()
        value = field.value[begin : begin + WIDTH - 2]
        assert shown(app) == f" …{value[1:-1]}… "
