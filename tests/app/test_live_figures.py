"""Live: figures in large digits, and marks on the time axes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.stage import SMALL, WIDE, Stage, stage
from tui.app.screens.live_layout import HEADS, HOST_LINES, Shown, rooms_of, with_tiles_if
from tui.app.widgets.figure_tiles import TILE_LINES, FigureTiles
from tui.app.widgets.graph_panels import HeatPanel
from tui.app.widgets.lines import Lines
from tui.metrics.units import bandwidth, iops, latency, size
from tui.model.event import NoteAdded
from tui.text.digits import FigureTile


def figures(app: Stage) -> list[FigureTile]:
    """What the tiles show."""
    return list(app.live.query_one(FigureTiles).tiles)


async def test_of_a_mixed_load_the_sum_of_rates_and_each_p99_are_shown(tmp_path: Path) -> None:
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, host_names(3)).begin().layout(2, 2).go().measure(20)
    )
    async with stage(maker, WIDE) as (app, _):
        rate, moved, *tails = figures(app)
        total = app.live.feed.state.total
        assert f"{rate.number}{rate.unit}" == iops(total.iops)
        assert f"{moved.number} {moved.unit}" == bandwidth(total.bw_bytes_per_s)
        assert "avg " in rate.aside
        for tail, name in zip(tails, ("read", "write"), strict=True):
            view = app.live.feed.state.cluster[name]
            assert tail.title.startswith(name)
            assert f"{tail.number} {tail.unit}" == latency(view.interval_percentiles["99"])
            assert tail.aside == f"(so far {latency(view.so_far_percentiles['99'])})"


async def test_before_the_load_the_layout_is_reported(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(3)).begin()
    async with stage(maker, WIDE) as (app, pilot):
        assert not figures(app) and not app.live.query_one(FigureTiles).size.height
        maker.layout(2, 8)
        await app.tick(pilot, maker)
        written, rate = figures(app)
        assert f"{written.number} {written.unit}" == size(2 * 3 * (200 << 20))
        assert f"{rate.number} {rate.unit}" == bandwidth(3 * (200 << 20))


async def test_they_fit_at_80x24_beside_all_that_was_there(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(3), READS).begin().go()
    maker.together = True
    async with stage(maker.measure(20), SMALL) as (app, _):
        assert app.live.query_one(FigureTiles).size.height == TILE_LINES
        for panel in ("pulse", "heat", "percentiles", "hosts"):
            assert app.live.query_one(f"#live-{panel}").size.height, panel


@given(st.integers(10, 80), st.integers(1, 300), st.booleans(), st.booleans())
def test_only_graphs_and_map_get_smaller_or_hosts_are_folded(
    room: int, hosts: int, graphs: bool, heat: bool
) -> None:
    least = min(hosts, 3)
    shared = partial(rooms_of, shown=Shown(hosts, least, graphs, heat), roomy=room >= 30)
    before, found = shared(room), with_tiles_if(True, room, shared, least)
    own = room - before.graphs - before.heat - before.pulse
    left = room - found.graphs - found.heat - found.pulse - found.tiles
    assert (found.pulse, bool(found.heat)) == (before.pulse, bool(before.heat))
    if found.pulse:  # the figures matter more than unremarkable hosts
        assert left >= min(own, least + HEADS)
    else:
        assert left >= min(own, HOST_LINES) and (found.folds or not before.folds)


async def test_notes_lost_and_silent_hosts_are_marked_on_the_time_axes(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(3)).begin().go().measure(3)
    noted_t = maker.t
    maker.add(NoteAdded(t=noted_t, text="the cache was dropped"))
    maker.measure(9).fail(maker.hosts[1], "host-lost", "no answer for 30 s").measure(3)
    last_t = maker.t
    maker.measure(6, silent=maker.hosts[2:])
    async with stage(maker) as (app, _):
        axis = app.live.query_one(HeatPanel).axis
        found = {mark.word: mark.second for mark in axis.marks}
        lost = app.live.feed.state.current.dropped[maker.hosts[1]]
        assert found == {"note": int(noted_t), "host lost": int(lost), "host silent": int(last_t)}
        for name in ("#live-iops", "#live-strip", "#live-heat"):
            foot = app.screen.query_one(name, Lines).painted[-1]
            assert (
                foot.plain.index("◆") < foot.plain.index("✗")
                and foot.width == app.screen.query_one(name).size.width
            )
