"""The matrix of a run as `runs show` prints it: from a record, and as a chart."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.app.matrix_maker import figures_of, suite, sweep
from tests.samples.matrices import cell, line
from tui.library.build import build_record
from tui.model.plan import Headline
from tui.model.record import RunRecord
from tui.record.cells import cells_of_record
from tui.record.matrix import tables_of
from tui.text.line import plain_lines
from tui.view.matrix_chart import axis_ticks, is_logarithmic, table_chart
from tui.view.run_summary import summary_text


def record_of(maker: object) -> RunRecord:
    return build_record(maker.run_dir)  # type: ignore[attr-defined]


@pytest.fixture
def swept(tmp_path: Path) -> RunRecord:
    return record_of(sweep(tmp_path).steps_done(dict(enumerate(figures_of()))).finish())


def test_the_matrix_comes_before_the_steps_which_are_asked_for(swept: RunRecord) -> None:
    text = summary_text(swept)
    assert text.index("read IOPS") < text.index(
        f"all 20 steps: benchtui runs show --steps {swept.run_id}"
    )
    assert "bs=4k numjobs=16              read" not in text
    every = summary_text(swept, steps=True).splitlines()
    assert len([each for each in every if each.startswith("bs=4k numjobs=")]) == 5


def test_a_grid_is_printed_with_its_best_points_and_knees(swept: RunRecord) -> None:
    lines = summary_text(swept).splitlines()
    assert "bs          1        2        4        8       16" in lines
    assert "64k     18.0k    34.0k    52.0k ◆  55.0k    54.0k" in lines
    words = [each.split() for each in lines]
    assert ["64k", "8–16", "55.0k", "3.36", "GiB/s", "4", "+5.8", "%"] in words
    assert not any("knee at" in each for each in lines), "the table has them"


def test_lines_of_a_matrix_fit_80_columns(swept: RunRecord) -> None:
    assert max(map(len, summary_text(swept).splitlines())) <= 80


def test_repetitions_are_medians_and_it_says_so(tmp_path: Path) -> None:
    figures = [value * factor for value in figures_of(["4k"]) for factor in (0.9, 1.0, 1.1)]
    record = record_of(
        sweep(tmp_path, ["4k"], times=3).steps_done(dict(enumerate(figures))).finish()
    )
    (first, *_) = cells_of_record(record)
    assert (first.value, min(first.values), max(first.values)) == pytest.approx(
        (31_000, 27_900, 34_100)
    )
    assert (first.made, first.planned) == (3, 3)
    assert "27.9k–34.1k" in summary_text(record)
    assert "figures are medians of repetitions" in summary_text(record)


def test_a_run_that_was_cut_off_does_not_run_any_more(tmp_path: Path) -> None:
    record = record_of(sweep(tmp_path, ["4k"]).steps_done({0: 1000.0}).start_step(1))
    assert [found.state for found in cells_of_record(record)] == [
        "done",
        "cut",
        "missing",
        "missing",
        "missing",
    ]
    assert [found.state for found in cells_of_record(record, running=True)][1] == "running"
    assert "stopped" in summary_text(record) and "not measured" in summary_text(record)


def test_a_suite_has_a_row_a_profile(tmp_path: Path) -> None:
    record = record_of(
        suite(tmp_path).steps_done({0: 2_000_000.0, 1: 400_000.0, 2: 9_000.0}).finish()
    )
    lines = [" ".join(each.split()[:5]) for each in summary_text(record).splitlines()]
    assert "weka/read-throughput read bandwidth 7.63 GiB/s" in lines
    assert "weka/read-iops read IOPS 400k IOPS" in lines


def test_another_figure_can_be_put_into_the_cells(swept: RunRecord) -> None:
    (first, *_) = cells_of_record(swept, Headline("bandwidth", "read"))
    assert first.value == pytest.approx(31_000 * 4096)
    assert (first.unit, first.what) == ("bytes_per_s", "read bandwidth")


# -- charts


def test_a_sweep_is_drawn_over_its_axis_one_curve_a_value_of_the_other(swept: RunRecord) -> None:
    (table,) = tables_of(cells_of_record(swept))
    lines = plain_lines(table_chart(table, 90, 18))
    assert lines[0].startswith("read IOPS by numjobs, log scale  ")
    assert lines[0].endswith("  • bs=4k  + bs=16k  % bs=64k  = bs=256k  # several")
    assert lines[-1].split() == ["1", "2", "4", "8", "16"]
    assert any("◆" in line for line in lines)
    assert max(map(len, lines)) <= 90


def test_a_suite_without_sweeps_has_no_chart(tmp_path: Path) -> None:
    (table,) = tables_of(
        cells_of_record(record_of(suite(tmp_path).steps_done({0: 1.0, 1: 1.0}).finish()))
    )
    assert table_chart(table, 80, 20) == []


def test_curves_bear_their_roles_and_the_knee_stands_out(swept: RunRecord) -> None:
    (table,) = tables_of(cells_of_record(swept))
    lines = table_chart(table, 90, 18, coloured=True)
    roles = {role for line in lines for text, role in line.runs if text.strip()}
    assert roles == {"read", "write", "other", "latency", "good", "label", "title", "faint"}
    assert any(run == ("◆", "good") for line in lines for run in line.runs)


def test_a_point_that_is_invalid_is_marked_in_the_chart_and_the_mark_is_reported(
    swept: RunRecord,
) -> None:
    cells = cells_of_record(swept)
    (table,) = tables_of([replace(cell, invalid=place == 2) for place, cell in enumerate(cells)])
    lines = table_chart(table, 90, 18, coloured=True)
    assert sum(run == ("✗", "bad") for line in lines[:-1] for run in line.runs) == 1
    assert lines[-1].plain.strip() == "✗ invalid: see findings"


def test_powers_of_two_and_wide_ranges_are_drawn_in_doublings() -> None:
    assert is_logarithmic([1, 2, 4, 8])
    assert is_logarithmic([1, 3, 10, 30])
    assert not is_logarithmic([1, 2, 3, 4])
    assert not is_logarithmic([0, 1, 2])
    assert not is_logarithmic([1, 2])


def test_marks_that_would_touch_are_left_out() -> None:
    ticks = axis_ticks([(float(n), f"{n}000k") for n in range(100)], 80)
    assert ticks.labels[0] == "0000k"
    assert len(ticks.labels) < 16


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(0, 1e12), min_size=2, max_size=30), st.integers(30, 150), st.integers(8, 20)
)
def test_any_sweep_has_a_chart_of_the_size_asked_for(
    figures: list[float], width: int, height: int
) -> None:
    (table,) = tables_of(line("n", [str(n + 1) for n in range(len(figures))], figures))
    lines = plain_lines(table_chart(table, width, height))
    assert len(lines) == height
    assert max(map(len, lines)) <= width


def test_a_point_alone_has_no_chart() -> None:
    (table,) = tables_of([cell({"n": "1"}, 5.0)])
    assert table_chart(table, 80, 16) == []
