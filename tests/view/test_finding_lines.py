"""Findings as lines: what one check says is told once, reasons stand in one column."""

from __future__ import annotations

from tui.judge.wording import message_of
from tui.model.record import Finding
from tui.text.line import plain_lines
from tui.view.findings import clauses, record_lines

SLOW = [
    Finding(id="straggler", severity="warning", message=message, value=0.25, threshold=0.8)
    for message in ("read IOPS far below: weka-43", "read p99 far above: weka-43")
]
NOT_MADE = {
    "concurrency": "what is in flight is not known",
    "precondition": "no rounds were requested",
    "clock-offset": "no clocks",
}


def test_findings_of_one_check_are_reported_with_its_rule_once() -> None:
    text = "\n".join(plain_lines(record_lines(SLOW, {}, 80)))
    assert text.count("Stragglers") == 1 and text.count("  rule") == 1
    assert all(message_of(finding) in text for finding in SLOW)


def test_reasons_of_checks_that_were_not_made_are_in_one_column() -> None:
    lines = plain_lines(record_lines([], NOT_MADE, 80))
    places = {
        line.index(reason) for reason in NOT_MADE.values() for line in lines if reason in line
    }
    assert places == {2 + len("precondition") + 2}


def test_a_rule_is_parted_at_semicolons_outside_of_parentheses() -> None:
    assert clauses("one (a; b (c; d)); two") == ["one (a; b (c; d))", "two"]
    assert clauses("one") == ["one"]
