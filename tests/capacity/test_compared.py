"""Searches beside each other: the change of the capacity, of curves, of several searches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.app.search_maker import (
    curve_in,
)
from tests.samples.records import again, step
from tests.samples.records import run as run_of
from tui.analysis.compare import compare, percentile_uncertainty
from tui.analysis.measured import NoiseFloors
from tui.analysis.searches import compare_searches, measure_searches, search_lines
from tui.analysis.stats import mann_whitney
from tui.cli.compare import exit_code
from tui.library.build import build_record
from tui.model.record import RunRecord
from tui.text.line import plain_lines
from tui.view.comparison import comparison_lines
from tui.view.comparison_charts import charts
from tui.view.comparison_formats import as_json, as_junit
from tui.view.document import Chart, Facts, markdown_of
from tui.view.report.content import ReportedRun, report_of
from tui.view.report.vega import svg_of


def scaled(record: RunRecord, factor: float) -> RunRecord:
    """Return the same search, measured again, with every rate so many times as high."""
    made = again(record)
    assert made.search is not None
    assert made.search.answer is not None
    for point in made.search.points:
        point.iops *= factor
        point.offered_iops = point.offered_iops and point.offered_iops * factor
    capacity = made.search.answer.capacity
    capacity.value, capacity.low, capacity.high = (each and each * factor for each in
                                                   (capacity.value, capacity.low,
                                                       capacity.high))  # fmt: skip
    return made


def test_several_searches_on_a_side_are_repetitions(record: RunRecord) -> None:
    a, b = (
        [scaled(record, factor * each) for each in (1.0, 1.01, 0.99, 1.02)] for factor in (1.0, 0.9)
    )
    found = compare(a, b)
    assert found.search is not None
    assert (found.word, len(found.search.values_a)) == ("worse", 4)
    assert found.search.ratio.value == pytest.approx(0.9, 0.01)
    assert found.search.ratio.high is not None
    assert found.search.ratio.high < 1
    assert compare(a, a).word == "no difference detected"
    few = compare(a[:3], b[:3])
    assert few.word == "too few repetitions to say"
    text = "\n".join(plain_lines(comparison_lines(few, 100)))
    assert "3 and 3, and need 4 each; ranges do not overlap" in " ".join(text.split())
    assert "all other figures are from the first of each side" in " ".join(text.split())
    b[3].search.limits[0].most = 1e6  # type: ignore[union-attr]
    assert compare(a, b).word == "not comparable"


@pytest.mark.parametrize("state", ["unfinished", "met-at-full-load"])
def test_a_search_that_found_no_capacity_is_no_repetition(record: RunRecord, state: str) -> None:
    a, b = ([scaled(record, factor) for _ in range(4)] for factor in (1.0, 0.9))
    b[3].search.answer.state = state  # type: ignore[union-attr]
    found = compare(a, b)
    assert found.search is not None
    assert (found.word, len(found.search.values_b)) == ("too few repetitions to say", 3)


def test_the_curves_of_two_searches_are_drawn_over_each_other(record: RunRecord) -> None:
    (lines,) = charts(compare([record], [scaled(record, 0.8)]), 100)
    said = "\n".join(plain_lines(lines))
    assert said.startswith("read p99.9 vs. IOPS")
    assert all(
        name in said for name in ("• A", "+ B", "| capacity A", ": capacity B", "- p99.9 < 2 ms")
    )
    assert min(said.count("•"), said.count("+")) > 20


def test_two_searches_are_compared_by_capacity_and_by_latency_at_equal_load(
    record: RunRecord, tmp_path: Path
) -> None:
    """The same curve with every rate 0.8 times as high: capacity falls by 20 %, latency grows at
    equal load.
    """
    slower = scaled(record, 0.8)
    assert slower.search is not None
    found = compare([record], [slower])
    assert found.word == "inconclusive"  # one search a side
    assert found.search is not None
    assert found.search.ratio.value == pytest.approx(0.8)
    assert found.search.ratio.high is not None
    assert found.search.ratio.high < 0.9
    assert found.search.latency.value is not None
    assert found.search.latency.value > 1.2
    text = "\n".join(plain_lines(comparison_lines(found, 80)))
    assert "-20.0 %" in text
    assert "area between the curves" in " ".join(text.split())
    (told,) = json.loads(as_json([(found, ())]))["comparisons"]
    assert told["search"]["word"] == "inconclusive"
    assert exit_code(found, ()) == 3
    for side, share in ((record, 0.7), (slower, 0.6)):
        assert side.search is not None
        side.search.job_shares = {"readers": share, "writers": 1 - share}
    other = compare([record], [slower])
    assert record.search is not None
    record.search.job_shares = {}
    assert other.word == "not comparable"
    assert other.search is not None and "jobs have different shares of the load" in other.search.why
    (suite,) = ElementTree.fromstring(as_junit([(found, ())]))
    assert {case.get("name"): case[0].tag for case in suite if len(case)} == {"capacity": "error"}
    slower.search.limits[0].most = 1e6
    assert compare([record], [slower]).word == "not comparable"


def test_a_report_holds_searches_against_each_other_with_intervals_and_curves(
    record: RunRecord,
) -> None:
    report = report_of(
        [ReportedRun(each) for each in (record, scaled(record, 0.8), scaled(record, 1.25))]
    )
    answers = [
        "Inconclusive: B's capacity is 20 % lower than A's",
        "Inconclusive: C's capacity is 25 % higher than A's",
    ]
    assert [each.text.partition(" (")[0] for each in report.answer] == answers
    one, _ = [dict(each.rows) for each in report.compared if isinstance(each, Facts)]
    assert "-20.0 % (-" in one["capacity"][0] and one["capacity"][0].count("±") == 2
    (chart,) = [each for each in report.compared if isinstance(each, Chart)]
    drawn = svg_of(chart.spec, chart.alt)
    assert all(f"capacity {name} " in drawn for name in "ABC") and "p99.9 &lt; 2 ms" in drawn
    assert "bands: 95 % intervals" in chart.note
    assert "Capacity, C compared with A" in markdown_of(report)


def never_met(record: RunRecord) -> RunRecord:
    """Return the same search, measured again, as one that found no load that keeps its limits."""
    made = again(record)
    assert made.search is not None and made.search.answer is not None
    made.search.answer.state, made.search.answer.step = "never-met", None
    return made


def test_a_system_that_keeps_the_limits_at_no_load_is_worse_than_one_that_does(
    record: RunRecord,
) -> None:
    mine, none = [again(record) for _ in range(4)], [never_met(record) for _ in range(4)]
    found = compare(mine, none)
    assert (found.word, exit_code(found, ())) == ("worse", 1)
    assert "no load meets the limits in 4 of 4 searches of B" in "\n".join(
        plain_lines(comparison_lines(found, 200))
    )
    assert compare(none, mine).word == "better"
    for searches, word in ((1, "inconclusive"), (3, "too few repetitions to say")):
        few = compare(mine[:searches], none[:searches])
        assert (few.word, exit_code(few, ())) == (word, 3)
    assert compare(none[:1], none[1:2]).word == "not measured"
    some = compare(mine, [*(again(record) for _ in range(3)), none[0]])
    assert some.search is not None
    assert (some.word, some.search.why) == ("inconclusive",
        "the sides have 4 and 3, and need 4 each; ranges overlap; "
                                            "no load meets the limits in 1 of 4 searches of B")  # fmt: skip


def with_floor(tmp_path: Path, record: RunRecord, factors: Sequence[float]) -> NoiseFloors:
    """Return the noise floor of searches whose capacities differ by these factors."""
    floors = NoiseFloors(tmp_path / "noise.json")
    floors.keep(measure_searches([scaled(record, each) for each in factors]))
    return floors


def test_single_searches_are_judged_by_the_noise_floor_of_searches(
    record: RunRecord, tmp_path: Path
) -> None:
    floors = with_floor(tmp_path, record, (1.0, 1.002, 0.998, 1.001, 0.999, 1.0))
    answers = {each: compare([record], [scaled(record, each)], floors) for each in (0.5, 1.0, 2.0)}
    assert answers[0.5].word == "worse" and answers[2.0].word == "better"
    same = answers[1.0].search
    assert same is not None and same.ratio.low is not None and same.floor is not None
    assert same.word in ("no difference detected", "inconclusive"), "as wide as each search"
    assert compare([record], [scaled(record, 0.5)]).word == "inconclusive", "without a floor"
    assert compare([record], [never_met(record)], floors).word == "inconclusive"
    other = scaled(record, 1.0)
    other.search.limits[0].most = 1e6  # type: ignore[union-attr]
    assert floors.floor(other, "capacity") is None, "a floor is of one configuration"


def test_repeated_searches_are_tested_as_headlines_are(record: RunRecord, tmp_path: Path) -> None:
    spread = (1.0, 1.001, 0.999, 1.002)
    a, b = ([scaled(record, by * each) for each in spread] for by in (1.0, 0.95))
    assert compare(a, b).word == "worse"
    loud = with_floor(tmp_path, record, (0.9, 1.0, 1.1, 1.0, 0.9, 1.1))
    quieted = compare(a, b, loud)
    assert (quieted.word, quieted.undecided) == ("inconclusive", False)
    values = ((1.05, 1.1, 1.15, 1.2, 1.25, 1.55), (1.3, 1.35, 1.4, 1.45, 1.5, 1.6))
    mine, other = ([scaled(record, each) for each in side] for side in values)
    open_answer = compare(mine, other)
    assert 0.04 < mann_whitney(*values) < 0.05
    assert (open_answer.word, open_answer.undecided) == ("inconclusive", False), "if not better"


def test_latency_over_common_load_has_an_interval_of_the_points_or_says_why_not(
    tmp_path: Path,
) -> None:
    a = build_record(curve_in(tmp_path).run_dir)
    b = scaled_latency(a, 1.3)
    assert a.search is not None and b.search is not None
    without = compare_searches([a.search], [b.search])
    assert without.latency.value == pytest.approx(1.3, 0.02) and without.latency.low is None
    said = " ".join(" ".join(plain_lines(search_lines(without, 80))).split())
    assert "no confidence interval: the points have no per-second data" in said
    whole = compare([a], [b]).search
    assert whole is not None and whole.latency.low is not None and 1.2 < whole.latency.low < 1.3

    def told(step: int, direction: str, percentile: float | None) -> tuple[float, float]:
        return 0.02, 20.0

    found = compare_searches([a.search], [b.search], (told, told)).latency
    assert found.low is not None and found.high is not None
    assert found.low < 1.3 < found.high and found.high / found.low < 1.08


def scaled_latency(record: RunRecord, factor: float) -> RunRecord:
    made = record.model_copy(deep=True)
    assert made.search is not None
    for point in made.search.points:
        for latencies in point.percentiles_ns.values():
            latencies.update({name: round(value * factor) for name, value in latencies.items()})
    return made


def test_a_point_is_as_sure_as_its_own_seconds_say() -> None:
    found = percentile_uncertainty(run_of())(0, "read", 99.0)
    assert found is not None and 0 < found[0] < 0.1 and found[1] >= 1
    few = percentile_uncertainty(run_of(step(count=0)))(0, "read", 99.0)
    assert few is not None and few[0] > 0
    assert percentile_uncertainty(run_of(step(count=0)))(0, "read", None) is None
    assert percentile_uncertainty(run_of())(0, "read", None) is not None
    assert percentile_uncertainty(run_of())(7, "read", 99.0) is None
