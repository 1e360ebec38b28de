from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.events import CASES, DATA
from tui.library.build import build_record
from tui.model.figure_record import SeriesColumns, SeriesRecord
from tui.model.record import RunRecord
from tui.text.line import plain_lines
from tui.text.plot import MARKS, ROLES, Axis, AxisTicks, Curve, Plot, coloured, known_parts
from tui.view.charts import (
    ChartMetric,
    aligned_charts,
    round_step,
    time_ticks,
    value_axis,
    value_ticks,
)
from tui.view.charts import chart as chart_of


def chart(
    record: RunRecord, metric: ChartMetric = "iops", width: int = 80, height: int = 20
) -> str:
    """Return a chart as plain text."""
    return "\n".join(plain_lines(chart_of(record, metric, width, height)))


METRICS: tuple[ChartMetric, ...] = ("iops", "bandwidth", "latency")


def record_with(*columns: SeriesColumns) -> RunRecord:
    record = build_record(DATA / "ramp")
    record.steps[0].series = SeriesRecord(step_s=1.0, start_s=0.0, columns=list(columns))
    return record


def column(values: list[float | None], direction: str = "read") -> SeriesColumns:
    return SeriesColumns(
        direction=direction, iops=values, bw_bytes_per_s=values, lat_mean_ns=values
    )


def drawn(text: str) -> str:
    """Return what stands between the frame's sides."""
    return "".join(line.split("│", 1)[-1].split("┤", 1)[-1] for line in text.splitlines()[1:-2])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("metric", METRICS)
def test_every_recorded_run_has_a_chart_of_the_size_asked_for(
    case: str, metric: ChartMetric
) -> None:
    lines = chart(build_record(DATA / case), metric, 70, 16).splitlines()
    assert len(lines) == 16
    assert max(len(line) for line in lines) <= 70


def test_axes_have_round_marks_with_units() -> None:
    text = chart(record_with(column([3.1 * 2**30] * 300)), "bandwidth", 100, 20)
    labels = [label.strip() for label in re.findall(r"^(.*)┤", text, re.MULTILINE)]
    assert labels == ["3.2 GiB/s", "2.4 GiB/s", "1.6 GiB/s", "0.8 GiB/s", "0"]
    assert text.splitlines()[-1].split() == ["0:00", "1:00", "2:00", "3:00", "4:00", "5:00"]


def test_without_colour_there_is_no_escape_sequence() -> None:
    assert "\x1b" not in chart(record_with(column([1.0, 2.0])))
    assert "\x1b[38;5;12m" in coloured(chart_of(record_with(column([1.0, 2.0]))))


def test_curves_have_the_roles_of_their_directions() -> None:
    lines = chart_of(
        record_with(column([100.0] * 50), column([50.0] * 50, "write"), column([20.0] * 50, "trim"))
    )
    assert {role for line in lines for _, role in line.runs} == {
        "title",
        "text",
        "label",
        "read",
        "write",
        "other",
    }


def test_a_single_value_is_drawn() -> None:
    assert set(drawn(chart(record_with(column([5000.0])), "iops", 40, 10))) & set("⡇⣿⠛⡄⣶⣤⣀⢸⠃⠘")


def test_a_gap_stays_empty() -> None:
    values: list[float | None] = [100.0] * 40 + [None] * 20 + [100.0] * 40
    bottom = chart(record_with(column(values)), "iops", 106, 12).splitlines()[-3]
    curve = bottom.split("┤", 1)[1] if "┤" in bottom else bottom.split("│", 1)[1]
    middle = curve[len(curve) * 45 // 100 : len(curve) * 55 // 100]
    assert middle.strip() == ""
    assert curve[: len(curve) // 3].strip() != ""


def two_directions(height: int, *, coloured: bool) -> list[str]:
    record = record_with(column([12_300.0] * 50), column([4000.0] * 50, "write"))
    return plain_lines(chart_of(record, "iops", 80, height, coloured=coloured))


def test_two_directions_are_distinguished_without_colour_by_marks_of_one_size() -> None:
    head, *lines = two_directions(20, coloured=False)
    assert head.endswith("  • read  + write")
    assert set(
        "".join(line.partition("│")[2] or line.partition("┤")[2] for line in lines[:-2])
    ) <= {*" ", *MARKS[:2]}


def crossing(*roles: str, coloured: bool) -> list[str]:
    """Draw curves that all meet in one point."""
    curves = [Curve([([0, 1], [at, 10 - at])], role, f"c{at}") for at, role in enumerate(roles)]
    axis = Axis(0, 10, AxisTicks([], []))
    return plain_lines(
        Plot("crossing", curves, Axis(0, 1, AxisTicks([], [])), axis).lines(
            100, 20, coloured=coloured
        )
    )


def test_the_legend_tells_the_mark_of_places_where_curves_meet() -> None:
    assert crossing("read", "write", coloured=False)[0].endswith("  • c0  + c1  # both")
    assert crossing("read", "write", "other", coloured=False)[0].endswith(
        "  • c0  + c1  % c2  # several"
    )


def test_more_curves_than_colours_have_a_mark_each() -> None:
    five = crossing(*ROLES, ROLES[0], coloured=True)
    assert five[0].endswith("  • c0  + c1  % c2  = c3  @ c4  # several")
    assert all(mark in "".join(five[1:-2]) for mark in MARKS[:5])
    assert "━━ c0  ━━ c1" in crossing(*ROLES, coloured=True)[0]


@pytest.mark.parametrize("height", range(8, 40))
def test_every_value_is_on_the_row_that_is_labelled_with_it_and_marks_are_rows_apart(
    height: int,
) -> None:
    axis = value_axis("iops", 12_300.0, height - 3)
    curves = [Curve([([0.0, 1.0], [value, value])], "read") for value in axis.ticks.positions]
    lines = plain_lines(
        Plot("", curves, Axis(0, 1, AxisTicks([], [])), axis).lines(40, height, coloured=True)
    )[1:-2]
    drawn = [at for at, line in enumerate(lines) if any("⠀" < mark <= "⣿" for mark in line)]
    labelled = [at for at, line in enumerate(lines) if "┤" in line]
    assert drawn == labelled and len({b - a for a, b in pairwise(labelled)}) == 1
    assert axis.high >= 12_300.0


def test_marks_of_time_are_the_same_number_of_cells_apart() -> None:
    for width in range(40, 200, 7):
        foot = chart(record_with(column([1.0] * 60)), "iops", width).splitlines()[-2]
        places = [at for at, mark in enumerate(foot) if mark == "┬"]
        assert len({b - a for a, b in pairwise(places)}) == 1


def test_curves_that_cross_keep_the_dots_of_both() -> None:
    flat, steep = Curve([([0, 1], [5, 5])], "read"), Curve([([0, 1], [0, 10])], "write")

    def dots(*curves: Curve) -> list[int]:
        lines = plain_lines(
            Plot("", curves, Axis(0, 1, AxisTicks([], [])), Axis(0, 10, AxisTicks([], []))).lines(
                40, 12
            )
        )[1:-2]
        return [
            ord(mark) - 0x2800 if "⠀" < mark <= "⣿" else 0
            for line in lines
            for mark in line.ljust(40)
        ]

    both = Plot(
        "", [flat, steep], Axis(0, 1, AxisTicks([], [])), Axis(0, 10, AxisTicks([], []))
    ).lines(40, 12, coloured=True)
    found = [ord(mark) - 0x2800 if "⠀" < mark <= "⣿" else 0
             for line in plain_lines(both)[1:-2] for mark in line.ljust(40, " ")]  # fmt: skip
    assert found == [a | b for a, b in zip(dots(flat), dots(steep), strict=True)]


def test_curves_that_coincide_are_both_visible() -> None:
    curves = [Curve([([0, 1], [5, 5])], role) for role in ROLES[:2]]
    lines = Plot("", curves, Axis(0, 1, AxisTicks([], [])), Axis(0, 10, AxisTicks([], []))).lines(
        42, 12, coloured=True
    )
    cells = Counter[str]()
    for line in lines:
        for text, role in line.runs:
            cells[role] += sum("⠀" < mark <= "⣿" for mark in text)
    assert cells[ROLES[0]] == cells[ROLES[1]] == 20


def test_one_chart_leaves_nothing_in_the_next() -> None:
    record = record_with(column([10.0, 20.0, 30.0]))
    first = chart(record)
    chart(record_with(column([9e6] * 100), column([1e6] * 100, "write")), "latency", 120, 30)
    assert chart(record) == first


@pytest.mark.parametrize("columns", [[], [column([])], [column([None, None])]])
def test_a_run_without_values_says_so(columns: list[SeriesColumns]) -> None:
    assert chart(record_with(*columns)) == "no IOPS over time in 20261120T101530Z-test-ramp-0001"


def test_a_run_that_stood_still_has_a_chart() -> None:
    assert "┤" in chart(record_with(column([0.0] * 10)))


@given(
    values=st.lists(st.none() | st.floats(0, 1e12), min_size=1, max_size=200),
    metric=st.sampled_from(METRICS),
)
@settings(max_examples=40, deadline=None)
def test_any_values_give_a_chart(values: list[float | None], metric: ChartMetric) -> None:
    text = chart(record_with(column(values)), metric, 60, 12)
    known = any(value is not None for value in values)
    assert len(text.splitlines()) == (12 if known else 1)


@given(highest=st.floats(1e-3, 1e15), count=st.integers(2, 12), metric=st.sampled_from(METRICS))
def test_value_marks_begin_at_0_and_hold_the_highest_value(
    highest: float, count: int, metric: ChartMetric
) -> None:
    ticks = value_ticks(metric, highest, count)
    assert ticks.positions[0] == 0
    assert ticks.positions[-1] >= highest * (1 - 1e-6)
    assert 2 <= len(ticks.positions) <= count + 2
    assert len(set(ticks.labels)) == len(ticks.labels)


@given(highest=st.floats(1e-3, 1e15), share=st.floats(0.4, 0.95), count=st.integers(2, 12))
def test_value_marks_that_do_not_begin_at_0_hold_all_values(
    highest: float, share: float, count: int
) -> None:
    ticks = value_ticks("iops", highest, count, highest * share)
    first, second, *_ = ticks.positions
    assert first <= highest * share * (1 + 1e-6) and second >= highest * share * (1 - 1e-6)
    assert ticks.positions[-1] >= highest * (1 - 1e-6)
    assert len(ticks.positions) <= count + 3


@given(
    highest=st.floats(1e-3, 1e15), share=st.floats(0.6, 1), rows=st.integers(5, 40),
    metric=st.sampled_from(METRICS)
)  # fmt: skip
def test_a_zoomed_axis_holds_all_values_and_its_ticks_are_labelled_differently(
    highest: float, share: float, rows: int, metric: ChartMetric
) -> None:
    axis = value_axis(metric, highest, rows, highest * share)
    assert axis.low <= highest * share * (1 + 1e-6) and axis.high >= highest * (1 - 1e-6)
    assert axis.ticks.positions[0] == axis.low
    assert len(set(axis.ticks.labels)) == len(axis.ticks.labels) >= 2


def test_charts_below_each_other_have_the_same_axis_of_time() -> None:
    record = record_with(column([200_000.0] * 60))
    charts = aligned_charts(record, ["iops", "latency"], 80, 12)
    feet = {tuple(plain_lines(each)[-2:]) for each in charts}
    assert len(charts) == 2 and len(feet) == 1
    assert "axis starts at" in plain_lines(charts[0])[0]


@given(least=st.floats(1e-9, 1e12))
def test_a_round_step_is_not_below_and_not_far_above(least: float) -> None:
    assert least * (1 - 1e-5) <= round_step(least) <= least * 2.5


@given(seconds=st.floats(1, 1e6), width=st.integers(30, 300))
def test_time_marks_leave_room_for_their_labels(seconds: float, width: int) -> None:
    ticks = time_ticks(seconds, width)
    assert ticks.positions[0] == 0
    assert len(ticks.positions) <= max(1, width // 12) + 1


@given(values=st.lists(st.none() | st.floats(0, 10)))
def test_known_parts_hold_every_known_value_at_its_place(values: list[float | None]) -> None:
    rebuilt: list[float | None] = [None] * len(values)
    for start, part in known_parts(values):
        rebuilt[start : start + len(part)] = part
    assert rebuilt == values
