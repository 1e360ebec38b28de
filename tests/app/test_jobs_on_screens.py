"""Several jobs, and several directions, on Live and Result: what is chosen, and whose figures stand
there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.journal_maker import READS, RUN_ID, SYNCS, TWO_JOBS, RunMaker, host_names
from tests.app.stage import SMALL, WIDE, Stage, stage
from tui.app.widgets.figure_tiles import FigureTiles
from tui.library.build import build_record, write_record
from tui.metrics.units import iops, latency


def running(tmp_path: Path, stream: Path = TWO_JOBS, seconds: int = 12) -> RunMaker:
    return RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), stream).begin().go().measure(seconds)


def host_row(app: Stage) -> str:
    return next(line for line in app.text_of("#live-hosts").splitlines() if "weka-01" in line)


def squeezed(text: str) -> str:
    return text.replace(" ", "")


async def test_j_shows_each_job_alone_then_all_together(tmp_path: Path) -> None:
    async with stage(running(tmp_path)) as (app, pilot):
        jobs = app.live.feed.state.current.jobs
        shown = []
        for _ in range(3):
            await pilot.press("J")
            await app.settle(pilot)
            shown.append([name for name in jobs if name in app.text_of("#live-iops")])
        assert shown == [["reader"], ["writer"], []]


async def test_tiles_percentiles_and_hosts_are_those_of_the_job(tmp_path: Path) -> None:
    async with stage(running(tmp_path)) as (app, pilot):
        await pilot.press("J", "J")
        await app.settle(pilot)
        writer = app.live.feed.state.current.jobs["writer"]
        assert set(writer.cluster) == {"sync", "write"}
        assert app.screen.query_one(FigureTiles).tiles[0].number == iops(writer.total.iops)
        percentiles = app.text_of("#live-percentiles")
        assert "read" not in percentiles and "sync" in percentiles
        so_far = writer.cluster["write"].so_far_percentiles
        assert squeezed(latency(so_far["50"])) in squeezed(percentiles)
        own = writer.total_of("weka-01").series("iops", last=5)
        assert iops(sum(map(float, own)) / len(own)) in host_row(app)  # type: ignore[arg-type]
        assert "Hosts · writer" in app.text_of("#live-hosts")
        # it does nothing of what the headline is about
        assert "sync p99" in app.text_of("#live-hosts")
        assert latency(writer.hosts["weka-01"]["sync"].interval_percentiles["99"]) in host_row(app)


async def test_one_host_and_one_job_can_be_chosen_together(tmp_path: Path) -> None:
    async with stage(running(tmp_path)) as (app, pilot):
        await pilot.press("J", "enter")
        await app.settle(pilot)
        assert "weka-01 reader" in app.text_of("#live-iops")
        view = app.live.feed.state.current.jobs["reader"].total_of("weka-01")
        tile = app.screen.query_one(FigureTiles).tiles[0]
        assert tile.number + tile.unit == iops(view.iops)


async def test_the_key_is_in_the_footer_where_there_is_something_to_choose(tmp_path: Path) -> None:
    async with stage(running(tmp_path), SMALL) as (app, _):
        assert "J job" in str(app.screen.query_one("KeyBar").render())


async def test_with_one_job_the_key_says_so_and_leaves_its_room(tmp_path: Path) -> None:
    async with stage(running(tmp_path, READS), SMALL) as (app, pilot):
        assert "J job" not in str(app.screen.query_one("KeyBar").render())
        await pilot.press("J")
        assert any("one job" in toast for toast in app.told)


async def test_the_latency_of_hosts_is_that_of_the_headline(tmp_path: Path) -> None:
    async with stage(running(tmp_path, SYNCS, 2), WIDE) as (app, _):
        host = app.live.feed.state.hosts["weka-01"]
        sync, write = (host.dirs[name].interval_percentiles["99"] for name in ("sync", "write"))
        assert latency(sync) != latency(write)
        assert "sync p99" in app.text_of("#live-hosts")
        assert latency(sync) in host_row(app) and latency(write) not in host_row(app)


async def test_sorting_by_a_latency_continues_when_another_job_is_shown(tmp_path: Path) -> None:
    async with stage(running(tmp_path), WIDE) as (app, pilot):
        for _ in range(4):
            await pilot.press("s")  # host, IOPS, BW, p99
        assert app.live.table.sort is not None and app.live.table.sort.title.endswith("p99")
        await pilot.press("J")
        await app.settle(pilot)
        assert app.live.table.sort in app.live.table.columns and app.live.table.sort.title.endswith(
            "p99"
        )


@pytest.fixture
def done(tmp_path: Path) -> RunMaker:
    maker = running(tmp_path).finish()
    write_record(maker.run_dir)
    return maker


def page_row(app: Stage, start: str) -> str:
    """The row of the table: a tile above it may begin with the same word."""
    return [line for line in app.text_of("#result-page").splitlines() if line.startswith(start)][-1]


async def test_the_result_of_a_job_alone(done: RunMaker) -> None:
    jobs = build_record(done.run_dir).steps[0].results.jobs
    assert jobs is not None
    async with stage(done, step="result") as (app, pilot):
        assert "all 2 jobs: reader, writer" in app.text_of("#result-page")
        await pilot.press("J", "J")
        await app.settle(pilot)
        page = app.text_of("#result-page")
        assert (
            "job 2 of 2: writer" in page
            and "writer, clat" in page
            and "Over time, all jobs" in page
        )
        write = jobs["writer"]["write"]
        assert write.clat is not None
        assert (
            iops(write.iops) in page_row(app, "write ")
            and latency(write.clat.percentiles_ns["99"]) in page
        )
        assert not any(line.startswith("read ") for line in page.splitlines())
        await pilot.press("J")
        await app.settle(pilot)
        assert "all 2 jobs" in app.text_of("#result-page")


async def test_hosts_of_a_result_have_the_wait_for_the_disk_first(done: RunMaker) -> None:
    async with stage(done, step="result") as (app, pilot):
        await pilot.press("J", "J", *["tab"] * 4)
        await app.settle(pilot)
        rows = app.text_of("#result-page").splitlines()
        first = next(
            number for number, line in enumerate(rows) if line.strip().startswith("weka-01")
        )
        assert "sync" in rows[first].split() and rows[first + 1].split()[0] == "write"


async def test_the_result_of_one_job_has_nothing_to_choose(tmp_path: Path) -> None:
    maker = running(tmp_path, READS).finish()
    async with stage(maker, SMALL, step="result") as (app, pilot):
        await pilot.press("J")
        assert "jobs" not in app.text_of("#result-page")
        assert any("one job" in toast for toast in app.told)
