"""Live while hosts are silent, and when a load is nearly over: who has finished, and who is waited
for.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.stage import SMALL, WIDE, Stage, stage


@pytest.fixture
def frozen(tmp_path: Path) -> RunMaker:
    """The end of a load of 12 hosts, of which one froze 14 s into it."""
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, host_names(12), READS, runtime_s=30.0)
        .begin()
        .go()
        .measure(14)
    )
    maker.measure(16, silent=["weka-07"]).end_loads(
        *(host for host in maker.hosts if host != "weka-07")
    )
    maker.t += 2
    return maker


def host_lines(app: Stage) -> list[str]:
    return app.text_of("#live-hosts").splitlines()


async def test_a_silent_host_is_named_with_the_seconds(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(4), READS).begin().go().measure(3)
    async with stage(maker.measure(6, silent=["weka-03"])) as (app, _):
        row = next(line for line in host_lines(app) if "weka-03" in line)
        assert row.startswith("? weka-03") and row.endswith("silent for 6 s")
        assert "3 running, 1 silent" in app.text_of("#live-hosts")


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
async def test_at_the_end_the_banner_names_the_one_host_that_is_waited_for(
    frozen: RunMaker, size: tuple[int, int]
) -> None:
    async with stage(frozen, size) as (app, _):
        said = app.text_of("#live-health")
        assert "11 of 12 finished, waiting 0:58 more for weka-07 (silent for 18 s)" in said
        assert "0:02 over" in app.text_of("#live-header")


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
async def test_at_the_end_the_frozen_host_is_on_top_and_finished_hosts_share_a_line(
    frozen: RunMaker, size: tuple[int, int]
) -> None:
    async with stage(frozen, size) as (app, pilot):
        heading, _, first, *_, others = (line for line in host_lines(app) if line)
        assert "11 finished, 1 silent" in heading
        assert first.startswith("? weka-07") and first.endswith("silent for 18 s")
        assert re.match(r"✓ \d+ hosts within", others), others
        await pilot.press("b")
        await app.settle(pilot)
        assert "hosts within" not in app.text_of("#live-hosts"), "b shows them"


async def test_deviation_and_rate_of_a_host_are_of_the_same_seconds(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(4), READS).begin().go().measure(12)
    async with stage(maker) as (app, pilot):
        await pilot.press("o")
        await app.settle(pilot)
        table = app.live.table
        rates = {host.name: table.cells.rate(host) for host in table.hosts}
        shares = table.spread.shares
        assert shares
        for host, share in shares.items():
            assert (rates[host] or 0) / (table.spread.middle or 1) - 1 == pytest.approx(share)


async def test_before_hosts_can_be_compared_they_have_a_rate_and_no_deviation(
    tmp_path: Path,
) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(4), READS).begin().go().measure(1)
    async with stage(maker) as (app, _):
        table = app.live.table
        assert all(table.cells.rate(host) for host in table.hosts)
        assert set(table.spread.shares.values()) == {None}


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
async def test_while_files_are_laid_out_there_are_no_latencies_of_the_load(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(4), READS).begin().layout(4, 8)
    async with stage(maker, size) as (app, _):
        assert app.live.feed.state.total.ios, "the writes themselves are counted"
        assert not app.live.query_one("#live-heat").display and "µs" not in app.screen_text()
        assert "200 MiB/s" in app.text_of("#live-hosts")
