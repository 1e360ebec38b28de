"""Interrupted runs: said at the start, finished when asked, from every screen."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.app.driver import opened, options
from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.e2e.command import benchtui, measures
from tests.lab.course import LOAD
from tests.lab.sshd import SshdLab
from tests.patience import wait_until
from tui.app.dialogs.confirm import Confirm
from tui.app.screens.live import LiveScreen
from tui.engine import launch
from tui.library.unfinished import unfinished_runs
from tui.model.problem import UsageError


def cut_off(home: Path, day: int) -> Path:
    """A run whose journal has no end and whose engine is nowhere."""
    run_id = f"202611{day}T101530Z-weka-read-iops-00{day}"
    return RunMaker(home / "runs" / run_id, host_names(2), READS).begin().go().measure(2).run_dir


async def test_start_tells_of_runs_that_were_cut_off_and_says_the_key(home: Path) -> None:
    cut_off(home, 18)
    cut_off(home, 19)
    async with opened(options(home)) as user:
        await user.sees("2 interrupted runs: press R to recover them")


async def test_start_is_silent_when_every_run_has_its_end(home: Path) -> None:
    RunMaker(home / "runs" / RUN_ID, host_names(2), READS).begin().go().measure(2).finish()
    async with opened(options(home)) as user:
        await user.app.workers.wait_for_complete()
        assert "interrupted run" not in user.text and not user.told
        await user.press("R")
        assert not isinstance(user.app.screen, Confirm)


async def test_question_names_all_runs_and_later_does_nothing(home: Path) -> None:
    runs = [cut_off(home, 18), cut_off(home, 19)]
    async with opened(options(home)) as user:
        await user.press("R")
        await user.sees(lambda: isinstance(user.app.screen, Confirm))
        assert all(run_dir.name in user.text for run_dir in runs)
        await user.press("enter")
        assert not isinstance(user.app.screen, Confirm)
    assert unfinished_runs(home / "runs") == runs


async def test_on_runs_the_question_is_about_the_run_under_the_cursor(home: Path) -> None:
    older, newer = cut_off(home, 18), cut_off(home, 19)
    async with opened(options(home)) as user:
        await user.press("6")
        await user.sees("interrupted")
        await user.press("g", "R")
        await user.sees(lambda: isinstance(user.app.screen, Confirm))
        assert newer.name in user.text and older.name not in user.text


async def test_a_run_whose_engine_cannot_start_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [cut_off(home, 18), cut_off(home, 19)]

    def refuse(run_dir: Path) -> None:
        raise UsageError("no room")

    monkeypatch.setattr(launch, "check_room", refuse)
    async with opened(options(home)) as user:
        await user.press("R")
        await user.sees(lambda: isinstance(user.app.screen, Confirm))
        await user.press("y")
        await user.sees(lambda: all(f"{run_dir.name}: no room" in user.told for run_dir in runs))


@pytest.mark.e2e
async def test_yes_takes_the_run_over_and_shows_it(
    home: Path, lab: SshdLab, tmp_path: Path
) -> None:
    settings = (f"directory={tmp_path}", "numjobs=1", "size=4m", "runtime=6s")
    words = [part for each in settings for part in ("--set", each)]
    begin = [
        "run",
        str(LOAD),
        "--hosts",
        "h1",
        "--ssh-config",
        str(lab.ssh_config),
        *words,
        "--detach",
    ]
    started = await asyncio.to_thread(benchtui, home, *begin)
    assert started.returncode == 0, started.stderr
    run_dir = home / "runs" / started.stdout.strip()
    await asyncio.to_thread(wait_until, lambda: measures(run_dir), "live samples")
    os.kill(int((run_dir / "engine.pid").read_text().split()[0]), signal.SIGKILL)
    async with opened(options(home)) as user:
        await user.sees("1 interrupted run")
        await user.press("R")
        await user.sees(lambda: isinstance(user.app.screen, Confirm))
        await user.press("y")
        await user.sees(lambda: isinstance(user.app.screen, LiveScreen))
        await user.sees(lambda: (run_dir / "run.json").exists())
    assert '"state":"complete"' in (run_dir / "run.json").read_text().replace(" ", "")
