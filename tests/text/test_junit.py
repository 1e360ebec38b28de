"""JUnit XML, read by the library that CI tools are tested with."""

from __future__ import annotations

from typing import Any

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from tui.text.junit import Case, Suite, junit_xml

CASES = [
    Case("p99 ≤ 2 ms", "passed", "1.8 ms", group="thresholds"),
    Case("iops", "failed", "12 % fewer", detail="100k\n88k"),
    Case("straggler", "error", "not read"),
    Case("noise", "skipped", "no\x00thing \ud800 known", time_s=1.5),
]


@pytest.fixture
def suite() -> Any:
    text = junit_xml(
        [Suite("weka <read>", CASES, "2026-11-22T10:00:00.123Z", 4.0, {"run_id": "r&d"})]
    )
    (found,) = JUnitXml.fromstring(text.encode())
    return found


def test_outcomes_are_counted(suite: Any) -> None:
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 1, 1, 1)


def test_a_suite_says_what_it_is_of_and_when(suite: Any) -> None:
    assert (suite.name, suite.timestamp, suite.time) == (
        "weka <read>",
        "2026-11-22T10:00:00.123",
        4.0,
    )
    assert [(each.name, each.value) for each in suite.properties()] == [("run_id", "r&d")]


def test_a_case_has_its_outcome_with_the_reason(suite: Any) -> None:
    passed, failed, error, skipped = suite
    assert passed.is_passed and passed.classname == "thresholds"
    assert [type(case.result[0]) for case in (failed, error, skipped)] == [Failure, Error, Skipped]
    assert (failed.result[0].message, failed.result[0].text) == ("12 % fewer", "100k\n88k")


def test_what_xml_cannot_hold_is_replaced(suite: Any) -> None:
    assert list(suite)[3].result[0].message == "no?thing ? known"
