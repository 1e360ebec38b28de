"""How Live, Result and Runs look, in both sizes; the clock stands still and the data is real fio's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.app.journal_maker import MIX, READS, RUN_ID, RunMaker, host_names
from tests.app.stage import SMALL, WIDE, Stage
from tui.results.record.build import write_record

Compare = Callable[..., bool]
SIZES = pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])


def run_of(home: Path, hosts: int = 12, stream: Path = READS, run_id: str = RUN_ID) -> RunMaker:
    return RunMaker(home / "runs" / run_id, host_names(hosts), stream).begin().layout(2, 2)


def app_on(maker: RunMaker, step: str = "live", theme: str = "dark") -> Stage:
    app = Stage(maker.run_dir.parent.parent, maker.run_dir, theme=theme)
    app.first_step, app.wall = step, maker.now
    return app


async def settle(pilot: Pilot[None]) -> None:
    app = pilot.app
    assert isinstance(app, Stage)
    await app.settle(pilot)


def troubled(home: Path, stream: Path = READS) -> RunMaker:
    """A run half way: one host silent, one failed."""
    maker = run_of(home, stream=stream).go().say("page cache dropped before read_iops", host="weka-01").measure(24)
    maker.fail("weka-05", "no-space", "No space left on device writing /mnt/weka/fio/read_iops.0")
    return maker.measure(6, silent=["weka-03", "weka-05"])


@SIZES
def test_live_reading(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(troubled(tmp_path)), terminal_size=size, run_before=settle)


@SIZES
def test_live_mixed(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(troubled(tmp_path, MIX)), terminal_size=size, run_before=settle)


def test_live_layout(snap_compare: Compare, tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(12)).begin().layout(5, 8)
    assert snap_compare(app_on(maker), terminal_size=WIDE, run_before=settle)


def test_live_one_host(snap_compare: Compare, tmp_path: Path) -> None:
    async def choose(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await pilot.press("j", "enter")
        await settle(pilot)

    assert snap_compare(app_on(troubled(tmp_path)), terminal_size=WIDE, run_before=choose)


def test_live_partial_end(snap_compare: Compare, tmp_path: Path) -> None:
    maker = troubled(tmp_path).finish("partial", "1 problem on hosts", broken=["weka-05"])
    assert snap_compare(app_on(maker), terminal_size=SMALL, run_before=settle)


def test_live_light(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(app_on(troubled(tmp_path, MIX), theme="light"), terminal_size=WIDE, run_before=settle)


@SIZES
def test_result(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    maker = run_of(tmp_path, stream=MIX).go().measure(30).finish()
    write_record(maker.run_dir)
    assert snap_compare(app_on(maker, "result"), terminal_size=size, run_before=settle)


def test_result_partial(snap_compare: Compare, tmp_path: Path) -> None:
    maker = troubled(tmp_path).finish("partial", "1 problem on hosts", broken=["weka-05"])
    write_record(maker.run_dir)
    assert snap_compare(app_on(maker, "result"), terminal_size=SMALL, run_before=settle)


@SIZES
def test_runs(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    for day, state in ((18, "failed"), (19, "partial"), (20, "complete")):
        run_id = f"202611{day}T101530Z-weka-read-iops-00{day}"
        utc = f"2026-11-{day}T10:15:30.000000Z"
        maker = RunMaker(tmp_path / "runs" / run_id, host_names(day), READS, utc=utc).begin()
        if state != "failed":
            maker.go().measure(5)
        maker.finish(state, broken=maker.hosts if state == "failed" else ())  # type: ignore[arg-type]
        write_record(maker.run_dir)
    assert snap_compare(app_on(maker, "runs"), terminal_size=size, run_before=settle)
