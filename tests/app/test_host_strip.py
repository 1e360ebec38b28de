"""Live: hosts over time, beside the median host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.stage import SMALL, WIDE, stage
from tui.app.widgets.host_strip import HostStrip
from tui.journal.fold import fold_all
from tui.journal.reader import JournalTail
from tui.journal.state import RunState
from tui.model.rundir import JOURNAL_FILE
from tui.text.plot import TimeAxis
from tui.view.live_hosts import ALIKE, FAR, STALLED, HostLevels


def made(home: Path, hosts: int) -> RunMaker:
    """A load of some hosts: the second one at a quarter, the last one silent after ten seconds."""
    maker = RunMaker(home / "runs" / RUN_ID, host_names(hosts), READS).begin().go()
    maker.together, maker.pace = True, {maker.hosts[1]: 0.25}
    return maker.measure(10).measure(10, silent=[maker.hosts[-1]])


def state_of(maker: RunMaker) -> RunState:
    return fold_all(RunState(), JournalTail(maker.run_dir / JOURNAL_FILE).poll())


@pytest.mark.parametrize("columns", [10, 20, 45])
def test_slow_and_silent_hosts_are_distinguished_from_the_others(
    tmp_path: Path, columns: int
) -> None:
    state = state_of(made(tmp_path, 12))
    (begin, end), levels = state.total.span or (0, 0), HostLevels()
    axis = TimeAxis(begin, end - begin)
    levels.take(state.hosts, axis, columns, end, state.current, None)
    slow, silent, like = (levels.rows(12)[place].levels for place in (1, 11, 5))
    assert set(slow) == {FAR} and set(like) == {ALIKE}
    half = columns // 2
    assert set(silent[: half - 1]) == {ALIKE}
    assert set(silent[half + 1 :]) == {STALLED}, "up to the newest second"
    first, *_, last = levels.rows(4)
    assert (first.name, last.name) == ("weka-02", "weka-12"), "a group bears the name of its worst"
    assert FAR in first.levels and STALLED in last.levels


def test_what_is_taken_up_bit_by_bit_is_what_is_read_at_once(tmp_path: Path) -> None:
    state = state_of(made(tmp_path, 5))
    begin, end = state.total.span or (0, 0)
    whole, grown = HostLevels(), HostLevels()
    axis = TimeAxis(begin, 30)
    whole.take(state.hosts, axis, 30, end, state.current, None)
    for second in (*range(begin + 1, begin + 4), end):  # another screen was shown meanwhile
        grown.take(state.hosts, axis, 30, second, state.current, None)
    assert whole.rows(5) == grown.rows(5)


async def test_one_host_a_line_can_be_scrolled(tmp_path: Path) -> None:
    async with stage(made(tmp_path, 40), SMALL) as (app, pilot):
        strip = app.screen.query_one("#live-strip")
        assert not strip.display, "80 columns have room for the graphs alone"
        await pilot.press("z", "z")
        await app.settle(pilot)
        shown = app.text_of("#live-strip")
        first, second, third = (line.split()[1] for line in shown.splitlines()[1:4])
        assert strip.has_focus and {first, second} == {"weka-02", "weka-40"}, "the worst first"
        assert third == "weka-01" and "weka-39" not in shown
        await pilot.press("G")
        await app.settle(pilot)
        assert "weka-39" in app.text_of("#live-strip") and "weka-01" not in app.text_of(
            "#live-strip"
        )
        await pilot.press("escape")
        await app.settle(pilot)
        assert app.live.table.has_focus and not strip.display


async def test_it_stands_in_place_of_bandwidth_that_is_reported_in_large_digits(
    tmp_path: Path,
) -> None:
    async with stage(made(tmp_path, 40), WIDE) as (app, _):
        assert (
            "weka-02" in app.text_of("#live-strip")
            and not app.screen.query_one("#live-bandwidth").display
        )
    async with stage(made(tmp_path / "two", 2), WIDE) as (app, _):
        assert not app.screen.query_one("#live-strip").display, "two hosts have no median"


@pytest.mark.parametrize(("hosts", "lines"), [(4, 3), (4, 2), (7, 4), (40, 3), (3, 5)])
async def test_all_lines_are_used_and_slow_hosts_have_their_name(
    tmp_path: Path, hosts: int, lines: int
) -> None:
    async with stage(made(tmp_path, hosts), WIDE) as (app, _):
        strip = app.screen.query_one("#live-strip", HostStrip)
        _, *body, _ = (line.plain for line in strip.build(100, lines + 2))
        named = [line.split()[1] for line in body if "weka-" in line]
        assert len(named) == min(hosts, lines)
        assert {"weka-02", f"weka-{hosts:02}"} <= {*named}, "slow and silent"


async def test_hosts_that_share_a_line_are_named_as_a_range(tmp_path: Path) -> None:
    async with stage(made(tmp_path, 40), WIDE) as (app, _):
        strip = app.screen.query_one("#live-strip", HostStrip)
        _, *body, _ = (line.plain for line in strip.build(100, 5))
        assert [line.split()[1] for line in body] == ["weka-02", "weka-[14-26]", "weka-40"]
