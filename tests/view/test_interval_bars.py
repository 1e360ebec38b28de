"""Intervals drawn on one scale."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.analysis.compare import Change
from tui.analysis.stats import Effect
from tui.model.plan import Headline
from tui.text.line import Line
from tui.view.comparison import bar_role
from tui.view.interval_bars import HALF, WIDTH, interval_bars

RATIOS = st.lists(st.floats(0.01, 20.0), min_size=3, max_size=3).map(sorted)


def changed(low: float, ratio: float, high: float) -> Change:
    effect = Effect(ratio, low, high, 0.01, "repetitions")
    return Change(Headline("iops", "read"), "read.iops", "read IOPS", "IOPS", 1.0, ratio, (1.0,),
        (ratio,), "better",
                  effect=effect)  # fmt: skip


@given(st.lists(RATIOS, min_size=1, max_size=5))
def test_what_is_drawn_lies_on_the_side_of_no_change_where_the_interval_does(
    found: list[list[float]],
) -> None:
    rows = [changed(*each) for each in found]
    (column,) = interval_bars(rows, bar_role, drop=1)
    for (low, _, high), row in zip(found, rows, strict=True):
        drawn = Line.of(*column.runs(row)).plain
        assert len(drawn) == WIDTH and "●" in drawn
        below, above = drawn[:HALF].strip(), drawn[HALF + 1 :].strip()
        assert not below or low < 1
        assert not above or high > 1


def test_an_interval_that_is_not_known_draws_nothing_but_the_line_of_no_change() -> None:
    known, unknown = (
        changed(0.9, 1.0, 1.1),
        Change(Headline("iops", "read"), "", "", "", None, None, (), (), "not measured"),
    )
    (column,) = interval_bars([known, unknown], bar_role, drop=1)
    assert Line.of(*column.runs(unknown)).plain.strip() == "│"
    assert not interval_bars([unknown], bar_role, drop=1)
