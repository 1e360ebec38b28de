"""Every kind of run in every format: files, or one line that says why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui.cli.main import main
from tui.export.save import export, source_of
from tui.model.exporter import ExportSource, installed
from tui.model.problem import UsageError

DATA = Path(__file__).parents[1] / "data"
RUNS = ("plain", "sweep", "aborted", "recovered", "mdtest")
OF_FIO = {"fio-json", "fio-client-json", "fio-logs"}
OF_IO500 = {"io500-answers"}
BY_SECOND = {"fio-logs", "openmetrics-series"}


def refused(source: ExportSource, folder: Path) -> set[str]:
    """Write a run in every format and return those that have no place for it."""
    found = set()
    for name in installed():
        try:
            written = export(source, name, f"{folder / name}/")
        except UsageError as error:
            assert "\n" not in str(error) and source.record.run_id in str(error)
            found.add(name)
        else:
            assert written and all(path.stat().st_size for path in written)
    return found


@pytest.mark.parametrize("run", RUNS)
def test_a_run_has_its_place_or_is_told_why_not(run: str, tmp_path: Path) -> None:
    others = OF_FIO | BY_SECOND if run == "mdtest" else set()
    assert refused(source_of(DATA / "runs" / run), tmp_path) == others | OF_IO500


@pytest.mark.parametrize("file", ["mapr-randread-8k.txt", "weka-all-clients.txt"])
def test_output_that_was_imported_has_no_seconds_and_all_the_rest(
    file: str, home: Path, tmp_path: Path
) -> None:
    assert main(["import", str(DATA / "fio" / "text" / file)]) == 0
    source = source_of(next((home / "runs").iterdir()))
    assert refused(source, tmp_path) == BY_SECOND | OF_IO500
    (job,) = json.loads(next((tmp_path / "fio-json").rglob("*.json")).read_text())["jobs"]
    part = source.record.steps[0].results.aggregate["read"]
    assert (job["read"]["total_ios"], job["read"]["io_bytes"]) == (part.ios, part.bytes)


def test_a_result_of_io500_tells_what_a_submission_asks(home: Path, tmp_path: Path) -> None:
    assert main(["import", str(DATA / "io500")]) == 0
    source = source_of(next((home / "runs").iterdir()))
    assert refused(source, tmp_path) == OF_FIO | BY_SECOND
    text = next((tmp_path / "io500-answers").iterdir()).read_text()
    assert "TOTAL 12.233828 [INVALID]" in text and "* MPI processes: 2\n" in text
    assert "* client kernel: unknown to benchtui" in text
    assert "* MPI library: unknown to benchtui" in text
