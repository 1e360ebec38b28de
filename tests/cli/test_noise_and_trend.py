from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_compare import keep
from tests.results.compare_runs import IOPS, run, step
from tui.cli.main import main

FACTORS = (1.0, 1.01, 0.99, 1.0, 0.9, 0.91, 0.89, 0.9)
NAMES = [f"2026010{day}T000000Z-test-p-000{day}" for day in range(1, 9)]


@pytest.fixture
def runs(home: Path) -> Path:
    """Eight runs, the last four slower."""
    for name, factor in zip(NAMES, FACTORS, strict=True):
        record = run(step(IOPS * factor), run_id=name)
        record.created_utc = f"2026-01-0{name[7]}T00:00:00Z"
        keep(home / "runs", record)
    return home / "runs"


def test_noise_is_kept_where_compare_finds_it(runs: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["noise", *NAMES[:4]]) == 0
    captured = capsys.readouterr()
    assert f"kept in {home / 'noise.json'}" in captured.err
    assert "read.iops" in captured.out
    main(["compare", NAMES[0], NAMES[4], "--json"])
    (told,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert told["points"][0]["figures"][0]["threshold"] > 0.03


def test_noise_of_what_is_not_the_same_is_refused(runs: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = run(run_id="20260201T000000Z-x")
    other.target = "/mnt/other"
    keep(home / "runs", other)
    assert main(["noise", NAMES[0], other.run_id]) == 3
    assert "another target" in capsys.readouterr().err
    assert not (home / "noise.json").exists()


def test_one_run_has_no_noise_floor(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["noise", NAMES[0]]) == 2
    assert "name two or more" in capsys.readouterr().err


def test_a_trend_names_the_run_from_which_on_it_is_worse(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trend", "test/p"]) == 0
    out = capsys.readouterr().out
    assert "8 runs" in out and "test/p: IOPS by run" in out
    assert main(["trend", "test/p", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["trends"]
    assert [each["run_id"] for each in told["changes"]] == [NAMES[4]]


def test_a_profile_that_nobody_ran_is_wrong_usage(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trend", "test/q"]) == 2
    assert "did you mean" in capsys.readouterr().err
