"""What Live shows where room or time is short: keys that do something, columns that stay, lines
that are not empty.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.app import scenes
from tests.app.journal_maker import MIX, READS, RUN_ID, RunMaker, host_names, plan_of
from tests.app.stage import SMALL, WIDE, stage
from tests.app.test_matrix_screens import half_way
from tui.app.frame.step_screen import KeyBar
from tui.app.screens import live_details, live_watching
from tui.app.screens.live import LiveScreen
from tui.app.screens.live_layout import CHART, HEADS, Shown, rooms_of
from tui.app.widgets.graph import Graph, Layer, Pulse, range_text
from tui.app.widgets.lines import Lines
from tui.metrics.buckets import value_to_index
from tui.metrics.series import HeatBins
from tui.model.event import Buckets, HostFactsCollected, PhaseEnded, PhaseStarted
from tui.model.plan import Headline
from tui.model.rundir import PLAN_FILE
from tui.text.heat import LEGEND, SCALE, HeatCells, HeatPaint, heat_lines
from tui.text.plot import TimeAxis

ALL_TELEMETRY = {
    "cpu.busy": 60.0,
    "core.busy": 70.0,
    "nic.eth0.rx": 1.1e9,
    "nic.eth0.tx": 1.0e7,
    "dev.nvme0n1.busy": 40.0,
    "dev.nvme0n1.queue": 31.0,
}


def maker_of(home: Path, hosts: int = 4, runtime_s: float = 300.0) -> RunMaker:
    return RunMaker(home / "runs" / RUN_ID, host_names(hosts), READS, runtime_s=runtime_s)


def width_of(keys: live_details.Keys) -> int:
    return sum(len(key) + 1 + len(label) for key, label in keys) + 2 * (len(keys) - 1)


@pytest.mark.parametrize("replay", [False, True])
@pytest.mark.parametrize("shown", [{"zoomed": "heat"}, {"zoomed": "iops"}, {"log": True}])
def test_a_panel_that_has_all_room_has_keys_of_its_own_which_fit(
    shown: dict[str, object], replay: bool
) -> None:
    keys = live_details.hint(live_details.FooterState(replay=replay, **shown))  # type: ignore[arg-type]
    named = {key for key, _ in keys}
    assert {"Esc", "?", "q"} <= named and not {"Enter", "s", "x", "f"} & named
    assert ("t" in named) == (shown.get("zoomed") == "heat")
    assert width_of(keys) <= 78


async def test_a_refresh_that_is_not_due_reads_nothing(tmp_path: Path) -> None:
    maker = maker_of(tmp_path).begin().go().measure(2)
    async with stage(maker) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, LiveScreen)
        screen.pace = live_watching.RefreshInterval(app.live, 1)  # four hosts: every fourth refresh
        screen.pace.is_due()
        maker.measure(1)
        read = screen.feed.tail.offset
        screen.tick()
        await pilot.pause()
        assert screen.feed.tail.offset == read
        screen.pace.skip()
        await app.tick(pilot)
        assert screen.feed.tail.offset > read and "every 4 s" in app.text_of("#live-header")


def test_the_end_of_a_run_offers_findings_where_there_are_some() -> None:
    over = live_details.FooterState(over=True)
    assert "f" not in dict(live_details.hint(over))
    assert (
        dict(live_details.hint(live_details.FooterState(over=True, found=True)))["f"] == "findings"
    )


async def test_who_looks_back_is_told_the_way_to_now(tmp_path: Path) -> None:
    async with stage(maker_of(tmp_path).begin().go().measure(5), SMALL) as (app, pilot):
        bar = app.screen.query_one(KeyBar)
        await pilot.press("left_square_bracket")
        await app.settle(pilot)
        assert (
            bar.render().plain.startswith("[] rewind  Esc now") and "stop" not in bar.render().plain
        )
        header = app.text_of("#live-header")
        assert (
            header.startswith(" AT 0:0") and " ago  now 0:05" in header and "RUNNING" not in header
        )
        assert app.text_of("#live-health").startswith("now  "), "it is not of that second"
        await pilot.press("escape")
        await app.settle(pilot)
        assert bar.render().plain.startswith("x stop  Enter host")
        assert "RUNNING" in app.text_of("#live-header")


async def test_at_80x24_two_directions_with_trouble_keep_a_map_that_can_be_read(
    tmp_path: Path,
) -> None:
    maker = scenes.scene("troubled", tmp_path, 12, 40, MIX)
    async with stage(maker, SMALL) as (app, _):
        heat = app.screen.query_one("#live-heat").size.height
        told = app.text_of("#live-percentiles")
        assert heat - 2 >= 5 or not app.screen.query_one("#live-heat").display, "of use, or not there"
        assert app.screen.query_one("#live-figures").size.height
        assert "read" in told and "write" in told and "so far" not in told
    async with stage(maker, WIDE) as (app, _):
        assert app.text_of("#live-percentiles").count("so far") == 2


async def test_large_digits_stay_before_messages_and_rows_of_lost_hosts_say_why_once(
    tmp_path: Path,
) -> None:
    async with stage(scenes.scene("troubled", tmp_path, 64, 60), SMALL) as (app, _):
        assert app.screen.query_one("#live-figures").size.height
        shown = app.screen_text()
        assert shown.count("its load stopped") == 1 and "failed" not in shown
        assert "1 lost" in app.text_of("#live-hosts")
        assert app.text_of("#live-health").startswith("✗ weka-64 lost at 0:")


@pytest.mark.parametrize(("hosts", "collapsed"), [(8, False), (12, True)])
async def test_hosts_that_are_alike_are_collapsed_before_the_map_gets_less_than_six_rows(
    tmp_path: Path, hosts: int, collapsed: bool
) -> None:
    async with stage(scenes.scene("plain", tmp_path, hosts, 20), WIDE) as (app, pilot):
        assert ("within ±" in app.text_of("#live-hosts")) == collapsed
        assert app.screen.query_one("#live-heat").size.height >= CHART
        await pilot.press("b")
        await app.settle(pilot)
        assert all(host in app.text_of("#live-hosts") for host in host_names(hosts))


async def test_the_mark_of_sorted_rows_is_on_the_column_that_they_are_sorted_by(
    tmp_path: Path,
) -> None:
    maker = maker_of(tmp_path, 4).begin().go()
    maker.together = True
    async with stage(maker.measure(5), WIDE) as (app, pilot):
        assert "host▾" in app.text_of("#live-hosts")
        maker.pace = {"weka-03": 0.5}
        await app.tick(pilot, maker.measure(8))
        app.live.table.sort_anew()
        await app.tick(pilot, maker.measure(1))
        assert "state▾" in app.text_of("#live-hosts"), "first the straggler, then by name"


async def test_the_footer_goes_with_the_panel_that_has_all_room(tmp_path: Path) -> None:
    async with stage(maker_of(tmp_path).begin().go().measure(5), SMALL) as (app, pilot):
        bar = app.screen.query_one(KeyBar)
        await pilot.press("z")
        await app.settle(pilot)
        assert "Esc all" in bar.render().plain and "Enter" not in bar.render().plain
        await pilot.press("escape")
        await app.settle(pilot)
        assert "Enter host" in bar.render().plain
        await pilot.press("L")
        await app.settle(pilot)
        assert "Esc hosts" in bar.render().plain


async def test_requests_in_flight_are_next_to_disk_and_network_at_120_columns(
    tmp_path: Path,
) -> None:
    maker = maker_of(tmp_path).begin().go()
    for host in maker.hosts:
        maker.look_at(host, ALL_TELEMETRY)
    async with stage(maker.measure(6), WIDE) as (app, _):
        titles, first = app.text_of("#live-hosts").splitlines()[1:3]
        assert {"host▾", "CPU", "NIC", "disk", "flight"} <= {*titles.split()}
        assert first.split()[titles.split().index("flight") - len(titles.split())] == "31"


async def test_two_lines_beside_a_straggler_do_not_stay_empty_while_others_are_folded(
    tmp_path: Path,
) -> None:
    maker = maker_of(tmp_path, 64).begin().go()
    maker.pace = {"weka-43": 0.25, "weka-03": 0.985}
    async with stage(maker.measure(8), WIDE) as (app, _):
        straggler, farthest, _, folded = app.text_of("#live-hosts").splitlines()[2:]
        assert (
            straggler.startswith("▼ weka-43")
            and farthest.startswith("● weka-03")
            and "61 more within" in folded
        )


@pytest.mark.parametrize(
    ("runtime_s", "said"), [(5.0, "too short for live checks"), (60.0, "checks start 10 s into")]
)
async def test_a_load_that_ends_before_its_checks_does_not_promise_them(
    tmp_path: Path, runtime_s: float, said: str
) -> None:
    async with stage(maker_of(tmp_path, runtime_s=runtime_s).begin().go().measure(3)) as (app, _):
        assert said in app.text_of("#live-health")


async def test_the_axis_is_that_of_the_load_to_come_also_when_it_takes_long_to_prepare(
    tmp_path: Path,
) -> None:
    maker = maker_of(tmp_path, runtime_s=5.0)
    async with stage(maker.begin()) as (app, pilot):
        app.wall += 40
        app.live.tick()
        await app.settle(pilot)
        assert app.live.look.axis.span_s == 5


async def test_versions_that_are_no_tools_are_not_called_so(tmp_path: Path) -> None:
    maker = maker_of(tmp_path).begin().go()
    maker.add(
        HostFactsCollected(
            t=maker.t, host="weka-01", facts={"fio_version": "fio-3.33", "cgroup_version": "v2"}
        )
    )
    async with stage(maker.measure(3)) as (app, pilot):
        await pilot.press("enter")
        await app.settle(pilot)
        said = app.text_of("#live-facts")
        assert "tool fio-3.33" in said and "tool v2" not in said


async def test_a_matrix_in_place_of_the_hosts_leaves_no_lines_empty(tmp_path: Path) -> None:
    maker = half_way(tmp_path)
    maker.together = True
    async with stage(maker.measure(9), (80, 30)) as (app, pilot):
        await pilot.press("m")
        await app.settle(pilot)
        shown = [
            each
            for each in app.screen.query(Lines)
            if each.display and each.id and each.region.height
        ]
        assert {"live-matrix", "live-heat"} <= {
            each.id for each in shown
        } and not app.live.table.display
        last = max(shown, key=lambda each: each.region.bottom if each.id != "live-header" else 0)
        assert last.region.bottom == app.screen.size.height - 1, (
            "all lines above the footer are used"
        )


async def test_of_a_load_on_files_nothing_says_bandwidth_or_reads(tmp_path: Path) -> None:
    maker = maker_of(tmp_path)
    plan = replace(plan_of(maker.hosts, ["read"], 300.0), headline=Headline("ops", "stat"))
    (maker.run_dir / PLAN_FILE).write_bytes(msgspec.json.encode(plan))
    async with stage(maker.begin().go().measure(3)) as (app, pilot):
        assert "stats clat" in app.text_of("#live-heat") and "ops " in app.text_of(
            "#live-percentiles"
        )
        await pilot.resize_terminal(*SMALL)
        await app.settle(pilot)
        assert "Stats/s" in app.text_of("#live-figures")
        assert not {"BW", "read"} & {*app.screen_text().split()}


def test_graphs_have_the_lines_of_a_heat_map_that_was_put_away() -> None:
    rooms = rooms_of(50, Shown(4, 1, heat=False), roomy=True)
    assert rooms.graphs == 50 - 4 - HEADS


def test_figures_in_a_line_are_not_cut_but_left_out() -> None:
    figures = (("▲155  ▼166 µs", "value"),)
    graphs = [Graph("IOPS", (("▲17.8k  ▼7.40k", "value"),), against="13.2k / 5.68k before"),
              Graph("Bandwidth", (("▲69.4  ▼28.9 MiB/s", "value"),)),
              Graph("Latency", figures)]  # fmt: skip
    pulse = Pulse("braille")
    pulse.graphs = graphs
    assert "BW" in pulse.build(120, 1)[0].plain
    assert (
        "BW" not in pulse.build(78, 1)[0].plain
        and "lat ▲155  ▼166 µs" in pulse.build(78, 1)[0].plain
    )


def test_the_trend_below_tiles_has_the_columns_of_the_heat_map_and_its_range() -> None:
    values = [*[200_000.0] * 50, *[10_000.0] * 5, *[200_000.0] * 45]
    pulse = Pulse("braille")
    axis = TimeAxis(0, 100)
    pulse.graphs, pulse.brief = [Graph("IOPS", (), (Layer("read", values),), axis=axis)], True
    line = pulse.build(78, 1)[0].plain
    columns = 76 - SCALE - LEGEND
    stall = [axis.column_of(second, columns) for second in (50, 54)]
    strip = line[SCALE + 1 :][:columns]
    assert [at for at, mark in enumerate(strip) if mark == "▁"] == [*range(stall[0], stall[1] + 1)]
    assert line.endswith("10.0k–200k")
    pulse.graphs = [Graph("IOPS", (), (Layer("read", [*values, 5_000.0]),), axis=TimeAxis(0, 101))]
    assert pulse.build(78, 1)[0].plain.endswith("5.00k–200k"), "of seconds, not of columns"
    rates = (Layer("read", values),)
    pulse.graphs = [Graph("IOPS", (), rates, axis=axis, newest=210_000.0)]
    assert pulse.build(78, 1)[0].plain.endswith("10.0k–210k"), "the large figure is within"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (187_000, 198_000, "187k–198k"),
        (1_490_000, 1_540_000, "1.49–1.54M"),
        (0, 198_000, "0–198k"),
        (980_000, 1_020_000, "980k–1.02M"),
        (5_000, 5_000, "5.00k"),
    ],
)
def test_a_range_has_the_width_of_the_legend(low: float, high: float, text: str) -> None:
    assert range_text(low, high) == text and len(text) <= LEGEND


def test_of_percentiles_in_one_row_of_the_heat_map_the_p99_is_drawn() -> None:
    cells, bins = HeatCells(), HeatBins(0)
    # p99 and p99.9 in one row
    counts = {80_000: 9800, 170_000: 180, 172_000: 20, 60_000_000: 1}
    pairs = sorted((value_to_index(value), count) for value, count in counts.items())
    bins.add(0.0, 1.0, Buckets([index for index, _ in pairs], [count for _, count in pairs]))
    cells.show([bins])
    text = [line.plain for line in heat_lines(cells, TimeAxis(0, 1), (9, 5), HeatPaint("latency", "solid"))]
    assert cells.axis(5).row_of(170_000, 5) == cells.axis(5).row_of(172_000, 5)
    assert any("━" in line for line in text) and not any("┄" in line for line in text)


async def test_the_axis_keeps_its_length_when_a_load_with_a_ramp_is_over(tmp_path: Path) -> None:
    maker = maker_of(tmp_path, runtime_s=25.0)
    plan = plan_of(maker.hosts, ["read"], 15.0)
    plan = replace(plan, steps=[replace(plan.steps[0], ramp_s=10.0)])
    (maker.run_dir / PLAN_FILE).write_bytes(msgspec.json.encode(plan))
    maker.begin().go().measure(25)
    async with stage(maker) as (app, pilot):
        assert app.live.look.axis.span_s == 25
        maker.add(
            PhaseEnded(t=maker.t, phase="measure", step=0),
            PhaseStarted(t=maker.t, phase="collect", step=0),
        )
        await app.tick(pilot, maker)
        assert app.live.look.axis.span_s == 25


async def test_rows_of_very_many_hosts_wait_for_their_turn_or_for_a_key(tmp_path: Path) -> None:
    maker = maker_of(tmp_path, runtime_s=60.0).begin().go().measure(10)
    async with stage(maker) as (app, pilot):
        app.live.host_pace = live_watching.RefreshInterval(
            app.live, 0.01
        )  # as if there were 100,000 hosts
        app.live.host_pace.is_due()
        table = app.live.table
        seen_t = table.cells.now
        await app.tick(pilot, maker.measure(1))
        assert "0:11 / 1:00" in app.text_of("#live-header") and table.cells.now == seen_t
        await pilot.press("b")
        await app.settle(pilot)
        assert table.cells.now == app.live.feed.state.clock.now > seen_t


@pytest.mark.parametrize(("hosts", "seed"), [(4, 1), (4, 2), (5, 3), (7, 4)])
async def test_every_host_has_a_row_or_is_counted_while_rates_change_each_second(
    tmp_path: Path, hosts: int, seed: int
) -> None:
    rates = random.Random(seed)
    maker = maker_of(tmp_path, hosts).begin().go()
    maker.together = True
    maker.measure(4)
    async with stage(maker, SMALL) as (app, pilot):
        for _ in range(12):
            maker.pace = {host: rates.choice([0.96, 1.0, 1.0, 1.08]) for host in maker.hosts}
            maker.measure(1)
            await app.tick(pilot, maker)
            shown = app.text_of("#live-hosts")
            counted = re.search(r"(\d+) (?:hosts?|more) within", shown)
            rows = sum(f" {host} " in shown for host in maker.hosts)
            assert rows + int(counted[1] if counted else 0) == hosts, shown
