"""Reports from the screens: `w` writes the run to the current folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.journal_maker import RUN_ID, RunMaker, host_names
from tests.app.stage import stage
from tests.patience import seen
from tui.app.services.reporting import free_path, write_report
from tui.model.problem import BenchtuiError
from tui.results.record.build import write_record


async def test_w_writes_the_run_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2)).begin().go().measure(4).finish()
    write_record(maker.run_dir)
    monkeypatch.chdir(tmp_path)
    async with stage(maker, step="result") as (app, pilot):
        await pilot.press("w")
        await app.settle(pilot)
        path = tmp_path / f"{RUN_ID}.html"
        await seen(path.exists, "the report")
    assert "<h1>" in path.read_text()


async def test_why_there_is_no_report_is_said(tmp_path: Path) -> None:
    with pytest.raises(BenchtuiError, match="not a run"):
        await write_report([tmp_path], tmp_path, {})


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "r.html").touch()
    assert free_path(tmp_path, "r") == tmp_path / "r-2.html"
