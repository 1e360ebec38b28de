"""Import of IO500: its phases as it printed them, and a score that is made of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.cli.main import main
from tui.workloads.foreign.io500 import FORMAT

DATA = Path(__file__).parents[1] / "data" / "io500"
SUMMARY = (DATA / "result_summary.txt").read_text()
GIB = 1 << 30


def test_every_phase_has_the_figure_that_was_printed() -> None:
    found = FORMAT.import_output(SUMMARY, "x")
    rows = [
        line.replace("[      ]", "[RESULT]").split() for line in SUMMARY.splitlines()[1:-1] if "timestamp" not in line
    ]
    assert [each.name for each in found] == [row[1] for row in rows]
    for each, row in zip(found, rows, strict=True):
        if each.metadata is not None:
            (operation,) = each.metadata.operations.values()
            assert operation.mean == pytest.approx(float(row[2]) * 1000) and operation.seconds == [float(row[6])]
        else:
            (part,) = each.result.dirs.values()
            assert part.bw_bytes_per_s == pytest.approx(float(row[2]) * GIB) and part.runtime_s == float(row[6])
        assert [code for code, _ in each.problems] == (["io500-invalid"] if "[INVALID]" in row else [])


def test_reasons_stand_with_the_phase_that_they_are_of() -> None:
    found = {each.name: dict(each.problems) for each in FORMAT.import_output((DATA / "short.out").read_text(), "x")}
    assert "stonewall-time 1s != 300s" in found["ior-easy-write"]["io500-invalid"]
    assert found["mdtest-easy-write"]["io500-invalid"].endswith("Runtime is smaller than expected minimum runtime")
    assert found["ior-easy-read"] == {}


@given(st.sampled_from(["0.345999 GiB/s", "38.480795 kIOPS", "8.534966 kIOPS"]), st.floats(1.05, 1000))
def test_a_figure_that_was_changed_is_not_that_of_the_score(figure: str, times: float) -> None:
    value, unit = figure.split()
    changed = SUMMARY.replace(figure, f"{float(value) * times:.6f} {unit}")
    last = FORMAT.import_output(changed, "x")[-1]
    assert [code for code, _ in last.problems] == ["io500-score"]


def test_an_import_is_a_suite_of_phases(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--dry-run", "--json", str(DATA / "short.out")]) == 0
    record = json.loads(capsys.readouterr().out)
    assert len(record["steps"]) == 13 and record["verdict"] == "invalid"
    steps = {step["name"]: step for step in record["steps"]}
    assert steps["find"]["headline"] == pytest.approx(1235882.138)
    assert steps["ior-hard-read"]["headline"] == pytest.approx(2.397945 * GIB)
    assert steps["ior-hard-read"]["results"]["aggregate"]["read"]["iops"] is None, "it is not told"
