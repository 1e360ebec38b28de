"""How far a run of many steps is, and what its plan comes to."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app.matrix_maker import MatrixMaker, suite, sweep
from tui.cli.shared.progress import status_text
from tui.journal.fold import fold
from tui.journal.reader import JournalTail
from tui.journal.state import RunState
from tui.model.event import PhaseStarted, StepEnded
from tui.record.progress import OVERHEAD_S, MatrixProgress, matrix_progress
from tui.view.live_wait import cells_text
from tui.view.plan import written_bytes
from tui.view.plan_steps import grids_of, parts_of, steps_text

RUNTIME_S = 20.0


def state_of(maker: MatrixMaker) -> RunState:
    state = RunState()
    for event in JournalTail(maker.journal).poll():
        fold(state, event)
    return state


def progress_of(maker: MatrixMaker, later_s: float = 0.0) -> MatrixProgress:
    state = state_of(maker)
    found = matrix_progress(maker.plan, state, state.t + later_s)
    assert found is not None
    return found


@pytest.fixture
def maker(tmp_path: Path) -> MatrixMaker:
    """A sweep of two by five points."""
    return sweep(tmp_path, ["4k", "16k"])


def test_before_the_first_step_everything_is_left(maker: MatrixMaker) -> None:
    found = progress_of(maker)
    assert (found.number, found.over, found.cells_over) == (0, 0, 0)
    steps_s = sum(step.expected_s or 0.0 for step in maker.plan.steps)
    left_s = steps_s + 10 * OVERHEAD_S
    assert found.remaining_s == pytest.approx(left_s)
    spent_s = state_of(maker).t
    assert found.fraction == pytest.approx(spent_s / (spent_s + left_s)), "as the clock shows"


def test_time_around_the_load_is_taken_from_the_steps_that_are_over(maker: MatrixMaker) -> None:
    maker.steps_done({0: 1000.0, 1: 2000.0}).start_step(2)
    found = progress_of(maker, later_s=10.0)
    assert (found.number, found.over, found.cells_over) == (3, 2, 2)
    each = state_of(maker).steps[0].ended_t - state_of(maker).steps[0].started_t  # type: ignore[operator]
    assert found.remaining_s == pytest.approx(8 * each - 10.5, abs=0.01)
    assert 0.2 < found.fraction < 0.3


def test_a_cell_is_over_with_its_last_repetition(tmp_path: Path) -> None:
    maker = sweep(tmp_path, ["4k"], ["1", "2"], times=2).steps_done({0: 1.0})
    assert progress_of(maker).cells_over == 0
    maker.add(StepEnded(t=maker.t, step=1, skipped=True))
    assert (progress_of(maker).cells_over, progress_of(maker).over) == (1, 2)


def test_a_point_that_was_stopped_is_over_but_not_done(tmp_path: Path) -> None:
    maker = sweep(tmp_path, ["4k"], ["1", "2"]).steps_done({0: 1.0}).start_step(1)
    maker.add(StepEnded(t=maker.t, step=1, ok=False, cut=True)).finish("partial")
    assert (progress_of(maker).cells_over, progress_of(maker).over) == (1, 2)


def test_steps_without_an_end_in_time_are_as_long_as_those_before(tmp_path: Path) -> None:
    maker = suite(tmp_path)
    unbound = [msgspec.structs.replace(step, runtime_s=None) for step in maker.plan.steps]
    maker.plan = msgspec.structs.replace(maker.plan, steps=unbound)
    assert progress_of(maker).remaining_s is None
    maker.steps_done({0: 1.0})
    assert progress_of(maker).remaining_s == pytest.approx(2 * (RUNTIME_S + 1.0), abs=0.1)


def test_pauses_count(tmp_path: Path) -> None:
    maker = sweep(tmp_path, ["4k"], ["1", "2"])
    before = progress_of(maker).remaining_s
    maker.plan.steps[1].pause_s = 100.0
    assert progress_of(maker).remaining_s == pytest.approx((before or 0.0) + 100.0)
    maker.steps_done({0: 1.0}).add(PhaseStarted(t=maker.t, phase="pause", step=1, expected_s=100.0))
    assert progress_of(maker).number == 2


def test_one_step_has_no_progress_of_its_own(maker: MatrixMaker) -> None:
    alone = msgspec.structs.replace(maker.plan, steps=maker.plan.steps[:1])
    assert matrix_progress(alone, RunState(), 0.0) is None


def test_the_headless_line_says_step_cells_and_time(maker: MatrixMaker) -> None:
    maker.steps_done({0: 1000.0, 1: 2000.0}).start_step(2)
    text = cells_text(progress_of(maker))
    assert text.startswith("step 3/10, 2/10 points done, 2:")
    assert text.endswith("left in total")
    assert text in status_text(state_of(maker), maker.t, progress_of(maker))


def test_repetitions_that_may_be_saved_make_it_at_most(maker: MatrixMaker) -> None:
    maker.plan.steps[9].optional = True
    assert "at most" in cells_text(progress_of(maker))


# -- what a plan comes to


def test_steps_are_reported_with_their_reasons(tmp_path: Path) -> None:
    assert steps_text(sweep(tmp_path / "a").plan) == "20 points over bs, numjobs"
    assert (
        steps_text(sweep(tmp_path / "b", ["4k"], times=2).plan)
        == "10: 5 points over bs, numjobs, each twice"
    )


def test_the_values_of_each_axis_are_reported_as_they_were_written(maker: MatrixMaker) -> None:
    (part,) = parts_of(maker.plan)
    assert part.axes == {"bs": ["4k", "16k"], "numjobs": ["1", "2", "4", "8", "16"]}
    assert not part.share_text
    assert [each.profile for each in parts_of(suite(maker.run_dir / "x").plan)] == [
        "weka/read-throughput",
        "weka/read-iops",
        "weka/read-latency",
    ]


def test_points_that_fill_no_grid_are_reported_as_a_share_of_it(maker: MatrixMaker) -> None:
    (part,) = parts_of(maker.plan)
    assert msgspec.structs.replace(part, points=7).share_text == "7 of 10 combinations"


def test_points_that_fill_no_grid_are_reported_as_grids_that_have_each_of_them_once() -> None:
    rows = {"1": "abcd", "2": "bc", "4": "b", "8": "b"}
    points = [(number, letter) for number, letters in rows.items() for letter in letters]
    assert grids_of(("jobs", "bs"), points) == [
        {"jobs": ["1"], "bs": ["a", "b", "c", "d"]},
        {"jobs": ["2"], "bs": ["b", "c"]},
        {"jobs": ["4", "8"], "bs": ["b"]},
    ]


@given(st.sets(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1))
def test_grids_have_exactly_the_points(points: set[tuple[str, ...]]) -> None:
    found = [each for grid in grids_of("xyz", points) for each in product(*grid.values())]
    assert sorted(found) == sorted(points)


def test_files_that_every_step_writes_to_count_once(maker: MatrixMaker) -> None:
    for step in maker.plan.steps:
        step.directions = ["write"]
        for task in step.tasks:
            task.writes_bytes = 4096
    assert written_bytes(maker.plan) == {"weka-01": 4096, "weka-02": 4096}
    more = maker.plan.steps[2].tasks[0]
    more.files = [*more.files, msgspec.structs.replace(more.files[0], path="/mnt/other")]
    more.writes_bytes = 8192
    assert written_bytes(maker.plan)["weka-01"] == 8192
    maker.plan.steps[3].tasks[0].files = more.files
    maker.plan.steps[3].tasks[0].writes_bytes = None
    assert written_bytes(maker.plan)["weka-01"] is None
