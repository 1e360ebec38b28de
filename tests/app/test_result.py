"""The Result screen: what a run measured, also when it did not go well."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import cast

import pytest

from tests.app.driver import write_inventory
from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.matrix_maker import line_sweep
from tests.app.search_maker import search_in
from tests.app.stage import SMALL, WIDE, Stage, stage, tab
from tests.patience import seen
from tui.app.dialogs.export import CopyDialog
from tui.app.frame.step_screen import KeyBar
from tui.app.screens.live import LiveScreen
from tui.app.screens.result import ResultScreen
from tui.app.screens.result_commands import commands_lines
from tui.app.screens.result_details import hosts_lines, latency_lines
from tui.app.screens.result_page import Page
from tui.app.screens.result_text import title_line
from tui.app.screens.result_tiles import figure_tiles, headline
from tui.app.screens.review import ReviewScreen
from tui.journal.rundir import load_plan
from tui.library.build import write_record
from tui.library.load import load_record
from tui.library.summary import NOT_SEALED
from tui.metrics.figures import shown_percentile
from tui.metrics.units import bandwidth, iops, latency
from tui.model.event import HostFactsCollected
from tui.model.record import RunRecord
from tui.model.search_record import SearchRecord
from tui.model.step_record import PhaseRecord
from tui.text.comparison_texts import NOT_AS_SEALED
from tui.text.digits import large_digits
from tui.text.line import plain_lines
from tui.view.run_summary import summary_text


@pytest.fixture
def maker(tmp_path: Path) -> RunMaker:
    """A finished run with its record."""
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, host_names(3))
        .begin()
        .layout(2, 2)
        .go()
        .measure(20)
        .finish()
    )
    write_record(maker.run_dir)
    return maker


def record_of(maker: RunMaker) -> RunRecord:
    return RunRecord.model_validate_json((maker.run_dir / "run.json").read_bytes())


async def test_the_page_begins_with_state_profile_and_headline(maker: RunMaker) -> None:
    async with stage(maker, step="result") as (app, _):
        page = app.text_of("#result-top") + app.text_of("#result-page")
        assert (
            "ENDED EARLY 20.0 s of 60 s" in page
            and "weka/read-iops" in page
            and "2026-11-20 10:15:30 UTC" in page
        )
        number = iops(record_of(maker).headline.value).rstrip("k")  # type: ignore[union-attr]
        assert all(row in page for row in large_digits(number, "braille"))
        assert "read IOPS" in page and "valid with warnings: " in page


def test_phases_are_in_the_order_in_which_they_began(maker: RunMaker) -> None:
    record = record_of(maker)
    record.phases = [
        PhaseRecord(name=name, start_s=at, end_s=at + 1)
        for name, at in (("connect", 0), ("cleanup", 90))
    ]
    lines = plain_lines(commands_lines(Page(record, maker.run_dir), 80, 24))
    shown = " ".join(lines).partition("Phases")[2]
    places = [shown.index(f"{name} ") for name in ("connect", "measure", "cleanup")]
    assert places == sorted(places)


def test_the_hosts_of_a_command_are_ranges(tmp_path: Path) -> None:
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, host_names(9), READS).begin().go().measure(2).finish()
    )
    write_record(maker.run_dir)
    text = "\n".join(
        plain_lines(commands_lines(Page(load_record(maker.run_dir), maker.run_dir), 80, 24))
    )
    assert "measure  weka-[01-09]\n" in text and "…" not in text


@pytest.mark.parametrize(("width", "broad"), [(78, True), (60, False)])
def test_charts_of_latencies_are_next_to_the_percentiles_where_there_is_room(
    tmp_path: Path, width: int, broad: bool
) -> None:
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), READS).begin().go().measure(2).finish()
    )
    write_record(maker.run_dir)
    lines = plain_lines(latency_lines(Page(load_record(maker.run_dir), maker.run_dir), width, 10))
    (head,) = (line for line in lines if "slower I/Os" in line)
    (chart,) = (line for line in lines if "I/Os by latency" in line)
    assert (head == chart) == broad and max(map(len, lines)) <= width
    assert not broad or len(lines) == 20  # the page of a terminal of 24 lines


async def test_there_is_a_line_a_direction_with_every_percentile(maker: RunMaker) -> None:
    async with stage(maker, step="result") as (app, _):
        page = app.text_of("#result-page")
        for direction, result in record_of(maker).steps[0].results.aggregate.items():
            # below the tiles
            line = [line for line in page.splitlines() if line.startswith(f"{direction}  ")][-1]
            assert iops(result.iops) in line and bandwidth(result.bw_bytes_per_s) in line
        assert all(
            title in page for title in ("mean", "p50", "p95", "p99", "p99.5", "p99.9", "max")
        )


async def test_every_host_has_its_own_figures(maker: RunMaker) -> None:
    async with stage(maker, step="result") as (app, pilot):
        rows = (await tab(app, pilot, "hosts")).splitlines()
        for name in maker.hosts:
            at = next(number for number, row in enumerate(rows) if name in row.split())
            assert "read" in rows[at].split() and rows[at + 1].split()[0] == "write"


async def test_i_b_and_l_switch_the_chart(maker: RunMaker) -> None:
    async with stage(maker, step="result") as (app, pilot):
        assert "━━ read  ━━ write" in app.text_of("#result-page")
        await pilot.press("b")
        await app.settle(pilot)
        assert "\nbandwidth (axis starts at " in app.text_of("#result-page")
        await pilot.press("l")
        await app.settle(pilot)
        assert "\np99 latency  " in app.text_of("#result-page")


async def test_changed_parameters_files_left_and_the_path_are_reported(maker: RunMaker) -> None:
    async with stage(maker, step="result") as (app, pilot):
        page = await tab(app, pilot, "facts")
        assert "changed  runtime=60s" in page
        assert "left     weka-01 (4 GiB)  /mnt/weka/fio/read_iops.weka-01.0" in page
        assert str(maker.run_dir / "run.json") in "".join(line[9:] for line in page.splitlines())


async def test_what_the_hosts_are_is_told_once_and_who_differs_by_name(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(3)).begin().layout(2, 2).go().measure(5)
    for host, mtu in zip(maker.hosts, (9000, 9000, 1500), strict=True):
        nics = [{"name": "ens1", "kind": "physical", "mtu": mtu, "speed_mbit": 25000}]
        maker.add(
            HostFactsCollected(t=1.0, host=host, facts={"governor": "performance", "nics": nics})
        )
    maker.finish()
    write_record(maker.run_dir)
    async with stage(maker, step="result") as (app, pilot):
        page = (await tab(app, pilot, "facts")).split("About this run")[1]
        assert f"differs  {maker.hosts[2]}  link MTU  1500, others 9000" in page
        assert page.count("governor performance") == 1
        assert "network  1 link, physical, 25 Gbit/s" in page


async def test_what_hosts_did_meanwhile_is_a_table(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), READS).begin().go()
    maker.look_at("weka-01", {"cpu.busy": 91.0, "core.busy": 99.0, "nic.ens1.rx": 2.0**30})
    server = {"cpu.busy": 50.0, "core.busy": 60.0, "group.OSD.cpu": 300.0, "group.OSD.procs": 4.0}
    maker.look_at("osd-1", server, server=True)
    maker.measure(10).finish()
    write_record(maker.run_dir)
    async with stage(maker, SMALL, step="result") as (app, pilot):
        page = await tab(app, pilot, "load")
        rows = " ".join(page.split())
        assert "weka-01 91/91 99/99" in rows and "ens1 1.00 GiB/s" in rows
        assert "osd-1 50/50 60/60" in rows
        assert "OSD CPU: 3.0 cores, 4 processes on 1 host" in page
        assert page.startswith("! limited by client CPU")
        for title in ("Busiest client: CPU", "Busiest client: NIC", "Busiest server: CPU"):
            assert page.count(title) == 1


async def test_a_finding_takes_one_line_and_f_tells_what_to_do_and_what_could_not_be_checked(
    maker: RunMaker,
) -> None:
    async with stage(maker, SMALL, step="result") as (app, pilot):
        below = app.text_of("#result-page").split("Findings")[1].splitlines()[1:]
        shown = list(takewhile(str.strip, below))
        assert len(shown) == len(record_of(maker).findings)
        await pilot.press("f")
        await app.settle(pilot)
        page = app.text_of("#result-page")
        assert "Find out what ended the load" in page
        assert "No data for these checks" in page and "no telemetry" in page


async def test_the_verdict_takes_one_line_at_80_columns(maker: RunMaker) -> None:
    async with stage(maker, SMALL, step="result") as (app, _):
        (line,) = (
            line for line in app.text_of("#result-page").splitlines() if line.startswith("! valid")
        )
        assert "ended early" in line and "1 note" in line and "…" not in line


def shown_at_80x24(app: Stage) -> str:
    """What is in sight without scrolling."""
    return "\n".join(
        "".join(part.text for part in line) for line in app.screen._compositor.render_strips()
    )


@pytest.mark.parametrize("stream", [READS, None], ids=["read", "mixed"])
@pytest.mark.parametrize("ended", ["complete", "failed"])
async def test_p99_is_in_sight_at_80x24(tmp_path: Path, stream: Path | None, ended: str) -> None:
    names = host_names(3)
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, names, READS)
        if stream
        else RunMaker(tmp_path / "runs" / RUN_ID, names)
    )
    maker.begin().go().measure(20)
    maker.finish() if ended == "complete" else maker.finish(state="failed")
    write_record(maker.run_dir)
    (tail,) = (
        tile
        for tile in figure_tiles(Page(load_record(maker.run_dir), maker.run_dir))
        if "p99" in tile.title
    )
    async with stage(maker, SMALL, step="result") as (app, _):
        shown = shown_at_80x24(app)
        assert all(row in shown for row in large_digits(tail.number, "braille")) and tail.unit


async def test_p99_of_a_sweep_is_that_of_its_best_point(tmp_path: Path) -> None:
    maker = line_sweep(tmp_path)
    maker.steps_done(dict(enumerate([100e3, 150e3, 200e3, 180e3, 170e3]))).finish()
    write_record(maker.run_dir)
    record = load_record(maker.run_dir)
    async with stage(maker, SMALL, step="result") as (app, _):
        assert isinstance(app.screen, ResultScreen) and app.screen.page is not None
        (tail,) = (tile for tile in figure_tiles(app.screen.page) if "p99" in tile.title)
        assert record.headline is not None and record.headline.step is not None
        clat = record.steps[record.headline.step].results.aggregate["read"].clat
        assert latency(shown_percentile(clat, 99.0)) == f"{tail.number} {tail.unit}"
        assert all(row in shown_at_80x24(app) for row in large_digits(tail.number, "braille"))


async def test_the_limited_percentile_of_a_search_is_in_sight_at_80x24(tmp_path: Path) -> None:
    maker = search_in(tmp_path).measure_points()
    maker.skip(*range(7, 12)).finish()
    write_record(maker.run_dir)
    async with stage(maker, SMALL, step="result") as (app, _):
        assert isinstance(app.screen, ResultScreen) and app.screen.page is not None
        known = {tile.title: tile for tile in figure_tiles(app.screen.page)}
        for tile in (known["p99 at 46.4k"], known["p99.9 at 46.4k"]):
            assert all(row in shown_at_80x24(app) for row in large_digits(tile.number, "braille"))


def test_without_a_headline_of_one_direction_figures_are_of_all_ios_together(
    maker: RunMaker,
) -> None:
    record = replaced(record_of(maker))
    rate, *_, tail, of_host = figure_tiles(Page(record, maker.run_dir))
    assert of_host.title == "IOPS, median host"
    dirs = {
        name: each for name, each in record.steps[0].results.aggregate.items() if name != "mixed"
    }
    tails = sorted(shown_percentile(each.clat, 99.0) or 0 for each in dirs.values())
    value = float(tail.number) * {"µs": 1e3, "ms": 1e6}[tail.unit]
    assert tail.title == "p99 latency" and tails[0] * 0.99 <= value <= tails[-1] * 1.01
    assert f"{rate.number}{rate.unit}" == iops(sum(each.iops or 0.0 for each in dirs.values()))


def replaced(record: RunRecord) -> RunRecord:
    """The same without a headline: what is shown is of all directions."""
    return record.model_copy(update={"headline": None})


async def test_y_asks_what_to_copy_and_copies_it(maker: RunMaker) -> None:
    async with stage(maker, step="result") as (app, pilot):
        for keys, begin in ((("p",), f"{maker.run_dir}/run.json"), (("j", "enter"), "**read")):
            await pilot.press("y")
            await seen(lambda: isinstance(app.screen, CopyDialog), "the menu", 60)
            await pilot.pause()
            await pilot.press(*keys)
            await seen(
                partial(lambda begin: app.clipboard.startswith(begin), begin), "what was copied", 60
            )


async def test_what_would_be_copied_is_below_whole_lines_wrapped_and_tables_cut(
    maker: RunMaker,
) -> None:
    async with stage(maker, SMALL, step="result") as (app, pilot):
        await pilot.press("y")
        await seen(lambda: isinstance(app.screen, CopyDialog), "the menu", 60)
        await pilot.pause()
        headline = " ".join(app.text_of("#copy-begin").split())
        assert headline.startswith("Preview") and headline.endswith(RUN_ID)
        await pilot.press("j", "j")
        await pilot.pause()
        _, head, values, *_ = app.text_of("#copy-begin").rstrip().splitlines()
        assert head.startswith("run_id,") and head.endswith("…") and values.startswith(f"{RUN_ID},")


async def test_at_80_columns_the_page_scrolls_and_nothing_is_cut(maker: RunMaker) -> None:
    async with stage(maker, SMALL, step="result") as (app, pilot):
        page = app.screen.query_one("#result-page")
        assert all(len(line) <= 80 for line in app.text_of("#result-page").splitlines())
        scroll = page.parent
        assert scroll is not None
        await pilot.press("G")
        await app.settle(pilot)
        assert scroll.scroll_offset.y > 0  # type: ignore[attr-defined]
        await pilot.press("g")
        await app.settle(pilot)
        assert scroll.scroll_offset.y == 0  # type: ignore[attr-defined]


async def test_problems_come_before_the_figures(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(3), READS).begin().go().measure(5)
    maker.fail("weka-02", "host-lost", "no connection to the end").finish(
        "partial", "1 problem", broken=["weka-02"]
    )
    write_record(maker.run_dir)
    async with stage(maker, step="result") as (app, _):
        page = app.text_of("#result-top") + app.text_of("#result-page")
        assert "PARTIAL" in page and "✗ weka-02  no connection to the end" in page
        assert page.index("Findings") < page.index("All hosts")
        assert "~ rebuilt from samples" in page


async def test_a_run_that_measured_nothing_says_so(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2)).begin()
    maker.fail("weka-01", "fio-missing", "fio is not installed").finish(
        "failed", "refused", broken=maker.hosts
    )
    write_record(maker.run_dir)
    async with stage(maker, SMALL, step="result") as (app, pilot):
        page = app.text_of("#result-top") + app.text_of("#result-page")
        assert (
            "FAILED" in page and "nothing was measured" in page and "fio is not installed" in page
        )
        await pilot.press("d")
        await app.settle(pilot)
        assert app.told == ["nothing was measured: no objections"]


async def test_a_problem_that_several_hosts_have_is_reported_once_with_their_names(
    tmp_path: Path,
) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(9)).begin()
    for host in maker.hosts[:8]:
        maker.fail(host, "host-locked", "in use by run 1 of ann@jump")
    maker.finish("failed", "8 hosts are in use", broken=maker.hosts)
    write_record(maker.run_dir)
    async with stage(maker, SMALL, step="result") as (app, pilot):
        page = " ".join(app.text_of("#result-page").split())
        assert page.count("in use by run 1") == 1 and page.count("nothing was measured") == 1
        assert "weka-[01-08] in use by run 1 of ann@jump" in page
        assert "Published" not in page
        page = " ".join((await tab(app, pilot, "findings")).split())
        assert page.count("in use by run 1") == 1 and "weka-07, weka-08 in use" in page
    shown = " ".join(summary_text(load_record(maker.run_dir)).split())
    assert shown.count("in use by run 1") == 1 and "CPU" not in shown


async def test_the_chart_takes_the_rows_that_would_stay_empty(maker: RunMaker) -> None:
    async with stage(maker, (200, 60), step="result") as (app, _):
        screen = cast("ResultScreen", app.screen)
        assert screen.view.size.height == screen.scroll.size.height
        assert not screen.scroll.show_vertical_scrollbar


async def test_a_run_whose_engine_died_gets_a_record_from_its_journal(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), READS).begin().go().measure(5)
    async with stage(maker, step="result") as (app, _):
        assert "PARTIAL" in app.text_of("#result-top")
    assert json.loads((maker.run_dir / "run.json").read_bytes())["state"] == "partial"


async def test_a_damaged_record_is_reported_not_thrown(maker: RunMaker) -> None:
    (maker.run_dir / "run.json").write_text('{"schema": "benchtui.run/1"}')
    async with stage(maker, step="result") as (app, _):
        assert "not a run record" in " ".join(app.text_of("#result-page").split())
        assert str(app.screen.query_one(KeyBar).render()) == "r run again  p replay  ? help  q quit"


async def test_r_shows_the_hosts_and_parameters_of_the_run_on_review(
    maker: RunMaker, tmp_path: Path
) -> None:
    names = [host.name for host in load_plan(maker.run_dir).hosts]
    write_inventory(tmp_path, f"hosts: {{{', '.join(f'{name}: {{}}' for name in names)}}}\n")
    async with stage(maker, step="result") as (app, pilot):
        assert "r run again" in str(app.screen.query_one(KeyBar).render())
        await pilot.press("r")
        await app.settle(pilot)
        assert isinstance(app.screen, ReviewScreen) and app.selection.ticked == names
        await pilot.press("escape")
        await app.settle(pilot)
        assert isinstance(app.screen, ResultScreen)


async def test_p_plays_the_run_again(maker: RunMaker) -> None:
    async with stage(maker, step="result") as (app, pilot):
        await pilot.press("p")
        await app.settle(pilot)
        assert isinstance(app.screen, LiveScreen) and app.live.feed.replay


async def test_a_note_is_kept_and_shown(maker: RunMaker) -> None:
    async with stage(maker, step="result") as (app, pilot):
        await pilot.press("n", *"hot", "enter")
        await app.settle(pilot)
        assert "note     hot" in await tab(app, pilot, "facts")
    assert [note.text for note in record_of(maker).notes] == ["hot"]


async def test_the_page_is_ascii_where_the_terminal_is(maker: RunMaker) -> None:
    async with stage(maker, WIDE, step="result", symbols="ascii") as (app, _):
        assert app.text_of("#result-page").isascii()


async def test_tabs_are_moved_between_by_keys_and_clicks_and_each_fits_and_scrolls(
    tmp_path: Path,
) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(3)).begin().layout(2, 2).go()
    maker.look_at("weka-01", {"cpu.busy": 91.0, "core.busy": 99.0})
    maker.measure(20).finish()
    write_record(maker.run_dir)
    shown = {"defend": "The run was too short", "latency": "I/Os by latency", "time": "p99 latency",
        "hosts": "vs median",
             "findings": "No data for these checks", "facts": "record", "load": "Busiest client: CPU",
             "commands": "Job file", "published": "aws, one client"}  # fmt: skip
    async with stage(maker, SMALL, step="result") as (app, pilot):
        screen = app.screen
        assert isinstance(screen, ResultScreen)
        await pilot.press("G")
        for name, text in shown.items():
            page = await tab(app, pilot, name)
            assert text in page and all(len(line) <= 80 for line in page.splitlines())
            assert screen.scroll.scroll_offset.y == 0
            top = app.text_of("#result-top")
            assert "valid with warnings" in top and "read " in top.splitlines()[0]
        tabs = app.text_of("#result-top").splitlines()[1]
        assert tabs.startswith("‹ ") and tabs.endswith("Published"), (
            "tabs that have no room are told at both ends"
        )
        await pilot.click("#result-top", offset=(tabs.index("Hosts") + 2, 1))
        await app.settle(pilot)
        assert screen.page is not None and screen.page.tab == "hosts"
        await tab(app, pilot, "published")
        await pilot.press("tab")
        await app.settle(pilot)
        assert screen.page is not None and screen.page.tab == "summary"
        await pilot.press("shift+tab", "escape", "d")
        await app.settle(pilot)
        assert screen.page.tab == "defend"
        await pilot.click("#result-top", offset=(3, 1))
        await app.settle(pilot)
        assert screen.page.tab == "summary"


async def test_a_host_that_lags_is_named_with_the_headline_and_stands_first(
    maker: RunMaker,
) -> None:
    record = record_of(maker)
    for result in record.steps[0].results.per_host["weka-02"].values():
        result.iops = (result.iops or 0.0) / 4
    (maker.run_dir / "run.json").write_text(record.to_json())
    async with stage(maker, SMALL, step="result") as (app, pilot):
        page = app.text_of("#result-page")
        assert "▼ weka-02 at 25 % of median" in page and page.index("weka-02 at") < page.index(
            "Findings"
        )
        assert "2 of 3 hosts within ±1 % of the median host" in page
        rows = (await tab(app, pilot, "hosts")).splitlines()
        late = next(row for row in rows if "-75 %" in row)
        assert late.startswith("▼ weka-02")
        assert isinstance(app.screen, ResultScreen) and app.screen.page is not None
        wide = plain_lines(hosts_lines(app.screen.page, 118, 10))
        assert "━" in next(row for row in wide if "-75 %" in row)
        assert rows.index(next(row for row in rows if "-75 %" in row)) < rows.index(
            next(row for row in rows if "weka-01" in row)
        )


def test_an_answer_without_a_number_is_reported_in_words_on_every_tab(maker: RunMaker) -> None:
    record = load_record(maker.run_dir)
    assert record.headline is not None
    answer = record.headline.model_copy(update={"value": None, "text": "no load meets p99 < 3 ms"})
    search = SearchRecord(kind="capacity", most_points=5)
    page = Page(record.model_copy(update={"headline": answer, "search": search}), maker.run_dir)
    lines = plain_lines([title_line(replace(page, tab="defend"), 100), *headline(page, 100)])
    assert "no load meets p99 < 3 ms" in lines[0] and lines[1].strip() == "no load meets p99 < 3 ms"


@pytest.mark.parametrize("width", [58, 78, 118])
def test_a_verdict_that_is_not_the_sealed_one_is_marked_on_every_tab(
    maker: RunMaker, width: int
) -> None:
    record = load_record(maker.run_dir)
    record.not_as_sealed = True
    page = Page(record, maker.run_dir)
    top = title_line(replace(page, tab="defend"), 118).plain
    lines = " ".join("\n".join(plain_lines(headline(page, width))).split())
    assert NOT_SEALED in top and "✓" not in top
    assert lines.count(NOT_AS_SEALED) == 1
