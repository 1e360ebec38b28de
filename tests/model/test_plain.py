"""Lists of names that are as long as there is room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.model.plain import some, some_in

NAMES = [f"weka-{number:02}" for number in range(1, 9)]


def test_as_many_names_as_fit_are_reported_and_how_many_more_there_are() -> None:
    assert some_in(NAMES, 70) == ", ".join(NAMES)
    assert some_in(NAMES, 66) == "weka-01, weka-02, weka-03, weka-04, weka-05, weka-06 and 2 more"
    # two lines, as six names and the rest of the sentence need
    assert some_in(NAMES, 35, least=6) == ", ".join(NAMES)
    assert some_in(NAMES, 20, least=1) == "weka-01 and 7 more"


@given(st.lists(st.text("ab", min_size=1, max_size=3), max_size=40), st.integers(0, 100))
def test_no_name_is_left_out_that_would_have_had_room(names: list[str], width: int) -> None:
    told, short = some_in(names, width, least=1), some(names, 1)
    room = -(-len(short) // max(width, 1)) * max(width, 1)
    assert len(told) <= room
    shown = told.partition(" and ")[0].count(",") + 1
    assert all(len(some(names, count)) > room for count in range(shown + 1, len(names) + 1))
