"""Compare: runs that are marked on Runs are held against the first of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from tests.app.journal_maker import RunMaker, make_run
from tests.app.stage import SMALL, WIDE, app_on, settle, stage
from tests.app.test_runs import rows
from tests.patience import seen
from tui.app.dialogs.export import CopyDialog
from tui.app.frame.step_screen import KeyBar
from tui.app.screens.compare import CompareScreen
from tui.app.screens.runs import RunsScreen
from tui.library.build import write_record
from tui.library.summary import rename


@pytest.fixture
def newest(tmp_path: Path) -> RunMaker:
    """Three runs: two of one profile, the oldest of another; the newest is returned."""
    for day, tag in ((17, "mapr/seq-write"), (18, "weka/read-iops"), (20, "weka/read-iops")):
        maker = make_run(tmp_path, day, tag).measure(15).finish()
        write_record(maker.run_dir)
    return maker


def page(screen: object) -> str:
    assert isinstance(screen, CompareScreen), f"on {screen}"
    return "\n".join(line.plain for line in screen.lines(110))


def in_sight(screen: object) -> list[str]:
    """The lines of the page that have room, at its own width."""
    assert isinstance(screen, CompareScreen), f"on {screen}"
    region, lines = (
        screen.pane.scrollable_content_region,
        [line.plain for line in screen.pane._built or ()],
    )
    return lines[screen.pane.scroll_offset.y :][: region.height]


async def test_two_marked_runs_are_compared_and_escape_leads_back(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("space", "space")
        assert [row.split()[0] for row in rows(app)[:2]] == ["B", "A"], "the older one is A"
        await pilot.press("c")
        await app.settle(pilot)
        assert "B  2026-11-20 10:15" in page(app.screen)
        assert newest.run_dir.name in page(app.screen), "its ID is what commands take"
        await pilot.press("x")
        await app.settle(pilot)
        assert "A  2026-11-20 10:15" in page(app.screen)
        assert "read IOPS" in page(app.screen) and page(app.screen).startswith("Inconclusive: B ")
        await pilot.press("escape")
        assert isinstance(app.screen, RunsScreen)


async def test_the_footer_names_what_works_with_these_runs(newest: RunMaker) -> None:
    async with stage(newest, SMALL, step="runs") as (app, pilot):
        await pilot.press("space", "space", "c")
        await app.settle(pilot)
        footer = app.screen.query_one(KeyBar).render().plain
        assert "y copy" in footer and "l latencies" in footer and "all figures" not in footer


async def test_the_comparison_is_ascii_where_the_terminal_is(newest: RunMaker) -> None:
    async with stage(newest, step="runs", symbols="ascii") as (app, pilot):
        await pilot.press("space", "space", "c")
        await settle(pilot)
        shown = str(app.screen.query_one("TextPane > Static", Static).content)
        assert "latency" in shown and shown.isascii()


async def test_one_marked_run_is_compared_with_the_one_under_the_cursor(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("space", "j", "c")
        await app.settle(pilot)
        said = page(app.screen)
        first = (
            "A and B cannot be compared: the profile differs (mapr/seq-write / weka/read-iops);"
            " measured: B does "
        )
        assert " ".join(said.split()).startswith(first), "the reason stands first, and once"
        assert said.count("not comparable") == 0 and said.count("mapr/seq-write") == 2, (
            "A's own line names it too"
        )


async def test_a_run_alone_is_not_compared(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("space", "k", "c")
        await app.settle(pilot)
        assert isinstance(app.screen, RunsScreen)


async def test_a_mark_leaves_the_state_with_its_symbol_as_it_is(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        before = rows(app)
        await pilot.press("space", "space")
        assert [row[:2] for row in rows(app)[:2]] == ["B ", "A "] and [
            row[2:] for row in rows(app)[:2]
        ] == before[:2]
        await pilot.press("k", "k", "space", "space")
        assert rows(app) == before, "without marks there is no column for them"


async def test_a_run_in_which_nothing_was_measured_is_not_marked_nor_compared(
    newest: RunMaker, tmp_path: Path
) -> None:
    run_id = "20261121T101530Z-weka-read-iops-0021"
    failed = RunMaker(tmp_path / "runs" / run_id, newest.hosts, utc="2026-11-21T10:15:30.000000Z")
    write_record(failed.begin().finish("failed", "no space", broken=failed.hosts).run_dir)
    async with stage(newest, step="runs") as (app, pilot):
        assert "FAILED" in rows(app)[0]
        await pilot.press("space")
        await app.settle(pilot)
        assert app.told == [f"nothing was measured in {run_id}: it cannot be compared"]
        assert not any(row.startswith("A ") for row in rows(app))
        await pilot.press("j", "space", "k", "k", "c")
        await app.settle(pilot)
        assert isinstance(app.screen, RunsScreen) and len(app.told) == 2


async def test_a_mark_can_be_taken_away(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("space", "k", "space")
        assert not any(row.startswith("A ") for row in rows(app))


async def test_l_shows_figures_and_charts_of_the_latencies_alone_and_the_page_again(
    newest: RunMaker,
) -> None:
    rename(newest.run_dir, "after tuning")
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("space", "space", "c")
        await app.settle_whole(pilot)
        before = page(app.screen)
        await pilot.press("l")
        await app.settle(pilot)
        shown = page(app.screen).splitlines()
        assert "B's read latency is" in shown[0]
        (top,) = (at for at, line in enumerate(shown) if line.startswith("read latency  "))
        assert shown[top].split()[:5] == ["read", "latency", "p50", "p90", "p99"]
        assert shown[top + 1].startswith("A  11-18 10:15") and "µs" in shown[top + 1]
        assert shown[top + 2].startswith("B  11-20 10:15  after tuning")
        assert shown[top + 3].startswith("B against A") and shown[top + 3].count("%") > 3
        assert "B against A, below 0 is faster" in page(app.screen)
        assert "━━ A  ━━ B" in page(app.screen)
        pane = cast("CompareScreen", app.screen).pane
        assert not pane.show_vertical_scrollbar
        await pilot.press("l")
        await app.settle_whole(pilot)
        assert page(app.screen) == before


async def test_charts_are_below_the_figures_if_there_is_room(newest: RunMaker) -> None:
    async with stage(newest, (200, 60), step="runs") as (app, pilot):
        await pilot.press("space", "space", "c")
        await app.settle_whole(pilot)
        pane = cast("CompareScreen", app.screen).pane
        assert "read I/Os by latency" in page(app.screen) and not pane.show_vertical_scrollbar


async def test_both_charts_are_in_sight_next_to_each_other_where_there_is_room(
    newest: RunMaker,
) -> None:
    async with stage(newest, WIDE, step="runs") as (app, pilot):
        await pilot.press("space", "space", "c")
        await app.settle_whole(pilot)
        shown = in_sight(app.screen)
        (top,) = (at for at, line in enumerate(shown) if "-- A" in line and "━━ A" in line)
        assert any(line.count("└") == 2 for line in shown[top:]), "with both axes"


async def test_latencies_that_were_asked_for_are_in_sight_on_a_small_terminal(
    newest: RunMaker,
) -> None:
    async with stage(newest, SMALL, step="runs") as (app, pilot):
        await pilot.press("space", "space", "c")
        await app.settle(pilot)
        await pilot.press("l")
        await app.settle(pilot)
        shown = in_sight(app.screen)
        assert sum("━━ B" in line for line in shown) == 2 and "B's read latency is" in shown[0]
        assert sum("└" in line for line in shown) == 2, "both charts, with their axes"


async def test_y_copies_the_answer_the_figures_or_the_command_that_compares_the_same(
    newest: RunMaker,
) -> None:
    async with stage(newest, SMALL, step="runs") as (app, pilot):
        await pilot.press("space", "space", "c")
        await app.settle(pilot)
        first = page(app.screen).splitlines()[0]
        ids = [run_dir.name for run_dir in cast("CompareScreen", app.screen).runs]
        for keys, begin in (
            (("h",), first[:40]),
            (("c",), "a_runs,b_runs,point,figure,"),
            (("l",), f"benchtui compare {ids[0]} {ids[1]}"),
            (("j", "enter"), first[:40]),
        ):
            await pilot.press("y")
            await seen(lambda: isinstance(app.screen, CopyDialog), "the menu", 60)
            await pilot.pause()
            await pilot.press(*keys)
            await seen(
                partial(lambda begin: app.clipboard.startswith(begin), begin),
                f"{keys}: {begin}",
                60,
            )
        assert (
            "| read IOPS | 38.2k IOPS | 38.2k IOPS | " in app.clipboard and ids[1] in app.clipboard
        )


async def test_a_record_that_cannot_be_read_is_reported(newest: RunMaker) -> None:
    (newest.run_dir / "run.json").write_text("{")
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("space", "space", "c")
        await app.settle(pilot)
        assert isinstance(app.screen, CompareScreen)
        assert "not a run record" in "\n".join(line.plain for line in app.screen.pane.builder(110))


def test_compare(snap_compare: Callable[..., bool], newest: RunMaker) -> None:
    async def look(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await pilot.press("space", "space", "c")
        await settle(pilot)

    assert snap_compare(app_on(newest, "runs"), terminal_size=WIDE, run_before=look)
