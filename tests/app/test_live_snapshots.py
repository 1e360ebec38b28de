"""How Live, Result and Runs look as a whole, a picture each.

What they say is tested as text elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.journal_maker import MIX, READS, RUN_ID, RunMaker, host_names
from tests.app.stage import SMALL, WIDE, app_on, settle
from tui.library.build import write_record
from tui.library.summary import rename, retag, star

Compare = Callable[..., bool]


def run_of(home: Path, hosts: int = 12, stream: Path = READS, run_id: str = RUN_ID) -> RunMaker:
    return RunMaker(home / "runs" / run_id, host_names(hosts), stream).begin().layout(2, 2)


def troubled(home: Path, stream: Path = READS) -> RunMaker:
    """A run half way: one host silent, one failed."""
    maker = (
        run_of(home, stream=stream).go().say("page cache dropped before read_iops", host="weka-01")
    )
    # whole seconds of the real stream alone
    maker.together, maker.pace = True, {"weka-07": 0.82, "weka-11": 0.97}
    maker.measure(24)
    maker.fail("weka-05", "no-space", "No space left on device writing /mnt/weka/fio/read_iops.0")
    return maker.measure(6, silent=["weka-03", "weka-05"])


def test_live_reading(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(app_on(troubled(tmp_path)), terminal_size=SMALL, run_before=settle)


def test_live_light(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(
        app_on(troubled(tmp_path, MIX), theme="light"), terminal_size=WIDE, run_before=settle
    )


def test_result(snap_compare: Compare, tmp_path: Path) -> None:
    maker = run_of(tmp_path, stream=MIX).go().measure(30).finish()
    write_record(maker.run_dir)
    assert snap_compare(app_on(maker, "result"), terminal_size=WIDE, run_before=settle)


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
def test_runs(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    for day, state in ((18, "failed"), (19, "partial"), (20, "complete")):
        run_id = f"202611{day}T101530Z-weka-read-iops-00{day}"
        utc = f"2026-11-{day}T10:15:30.000000Z"
        maker = RunMaker(tmp_path / "runs" / run_id, host_names(day), READS, utc=utc).begin()
        if state != "failed":
            maker.go().measure(5)
        maker.finish(state, broken=maker.hosts if state == "failed" else ())  # type: ignore[arg-type]
        write_record(maker.run_dir)
    star(maker.run_dir, starred=True)
    retag(maker.run_dir, {"nightly": "", "lab": "b"})
    rename(maker.run_dir, "before tuning")
    assert snap_compare(app_on(maker, "runs"), terminal_size=size, run_before=settle)
