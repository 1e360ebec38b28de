"""Findings as lines: one entry per check, then rules, checks without data last, in one column."""

from __future__ import annotations

from tui.judge.catalogue import BY_ID
from tui.judge.wording import message_of
from tui.model.figure_record import CodedText
from tui.model.record import Finding, RunRecord
from tui.text.line import plain_lines
from tui.view.findings import brief_lines, clauses, record_lines, told_once
from tui.view.step_notes import finding_place

SLOW = [
    Finding(id="straggler", severity="warning", message=message, value=0.25, threshold=0.8)
    for message in ("read IOPS far below: weka-43", "read p99 far above: weka-43")
]
NOT_MADE = {
    "concurrency": "what is in flight is not known",
    "precondition": "no rounds were requested",
    "clock-offset": "no clocks",
}


def with_findings(findings: list[Finding], **more: object) -> RunRecord:
    """Return a record with findings, and checks that had no data."""
    record = RunRecord.model_validate(
        {"run_id": "x", "state": "complete", "profile": {"tag": "a/b", "title": ""}} | more
    )
    record.findings, record.checks_not_made = findings, dict[str, CodedText | str](NOT_MADE)
    return record


def test_a_check_without_data_for_some_steps_is_listed_with_the_reason() -> None:
    missed = [
        {"steps": [0, 2], "why": "what is in flight is not known"},
        {"steps": [1], "why": {"code": "no-reads"}},
    ]
    record = with_findings([], steps_not_checked={"concurrency": missed})
    lines = plain_lines(record_lines(record, 120))
    told = [line for line in lines if BY_ID["concurrency"].title in line]
    assert any("2 of 0 steps: what is in flight is not known" in line for line in told)
    record = with_findings([], steps_not_checked={"concurrency": missed[1:]})
    assert not [line for line in plain_lines(record_lines(record, 120)) if "of 0 steps" in line]


def test_findings_of_one_check_share_its_advice_and_its_rule_precedes_checks_without_data() -> None:
    lines = plain_lines(record_lines(with_findings(SLOW), 200))
    text = "\n".join(lines)
    check = BY_ID["straggler"]
    assert text.count(check.advice) == 1 and text.count(check.title) == 1
    assert all(message_of(finding) in text for finding in SLOW)
    assert text.index(check.title) < min(map(text.index, NOT_MADE.values()))


def test_no_name_of_a_check_is_shown_where_its_title_says_it() -> None:
    whole = plain_lines(record_lines(with_findings(SLOW), 200))
    assert not [line for line in whole for name in NOT_MADE if name in line.split()]
    assert not [line for line in plain_lines(brief_lines(SLOW, 200)) if "straggler" in line]


def test_titles_of_checks_that_were_not_made_are_in_one_column() -> None:
    lines = plain_lines(record_lines(with_findings([]), 120))
    titles = [BY_ID[name].title for name in NOT_MADE]
    places = {line.index(title) for title in titles for line in lines if title in line}
    assert len(places) == 1


def test_a_rule_is_parted_at_semicolons_outside_of_parentheses() -> None:
    assert clauses("one (a; b (c; d)); two") == ["one (a; b (c; d))", "two"]
    assert clauses("one") == ["one"]


def test_equal_findings_of_all_points_are_one_line_and_others_name_their_points() -> None:
    steps = [
        {"index": place, "name": f"bs={bs}", "cell": f"bs={bs}", "point": {"bs": bs}}
        for place, bs in enumerate((512, 1024, 2048))
    ]
    record = with_findings([], steps=steps)
    found = [SLOW[0].model_copy(update={"scope": {"step": place}}) for place in range(3)]
    message = message_of(SLOW[0])
    assert told_once(found, record) == [message]
    assert told_once(found[:2], record) == [f"{message} (bs=512, bs=1024)"]
    assert told_once(found[:2]) == [message], "without a record the points are not known"


def test_in_a_suite_a_finding_about_some_profiles_names_them() -> None:
    steps = [
        {"index": place, "name": name, "cell": name, "profile": name}
        for place, name in enumerate(("a/reads", "a/writes", "a/mixed"))
    ]
    record = with_findings([], steps=steps)
    found = [SLOW[0].model_copy(update={"scope": {"steps": "0 2"}})]
    assert told_once(found, record) == [f"{message_of(SLOW[0])} (a/reads, a/mixed)"]
    assert finding_place(record, found[0]) == "a/reads, a/mixed"
