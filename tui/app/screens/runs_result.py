"""Figures and charts of the run under the cursor, for large terminals."""

from __future__ import annotations

from pathlib import Path

from tui.app.screens.result_charts import charts_in_row, over_time
from tui.app.screens.result_page import Page, matrix_lines, page_of
from tui.app.screens.result_text import figures
from tui.library.load import load_record
from tui.model.problem import BenchtuiError
from tui.model.rundir import RECORD_FILE
from tui.text.line import Line, rule
from tui.view.search import capacity_lines
from tui.view.step_notes import measured_nothing

LARGEST = 4 * 2**20  # larger records are not read while moving through the list
LEAST_CHART = 9  # rows


def read_page(run_dir: Path, *, colors: bool) -> Page | None:
    """Return the record of a run as a page.

    None if there is no record, a very large one, or nothing was measured.
    """
    path = run_dir / RECORD_FILE
    try:
        if path.stat().st_size > LARGEST:
            return None
        record = load_record(run_dir)
    except (OSError, BenchtuiError):
        return None  # the preview says why
    if measured_nothing(record):
        return None
    return page_of(record, path, colors=colors)


def measured_lines(page: Page, width: int, height: int) -> list[Line]:
    """Return figures and charts in about `height` lines of `width` cells."""
    if page.record.search is not None:
        return capacity_lines(
            page.record.search, width, max(height // 2, LEAST_CHART), coloured=page.colors
        )
    if page.shown_matrix is not None:
        found = matrix_lines(page.shown_matrix, width, max(height // 2, LEAST_CHART))
        return [rule("Points", "", width), *found[1:]]  # no cursor moves in it here
    lines = figures(page, width)
    charts = course_lines(page, width, height - len(lines) - 1)
    return [*lines, Line(), *charts] if charts else lines


def course_lines(page: Page, width: int, height: int) -> list[Line]:
    """Return the headline's metric over time and, if both charts fit, latency below it.

    Empty for a search or a matrix, or without samples.
    """
    step = page.shown_step
    if (
        page.record.search is not None
        or page.shown_matrix is not None
        or step is None
        or step.series is None
    ):
        return []
    charts = over_time(page, width, max((height - 1) // 2, LEAST_CHART))
    if height < 2 * LEAST_CHART + 1 or len(charts) < 2:
        return over_time(page, width, max(height, LEAST_CHART))[0]
    return [*charts[0], Line(), *charts[1]]


def row_lines(page: Page, width: int, height: int) -> list[Line]:
    """Return rate and latency over time next to each other, or the table of a matrix.

    Empty if they do not fit into the height.
    """
    if page.shown_matrix is not None:
        found = matrix_lines(page.shown_matrix, width, LEAST_CHART)
        lines = [rule("Points", "", width), *found[1:]]  # no cursor moves in it here
        return lines if len(lines) <= height else []
    is_one_step = page.record.search is None and page.shown_step is not None
    return charts_in_row(page, width, height) if is_one_step and height >= LEAST_CHART else []
