"""Objections to a result are answered by findings, checks that ran, and what the record leaves
open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.record.test_timing import host_run
from tests.samples.events import DATA, closed, run_of
from tui.judge.catalogue import BY_ID, steps_by_reason
from tui.judge.check import (
    CheckResult,
    Moot,
    RunEvidence,
    StepEvidence,
    UnknownError,
    step_check,
)
from tui.judge.wording import CHECKS
from tui.library.build import build_record
from tui.model.event import HostFactsCollected
from tui.model.figure_record import CodedText
from tui.model.host_record import ClockRecord
from tui.model.record import (
    AttestationRecord,
    CellRecord,
    Finding,
    MatrixRecord,
    RunRecord,
    StepsNotChecked,
)
from tui.model.step_record import StepRecord
from tui.text.line import plain_lines
from tui.view.objection_catalogue import OBJECTIONS, objections_to
from tui.view.objections import ObjectionAnswer, objection_lines
from tui.view.run_summary import summary_text

MIX = build_record(DATA / "mix")


def record(**changes: object) -> RunRecord:
    return MIX.model_copy(deep=True, update=changes)


def against(run: RunRecord, name: str) -> ObjectionAnswer:
    return next(answer for answer in objections_to(run) if answer.objection.id == name)


def text_of(run: RunRecord, width: int = 100) -> str:
    return "\n".join(
        plain_lines(objection_lines(objections_to(run), width, judged=run.checks is not None))
    )


def test_every_check_bears_on_some_objection_and_no_other_is_named() -> None:
    named = {check for objection in OBJECTIONS for check in objection.checks}
    assert named == set(BY_ID)
    assert all(set(objection.decisive) <= set(objection.checks) for objection in OBJECTIONS)
    assert len({objection.id for objection in OBJECTIONS}) == len(OBJECTIONS)


@pytest.mark.parametrize(
    ("severity", "standing"),
    [
        ("error", "stands"),
        ("warning", "partly-stands"),
        ("info", "partly-stands"),
        (None, "refuted"),
    ],
)
def test_an_objection_stands_by_the_findings_about_it(severity: str | None, standing: str) -> None:
    found = (
        [Finding.model_validate({"id": "reducible-data", "severity": severity, "message": "zeros"})]
        if severity
        else []
    )
    answer = against(
        record(findings=found, checks=["reducible-data", "content"], checks_not_made={}),
        "compressible",
    )
    assert answer.standing == standing
    assert ("zeros" in {each.text for each in answer.evidence}) == bool(severity)


def test_what_was_not_looked_at_is_not_known_and_the_reason_is_reported() -> None:
    not_made = {"storage-traffic": CodedText(code="telemetry")}
    answer = against(
        record(findings=[], checks=["direct-io", "working-set"], checks_not_made=not_made), "cache"
    )
    assert answer.standing == "unknown"
    assert "not checked: no telemetry" in {
        each.text for each in answer.evidence if each.check == "storage-traffic"
    }


@pytest.mark.parametrize(
    ("name", "check", "code", "standing"),
    [
        ("cache", "direct-io", "not-direct", "stands"),
        ("cache", "direct-io", "direct", "refuted"),
        ("depth", "direct-io", "direct", "stands"),
        ("depth", "direct-io", "in-memory", "refuted"),
        ("luck", "iterations", "apart", "refuted"),
        ("changed", "iterations", "apart", "stands"),
        ("short", "sweep", "within-noise", "refuted"),
    ],
)
def test_a_finding_raises_an_objection_only_if_what_it_found_supports_it(
    name: str, check: str, code: str, standing: str
) -> None:
    found = Finding(id=check, severity="error", code=code)
    objection = next(each for each in OBJECTIONS if each.id == name)
    run = record(findings=[found], checks=list(objection.checks), checks_not_made={})
    answer = against(run, name)
    assert answer.standing == standing
    assert check in {each.check for each in answer.evidence}, "what was found is shown"


def test_a_load_that_nobody_saw_may_have_been_another_one() -> None:
    objection = next(each for each in OBJECTIONS if each.id == "depth")
    made = [each for each in objection.checks if each != "planned-command"]
    why = {"planned-command": CodedText(code="command-lines")}
    run = record(findings=[], checks=made, checks_not_made=why)
    assert against(run, "depth").standing == "unknown"


def test_only_codes_that_checks_have_support_an_objection() -> None:
    for objection in OBJECTIONS:
        for check, codes in objection.supported_by.items():
            assert check in objection.checks and set(codes) <= CHECKS[check].keys()


GAP = CodedText(code="too-short")
MOOT_GAP = CodedText(code=Moot.READS)


def swept(**changes: object) -> RunRecord:
    """Return a run of two steps, whose headline is the second, with a check that ran."""
    run = record(findings=[], checks=["storage-traffic"], checks_not_made={}, **changes)
    run.steps = [*run.steps[:1], run.steps[0].model_copy(update={"index": 1})]
    if run.headline is not None:
        run.headline.step = 1
    return run


@pytest.mark.parametrize(
    ("missed", "standing"),
    [
        ({}, "refuted"),
        ({"storage-traffic": [StepsNotChecked(steps=[0], why=GAP)]}, "refuted"),
        ({"storage-traffic": [StepsNotChecked(steps=[1], why=GAP)]}, "unknown"),
        ({"storage-traffic": [StepsNotChecked(steps=[1], why=MOOT_GAP)]}, "n/a"),
        (None, "unknown"),
    ],
)
def test_a_check_counts_only_if_it_ran_on_the_step_of_the_headline(
    missed: dict[str, list[StepsNotChecked]] | None, standing: str
) -> None:
    answer = against(swept(steps_not_checked=missed), "cache")
    assert answer.standing == standing
    passed = {each.check for each in answer.evidence if each.passed}
    assert passed == ({"storage-traffic"} if standing == "refuted" else set())


@pytest.mark.parametrize(("missed", "standing"), [
    ([0], "unknown"), ([1], "unknown"), ([], "refuted")
])  # fmt: skip
def test_a_check_counts_only_if_it_ran_on_every_repetition_of_the_headline(
    missed: list[int], standing: str
) -> None:
    lacking = [StepsNotChecked(steps=missed, why=GAP)] if missed else []
    run = swept(steps_not_checked={"storage-traffic": lacking})
    run.matrix = MatrixRecord(cells=[CellRecord(key="", steps=[0, 1], state="done")])
    assert against(run, "cache").standing == standing
    suite = swept(steps_not_checked={"storage-traffic": lacking}, headline=None)
    assert against(suite, "cache").standing == standing


def test_a_record_names_the_steps_that_a_check_had_no_data_for() -> None:
    def of_second(at: StepEvidence) -> Iterator[CheckResult]:
        if at.record.index != 1:
            raise UnknownError("too-short")
        yield CheckResult("info", "once")

    check = step_check("repetitions", "X", rule="", advice="", source="")(of_second)
    steps = [StepRecord(index=n, name="s", state="done") for n in range(3)]
    plan = SimpleNamespace(steps=[SimpleNamespace(jobs=())] * 3, search=None, thresholds={})
    evidence = RunEvidence(plan, [], steps, None)  # type: ignore[arg-type]
    findings, missed = check.examine_all(evidence)
    assert [each.scope for each in findings] == [{"step": 1}]
    (gap,) = steps_by_reason(missed)
    assert (gap.steps, gap.why) == ([0, 2], CodedText(code="too-short"))


@pytest.mark.parametrize(("governors", "standing"), [
    (("performance", "performance"), "refuted"), (("performance", None), "unknown"),
    ((None, None), "unknown"), (("powersave", None), "partly-stands"),
])  # fmt: skip
def test_machines_count_as_tuned_only_if_the_governor_of_each_was_read(
    tmp_path: Path, governors: tuple[str | None, ...], standing: str
) -> None:
    read = [{"clocksource": "tsc"} | ({"governor": each} if each else {}) for each in governors]
    facts = [
        HostFactsCollected(t=1.0, host=f"h{n}", facts=dict(each)) for n, each in enumerate(read)
    ]
    loads = [event for n in range(2) for event in host_run(f"h{n}", 10.0, 40.0)]
    run = build_record(run_of(tmp_path, ["h0", "h1"], [*facts, *loads, closed(42.0)]))
    answer = against(run, "tuned")
    assert answer.standing == standing
    assert "clock source tsc" in {each.text for each in answer.evidence}


def test_a_check_that_has_nothing_to_be_about_leaves_nothing_open() -> None:
    run = record(
        findings=[],
        checks=["slat"],
        checks_not_made={
            "offered-rate": CodedText(code=Moot.RATE),
            "reducible-data": CodedText(code=Moot.WRITES),
            "content": CodedText(code=Moot.DATA),
        },
    )
    assert against(run, "compressible").standing == "n/a"
    assert "offered-rate" in {
        each.check for each in against(run, "waiting").evidence if each.weight == "n/a"
    }


@pytest.mark.parametrize(("shares", "standing"), [
    ({"row": 1.0, "apart": 1.0}, "refuted"), ({}, "unknown")
])  # fmt: skip
def test_blocks_that_were_not_compared_with_each_other_leave_open_whether_they_compress(
    shares: dict[str, float], standing: str
) -> None:
    row = {"step": 0, "kind": "written", "blocks": 16, "distinct": 16, "packed": 1.0, **shares}
    run = record(findings=[], checks=["reducible-data", "content"], checks_not_made={})
    run.hosts[0].facts["content"] = [row]
    assert against(run, "compressible").standing == standing


def test_raw_output_that_was_only_saved_does_not_show_that_figures_are_unchanged() -> None:
    assert against(record(findings=[]), "changed").standing == "unknown"


def test_latency_from_submission_does_not_show_that_no_io_waited_before() -> None:
    closed = {"offered-rate": CodedText(code=Moot.RATE)}
    for checks, not_made, standing in [
        (["slat"], closed, "partly-stands"), (["slat", "offered-rate"], {}, "unknown")
    ]:  # fmt: skip
        for kind in ("lat", "clat"):
            run = record(findings=[], checks=checks, checks_not_made=not_made)
            run.latency_kind = kind
            assert against(run, "waiting").standing == standing


def test_the_same_ios_are_counted_as_stand_behind_the_percentiles() -> None:
    run = record()
    result = run.steps[0].results.aggregate["read"]
    assert result.clat is not None
    result.ios = result.clat.n + 5  # that failed: no latency was taken of these
    assert f"read: {result.clat.n:,} I/Os counted" in {
        each.text for each in against(run, "short").evidence
    }


def test_percentiles_are_made_again_from_the_histograms_of_the_hosts() -> None:
    answer = against(record(), "averaged")
    assert answer.standing == "refuted"
    assert any("recomputed from the histograms of 2 hosts" in each.text for each in answer.evidence)
    wrong = record()
    latency = wrong.steps[0].results.aggregate["read"].clat
    assert latency is not None
    latency.percentiles_ns["99"] *= 2
    assert against(wrong, "averaged").standing == "stands"
    for result in wrong.steps[0].results.per_host.values():
        assert result["read"].clat is not None
        result["read"].clat.histogram = None
    assert against(wrong, "averaged").standing == "unknown"


@pytest.mark.parametrize(("answers", "standing"), [
    ({"cache-off": "yes"}, "refuted"), ({"cache-protected": "no"}, "partly-stands"),
    ({"cache-off": "unknown"}, "unknown"),
    ({"cache-off": "no", "cache-protected": "yes"}, "refuted"),
    ({"quiet": "no"}, "refuted"), ({"quiet": "unknown", "cache-off": "yes"}, "refuted"),
    ({"quiet": "yes", "cache-off": "no"}, "partly-stands"),
])  # fmt: skip
def test_only_conditions_about_caches_decide_whether_writes_are_durable(
    answers: dict[str, str], standing: str
) -> None:
    said = [
        AttestationRecord(id=name, question="Is it so?", answer=answer)
        for name, answer in answers.items()
    ]
    run = record(findings=[], checks=["no-flush", "flush-no-op"], checks_not_made={}, attested=said)
    found = against(run, "durable")
    assert found.standing == standing
    assert not any("quiet" in each.text for each in found.evidence)


@pytest.mark.parametrize(("method", "told"), [("exchange", True), ("samples", False)])
def test_an_offset_is_reported_of_clocks_that_were_compared(method: str, told: bool) -> None:
    run = record()
    run.hosts[0].clock = ClockRecord(offset_s=0.002, uncertainty_s=0.001, method=method)
    for host in run.hosts[1:]:
        host.clock = None
    assert any("largest offset" in each.text for each in against(run, "clocks").evidence) is told


def test_hosts_with_start_skew_make_the_objection_stand(tmp_path: Path) -> None:
    events = [*host_run("h1", 10.0, 40.0), *host_run("h2", 15.0, 45.0), closed(46.0)]
    text = text_of(build_record(run_of(tmp_path, ["h1", "h2"], events)))
    assert re.search(r'^✗ stands: "The hosts did not start together"$', text, re.MULTILINE)
    assert "✗ start-skew  hosts started 5.00 s apart" in text and "start skew about 5.0 s" in text
    places = [text.index(f"\n{mark} ") for mark in "✗!?✓"]
    assert places == sorted(places)


def test_names_of_one_machine_are_a_note_and_an_objection(tmp_path: Path) -> None:
    facts = {"boot_id": "b1", "hostname": "box"}
    seen = [HostFactsCollected(t=1.0, host=host, facts=dict(facts)) for host in ("h1", "h2")]
    events = [*seen, *host_run("h1", 10.0, 40.0), *host_run("h2", 10.0, 40.0), closed(42.0)]
    run = build_record(run_of(tmp_path, ["h1", "h2"], events))
    said = [each for each in against(run, "alike").evidence if "one machine" in each.text]
    assert len(said) == 1
    assert [each.severity for each in run.findings if each.id == "one-machine"] == ["info"]
    assert "machine: h1, h2 are one machine" in summary_text(run)


def test_what_cannot_be_said_against_a_run_is_one_line(tmp_path: Path) -> None:
    text = text_of(
        build_record(run_of(tmp_path, ["h1"], [*host_run("h1", 10.0, 40.0), closed(42.0)]))
    )
    flat = " ".join(text.split())
    assert 'n/a, only one host: "The hosts did not start together", "One host lagged"' in flat


def test_an_older_record_says_that_no_check_is_recorded_and_a_failed_run_that_there_is_nothing() -> (
    None
):
    old = record(findings=[], checks=None, checks_not_made=None)
    assert "without a list of checks" in text_of(old) and 'no data for "' in text_of(old)
    nothing = record()
    nothing.steps = []
    assert text_of(nothing) == "nothing was measured: no objections"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_asked_for(width: int) -> None:
    assert max(map(len, text_of(record(), width).splitlines())) <= width
