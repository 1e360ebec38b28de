"""The Live screen: what somebody sees and can do while a run goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.stage import SMALL, WIDE, Stage, stage
from tui.app.frame.step_screen import KeyBar
from tui.app.widgets.lines import Lines
from tui.app.widgets.picklist import Heading
from tui.library.build import write_record
from tui.metrics.series import column_percentiles
from tui.metrics.units import bandwidth, iops, latency
from tui.model.event import HostState, PhaseStarted
from tui.model.plan import Headline, Plan
from tui.model.rundir import PLAN_FILE
from tui.text.line import Line


@pytest.fixture
def maker(tmp_path: Path) -> RunMaker:
    """A run on four hosts, hosts connected and checked."""
    return RunMaker(tmp_path / "runs" / RUN_ID, host_names(4)).begin()


async def test_the_header_says_which_run_on_how_many_hosts_and_how_far(maker: RunMaker) -> None:
    maker.go().measure(30)
    async with stage(maker) as (app, _):
        header = app.text_of("#live-header")
        for text in ("RUNNING", "weka/read-iops", "4 hosts", "0:30 / 1:00", "0:30 left", "50 %"):
            assert text in header


async def test_phases_behind_us_are_ticked_and_the_current_one_is_marked(maker: RunMaker) -> None:
    maker.layout(2, 2).go().measure(2)
    async with stage(maker) as (app, _):
        trail = "✓ connect  ✓ preflight  ✓ layout  ✓ barrier  › measure  · collect"
        assert app.text_of("#live-header").splitlines()[1].startswith(trail)


async def test_a_layout_that_was_not_needed_is_not_shown_as_pending(maker: RunMaker) -> None:
    maker.go().measure(2)
    async with stage(maker) as (app, _):
        assert "layout" not in app.text_of("#live-header").splitlines()[1]


async def test_before_the_load_the_first_panel_says_what_is_waited_for(maker: RunMaker) -> None:
    maker.add(
        PhaseStarted(t=0.0, phase="barrier", step=0),
        HostState(t=0.0, host=maker.hosts[0], state="armed"),
    )
    async with stage(maker, SMALL) as (app, _):
        panel = app.text_of("#live-iops")
        assert "1 of 4 hosts" in panel and all(host in panel for host in maker.hosts[1:])
        assert (
            not app.live.query_one("#live-heat").display
            and not app.live.query_one("#live-percentiles").display
        )


async def test_during_layout_tiles_and_hosts_say_how_much_is_written(maker: RunMaker) -> None:
    maker.layout(4, 8)
    async with stage(maker) as (app, _):
        tiles, rows = app.text_of("#live-figures"), app.text_of("#live-hosts")
        assert "of 6.25 GiB" in tiles
        assert "50 %" in app.text_of("#live-header")
        assert not app.live.query_one("#live-iops").display, "said once"
        assert rows.count("0.78 of 1.56 GiB") == rows.count("200 MiB/s") == len(maker.hosts)
        assert "IOPS" not in rows and "median" not in rows
        assert "800 MiB/s" in app.text_of("#live-bandwidth")


async def test_iops_of_all_hosts_are_the_sum_of_their_last_seconds(maker: RunMaker) -> None:
    maker.go().measure(10)
    async with stage(maker) as (app, _):
        hosts = app.live.feed.state.hosts.values()
        windows = [host.dirs["read"].recent.window for host in hosts]
        reads = sum(each.ios / each.interval_s for each in windows)
        assert reads > 0
        assert f"read {iops(reads)}" in app.text_of("#live-iops")


async def test_percentiles_say_what_they_cover(maker: RunMaker) -> None:
    maker.go().measure(10)
    async with stage(maker) as (app, _):
        lines = app.text_of("#live-percentiles").splitlines()
        assert "p50" in lines[0] and "p99.5" in lines[0] and "max" in lines[0]
        covers = [" ".join(line[:15].split()) for line in lines[1:]]
        assert covers == ["read last 5 s", "so far", "write last 5 s", "so far"]
        view = app.live.feed.state.cluster["read"]
        assert latency(view.so_far_percentiles["99.9"]) in lines[2]


async def test_with_one_direction_latency_shows_mean_and_p99(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), READS).begin().go().measure(5)
    async with stage(maker) as (app, pilot):
        view = app.live.feed.state.total
        await pilot.press("8")  # in place of the heat map
        await app.settle(pilot)
        panel = app.text_of("#live-latency")
        assert "mean" in panel and "p99" in panel
        assert latency(view.interval_percentiles["99"]) not in panel, "a tile has it"


async def test_a_failed_host_shows_why_instead_of_figures(maker: RunMaker) -> None:
    maker.go().measure(3).fail("weka-02", "no-space", "No space left on device")
    async with stage(maker) as (app, pilot):
        row = next(line for line in app.text_of("#live-hosts").splitlines() if "weka-02" in line)
        assert row == "✗ weka-02  failed: No space left on device"
        assert "No space" not in app.text_of("#live-messages"), "the row says it"
        await pilot.press("L")
        await app.settle(pilot)
        assert "No space left on device" in app.text_of("#live-messages")


async def test_new_samples_appear_with_the_next_tick(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        before = app.live.feed.state.total.ios
        maker.measure(1)
        await app.tick(pilot, maker)
        assert app.live.feed.state.total.ios > before
        assert "0:04 / 1:00" in app.text_of("#live-header")


async def test_a_tick_without_news_paints_nothing(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        damaged: list[Any] = []
        for widget in app.screen.query("Lines"):
            widget.damage = lambda *span: damaged.append(span)  # type: ignore[attr-defined]
        await app.tick(pilot)
        assert damaged == []


async def test_a_held_display_shows_one_time_whatever_key_is_pressed_and_the_run_continues(
    maker: RunMaker,
) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        await pilot.press("p")
        await app.settle(pilot)
        held = app.screen_text()
        assert "DISPLAY PAUSED" in held and "0:03 / 1:00" in held
        await app.tick(pilot, maker.measure(5))
        await pilot.press("enter", "escape", "z", "escape", "b", "b", "b", "6", "4")
        await app.settle(pilot)
        assert app.screen_text() == held
        await pilot.resize_terminal(*SMALL)
        await app.settle(pilot)
        assert "0:03 / 1:00" in app.text_of("#live-header") and app.text_of("#live-figures"), (
            "it fits the screen"
        )
        await pilot.press("p")
        await app.settle(pilot)
        assert "0:08 / 1:00" in app.text_of("#live-header") and app.live.feed.state.t == maker.t


async def test_plus_and_minus_change_the_refresh_rate(maker: RunMaker) -> None:
    maker.go().measure(1)
    async with stage(maker) as (app, pilot):
        seen = []
        for key in ("plus", "plus", "plus", "minus", "minus"):
            await pilot.press(key)
            seen.append(app.live.rate_hz)
        assert seen == [2, 4, 4, 2, 1]


async def test_sorting_keeps_the_cursor_on_its_host(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        await pilot.press("j", "j")
        for _ in range(7):
            await pilot.press("s")
            assert app.live.table.cursor_key == "weka-03"
        assert app.live.table.sort is None


async def test_sorting_by_iops_puts_the_busiest_host_first(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        await pilot.press("s", "s")
        rows = [line.split()[1] for line in app.text_of("#live-hosts").splitlines()[2:6]]
        rates = {host.name: app.live.table.cells.rate(host) or 0.0 for host in app.live.table.hosts}
        assert rows == sorted(rows, key=lambda name: -rates[name])
        await pilot.press("S")
        assert [line.split()[1] for line in app.text_of("#live-hosts").splitlines()[2:6]] == rows[
            ::-1
        ]


async def test_enter_shows_one_host_in_all_panels_and_escape_all_again(maker: RunMaker) -> None:
    maker.say("late I/O", "warning", "weka-01").say("all well", "info", "weka-02").go().measure(3)
    async with stage(maker) as (app, pilot):
        await pilot.press("j", "enter")
        await app.settle(pilot)
        assert "IOPS · weka-02" in app.text_of("#live-iops")
        assert "kernel Linux 6.1.0" in app.text_of("#live-facts")
        assert "all well" in app.text_of("#live-messages") and "late I/O" not in app.text_of(
            "#live-messages"
        )
        await pilot.press("j")
        await app.settle(pilot)
        assert "IOPS · weka-03" in app.text_of("#live-iops")
        await pilot.press("escape")
        await app.settle(pilot)
        assert "weka" not in app.text_of("#live-iops")


async def test_the_log_shows_every_message_and_scrolls(maker: RunMaker) -> None:
    for number in range(60):
        maker.say(f"line {number}")
    async with stage(maker, SMALL) as (app, pilot):
        assert "line 59" in app.text_of("#live-messages") and "line 40" not in app.text_of(
            "#live-messages"
        )
        await pilot.press("L")
        await app.settle(pilot)
        assert "line 45" in app.text_of("#live-messages")
        await pilot.press("g")
        assert "line 0\n" in app.text_of("#live-messages") + "\n"
        await pilot.press("escape")
        await app.settle(pilot)
        assert app.live.table.display and app.focused is app.live.table


async def test_z_gives_all_room_to_one_graph_after_the_other(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        shown = []
        for _ in range(6):
            await pilot.press("z")
            await app.settle(pilot)
            shown.append(
                [
                    name
                    for name in app.live.ZOOMS
                    if app.screen.query_one(f"#live-{name}").is_on_screen
                ]
            )
        assert shown == [
            ["heat"],
            ["strip"],
            ["iops"],
            ["bandwidth"],
            ["latency"],
            ["heat", "strip", "iops"],
        ]


async def test_256_hosts_are_reached_by_paging(tmp_path: Path) -> None:
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, [f"node-{n:03}" for n in range(256)], READS)
        .begin()
        .go()
        .measure(7)
    )
    async with stage(maker, SMALL) as (app, pilot):
        _, _, farthest, others = app.text_of("#live-hosts").splitlines()
        assert farthest.startswith("● node-") and "255 more within" in others, (
            "no line stays empty"
        )
        await pilot.press("j", "enter", "G")
        assert "node-255" in app.text_of("#live-hosts") and "/256" in app.text_of("#live-hosts")
        await pilot.press("g")
        assert "node-000" in app.text_of("#live-hosts")


async def test_a_straggler_is_named_at_once_and_the_others_fold_into_a_line(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(30), READS).begin().go()
    maker.pace = {"weka-07": 0.25}
    async with stage(maker.measure(6), SMALL) as (app, pilot):
        assert "straggler: weka-07" in app.text_of("#live-health")
        _, head, straggler, others, *_ = app.text_of("#live-hosts").splitlines()
        assert straggler.split()[:4] == ["▼", "weka-07", "-75", "%"]
        assert straggler.endswith("straggler")
        assert "29 hosts within ±" in others and "median" in head
        footer = app.screen.query_one(KeyBar).render
        assert "Enter host" in footer().plain
        await pilot.press("j")
        assert "Enter all hosts" in footer().plain
        await pilot.press("slash", *"weka-1", "enter")
        await app.settle(pilot)
        assert "weka-07" not in app.text_of("#live-hosts") and "29" not in app.text_of(
            "#live-hosts"
        )
        await pilot.press("escape", "b")  # all of them
        await app.settle(pilot)
        assert "weka-01" in app.text_of("#live-hosts") and "/30" in app.text_of("#live-hosts")
        await pilot.press("b")  # only the bad
        await app.settle(pilot)
        assert len(app.live.table.rows) == 2
        await pilot.press("s")
        await app.settle(pilot)
        assert "29 hosts within ±" in app.text_of("#live-hosts"), (
            "sorted rows tell of the folded ones too"
        )


async def test_stragglers_and_bottleneck_follow_the_thresholds_of_the_run(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(4), READS).begin().go()
    file = maker.run_dir / PLAN_FILE
    plan = msgspec.json.decode(file.read_bytes(), type=Plan)
    file.write_bytes(
        msgspec.json.encode(
            msgspec.structs.replace(
                plan, thresholds={"straggler.rate": 0.2, "client-cpu.host": 50.0}
            )
        )
    )
    maker.pace = {"weka-03": 0.25}
    for host in maker.hosts:
        maker.look_at(host, {"cpu.busy": 60.0})
    async with stage(maker.measure(6), WIDE) as (app, _):
        assert "lags" not in app.text_of("#live-health") and "▼" not in app.text_of("#live-hosts")
        row, telemetry = app.live.table.rows[0], app.live.table.cells.telemetry
        assert not isinstance(row, Heading) and telemetry.percent("cpu.busy", row) == (
            "60 %",
            "warn",
        )


async def test_one_cursor_looks_back_through_all_graphs_hosts_and_percentiles(
    maker: RunMaker,
) -> None:
    maker.go()
    for busy in (40.0, 80.0):
        for host in maker.hosts:
            maker.look_at(host, {"cpu.busy": busy, "nic.eth0.rx": busy})
        maker.look_at("osd-1", {"cpu.busy": busy}, server=True).measure(10)
    async with stage(maker) as (app, pilot):
        now = app.text_of("#live-iops").splitlines()[1].split()
        for _ in range(14):
            await pilot.press("left")
        await app.settle(pilot)
        second = app.live.look.cursor_s
        assert second is not None
        state = app.live.feed.state
        at = f"at 0:{second - int(state.current.started_t):02}"
        for panel in ("heat", "iops", "hosts", "percentiles"):
            assert at in app.text_of(f"#live-{panel}")
        (value,) = state.cluster["read"].values("iops", second, second + 1)
        assert (
            iops(value) in app.text_of("#live-iops")
            and app.text_of("#live-iops").splitlines()[1].split() != now
        )
        found = column_percentiles(state.current.heat["read"].between(second, second + 1), (50.0,))
        assert latency(found[50.0]) in app.text_of("#live-percentiles").splitlines()[1]
        row = app.live.table.rows[0]
        assert not isinstance(row, Heading)
        cells = {
            column.title: Line.of(*column.runs(row)).plain for column in app.live.table.columns
        }
        (own,) = row.total.values("iops", second, second + 1)
        assert (cells["IOPS"], cells["CPU"], cells["NIC"]) == (iops(own), "40 %", bandwidth(40.0))
        assert not {"read p99", "read mean"} & {*cells}, "not kept of each host and second"
        assert "40 %" in app.text_of("#live-servers")
        await pilot.press("enter")
        await app.settle(pilot)
        lanes = app.text_of("#live-facts").splitlines()[2]
        assert "network" in lanes and "│" in lanes and "40 %" in lanes and "80 %" not in lanes
        await pilot.press("enter")
        await pilot.resize_terminal(*SMALL)
        await app.settle(pilot)
        assert at in app.text_of("#live-figures")
        assert at in app.text_of("#live-hosts").splitlines()[0]
        await pilot.resize_terminal(SMALL[0], 30)
        await app.settle(pilot)
        head = app.text_of("#live-heat").splitlines()[0]
        assert at in head and " p99 " in head
        await pilot.press("escape")
        await app.settle(pilot)
        assert app.live.look.cursor_s is None and at not in app.screen_text()
        head = app.text_of("#live-heat").splitlines()[0]
        assert all(name in head for name in ("read clat", " p50 ", " p99 ", " p99.9 "))


async def test_the_heat_map_shows_one_direction_after_the_other_and_one_host(
    maker: RunMaker,
) -> None:
    maker.go().measure(5)
    async with stage(maker) as (app, pilot):
        titles = []
        for _ in range(3):
            titles.append(app.text_of("#live-heat").splitlines()[0].split("─")[1].strip())
            await pilot.press("t")
            await app.settle(pilot)
        assert [title.removeprefix("Latency over time · ") for title in titles] == [
            "read clat t shows write",
            "write clat t shows read + write",
            "read + write clat t shows read",
        ]
        whole = sum(count for _, count in app.live.heat.shown()["read"].between(0, 60))
        await pilot.press("enter")
        await app.settle(pilot)
        own = sum(count for _, count in app.live.heat.shown()["read"].between(0, 60))
        host = app.live.feed.state.hosts[str(app.live.look.host)]
        assert own == host.dirs["read"].so_far.total and own < whole


async def test_a_load_on_files_counts_operations_and_no_io(maker: RunMaker) -> None:
    file = maker.run_dir / PLAN_FILE
    plan = msgspec.json.decode(file.read_bytes(), type=Plan)
    file.write_bytes(
        msgspec.json.encode(msgspec.structs.replace(plan, headline=Headline("ops", "stat")))
    )
    async with stage(maker.go().measure(3)) as (app, _):
        assert "Stats/s" in app.text_of("#live-iops") and "stats/s" in app.text_of("#live-hosts")
        assert (
            "IOPS" not in app.screen_text()
            and not app.screen.query_one("#live-bandwidth").is_on_screen
        )


async def test_while_another_screen_is_shown_nothing_is_read(maker: RunMaker) -> None:
    maker.go().measure(3)
    async with stage(maker) as (app, pilot):
        live = app.live
        live.show_again()
        await app.settle(pilot)
        app.go("runs")
        await app.settle(pilot)
        timer = live._timer
        assert timer is not None and not timer._active.is_set()
        maker.measure(2)
        app.go("live")
        await app.settle(pilot)
        assert live.feed.state.t == maker.t


async def test_an_empty_run_directory_does_not_break_the_screen(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, ["h1"])
    maker.journal.unlink()
    async with stage(maker, SMALL) as (app, _):
        assert "STARTING" in app.text_of("#live-header")


async def test_ascii_terminals_get_nothing_but_ascii(maker: RunMaker) -> None:
    maker.say("late I/O", "warning", "weka-01").go().measure(5).fail(
        "weka-02", "no-space", "No space left on device"
    )
    for size in (SMALL, WIDE):
        async with stage(maker, size, symbols="ascii") as (app, _):
            assert app.screen_text().isascii(), [c for c in app.screen_text() if not c.isascii()]


@pytest.mark.parametrize("size", [SMALL, WIDE, (60, 16), (200, 60)])
async def test_no_line_is_wider_than_the_screen(maker: RunMaker, size: tuple[int, int]) -> None:
    maker.go().measure(5)
    async with stage(maker, size) as (app, _):
        for line in app.screen_text().splitlines():
            assert len(line) <= size[0]


async def test_16_colours_leave_no_black_band_between_an_area_and_the_one_behind_it(
    tmp_path: Path,
) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), READS).begin().go().measure(3)
    async with stage(maker, theme="ansi") as (app, _):
        style = app.screen.query_one("#live-latency", Lines).style_of("latency/latency*45")
        assert style.color is not None and style.bgcolor == style.color
        figure = app.screen.query_one("#live-latency", Lines).style_of("value/read*40")
        assert figure.bgcolor != app.screen.query_one("#live-latency", Lines).style_of("read").color


async def test_the_heat_map_alone_follows_the_host_under_the_cursor(maker: RunMaker) -> None:
    maker.go().measure(5)
    async with stage(maker) as (app, pilot):
        whole = sum(count for _, count in app.live.heat.shown()["read"].between(0, 60))
        await pilot.press("h")
        await app.settle(pilot)
        first = str(app.live.table.cursor_key)
        assert f"read clat · {first}" in app.text_of("#live-heat") and first not in app.text_of(
            "#live-iops"
        )
        assert 0 < sum(count for _, count in app.live.heat.shown()["read"].between(0, 60)) < whole
        await pilot.press("j")
        await app.settle(pilot)
        second = str(app.live.table.cursor_key)
        assert second != first and f"read clat · {second}" in app.text_of("#live-heat")
        await pilot.press("escape")
        await app.settle(pilot)
        assert (
            app.live.heat.host is None and "weka" not in app.text_of("#live-heat").splitlines()[0]
        )


def level_of(app: Stage) -> int:
    """Return how many cells of the graph the line of another run goes through."""
    rows = app.screen.query_one("#live-iops", Lines).painted[1:-1]
    return sum(len(text) for row in rows for text, role in row.runs if role.startswith("bright"))


async def test_an_earlier_run_of_the_same_load_is_behind_the_graphs(maker: RunMaker) -> None:
    folder = maker.run_dir.parent
    earlier = (
        RunMaker(folder / "20261101T101530Z-weka-read-iops-0001", maker.hosts)
        .begin()
        .go()
        .measure(30)
        .finish()
    )
    write_record(earlier.run_dir)
    maker.go().measure(5)
    async with stage(maker) as (app, pilot):
        alone = app.text_of("#live-iops")
        assert not level_of(app)
        await pilot.press("v")
        await app.settle(pilot)
        assert "before" in app.text_of("#live-iops") and "before" not in alone
        assert level_of(app) > 10, "thirty seconds behind five"
        await pilot.press("v")
        await app.settle(pilot)
        assert "published" in app.text_of("#live-iops"), "figures of this profile are shipped"
        await pilot.press("v")
        await app.settle(pilot)
        assert app.text_of("#live-iops") == alone


async def test_with_nothing_like_it_v_says_so(tmp_path: Path) -> None:
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), tag="mine/reads")
        .begin()
        .go()
        .measure(3)
    )
    async with stage(maker) as (app, pilot):
        await pilot.press("v")
        await app.settle(pilot)
        assert any("no earlier run of mine/reads" in each for each in app.told)
