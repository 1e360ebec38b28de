from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.results.compare_runs import IOPS, run, step
from tui.cli.main import main
from tui.model.record import RunRecord
from tui.results.store.rundir import write_atomic

SAME, OTHER = "20260101T000000Z-test-p-000a", "20260102T000000Z-test-p-000b"
SLOWER, FOREIGN = "20260103T000000Z-test-p-000c", "20260104T000000Z-test-q-000d"


def keep(runs: Path, record: RunRecord) -> None:
    """Keep a record as a run that was imported would be."""
    (runs / record.run_id).mkdir(parents=True)
    write_atomic(runs / record.run_id / "run.json", record.to_json().encode())


@pytest.fixture
def runs(home: Path) -> Path:
    """A store with two runs that are alike, a slower one, and the newest of another profile."""
    foreign = run(run_id=FOREIGN)
    foreign.profile.tag = "test/q"
    slower = run(step(IOPS * 0.8, seed=3), run_id=SLOWER)
    for record in (run(run_id=SAME), run(step(seed=2), run_id=OTHER), slower, foreign):
        keep(home / "runs", record)
    return home / "runs"


@pytest.mark.parametrize(("other", "code", "word"), [
    (OTHER, 0, "no difference detected"), (SLOWER, 1, "worse"), (FOREIGN, 3, "not comparable"),
])  # fmt: skip
def test_the_exit_code_says_no_worse_worse_or_not_comparable(
    runs: Path, other: str, code: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", SAME, other]) == code
    assert f"B against A: {word}" in capsys.readouterr().out


def test_several_are_each_held_against_the_first(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", SAME, OTHER, SLOWER]) == 1
    assert capsys.readouterr().out.count("B against A: ") == 2


def test_json_is_one_document(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", SAME, SLOWER, "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert told["word"] == "worse"


def test_runs_are_named_by_how_far_back_they_are(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "last~3", "last~1", "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert [told[side][0]["run_id"] for side in ("a", "b")] == [SAME, SLOWER]


@pytest.mark.parametrize(("words", "said"), [
    ([SAME, "nothing"], "no run 'nothing'"),
    ([SAME, "last~9"], "so few runs"),
    ([SAME, ","], "',' names no run"),
    ([SAME, f"{OTHER},{OTHER}"], "names a run twice"),
])  # fmt: skip
def test_what_names_no_run_is_wrong_usage(
    runs: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_damaged_file_of_noise_floors_is_named(runs: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "noise.json").write_text("{")
    assert main(["compare", SAME, OTHER]) != 0
    assert "noise.json" in capsys.readouterr().err


def test_only_the_verb_itself_loads_the_statistics() -> None:
    code = (
        "import sys; from tui.cli.main import main\n"
        "try: main(['compare', '--help'])\nexcept SystemExit: pass\n"
        "import tui.cli.runs.verb\n"
        "sys.exit(bool({'numpy', 'scipy'} & {name.partition('.')[0] for name in sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False).returncode == 0
