"""Searches while they go on, in exports, and beside each other: growth with hosts, knees, the point
of now.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.search_maker import curve_in, offers, scaling_in, search_in
from tests.samples.records import again
from tui.analysis.compare import compare
from tui.export.tables import tables_of
from tui.export.time_series import line_of, result_families, result_points
from tui.journal.fold import fold_all
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.judge.wording import worded
from tui.library.build import build_record
from tui.model.event import PointDecided
from tui.model.record import RunRecord
from tui.model.search import Limit, Search
from tui.record.search import LiveSearch, conclude, search_so_far
from tui.record.search_figures import main_trace
from tui.text.line import plain_lines
from tui.view.comparison import comparison_lines
from tui.view.comparison_charts import charts
from tui.view.comparison_formats import as_json
from tui.view.document import Chart, DocumentTable, Facts
from tui.view.report.content import ReportedRun, report_of
from tui.view.report.vega import svg_of
from tui.view.search_chart import HERE, curve_chart


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """1, 2, 4 and 8 hosts, 4 % contention: 32.1k IOPS of 4."""
    return build_record(scaling_in(tmp_path_factory.mktemp("linear")).run_dir)


@pytest.fixture(scope="module")
def contended(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """1, 2 and 4 hosts alone, 20 % contention: 22.5k IOPS of 4."""
    return build_record(
        scaling_in(tmp_path_factory.mktemp("contended"), (1, 2, 4), contention=0.2).run_dir
    )


@pytest.fixture(scope="module")
def curve(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return build_record(curve_in(tmp_path_factory.mktemp("curve")).run_dir)


def rows(record: RunRecord, name: str) -> list[dict[str, object]]:
    table = next(each for each in tables_of(record) if each.name == name)
    return [
        dict(zip([column.name for column in table.columns], row, strict=True)) for row in table.rows
    ]


def test_live_keeps_the_growth_with_hosts_while_a_further_point_is_worked_out(
    tmp_path: Path,
) -> None:
    maker = scaling_in(tmp_path)
    events = list(read_events(maker.journal))
    third = [at for at, event in enumerate(events) if isinstance(event, PointDecided)][2]
    state = fold_all(RunState(), events[:third])
    live = LiveSearch(maker.plan)
    live.read_points(state)
    live.conclude()
    fold_all(state, events[third : third + 1])
    assert live.read_points(state)
    view = live.view(state, state.t)
    assert view.behind
    assert view.record.scaling is not None, "the chart goes until the newest point is worked out"
    assert [point.hosts for point in view.record.scaling.points] == [1, 2]


def test_two_runs_over_hosts_are_compared_with_the_most_hosts_that_both_have(
    linear: RunRecord, contended: RunRecord
) -> None:
    found = compare([linear], [contended])
    assert found.search is not None
    assert (found.word, found.search.figure) == ("inconclusive", "IOPS at 4 hosts")
    assert found.search.ratio.value == pytest.approx(22_500 / 32_143, rel=1e-3)
    assert [each.hosts for each in found.search.hosts] == [1, 2, 4]
    text = " ".join("\n".join(plain_lines(comparison_lines(found, 100))).split())
    assert "Inconclusive: B's IOPS at 4 hosts are 30 % lower than A's (95 %: " in text
    assert "contention: 0.04 (0.031 to 0.042) → 0.2 (" in text
    assert "intervals do not overlap" in text
    assert "4 32.1k 22.5k -30.0 %" in text
    (told,) = json.loads(as_json([(found, ())]))["comparisons"]
    assert [each["hosts"] for each in told["search"]["by_hosts"]] == [1, 2, 4]
    assert {each["name"] for each in told["search"]["fitted"]} == {
        "one_host",
        "contention",
        "coherence",
    }
    (chart,) = charts(found, 100)
    drawn = "\n".join(plain_lines(chart))
    assert all(name in drawn for name in ("IOPS by number of hosts", "linear from A", "• A", "+ B"))
    assert drawn.count("◆") >= 5  # both begin with the same


def test_repetitions_over_hosts_and_runs_without_a_common_number(
    linear: RunRecord, contended: RunRecord
) -> None:
    a, b = ([again(each) for _ in range(4)] for each in (linear, contended))
    assert compare(a, b).word == "worse"
    assert compare(a[:2], b[:2]).word == "too few repetitions to say"
    other = contended.model_copy(deep=True)
    assert other.search is not None and other.search.scaling is not None
    for point in other.search.scaling.points:
        point.hosts += 100
    apart = compare([linear], [other])
    assert apart.search is not None
    assert (apart.word, apart.search.why) == (
        "not comparable",
        "no host count measured by all searches",
    )
    other.search.scaling = None  # it was stopped before its first point
    assert compare([linear], [other]).word == "not measured"


def test_growth_with_hosts_is_exported_as_a_table_and_as_gauges(linear: RunRecord) -> None:
    found = {row["figure"]: row for row in rows(linear, "search")}
    assert found["contention"]["value"] == pytest.approx(0.04)
    assert (found["coherence"]["value"], found["best_hosts"]["value"]) == (0.0, None)
    assert [(row["hosts"], row["efficiency"], row["extrapolated"]) for row in rows(linear,
        "scaling")][3:5] == [
        (8, 0.78125, False), (10, pytest.approx(0.735, abs=0.001), True)
    ]  # fmt: skip
    gauges = "".join(line for family in result_families(linear) for line in family.lines())
    assert (
        'scaling_iops{run="' in gauges
        and ',hosts="8",extrapolated="false",bound="value"} 56250.0' in gauges
    )
    assert 'hosts="8",extrapolated="false"} 0.78125' in gauges
    assert "benchtui_result_scaling_contention{" in gauges
    lines = list(map(line_of, result_points(linear)))
    assert any(
        ",hosts=8," in line and " scaling_efficiency_ratio=0.78125 " in line for line in lines
    )


def test_a_knee_is_in_exports_and_beside_that_of_another_curve(curve: RunRecord) -> None:
    (knee,) = [row for row in rows(curve, "search") if row["figure"] == "knee"]
    assert knee["value"] == pytest.approx(35_000, rel=0.2)
    assert knee["text"] == "of p99"
    gauges = "".join(line for family in result_families(curve) for line in family.lines())
    assert "benchtui_result_knee_iops{" in gauges and "benchtui_result_full_load_iops{" in gauges
    found = compare([curve], [curve])
    assert found.search is not None
    (fitted,) = found.search.fits
    assert (fitted.ratio.value, fitted.apart) == (1.0, False)
    assert "\nknee: 3" in "\n".join(plain_lines(comparison_lines(found, 100)))


def test_a_report_of_two_searches_holds_them_against_each_other_in_one_chart(
    linear: RunRecord, contended: RunRecord, curve: RunRecord
) -> None:
    grown = report_of([ReportedRun(linear), ReportedRun(contended)]).compared
    (chart,) = [block for block in grown if isinstance(block, Chart)]
    assert "A: 8 hosts 56.2k IOPS" in chart.alt and "B: 4 hosts 22.5k IOPS" in chart.alt
    assert svg_of(chart.spec, chart.alt)
    names = [name for block in grown if isinstance(block, Facts) for name, _ in block.rows]
    assert names[:2] == ["IOPS at 4 hosts", "one host"]
    assert [
        len(block.rows)
        for block in grown
        if isinstance(block, DocumentTable) and "hosts" in block.title
    ] == [3]
    both = report_of([ReportedRun(curve), ReportedRun(curve)]).compared
    (chart,) = [block for block in both if isinstance(block, Chart)]
    assert chart.title.startswith("read p99 vs. IOPS") and svg_of(chart.spec, chart.alt)


def test_the_point_that_is_measured_tells_how_far_it_came(tmp_path: Path) -> None:
    maker = search_in(tmp_path).measure_points(2)
    offer = offers()[2]  # 90 % of full load: more than the limit allows
    maker.offer(2, offer).load(4, offer.rate_iops)
    state = fold_all(RunState(), read_events(maker.journal))
    live = LiveSearch(maker.plan)
    live.read_points(state)
    view = live.view(state, state.t)
    assert view.now is not None
    assert view.now.iops == pytest.approx(54_900, rel=0.02)
    (latency,) = view.now.latencies
    assert (latency.name, latency.most_ns) == ("p99.9", 2e6)
    assert latency.value_ns == pytest.approx(4.36e6, rel=0.05)
    without, drawn = (
        "\n".join(
            plain_lines(curve_chart(view.record, 78, 16, now=offer.rate_iops, reached=reached))[1:]
        )
        for reached in (None, view.now)
    )
    assert drawn.count(HERE) == without.count(HERE) + 1


def test_of_two_limits_on_one_latency_the_strictest_is_reported_and_drawn(tmp_path: Path) -> None:
    limits = (
        Limit("p99 < 1ms", "", "latency", 99.0, 1e6),
        Limit("read.p99 < 9ms", "read", "latency", 99.0, 9e6),
    )
    for order in (limits, limits[::-1]):
        maker = search_in(
            tmp_path / order[0].text, Search("capacity", limits=order, points=12)
        ).measure_points(1)
        maker.offer(1, offers()[1]).load(4, offers()[1].rate_iops)
        state = fold_all(RunState(), read_events(maker.journal))
        live = LiveSearch(maker.plan)
        live.read_points(state)
        now = live.view(state, state.t).now
        assert now is not None and [(each.name, each.most_ns) for each in now.latencies] == [
            ("p99", 1e6)
        ]
        drawn = main_trace(live.view(state, state.t).record)
        assert drawn is not None and (drawn.name, drawn.most_ns) == ("p99", 1e6)


def test_what_limits_full_load_is_told_where_the_point_of_the_answer_tells_nothing(
    tmp_path: Path,
) -> None:
    maker = search_in(tmp_path).measure_points()
    state = fold_all(RunState(), read_events(maker.journal))
    points, so_far = state.search.points, search_so_far(maker.plan, maker.search, state)
    so_far.points[0].bottleneck = "client CPU: weka-01: 97 % busy"
    found = conclude(so_far, maker.search, points).answer
    assert found is not None and found.bottleneck is not None
    assert worded(found.bottleneck) == "client CPU: weka-01: 97 % busy (at full load)"
    (there,) = [point for point in so_far.points if point.step == found.step]
    there.bottleneck = "network"
    found = conclude(so_far, maker.search, points).answer
    assert found is not None and found.bottleneck == "network"
