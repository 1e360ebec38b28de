"""What a comparison comes to in one sentence: who is better by how much and how surely, or why
nobody can tell.
"""

from __future__ import annotations

import pytest

from tests.samples.records import IOPS, quiet, run, runs_of, step
from tui.analysis.compare import compare
from tui.metrics.repeat import repetitions_needed
from tui.model.record import HeadlineRecord, RunRecord
from tui.text.line import plain_lines
from tui.view.comparison import comparison_lines
from tui.view.comparison_sentence import sentence

VALUES = (1000.0, 1010.0, 1020.0, 1030.0)


def of_p99(record: RunRecord) -> RunRecord:
    record.headline = HeadlineRecord(
        metric="latency", direction="read", percentile=99.0, value=1.0, unit="ns", step=0
    )
    record.matrix = None
    return record


def test_one_measurement_each_that_does_not_tell_is_too_few_and_says_what_would_do() -> None:
    found = compare([run(step(count=0))], [run(step(IOPS * 1.25, count=0))])
    said = "B does 25 % more read IOPS than A, in one run each: too few runs to decide"
    assert sentence(found) == f"{said}; run each 4 times (benchtui ab)"
    assert sentence(found, advice=False) == said


def test_better_and_worse_are_reported_with_their_interval_and_how_many_runs_stand_behind_them() -> (
    None
):
    said = sentence(compare(runs_of(VALUES), runs_of([each * 0.8 for each in VALUES])))
    assert said.startswith("B is worse: 20 % fewer read IOPS than A (95 %: -2") and said.endswith(
        " %), over 4 runs each"
    )
    said = sentence(compare([run()], [run(step(IOPS * 1.25))], quiet()))
    assert said.startswith("B is better: 25 % more read IOPS than A (95 %: +2")
    assert said.endswith("in one run each")


def test_of_single_runs_without_a_noise_floor_the_interval_is_said_to_be_within_them() -> None:
    said = sentence(compare([run()], [run(step(IOPS * 1.25))]))
    assert said.startswith(
        "Inconclusive: B does 25 % more read IOPS than A (95 % within the runs: +2"
    )
    assert said.endswith("run-to-run noise is unknown; run each 4 times (benchtui ab)")


def test_a_latency_is_slower_or_faster() -> None:
    found = compare([of_p99(run(step(count=0)))], [of_p99(run(step(count=0, scale=1.5)))])
    assert sentence(found).startswith(
        "B is 51 % slower than A in read p99 latency, in one run each"
    )


def test_what_does_not_differ_and_what_may_be_chance_are_reported() -> None:
    assert sentence(compare([run()], [run(step(seed=2))], quiet())).startswith(
        "No difference detected: B does as many read IOPS as A"
    )
    noisy = compare([run(step(noise=0.6))], [run(step(IOPS * 1.05, noise=0.6, seed=2))], quiet())
    assert sentence(noisy).startswith("Inconclusive: B does ") and "may be noise" in sentence(noisy)


def test_why_runs_cannot_be_compared_is_reported_once_and_not_in_each_row() -> None:
    other = run(step(IOPS * 1.25, params={"numjobs": 4, "directory": "/mnt/a"}), run_id="b")
    found = compare([run()], [other])
    lines = plain_lines(comparison_lines(found, 120))
    assert (
        lines[0]
        == "A and B cannot be compared: numjobs differs (1 / 4); measured: B does 25 % more read"
        " IOPS than A"
    )
    page = "\n".join(lines)
    assert page.count("not comparable") == 0 and page.count("numjobs") == 1
    assert "read p99 latency" in page and " n " not in page, "one run each has been said"


def test_of_many_reasons_the_first_are_in_the_sentence_and_the_others_below() -> None:
    other = run(
        step(params={"numjobs": 4, "bs": "64k", "iodepth": 2, "directory": "/mnt/a"}), run_id="b"
    )
    other.state = "partial"
    found = compare(
        [run(step(params={"numjobs": 1, "bs": "4k", "iodepth": 1, "directory": "/mnt/a"}))], [other]
    )
    said = sentence(found)
    assert said.startswith(
        "A and B cannot be compared: bs differs (4k / 64k); iodepth differs (1 / 2); 2 more reasons"
        " below"
    )
    page = plain_lines(comparison_lines(found, 120))
    assert "not comparable  numjobs: A 1, B 4" in page and any(
        line.strip() == "B b is partial" for line in page
    )


def test_the_sentence_of_a_sweep_counts_points() -> None:
    def swept(*factors: float, run_id: str) -> RunRecord:
        return run(*(step(IOPS * factor, index=at, seed=at + 1, point={"bs": f"{4 << at}k"})
                     for at, factor in enumerate(factors)), run_id=run_id)  # fmt: skip

    a, b = swept(1, 1, 1, run_id="a"), swept(0.5, 1.3, 1, run_id="b")
    said = sentence(compare([a], [b], quiet(a)))
    most = "largest difference at bs=4k: 50 % fewer read IOPS than A"
    assert said == f"Of 3 points, B is worse at 1, better at 1, unchanged at 1; {most}"


@pytest.mark.parametrize("count", [2, 5, 12])
def test_a_sweep_needs_as_many_runs_as_its_points_are_tested_together(count: int) -> None:
    def swept(factor: float, run_id: str) -> RunRecord:
        return run(*(step(IOPS * factor, index=at, count=0, point={"numjobs": 1 + at})
                     for at in range(count)), run_id=run_id)  # fmt: skip

    said = sentence(compare([swept(1, "a")], [swept(0.5, "b")]))
    assert f"{count} are inconclusive" in said
    assert f"run each {repetitions_needed(count)} times" in said


@pytest.mark.parametrize(("a", "b", "said"), [
    (0.0, IOPS, "B is better: A did no I/O (0 read IOPS), B 10.0k IOPS"),
    (IOPS, 0.0, "B is worse: B did no I/O (0 read IOPS), A 10.0k IOPS"),
    (0.0, 0.0, "No difference detected: both did no I/O (read IOPS)"),
])  # fmt: skip
def test_a_side_that_did_nothing_is_named(a: float, b: float, said: str) -> None:
    assert sentence(compare([run(step(a))], [run(step(b), run_id="b")])) == said
