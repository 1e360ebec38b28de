"""Colours, symbols and themes, and a style sheet that parses each part once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from textual.css.stylesheet import Stylesheet
from textual.theme import Theme

SymbolSet = Literal["braille", "block", "ascii"]


class Symbols(Struct, frozen=True):
    """The characters of one symbol set.

    Each is one cell wide, except for the three ticks, which are three cells.
    """

    name: SymbolSet
    ticked: str
    watched: str  # the tick of a host that is only monitored
    unticked: str
    ok: str
    bad: str
    warn: str
    wait: str
    arrow: str
    dot: str
    open: str
    unknown: str
    superscript: bool


SYMBOLS: dict[str, Symbols] = {
    "braille": Symbols(
        "braille", " ■ ", " ● ", " □ ", "✓", "✗", "!", "·", "›", "·", "▾", "–", True
    ),
    "block": Symbols("block", " ■ ", " ○ ", " · ", "√", "x", "!", "·", "»", "·", "▼", "-", False),
    "ascii": Symbols("ascii", "[x]", "[o]", "[ ]", "+", "x", "!", ".", ">", "-", "v", "-", False),
}


def pick_symbols(wanted: str | None, environ: Mapping[str, str], encoding: str | None) -> Symbols:
    """Return the requested symbol set, otherwise the best one that the terminal can show.

    That is ASCII without UTF-8, blocks on the Linux console (its fonts have no braille), otherwise
    braille.
    """
    if wanted is None:
        utf8 = (encoding or "").lower().replace("-", "").replace("_", "") == "utf8"
        wanted = "ascii" if not utf8 else "block" if environ.get("TERM") == "linux" else "braille"
    return SYMBOLS[wanted]


DARK = Theme(
    name="benchtui-dark",
    primary="#6cb6ff",
    secondary="#8fa3bf",
    accent="#6cb6ff",
    warning="#e3b341",
    error="#f47067",
    success="#6bc46d",
    foreground="#c9d4e3",
    background="#0f131a",
    surface="#151b25",
    panel="#1c2431",
    boost="#1c2431",
    dark=True,
    variables={
        "edge": "#2c3747",
        "dim": "#8593aa",
        "bright": "#eef3fa",
        "ok": "#6bc46d",
        "warn": "#e3b341",
        "bad": "#f47067",
        "cursor-row": "#1a2c43",
        "cursor-row-blurred": "#1a222f",
        "cursor-row-blurred-style": "none",
        "series-1": "#6cb6ff",
        "series-2": "#e3b341",
        "series-3": "#b392f0",
        "series-4": "#56d4bc",
        "input-cursor-background": "#6cb6ff",
        "input-cursor-foreground": "#0f131a",
        "input-selection-background": "#6cb6ff 30%",
        "scrollbar": "#2c3747",
        "scrollbar-hover": "#3d4b60",
        "scrollbar-active": "#6cb6ff",
        "scrollbar-background": "#0f131a",
        "scrollbar-background-hover": "#0f131a",
        "scrollbar-background-active": "#0f131a",
        "scrollbar-corner-color": "#0f131a",
        "block-cursor-background": "#1a2c43",
        "block-cursor-foreground": "#eef3fa",
        "block-cursor-text-style": "none",
    },
)

LIGHT = Theme(
    name="benchtui-light",
    primary="#0757ad",
    secondary="#4a5b73",
    accent="#0757ad",
    warning="#835500",
    error="#b3261e",
    success="#166629",
    foreground="#24303f",
    background="#f6f7f9",
    surface="#eceff3",
    panel="#e1e6ed",
    boost="#e1e6ed",
    dark=False,
    variables={
        "edge": "#bcc6d3",
        "dim": "#55627a",
        "bright": "#0b1420",
        "ok": "#166629",
        "warn": "#835500",
        "bad": "#b3261e",
        "cursor-row": "#cfe2f9",
        "cursor-row-blurred": "#e4e9f0",
        "cursor-row-blurred-style": "none",
        "series-1": "#0757ad",
        "series-2": "#8f5100",
        "series-3": "#6f42c1",
        "series-4": "#086b5d",
        "input-cursor-background": "#0757ad",
        "input-cursor-foreground": "#f6f7f9",
        "input-selection-background": "#0757ad 25%",
        "scrollbar": "#bcc6d3",
        "scrollbar-hover": "#97a5b7",
        "scrollbar-active": "#0757ad",
        "scrollbar-background": "#f6f7f9",
        "scrollbar-background-hover": "#f6f7f9",
        "scrollbar-background-active": "#f6f7f9",
        "scrollbar-corner-color": "#f6f7f9",
        "block-cursor-background": "#cfe2f9",
        "block-cursor-foreground": "#0b1420",
        "block-cursor-text-style": "none",
    },
)

ANSI = Theme(
    name="benchtui-ansi",
    ansi=True,
    primary="ansi_cyan",
    secondary="ansi_default",  # blue on black cannot be read
    accent="ansi_cyan",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "edge": "ansi_bright_black",
        "dim": "ansi_bright_black",
        "bright": "ansi_default",
        "ok": "ansi_green",
        "warn": "ansi_yellow",
        "bad": "ansi_red",
        "cursor-row": "ansi_blue",
        "cursor-row-blurred": "ansi_default",
        # no palette has a second ground that all its colours can be read on
        "cursor-row-blurred-style": "underline",
        "series-1": "ansi_cyan",
        "series-2": "ansi_yellow",
        "series-3": "ansi_magenta",
        "series-4": "ansi_green",
        "border-blurred": "ansi_bright_black",
        "block-cursor-foreground": "ansi_white",
        "block-cursor-background": "ansi_blue",
        "block-cursor-text-style": "none",
        "input-cursor-background": "ansi_white",
        "input-cursor-foreground": "ansi_black",
        "input-selection-background": "ansi_blue",
        "input-selection-foreground": "ansi_white",
        "screen-selection-background": "ansi_blue",
        "screen-selection-foreground": "ansi_white",
        "scrollbar": "ansi_bright_black",
        "scrollbar-hover": "ansi_bright_black",
        "scrollbar-active": "ansi_cyan",
        "scrollbar-background": "ansi_default",
        "scrollbar-background-hover": "ansi_default",
        "scrollbar-background-active": "ansi_default",
        "scrollbar-corner-color": "ansi_default",
    },
)

THEMES: dict[str, Theme] = {"dark": DARK, "light": LIGHT, "ansi": ANSI}


def pick_theme(wanted: str | None, environ: Mapping[str, str]) -> str:
    """Return Textual's name for the requested theme.

    By default that is dark, or ansi if the environment announces only 16 colours.
    """
    if wanted is None:
        many = "256" in environ.get("TERM", "") or environ.get("COLORTERM") in (
            "truecolor",
            "24bit",
        )
        wanted = "dark" if many or "NO_COLOR" in environ else "ansi"
    return THEMES[wanted].name


class KeptStylesheet(Stylesheet):
    """A style sheet that keeps the parsed rules of each part until colours change."""

    def reparse(self) -> None:
        """Combine all parts again.

        Raises the errors of `parse`; the previous rules then stay in use.
        """
        self.parse()
