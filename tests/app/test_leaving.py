"""A screen that another one of its kind replaces ends: widgets, tasks and the run it had read."""

from __future__ import annotations

import asyncio
import gc
import weakref
from functools import partial
from pathlib import Path

import pytest

from tests.app.driver import opened, options
from tests.app.journal_maker import READS, RunMaker, host_names
from tests.patience import PATIENCE_S
from tui.app.app import BenchtuiApp
from tui.app.frame.step_screen import StepScreen
from tui.app.screens import live_watching
from tui.app.screens.live import LiveScreen
from tui.app.screens.live_feed import LiveFeed


def has_read(app: BenchtuiApp, run_dir: Path) -> bool:
    """Live shows this run, and has left what it read to rest."""
    screen = app.screen
    return (
        isinstance(screen, LiveScreen)
        and screen.run_dir == run_dir
        and screen.rest.measurement is screen.feed.state.current
    )


@pytest.mark.parametrize("gone", [False, True], ids=["at once", "once its engine is gone"])
@pytest.mark.parametrize("many", [3, 1], ids=["few hosts", "many hosts"])
async def test_a_run_on_live_is_forgotten_after_others_were_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch, *, many: int, gone: bool
) -> None:
    monkeypatch.setattr(live_watching, "MANY_HOSTS", many)
    runs = [home / "runs" / f"20261118T10153{n}Z-weka-read-iops-000{n}" for n in range(3)]
    feeds = []
    try:
        async with opened(options(home)) as user:
            for run_dir in runs:
                RunMaker(run_dir, host_names(2), READS).begin().go().measure(1)
                user.app.open_live(run_dir)
                await user.sees(partial(has_read, user.app, run_dir))
                screen = user.app.screen
                assert isinstance(screen, LiveScreen) and isinstance(screen.feed, LiveFeed)
                feed = screen.feed
                if gone:
                    await user.sees(partial(getattr, feed, "gone"))
                feeds.append(weakref.ref(feed))
                del screen, feed
                await user.press("escape")
            async with asyncio.timeout(PATIENCE_S):
                while feeds[0]() is not None:
                    gc.collect()
                    await asyncio.sleep(0.05)
    finally:
        gc.freeze()  # as the session had it


async def test_a_measurement_that_begins_later_is_left_to_rest_too(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_watching, "MANY_HOSTS", 1)
    run_dir = home / "runs" / "20261118T101530Z-weka-read-iops-0001"
    maker = RunMaker(run_dir, host_names(2), READS).begin()
    try:
        async with opened(options(home)) as user:
            user.app.open_live(run_dir)
            await user.sees(partial(has_read, user.app, run_dir))
            before, screen = gc.get_freeze_count(), user.app.screen
            assert isinstance(screen, LiveScreen) and not screen.feed.state.cluster
            maker.go().measure(6)
            await user.sees(lambda: bool(screen.feed.state.cluster))
            await user.sees(partial(has_read, user.app, run_dir))
            assert gc.get_freeze_count() > before
    finally:
        gc.freeze()  # as the session had it


async def test_work_of_a_screen_that_is_left_before_it_begins_warns_of_nothing(
    home: Path, recwarn: pytest.WarningsRecorder
) -> None:
    done: list[int] = []
    async with opened(options(home)) as user:
        screen = user.app.screen
        assert isinstance(screen, StepScreen)
        screen.in_thread(lambda: 1, done.append, "left")
        screen.in_thread(lambda: 2, done.append, "left")  # ends the first one
        await user.sees(lambda: done == [2])
    gc.collect()
    assert not [each for each in recwarn.list if each.category is RuntimeWarning]
