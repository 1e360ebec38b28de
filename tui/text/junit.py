"""Write JUnit XML: suites of test cases, each with an outcome."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from xml.etree import ElementTree

Outcome = Literal["passed", "failed", "error", "skipped"]
_ELEMENTS = {"failed": "failure", "error": "error", "skipped": "skipped"}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """One test case.

    `group` becomes the XML class name; `detail` is the text shown when a reader opens the case.
    """

    name: str
    outcome: Outcome
    message: str = ""
    group: str = ""
    detail: str = ""
    time_s: float | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """Test cases that belong together, such as all checks of a run. `utc` is RFC 3339."""

    name: str
    cases: Sequence[Case]
    utc: str | None = None
    time_s: float | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


def junit_xml(suites: Sequence[Suite]) -> str:
    """Return the XML document, ending in a newline.

    Characters that XML does not allow become ``?``.
    """
    root = ElementTree.Element(
        "testsuites", _counts([case for suite in suites for case in suite.cases])
    )
    for suite in suites:
        _add_suite(root, suite)
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _add_suite(root: ElementTree.Element, suite: Suite) -> None:
    known = {"timestamp": (suite.utc or "").removesuffix("Z"), "time": _seconds(suite.time_s)}
    given = {name: value for name, value in known.items() if value}
    element = ElementTree.SubElement(
        root, "testsuite", {"name": _clean(suite.name), **_counts(suite.cases), **given}
    )
    if suite.properties:
        properties = ElementTree.SubElement(element, "properties")
        for name, value in suite.properties.items():
            ElementTree.SubElement(
                properties, "property", {"name": _clean(name), "value": _clean(value)}
            )
    for case in suite.cases:
        _add_case(element, case, suite.name)


def _add_case(suite: ElementTree.Element, case: Case, suite_name: str) -> None:
    names = {"classname": _clean(case.group or suite_name), "name": _clean(case.name)}
    time = {"time": _seconds(case.time_s)} if case.time_s is not None else {}
    element = ElementTree.SubElement(suite, "testcase", {**names, **time})
    if case.outcome == "passed":
        if case.detail or case.message:
            ElementTree.SubElement(element, "system-out").text = _clean(case.detail or case.message)
        return
    problem = ElementTree.SubElement(
        element, _ELEMENTS[case.outcome], {"message": _clean(case.message)}
    )
    problem.text = _clean(case.detail) or None


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    named = {"failures": "failed", "errors": "error", "skipped": "skipped"}
    numbers = {name: sum(case.outcome == what for case in cases) for name, what in named.items()}
    return {"tests": str(len(cases)), **{name: str(number) for name, number in numbers.items()}}


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _clean(text: str) -> str:
    return _NO_XML.sub("?", text)
