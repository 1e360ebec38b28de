"""`benchtui report` of several runs: sides, what is meant to differ, noise floors, thresholds
against A.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_compare import keep
from tests.samples.records import IOPS, run, step
from tui.analysis.compare import compare
from tui.cli.main import main
from tui.view.document import Chart
from tui.view.report.side_by_side import Versus, compared, names_of, side_by_side

A = [f"2026010{day}T000000Z-test-p-00a{day}" for day in range(1, 5)]
B = [f"2026010{day}T000000Z-test-p-00b{day}" for day in range(5, 9)]
SPREAD = (1.0, 1.01, 0.99, 1.005)


@pytest.fixture
def runs(home: Path) -> Path:
    """Four runs with one job, and four with eight jobs that are a fifth slower."""
    for names, jobs, factor in ((A, 1, 1.0), (B, 8, 0.8)):
        for seed, (name, spread) in enumerate(zip(names, SPREAD, strict=True), 1):
            made = step(
                IOPS * factor * spread, seed=seed, params={"numjobs": jobs, "directory": "/mnt/a"}
            )
            record = run(made, run_id=name)
            record.criteria = ["iops < -5%", "read.p99 > 1s"]
            keep(home / "runs", record)
    return home / "runs"


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the report as it reads, without what keeps Markdown from being markup."""
    assert main(["report", "--no-trend", *words]) == 0
    return capsys.readouterr().out.replace("\\", "")


@pytest.mark.parametrize("redact", [[], ["--redact"]])
def test_runs_joined_by_commas_are_sides_as_compare_has_them(
    runs: Path, redact: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [",".join(A), ",".join(B)]
    said = told(capsys, *sides, "--across", "numjobs", *redact)
    assert said.startswith("# 8 runs, compared as 2 groups\n")
    assert (
        said.index("**B is worse: 20 % fewer read IOPS than A")
        < said.index("## Side by side")
        < said.index("A1: ")
    )
    assert "| numjobs | 1 | 8 | compared |" in said
    (headline,) = [
        line for line in said.splitlines() if line.startswith("| read IOPS |") and "%" in line
    ]
    assert "| 4/4 | -20.0 % |" in headline and "worse" in headline
    assert "Medians of repetitions. Repetitions: Mann-Whitney U" in said
    assert "| iops < -5% |  | -20.0 % | broken |" in said and "| kept |" in said
    why = "**A and B cannot be compared: numjobs differs (1 / 8); measured: B does 20 % fewer"
    assert why in told(capsys, *sides, *redact)


def test_the_noise_floor_sets_the_interval_of_single_runs_in_a_report_too(
    runs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run(
        step(IOPS * 0.97, seed=9, params={"numjobs": 1, "directory": "/mnt/a"}),
        run_id=B[0].replace("b", "c"),
    )
    keep(runs, other)
    assert "Inconclusive: B does 3.0 % fewer read IOPS than A (95 % within the runs: -3" in told(
        capsys, A[0], other.run_id
    )
    assert main(["noise", *A]) == 0
    capsys.readouterr()
    for redact in ([], ["--redact"]):
        said = told(capsys, A[0], other.run_id, *redact)
        assert "Inconclusive: B does 3.0 % fewer read IOPS than A (95 %: -6" in said


def test_a_report_of_runs_begins_with_the_sentence_that_compare_begins_with(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run(
        step(IOPS * 1.5, params={"numjobs": 1, "directory": "/mnt/a"}),
        run_id=B[0].replace("b", "c"),
    )
    other.state = "partial"
    keep(runs, other)
    assert main(["compare", A[0], B[0]]) == 3
    sentence = capsys.readouterr().out.splitlines()[0]
    assert sentence.startswith(
        "A and B cannot be compared: numjobs differs (1 / 8); measured: B does "
    )
    said = told(capsys, A[0], B[0], other.run_id)
    assert said.split("\n\n")[1] == f"**{sentence}**"
    third = f"**A and C cannot be compared: C {other.run_id} is partial; measured: C "
    assert said.split("\n\n")[2].startswith(third)


def test_a_run_on_two_sides_is_wrong_usage(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", A[0], f"{B[0]},{A[0]}"]) == 2
    assert f"on more than one side: {A[0]}" in capsys.readouterr().err


def test_a_directory_with_a_comma_in_its_name_is_one_run(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(home / "a,b", run(run_id=A[0]))
    assert A[0] in told(capsys, str(home / "a,b" / A[0]))


def test_tails_of_repetitions_are_drawn_together() -> None:
    sides = [[run(step(seed=seed)) for seed in seeds] for seeds in ((1, 2), (3, 4))]
    assert names_of(sides) == ["A1", "A2", "B1", "B2"]
    found = compared(sides, Versus((2, 2)))
    assert found["B"].word == compare(sides[0], sides[1]).word
    (chart,) = [
        each
        for each in side_by_side(sides, found)
        if isinstance(each, Chart) and "distribution" in each.title
    ]
    rows = chart.spec["data"]["values"]
    assert {row["d"] for row in rows} == {"A", "B"}
    # as far as the I/Os of one run alone do not reach
    assert max(row["x"] for row in rows) > 20_000 / 10
