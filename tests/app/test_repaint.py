"""What is sent to the terminal: the same picture in fewer bytes."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.app.terminal.driver import Colours, TightUpdate

SEQUENCE = re.compile("\x1b\\[([0-9;]*)([mH])")
COLOURS = ["default", "red", "bright_blue", "color(200)", "#102030", "#000000", "#ffffff"]
STYLES = st.builds(
    Style, color=st.sampled_from([None, *COLOURS]), bgcolor=st.sampled_from([None, *COLOURS]),
    bold=st.booleans(), dim=st.booleans(), reverse=st.booleans(),
)  # fmt: skip
TEXTS = st.sampled_from(["a", "bc", " ", "\n", "\x1b[3;7H", "é"])
PIECES = st.lists(st.tuples(TEXTS, STYLES), max_size=8)
TRUE = ColorSystem.TRUECOLOR
DEFAULTS = {"39": "front", "49": "back"}


def seen(sent: str) -> list[tuple[str, dict[str, str]]]:
    """Return what a terminal does with what it is sent: each character with its looks, and each
    move.
    """
    found: list[tuple[str, dict[str, str]]] = []
    looks: dict[str, str] = {}
    at = 0
    while at < len(sent):
        sequence = SEQUENCE.match(sent, at)
        if sequence is None:
            found.append((sent[at], dict(looks)))
            at += 1
            continue
        at = sequence.end()
        if sequence[2] == "H":
            found.append((sequence[0], {}))
        else:
            apply(sequence[1].split(";"), looks)
    return [*found, ("end", looks)]


def apply(numbers: list[str], looks: dict[str, str]) -> None:
    """Change looks as SGR says."""
    while numbers:
        first = numbers.pop(0)
        if first in ("", "0"):
            looks.clear()
        elif first in ("38", "48"):
            taken = 4 if numbers[0] == "2" else 2
            looks["front" if first == "38" else "back"] = ";".join(numbers[:taken])
            del numbers[:taken]
        elif first in DEFAULTS:
            looks.pop(DEFAULTS[first], None)
        elif len(first) > 1:
            looks["front" if first[-2] in "39" else "back"] = first
        else:
            looks[first] = "on"


@given(st.lists(PIECES, max_size=4))
def test_what_is_left_out_changes_nothing_on_the_terminal(
    writes: list[list[tuple[str, Style]]],
) -> None:
    colours = Colours()
    whole = [
        "".join(style.render(text, color_system=TRUE) for text, style in each) for each in writes
    ]
    lean = [colours.lean(each) for each in whole]
    assert seen("".join(lean)) == seen("".join(whole))
    assert all(len(after) <= len(before) for before, after in zip(whole, lean, strict=True))


WORDS = ["\x1b[1m", "\x1b[31m", "\x1b[0m", "\x1b[m", "\x1b[0;32m", "\x1b[1;;4m", "x"]


@given(st.lists(st.sampled_from(WORDS), max_size=9))
def test_looks_that_were_set_one_after_the_other_add_up(parts: list[str]) -> None:
    colours = Colours()
    assert seen("".join(map(colours.lean, parts))) == seen("".join(parts))


def test_a_colour_that_is_set_already_is_not_sent_again() -> None:
    ground = Style(color="#111111", bgcolor="#222222")
    other = Style(color="#333333", bgcolor="#222222")
    sent = "".join(
        each.render(text, color_system=TRUE) for text, each in [("a", ground), ("b", other)]
    )
    assert Colours().lean(sent) == "\x1b[38;2;17;17;17;48;2;34;34;34ma\x1b[38;2;51;51;51mb\x1b[0m"


def test_of_a_row_only_the_columns_that_changed_are_sent() -> None:
    left, right = Strip([Segment("abcdef")]), Strip([Segment("uvwxyz")])
    update = TightUpdate(
        [{0: left, 6: right}, {0: None, 6: right}], [(0, 4, 8), (1, 2, 12)], [[6, 12], [6, 12]]
    )
    assert (
        update.render_segments(Console(color_system=None))
        == "\x1b[1;5Hef\x1b[1;7Huv\x1b[2;7Huvwxyz"
    )
