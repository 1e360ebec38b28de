"""Import of IO500: its phases as it printed them, and a score that is made of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.cli.main import main
from tui.workloads.io500.kept import import_output

DATA = Path(__file__).parents[2] / "data" / "io500"
SUMMARY = (DATA / "result_summary.txt").read_text()
GIB = 1 << 30
FIGURES = re.findall(r"\d+\.\d+", SUMMARY.partition("\n")[2])


def test_every_phase_has_the_figure_that_was_printed() -> None:
    (found,) = import_output(SUMMARY, "x")
    assert found.metadata is not None and found.problems == []
    rows = [line[8:].split() for line in SUMMARY.splitlines()[1:-1] if "timestamp" not in line]
    assert list(found.metadata.operations) == [row[0] for row in rows]
    for each, row in zip(found.metadata.operations.values(), rows, strict=True):
        times = GIB if row[2] == "GiB/s" else 1000
        assert each.mean is not None and each.seconds == [float(row[5])]
        assert each.mean * (each.bytes_per_op or 1) == pytest.approx(float(row[1]) * times)
        assert each.printed == " ".join(row[1:])
    assert found.metadata.scores == {
        "total": 12.233828,
        "bandwidth": 1.179784,
        "metadata": 126.859310,
    }
    assert found.metadata.printed == [f"score: {SUMMARY.splitlines()[-1].partition('] ')[2]}"]


def test_reasons_are_those_of_their_phases(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (found,) = import_output((DATA / "short.out").read_text(), "x")
    assert found.metadata is not None
    assert found.metadata.invalid[0] == "stonewall-time 1s != 300s"
    assert [text.partition(":")[0] for text in found.metadata.invalid[1:]] == [
        "ior-easy-write", "mdtest-easy-write", "ior-hard-write", "mdtest-hard-write",
    ]  # fmt: skip
    assert (
        found.metadata.invalid[2]
        == "mdtest-easy-write: Runtime is smaller than expected minimum runtime"
    )
    assert main(["import", "--dry-run", "--json", str(DATA)]) == 0
    metadata = json.loads(capsys.readouterr().out)["steps"][0]["metadata"]
    assert metadata["invalid"] == found.metadata.invalid, (
        "result.txt has what result_summary.txt lacks"
    )
    assert metadata["tasks"] == 2


@given(
    st.sampled_from(["0.345999 GiB/s", "38.480795 kIOPS", "8.534966 kIOPS"]), st.floats(1.05, 1000)
)
def test_a_figure_that_was_changed_is_not_that_of_the_score(figure: str, times: float) -> None:
    value, unit = figure.split()
    changed = SUMMARY.replace(figure, f"{float(value) * times:.6f} {unit}")
    (found,) = import_output(changed, "x")
    assert [each.about for each in found.result.contradictions or ()] == ["score"]


def test_a_score_of_slow_storage_is_that_of_figures_with_two_digits() -> None:
    (found,) = import_output((DATA / "valid.out").read_text(), "x")
    assert found.metadata is not None and found.result.final
    assert (found.problems, found.metadata.invalid) == ([], [])
    assert found.metadata.operations["ior-easy-write"].printed.startswith("0.000051 GiB/s")
    assert found.metadata.scores == {
        "total": 0.398261,
        "bandwidth": 0.011062,
        "metadata": 14.337967,
    }


@given(st.sampled_from(FIGURES), st.text("0123456789.", max_size=400))
def test_a_figure_that_is_no_number_is_not_read(figure: str, other: str) -> None:
    for found in import_output(SUMMARY.replace(figure, other), "x"):
        assert found.metadata is not None
        rates = [each.mean for each in found.metadata.operations.values()]
        assert all(rate is not None and 0 < rate < 1e30 for rate in rates)


def test_what_was_cut_off_is_no_result() -> None:
    (found,) = import_output(SUMMARY[: SUMMARY.index("[SCORE")], "x")
    assert [code for code, _ in found.problems] == ["io500-incomplete"] and not found.result.final


def test_an_import_is_one_step_with_its_score(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "--dry-run", "--json", str(DATA / "short.out")]) == 0
    record = json.loads(capsys.readouterr().out)
    assert len(record["steps"]) == 1 and record["verdict"] == "invalid"
    assert (record["headline"]["metric"], record["headline"]["value"]) == ("score", 12.233828)
    assert [each["id"] for each in record["findings"] if each["severity"] == "error"] == [
        "own-verdict"
    ]
