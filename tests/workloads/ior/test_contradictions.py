"""Output of IOR whose figures contradict each other: each case changes one of them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.worded import are_worded
from tui.model.event import Contradiction
from tui.workloads.ior.contradictions import TEXTS, IorReport
from tui.workloads.ior.contradictions import contradictions as told_contradictions
from tui.workloads.ior.details import MIB, IorFigures, Rounded, Row, rounded
from tui.workloads.ior.kept import import_output
from tui.workloads.ior.output import IorOutput

DATA = Path(__file__).parents[2] / "data" / "ior"
WITH_RESULTS = ("3.2.1-fpp", "3.3.0-fpp", "3.3.0-json", "4.0.0-fpp", "main-fpp", "main-json",
    "main-mpiio", "main-shared", "main-stonewall", "main-write-random-direct")  # fmt: skip
TIMED, JSON = "main-stonewall", "main-json"


def contradictions(name: str, pattern: str = "", new: str = "") -> list[Contradiction]:
    """The contradictions in a recording in which the first match of a pattern is replaced."""
    text = (DATA / f"{name}.out").read_text()
    if pattern:
        text, count = re.subn(pattern, new, text, count=1, flags=re.M)
        assert count == 1
    outputs = import_output(text, "ior.out")
    return [each for output in outputs for each in output.result.contradictions or ()]


@pytest.mark.parametrize("name", WITH_RESULTS)
def test_recorded_output_contradicts_nothing(name: str) -> None:
    assert contradictions(name) == []


@pytest.mark.parametrize(
    ("name", "pattern", "new"),
    [
        (TIMED, r"^write     212\.64", "write     312.64"),
        (TIMED, r"Max Read:  293\.93", "Max Read:  593.93"),
        (TIMED, r"^(read +293\.93 +250\.60 +)272\.27", r"\g<1>282.27"),
        (TIMED, r"0\.96337", "0.86337"),
        (TIMED, r"^write     211\.47.*\n", ""),
        (TIMED, r"^read,3,.*\n", ""),
        (TIMED, r"read,0,8\.9994287491e-01", "read,0,4.9994287491e-01"),
        (TIMED, r"actual aggregate bytes moved = 277373952", "actual aggregate bytes moved = 297373952"),
        (TIMED, r"0\.899943   0", "0.799943   0"),
        (TIMED, r"Finished            : Fri Nov 27 06:44:35", "Finished            : Fri Nov 27 06:44:25"),
        (TIMED, r" -C ", " "),
        ("main-fpp", r"-t 256k", "-t 1m"),
        ("main-fpp", r"^(aggregate filesize *: )[\d.]+ \w+", r"\g<1>7 TiB"),
        (TIMED, r"^(aggregate filesize *: )[\d.]+ \w+", r"\g<1>0 GiB"),
        (JSON, r'"bwMeanMIB": \d', r'"bwMeanMIB": 9'),
        (JSON, r'"fsync": 1', '"fsync": 0'),
        (JSON, r'"segments": 2', '"segments": 3'),
        (JSON, r'"writeMiB": \d', '"writeMiB": 2'),
    ],
)  # fmt: skip
def test_a_changed_figure_contradicts_others(name: str, pattern: str, new: str) -> None:
    found = contradictions(name, pattern, new)
    assert found and are_worded(found, TEXTS)


SPANS = st.lists(st.floats(0.001, 30), min_size=5, max_size=5)  # s: wait, open, gap, I/O, close


def printed(value: float) -> Rounded:
    """A figure as IOR prints it in a row: fewer decimals for larger values."""
    decimals = 6 if value < 1 else 2 if value < 3600 else 0
    figure = rounded(f"{value:.{decimals}f}")
    assert figure is not None
    return figure


def iteration(
    ranks: list[list[float]], *, ios: int, version: str = "4.1.0", faster: float = 1.0
) -> IorReport:
    """An iteration in which each rank of a node does so many I/Os of 1 MiB.

    `faster`: rates and times that are printed are as of a storage faster by this factor, while
    the latency is that of the clocks.
    """
    ends = [list(accumulate(spans)) for spans in ranks]  # of each span, by rank
    spans = {"open": (0, 1), "wr/rd": (2, 3), "close": (3, 4), "total": (0, 4)}
    took = {
        name: (max(end[last] for end in ends) - min(end[first] for end in ends)) / faster
        for name, (first, last) in spans.items()
    }
    total_ios = ios * len(ranks)
    latency = ranks[0][3] / ios
    parts = {name: printed(took[name]) for name in ("open", "wr/rd", "close")}
    parts |= {"IOPS": printed(total_ios / took["wr/rd"]), "latency": printed(latency)}
    row = Row(printed(total_ios / took["total"]), printed(took["total"]), parts=parts)
    output = IorOutput(
        version=version, tasks=len(ranks), nodes=1, per_node=len(ranks), segments=1,
        transfer=MIB, block=ios * MIB, command="ior -w -F",
    )  # fmt: skip
    details = IorFigures(rows={"write": [row]}, given={"w": "", "F": ""})
    return IorReport(output, details)


def abouts(told: IorReport) -> set[str]:
    return {each.about for each in told_contradictions(told)}


@given(
    st.lists(SPANS, min_size=1, max_size=5), st.integers(1, 99), st.sampled_from(["3.3.0", "4.1"])
)
def test_ranks_at_any_time_contradict_nothing(
    ranks: list[list[float]], ios: int, version: str
) -> None:
    assert abouts(iteration(ranks, ios=ios, version=version)) == set()


@given(st.lists(st.floats(1, 1.2), min_size=1, max_size=5), st.floats(1.5, 50))
def test_rates_and_times_scaled_together_contradict_the_latency(
    access_s: list[float], faster: float
) -> None:
    ranks = [[0.001, 0.001, 0.001, each, 0.001] for each in access_s]
    assert abouts(iteration(ranks, ios=64)) == set()
    assert "latency" in abouts(iteration(ranks, ios=64, faster=faster))


def test_ranks_that_share_a_file_at_random_may_have_fewer_ios_than_others() -> None:
    told = iteration([[0.001, 0.001, 0.001, 1.0, 0.001]] * 2, ios=64, faster=1.5)
    told.details.given = {"w": "", "z": ""}
    assert abouts(told) == set()


@pytest.mark.parametrize(
    ("part", "factor", "about"),
    [
        ("open", 9.0, "part"),
        ("close", 9.0, "part"),
        ("IOPS", 1.1, "rates"),
        ("wr/rd", 0.8, "rates"),
    ],
)
def test_parts_add_up_to_the_whole(part: str, factor: float, about: str) -> None:
    told = iteration([[0.1, 1.0, 0.1, 2.0, 1.0], [0.2, 1.0, 0.1, 1.5, 1.0]], ios=100)
    (row,) = told.details.rows["write"]
    parts = {**row.parts, part: printed(row.parts[part].value * factor)}
    told.details.rows["write"] = [replace(row, parts=parts)]
    assert about in abouts(told)


@pytest.mark.parametrize(
    ("tasks", "per_node", "nodes", "options", "found"),
    [
        (8, 4, 2, {}, set()),
        (5, 4, 2, {}, set()),
        (4, 4, 2, {}, {"nodes"}),
        (8, 4, 6, {}, {"nodes"}),
        (2, 2, 4, {"N": "2"}, set()),  # the other nodes have ranks that do nothing
    ],
)
def test_each_node_has_a_task(
    tasks: int, per_node: int, nodes: int, options: dict[str, str], found: set[str]
) -> None:
    output = IorOutput(tasks=tasks, per_node=per_node, nodes=nodes)
    details = IorFigures(given={"w": "", **options})
    assert abouts(IorReport(output, details)) == found
    details.faked = True
    assert abouts(IorReport(output, details)) == set()
