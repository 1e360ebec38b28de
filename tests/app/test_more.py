"""A search that was spent before it knew: more points or time, asked for where runs are resumed."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from tests.app.driver import User, opened, options
from tests.app.search_maker import LIMIT, SearchMaker, offers, search_in
from tests.e2e.command import benchtui, only_run
from tests.e2e.test_capacity import profile
from tests.e2e.test_recovery import record_of
from tests.patience import wait_until
from tui.app.dialogs.confirm import Confirm
from tui.app.dialogs.forms import Bounds, MoreDialog
from tui.app.services.resuming import give, lacking
from tui.journal.rundir import is_running, load_plan
from tui.library.build import write_record
from tui.model.problem import UsageError
from tui.model.rundir import PLAN_FILE
from tui.model.search import Search


def spent(home: Path, **more: object) -> SearchMaker:
    """A run whose search measured three points, all that it might."""
    search = Search("capacity", limits=(LIMIT,), **{"points": 3, **more})  # type: ignore[arg-type]
    maker = search_in(home, search).measure_points(3)
    maker.skip(*range(3, search.points)).finish("complete", "unfinished")
    write_record(maker.run_dir)
    return maker


async def asked(user: User, screen: type[Confirm | MoreDialog]) -> None:
    """Press the key that resumes the run under the cursor, on Runs."""
    await user.press("6")
    await user.sees("lab/oltp")
    await user.press("u")
    await user.sees(lambda: isinstance(user.app.screen, screen))


async def test_a_spent_search_is_asked_for_more_at_the_field_that_was_spent(home: Path) -> None:
    maker = spent(home, within_s=600.0)
    async with opened(options(home)) as user:
        await asked(user, MoreDialog)
        await user.sees("all 3 points used")
        assert "3 of 3 points in 3" in user.text
        await user.press("enter")
        await user.sees("! has nothing to extend: all 3 points used")
        await user.press("backspace", "2")
        await user.sees("expected 3 (as before) to 500 in total")
        await user.press("enter")
        assert isinstance(user.app.screen, MoreDialog), "less than before is given"
        await user.press("ctrl+u", "5", "down", "ctrl+u", *"1m")
        await user.sees("expected 10m (as before) or more")
        await user.press("escape")
        assert not isinstance(user.app.screen, MoreDialog)
    search = load_plan(maker.run_dir).search
    assert search is not None and search.points == 3, "nobody wanted more"
    assert not is_running(maker.run_dir)


async def test_where_time_was_spent_more_of_it_is_asked_for(home: Path) -> None:
    spent(home, points=6, within_s=40.0)
    async with opened(options(home)) as user:
        await asked(user, MoreDialog)
        await user.sees("time used up: 40 s of load and pauses")
        await user.press("enter")
        await user.sees("! has nothing to extend")
        await user.press("ctrl+u", *"soon", "enter")
        assert isinstance(user.app.screen, MoreDialog), "what is no time is taken for one"
        await user.press("escape")


async def test_a_search_that_was_stopped_may_go_on_as_it_was_or_with_more(home: Path) -> None:
    maker = search_in(home).measure_points(2).finish("partial", "stopped on request")
    write_record(maker.run_dir)
    async with opened(options(home)) as user:
        await asked(user, Confirm)
        await user.sees("Measure 10 steps (y)")
        assert "More points or time (m)" in user.text
        await user.press("m")
        await user.sees(lambda: isinstance(user.app.screen, MoreDialog))
        await user.sees("2 of 12 points in")
        await user.press("escape")


async def test_a_search_that_knows_lacks_nothing(home: Path) -> None:
    maker = search_in(
        home, Search("capacity", limits=(LIMIT,), points=12, tolerance=0.3)
    ).measure_points(len(offers()))
    maker.skip(*range(len(offers()), 12)).finish()
    write_record(maker.run_dir)
    assert not lacking(maker.run_dir)
    async with opened(options(home)) as user:
        await user.press("6")
        await user.sees("lab/oltp")
        await user.press("u")
        await user.is_told("nothing to resume")


async def test_a_disk_that_takes_no_plan_is_reported_and_the_run_stays_as_it_was(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run_dir = spent(home).run_dir
    before = (run_dir / PLAN_FILE).read_bytes()
    async with opened(options(home)) as user:
        await asked(user, MoreDialog)
        await user.press("ctrl+u", "5")
        monkeypatch.setattr(os, "fsync", refuse)
        await user.press("enter")
        await user.is_told(f"{run_dir}/plan.json: cannot be written: No space left on device")
    assert (run_dir / PLAN_FILE).read_bytes() == before
    assert not list(run_dir.glob(".plan.json*"))


def test_what_is_given_is_in_the_plan_and_is_what_the_run_lacks(home: Path) -> None:
    run_dir = spent(home).run_dir
    before = lacking(run_dir)
    assert (before.missing, before.with_failed) == (0, 0) and before.spent is not None
    with pytest.raises(UsageError, match="has nothing to extend"):
        give(run_dir, Bounds(3, None))
    give(run_dir, Bounds(5, 900.0))
    search = load_plan(run_dir).search
    assert search is not None and (search.points, search.within_s) == (5, 900.0)
    assert lacking(run_dir).missing == 2


@pytest.mark.e2e
@pytest.mark.slow
async def test_more_points_are_measured_and_shown_as_they_are(home: Path, tmp_path: Path) -> None:
    path = profile(tmp_path)
    path.write_text(path.read_text() + "curve: {shares: [25%, 50%, 75%], point: 2s, most: 2s}\n")
    begin = ("run", str(path), "--hosts", "local", "--curve", "--points", "2", "--no-telemetry")
    done = await asyncio.to_thread(benchtui, home, *begin)
    assert done.returncode == 6, done.stderr
    run_dir = only_run(home)
    before = record_of(run_dir)["search"]["points"]
    async with opened(options(home)) as user:
        await user.press("6")
        await user.sees("my/sized")
        await user.press("enter")
        await user.sees(lambda: user.scope == "result")
        await user.press("u")
        await user.sees(lambda: isinstance(user.app.screen, MoreDialog))
        await user.press("ctrl+u", "4", "enter")
        await user.sees(lambda: user.scope == "live")
        await user.sees("of 4 points")
        await asyncio.to_thread(wait_until, lambda: not is_running(run_dir), "the end of the run")
    record = record_of(run_dir)
    assert record["state"] == "complete"
    points = record["search"]["points"]
    assert points[:2] == before, "what was known is measured again"
    assert sorted(round(each["offered_iops"] / points[0]["iops"], 2) for each in points[1:]) == [
        0.25,
        0.5,
        0.75,
    ]
