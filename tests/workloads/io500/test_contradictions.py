"""Result directories of IO500 whose figures contradict each other, or IO500's rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.workloads.worded import are_worded
from tui.model.event import Contradiction
from tui.workloads.base import KeptFile
from tui.workloads.io500.contradictions import TEXTS as WORDS
from tui.workloads.io500.kept import import_output, import_tree

DATA = Path(__file__).parents[2] / "data" / "io500"
SUMMARY, RESULT = "result_summary.txt", "result.txt"
TEXTS = {name: (DATA / name).read_text() for name in (SUMMARY, RESULT)}


def contradictions(**changes: tuple[str, str]) -> list[Contradiction]:
    """What is contradictory in a result directory with a change in each of the named files."""
    files = []
    for name, text in TEXTS.items():
        pattern, new = changes.get(name.partition(".")[0], ("", ""))
        text, count = re.subn(pattern, new, text, flags=re.M) if pattern else (text, 1)
        assert count
        files.append(KeptFile(name, name, text))
    ((run,),) = [import_tree(files)]
    ((output,),) = [list(run.measurements[0].values())]
    return list(output.result.contradictions or ())


def test_a_recorded_result_contradicts_nothing() -> None:
    assert contradictions() == []


@pytest.mark.parametrize(
    ("name", "pattern", "new"),
    [
        ("result_summary", r"TOTAL 12\.233828", "TOTAL 12.333828"),
        ("result_summary", r"^.*mdtest-hard-delete.*\n", ""),
        ("result_summary", r" \[INVALID\]", ""),
        ("result_summary", r"4\.662078", "4.762078"),
        ("result_summary", r"time 1\.120 seconds", "time 1.220 seconds"),
        ("result", r"(\[ior-hard-read\]\nt_start         = 2026-11-23 22:4)8", r"\g<1>0"),
        ("result", r"procs           = 2", "procs           = 64"),
        ("result", r"-n 1500 ", "-n 150000 "),
        ("result", r"-b 32m", "-b 32g"),
        ("result", r"total-files     = 4003", "total-files     = 9003"),
        ("result", r"nproc           = 2", "nproc           = 3"),
        ("result", r"(MD .*= )126\.859310", r"\g<1>127.859310"),
        ("result", r"hash            = AE921238", "hash            = AE921239"),
    ],
)
def test_a_changed_figure_contradicts_others(name: str, pattern: str, new: str) -> None:
    found = contradictions(**{name: (pattern, new)})
    assert found and are_worded(found, WORDS)


def test_a_score_without_its_mark_has_another_hash() -> None:
    found = contradictions(result=(r"12\.233828 \[INVALID\]", "12.233828"))
    assert any("AE921238" in each.names for each in found)


@pytest.mark.parametrize(
    ("seconds", "contradictory"),
    [(("301.1", "302.4", "200.6", "303.0"), True), (("31.1", "32.4", "30.6", "33.0"), False)],
)
def test_a_write_phase_is_as_long_as_the_rules_require(
    seconds: tuple[str, ...], contradictory: bool
) -> None:
    text = (DATA / "valid.out").read_text()
    for name, value in zip(
        ("ior-easy", "mdtest-easy", "ior-hard", "mdtest-hard"), seconds, strict=True
    ):
        text = re.sub(rf"({name}-write .* time )[\d.]+", rf"\g<1>{value}", text)
    (found,) = import_output(text, "x")
    assert bool(found.result.contradictions) == contradictory


PHASES = DATA.parent / "io500-phases"


@pytest.mark.parametrize(
    ("name", "pattern", "new"),
    [
        ("", "", ""),
        ("ior-hard-read.txt", r"^(read +)(\d)", r"\g<1>9\g<2>"),
        ("mdtest-easy-stat.txt", r"^(   File stat .*) (\d+\.\d+)( +0\.000)$", r"\g<1> 9\g<2>\g<3>"),
        ("mdtest-easy-stat.txt", r"launched with 2 total", "launched with 4 total"),
        ("ior-hard-read.txt", r"^(tasks +): 2", r"\g<1>: 4"),
        ("find.csv", r"rate: ", "rate: 9"),
    ],
)
def test_phases_are_compared_with_their_own_output(name: str, pattern: str, new: str) -> None:
    files = []
    for path in sorted(PHASES.iterdir()):
        text = path.read_text()
        if path.name == name:
            text, count = re.subn(pattern, new, text, count=1, flags=re.M)
            assert count
        files.append(KeptFile(path.name, path.name, text))
    (run,) = import_tree(files)
    (output,) = run.measurements[0].values()
    found = output.result.contradictions or []
    assert bool(found) == bool(name) and are_worded(found, WORDS)
    assert {each.name for each in run.files} == {each.name for each in files}
