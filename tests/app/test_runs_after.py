"""Runs after a run: the cursor is on what was just watched, and Escape leads back to where one came
from.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.journal_maker import READS, RunMaker, host_names
from tests.app.stage import Stage, stage
from tui.app.screens.runs import RunsScreen
from tui.app.services import resuming
from tui.library.build import write_record
from tui.model.problem import UsageError


def make_run(home: Path, day: int) -> RunMaker:
    run_id = f"202611{day:02}T101530Z-weka-read-iops-00{day:02}"
    utc = f"2026-11-{day:02}T10:15:30.000000Z"
    return RunMaker(home / "runs" / run_id, host_names(2), READS, utc=utc).begin().go().measure(5)


def over(maker: RunMaker) -> RunMaker:
    write_record(maker.finish().run_dir)
    return maker


def cursor(app: Stage) -> str | None:
    assert isinstance(app.screen, RunsScreen)
    return app.screen.picklist.cursor_key


async def test_after_a_run_the_cursor_is_on_it_wherever_it_was_before(tmp_path: Path) -> None:
    old = over(make_run(tmp_path, 18))
    new = make_run(tmp_path, 20)
    async with stage(new) as (app, pilot):
        await pilot.press("6")
        await app.settle(pilot)
        await pilot.press("down")
        assert cursor(app) == old.run_dir.name
        await pilot.press("4")
        await app.tick(pilot, over(new))
        await pilot.press("6")
        assert cursor(app) == new.run_dir.name


async def test_r_typed_with_6_is_about_the_run_that_just_ended_though_the_list_never_had_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over(make_run(tmp_path, 18))
    async with stage(over(make_run(tmp_path, 19)), step="runs") as (app, pilot):
        asked: list[Path] = []

        def read_choice(run_dir: Path, *_: object) -> None:
            asked.append(run_dir)
            raise UsageError("not now")

        monkeypatch.setattr(resuming, "read_choice", read_choice)
        new = make_run(tmp_path, 20)
        app.wall = new.now
        app.open_live(new.run_dir)
        await app.settle(pilot)
        await app.tick(pilot, over(new))
        await pilot.press("6", "r")
        await app.settle(pilot)
        assert asked == [new.run_dir]


async def test_who_moved_the_cursor_away_finds_it_there_again(tmp_path: Path) -> None:
    old = over(make_run(tmp_path, 18))
    async with stage(over(make_run(tmp_path, 20))) as (app, pilot):
        await pilot.press("6")
        await app.settle(pilot)
        await pilot.press("down", "1", "6")
        await app.settle(pilot)
        assert cursor(app) == old.run_dir.name


async def test_a_filter_that_hides_the_run_is_cleared(tmp_path: Path) -> None:
    over(make_run(tmp_path, 18))
    new = make_run(tmp_path, 20)
    async with stage(new) as (app, pilot):
        await pilot.press("6", "slash", *"0018", "enter", "4")
        await app.tick(pilot, over(new))
        await pilot.press("6")
        await app.settle(pilot)
        assert cursor(app) == new.run_dir.name


async def test_escape_leads_back_to_where_runs_was_called_from_once(tmp_path: Path) -> None:
    async with stage(over(make_run(tmp_path, 20)), step="result") as (app, pilot):
        seen = []
        for key in ("6", "escape", "escape", "escape"):
            await pilot.press(key)
            await app.settle(pilot)
            seen.append(getattr(app.screen, "SCOPE", ""))
        assert seen == ["runs", "result", "runs", "hosts"]
