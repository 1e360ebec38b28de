from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_compare import keep
from tests.samples.records import IOPS, repeated, run, step
from tui.cli.main import main
from tui.library.runs import RunStore
from tui.model.record import HeadlineRecord
from tui.model.step_record import TaskRecord
from tui.view.document import Chart
from tui.view.report.history import history_blocks
from tui.view.report.vega import svg_of
from tui.view.report.write import source_at, with_histories

FACTORS = (1.0, 1.01, 0.99, 1.001, 0.9, 0.91, 0.89, 0.901)
NAMES = [f"2026010{day}T000000Z-test-p-000{day}" for day in range(1, 9)]


@pytest.fixture
def runs(home: Path) -> Path:
    """Eight runs, the last four slower."""
    for name, factor in zip(NAMES, FACTORS, strict=True):
        record = run(step(IOPS * factor), run_id=name)
        record.created_utc = f"2026-01-0{name[7]}T00:00:00Z"
        keep(home / "runs", record)
    return home / "runs"


def test_noise_is_kept_where_compare_finds_it(
    runs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["noise", *NAMES[:4]]) == 0
    captured = capsys.readouterr()
    assert f"saved in {home / 'noise.json'}" in captured.err
    assert "read.iops" in captured.out
    main(["compare", NAMES[0], NAMES[4], "--json"])
    (told,) = json.loads(capsys.readouterr().out)["comparisons"]
    figure = told["points"][0]["figures"][0]
    assert figure["method"] == "one run, noise floor"
    assert 0.03 < figure["ratio"] - figure["low"] < 0.05


def test_noise_of_what_is_not_the_same_is_refused(
    runs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run(run_id="20260201T000000Z-x")
    other.target = "/mnt/other"
    keep(home / "runs", other)
    assert main(["noise", NAMES[0], other.run_id]) == 3
    assert "target, hosts or parameters differ" in capsys.readouterr().err
    assert not (home / "noise.json").exists()


def test_noise_of_an_edited_profile_is_refused(
    runs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ("fio: {global: {sync: 0}}", "# same\nfio: {global: {sync: 0}}", "fio: {global: {}}")
    ids = [f"2026020{number}T000000Z-x" for number in (1, 2, 3)]
    for number, (run_id, text) in enumerate(zip(ids, texts, strict=True)):
        other = run(step(IOPS + number), run_id=run_id)
        other.profile.text, other.profile.sha256 = text, str(number) * 64
        keep(home / "runs", other)
    assert main(["noise", "--dry-run", *ids[:2]]) == 0
    assert main(["noise", *ids[1:]]) == 3
    assert "fio.global.sync" in capsys.readouterr().err
    assert not (home / "noise.json").exists()


def test_noise_names_what_differs_among_the_runs(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run_id, version in ((NAMES[0], "fio-3.33"), (NAMES[1], "fio-3.36")):
        other = run(step(IOPS + len(run_id) + ord(version[-1])), run_id=run_id)
        other.steps[0].tasks = {"h1": TaskRecord(tool_version=version)}
        keep(home / "runs", other)
    assert main(["noise", *NAMES[:2]]) == 0
    warned = capsys.readouterr().err
    assert "version of fio (3.33 / 3.36)" in warned
    assert "within one run" not in warned


def test_noise_of_one_measurement_under_two_names_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in NAMES[:2]:
        keep(home / "runs", run(step(IOPS), run_id=name))
    keep(home / "runs", run(step(IOPS * 1.01), run_id=NAMES[2]))
    assert main(["noise", NAMES[0], NAMES[2]]) == 0
    assert main(["noise", "--dry-run", NAMES[0], NAMES[2], NAMES[1]]) == 3
    said = capsys.readouterr().err
    assert all(name in said for name in NAMES[:2]) and NAMES[2] not in said.split("saved")[-1]


@pytest.mark.parametrize("values", [[IOPS], [IOPS, IOPS * 1.01, IOPS * 0.99]])
def test_one_run_has_no_noise_floor_however_often_it_repeats(
    values: list[float], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(home / "runs", repeated(values, NAMES[0]))
    assert main(["noise", NAMES[0]]) == 2
    assert "one run" in capsys.readouterr().err and not (home / "noise.json").exists()


def test_a_run_that_is_not_whole_has_no_noise_floor(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = repeated([IOPS, IOPS * 1.01, IOPS * 0.99], NAMES[0])
    record.state = "partial"
    keep(home / "runs", record)
    assert main(["noise", NAMES[0]]) == 3
    assert "is partial and cannot be used" in capsys.readouterr().err


def test_a_trend_names_the_run_from_which_on_it_is_worse(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trend", "test/p"]) == 0
    out = capsys.readouterr().out
    assert "8 runs" in out and "test/p: IOPS by run" in out
    assert main(["trend", "test/p", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["trends"]
    assert [each["run_id"] for each in told["changes"]] == [NAMES[4]]


def test_the_history_of_a_sweep_is_reported_point_by_point(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [*NAMES[:4], *(name.replace("202601", "202602") for name in NAMES)]
    for name, factor in zip(names, (*FACTORS[:4], *FACTORS[:4], *FACTORS[4:]), strict=True):
        steps = [step(IOPS * (factor if bs == "8k" else 1), index=at, point={"bs": bs},
            params={"bs": bs})
                 for at, bs in enumerate(("4k", "8k"))]  # fmt: skip
        record = run(*steps, run_id=name)
        assert record.matrix is not None
        for cell, each in zip(record.matrix.cells, steps, strict=True):
            cell.headline = HeadlineRecord(
                metric="iops", direction="read", value=each.headline, unit="iops", text="x"
            )
        keep(home / "runs", record)
    assert main(["trend", "test/p"]) == 0
    out = capsys.readouterr().out
    assert "2 points, judged separately" in out
    (changed,) = [line for line in out.splitlines() if "worse since" in line]
    assert changed.startswith("test/p bs=8k") and names[8] in changed
    assert main(["trend", "test/p", "--point", "8k", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["trends"]
    assert (told["point"], [each["run_id"] for each in told["changes"]]) == (
        "test/p bs=8k",
        [names[8]],
    )
    assert main(["trend", "test/p", "--point", "16k"]) == 2
    assert "points: test/p bs=4k, test/p bs=8k" in capsys.readouterr().err


def test_a_report_shows_the_history_when_there_is_one(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", NAMES[5]]) == 0
    said = capsys.readouterr().out
    assert f"8 runs on this target: worse since {NAMES[4]}, 2026-01-05: -10." in said
    assert "| this run |" in said
    assert main(["report", NAMES[5], "--redact"]) == 0
    assert "worse since run 5 of 8" in capsys.readouterr().out
    assert main(["report", NAMES[5], "--no-trend"]) == 0
    assert "on this target" not in capsys.readouterr().out
    store = RunStore(runs)
    (source,) = with_histories([source_at(runs / NAMES[5], tmp_path)[0]], store)
    found = [
        each
        for each in history_blocks(source.record, source.history, drawn=True)
        if isinstance(each, Chart)
    ]
    assert [row["o"] for row in found[0].spec["data"]["values"]].index(True) == 5
    assert svg_of(found[0].spec, found[0].alt).count("(this run)") == 1


def test_the_runs_of_the_team_are_part_of_the_history(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "team").mkdir()
    for name in NAMES[:4]:
        (runs / name).rename(tmp_path / "team" / name)
    monkeypatch.setenv("BENCHTUI_SHARED_RUNS", f"{tmp_path / 'team'}:{tmp_path / 'gone'}")
    assert main(["trend", "test/p", "--json"]) == 0
    captured = capsys.readouterr()
    (told,) = json.loads(captured.out)["trends"]
    assert [each["run_id"] for each in told["runs"]] == NAMES
    assert [each["run_id"] for each in told["changes"]] == [NAMES[4]]
    assert f"{tmp_path / 'gone'}: cannot be read" in captured.err


def test_a_change_of_block_size_is_no_regression_but_another_history(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = "20251201T000000Z-test-p-0000"
    large = run(step(IOPS / 4, params={"numjobs": 1, "bs": "64k"}), run_id=first)
    large.created_utc = "2025-12-01T00:00:00Z"
    keep(runs, large)
    assert main(["trend", "test/p"]) == 0
    out = capsys.readouterr().out
    assert "8 runs" in out and f"1 run, newest {first}: bs 64k, here none" in " ".join(out.split())
    assert main(["trend", "test/p", "--like", first, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["trends"]
    assert [each["run_id"] for each in told["runs"]] == [first] and told["setup"]["bs"] == "64k"
    assert [(each["runs"], each["newest"]) for each in told["others"]] == [(8, NAMES[7])]
    assert main(["trend", "test/p", "--all"]) == 0
    assert capsys.readouterr().out.count("measured with: ") == 2
    assert main(["report", NAMES[5]]) == 0
    said = capsys.readouterr().out
    assert (
        "8 runs on this target: worse since" in said
        and "1 more run excluded: different parameters" in said
    )
    assert main(["trend", "test/q", "--like", first]) == 2
    assert "run of profile test/p; expected test/q" in capsys.readouterr().err


def test_a_profile_without_runs_is_wrong_usage(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trend", "test/q"]) == 2
    assert "did you mean" in capsys.readouterr().err
