"""Sweeps and suites on the command line: what `--dry-run` prints, and what is said while they
run.
"""

from __future__ import annotations

import io
from pathlib import Path

from tests.app.matrix_maker import EIO, MatrixMaker, suite, sweep
from tui.cli.shared.progress import ProgressDisplay
from tui.cli.shared.review import review_text
from tui.journal.reader import JournalTail
from tui.journal.rundir import readable_plan
from tui.model.event import RunResumed, StepEnded


def said(maker: MatrixMaker, *, begun_before: bool = False) -> list[str]:
    """What a log says of all that is in the journal."""
    out = io.StringIO()
    display = ProgressDisplay(out, readable_plan(maker.run_dir))
    events = JournalTail(maker.journal).poll()
    if begun_before:
        display.begin(events)
    display.events(events)
    return [line.strip().partition(" ")[2] for line in out.getvalue().splitlines()]


def test_a_plan_of_many_steps_is_its_axes_and_the_first_step_whole(tmp_path: Path) -> None:
    text = review_text(sweep(tmp_path).plan)
    lines = text.splitlines()
    assert "steps      20 points over bs, numjobs" in lines
    assert "           bs       4k 16k 64k 256k" in lines
    assert "           numjobs  1 2 4 8 16" in lines
    assert text.count("[global]") == 2  # both hosts of the first step
    assert lines[-1] == "and 19 more steps; to list all: --dry-run --json"


def test_a_suite_is_a_line_a_profile_with_its_time(tmp_path: Path) -> None:
    lines = review_text(suite(tmp_path).plan).splitlines()
    assert "           weka/read-throughput  1 step, 20 s" in lines
    assert not any("--dry-run --json" in line for line in lines)  # three steps are shown whole


def test_bytes_are_reported_in_all(tmp_path: Path) -> None:
    maker = sweep(tmp_path, ["4k"])
    for step in maker.plan.steps:
        for task in step.tasks:
            task.layout = True
    lines = review_text(maker.plan).splitlines()
    assert "layout     8 GiB (4 GiB per host) where missing" in lines
    assert "load       reads only" in lines


def test_every_step_is_announced_with_its_place_and_name(tmp_path: Path) -> None:
    maker = sweep(tmp_path, ["4k"], ["1", "2"], times=2).steps_done({0: 1000.0}).start_step(1)
    lines = said(maker)
    assert "step 1/4  lab/randread bs=4k numjobs=1" in lines
    assert "step 2/4  lab/randread bs=4k numjobs=1 #2" in lines
    assert not any(line.startswith("measure") for line in lines)


def test_what_failed_was_stopped_or_not_needed_is_reported(tmp_path: Path) -> None:
    maker = sweep(tmp_path, ["4k"], ["1", "2", "4"])
    maker.start_step(0).end_step(0, 0.0, broken=True)
    maker.start_step(1).add(StepEnded(t=maker.t, step=1, ok=False, cut=True))
    maker.add(
        StepEnded(t=maker.t, step=2, skipped=True, reason="known to ±2.0 % after 3 repetitions")
    )
    lines = said(maker)
    assert f"step 1/3  lab/randread bs=4k numjobs=1: {EIO}" in lines
    assert "step 2/3  lab/randread bs=4k numjobs=2: stopped" in lines
    assert (
        "step 3/3  lab/randread bs=4k numjobs=4: not needed, known to ±2.0 % after 3 repetitions"
        in lines
    )


def test_who_comes_later_hears_of_the_step_at_work_and_of_what_went_wrong(tmp_path: Path) -> None:
    maker = sweep(tmp_path, ["4k"]).steps_done({0: 1.0, 1: 2.0})
    maker.start_step(2).end_step(2, 0.0, broken=True)
    maker.add(RunResumed(t=maker.t + 5, utc="2026-11-20T11:00:00Z", gap_s=5.0)).start_step(3)  # type: ignore[attr-defined]
    lines = said(maker, begun_before=True)
    assert lines[0] == "3 of 5 steps already done"
    assert f"weka-01: {EIO}" in lines
    assert [line for line in lines if line.startswith("step")] == [
        "step 4/5  lab/randread bs=4k numjobs=8"
    ]
