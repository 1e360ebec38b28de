"""The value axis of charts a few rows high."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.metrics.registry import METRICS, Metric
from tui.text.plot import TimeAxis, TimeMark
from tui.text.scale import room_of, rows_above, scale_of, ticks_of, with_ticks

IOPS, BANDWIDTH = METRICS["iops"], METRICS["bandwidth"]


@given(st.floats(10, 1e12), st.integers(2, 40), st.sampled_from([IOPS, BANDWIDTH]), st.booleans())
def test_ticks_are_exact_and_equally_far_apart_and_no_value_is_above_the_last(
    most: float, rows: int, metric: Metric, both: bool
) -> None:
    upper = rows_above(rows) if both else rows
    scale = scale_of(most, upper, metric.base)
    values: dict[str, float] = {}

    labels = metric.labels(scale.size)

    def text(value: float) -> str:
        values[labels(value)] = value
        return labels(value)

    ticks = ticks_of(scale, rows, text, "braille", both=both)
    places = sorted(tick.row for tick in ticks)
    assert len(set(places)) == len(places)
    assert places[0] >= 0 and places[-1] <= (rows - 1 if both else rows)
    above = [at for at in places if at <= upper] if both else places
    assert len({b - a for a, b in pairwise(above)}) <= 1
    assert max(values.values()) >= most * 0.998
    assert all(value / scale.top <= 1 + 1e-9 for value in values.values())
    if both:
        assert places == sorted(rows - 1 - at for at in places), "0 is in the middle"
    for shown, value in values.items():
        number = float(shown.rstrip("kMGT").partition(" ")[0])
        size = value / number
        assert any(abs(size / metric.base**power - 1) < 1e-9 for power in range(5)), (shown, value)


@pytest.mark.parametrize(
    ("most", "rows", "base", "step", "apart"),
    [
        (194_000, 3, 1000, 200_000, 3),
        (194_000, 4, 1000, 100_000, 2),
        (2**31, 4, 1024, 2**30, 2),
        (0, 1, 1000, 1, 1),
    ],
)
def test_steps_are_round(most: float, rows: int, base: int, step: float, apart: int) -> None:
    scale = scale_of(most, rows, base)
    assert (scale.step, scale.apart) == (step, apart)


def test_a_chart_is_behind_its_labels() -> None:
    ticks = ticks_of(scale_of(200_000, 4), 4, IOPS.rounded, "braille")
    rows = with_ticks([[("█" * 20, "read")]] * 4, ticks, room_of(ticks, 30), grid=True)
    texts = ["".join(text for text, _ in row) for row in rows]
    assert [text[:5] for text in texts] == ["200k▔", "     ", "100k▔", "     "]
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
