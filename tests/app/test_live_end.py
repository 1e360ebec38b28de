"""The end of a run on Live: where it leads, why it failed, and the key that helps."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest
from textual.pilot import Pilot

from tests.app import scenes
from tests.app.driver import opened, options
from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names, plan_of
from tests.app.stage import SMALL, WIDE, Stage, stage
from tui.app.dialogs.confirm import Confirm
from tui.app.frame.step_screen import KeyBar
from tui.app.screens import live_feed, live_watching
from tui.app.screens.result import ResultScreen
from tui.app.services import remedies
from tui.app.services.remedies import Trouble, again
from tui.app.widgets.graph_panels import HeatPanel
from tui.app.widgets.lines import Lines
from tui.library.build import write_record
from tui.metrics.units import latency
from tui.model.event import HostProblem, HostState, RunEnded, RunResumed


@pytest.fixture
def maker(tmp_path: Path) -> RunMaker:
    """A run on four hosts, hosts connected and checked."""
    return RunMaker(tmp_path / "runs" / RUN_ID, host_names(4)).begin()


async def test_a_run_that_ends_well_leads_to_its_result(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        maker.finish()
        await app.tick(pilot, maker)
        assert "COMPLETE" in app.text_of("#live-header")
        banner = app.text_of("#live-banner")
        assert "complete" not in banner, "the header says it"
        assert "Enter result" in app.screen.query_one(KeyBar).render().plain
        app.wall += 3
        app.live.tick()
        await app.settle(pilot)
        assert isinstance(app.screen, ResultScreen)
        await pilot.press("4")
        app.wall += 30
        await app.tick(pilot)
        assert app.live.feed.state.ended


async def test_5_leads_to_the_run_that_ended_last_whatever_was_open_before_and_whoever_saw_its_end(
    maker: RunMaker,
) -> None:
    folder = maker.run_dir.parent
    earlier = (
        RunMaker(folder / "20261101T101530Z-weka-read-iops-0001", host_names(2))
        .begin()
        .go()
        .measure(3)
        .finish()
    )
    write_record(earlier.run_dir)
    unseen = (
        RunMaker(folder / "20261121T101530Z-weka-read-iops-0002", host_names(2))
        .begin()
        .go()
        .measure(3)
    )

    async def result_by_5(app: Stage, pilot: Pilot[None]) -> Path:
        await pilot.press("6", "5")
        await app.settle(pilot)
        assert isinstance(app.screen, ResultScreen)
        return app.screen.run_dir

    async with stage(maker.go().measure(3)) as (app, pilot):
        app.open_result(earlier.run_dir)
        await pilot.press("4")
        await app.settle(pilot)
        await app.tick(pilot, maker.finish("partial", "stopped"))
        assert await result_by_5(app, pilot) == maker.run_dir
        app.open_live(unseen.run_dir)
        await app.settle(pilot)
        assert await result_by_5(app, pilot) == maker.run_dir, "the other one goes on"
        write_record(unseen.finish().run_dir)
        assert await result_by_5(app, pilot) == unseen.run_dir
        app.open_result(earlier.run_dir)
        await app.settle(pilot)
        assert await result_by_5(app, pilot) == earlier.run_dir, "that was asked for"


async def test_a_run_taken_over_on_live_is_followed_there(maker: RunMaker) -> None:
    async with stage(maker.go().measure(3)) as (app, pilot):
        before = app.live
        app.open_live(maker.run_dir)
        await app.settle(pilot)
        assert app.live is not before and not app.is_screen_installed(before)
        assert "RUNNING" in app.text_of("#live-header")


async def test_a_key_after_the_end_is_respected(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        maker.finish()
        await app.tick(pilot, maker)
        await pilot.press("j")
        app.wall += 30
        await app.tick(pilot)
        assert app.live.feed.state.ended
        await pilot.press("enter")
        await app.settle(pilot)
        assert isinstance(app.screen, ResultScreen)


async def test_a_failed_run_stays_and_lists_every_problem(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        maker.fail("weka-02", "no-space", "No space left on device").fail(
            "weka-04", "host-lost", "connection lost"
        )
        maker.finish("partial", "2 problems on hosts", broken=["weka-02", "weka-04"])
        await app.tick(pilot, maker)
        app.wall += 60
        await app.tick(pilot)
        banner = app.text_of("#live-banner")
        assert "2 problems on hosts" in banner
        assert "weka-02: No space left on device" in banner
        assert "weka-04: connection lost" in banner


async def test_a_run_that_measured_nothing_says_why_once_and_whole_with_a_key_that_helps(
    maker: RunMaker,
) -> None:
    held = (
        "in use by run 20261120T090000Z-weka-write-1a2b of ann@jump; its lock expires at 10:16:18 UTC unless"
        " renewed"
    )
    async with stage(maker, SMALL) as (app, pilot):
        for host in maker.hosts[:3]:
            maker.add(
                HostProblem(
                    t=maker.t, host=host, phase="preflight", code="host-locked", message=held
                )
            )
            maker.add(HostState(t=maker.t, host=host, state="failed", detail=held))
        maker.add(RunEnded(t=maker.t, state="failed", exit_code=3, reason="3 hosts are in use"))
        await app.tick(pilot, maker)
        await app.settle(pilot)
        shown = " ".join(app.screen_text().split())
        assert shown.count("in use by run") == 1 and "unless renewed" in shown
        assert "T wait for the hosts" in shown
        assert "--" not in app.text_of("#live-banner"), "a key helps, no option"
        assert "weka-[01-03]: in use" in shown and "no load" not in shown
        assert "not run" in app.text_of("#live-plan") and "IOPS" not in app.text_of(
            "#live-hosts"
        ), "nothing was measured"
        keys = app.screen.query_one(KeyBar).render().plain
        assert (
            "T remedy" in keys
            and "Enter result" in keys
            and "stop" not in keys
            and "pause" not in keys
        )
        await pilot.press("T")
        await app.settle(pilot)
        assert (
            isinstance(app.screen, Confirm) and "ann@jump" in app.screen.body and app.screen.warns
        )
        assert app.screen.body.startswith("weka-01, weka-02, weka-03: in use"), (
            "one line names the run that holds them"
        )
        inside = app.screen.query_one(".dialog").content_region
        seen = [inside.contains_region(button.region) for button in app.screen.query("Button")]
        assert len(seen) == 3 and all(seen), "every answer can be read"
        await pilot.press("n")
        await app.settle(pilot)
        assert app.live.is_current
        app.open_result(maker.run_dir)
        await app.settle(pilot)
        assert "T wait for the hosts" in app.text_of("#result-page")
        await pilot.press("T")
        await app.settle(pilot)
        assert isinstance(app.screen, Confirm) and "ann@jump" in app.screen.body


@pytest.mark.parametrize(
    ("state", "code", "kind"),
    [
        ("failed", "host-key-unknown", "trust"),
        ("failed", "auth-failed", "change"),
        ("partial", "host-lost", None),
    ],
)
def test_what_helps_follows_from_the_problems(state: str, code: str, kind: str | None) -> None:
    found = remedies.remedy_of(state, [Trouble("h1", code, "because")])
    assert (found.kind if found is not None else None) == kind


@pytest.mark.parametrize(
    ("code", "hosts", "without"),
    [
        ("unreachable", ["h1", "h2"], ["h1"]),
        ("timeout", ["h1", "h2"], ["h1"]),
        ("unreachable", ["h1"], []),
        ("no-space", ["h1", "h2"], []),
    ],
)
def test_another_run_leaves_out_hosts_that_were_not_reached_if_others_are_left(
    code: str, hosts: list[str], without: list[str]
) -> None:
    found = remedies.remedy_of("failed", [Trouble("h1", code, "because")], hosts)
    assert found is not None and (found.kind, found.hosts) == ("change", without)
    assert ("h1" in found.words) == bool(without)


def test_the_plan_that_is_run_again_waits_or_takes_the_hosts_over() -> None:
    plan = plan_of(["h1"], ["read"], 10.0)
    assert (taken := again(plan, "take")) is not None and taken.take_locks and not taken.wait_s
    assert (waits := again(plan, "wait")) is not None and waits.wait_s and not waits.take_locks
    assert again(plan, "no") is None


async def test_a_tick_that_has_much_to_read_paints_once_and_leaves_the_hosts_where_they_are(
    maker: RunMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        app.live.hold_timer()
        monkeypatch.setattr(live_feed, "SLICE_S", 0.0)
        monkeypatch.setattr(live_feed, "CHUNK_BYTES", 2000)
        paint, sort_anew = Mock(wraps=app.live.painting), Mock()
        monkeypatch.setattr(app.live, "painting", paint)
        monkeypatch.setattr(app.live.table, "sort_anew", sort_anew)
        maker.measure(2)
        await app.tick(pilot, maker)
        assert (paint.call_count, sort_anew.call_count) == (1, 0)
        assert app.live.feed.tail.offset == maker.journal.stat().st_size


async def test_keys_pass_between_the_panels_of_a_paint(
    maker: RunMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        monkeypatch.setattr(live_watching, "LOOK_SLICE_S", 0.0)
        passed = AsyncMock()
        maker.measure(1)
        await app.tick(pilot, maker)
        monkeypatch.setattr(live_watching, "let_keys_pass", passed)
        await live_watching.in_slices(app.live.painting(), app.live.shell, lambda: True)
        in_slices = [widget.painted for widget in app.live.query(Lines)]
        app.live.paint()
        assert passed.call_count == len(list(app.live.painting())) > 5
        assert in_slices == [widget.painted for widget in app.live.query(Lines)]


async def test_leaving_while_a_long_journal_is_read_causes_no_error(
    maker: RunMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_watching, "CATCH_UP_PAINT_S", 0.0)
    maker.go().measure(3)
    async with stage(maker) as (app, _):
        monkeypatch.setattr(app.live.feed, "advance", lambda: True)  # there is always more
        app.live.catch_up()


async def test_a_dead_engine_is_reported_with_what_to_do(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        app.engine_lives = False
        app.wall += 10
        await app.tick(pilot)
        assert "GONE" in app.text_of("#live-header")
        assert "R takes over the run" in app.text_of("#live-banner")
        footer = str(app.screen.query_one(KeyBar).render())
        assert footer.startswith("R recover  Enter result") and "stop" not in footer
        assert "weka-01" in app.text_of("#live-hosts")


async def test_a_run_that_another_engine_has_taken_over_can_be_stopped_again(
    maker: RunMaker,
) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        app.engine_lives = False
        app.wall += 10
        await app.tick(pilot)
        app.engine_lives = True
        maker.add(RunResumed(t=maker.t + 10, utc=maker.utc, gap_s=10.0))
        await app.tick(pilot)
        assert "GONE" not in app.text_of("#live-header")
        app.live.action_end("stop")
        await app.settle(pilot)
        assert isinstance(app.screen, Confirm)


async def test_an_engine_that_ended_properly_is_not_called_dead(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        maker.finish("failed", "nothing was measured")
        app.engine_lives = False
        app.wall += 10
        await app.tick(pilot)
        assert "FAILED" in app.text_of("#live-header")


async def test_the_filter_of_live_takes_a_range_and_says_when_no_host_is_meant(
    maker: RunMaker,
) -> None:
    async with stage(maker.go().measure(3)) as (app, pilot):
        await pilot.press("slash", *f"{maker.hosts[0][:-1]}[1-1]")
        await app.settle(pilot)
        assert [app.live.table.key_of(row) for row in app.live.table.rows] == [maker.hosts[0]]
        await pilot.press("ctrl+u", *"nobody", "enter", "enter")
        await app.settle(pilot)
        assert "no host matches: Esc clears the filter" in app.text_of("#live-hosts")


async def test_after_the_filter_the_footer_has_the_keys_of_the_screen_again(
    maker: RunMaker,
) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        await pilot.press("slash", *"weka", "enter")
        await app.settle(pilot)
        assert "x stop" in app.screen.query_one(KeyBar).render().plain


async def test_at_the_end_figures_are_of_the_whole_load_and_trends_keep_one_scale(
    tmp_path: Path,
) -> None:
    maker = scenes.scene("lag", tmp_path, 8, seconds=12).finish()
    async with stage(maker) as (app, pilot):
        whole = re.findall(r"[\d.]+ [mµ]s", app.text_of("#live-percentiles").splitlines()[1])
        await pilot.press("z")
        await app.settle(pilot)
        title = app.text_of("#live-heat").splitlines()[0]
        assert re.findall(r"p[\d.]+ ([\d.]+ [mµ]s)", title) == [
            whole[1],
            whole[3],
            whole[5],
        ], "p50, p99, p99.9"
        await pilot.press("escape", "b")
        await app.settle(pilot)
        trends = {
            row.split()[1]: max(row, key=ord)
            for row in app.text_of("#live-hosts").splitlines()[2:10]
        }
        assert len(trends) == 8 and trends.pop("weka-06") < min(trends.values())
        await pilot.press("b", "b")
        await pilot.resize_terminal(*SMALL)
        await app.settle(pilot)
        assert "p99 ≤" in app.text_of("#live-hosts"), "the worst of the folded hosts"


async def test_the_straggler_is_named_above_the_graphs_of_a_finished_run_too(
    tmp_path: Path,
) -> None:
    maker = scenes.scene("lag", tmp_path, 8, 20).finish()
    write_record(maker.run_dir)
    async with stage(maker, SMALL) as (app, _):
        assert "straggler: weka-06" in app.text_of("#live-health")
        assert "valid with warnings: ended early" in app.text_of("#live-banner")


async def test_the_heat_map_title_has_the_percentiles_of_the_table_during_the_load(
    tmp_path: Path,
) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), READS).begin().go().measure(9)
    maker.t += 0.6  # the last interval lies in two seconds of the map
    async with stage(maker.measure(1)) as (app, pilot):
        last = re.findall(r"[\d.]+ [mµ]s", app.text_of("#live-percentiles").splitlines()[1])
        beside = app.text_of("#live-heat").splitlines()[0]
        assert "p99" in beside and not re.findall(r"p[\d.]+ [\d.]+ [mµ]s", beside), "in the table"
        await pilot.press("z")
        await app.settle(pilot)
        title = app.text_of("#live-heat").splitlines()[0]
        assert re.findall(r"p[\d.]+ ([\d.]+ [mµ]s)", title) == [
            last[1],
            last[3],
            last[5],
        ], "p50, p99, p99.9"


async def test_above_the_map_of_a_run_that_is_over_are_the_percentiles_of_all_that_was_measured(
    home: Path,
) -> None:
    run_dir = home / "runs" / "plain"
    shutil.copytree(Path(__file__).parents[1] / "data" / "runs" / "plain", run_dir)
    async with opened(options(home), size=WIDE) as user:
        user.app.open_live(run_dir)
        await user.sees("read  in total")
        panel = user.app.screen.query_one(HeatPanel)
        await user.sees(lambda: "read clat" in panel.title)
        whole = user.app.screen.feed.state.cluster["read"].so_far_percentiles  # type: ignore[attr-defined]
        assert panel.in_title == {50.0: whole["50"], 99.0: whole["99"], 99.9: whole["99.9"]}
        panel.has_table = False
        heading = panel._heading(WIDE[0], (50.0, 99.0), [])
        assert f"p99 {latency(whole['99'])}" in " ".join(text for text, _ in heading[1])


async def test_a_tab_chosen_before_the_record_was_read_is_shown_with_it(home: Path) -> None:
    run_dir = home / "runs" / "plain"
    shutil.copytree(Path(__file__).parents[1] / "data" / "runs" / "plain", run_dir)
    async with opened(options(home)) as user:
        user.app.open_result(run_dir)
        screen = user.app.screen
        assert isinstance(screen, ResultScreen)
        screen.action_toggle_tab("findings")
        await user.sees(lambda: screen.page is not None)
        assert screen.page is not None and screen.page.tab == "findings"


@pytest.mark.parametrize(
    ("code", "leads"), [("dir-missing", True), ("device-missing", True), ("no-space", False)]
)
def test_a_target_that_refused_a_run_is_what_is_changed(code: str, leads: bool) -> None:
    found = remedies.remedy_of("failed", [Trouble("h1", code, "because")], ["h1"])
    assert found is not None and found.of_target is leads
