"""Lists of names that are as long as there is room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.model.plain import some_in

NAMES = [f"weka-{number:02}" for number in range(1, 9)]


def test_as_many_names_as_fit_are_told_and_how_many_more_there_are() -> None:
    assert some_in(NAMES, 70) == ", ".join(NAMES)
    assert some_in(NAMES, 69) == "weka-01, weka-02, weka-03, weka-04, weka-05, weka-06 and 2 more"
    assert some_in(NAMES, 20, least=1) == "weka-01 and 7 more"


@given(st.lists(st.text("ab", min_size=1, max_size=3), max_size=40), st.integers(0, 100))
def test_no_name_is_left_out_that_would_have_had_room(names: list[str], width: int) -> None:
    told = some_in(names, width, least=1)
    first = told.partition(" and ")[0]
    assert len(told) <= width or first in ("", names[0])
    assert ", ".join(names) == told or len(", ".join(names)) > width
