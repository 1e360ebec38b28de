"""The value axis of charts a few rows high."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.app.widgets.graph import nice_ceiling
from tui.metrics.registry import METRICS, Metric
from tui.text.plot import TimeAxis, TimeMark
from tui.text.scale import room_of, steps_of, ticks_of, with_ticks

IOPS, BANDWIDTH = METRICS["iops"], METRICS["bandwidth"]


@given(st.floats(10, 1e12), st.integers(2, 40), st.sampled_from([IOPS, BANDWIDTH]), st.booleans())
def test_each_tick_has_a_row_of_its_own_and_an_exact_text(
    most: float, rows: int, metric: Metric, both: bool
) -> None:
    top = nice_ceiling(most, metric.base)
    below = rows // 2 if both else 0
    values: dict[str, float] = {}

    def text(value: float) -> str:
        values[metric.rounded(value)] = value
        return metric.rounded(value)

    ticks = ticks_of(top, rows - below, text, "braille", base=metric.base, below=below)
    assert len({tick.row for tick in ticks}) == len(ticks) and all(
        0 <= tick.row < rows for tick in ticks
    )
    assert metric.rounded(top) in {tick.text for tick in ticks}
    for shown, value in values.items():
        number = float(shown.rstrip("kMGT").partition(" ")[0])
        size = value / number
        assert any(abs(size / metric.base**power - 1) < 1e-3 for power in range(5)), (shown, value)


@pytest.mark.parametrize(
    ("top", "rows", "base", "steps"),
    [
        (60_000, 12, 1000, 3),
        (120_000, 12, 1000, 4),
        (200_000, 3, 1000, 2),
        (2**31, 10, 1024, 4),
        (3, 1, 1000, 1),
    ],
)
def test_steps_are_round(top: float, rows: int, base: int, steps: int) -> None:
    assert steps_of(top, rows, base) == steps


def test_a_chart_is_behind_its_labels() -> None:
    ticks = ticks_of(200_000, 4, IOPS.rounded, "braille")
    rows = with_ticks([[("█" * 20, "read")]] * 4, ticks, room_of(ticks, 30), grid=True)
    texts = ["".join(text for text, _ in row) for row in rows]
    assert [text[:5] for text in texts] == ["200k▔", "100k▁", "     ", "   0▁"]
    assert {len(text) for text in texts} == {25}


@pytest.mark.parametrize("columns", [30, 57, 200])
def test_a_mark_is_in_the_column_of_its_second_and_cuts_no_time(columns: int) -> None:
    axis = TimeAxis(
        5,
        120,
        marks=(TimeMark(50, "!", "warn", "stall"), TimeMark(900, "x", "bad", "of another load")),
    )
    plain, marked = (
        "".join(text for text, _ in each.foot(columns)) for each in (TimeAxis(5, 120), axis)
    )
    assert (
        len(marked) == columns
        and marked.index("!") == axis.column_of(50, columns)
        and "x" not in marked
    )
    assert set(marked.replace("!", " ").split(" ")) <= set(plain.split(" "))
