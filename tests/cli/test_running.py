"""A run that goes on, in reports, exports and comparisons: what it measured so far, and nothing of
an end.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from tests.samples.events import DATA
from tui.cli.main import main
from tui.journal.rundir import process_identity
from tui.library.build import write_record
from tui.model.record import run_json_schema

WHOLE, GOES_ON = "20261119T080000Z-test-mix-0001", "20261120T080000Z-test-mix-0002"
ITS_ID = b"20261120T101530Z-test-mix-0001"  # in the journal


@pytest.fixture
def runs(home: Path) -> Iterator[Path]:
    """A run that is over, and one that has measured for some seconds, with this very process as its
    engine.
    """
    for run_id in (WHOLE, GOES_ON):
        shutil.copytree(DATA / "mix", home / "runs" / run_id)
    write_record(home / "runs" / WHOLE)
    journal = home / "runs" / GOES_ON / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    seconds = [
        at
        for at, line in enumerate(lines)
        if json.loads(line)["type"] == "sample" and b'"measure"' in line
    ]
    journal.write_bytes(b"".join(lines[: seconds[4]]).replace(ITS_ID, GOES_ON.encode()))
    identity = process_identity(str(os.getpid()))
    assert identity is not None
    pid = home / "runs" / GOES_ON / "engine.pid"
    pid.write_text(f"{os.getpid()} {identity[0]} {identity[1]}\n")
    yield home / "runs"
    pid.unlink()


@pytest.mark.parametrize("name", ["x.md", "x.html"])
def test_a_report_of_a_running_run_says_so_first_and_has_no_end(
    runs: Path, tmp_path: Path, name: str
) -> None:
    assert main(["report", GOES_ON, "-o", str(tmp_path / name)]) == 0
    said = (tmp_path / name).read_text().replace("\\", "")
    assert said.lower().index("running: ") < said.index("Findings")
    for wrong in ("ended early", "ended after", "was not closed", "partial", "did not end"):
        assert wrong not in said, wrong


def test_an_export_says_that_the_run_is_running(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", GOES_ON, "csv", "-o", f"{tmp_path}/"]) == 0
    assert f"{GOES_ON} is running: " in capsys.readouterr().err
    (summary,) = tmp_path.glob("summary.csv")
    assert {row["run_state"] for row in csv.DictReader(summary.open())} == {"running"}
    assert main(["export", WHOLE, "csv", "-o", f"{tmp_path}/"]) == 0
    assert "running" not in capsys.readouterr().err


def test_show_and_compare_call_it_running_too(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "show", GOES_ON, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    jsonschema.validate(record, run_json_schema())
    assert (record["state"], record["verdict"], record["ended_utc"]) == ("running", None, None)
    assert record["reason"].startswith("running: ") and record["reason"].endswith(" s")
    assert not {each["id"] for each in record["findings"]} & {"short", "runtime"}
    assert main(["runs", "show", GOES_ON]) == 0
    assert f"state: {record['reason']}; figures so far" in capsys.readouterr().out
    assert main(["compare", WHOLE, GOES_ON]) == 3
    assert f"B {GOES_ON} is running" in capsys.readouterr().out


def test_a_run_whose_engine_died_is_reported_as_before(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / GOES_ON / "engine.pid").write_text("1 1 elsewhere\n")
    assert main(["report", GOES_ON]) == 0
    assert "ended early" in capsys.readouterr().out
