"""What Live asks of the engine: to stop all or one host, and to keep a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.journal_maker import RUN_ID, RunMaker, host_names
from tests.app.stage import stage
from tui.app.dialogs.confirm import Confirm
from tui.app.dialogs.text_entry import NoteDialog
from tui.engine.control import ControlServer, Request


@pytest.fixture
def maker(tmp_path: Path) -> RunMaker:
    """A run on four hosts, hosts connected and checked."""
    return RunMaker(tmp_path / "runs" / RUN_ID, host_names(4)).begin()


class Engine:
    """The other end of the control socket."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def answer(self, request: Request) -> Request:
        self.asked.append(request)
        return {"ok": True}


async def test_stop_asks_first_and_no_is_the_default(maker: RunMaker) -> None:
    maker.go().measure(3)
    engine = Engine()
    async with ControlServer(maker.run_dir, engine.answer), stage(maker) as (app, pilot):
        await pilot.press("x")
        assert isinstance(app.screen, Confirm)
        await pilot.press("enter")
        await app.settle(pilot)
        assert engine.asked == []
        await pilot.press("x", "y")
        await app.settle(pilot)
        assert [request["verb"] for request in engine.asked] == ["stop"]
        await pilot.press("X", "y")
        await app.settle(pilot)
        assert [request["verb"] for request in engine.asked] == ["stop", "abort"]


async def test_the_run_goes_on_behind_a_question_which_ends_with_it(maker: RunMaker) -> None:
    maker.go().measure(3)
    engine = Engine()
    async with ControlServer(maker.run_dir, engine.answer), stage(maker) as (app, pilot):
        live = app.live
        timer = live._timer
        assert timer is not None
        timer.resume()  # the stage ticks by hand
        await pilot.press("x")
        await app.settle(pilot)
        assert isinstance(app.screen, Confirm)
        assert timer._active.is_set(), "paused behind the question"
        timer.pause()
        before = live.feed.state.clock.now
        maker.measure(3)
        app.wall = maker.now
        live.tick()
        await app.settle(pilot)
        assert isinstance(app.screen, Confirm)
        assert live.feed.state.clock.now > before
        maker.finish()
        app.wall = maker.now
        live.tick()
        await app.settle(pilot)
        assert not isinstance(app.screen, Confirm)
        assert engine.asked == []


async def test_the_host_under_the_cursor_is_ended_alone_after_a_question(maker: RunMaker) -> None:
    maker.go().measure(3)
    engine = Engine()
    async with ControlServer(maker.run_dir, engine.answer), stage(maker) as (app, pilot):
        await pilot.press("j", "e")
        assert isinstance(app.screen, Confirm) and "weka-02 only" in app.screen.question
        await pilot.press("enter")
        await app.settle(pilot)
        assert engine.asked == []
        await pilot.press("e", "y")
        await app.settle(pilot)
        assert [(request["verb"], request["host"]) for request in engine.asked] == [
            ("stop-host", "weka-02")
        ]


async def test_a_host_without_load_cannot_be_ended_alone(maker: RunMaker) -> None:
    maker.go().measure(3).fail("weka-01", "no-space", "full")
    async with stage(maker) as (app, pilot):
        await pilot.press("e")
        assert not isinstance(app.screen, Confirm)


async def test_a_note_goes_to_the_engine(maker: RunMaker) -> None:
    maker.go().measure(3)
    engine = Engine()
    async with ControlServer(maker.run_dir, engine.answer), stage(maker) as (app, pilot):
        await pilot.press("n", *"hot", "enter")
        await app.settle(pilot)
        assert [(request["verb"], request["text"]) for request in engine.asked] == [("note", "hot")]


async def test_a_note_that_the_engine_refuses_stays_in_the_dialog(maker: RunMaker) -> None:
    maker.go().measure(3)
    refusing = ControlServer(maker.run_dir, lambda _: {"ok": False, "error": "disk full"})
    async with refusing, stage(maker) as (app, pilot):
        await pilot.press("n", *"hot", "enter")
        await app.settle(pilot)
        assert isinstance(app.screen, NoteDialog)
