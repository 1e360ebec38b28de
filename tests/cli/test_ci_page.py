"""The commands of docs/ci.md: what the page tells builds to type works, and ends as its table
says.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.test_compare import keep
from tests.samples.records import IOPS, run, step
from tui.cli.main import main, verb_module
from tui.cli.shared.arguments import parser_with
from tui.cli.shared.common import run_store
from tui.library.summary import retag
from tui.metrics.repeat import repetitions_needed

PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text()
LINE = re.compile(r"^ {4,}(?:id=\$\()?benchtui (.*?)\)?$", re.MULTILINE)
COMMANDS = [
    shlex.split(line.replace('"$id"', "last"), comments=True) for line in LINE.findall(PAGE)
]
BASE = [f"20260101T00000{number}Z-test-p-000{number}" for number in range(6)]
GOOD, NEW = BASE[-1], "20260102T000000Z-test-p-000b"
SPREAD = (1.0, 1.002, 0.998, 1.001, 0.999, 1.0001)


def command(*begin: str) -> list[str]:
    """Return the command of the page that begins with these words."""
    (found,) = [words for words in COMMANDS if words[: len(begin)] == list(begin)]
    return found


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_of_the_page_is_one(words: list[str]) -> None:
    assert parser_with(verb_module, (words[0],)).parse_args(words)


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (0.9, 1)])
def test_the_recipe_of_the_page_runs(
    factor: float, code: int, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, each in zip(BASE, SPREAD, strict=True):
        keep(home / "runs", run(step(IOPS * each), run_id=name))
    assert main(command("runs", "rename")) == 0
    assert main(command("noise")) == 0
    keep(home / "runs", run(step(IOPS * factor, seed=2), run_id=NEW))
    retag(home / "runs" / NEW, {"build": "1234"})
    assert main(command("compare")) == code
    assert (tmp_path / "compare.xml").is_file()
    store = run_store()
    assert [store.resolve(ref).name for ref in command("report")[1:3]] == [
        GOOD,
        NEW,
    ], "the reference is named first"
    assert store.resolve(command("runs", "pack")[2]).name == NEW


def test_the_table_of_the_page_has_the_codes_of_the_verb() -> None:
    codes = re.findall(r"^\| (\d) \| (not worse|worse|usage error|undecided)", PAGE, re.MULTILINE)
    assert codes == [("0", "not worse"), ("1", "worse"), ("2", "usage error"), ("3", "undecided")]


def test_the_table_of_repetitions_is_what_compare_goes_by() -> None:
    rows = re.findall(r"^\| (\d+)(?: to (\d+))? \| (\d) \|$", PAGE, re.MULTILINE)
    assert [int(rows[0][0]), len(rows)] == [1, 4]
    for at, (first, last, times) in enumerate(rows):
        assert (
            repetitions_needed(int(first)) == repetitions_needed(int(last or first)) == int(times)
        )
        assert at + 1 == len(rows) or int(rows[at + 1][0]) == int(last or first) + 1
