"""Run again: Review with the choice of an earlier run, and what no longer exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Static

from tests.app.driver import write_inventory
from tests.app.journal_maker import RunMaker, make_run
from tests.app.stage import stage
from tui.app.frame.selection import Selection
from tui.app.frame.step_screen import KeyBar, StepScreen
from tui.app.screens.review import ReviewScreen
from tui.app.screens.runs import RunsScreen
from tui.app.services import resuming
from tui.engine.plan.reproduce import Again
from tui.journal.rundir import load_plan
from tui.library.build import write_record


@pytest.fixture
def newest(tmp_path: Path) -> RunMaker:
    maker = make_run(tmp_path, 20, "weka/read-iops", 4).finish()
    write_record(maker.run_dir)
    return maker


async def test_run_again_fills_review_and_says_what_is_not_there_any_more(
    newest: RunMaker, tmp_path: Path
) -> None:
    write_inventory(tmp_path, "hosts:\n  weka-[01-03]: {}\n")
    async with stage(newest, step="runs") as (app, pilot):
        app.selection.overrides, app.selection.note = {"bs": "1M"}, "typed before"
        assert "r run again" in str(app.screen.query_one(KeyBar).render())
        await pilot.press("r")
        await app.settle(pilot)
        assert isinstance(app.screen, ReviewScreen)
        assert app.selection.ticked == ["weka-01", "weka-02", "weka-03"]
        assert (app.selection.profile, app.selection.note) == ("weka/read-iops", "")
        plan = app.screen.plan
        assert (
            plan is not None
            and plan.params["runtime"] == load_plan(newest.run_dir).params["runtime"]
        )
        warned = str(app.screen.query_one("#review-warnings", Static).content)
        assert "weka-04 no longer exists and is excluded" in warned
        await pilot.press("escape")
        await app.settle(pilot)
        assert isinstance(app.screen, RunsScreen)


async def test_run_again_can_leave_out_hosts_and_says_so(newest: RunMaker, tmp_path: Path) -> None:
    write_inventory(tmp_path, "hosts:\n  weka-[01-04]: {}\n")
    async with stage(newest, step="runs") as (app, _):
        found = resuming.read_choice(newest.run_dir, app.fleet, app.catalogue, ["weka-02"])
    assert found.hosts == ["weka-01", "weka-03", "weka-04"]
    assert any("weka-02" in caveat for caveat in found.caveats)


async def test_run_again_after_a_missing_directory_leads_to_its_field(
    newest: RunMaker, tmp_path: Path
) -> None:
    write_inventory(tmp_path, "hosts:\n  weka-[01-04]: {}\n")
    async with stage(newest, step="runs") as (app, pilot):
        await resuming.run_again(app, newest.run_dir, to_target=True)
        await app.settle(pilot)
        assert isinstance(app.screen, ReviewScreen) and app.screen.plan is not None
        focused = app.focused
        assert focused is not None
        assert app.screen.form.values[str(focused.name)] == app.screen.plan.target


async def test_run_again_knows_hosts_that_were_written_down_since(
    newest: RunMaker, tmp_path: Path
) -> None:
    write_inventory(tmp_path, "hosts:\n  spare: {}\n")
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("r")
        await app.settle(pilot)
        assert isinstance(app.screen, RunsScreen)
        write_inventory(tmp_path, "hosts:\n  weka-[01-04]: {}\n")
        await pilot.press("r")
        await app.settle(pilot)
        assert isinstance(app.screen, ReviewScreen)
        assert app.selection.ticked == ["weka-01", "weka-02", "weka-03", "weka-04"]


async def test_escape_leads_to_profiles_again_once_something_else_was_chosen(
    newest: RunMaker, tmp_path: Path
) -> None:
    write_inventory(tmp_path, "hosts:\n  weka-[01-04]: {}\n")
    async with stage(newest, step="runs") as (app, pilot):
        for key, scope in (
            ("r", "review"),
            ("2", "profiles"),
            ("3", "review"),
            ("escape", "profiles"),
        ):
            await pilot.press(key)
            await app.settle(pilot)
            assert isinstance(app.screen, StepScreen) and scope == app.screen.SCOPE


def test_run_again_looks_at_the_same_servers() -> None:
    selection = Selection(
        profile="demo/quick", overrides={"bs": "1M"}, caveats=["of a choice before"]
    )
    resuming.choose(
        selection, resuming.RunSelection(["c1"], ["osd-1"], "demo/quick", Again({}), [])
    )
    assert (selection.ticked, selection.servers) == (["c1"], ["osd-1"])
    assert (selection.overrides, selection.caveats) == ({}, [])


async def test_a_run_without_a_plan_or_hosts_cannot_be_run_again(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("r")
        await app.settle(pilot)
        assert any("none of the run's hosts exist any more: weka-01" in each for each in app.told)
        (newest.run_dir / "plan.json").unlink()
        await pilot.press("r")
        await app.settle(pilot)
        assert any("so there is no plan" in each for each in app.told)
        assert isinstance(app.screen, RunsScreen)
