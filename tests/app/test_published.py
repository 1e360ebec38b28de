"""Published figures on the Result screen: one key away, with all that keeps them from being
compared.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.stage import SMALL, WIDE, stage
from tui.library.build import write_record


@pytest.fixture
def maker(tmp_path: Path) -> RunMaker:
    """A finished run of weka/read-iops, for 60 s instead of 300."""
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, host_names(3), READS).begin().go().measure(8).finish()
    )
    write_record(maker.run_dir)
    return maker


async def test_the_result_says_that_there_is_something_to_compare_with(maker: RunMaker) -> None:
    async with stage(maker, SMALL, step="result") as (app, pilot):
        page = app.text_of("#result-page")
        assert "v 5 published results" in page
        await pilot.resize_terminal(*WIDE)
        await app.settle(pilot)
        page = app.text_of("#result-page")
        (line,) = (line for line in page.splitlines() if line.startswith("Published"))
        assert "5 results for weka/read-iops, none comparable: this run is scaled down" in line
        assert line.rstrip().endswith("v compares")


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
async def test_v_shows_published_figures_and_goes_back(
    maker: RunMaker, size: tuple[int, int]
) -> None:
    async with stage(maker, size, step="result") as (app, pilot):
        before = app.text_of("#result-page")
        await pilot.press("v")
        await app.settle(pilot)
        page = app.text_of("#result-page")
        assert all(len(line) <= size[0] for line in page.splitlines())
        assert page.index("this run is scaled down") < page.index(
            "1 aws, one client"
        )
        assert "393k" in page and "4.35M" in page and "1.49 GiB/s" in page
        text = " ".join(page.split())
        assert text.count("runtime 60s") == 1, "said once, by the badge"
        assert "clients 3 (published 1)" in text
        assert "number of clients (ours 3)" in text
        assert "without their number or spread" in text
        await pilot.press("v")
        await app.settle(pilot)
        assert app.text_of("#result-page") == before


async def test_the_page_of_published_figures_scrolls(maker: RunMaker) -> None:
    async with stage(maker, SMALL, step="result") as (app, pilot):
        await pilot.press("v")
        await app.settle(pilot)
        scroll = app.screen.query_one("#result-scroll")
        await pilot.press("G")
        await app.settle(pilot)
        assert scroll.scroll_offset.y > 0
        await pilot.press("v")
        await app.settle(pilot)
        assert scroll.scroll_offset.y == 0


async def test_a_profile_without_published_figures_says_so(tmp_path: Path) -> None:
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), READS, tag="my/own")
        .begin()
        .go()
        .measure(5)
        .finish()
    )
    write_record(maker.run_dir)
    async with stage(maker, SMALL, step="result") as (app, pilot):
        assert "v compares" not in app.text_of("#result-page")
        await pilot.press("v")
        await app.settle(pilot)
        assert "no published results for my/own" in app.text_of("#result-page")


async def test_own_baselines_are_shown_too(maker: RunMaker, tmp_path: Path) -> None:
    folder = tmp_path / "baselines"
    folder.mkdir()
    (folder / "own.yaml").write_text(
        "baselines: mine\ntitle: t\nsource: {document: Acceptance}\ntool: {name: fio}\nsetups:"
        " {old_array: {}}\nworkloads:\n  - {profile: weka/read-iops, results: [{label: last year,"
        " read: {iops: 100k}}]}\n"
    )
    async with stage(maker, SMALL, step="result") as (app, pilot):
        await pilot.press("v")
        await app.settle(pilot)
        assert "6 last year" in app.text_of("#result-page")
