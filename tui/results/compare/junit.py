"""A comparison as JUnit XML: what is worse is a failure, what cannot be said is skipped."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tui.results.compare.compare import Change, Comparison
from tui.results.compare.criteria import Judged
from tui.results.compare.text import figure_text, interval_text, signed

SAID = ("better", "worse", "no difference detected")
Judgement = tuple[Comparison, Sequence[Judged]]


def as_junit(found: Sequence[Judgement]) -> str:
    """Return one test suite a comparison, as a document."""
    root = Element("testsuites", name="benchtui compare")
    for comparison, judged in found:
        root.append(_suite(comparison, judged))
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(found: Comparison, judged: Sequence[Judged]) -> Element:
    sides = ["+".join(record.run_id for record in side) for side in (found.a, found.b)]
    suite = Element("testsuite", name=f"{sides[1]} against {sides[0]}")
    gate = SubElement(suite, "testcase", classname=found.b[0].profile.tag, name="comparable")
    for obstacle in found.obstacles:
        SubElement(gate, "error", message=obstacle.text)
    for point in found.points:
        for change in point.changes:
            _figure(suite, found.b[0].profile.tag, point.name, change)
    for each in judged:
        case = SubElement(suite, "testcase", classname="thresholds", name=f"{each.criterion} {each.point}".strip())
        if each.outcome != "kept":
            SubElement(case, "failure" if each.outcome == "broken" else "error", message=each.text)
    for tag, name in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(tag, str(sum(1 for _ in suite.iter(name))))
    return suite


def _figure(suite: Element, profile: str, point: str, change: Change) -> None:
    name = f"{point} {change.title}".strip()
    case = SubElement(suite, "testcase", classname=profile, name=name)
    said = (f"{change.word}: {figure_text(change, change.a)} to {figure_text(change, change.b)}, "
            f"{signed(change.change)} ({interval_text(change)})")  # fmt: skip
    if change.word == "worse":
        SubElement(case, "failure", message=said)
    elif change.word not in SAID:
        SubElement(case, "skipped", message=f"{said} {change.why}".strip())
