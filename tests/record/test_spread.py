"""Points of a sweep are the best, or a knee, only as far as repetitions tell them apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.app.matrix_maker import JOBS, line_sweep
from tests.samples.matrices import cell, ceph, line
from tests.view.test_matrix_table import text_of
from tui.app.screens.result_page import Page
from tui.app.screens.result_text import steps
from tui.judge.wording import message_of
from tui.library.build import build_record
from tui.metrics.repeat import relative_ci, shows_ci
from tui.model.record import Finding, RunRecord
from tui.record.cells import Cell, cells_of_record
from tui.record.matrix import MatrixTable, best_of, same, tables_of
from tui.view.matrix import knee_texts, table_notes
from tui.view.run_summary import summary_text
from tui.view.step_notes import repeated_text

AXIS = ("1", "2", "4", "8", "16")


def repeated(*points: tuple[float, ...]) -> list[Cell]:
    """Return a sweep whose points were measured several times."""
    return [
        cell({"numjobs": n}, *values, ci=relative_ci(values))
        for n, values in zip(AXIS, points, strict=False)
    ]


def table(cells: list[Cell]) -> MatrixTable:
    (found,) = tables_of(cells)
    return found


def test_points_whose_repetitions_overlap_cannot_be_distinguished() -> None:
    low, high, far = repeated((100, 104, 108), (107, 110, 112), (120, 121, 122))
    assert same(low, high) and not same(low, far)


def test_points_that_were_measured_once_differ_from_five_per_cent_on() -> None:
    one, near, far = line("numjobs", AXIS[:3], [100, 104, 106])
    assert same(one, near) and not same(one, far)


def test_the_best_names_those_that_are_equal_to_it() -> None:
    cells = line("numjobs", AXIS, [100, 200, 400, 410, 405])
    best, equal = best_of(cells)
    assert best is cells[3] and equal == [cells[2], cells[4]]
    (said,) = [text for text in table_notes([table(cells)]) if "within noise" in text]
    assert (
        said == "within noise of the best, numjobs=8: numjobs=4, numjobs=16; each measured"
        " once, so 5 % counts as noise"
    )


def test_of_latencies_the_lowest_is_the_best() -> None:
    cells = [
        cell({"numjobs": n}, value, unit="ns")
        for n, value in zip(AXIS, (9e5, 3e5, 6e5), strict=False)
    ]
    assert best_of(cells)[0] is cells[1]


def test_a_knee_that_is_no_higher_than_the_point_before_it_is_not_named() -> None:
    clear = repeated((100, 101), (200, 201), (300, 301), (305, 306), (306, 307))
    assert [found.cell.name for found in table(clear).knees] == ["numjobs=4"]
    loose = repeated((100, 101), (200, 201), (190, 300), (305, 306), (306, 307))
    assert table(loose).knees == ()


def test_after_a_knee_it_says_whether_the_next_point_is_equal() -> None:
    (text,) = knee_texts(
        table(repeated((100, 101), (200, 201), (299, 303), (302, 306), (306, 307)))
    )
    assert text.endswith("8 equal within noise, +1.0 %")
    (once,) = [text for text in knee_texts(table(ceph())) if "with bs=1M" in text]
    assert once.endswith("16 gives +5.4 %")


@pytest.mark.parametrize("change", [{"short": "0.2 s"}, {"invalid": True}])
def test_a_point_that_is_invalid_or_too_short_is_neither_knee_nor_best(
    change: dict[str, object],
) -> None:
    cells = line("numjobs", AXIS, [100, 200, 400, 410, 405])
    assert [found.cell for found in table(cells).knees] == [cells[2]]
    spoilt = [replace(each, **change) if each is cells[2] else each for each in cells]
    assert spoilt[2] not in [found.cell for found in table(spoilt).knees]
    best, _ = best_of([replace(each, **change) if each is cells[3] else each for each in cells])
    assert best is cells[4]


def test_a_figure_that_is_invalid_has_its_mark_in_tables() -> None:
    cells = line("numjobs", AXIS, [100, 200, 400, 410, 405])
    cells[3] = replace(cells[3], invalid=True)
    (row,) = [
        text
        for text in text_of(table(cells))
        if text.startswith("8") or text.lstrip().startswith("8")
    ]
    assert "✗410" in row and row.endswith("INVALID")
    grid = [replace(each, texts={"bs": bs, **each.texts}) for bs in ("4k", "8k") for each in cells]
    assert sum("✗410" in text for text in text_of(table(grid))) == 2


def test_a_half_width_is_printed_from_three_repetitions_on_and_below_the_mean() -> None:
    assert not shows_ci([1.0, 2.0], relative_ci([1.0, 2.0]))
    assert shows_ci([1.00, 1.01, 1.02], relative_ci([1.00, 1.01, 1.02]))
    assert not shows_ci([1.0, 2.0, 9.0], relative_ci([1.0, 2.0, 9.0]))
    two, three = (
        table(repeated((100, 200), (300, 310))),
        table(repeated((100, 101, 102), (300, 301, 302))),
    )
    assert not any("±" in text and "%" in text for text in text_of(two)[1:])
    assert any("±2.5 %" in text for text in text_of(three))


def swept(tmp_path: Path, *figures: float) -> RunRecord:
    return build_record(line_sweep(tmp_path).steps_done(dict(enumerate(figures))).finish().run_dir)


def test_a_sweep_whose_best_is_not_distinguished_has_a_note(tmp_path: Path) -> None:
    record = swept(tmp_path, 100, 200, 400, 800, 810)
    (found,) = [each for each in record.findings if each.id == "sweep"]
    assert found.severity == "info"
    assert "numjobs=16 is best, but within noise of numjobs=8" in message_of(found)


def test_a_sweep_with_a_clear_best_has_none(tmp_path: Path) -> None:
    record = swept(tmp_path, 100, 200, 400, 800, 1600)
    assert "sweep" in (record.checks or ()) and not [
        each for each in record.findings if each.id == "sweep"
    ]


def test_the_headline_is_that_of_a_point_that_counts(tmp_path: Path) -> None:
    maker = line_sweep(tmp_path)
    maker.steps_done(dict(enumerate((100, 200, 300, 400))))
    maker.runtime_s = 0.5  # the last point ends at once, and is the fastest
    record = build_record(maker.steps_done({4: 9000}).finish().run_dir)
    assert record.headline is not None and record.headline.value is not None
    assert (round(record.headline.value), record.headline.step) == (400, 3)
    assert [each.short for each in cells_of_record(record)] == ["", "", "", "", "0.5 s"]
    assert len(JOBS) == 5


def test_a_headline_of_repetitions_says_how_well_it_is_known(tmp_path: Path) -> None:
    record = swept(tmp_path, 100, 200, 400, 800, 1600)
    assert repeated_text(record) == ""
    assert record.matrix is not None and record.headline is not None
    at = next(each for each in record.matrix.cells if record.headline.step in each.steps)
    at.values, at.ci_relative = [1600.0, 1610.0, 1620.0], 0.0154
    assert repeated_text(record) == "median of 3; mean 1.61k ± 1.5 % (95 %)"
    at.values, at.ci_relative = [1500.0, 1700.0], 0.794
    assert repeated_text(record) == "median of 2, from 1.50k to 1.70k"


# -- the mark of an invalid figure


def spoilt(record: RunRecord, **scope: object) -> RunRecord:
    record.findings.append(
        Finding(id="tool-errors", severity="error", scope=scope, message="it failed")
    )
    record.verdict = "invalid"
    return record


def test_a_point_with_an_error_is_marked_in_the_tables_of_a_record(tmp_path: Path) -> None:
    record = spoilt(swept(tmp_path, 100, 200, 400, 800, 1600), step=3)
    assert [each.invalid for each in cells_of_record(record)] == [False, False, False, True, False]
    text = summary_text(record, steps=True)
    assert [line.split()[0] for line in text.splitlines() if "✗" in line] == ["8"]
    assert [line for line in text.splitlines() if line.startswith("numjobs=8 INVALID ")]


def test_an_error_of_the_run_whole_marks_every_point(tmp_path: Path) -> None:
    record = spoilt(swept(tmp_path, 100, 200, 400, 800, 1600), hosts="h1")
    assert all(each.invalid for each in cells_of_record(record))


def test_the_verdict_is_next_to_the_headline(tmp_path: Path) -> None:
    record = spoilt(swept(tmp_path, 100, 200, 400, 800, 1600), step=3)
    (line,) = [line for line in summary_text(record).splitlines() if line.startswith("headline: ")]
    assert line.endswith("; INVALID")


def test_steps_on_the_result_screen_bear_the_mark(tmp_path: Path) -> None:
    record = spoilt(swept(tmp_path, 100, 200, 400, 800, 1600), step=3)
    lines = [line.plain for line in steps(Page(record, tmp_path), 100)]
    assert [line.strip().endswith("✗ 800 IOPS") for line in lines if "numjobs=8" in line] == [True]
    assert sum("✗" in line for line in lines) == 1
