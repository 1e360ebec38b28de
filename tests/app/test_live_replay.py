"""Replay: a finished run on the Live screen, on a clock of its own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.app import scenes
from tests.app.journal_maker import RUN_ID, RunMaker, host_names
from tests.app.stage import SMALL, stage
from tui.app.app import leave_on_signal
from tui.app.dialogs.confirm import Confirm
from tui.app.frame.step_screen import KeyBar
from tui.app.screens import live_feed
from tui.app.screens.live_feed import LiveFeed, ReplayFeed, last_time
from tui.app.screens.result import ResultScreen
from tui.app.screens.runs import RunsScreen
from tui.model.event import Message, NoteAdded, encode


@pytest.fixture
def maker(tmp_path: Path) -> RunMaker:
    """A finished run of 22 s on three hosts: 2 s to the start, 20 s of load."""
    return RunMaker(tmp_path / "runs" / RUN_ID, host_names(3)).begin().go().measure(20).finish()


async def test_the_header_says_that_this_is_a_replay_and_where_it_is(maker: RunMaker) -> None:
    async with stage(maker, replay=1.0) as (app, pilot):
        app.wall += 10
        await app.tick(pilot)
        header = app.text_of("#live-header")
        assert (
            "REPLAY" in header and "1x  0:08 of 0:20 recorded" in header and "RUNNING" not in header
        )
        assert "39 %" in header, "the bar is the position in the load of 20 s"
        assert "left" not in header, "what was expected then is not what is left of the replay"


async def test_escape_returns_to_runs_and_a_note_does_not_lengthen_a_replay(
    maker: RunMaker,
) -> None:
    length = last_time(maker.journal)
    maker.add(NoteAdded(t=maker.t + 100, text="said later"))
    assert last_time(maker.journal) == length
    async with stage(maker, replay=1.0) as (app, pilot):
        await pilot.press("escape")
        await app.settle(pilot)
        assert isinstance(app.screen, RunsScreen)
        await pilot.press("4")
        await app.settle(pilot)
        assert app.live.feed.replay, "there is no run that 4 could lead to"


async def test_a_replay_leaves_the_running_run_where_it_was(maker: RunMaker) -> None:
    going = (
        RunMaker(maker.run_dir.with_name("20261121T101530Z-weka-read-iops-0002"), host_names(2))
        .begin()
        .go()
    )
    async with stage(going.measure(3)) as (app, pilot):
        live = app.live
        app.open_live(maker.run_dir, 1.0)
        await app.settle(pilot)
        assert app.live.feed.replay
        await pilot.press("4")
        await app.settle(pilot)
        assert app.screen is live
        app.open_live(maker.run_dir, 1.0)
        await pilot.press("q")
        await app.settle(pilot)
        assert isinstance(app.screen, Confirm) and going.run_dir.name in app.screen.question
        await pilot.press("c")
        leave_on_signal(app, signal.SIGHUP)
        assert (
            app.farewell
            == f"run {going.run_dir.name} is still running; to watch it: benchtui attach"
            f" {going.run_dir.name}"
        )


async def test_space_holds_and_plays(maker: RunMaker) -> None:
    async with stage(maker, replay=1.0) as (app, pilot):
        app.wall += 5
        await app.tick(pilot)
        await pilot.press("space")
        app.wall += 100
        await app.tick(pilot)
        assert "paused  0:03" in app.text_of("#live-header")
        await pilot.press("space")
        app.wall += 2
        await app.tick(pilot)
        assert "1x  0:05" in app.text_of("#live-header")


async def test_arrows_seek_ten_seconds_and_the_state_is_that_of_the_moment(maker: RunMaker) -> None:
    async with stage(maker, replay=1.0) as (app, pilot):
        app.wall += 5
        await app.tick(pilot)
        at_five = app.live.feed.state.total.ios
        await pilot.press("right")
        await app.settle(pilot)
        assert "0:13 of" in app.text_of("#live-header") and app.live.feed.state.total.ios > at_five
        await pilot.press("left")
        await app.settle(pilot)
        assert "0:03 of" in app.text_of("#live-header") and app.live.feed.state.total.ios == at_five


async def test_a_replay_that_jumped_shows_the_findings_known_at_that_moment(
    tmp_path: Path,
) -> None:
    maker = scenes.scene("stall", tmp_path, 8, 80, runtime_s=90.0).finish()
    async with stage(maker, SMALL, replay=1.0) as (app, pilot):
        await pilot.press("space", *["right"] * 5)
        await app.settle(pilot)
        assert "I/O" in app.text_of("#live-health") and "no findings" not in app.screen_text()
        await pilot.press("left", "left")
        await app.settle(pilot)
        assert "no findings" in app.text_of("#live-health")


async def test_plus_and_minus_step_through_the_speeds(maker: RunMaker) -> None:
    async with stage(maker, replay=1.0) as (app, pilot):
        seen = []
        for key in ("plus", "plus", "minus"):
            await pilot.press(key)
            feed = app.live.feed
            assert isinstance(feed, ReplayFeed)
            seen.append(feed.speed)
        assert seen == [2.0, 5.0, 2.0]
        app.live.hold_timer()
        app.wall += 4
        await app.tick(pilot)
        assert "0:06 of" in app.text_of("#live-header")


async def test_the_fastest_speed_shows_the_end_at_once_and_space_plays_again(
    maker: RunMaker,
) -> None:
    async with stage(maker, SMALL, replay=1.0) as (app, pilot):
        await pilot.press(*["plus"] * 6)
        app.live.hold_timer()
        await app.tick(pilot)
        assert "end of replay" in app.text_of("#live-banner")
        assert "run complete" in app.text_of("#live-banner")
        await pilot.press("minus", "space")
        app.live.hold_timer()
        await app.settle(pilot)
        assert app.live.feed.position == 0


async def test_at_the_fastest_speed_too_it_is_told_at_the_end_what_was_found(
    tmp_path: Path,
) -> None:
    run = RunMaker(tmp_path / "runs" / RUN_ID, host_names(4)).begin().go()
    run.pace[run.hosts[2]] = 0.25
    async with stage(run.measure(40).finish(), replay=1.0) as (app, pilot):
        await pilot.press(*["plus"] * 6)
        app.live.hold_timer()
        await app.tick(pilot)
        assert "end of replay" in app.text_of("#live-banner")
        assert app.live.found is not None
        assert "straggler" in {each.finding.id for each in app.live.found.now}


async def test_a_replay_does_not_run_over_to_the_result(maker: RunMaker) -> None:
    async with stage(maker, replay=1.0) as (app, pilot):
        for _ in range(3):
            app.wall += 60
            await app.tick(pilot)
        assert not isinstance(app.screen, ResultScreen)


async def test_a_replay_cannot_be_stopped_as_if_it_were_a_run(maker: RunMaker) -> None:
    async with stage(maker, replay=1.0) as (app, pilot):
        await pilot.press("x")
        assert app.live is app.screen


def test_live_and_replay_come_to_the_same_figures(maker: RunMaker) -> None:
    live = LiveFeed(maker.run_dir, lambda: maker.now)
    replay = ReplayFeed(maker.run_dir, float("inf"), lambda: maker.now)
    for feed in (live, replay):
        while feed.advance():
            pass
    assert replay.finished and live.state.ended and replay.state.ended
    for name, view in live.state.cluster.items():
        other = replay.state.cluster[name]
        assert view.so_far_percentiles == other.so_far_percentiles
        assert view.series("iops") == other.series("iops")
    assert live.state.current.cluster_tails == replay.state.current.cluster_tails


def test_the_length_of_a_replay_ignores_a_torn_last_line(maker: RunMaker) -> None:
    end = last_time(maker.journal)
    with maker.journal.open("ab") as file:
        file.write(b'{"type":"message","t":99999')
    assert last_time(maker.journal) == end == maker.t


def test_a_live_feed_takes_what_came_since_the_last_tick_however_much_it_is(
    maker: RunMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """600 hosts write 6 MB a second."""
    monkeypatch.setattr(live_feed, "SLICE_S", float("inf"))
    feed = LiveFeed(maker.run_dir, lambda: 0.0)
    line = encode(Message(t=1.0, severity="info", text="x" * 10_000))
    with (maker.run_dir / "journal.jsonl").open("ab") as journal:
        journal.write(line * 600)
    assert not feed.advance()
    assert feed.events >= 600


def test_a_live_feed_that_is_behind_says_so_after_its_slice_of_time(
    maker: RunMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_feed, "SLICE_S", 0.0)
    line = encode(Message(t=1.0, severity="info", text="x" * 10_000))
    (maker.run_dir / "journal.jsonl").write_bytes(line * 60)
    feed = LiveFeed(maker.run_dir, lambda: 0.0)
    assert feed.advance()
    while feed.advance():
        pass
    assert feed.events == 60


def test_the_p99_of_a_second_is_that_of_all_hosts_together(maker: RunMaker) -> None:
    feed = LiveFeed(maker.run_dir, lambda: maker.now)
    while feed.advance():
        pass
    values = feed.state.current.cluster_tails["read"]
    assert len(values) == 20
    p50, top = (
        feed.state.cluster["read"].so_far_percentiles["50"],
        feed.state.cluster["read"].so_far_max,
    )
    assert p50 is not None and top is not None
    assert all(p50 < value <= top * 1.01 for value in values.values())


async def test_the_keys_of_a_replay_are_ascii_where_the_terminal_is(maker: RunMaker) -> None:
    maker.go().measure(5).finish()
    async with stage(maker, replay=1.0, symbols="ascii") as (app, _):
        keys = app.screen.query_one(KeyBar).render().plain
        assert "10 s" in keys and keys.isascii()
