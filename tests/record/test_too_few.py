"""A percentile with fewer than 10 samples beyond it is printed as n<10, wherever percentiles are
printed.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.matrix_maker import SUITE, line_sweep, suite
from tests.samples.events import sample, started
from tui.analysis.published import statistic_of
from tui.app.screens.result_page import Page
from tui.app.screens.result_text import figures
from tui.app.screens.result_tiles import figure_tiles, headline_parts
from tui.journal.fold import fold
from tui.journal.state import RunState
from tui.library.build import build_record
from tui.library.summary import summarize
from tui.metrics import units
from tui.metrics.figures import enough_behind, marked, shown_percentile
from tui.metrics.registry import figure_text
from tui.model.event import LatencyResult
from tui.model.figure_record import LatencyRecord
from tui.model.plan import Headline, Plan
from tui.model.record import RunRecord
from tui.model.rundir import PLAN_FILE
from tui.record.cells import cells_of_record
from tui.record.figures import latency_record
from tui.record.headline import told_headline
from tui.view.matrix_bests import matrix_blocks
from tui.view.run_summary import summary_text


def test_ten_samples_beyond_are_enough() -> None:
    assert enough_behind(1000, 99.0) and not enough_behind(999, 99.0)
    assert enough_behind(10_000, 99.9) and not enough_behind(9_990, 99.9)
    assert enough_behind(2_000, 99.5)  # in floating point 0.5 % of it is a little less than 10


def test_the_value_is_kept_and_printed_as_n_less_than_10() -> None:
    few = marked(229_000, 100, 99.0)
    assert few == 229_000
    assert (units.latency(few), units.latency_parts(few)) == ("n<10", ("n<10", ""))
    assert units.latency(marked(229_000, 1000, 99.0)) == "229 µs"
    assert marked(None, 0, 99.0) is None


def test_a_maximum_needs_nothing_behind_it() -> None:
    latency = LatencyRecord(n=5, max_ns=700, percentiles_ns={"99": 600})
    assert units.latency(shown_percentile(latency, 100.0)) == "700 ns"
    assert units.latency(shown_percentile(latency, 99.0)) == "n<10"


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    """A finished run whose profile is about p99.999 of the reads.

    Fewer than 10 of the I/Os are beyond it.
    """
    maker = RunMaker(tmp_path / RUN_ID, host_names(2), READS)
    plan = msgspec.json.decode((maker.run_dir / PLAN_FILE).read_bytes(), type=Plan)
    about = msgspec.structs.replace(plan, headline=Headline("latency", "read", 99.999))
    (maker.run_dir / PLAN_FILE).write_bytes(msgspec.json.encode(about))
    return build_record(maker.begin().go().measure(6).finish().run_dir)


def test_the_record_keeps_the_value_and_says_how_many_were_behind() -> None:
    found = latency_record(LatencyResult(500, 1, 9, 2.0, 1.0, {"50": 2, "99": 8, "99.9": 9}))
    assert found is not None
    assert found.percentiles_ns == {"50": 2, "99": 8, "99.9": 9}
    assert found.percentiles_behind == {"50": 250, "99": 5, "99.9": 0.5}


def test_the_headline_keeps_its_value_and_its_text_is_n_less_than_10(
    record: RunRecord, tmp_path: Path
) -> None:
    assert record.headline is not None and record.headline.value
    assert (told_headline(record), record.headline.behind) == ("read p99.999 n<10", 2)
    assert json.loads(record.to_json())["headline"]["value"] == record.headline.value
    (tmp_path / RUN_ID / "run.json").write_text(record.to_json())
    summary = summarize(tmp_path / RUN_ID)
    assert summary is not None
    assert (summary.headline, summary.headline_value) == (
        "read p99.999 n<10",
        record.headline.value,
    )


def test_the_summary_and_the_result_screen_print_it(record: RunRecord, tmp_path: Path) -> None:
    results = record.steps[0].results
    for part in (results.aggregate["read"], *(dirs["read"] for dirs in results.per_host.values())):
        assert part.clat is not None
        part.clat.n = 1500  # enough for p99, not for p99.5 and p99.9
    rows = [
        line
        for line in summary_text(record).splitlines()
        if "n<10" in line and "headline" not in line
    ]
    assert [line.split()[-3:-1] for line in rows] == [["n<10", "n<10"]] * 3  # all hosts, and each
    lines = [line.plain for line in figures(Page(record, tmp_path), 120)]
    assert [line.count("n<10") for line in lines if "n<10" in line] == [2]


def test_the_large_digits_of_the_result_screen_are_no_value(
    record: RunRecord, tmp_path: Path
) -> None:
    assert headline_parts(Page(record, tmp_path))[0] == "n<10"
    first = figure_tiles(Page(record, tmp_path))[0]
    assert (first.title, first.number, first.unit) == ("read p99.999 latency", "n<10", "")


def test_live_percentiles_of_few_samples_are_marked() -> None:
    state = RunState()
    for event in (
        *started("h1"),
        sample(2.0, "h1", [1000] * 100),
        sample(3.0, "h1", [1000] * 1900),
    ):
        fold(state, event)
    view = state.cluster["read"]
    texts = {name: units.latency(value) for name, value in view.interval_percentiles.items()}
    assert [texts[name] for name in ("50", "99", "99.5", "99.9")] == [
        "1.00 µs",
        "1.00 µs",
        "n<10",
        "n<10",
    ]
    assert units.latency(view.so_far_percentiles["99.5"]) == "1.00 µs"
    assert "n<10" not in texts["max"]


def test_a_cell_of_a_matrix_says_so(tmp_path: Path) -> None:
    maker = line_sweep(tmp_path)
    maker.plan_matrix(
        maker.plan.steps, axes=["numjobs"], headline=Headline("latency", "read", 99.9999)
    )
    made = build_record(maker.steps_done(dict.fromkeys(range(5), 1000.0)).finish().run_dir)
    assert made.matrix is not None
    assert {figure_text(cell.headline) for cell in made.matrix.cells if cell.headline} == {
        "read p99.9999 n<10"
    }
    assert sum("n<10" in line for line in matrix_blocks(made, 80)[0]) == 5
    about = cells_of_record(made, Headline("latency", "read", 50.0))
    assert not any(isinstance(cell.value, units.Few) for cell in about)


def test_other_headlines_have_nothing_behind_them(tmp_path: Path) -> None:
    made = build_record(suite(tmp_path).steps_done({0: 1.0, 1: 1.0, 2: 1.0}).finish().run_dir)
    assert made.matrix is not None
    assert [cell.headline.behind for cell in made.matrix.cells if cell.headline] == [None] * len(
        SUITE
    )


def test_ours_beside_a_published_percentile_is_marked_too() -> None:
    latency = LatencyRecord(n=100, percentiles_ns={"99.5": 3_000_000})
    assert units.latency(statistic_of(latency, "p99.5")) == "n<10"
