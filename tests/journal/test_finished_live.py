"""What Live says of a load that is over is what the table and the record say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.journal_maker import MIX, RunMaker, host_names
from tui.app.screens.live_percentiles import percentiles
from tui.app.screens.live_text import measured_text, subject_of
from tui.app.widgets.graph_panels import BANDWIDTH, IOPS, LATENCY, average_of
from tui.app.widgets.host_rows import rate_of
from tui.journal.fold import fold_all
from tui.journal.reader import read_events
from tui.journal.rundir import load_plan
from tui.journal.state import RunState
from tui.library.build import build_record
from tui.model.objects import ObjectSet
from tui.model.rundir import JOURNAL_FILE


@pytest.fixture
def run(tmp_path: Path) -> Path:
    maker = RunMaker(tmp_path / "run", host_names(2), MIX).begin().go()
    return maker.measure(60).finish().run_dir


def state_of(run: Path) -> RunState:
    return fold_all(RunState(), read_events(run / JOURNAL_FILE))


def test_the_averages_of_all_hosts_are_those_of_the_record(run: Path) -> None:
    subject, aggregate = (
        subject_of(state_of(run), None),
        build_record(run).steps[0].results.aggregate,
    )
    for name in ("read", "write"):
        known = aggregate[name]
        assert known.clat is not None
        series = subject.dirs[name].series("latency")
        assert average_of(subject, LATENCY, name, series) == pytest.approx(
            known.clat.mean_ns, rel=1e-6
        )
        assert average_of(subject, IOPS, name, []) == pytest.approx(known.iops, rel=1e-6)
        assert average_of(subject, BANDWIDTH, name, []) == pytest.approx(
            known.bw_bytes_per_s, rel=1e-6
        )


def test_a_row_of_the_table_shows_the_hosts_own_result(run: Path) -> None:
    per_host = build_record(run).steps[0].results.per_host
    for name, view in state_of(run).hosts.items():
        assert rate_of(view.figures(), "iops") == pytest.approx(
            per_host[name]["mixed"].iops, rel=1e-6
        )


def test_how_long_it_measured_stands_at_the_end(run: Path) -> None:
    record, state = build_record(run), state_of(run)
    assert measured_text(state, None) == f"measured {record.steps[0].measured_s:.1f} s"


def test_requests_of_a_store_are_called_by_their_names(run: Path) -> None:
    def named() -> list[str]:
        rows = percentiles(subject_of(state_of(run), None, plan=plan), "clat")[1]
        return [row.direction for row in rows if row.direction]

    plan = load_plan(run)
    assert named() == ["read", "write"]
    for task in plan.steps[0].tasks:
        task.objects = [ObjectSet("store/bench", "*", 1, 4096, ("get", "put"))]
    assert named() == ["GET", "PUT"]
