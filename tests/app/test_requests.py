"""Screens call requests of an object store by their names."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.app.driver import opened, options
from tests.app.journal_maker import MIX, RUN_ID, RunMaker, host_names
from tui.journal.rundir import load_plan
from tui.library.build import write_record
from tui.model.objects import ObjectSet

SIZES = [(80, 24), (120, 36)]


@pytest.fixture
def store_run(home: Path) -> Path:
    """A finished run that put and got objects."""
    maker = RunMaker(home / "runs" / RUN_ID, host_names(3), MIX).begin().go()
    run_dir = maker.measure(60).finish().run_dir
    plan = load_plan(run_dir)
    for task in plan.steps[0].tasks:
        task.objects = [ObjectSet("store/bench", "*", 1, 4096, ("get", "put"))]
    (run_dir / "plan.json").write_bytes(msgspec.json.encode(plan))
    write_record(run_dir)
    return run_dir


@pytest.mark.usefixtures("store_run")
@pytest.mark.parametrize("size", SIZES)
async def test_result_names_them_in_tiles_table_and_charts(
    home: Path, size: tuple[int, int]
) -> None:
    async with opened(options(home), size) as user:
        await user.press("6", "enter")
        await user.sees("GET IOPS")
        await user.sees("━━ GET")
        names = [line.split()[0] for line in user.text.splitlines() if line.split()]
        assert {"GET", "PUT"} <= {*names} and not {"read", "write"} & {*names}
        assert "━━ read" not in user.text


@pytest.mark.usefixtures("store_run")
async def test_a_replay_on_live_names_them(home: Path) -> None:
    async with opened(options(home), (120, 36)) as user:
        await user.press("6", "p")
        await user.sees("GET p99")
        await user.sees("PUT p99")
        assert "read p99" not in user.text
