"""The questions of docs/run-record.md are asked of real records."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.samples.events import DATA
from tui.library.build import write_record
from tui.metrics.buckets import index_to_value
from tui.model.record import RunRecord

DOC = (Path(__file__).parents[2] / "docs" / "run-record.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(r"```sh\n(jq .*?)\n```", DOC, re.DOTALL)

OLD_RUNS = sorted(path.parent for path in (DATA.parent / "runs").glob("*/run.json"))

(RAW,) = re.findall(r"```sh\n(zcat .*?)\n```", DOC, re.DOTALL)
CLAT2CSV = shutil.which("fio_jsonplus_clat2csv")

needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="no jq on this machine")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for case in ("mix", "lost"):
        shutil.copytree(DATA / case, tmp_path / case)
        write_record(tmp_path / case)
    return tmp_path


def ask(command: str, directory: Path) -> str:
    done = subprocess.run(
        ["sh", "-c", command], cwd=directory, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_jq
@pytest.mark.parametrize(
    "command", [question for question in QUESTIONS if "*/run.json" not in question]
)
def test_every_question_has_an_answer(command: str, runs: Path) -> None:
    for case in ("mix", "lost"):
        assert ask(command, runs / case).strip()


@needs_jq
@pytest.mark.parametrize(
    "command", [question for question in QUESTIONS if "*/run.json" not in question]
)
@pytest.mark.parametrize("run", OLD_RUNS, ids=lambda path: path.name)
def test_questions_hold_for_sweeps_suites_and_runs_without_figures(
    command: str, run: Path, tmp_path: Path
) -> None:
    ask(command, run)
    document = json.loads((run / "run.json").read_text())
    document |= {"headline": None, "matrix": None, "steps": [], "findings": [], "verdict": None}
    (tmp_path / "run.json").write_text(json.dumps(document))
    ask(command, tmp_path)


@needs_jq
def test_answers_are_the_figures_of_the_record(runs: Path) -> None:
    answers = "".join(
        ask(question, runs / "lost") for question in QUESTIONS if "*/run.json" not in question
    )
    document = json.loads((runs / "lost" / "run.json").read_text())
    assert "read bandwidth 333815349.645 bytes_per_s" in answers and ": h2 16890.473" in answers
    cluster = document["steps"][0]["series"]["columns"][0]
    assert f',1,"read",{cluster["iops"][0]},' in answers


@needs_jq
def test_many_runs_make_one_table(runs: Path) -> None:
    (command,) = (question for question in QUESTIONS if "*/run.json" in question)
    assert [line.split("\t")[1:3] for line in ask(command, runs).splitlines()] == [
        ["test/lost", "partial"],
        ["test/mix", "complete"],
    ]


@needs_jq
def test_raw_output_of_fio_is_split_into_objects_that_its_own_tools_take(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    stream = DATA.parent / "fio" / "stream" / "mix-3.33.stdout.gz"
    shutil.copy(stream, tmp_path / "raw" / "0.measure.h1.out.gz")
    ask(RAW, tmp_path)
    objects = sorted(tmp_path.glob("h1.*.json"))
    result = json.loads((tmp_path / "h1.json").read_text())
    assert len(objects) > 1 and json.loads(objects[-1].read_text()) == result
    if CLAT2CSV is not None:
        ask(f"{CLAT2CSV} h1.json h1.csv", tmp_path)
        assert (
            "read_clat_ns_percentile"
            in next(tmp_path.glob("h1_job0.csv")).read_text().splitlines()[0]
        )


def test_every_field_of_the_record_is_named() -> None:
    for name, field in RunRecord.model_fields.items():
        assert f"`{field.alias or name}" in DOC, name


def test_the_formula_of_the_buckets_is_the_one_in_use() -> None:
    for index in range(128, 1856):
        exponent = index // 64 - 1
        assert int(2 ** (exponent + 6) + (index % 64 + 0.5) * 2**exponent) == index_to_value(index)
