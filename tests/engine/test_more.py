"""A search that was spent before it knew goes on with more points or time, from what it
measured.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.search_maker import LIMIT, SearchMaker, offers, search_in
from tui.engine.extend_search import plan_of_more
from tui.engine.launch import resume_mode
from tui.engine.session.history import read_history
from tui.journal.rundir import plan_bytes
from tui.model.problem import UsageError
from tui.model.rundir import JOURNAL_FILE, PLAN_FILE
from tui.model.search import Search


def spent(home: Path, search: Search, points: int) -> SearchMaker:
    """A run whose search measured so many points, and left out its other steps."""
    maker = search_in(home, search).measure_points(points)
    maker.skip(*range(points, search.points)).finish("complete", "unfinished")
    return maker


def measures(run_dir: Path) -> list[int]:
    plan = plan_of_more(run_dir, 6, 900.0)
    return [step.index for step in read_history(run_dir / JOURNAL_FILE).missing(plan, failed=False)]


def test_further_points_are_steps_behind_those_of_the_plan(tmp_path: Path) -> None:
    run_dir = spent(tmp_path, Search("capacity", limits=(LIMIT,), points=3), 3).run_dir
    with pytest.raises(UsageError, match="nothing to resume"):
        resume_mode(run_dir, failed=False, running=False)
    plan = plan_of_more(run_dir, 5, None)
    assert plan.search is not None and plan.search.points == 5
    assert [(step.index, step.name) for step in plan.slots][3:] == [
        (3, "lab/oltp point 4"),
        (4, "lab/oltp point 5"),
    ]
    assert plan.slots[4].tasks == plan.slots[2].tasks, (
        "what may be destroyed is known beforehand no more"
    )
    (run_dir / PLAN_FILE).write_bytes(plan_bytes(plan))
    assert resume_mode(run_dir, failed=False, running=False) == ("resume", 2)


def test_steps_that_were_left_out_for_want_of_time_are_made_with_more_of_it(tmp_path: Path) -> None:
    run_dir = spent(
        tmp_path, Search("capacity", limits=(LIMIT,), points=6, within_s=40.0), 4
    ).run_dir
    assert measures(run_dir) == [4, 5]
    history = read_history(run_dir / JOURNAL_FILE)
    plan = plan_of_more(run_dir, None, 900.0)
    again = history.make_again(history.missing(plan, failed=False))
    assert [(step.index, step.attempt) for step in again] == [(4, 1), (5, 1)]


@pytest.mark.parametrize(
    ("points", "within_s", "message"),
    [
        (2, None, "--points 2: expected 3 .as before. to 500"),
        (501, None, "--points 501: "),
        (None, 30.0, "--within 30s: expected 1m .as before. or more"),
        (3, None, "has nothing to extend: all 3 points used"),
    ],
)
def test_less_than_before_is_no_more(
    tmp_path: Path, points: int | None, within_s: float | None, message: str
) -> None:
    run_dir = spent(
        tmp_path, Search("capacity", limits=(LIMIT,), points=3, within_s=60.0), 3
    ).run_dir
    with pytest.raises(UsageError, match=message):
        plan_of_more(run_dir, points, within_s)


def test_a_search_that_knows_needs_no_more(tmp_path: Path) -> None:
    run_dir = spent(
        tmp_path, Search("capacity", limits=(LIMIT,), points=12, tolerance=0.3), len(offers())
    ).run_dir
    with pytest.raises(UsageError, match="no further point needed"):
        plan_of_more(run_dir, 20, None)
