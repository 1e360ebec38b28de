"""What a search found, from its journal to words: record, summary, headline, chart."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.app.search_maker import (
    LIMIT,
    MOST_IOPS,
    SearchMaker,
    curve_in,
    offers,
    scaling_in,
    search_in,
)
from tui.capacity.budget import shares_in_order
from tui.export.tables import tables_of
from tui.export.time_series import result_families
from tui.journal.fold import fold_all
from tui.journal.state import RunState
from tui.library.build import build_record, write_record
from tui.library.summary import summarize
from tui.model.record import RunRecord
from tui.model.search import Limit, Offer, Search
from tui.model.search_record import ConfidenceInterval, SearchRecord
from tui.record.headline import headline_texts, told_headline
from tui.record.search import LiveSearch
from tui.record.search_figures import curve_points, main_trace, traces
from tui.text.line import plain_lines
from tui.text.search import headline_text, short_text
from tui.text.search_texts import search_text
from tui.view.document import Chart, DocumentTable
from tui.view.report.content import ReportedRun, report_of
from tui.view.report.vega import svg_of
from tui.view.run_summary import summary_text
from tui.view.search import FIRST, NEAREST, answer_facts, capacity_lines, column_notes
from tui.view.search_chart import curve_chart, scaling_chart


def one_point(home: Path, search: Search, offer: Offer, lost: tuple[str, ...] = ()) -> RunRecord:
    maker = search_in(home, search)
    maker.offer(0, offer).decide(0, offer, lost=lost)
    maker.finish("partial", "stopped")
    return build_record(maker.run_dir)


def test_the_record_keeps_every_point_with_its_figures_and_what_was_decided(
    record: RunRecord,
) -> None:
    assert record.search is not None
    assert [point.verdict for point in record.search.points] == [
        "breaks", "meets", "breaks", "meets", "breaks", "unclear", "meets"
    ]  # fmt: skip
    point = record.search.points[3]
    assert (point.offered_iops, point.role) == (45750.0, "search")
    assert point.percentiles_ns["read"]["99.9"] == pytest.approx(1.84e6, rel=0.02)
    assert record.search.spent_s == 70.0
    assert RunRecord.model_validate_json(record.to_json()).search == record.search


def test_percentiles_from_wide_buckets_have_the_widest_width_of_all_points(
    record: RunRecord,
) -> None:
    search = record.search
    assert search is not None and all(point.bucket_width == {} for point in search.points)
    before = column_notes(search)
    points = [
        point.model_copy(update={"bucket_width": {"read": width}})
        for point, width in zip(search.points, (0.02, 0.19, *[0.01] * 5), strict=True)
    ]
    (added,) = set(column_notes(search.model_copy(update={"points": points}))) - set(before)
    assert "read" in added and "19 %" in added


def test_capacity_is_shown_with_its_interval_in_headline_list_and_summary(
    found: SearchMaker, record: RunRecord
) -> None:
    assert record.headline is not None
    assert record.headline.value == pytest.approx(47_100, rel=0.03)
    interval = r"\(95 %: 4\d\.\dk to 4\d\.\dk\)"
    assert re.match(rf"capacity 4\d\.\dk IOPS {interval} at p99.9 < 2 ms", told_headline(record))
    assert told_headline(record).endswith("at p99.9 < 2 ms, not confirmed over a longer time")
    write_record(found.run_dir)
    listed = summarize(found.run_dir)
    assert listed is not None
    assert listed.headline == told_headline(record)
    assert re.fullmatch(r"4\d\.\dk IOPS ±[\d.]+%", listed.headline_short)
    text = summary_text(record)
    for part in (
        "headroom: ",
        ", at point 7",
        "point 7: 46.4k IOPS, p50",
        "7 of 12 points",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80


def test_steps_are_shown_as_they_were_offered_and_slots_that_were_not_needed_are_no_loss(
    record: RunRecord,
) -> None:
    assert record.state == "complete"
    assert record.steps[1].name == "lab/oltp search 2"
    assert record.matrix is None


@pytest.mark.parametrize(
    ("search", "offer", "words"),
    [
        (
            Search("capacity", limits=(Limit("p99.9 < 1us", "", "latency", 99.9, 1e3),), points=9),
            Offer(1000.0, 10.0),
            "unfinished: no load found yet that meets p99.9 < 1 µs",
        ),
        (
            Search("capacity", limits=(Limit("p99.9 < 1s", "", "latency", 99.9, 1e9),), points=1),
            Offer(None, 10.0, role="maximum"),
            "unfinished: capacity probably at least 60.6k IOPS at p99.9 < 1 s",
        ),
    ],
)
def test_a_search_without_an_answer_says_what_is_known(
    tmp_path: Path, search: Search, offer: Offer, words: str
) -> None:
    made = one_point(tmp_path, search, offer)
    assert made.headline is not None
    assert words in told_headline(made)
    assert words in " ".join(summary_text(made).split())
    assert "95 % interval" not in summary_text(made) or made.headline.step is not None


def test_a_point_that_lost_a_host_is_void_and_names_it(tmp_path: Path) -> None:
    made = one_point(tmp_path, Search("capacity", limits=(LIMIT,)), offers()[1], lost=("weka-02",))
    assert made.search is not None
    assert not curve_points(made.search)
    assert "point 1: lost weka-02" in summary_text(made)


def test_the_curve_goes_by_offered_load_and_bends_back_at_its_end(record: RunRecord) -> None:
    assert record.search is not None
    trace = main_trace(record.search)
    assert trace is not None
    assert (trace.name, trace.most_ns) == ("p99.9", 2e6)
    offered = [point.point.offered_iops for point in trace.points]
    assert offered[-1] is None
    paced = [each for each in offered if each is not None]
    assert paced == sorted(paced)
    assert len(paced) == len(offered) - 1
    assert [each.percentile for each in traces(record.search)] == ["50", "99", "99.9"]


def test_the_chart_draws_limit_capacity_and_verdicts_in_the_room_it_has(record: RunRecord) -> None:
    assert record.search is not None
    marks = [line for line in plain_lines(curve_chart(record.search, 78, 16)) if "p99.9" in line]
    # as ASCII terminals show it
    told = {found[0] for found in re.findall(r"\S p[\d.]+", marks[0].replace("•", "o"))}
    assert len(told) == 4, "two curves have one mark"
    for width, height in ((78, 16), (118, 24)):
        lines = plain_lines(curve_chart(record.search, width, height, coloured=True))
        assert max(map(len, lines)) <= width
        text = "\n".join(lines)
        assert "p99.9 < 2 ms" in text
        assert "capacity" in text
        assert text.count("✗") >= 2
        assert text.count("◆") >= 2


def test_marks_beside_a_curve_are_about_as_many_rows_apart_everywhere(record: RunRecord) -> None:
    assert record.search is not None
    for height in range(10, 40):
        lines = plain_lines(curve_chart(record.search, 118, height, coloured=True))
        rows = [place for place, line in enumerate(lines) if "┤" in line]
        gaps = [b - a for a, b in pairwise(rows)]
        assert gaps and max(gaps) <= 1.5 * min(gaps), f"{height} lines: marks in rows {rows}"


def test_capacity_and_what_is_offered_now_have_colours_of_their_own(record: RunRecord) -> None:
    assert record.search is not None
    legend = curve_chart(record.search, 118, 24, coloured=True, now=47_000.0)[0].runs
    marks = [role for text, role in legend if text in ("--", "━━")]
    assert len(marks) == len(set(marks)) == 6, "limit, capacity, now, three percentiles"


def test_a_limit_on_the_mean_has_its_own_line_in_the_curve(tmp_path: Path) -> None:
    limit = Limit("mean < 500us", "", "latency", None, 5e5)
    maker = search_in(tmp_path, Search("capacity", limits=(limit,), points=12)).measure_points()
    maker.finish()
    made = build_record(maker.run_dir)
    assert made.search is not None
    assert [(each.name, each.most_ns) for each in traces(made.search)] == [
        ("mean", 5e5),
        ("p50", None),
        ("p99", None),
    ]
    trace = main_trace(made.search)
    assert trace is not None
    assert [each.latency_ns for each in trace.points] == sorted(
        each.latency_ns for each in trace.points
    )
    assert len(trace.points) == 7
    text = "\n".join(plain_lines(curve_chart(made.search, 78, 16)))
    assert "mean < 500 µs" in text
    (part,) = report_of([ReportedRun(made)]).runs
    charts = [block for each in part.sections for block in each.blocks if isinstance(block, Chart)]
    assert any("mean " in chart.alt for chart in charts)


def shorter(made: SearchRecord, **changes: object) -> str:
    assert made.answer is not None
    return short_text(made.model_copy(update={"answer": made.answer.model_copy(update=changes)}))


def test_what_was_found_fits_a_column_of_17_cells_whatever_it_is(
    record: RunRecord, tmp_path: Path
) -> None:
    assert record.search is not None
    texts = [
        shorter(record.search, state="never-met", step=None),
        shorter(record.search, state="met-at-full-load"),
        shorter(record.search, state="unfinished"),
        shorter(record.search, state="unfinished", step=None),
        shorter(
            record.search,
            unit="bytes_per_s",
            capacity=ConfidenceInterval(value=1.2e9, low=1.1e9, high=1.25e9),
        ),
    ]
    for run in (curve_in(tmp_path / "curve"), scaling_in(tmp_path / "scaling")):
        record = build_record(run.run_dir)
        texts.append(headline_texts(record.headline, record.search)[1])
    assert all(text and len(text) <= 17 for text in texts), texts
    assert texts[0] == "limits not met"
    assert texts[1].endswith(" (full)")
    assert texts[-1] == "78.1 % of linear"


def test_a_limit_is_named_once_and_one_of_several_as_reached_first_or_nearest(
    record: RunRecord,
) -> None:
    search = record.search
    assert search is not None and search.answer is not None
    other = search.limits[0].model_copy(update={"text": "mean<1ms", "percentile": None})
    several = search.model_copy(update={"limits": [*search.limits, other]})
    full = search.answer.model_copy(update={"state": "met-at-full-load"})

    def names(each: SearchRecord) -> set[str]:
        return {name for name, _, _ in answer_facts(each)} & {FIRST, NEAREST}

    assert names(search) == set()
    assert names(several) == {FIRST}
    assert names(several.model_copy(update={"answer": full})) == {NEAREST}


def test_points_that_contradict_each_other_are_above_the_chart(record: RunRecord) -> None:
    assert record.search is not None and record.search.answer is not None
    doubted = record.search.answer.model_copy(update={"contradictions": ["2 met, 4 did not"]})
    search = record.search.model_copy(update={"answer": doubted})
    before, after = (plain_lines(capacity_lines(each, 78, 12)) for each in (record.search, search))
    assert "2 met, 4 did not" in after[0]
    assert len(after) == len(before), "the chart makes room"


def test_a_report_draws_the_curve_and_has_every_point_as_evidence(
    record: RunRecord, tmp_path: Path
) -> None:
    (part,) = report_of([ReportedRun(record)]).runs
    assert part.card.what.startswith("capacity 4")
    section = next(each for each in part.sections if each.title == "Capacity")
    charts = [block for block in section.blocks if isinstance(block, Chart)]
    assert re.search(r"p99\.9 [\d.]+ ms at 30\.5k IOPS, meets", charts[0].alt)
    assert "<svg" in svg_of(charts[0].spec, charts[0].alt)
    (table,) = [block for block in section.blocks if isinstance(block, DocumentTable)]
    assert len(table.rows) == 7
    scaled = report_of([ReportedRun(build_record(scaling_in(tmp_path).run_dir))]).runs[0]
    drawn = [block for each in scaled.sections for block in each.blocks if isinstance(block, Chart)]
    law = next(chart for chart in drawn if chart.title == "IOPS by number of hosts")
    assert "16 hosts" in law.alt
    assert "(extrapolated)" in law.alt
    assert svg_of(law.spec, law.alt)


def test_points_are_exported_as_rows_and_capacity_as_a_gauge(record: RunRecord) -> None:
    table = next(each for each in tables_of(record) if each.name == "points")
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    assert [row["offered_iops"] for row in rows][:2] == [None, 30500.0]
    assert rows[1]["p99_9_ns"] == pytest.approx(1.01e6, rel=0.02)
    assert rows[1]["intended_p99_9_ns"] == pytest.approx(1.05e6, rel=0.02)
    gauges = "".join(line for family in result_families(record) for line in family.lines())
    assert 'unit="iops",limits="p99.9 < 2ms",state="found",bound="low"} 4' in gauges


def test_a_running_search_has_the_same_record_from_its_points_so_far(tmp_path: Path) -> None:
    maker = search_in(tmp_path).measure_points(3)
    maker.offer(3, offers()[3]).load(2, offers()[3].rate_iops)
    from tui.journal.reader import read_events

    state = fold_all(RunState(), read_events(maker.journal))
    live = LiveSearch(maker.plan)
    assert live.read_points(state)
    assert live.view(state, state.t).behind, "an answer of fewer points is shown as that of all"
    live.conclude()
    assert not live.read_points(state)
    so_far = live.view(state, state.t).record
    assert not live.view(state, state.t).behind
    assert [point.verdict for point in so_far.points] == ["breaks", "meets", "breaks"]
    assert so_far.points[1].percentiles_ns["read"]["99.9"] > 9e5
    assert headline_text(so_far).startswith("unfinished: capacity probably at least")


def test_load_before_a_point_is_part_of_what_is_spent_and_of_what_is_left(tmp_path: Path) -> None:
    maker = search_in(
        tmp_path, Search("curve", points=4, within_s=1000.0, lead_s=30.0, own_ramp=True)
    )
    first, second = (
        Offer(None, 10.0, role="maximum", lead_s=30.0),
        Offer(6e3, 10.0, role="curve", lead_s=30.0),
    )
    maker.offer(0, first).decide(0, first)
    maker.offer(1, second).load(12, 6e3)
    from tui.journal.reader import read_events

    state = fold_all(RunState(), read_events(maker.journal))
    live = LiveSearch(maker.plan)
    live.read_points(state)
    view = live.view(state, state.phase_started_t + 12.0)
    assert view.record.spent_s == 40.0
    assert view.elapsed_s == pytest.approx(-18.0), "load that is not measured counts as measured"
    assert view.left_s == pytest.approx(3 * 40.0 - 12.0)


def test_a_curve_that_ran_out_of_points_says_which_shares_it_lacks(tmp_path: Path) -> None:
    search = Search("curve", points=2, shares=(0.25, 0.5, 1.0))
    maker = search_in(tmp_path, search)
    full = Offer(None, 10.0, role="maximum")
    maker.offer(0, full).decide(0, full)
    part = Offer(MOST_IOPS * shares_in_order(search)[0], 10.0, role="curve")
    maker.offer(1, part).decide(1, part)
    maker.finish("complete", "unfinished: all 2 points used")
    record = build_record(maker.run_dir)
    left = ", ".join(f"{share * 100:.0f} %" for share in shares_in_order(search)[1:])
    assert record.search is not None
    assert [*map(search_text, record.search.not_tried)] == [
        f"{left} of the maximum: all 2 points used"
    ]
    assert f"not tried: {left} of the maximum" in summary_text(record)


def test_a_load_curve_has_its_maximum_and_its_knee(tmp_path: Path) -> None:
    made = build_record(curve_in(tmp_path).run_dir)
    assert made.headline is not None
    assert told_headline(made).startswith("maximum 61.0k IOPS")
    assert "knee at 3" in told_headline(made)


def test_scaling_tells_efficiency_and_draws_the_model_beyond_what_was_measured(
    tmp_path: Path,
) -> None:
    made = build_record(scaling_in(tmp_path).run_dir)
    assert made.search is not None
    assert made.search.scaling is not None
    assert made.state == "complete"
    assert made.headline is not None
    assert told_headline(made) == "78.1 % of linear at 8 hosts, 56.2k IOPS"
    # what lists, trend and exports go by
    assert (made.headline.value, made.headline.step) == (56_250.0, 3)
    assert "extrapolated" in summary_text(made)
    chart = "\n".join(plain_lines(scaling_chart(made.search.scaling, 80, 18)))
    assert chart.count("◆") == 4
