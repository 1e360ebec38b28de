"""Reports from the screens: `w` asks for format, names and place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.app.driver import opened, options
from tests.app.journal_maker import RUN_ID, RunMaker, host_names
from tests.app.test_export import path_of
from tests.cli.test_compare import keep
from tests.samples.records import IOPS, run, step
from tui.app.dialogs.export import ExportRequest
from tui.app.services import exporting
from tui.app.services.exporting import free_path, write_report
from tui.library.build import write_record
from tui.model.problem import BenchtuiError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where benchtui was started."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


async def test_w_asks_for_the_format_and_leaves_names_out_on_demand(
    tmp_path: Path, here: Path
) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2)).begin().go().measure(4).finish()
    write_record(maker.run_dir)
    async with opened(options(tmp_path), size=(80, 24)) as user:
        await user.press("6")
        await user.sees("weka/read-iops")
        await user.press("enter")
        await user.sees("ENDED EARLY")
        await user.press("w")
        await user.sees(lambda: path_of(user) == f"{here}/{RUN_ID}.html")
        await user.press("escape", "6", "w")
        await user.sees("□ names, addresses, paths and notes")
        await user.press("down", "space")
        await user.sees("■ names, addresses")
        await user.sees(lambda: path_of(user) == f"{here}/report-redacted.md")
        await user.press("tab")
        await user.types("fio")
        await user.press("enter")
        await user.is_told(f"wrote {here}/report-redacted.md")
    text = (here / "report-redacted.md").read_text().replace("\\", "")
    assert "host-1" in text
    assert "name-1" in text and not any(name in text for name in maker.hosts)


def experiment(runs: Path) -> None:
    """Keep the runs of `benchtui ab`: four a side in the order ABBA, side B a fifth slower."""
    for number in range(8):
        side = "ABBA"[number % 4]
        params = {"numjobs": 1 if side == "A" else 8, "directory": "/mnt/a"}
        iops = IOPS * (1 + number / 1000) * (1.0 if side == "A" else 0.8)
        record = run(
            step(iops, params=params), run_id=f"2026010{number + 1}T000000Z-test-p-000{number}"
        )
        record.created_utc = f"2026-01-0{number + 1}T00:00:00Z"
        record.tags = {"ab": "x", "ab.side": side}
        keep(runs, record)


async def test_runs_of_an_experiment_are_compared_side_by_side_and_reported_so(
    tmp_path: Path, here: Path
) -> None:
    experiment(tmp_path / "runs")
    async with opened(options(tmp_path), size=(120, 40)) as user:
        await user.press("6")
        await user.sees("test/p")
        await user.press(*["space"] * 8, "c")
        await user.sees("A is 4 runs, B 4; sides by")
        await user.sees("allowed to differ: numjobs")
        await user.sees("B is worse: 20 % fewer read IOPS than A")
        await user.press("p")
        await user.sees("A and B cannot be compared: numjobs differs (1 / 8)")
        await user.sees("compares them despite different numjobs")
        await user.press("s")
        await user.sees("x makes the next run A")
        await user.press("s", "p", "x")
        await user.sees("B is better: 25 % more read IOPS than A")
        await user.press("w")
        await user.sees("Report of ")
        await user.press("down", "enter")
        await user.is_told("wrote ")
    (path,) = here.glob("*.md")
    text = path.read_text()
    assert (
        text.startswith("# 8 runs, compared as 2 groups")
        and "B is better: 25 % more read IOPS than A" in text
    )


async def test_runs_that_have_nothing_in_common_are_no_sides(tmp_path: Path) -> None:
    for number in (1, 2):
        params = {"numjobs": number, "directory": "/mnt/a"}
        keep(
            tmp_path / "runs",
            run(step(params=params), run_id=f"2026010{number}T000000Z-test-p-000{number}"),
        )
    async with opened(options(tmp_path), size=(80, 24)) as user:
        await user.press("6")
        await user.sees("test/p")
        await user.press("space", "space", "c")
        await user.sees("p compares them despite different numjobs")
        await user.press("s")
        await user.is_told("repetitions")
        await user.press("p")
        await user.sees("Inconclusive: ")


async def test_a_report_under_way_is_shown_until_it_is_there(
    tmp_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2)).begin().go().measure(4).finish()
    write_record(maker.run_dir)
    asked, done = list[ExportRequest](), asyncio.Event()

    async def slowly(_: object, wanted: ExportRequest, *more: object) -> Path:
        asked.append(wanted)
        await done.wait()
        return here / "there"

    monkeypatch.setattr(exporting, "write_report", slowly)
    async with opened(options(tmp_path), size=(80, 24)) as user:
        await user.press("6")
        await user.sees("weka/read-iops")
        await user.press("w")
        await user.sees(lambda: path_of(user) == f"{here}/{RUN_ID}.html")
        await user.press("enter")
        await user.sees(exporting.WRITING)
        await user.press("down", "enter")
        await user.sees(exporting.WRITING)
        assert len(asked) == 1
        done.set()
        await user.is_told(f"wrote {here}/there")


async def test_why_there_is_no_report_is_reported(tmp_path: Path) -> None:
    for where, why in ((f"{tmp_path}/", "not a run"),
        ("~no-such-user/r.md", "unknown user 'no-such-user'"),
                       (f"{tmp_path}/{'x' * 300}", "File name too long")):  # fmt: skip
        with pytest.raises(BenchtuiError, match=why):
            await write_report([[tmp_path]], ExportRequest("html", where), {})
    (tmp_path / "mine.md").write_text("mine")
    with pytest.raises(BenchtuiError, match="exists; choose another name"):
        await write_report([[tmp_path]], ExportRequest("md", str(tmp_path / "mine.md")), {})
    assert (tmp_path / "mine.md").read_text() == "mine"


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "r.html").touch()
    assert free_path(tmp_path, "r", "html") == tmp_path / "r-2.html"
    for number in range(2, 1001):
        (tmp_path / f"r-{number}.html").touch()
    assert free_path(tmp_path, "r", "html") == tmp_path / "r-1001.html"
