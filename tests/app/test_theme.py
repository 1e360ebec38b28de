"""Colours and symbols for every kind of terminal."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.color import Color

from tui.app.terminal.theme import SYMBOLS, THEMES, Symbols, pick_symbols, pick_theme


@pytest.mark.parametrize(
    ("environ", "encoding", "name"),
    [
        ({"TERM": "xterm-256color"}, "utf-8", "braille"),
        ({"TERM": "tmux-256color"}, "UTF8", "braille"),
        ({"TERM": "linux"}, "utf-8", "block"),
        ({"TERM": "xterm"}, "ascii", "ascii"),
        ({"TERM": "linux"}, "latin-1", "ascii"),
        ({"TERM": "xterm"}, None, "ascii"),
    ],
)
def test_the_richest_symbols_that_the_terminal_can_show(
    environ: dict[str, str], encoding: str, name: str
) -> None:
    assert pick_symbols(None, environ, encoding).name == name


def test_symbols_asked_for_win() -> None:
    assert pick_symbols("ascii", {"TERM": "xterm-256color"}, "utf-8").name == "ascii"


@pytest.mark.parametrize(
    ("environ", "theme"),
    [
        ({"TERM": "xterm-256color"}, "benchtui-dark"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "benchtui-dark"),
        ({"TERM": "linux"}, "benchtui-ansi"),
        ({"TERM": "vt100"}, "benchtui-ansi"),
        ({"TERM": "vt100", "NO_COLOR": "1"}, "benchtui-dark"),
    ],
)
def test_the_ansi_theme_where_there_are_16_colours_only(
    environ: dict[str, str], theme: str
) -> None:
    assert pick_theme(None, environ) == theme


def test_every_theme_defines_the_same_variables() -> None:
    own = {name for theme in (THEMES["dark"], THEMES["light"]) for name in theme.variables}
    assert set(THEMES["dark"].variables) == set(THEMES["light"].variables) == own
    assert own <= set(THEMES["ansi"].variables)


def texts(symbols: Symbols) -> list[str]:
    return [
        symbols.ok,
        symbols.bad,
        symbols.warn,
        symbols.wait,
        symbols.arrow,
        symbols.dot,
        symbols.open,
        symbols.unknown,
    ]


@pytest.mark.parametrize("symbols", SYMBOLS.values(), ids=SYMBOLS)
def test_symbols_have_fixed_widths_so_that_columns_stay_aligned(symbols: Symbols) -> None:
    assert [cell_len(text) for text in texts(symbols)] == [1] * len(texts(symbols))
    assert {cell_len(text) for text in (symbols.ticked, symbols.watched, symbols.unticked)} == {3}


def test_ascii_symbols_are_ascii() -> None:
    assert all(
        text.isascii()
        for text in (*texts(SYMBOLS["ascii"]), SYMBOLS["ascii"].ticked, SYMBOLS["ascii"].watched)
    )


def test_ok_and_bad_differ_without_colour() -> None:
    assert all(
        len({symbols.ok, symbols.bad, symbols.warn, symbols.wait}) == 4
        for symbols in SYMBOLS.values()
    )


def contrast(one: str, other: str) -> float:
    """As WCAG 2 measures it: 1 to 21."""
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """How bright a colour is, as WCAG 2 says."""
    values = Color.parse(colour).normalized
    parts = (
        each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in values
    )
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


@pytest.mark.parametrize("name", ["dark", "light"])
@pytest.mark.parametrize(
    "role", ["dim", "ok", "warn", "bad", "bright", "series-1", "series-2", "series-3", "series-4"]
)
def test_words_in_every_colour_can_be_read_on_every_ground(name: str, role: str) -> None:
    theme = THEMES[name]
    rows = {theme.variables["cursor-row"], theme.variables["cursor-row-blurred"]}
    grounds = {theme.background, theme.surface, theme.panel, *rows}
    found = {
        ground: contrast(theme.variables[role], ground) for ground in grounds if ground is not None
    }
    assert len(found) == 5 and min(found.values()) >= 4.5, found


def test_16_colours_have_no_words_in_blue_which_cannot_be_read_on_black() -> None:
    theme = THEMES["ansi"]
    grounds = ("background", "cursor-row")
    words = {
        name: each
        for name, each in theme.variables.items()
        if not any(part in name for part in grounds)
    }
    assert "ansi_blue" not in {theme.secondary, theme.accent, theme.foreground, *words.values()}
