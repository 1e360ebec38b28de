"""Output of IOR whose figures contradict each other: each case changes one of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.workloads.worded import are_worded
from tui.model.event import Contradiction
from tui.workloads.ior.contradictions import TEXTS
from tui.workloads.ior.kept import import_output

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
        (JSON, r'"bwMeanMIB": \d', r'"bwMeanMIB": 9'),
        (JSON, r'"fsync": 1', '"fsync": 0'),
        (JSON, r'"segments": 2', '"segments": 3'),
        (JSON, r'"writeMiB": \d', '"writeMiB": 2'),
    ],
)  # fmt: skip
def test_a_changed_figure_contradicts_others(name: str, pattern: str, new: str) -> None:
    found = contradictions(name, pattern, new)
    assert found and are_worded(found, TEXTS)
