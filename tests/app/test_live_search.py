"""A search on Live and on Result: the curve as it fills, what is known so far, what is measured
now.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.search_maker import SearchMaker, curve_in, offers, scaling_in, search_in
from tests.app.stage import SMALL, WIDE, app_on, settle, stage
from tui.app.screens.result_tiles import judgement
from tui.app.widgets.search_panel import SearchPanel
from tui.library.build import write_record
from tui.library.load import load_record
from tui.metrics.units import iops
from tui.model.search import Offer
from tui.text.digits import large_digits
from tui.text.line import BAD, GOOD
from tui.view.live_points import found_line, search_tiles
from tui.view.report.overview import judged

Compare = Callable[..., bool]


def half_way(home: Path) -> SearchMaker:
    maker = search_in(home).measure_points(5)
    maker.offer(5, offers()[5]).load(4, offers()[5].rate_iops)
    return maker


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
def test_a_search_half_way(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(half_way(tmp_path)), terminal_size=size, run_before=settle)


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
def test_the_result_of_a_search(
    snap_compare: Compare, tmp_path: Path, size: tuple[int, int]
) -> None:
    maker = search_in(tmp_path).measure_points()
    maker.skip(*range(7, 12)).finish()
    write_record(maker.run_dir)
    assert snap_compare(app_on(maker, "result"), terminal_size=size, run_before=settle)


async def test_the_answer_so_far_and_the_current_point_are_in_large_digits(tmp_path: Path) -> None:
    async with stage(half_way(tmp_path), WIDE) as (app, _):
        view = app.live.points.search_panel.view
        assert view is not None and view.record.answer is not None and view.now is not None
        capacity, now, tail = search_tiles(view)
        answer, (limit,) = (
            view.record.answer,
            (each for each in view.now.latencies if each.most_ns is not None),
        )
        assert capacity.number + capacity.unit.split()[0] == iops(answer.capacity.value)
        assert now.number + now.unit.split()[0] == iops(view.now.iops) and tail.title == f"{limit.name} now"
        assert (tail.role == BAD) == (limit.value_ns >= (limit.most_ns or 0)), (
            "in the colour of its limit"
        )
        assert now.role not in (GOOD, BAD), "a rate has no limit"
        assert large_digits(capacity.number, "braille")[0] in app.text_of("#live-search")


async def test_an_answer_that_does_not_fit_leaves_out_the_limits_that_the_heading_has(
    tmp_path: Path,
) -> None:
    async with stage(half_way(tmp_path), SMALL) as (app, _):
        view = app.screen.query_one("#live-search", SearchPanel).view
        assert view is not None
        whole, brief = (found_line(view, width).plain for width in (78, 50))
        assert "at p99.9 < 2 ms" in whole
        assert brief.rstrip() == whole.partition(" at p99.9")[0]


async def test_consoles_whose_fonts_lack_braille_get_a_curve_of_half_blocks(tmp_path: Path) -> None:
    async with stage(half_way(tmp_path), WIDE, symbols="block") as (app, _):
        lacking = set("╭╮╰╯━✓✗▾") | {chr(0x2800 + dots) for dots in range(256)}
        assert not lacking & set(app.screen_text())
        assert {"▀", "▄"} <= set(app.text_of("#live-search"))


async def test_short_points_promise_nothing_and_a_larger_terminal_shows_graphs_too(
    tmp_path: Path,
) -> None:
    async with stage(half_way(tmp_path), WIDE) as (app, pilot):
        assert not app.text_of("#live-health").strip()
        await pilot.resize_terminal(*SMALL)
        await app.settle(pilot)
        assert not app.screen.query_one("#live-graphs").is_on_screen
        await pilot.resize_terminal(200, 60)
        await app.settle(pilot)
        assert app.screen.query_one("#live-graphs").is_on_screen, "a terminal that was made larger"
        assert app.screen.query_one("#live-search").size.height > 30


async def test_growth_with_hosts_fills_on_live_from_point_to_point(tmp_path: Path) -> None:
    maker = scaling_in(tmp_path, measured=2)
    async with stage(maker) as (app, pilot):
        await app.tick(pilot, maker)
        shown = app.text_of("#live-search")
        assert "2 of 4 points" in shown and "96.2 % of linear at 2 hosts" in shown
        assert "now    full load, hosts=4" in shown and "4 hosts at full load" in shown
        assert "IOPS by number of hosts" in shown and shown.count("◆") == 2
        assert "latency over" not in shown, "points at full load are no curve of latency"
        maker.grow(2, Offer(None, 10.0, {"hosts": 4}, "maximum"), contention=0.04)
        await app.tick(pilot, maker)
        shown = app.text_of("#live-search")
        assert "89.3 % of linear at 4 hosts" in shown and "extrapolated" in shown
        assert "choosing the next point" in shown


async def test_a_load_curve_fills_on_live_with_its_knee_and_what_is_offered_now(
    tmp_path: Path,
) -> None:
    maker = curve_in(tmp_path, measured=8)
    async with stage(maker) as (app, pilot):
        await app.tick(pilot, maker)
        shown = app.text_of("#live-search")
        assert "Search load curve" in shown and "8 of 11 points" in shown
        assert "maximum 61.0k IOPS" in shown and "knee at 3" in shown
        assert re.search(
            r"now    offered 12\.2k IOPS  0:0\d of 0:10  12\.\dk achieved  p99 \d+ µs", shown
        )
        assert "latency vs. IOPS" in shown
        assert all(name in shown for name in ("p50", "p99", "p99.9", "knee", "now"))
        await pilot.press("m")
        assert not app.screen.query_one("#live-search").has_class("-shown")
        await pilot.press("m")
        assert app.screen.query_one("#live-search").has_class("-shown")


def test_the_verdict_looks_no_better_than_the_answer_of_the_search(tmp_path: Path) -> None:
    maker = search_in(tmp_path).measure_points()
    maker.skip(*range(7, 12)).finish()
    write_record(maker.run_dir)
    record = load_record(maker.run_dir)
    assert record.search is not None and record.search.answer is not None
    held = record.search.answer.model_copy(
        update={"held_s": 300.0, "contradictions": [], "state": "found"}
    )
    for answer, fine in (
        (held, True),
        (held.model_copy(update={"contradictions": ["points 2 and 4"]}), False),
        (held.model_copy(update={"held_s": None}), False),
        (held.model_copy(update={"state": "unfinished"}), False),
    ):
        search = record.search.model_copy(update={"answer": answer})
        again = record.model_copy(update={"search": search, "verdict": "valid"})
        assert (judgement(again)[0][1] == "good") == fine
        assert (judged(again)[1] == GOOD) == fine
