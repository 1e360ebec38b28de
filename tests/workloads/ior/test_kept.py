"""Import of IOR's output: tables and JSON tell the same, and what was cut off is no result."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.cli.main import main
from tui.model.problem import UsageError
from tui.workloads.ior.kept import import_output

DATA = Path(__file__).parents[2] / "data" / "ior"


def text_of(name: str) -> str:
    return (DATA / f"{name}.out").read_text()


def test_two_numbers_of_tasks_contradict_unless_a_script_file_has_two_tests() -> None:
    text = text_of("3.3.0-fpp")
    other = text.replace("tasks               : 4", "tasks               : 8")
    second = "TestID              : 1\ntasks               : 8\n"
    assert other != text
    for changed, first in (
        (text, []),
        (other, ["tasks"]),
        (text.replace("Results", f"{second}Results"), []),
    ):
        (found,) = import_output(changed, "x")
        assert [each.about for each in found.result.contradictions or ()][:1] == first


@pytest.mark.parametrize("name", ["main-json", "3.3.0-json"])
def test_json_has_the_figures_that_it_prints(name: str) -> None:
    (found,) = import_output(text_of(name), "x")
    assert found.metadata is not None and found.problems == [] and found.metadata.final
    plain = "\n".join(
        line for line in text_of(name).splitlines() if line.lstrip().startswith(tuple('{}[],"'))
    )
    document = json.loads(plain)
    for row in document["summary"]:
        each = found.metadata.operations[row["operation"]]
        assert [each.max, each.min, each.mean, each.stddev] == [
            row[f"OPs{key}"] for key in ("Max", "Min", "Mean", "SD")
        ]
        assert (each.bytes_per_op, len(each.iterations)) == (
            row["transferSize"],
            row["repetitions"],
        )
    assert found.metadata.tasks == 4 and found.command.startswith("ior -a POSIX")


def test_several_tables_in_a_text_are_several_results() -> None:
    text = f"# first\n{text_of('3.3.0-fpp')}\nand then:\n{text_of('main-shared')}"
    found = import_output(text, "x")
    assert [each.result.tool_version for each in found] == ["3.3.0", "4.1.0+dev"]
    assert [each.metadata.items for each in found if each.metadata] == [16, 100]
    assert all(each.result.start_ms and not each.problems for each in found)


def test_a_table_that_was_cut_off_is_void() -> None:
    text = text_of("main-fpp")
    (found,) = import_output(text[: text.index("Summary of all")], "x")
    assert [code for code, _ in found.problems] == ["ior-incomplete"] and not found.result.final


def test_an_ior_without_results_says_why() -> None:
    with pytest.raises(UsageError, match="IOR printed no results: no space or"):
        import_output(text_of("main-enospc"), "x")


def test_another_text_is_none_of_it() -> None:
    assert import_output("write 1 2 3\n{}\n", "x") == []


@given(st.integers(0, 6000), st.sampled_from(["main-json", "main-fpp"]), st.text(max_size=9))
def test_a_broken_text_is_reported_and_never_a_traceback(cut: int, name: str, more: str) -> None:
    with suppress(UsageError):
        found = import_output(text_of(name)[:cut] + more, "x")
        assert all(each.problems or cut > 2000 for each in found)


def test_an_import_is_a_run_with_bandwidth(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--dry-run", "--json", str(DATA / "main-fpp.out")]) == 0
    record = json.loads(capsys.readouterr().out)
    printed = text_of("main-fpp").split("Summary of all")[1].splitlines()[2].split()
    assert (
        record["headline"]["unit"] == "bytes_per_s" and record["headline"]["direction"] == "write"
    )
    assert record["headline"]["value"] / (1 << 20) == pytest.approx(float(printed[3]), abs=0.01)
    assert [each["id"] for each in record["findings"] if each["severity"] == "error"] == []


@pytest.mark.parametrize("path", sorted(DATA.glob("*.out")), ids=lambda path: path.stem)
def test_real_output_violates_no_identity(
    home: Path, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "Finished" not in path.read_text():
        pytest.skip("IOR came to no end")
    assert main(["import", "--dry-run", "--json", str(path)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in record["findings"] if each["severity"] == "error"] == []
