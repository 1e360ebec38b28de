"""What the headless display says of findings while a run goes on."""

from __future__ import annotations

import io
from pathlib import Path

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tui.cli.shared.progress import Checks, ProgressDisplay
from tui.journal.fold import fold_all
from tui.journal.reader import JournalTail
from tui.journal.state import RunState
from tui.model.event import HostFactsCollected

BUSY = {"cpu.busy": 99.0, "core.busy": 100.0, "gen.thread": 50.0}


def said(maker: RunMaker, seconds: int) -> list[str]:
    """Let a run go on for some seconds, and return what was printed of findings."""
    out, state, tail, checks = (
        io.StringIO(),
        RunState(),
        JournalTail(maker.journal),
        Checks(maker.run_dir),
    )
    display = ProgressDisplay(out)
    for _ in range(seconds):
        maker.measure(1)
        fold_all(state, tail.poll())
        for found in checks.new_findings(state, state.t):
            display.finding(state.t, found)
    return out.getvalue().splitlines()


def maker_in(tmp_path: Path) -> RunMaker:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(1), READS, runtime_s=60).begin()
    maker.add(HostFactsCollected(t=maker.t, host="weka-01", facts={"governor": "powersave"}))
    return maker.go()


def test_a_new_finding_is_reported_once_in_one_line(tmp_path: Path) -> None:
    maker = maker_in(tmp_path)
    maker.look_at("weka-01", BUSY)
    lines = said(maker, 90)
    assert [line for line in lines if "client-cpu" in line] == [lines[0]]
    assert (
        lines[0]
        .split(maxsplit=1)[1]
        .startswith("warning client-cpu: client CPU near its limit: weka-01")
    )


def test_notes_wait_for_the_end(tmp_path: Path) -> None:
    assert said(maker_in(tmp_path), 20) == []


def test_a_run_whose_plan_cannot_be_read_is_followed_all_the_same(tmp_path: Path) -> None:
    maker = maker_in(tmp_path)
    (maker.run_dir / "plan.json").write_text("{")
    assert said(maker, 20) == []
