"""Output of mdtest whose figures contradict each other: each case changes one of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.workloads.worded import are_worded
from tui.model.event import Contradiction
from tui.workloads.mdtest.contradictions import TEXTS
from tui.workloads.mdtest.program import same_names
from tui.workloads.mdtest.reader import import_output

DATA = Path(__file__).parents[2] / "data" / "mdtest"
WITH_RESULTS = sorted(
    path.stem
    for path in DATA.glob("mdtest-*.out")
    if "SUMMARY" in path.read_text(errors="replace")
    and "SUMMARY time" not in path.read_text(errors="replace").partition("SUMMARY rate")[0]
    and "timestamps" not in path.stem
)
VERBOSE, RANKS = "mdtest-main-profile-v", "mdtest-main-ranks"
OLD, STONEWALL = "mdtest-1.9.3-profile-v", "mdtest-main-W2"
HOSTS, TABLES = "mdtest-main-2hosts-N1", "mdtest-main-P-ratetime"


def contradictions(name: str, pattern: str = "", new: str = "") -> list[Contradiction]:
    """The contradictions in a recording in which the first match of a pattern is replaced."""
    text = (DATA / f"{name}.out").read_text(errors="replace")
    if pattern:
        text, count = re.subn(pattern, new, text, count=1, flags=re.M | re.S)
        assert count == 1
    (output,) = import_output(text, "md.out")
    return list(output.result.contradictions or ())


@pytest.mark.parametrize("name", WITH_RESULTS)
def test_recorded_output_contradicts_nothing(name: str) -> None:
    assert contradictions(name) == []


@pytest.mark.parametrize(
    ("name", "pattern", "new"),
    [
        (VERBOSE, r"^[^\n]*\* iteration 2 \*.*?(?=^[^\n]*\* iteration 3)", ""),
        (VERBOSE, r"'-i' '3'", "'-i' '4'"),
        (VERBOSE, r"4444\.513", "4644.513"),
        (VERBOSE, r"55\.311", "45.311"),
        (VERBOSE, r"125\.061 ops", "135.061 ops"),
        (VERBOSE, r"0\.183 sec", "0.283 sec"),
        (OLD, r"0\.007 sec,     108726", "0.017 sec,     108726"),
        (OLD, r"151673\.921", "108000.921"),
        (STONEWALL, r"48976\.886", "58976.886"),
        (STONEWALL, r"max: 49936", "max: 39936"),
        (RANKS, r"^3,[^\n]*\n", ""),
        (RANKS, r"5\.2758540881e\+04", "6.2758540881e+04"),
        (RANKS, r"all,20(,*)1\.9980963723e\+03", r"all,20\g<1>2.9980963723e+03"),
        ("mdtest-main-csv", r"1\.488213e\+03", "1.288213e+03"),
        (TABLES, r"0\.127 ", "0.147 "),
        (TABLES, r"finished at 11/21/2026 00:23:13", "finished at 11/21/2026 00:23:11"),
        (HOSTS, r"on 2 node", "on 1 node"),
        (HOSTS, r"Nodemap: 1100", "Nodemap: 1110"),
        (HOSTS, r"on 2 node", "on 5 node"),
        (
            "mdtest-main-C-only",
            r"(File stat +)0\.000( +)0\.000( +)0\.000",
            r"\g<1>9.0\g<2>9.0\g<3>9.0",
        ),
        ("mdtest-main-i1", r"   File removal[^\n]*\n", ""),
        ("mdtest-main-i1", r"'-n' '200'(.*)800 files", r"'-n' '200000'\g<1>800000 files"),
    ],
)
def test_a_changed_figure_contradicts_others(name: str, pattern: str, new: str) -> None:
    found = contradictions(name, pattern, new)
    assert found and are_worded(found, TEXTS)


def test_several_nodes_of_one_name_are_doubtful() -> None:
    text = (DATA / f"{HOSTS}.out").read_text()
    (honest,) = import_output(text, "md.out")
    (doubtful,) = import_output(text.replace("Nodemap: 1100", "Nodemap: 1111"), "md.out")
    assert honest.metadata is not None and same_names(honest.metadata) is None
    assert doubtful.metadata is not None and doubtful.problems == honest.problems
    found = same_names(doubtful.metadata)
    assert found is not None and (found.measured, found.threshold) == (1, 2)


def test_nodes_that_mdtest_was_told_are_not_compared_with_tasks() -> None:
    text = (DATA / f"{HOSTS}.out").read_text().replace("on 2 node", "on 5 node")
    (faked,) = import_output(
        text.replace("\nNodemap", "\nFake number of node: using 5\nNodemap"), ""
    )
    assert [each.about for each in faked.result.contradictions or ()] == []
