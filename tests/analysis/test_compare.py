from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.records import (
    IOPS,
    latencies,
    latency_of,
    metadata_run,
    quiet,
    repeated,
    run,
    runs_of,
    step,
)
from tui.analysis.compare import Change, Comparison, compare
from tui.analysis.criteria import judge
from tui.analysis.stats import Effect
from tui.model.criteria import parse_criterion
from tui.model.plan import Headline
from tui.model.record import Finding, RunRecord
from tui.model.step_record import TaskRecord
from tui.text.line import plain_lines
from tui.view.comparison import comparison_lines
from tui.view.comparison_formats import as_json


def headline(found: Comparison) -> Change:
    change = found.points[0].headline
    assert change is not None
    return change


def named(found: Comparison, name: str) -> Change:
    return next(change for change in found.changes if change.name == name)


def text(found: Comparison) -> str:
    return "\n".join(plain_lines(comparison_lines(found, None)))


# -- words


def test_profiles_that_differ_in_a_comment_are_the_same_and_others_are_told_apart_by_key() -> None:
    def of_text(text: str, number: int) -> RunRecord:
        record = run(step(seed=number), run_id=str(number))
        record.profile.text, record.profile.sha256 = text, str(number) * 64
        return record

    load = "fio: {global: {sync: 0}}"
    a, same = of_text(load, 1), of_text(f"# another line\n{load}", 2)
    other = of_text(load.replace("0", "1"), 3)
    assert not compare([a], [same]).gate
    (found,) = compare([a], [other]).gate
    assert (found.what, found.a, found.b) == ("fio.global.sync", "0", "1")


def test_a_run_beside_itself_does_not_differ() -> None:
    found = compare([run()], [run(run_id="b")], quiet())
    assert found.word == "no difference detected"
    assert {change.word for change in found.changes} <= {"no difference detected", "inconclusive"}


def test_five_per_cent_more_iops_are_better_and_a_longer_latency_is_worse() -> None:
    found = compare([run()], [run(step(IOPS * 1.05, scale=1.1, seed=2), run_id="b")], quiet())
    assert (found.word, headline(found).title) == ("better", "read IOPS")
    assert headline(found).change == pytest.approx(0.05)
    assert named(found, "read.mean").word == "worse"


def test_what_is_surely_different_but_less_than_matters_is_no_difference() -> None:
    found = compare(
        [run(step(noise=0.001))], [run(step(IOPS * 1.01, noise=0.001, seed=2))], quiet(cov=0.001)
    )
    assert (headline(found).word, headline(found).why) == (
        "no difference detected",
        "less than 2 %",
    )


def test_a_significant_change_that_may_exceed_what_matters_is_inconclusive() -> None:
    a, b = (1000.0, 1004.0, 1008.0, 1300.0), (996.0, 992.0, 988.0, 700.0)
    found = compare(runs_of(a), runs_of(b))
    change = headline(found)
    assert change.effect is not None and change.effect.high is not None
    assert -0.02 < (change.change or 0) < 0 and change.effect.high < 1, "significant, below 2 %"
    assert (found.word, change.why) == ("inconclusive", "may be less or more than 2 %")
    assert found.undecided, "the interval reaches to -46 %"
    assert "may be noise" not in text(found)


def test_a_noisy_run_is_inconclusive() -> None:
    found = compare([run(step(noise=0.6))], [run(step(IOPS * 1.05, noise=0.6, seed=2))], quiet())
    assert (found.word, headline(found).why) == ("inconclusive", "wide interval")


@pytest.mark.parametrize("factor", [0.5, 0.95, 1.0, 1.05, 2.0])
def test_single_runs_without_a_noise_floor_are_never_better_or_worse(factor: float) -> None:
    found = compare(
        [run(step(noise=0.001))], [run(step(IOPS * factor, noise=0.001, scale=1 / factor, seed=2))]
    )
    assert {change.word for change in found.changes} == {"inconclusive"}
    assert found.undecided
    assert headline(found).change == pytest.approx(factor - 1)


def test_single_runs_are_as_sure_as_the_noise_floor_lets_them_be() -> None:
    a, b = run(step(noise=0.001)), run(step(IOPS * 1.03, noise=0.001, seed=2))
    loud, calm = compare([a], [b], quiet(cov=0.05)), compare([a], [b], quiet(cov=0.002))
    assert (loud.word, calm.word) == ("inconclusive", "better")
    wide, narrow = headline(loud).effect, headline(calm).effect
    assert wide is not None and wide.high is not None
    assert narrow is not None and narrow.high is not None
    assert wide.high / wide.ratio - 1 == pytest.approx(2.0452 * 2**0.5 * 0.05, rel=0.1)
    assert narrow.high / narrow.ratio - 1 < 0.01
    assert loud.undecided and not calm.undecided


def test_the_noise_floor_makes_noisy_runs_no_surer() -> None:
    a, b = run(step(noise=0.6)), run(step(noise=0.6, seed=2))
    within, between = (
        headline(compare([a], [b], floors)).effect for floors in (None, quiet(cov=0.001))
    )
    assert within is not None and between is not None
    assert (between.low, between.high, between.p) == (within.low, within.high, within.p)


def test_where_reasons_have_no_room_beside_their_words_they_are_below_whole() -> None:
    found = compare([run()], [run(step(IOPS * 1.01, noise=0.001, scale=1.3, seed=2))], quiet())
    reasons = {f"{each.word}: {each.why}" for each in found.changes if each.why}
    assert reasons
    wide, narrow = (plain_lines(comparison_lines(found, width)) for width in (120, 76))
    assert not reasons & set(wide) and reasons <= set(narrow)
    assert any("(" in line for line in wide if line.startswith("read IOPS"))
    assert max(map(len, narrow)) <= 76 and not any(line.endswith("…") for line in narrow)


def test_where_words_have_no_room_they_are_short_and_are_below_whole() -> None:
    values = [1000.0, 1010.0, 1020.0]
    found = compare(runs_of(values), runs_of([each * 1.2 for each in values]))
    wide, narrow = (plain_lines(comparison_lines(found, width)) for width in (120, 68))
    assert any(
        line.startswith("read IOPS") and "too few repetitions to say" in line for line in wide
    )
    row = next(line for line in narrow if line.startswith("IOPS"))
    assert row.endswith("  too few") and any(
        line.startswith("too few repetitions to say: ") for line in narrow
    )
    assert max(map(len, narrow)) <= 68 and not any(line.endswith("…") for line in narrow)


@pytest.mark.parametrize(("low", "high", "metric", "undecided"), [
    (0.97, 1.30, "iops", False), (0.90, 1.30, "iops", True),
    (0.90, 1.02, "latency", False), (0.97, 1.30, "latency", True),
])  # fmt: skip
def test_what_is_inconclusive_leaves_open_whether_it_is_worse_or_only_how_much_better(
    low: float, high: float, metric: Any, undecided: bool
) -> None:
    known = headline(compare([run()], [run(step(seed=2))]))
    found = replace(
        known,
        figure=Headline(metric, "read"),
        word="inconclusive",
        effect=Effect(1.01, low, high, 0.5, "repetitions"),
    )
    assert found.undecided is undecided


def test_single_runs_have_a_within_run_interval_only() -> None:
    found = compare([run()], [run(step(IOPS * 1.1))])
    assert headline(found).effect is not None
    assert headline(found).effect.method == "within one run"  # type: ignore[union-attr]
    assert named(found, "read.p99").effect.method == "one run, order statistics"  # type: ignore[union-attr]
    assert "one run each: the intervals show how steady each run was" in text(found)


def test_a_run_without_seconds_has_too_few_repetitions_to_say() -> None:
    found = compare([run(step(count=0))], [run(step(IOPS * 2, count=0))])
    assert found.word == "too few repetitions to say"
    # one line gives the reason for all figures
    assert text(found).count("one run each: ") == 1


@pytest.mark.parametrize("count", [0, 1, 9])
def test_runs_too_short_for_an_interval_have_the_seconds_that_they_have(count: int) -> None:
    found = compare([run(step(count=count))], [run(step(IOPS * 2, count=30))])
    reason = headline(found).reason
    assert reason is not None and reason["code"] == "short-runs"
    assert (reason["operands"]["seconds"], reason["operands"]["least_s"]) == (count, 10)


def test_runs_that_are_long_enough_are_not_called_short() -> None:
    columns = [run(step(count=30)) for _ in range(2)]
    for record in columns:
        series = record.steps[0].series
        assert series is not None
        for each in series.columns:
            each.iops = [0.0] * 30
    found = compare([columns[0]], [columns[1]])
    reason = headline(found).reason
    assert reason is not None and reason["code"] == "no-spread-within-runs"


@pytest.mark.parametrize(
    ("factor", "said"), [(1.2, "ranges do not overlap"), (1.001, "ranges overlap")]
)
def test_three_repetitions_are_too_few_and_the_ranges_are_reported(
    factor: float, said: str
) -> None:
    values = [1000.0, 1010.0, 1020.0]
    found = compare(runs_of(values), runs_of([each * factor for each in values]))
    assert found.word == "too few repetitions to say"
    assert said in headline(found).why


def test_four_repetitions_on_each_side_can_tell() -> None:
    values = [1000.0, 1010.0, 1020.0, 1030.0]
    found = compare(runs_of(values), runs_of([each * 0.9 for each in values]))
    assert found.word == "worse"
    effect = headline(found).effect
    assert effect is not None
    assert effect.p == pytest.approx(2 / 70)
    assert effect.low is not None and effect.low <= 0.9 <= (effect.high or 0)


def test_runs_of_one_side_are_its_repetitions() -> None:
    values = [1000.0, 1010.0, 1020.0, 1030.0]
    a, b = (
        [run(step(each * factor), run_id=f"{factor}-{each}") for each in values]
        for factor in (1.0, 0.9)
    )
    found = compare(a, b)
    assert headline(found).values_a == tuple(values)
    assert found.word == "worse"


def test_beside_the_headline_four_repetitions_are_too_few_for_many_figures() -> None:
    values = [1000.0, 1010.0, 1020.0, 1030.0]
    found = compare(runs_of(values), runs_of([each * 0.9 for each in values]))
    assert named(found, "read.bandwidth").word == "too few repetitions to say"


def test_a_percentile_that_too_few_ios_are_behind_is_not_judged() -> None:
    found = compare(*few_samples())
    assert named(found, "read.p99.9").word == "too few samples"
    assert "n<10" in text(found)


def test_a_percentile_that_too_few_ios_are_behind_is_a_number_with_that_word_in_a_document() -> (
    None
):
    found = compare(*few_samples())
    judged = judge([], found.b, [parse_criterion("read.p99.9 < 5ms")])
    (told,) = json.loads(as_json([(found, judged)]))["comparisons"]
    (tail,) = [each for each in told["points"][0]["figures"] if each["name"] == "read.p99.9"]
    assert (tail["a"], tail["word"]) == (named(found, "read.p99.9").a, "too few samples")
    assert told["criteria"][0]["criterion"] == "read.p99.9 < 5ms"


def few_samples() -> tuple[list[RunRecord], list[RunRecord]]:
    """Return two sides of one run each, of 500 I/Os."""
    one, other = (latency_of(latencies(count=500, seed=seed)) for seed in (1, 5))
    return [run(step(latency=one))], [run(step(latency=other))]


def test_metadata_runs_are_compared_by_their_operations() -> None:
    rates = {"create": [100.0, 101.0, 102.0, 103.0], "stat": [900.0, 910.0, 920.0, 930.0]}
    slower = {name: [each * 0.8 for each in values] for name, values in rates.items()}
    found = compare([metadata_run(rates)], [metadata_run(slower)], quiet(metadata_run(rates)))
    assert (found.word, headline(found).title) == ("worse", "creates")
    assert named(found, "stat").change == pytest.approx(-0.2, abs=0.02)


def test_a_matrix_is_compared_cell_by_cell() -> None:
    def swept(factor: float) -> RunRecord:
        points = [{"numjobs": 1}, {"numjobs": 2}, {"numjobs": 4}]
        figures = [IOPS, 2 * IOPS, 3 * IOPS * factor]
        return run(*(step(each, index=at, point=points[at]) for at, each in enumerate(figures)))

    found = compare([swept(1.0)], [swept(0.8)], quiet(swept(1.0)))
    assert [
        (point.name, point.headline.word if point.headline else "") for point in found.points
    ] == [
        ("numjobs=1", "no difference detected"),
        ("numjobs=2", "no difference detected"),
        ("numjobs=4", "worse"),
    ]
    assert found.word == "worse"
    assert "numjobs=4: read bandwidth -20.0 %" in text(found)


# -- the gate


def invalid(record: RunRecord) -> None:
    record.verdict = "invalid"
    record.findings = [Finding(id="tool-errors", severity="error", message="EIO")]


def other_param(record: RunRecord) -> None:
    record.steps[0].params["numjobs"] = 4


def other_profile(record: RunRecord) -> None:
    record.profile.tag = "test/other"


def other_version(record: RunRecord) -> None:
    record.profile.version = 2


def partial(record: RunRecord) -> None:
    record.state = "partial"


def more_hosts(record: RunRecord) -> None:
    record.steps[0].results.aggregate["read"].hosts = ["h1", "h2"]


def other_tool(record: RunRecord) -> None:
    record.steps[0].tasks = {"h1": TaskRecord(tool_version="fio-4.1")}


BLOCKING: dict[Callable[[RunRecord], None], str] = {
    invalid: "B b is invalid (tool-errors)",
    other_param: "numjobs: A 1, B 4",
    other_profile: "profile: A test/p, B test/other",
    other_version: "profile version: A 1, B 2",
    partial: "B b is partial",
    more_hosts: "number of clients: A 1, B 2",
    other_tool: "version of fio: A 3.33, B 4.1",
}


@pytest.mark.parametrize("change", BLOCKING, ids=lambda each: each.__name__)
def test_what_makes_runs_not_comparable_is_named_and_figures_are_still_shown(
    change: Callable[[RunRecord], None],
) -> None:
    a, b = run(), run(run_id="b")
    a.steps[0].tasks = {"h1": TaskRecord(tool_version="fio-3.33")}
    change(b)
    found = compare([a], [b])
    assert found.word == "not comparable"
    assert BLOCKING[change] in [each.text for each in found.obstacles]
    assert "read IOPS" in text(found)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("change", "said"), [
    (other_param, "numjobs: A 1, B 1 or 4"), (more_hosts, "number of clients: A 1, B 1 or 2"),
    (other_tool, "version of fio: A 3.33, B 3.33 or 4.1"),
    (other_profile, "profile: A test/p, B test/other, test/p"),
])  # fmt: skip
def test_each_run_of_a_side_is_held_against_the_other(
    change: Callable[[RunRecord], None], said: str, turned: bool
) -> None:
    a, *b = (run(run_id=name) for name in "abc")
    for record in (a, *b):
        record.steps[0].tasks = {"h1": TaskRecord(tool_version="fio-3.33")}
    change(b[1])
    found = compare([a], b[::-1] if turned else b)
    assert said in [each.text for each in found.obstacles]


def test_runs_of_one_side_that_differ_are_no_repetitions_even_where_both_sides_are_mixed_alike() -> (
    None
):
    a, b = ([run(run_id=f"{side}1"), run(step(1010.0), run_id=f"{side}2")] for side in "ab")
    for side in (a, b):
        other_param(side[1])
    found = compare(a, b, across=["numjobs"])
    assert [each.text for each in found.obstacles] == ["numjobs: A 1 or 4, B 1 or 4"]
    assert "\ncompared" not in text(found)


def test_one_measurement_under_two_names_repeats_nothing() -> None:
    found = compare([run(run_id="a1"), run(run_id="a2")], [run(step(1010.0), run_id="b1")])
    assert [each.text for each in found.obstacles] == ["A a1 and a2 hold the same measurement"]


def test_one_measurement_on_both_sides_is_named() -> None:
    found = compare([run(run_id="a1")], [run(run_id="b1")])
    assert [each.text for each in found.gate] == ["A a1 and B b1 hold the same measurement"]


def test_other_directions_block_unless_parameters_may_differ() -> None:
    writes = run(step(1010.0), run_id="b")
    both = writes.steps[0].results.aggregate
    both["write"] = both["read"]
    for across in ([], ["numjobs"]):
        (found,) = compare([run()], [writes], across=across).gate
        assert (found.a, found.b, found.blocks) == ("read", "read, write", not across)


@pytest.mark.parametrize("odd", [1, 2, 3])
def test_a_run_of_a_side_with_other_directions_repeats_nothing(odd: int) -> None:
    a, b = ([run(step(rate + at), run_id=f"{side}{at}") for at in range(4)]
            for side, rate in (("a", 1000.0), ("b", 1200.0)))  # fmt: skip
    for at, record in enumerate([*a, *b]):
        both = record.steps[0].results.aggregate
        if at < 8 - odd:
            both["write"] = both["read"]
    assert [each.what for each in compare(a, b).obstacles] == ["I/Os by direction"]


def test_seconds_of_every_repetition_count() -> None:
    steady, noisy = 0.001, 0.3
    widths = []
    for noises in ((steady, noisy, noisy), (noisy, steady, steady), (steady, steady, steady)):
        steps = [
            [step(1000.0 + side, index=at, repetition=at + 1, noise=each, seed=at + 10 * side)
             for at, each in enumerate(noises)] for side in (0, 1)
        ]  # fmt: skip
        a, b = ([run(*each, run_id=f"{each[0].headline}")] for each in steps)
        effect = headline(compare(a, b)).effect
        assert effect is not None and effect.low is not None and effect.high is not None
        widths.append(effect.high - effect.low)
    assert min(widths[:2]) > 10 * widths[2]


def test_a_figure_that_is_0_in_several_runs_of_b_counts() -> None:
    def mixed(run_id: str, writes: float, seed: int) -> RunRecord:
        record = run(step(1000.0 + seed, seed=seed), run_id=run_id)
        both = record.steps[0].results.aggregate
        both["write"] = both["read"].model_copy(
            update={"iops": writes, "bw_bytes_per_s": writes * 4096}
        )
        return record

    a, b = ([mixed(f"{side}{at}", rate, at + place) for at in range(4)]
            for side, rate, place in (("a", 500.0, 1), ("b", 0.0, 5)))  # fmt: skip
    worse = [each for each in compare(a, b).changes if each.word == "worse"]
    assert worse and all(each.counts for each in worse)


def imported(name: str, size: int, in_flight: int | None) -> RunRecord:
    only = step(params={"none": 1})
    only.params, only.name, only.in_flight = {}, name, in_flight
    read = only.results.aggregate["read"]
    read.ios, read.bytes = 1000, 1000 * size
    record = run(only, run_id=name)
    record.state, record.profile.tag = "imported", "imported/fio"
    return record


def with_options(options: dict[str, str], *, complete: bool = True) -> RunRecord:
    record = imported("randread", 4096, 8)
    record.steps[0].options, record.steps[0].options_complete = options, complete
    return record


def test_options_of_imported_runs_have_to_match_or_be_named_across() -> None:
    a = with_options({"bs": "4k", "ioengine": "libaio"})
    b = with_options({"bs": "4k", "ioengine": "io_uring", "fsync": "1"})
    found = compare([a], [b])
    assert {(each.what, each.a, each.b) for each in found.obstacles} == {
        ("ioengine", "libaio", "io_uring"),
        ("fsync", "not set", "1"),
    }
    assert compare([a], [b], across=["ioengine", "fsync"]).obstacles == []


def test_options_that_an_output_lacks_are_not_compared_but_named() -> None:
    known = with_options({"bs": "4k", "direct": "1", "ioengine": "libaio"})
    text = with_options({"bs": "4k", "ioengine": "libaio"}, complete=False)
    found = compare([known], [text])
    assert found.obstacles == []
    assert ("", "unknown") in {(each.a, each.b) for each in found.gate}
    other = with_options({"bs": "4k", "ioengine": "psync"}, complete=False)
    assert {each.what for each in compare([known], [other]).obstacles} == {"ioengine"}


def test_of_imported_runs_size_and_depth_have_to_be_the_same() -> None:
    a = imported("randread", 4096, 100)
    found = compare([a], [imported("mapr", 262144, 1)])
    assert {each.text for each in found.obstacles} == {
        "read size: A 4k, B 256k",
        "I/Os in flight: A 100, B 1",
    }
    mixed = compare([a], [imported("split", 38_700, 100)])
    assert [each.text for each in mixed.obstacles] == ["read size: A 4k, B 32k to 64k"]
    assert compare([a], [imported("again", 4100, None)]).obstacles == [], (
        "neither a name nor what is not known"
    )


def test_another_place_is_a_difference_that_does_not_hinder() -> None:
    a, b = run(), run()
    b.steps[0].params["directory"] = "/mnt/b"
    found = compare([a], [b])
    assert not found.obstacles
    assert "directory: A /mnt/a, B /mnt/b" in [each.text for each in found.gate]


def test_a_parameter_that_is_meant_to_differ_does_not_hinder() -> None:
    a, b = run(), run()
    other_param(b)
    found = compare([a], [b], across=["numjobs"])
    assert not found.obstacles
    assert "compared        numjobs: A 1, B 4" in text(found)


def test_facts_that_differ_are_reported() -> None:
    found = compare([run()], [run(facts={"kernel": "6.18", "fio_version": "fio-3.33"})])
    assert "kernel: A 6.1, B 6.18" in [each.text for each in found.gate]
    assert not found.obstacles


def test_runs_without_a_common_point_are_not_comparable() -> None:
    found = compare([run(step(point={"bs": "4k"}))], [run(step(point={"bs": "8k"}))])
    assert found.word == "not comparable"


def test_the_document_has_the_code_and_figures_of_every_reason_beside_its_text() -> None:
    values = [1000.0, 1010.0, 1020.0]
    partial = run()
    partial.state = "partial"
    few = compare(runs_of(values), runs_of([each * 1.2 for each in values]))
    apart = compare([run()], [partial])
    told, other = json.loads(as_json([(few, []), (apart, [])]))["comparisons"]
    (first,) = [each for each in told["points"][0]["figures"] if each["headline"]]
    operands = {"a": 3, "b": 3, "needed": 4, "apart": True}
    assert first["reason"] == {"code": "few-repetitions", "operands": operands}
    assert first["why"] == headline(few).why != ""
    (blocking,) = [each for each in other["differences"] if each["blocks"]]
    assert blocking["reason"]["code"] == "run-not-complete"
    assert blocking["what"] == apart.obstacles[0].text
    assert all(each["reason"] is None for each in other["points"][0]["figures"])


def test_the_document_holds_what_is_shown() -> None:
    found = compare([run()], [run(step(IOPS * 1.1), run_id="b")], quiet())
    (told,) = json.loads(as_json([(found, [])]))["comparisons"]
    first = told["points"][0]["figures"][0]
    assert (told["word"], told["comparable"], first["name"], first["word"]) == (
        "better",
        True,
        "read.iops",
        "better",
    )
    assert first["ratio"] == pytest.approx(1.1)
    assert first["low"] < first["ratio"] < first["high"]


def test_operations_on_directories_are_judged_by_their_own_criteria() -> None:
    record = metadata_run({"create": [20_000.0], "dir-create": [9_000.0]})
    judged = judge(
        [], [record], [parse_criterion("dir-create < 10k"), parse_criterion("create < 10k")]
    )
    assert [(each.criterion, each.outcome) for each in judged] == [
        ("dir-create < 10k", "broken"),
        ("create < 10k", "kept"),
    ]


rates = st.lists(st.lists(st.floats(900, 1100), min_size=1, max_size=5), min_size=1, max_size=6)


@settings(max_examples=40)
@given(rates, rates, st.integers(-15, 15))
def test_a_threshold_in_per_cent_judges_the_change_that_is_shown(
    a: list[list[float]], b: list[list[float]], percent: int
) -> None:
    ours, theirs = (
        [repeated(values, f"{name}{at}") for at, values in enumerate(side)]
        for name, side in (("a", a), ("b", b))
    )
    found = compare(ours, theirs)
    (shown,) = [each.change for each in found.changes if each.headline]
    (judged,) = judge(ours, theirs, [parse_criterion(f"iops < {percent}%")])
    assert shown is not None and judged.measured == f"{shown * 100:+.1f} %"
    assert (judged.outcome == "broken") == (shown < percent / 100)


@pytest.mark.parametrize(("values", "outcome"), [([0.0], "broken"), ([0.0, 990.0], "not measured")])
def test_a_side_without_ios_breaks_a_threshold_only_if_it_never_had_any(
    values: list[float], outcome: str
) -> None:
    a, b = [run(step(1000.0), run_id="a")], [run(step(each), run_id=f"b{each}") for each in values]
    (judged,) = judge(a, b, [parse_criterion("iops < -5%")])
    (shown,) = [each.change for each in compare(a, b).changes if each.headline]
    assert judged.outcome == outcome and (shown is None) == (outcome == "not measured")
