from __future__ import annotations

from pathlib import Path

import pytest

from tests.record.test_record import valid
from tests.record.test_timing import host_run
from tests.samples.events import closed, compared, load, result, run_of, weakening
from tests.samples.evidence import direction
from tui.judge.catalogue import verdict_of
from tui.judge.severity import MOOT
from tui.judge.wording import message_of
from tui.library.build import build_record
from tui.model.event import AnyEvent
from tui.model.figure_record import ResultsRecord
from tui.model.record import Finding, RunRecord
from tui.model.step_record import StepRecord
from tui.view.objections import reason_code
from tui.view.run_summary import summary_text
from tui.view.step_notes import checks_text

HOSTS = ("h1", "h2", "h3", "h4")


def record_of(
    tmp_path: Path, starts: dict[str, float], runtime_s: float, *, error_s: float = 0.002
) -> RunRecord:
    """Return the record of hosts that started at these times and measured equally long."""
    events: list[AnyEvent] = [closed(max(starts.values()) + runtime_s + 1.0)]
    for host, start_t in starts.items():
        events += [
            compared(host, 0.0, error_s),
            *host_run(host, start_t, start_t + runtime_s, iops=10.0),
        ]
    record = build_record(run_of(tmp_path, list(starts), events, runtime_s))
    valid(record)
    return record


def only(record: RunRecord, name: str) -> Finding:
    (found,) = (finding for finding in record.findings if finding.id == name)
    return found


def test_a_run_without_a_doubt_is_valid(tmp_path: Path) -> None:
    record = record_of(tmp_path, {"h1": 5.0, "h2": 5.9}, 60.0)
    assert (weakening(record), record.verdict) == ([], "valid")


def test_a_start_skew_above_a_second_is_a_warning_that_names_who_was_late(tmp_path: Path) -> None:
    record = record_of(tmp_path, {"h1": 5.0, "h2": 5.1, "h3": 6.2, "h4": 6.5}, 100.0)
    finding = only(record, "start-skew")
    assert (finding.severity, finding.measured, finding.threshold) == ("warning", 1.5, 1.0)
    assert finding.scope == {"step": 0, "hosts": "h4 h3"}
    assert (
        "hosts started 1.50 s apart (± 0.01 s): h4 +1.50 s, h3 +1.20 s; common window: 98.5 s"
        in message_of(finding)
    )
    assert record.verdict == "valid-with-warnings"


def test_a_start_skew_above_2_percent_of_the_runtime_is_an_error(tmp_path: Path) -> None:
    record = record_of(tmp_path, {"h1": 5.0, "h2": 6.5}, 50.0)
    assert only(record, "start-skew").severity == "error"
    assert record.verdict == "invalid"


def test_a_start_skew_that_may_be_the_clocks_is_no_error(tmp_path: Path) -> None:
    assert (
        only(record_of(tmp_path, {"h1": 5.0, "h2": 6.5}, 50.0, error_s=0.3), "start-skew").severity
        == "warning"
    )


def test_a_skew_within_a_second_is_none_however_short_the_run(tmp_path: Path) -> None:
    assert not [
        each
        for each in record_of(tmp_path, {"h1": 5.0, "h2": 5.3}, 5.0).findings
        if each.id == "start-skew"
    ]


@pytest.mark.parametrize(
    ("clock_s", "found"), [(0.09, False), (-0.09, False), (0.11, True), (-3600.0, True)]
)
def test_a_clock_that_is_off_by_more_than_100_ms_is_a_warning(
    clock_s: float, found: bool, tmp_path: Path
) -> None:
    events = [compared("h1", clock_s), *host_run("h1", 5.0, 15.0, clock_s=clock_s), closed(16.0)]
    record = build_record(run_of(tmp_path, ["h1"], events))
    assert [finding.id for finding in weakening(record)] == (["clock-offset"] if found else [])
    if found:
        finding = weakening(record)[0]
        assert (finding.severity, finding.measured, finding.scope) == (
            "warning",
            clock_s,
            {"hosts": "h1"},
        )


def test_an_offset_that_may_be_none_is_not_judged(tmp_path: Path) -> None:
    events = [compared("h1", 0.2, 0.25), *host_run("h1", 5.0, 15.0, clock_s=0.2), closed(16.0)]
    assert weakening(build_record(run_of(tmp_path, ["h1"], events))) == []


def test_a_clock_that_was_never_compared_is_not_judged(tmp_path: Path) -> None:
    events = [*host_run("h1", 5.0, 15.0, clock_s=500.0), closed(16.0)]
    assert weakening(build_record(run_of(tmp_path, ["h1"], events))) == []


def test_a_clock_that_was_set_back_before_the_load_is_reported_and_allowed_for(
    tmp_path: Path,
) -> None:
    events = [compared("h1", 0.0), compared("h2", 0.0), *host_run("h1", 5.0, 25.0), closed(27.0)]
    events += host_run("h2", 5.0, 25.0, clock_s=-12.0)
    record = build_record(run_of(tmp_path, ["h1", "h2"], events))
    finding = only(record, "clock-step")
    assert (finding.severity, finding.scope) == ("warning", {"host": "h2"})
    assert finding.measured == pytest.approx(-12.0, abs=0.05)
    timing = record.steps[0].timing
    assert timing is not None
    assert timing.start_skew_s == pytest.approx(0.0, abs=0.05)
    assert timing.hosts["h2"].clock_uncertainty_s is None


def test_a_clock_that_was_set_forward_during_the_load_does_not_move_it(tmp_path: Path) -> None:
    events = [compared("h1", 0.0), compared("h2", 0.0), *host_run("h1", 5.0, 25.0), closed(27.0)]
    events += load("h2", 5.0, 15.0)
    after = load("h2", 15.0, 25.0, clock_s=30.0)
    events += [*after, result("h2", -25.0 + 30.0, 25.0, clock_s=30.0)]
    record = build_record(run_of(tmp_path, ["h1", "h2"], events))
    assert only(record, "clock-step").measured == pytest.approx(30.0, abs=0.05)
    timing = record.steps[0].timing
    assert timing is not None
    assert timing.start_skew_s == pytest.approx(0.0, abs=0.05)
    series = record.steps[0].series
    assert series is not None
    assert all(
        value is None or value == pytest.approx(100.0, rel=0.05)
        for value in series.columns[-1].iops
    )


def straggling(tmp_path: Path, rates: dict[str, float]) -> RunRecord:
    events: list[AnyEvent] = [closed(26.0)]
    for host, iops in rates.items():
        events += [compared(host, 0.0), *host_run(host, 5.0, 25.0, iops=iops)]
    return build_record(run_of(tmp_path, list(rates), events))


def test_a_host_below_80_percent_of_the_median_is_a_straggler(tmp_path: Path) -> None:
    finding = only(
        straggling(tmp_path, {"h1": 100.0, "h2": 100.0, "h3": 79.0, "h4": 50.0}), "straggler"
    )
    assert finding.severity == "warning"
    assert finding.scope == {"step": 0, "direction": "read", "hosts": "h4"}
    assert (finding.measured, finding.threshold) == (0.5587, 0.8)
    assert "read IOPS far below the median host's 89.5: h4 at 56 %" in message_of(finding)


def test_hosts_that_keep_up_are_no_stragglers(tmp_path: Path) -> None:
    assert weakening(straggling(tmp_path, {"h1": 100.0, "h2": 91.0, "h3": 110.0})) == []


def test_of_two_hosts_none_is_the_straggler(tmp_path: Path) -> None:
    assert weakening(straggling(tmp_path, {"h1": 100.0, "h2": 10.0})) == []


def test_nothing_measured_is_not_judged(tmp_path: Path) -> None:
    record = build_record(run_of(tmp_path, ["h1"], [closed(5.0)]))
    assert (weakening(record), record.verdict) == ([], None)


def test_a_fill_alone_is_nothing_to_judge() -> None:
    results = ResultsRecord(aggregate={"write": direction(1000.0, 4e6)})
    fill, load = (
        StepRecord(index=0, name="s", warmup=warmup, results=results) for warmup in (True, False)
    )
    assert verdict_of("failed", [fill], []) is None
    assert verdict_of("partial", [fill, load], []) == "valid-with-warnings"


def test_a_run_that_is_not_complete_is_never_plainly_valid(tmp_path: Path) -> None:
    events = [compared("h1", 0.0), *host_run("h1", 5.0, 25.0), closed(26.0, "partial")]
    record = build_record(run_of(tmp_path, ["h1"], events))
    assert (weakening(record), record.verdict) == ([], "valid-with-warnings")


@pytest.mark.parametrize(
    ("measured_s", "planned_s", "message"),
    [
        (0.2, 30.0, "ended early: measured 0.2 s of 30 s"),
        (28.0, 30.0, "ended early: measured 28 s of 30 s"),
        (0.1, None, "measured 0.1 s"),
    ],
)
def test_a_measurement_that_ended_before_its_time_is_reported(
    tmp_path: Path, measured_s: float, planned_s: float | None, message: str
) -> None:
    events = [*host_run("h1", 5.0, 5.0 + measured_s, iops=1000.0), closed(60.0)]
    record = build_record(run_of(tmp_path, ["h1"], events, planned_s))
    valid(record)
    assert (record.steps[0].measured_s, record.steps[0].runtime_s) == (measured_s, planned_s)
    assert message_of(only(record, "short")).startswith(message)
    assert record.verdict == "valid-with-warnings"
    assert message in summary_text(record)


def test_a_measurement_of_the_length_asked_for_is_shown_with_its_seconds(tmp_path: Path) -> None:
    record = build_record(
        run_of(tmp_path, ["h1"], [*host_run("h1", 5.0, 34.9), closed(40.0)], 30.0)
    )
    assert weakening(record) == []
    assert "measured 29.9 s" in summary_text(record)


def test_only_checks_that_had_evidence_count_as_made(tmp_path: Path) -> None:
    alone = build_record(
        run_of(tmp_path / "one", ["h1"], [*host_run("h1", 5.0, 35.0), closed(40.0)], 30.0)
    )
    assert alone.checks == [
        "tool-errors", "rate-mismatch", "series-mismatch", "host-loss", "stall", "tool-clock", "short", "runtime",
        "steady-state",
        "warm-up", "missing-samples", "repetitions",
    ]  # fmt: skip
    assert reason_code(alone, "start-skew") == "few-hosts"
    several = record_of(tmp_path / "three", {"h1": 5.0, "h2": 5.0, "h3": 5.0}, 60.0)
    assert {"start-skew", "clock-offset", "straggler", "clock-step", "host-loss", "short"} <= set(
        several.checks or []
    )
    known = several.checks_not_made or {}
    moot = sum(reason_code(several, name) in MOOT for name in known)
    assert (
        f"valid: 1 note; {len(several.checks or [])} checks ran, {moot} do not apply,"
        f" {len(known) - moot} had no data" in summary_text(several)
    )


def test_of_an_older_record_it_is_not_said_how_many_checks_were_made(tmp_path: Path) -> None:
    record = record_of(tmp_path, {"h1": 5.0}, 60.0).model_copy(
        update={"checks": None, "findings": []}
    )
    assert checks_text(record) == "no findings"
