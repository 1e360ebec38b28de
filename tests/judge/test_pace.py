"""The load generator's clock, and reports that come late."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.samples.events import closed, load, result, run_of, sample
from tui.judge.wording import message_of
from tui.library.build import build_record
from tui.model.event import AnyEvent, Sample, TelemetryColumns, TelemetrySample
from tui.model.record import Finding

START, END, IOPS = 5.0, 25.0, 100.0


def of_pace(directory: Path, events: list[AnyEvent], end: float = END) -> list[Finding]:
    whole = [*events, result("h1", START, end, IOPS), closed(2 * end)]
    record = build_record(run_of(directory, ["h1"], whole, runtime_s=end - START))
    return [each for each in record.findings if each.id in ("tool-clock", "stall")]


def at_rate(rate: float, delay_s: float = 0.01) -> list[Sample]:
    """Samples of a load generator whose seconds last `rate` seconds."""
    samples = [each for each in load("h1", START, END, IOPS) if isinstance(each, Sample)]
    return [replace(each, t=START + (each.t - START) * rate + delay_s) for each in samples]


def telemetry_at(rate: float) -> list[AnyEvent]:
    """Telemetry of a host, of which a second arrives every `rate` seconds."""
    head = TelemetryColumns(t=START, host="h1", step=0, columns=["cpu.busy"])
    rows = [
        TelemetrySample(
            t=START + second * rate + 0.02,
            host="h1",
            step=0,
            host_time_ms=round(1000 * (START + second)),
            interval_s=1.0,
            values=[10.0],
        )
        for second in range(1, 21)
    ]
    return [head, *rows]


@pytest.mark.parametrize("rate", [2.0, 1.2, 0.8])
def test_a_clock_that_does_not_count_real_seconds_is_an_error(tmp_path: Path, rate: float) -> None:
    (finding,) = of_pace(tmp_path, [*at_rate(rate), *telemetry_at(1.0)])
    assert (finding.id, finding.severity) == ("tool-clock", "error")
    assert finding.measured == pytest.approx(rate, rel=0.01)


@pytest.mark.parametrize(("end", "told"), [(19.0, ["warning"]), (24.5, [])])
def test_more_seconds_of_io_than_were_measured_are_a_slow_clock(
    tmp_path: Path, end: float, told: list[str]
) -> None:
    whole = [*at_rate(1.0), *telemetry_at(1.0), result("h1", START, end, IOPS), closed(50.0)]
    directory = run_of(tmp_path, ["h1"], whole, runtime_s=end - START)
    plan = msgspec.json.decode((directory / "plan.json").read_bytes())
    plan["steps"][0]["jobs"] = [{"name": "read", "directions": ["read"]}]
    (directory / "plan.json").write_bytes(msgspec.json.encode(plan))
    found = build_record(directory).findings
    assert [each.severity for each in found if each.id == "tool-clock"] == told


def test_a_connection_that_falls_behind_is_no_clock(tmp_path: Path) -> None:
    assert of_pace(tmp_path, [*at_rate(1.2), *telemetry_at(1.2)]) == []


def test_samples_that_are_late_from_some_time_on_are_no_clock(tmp_path: Path) -> None:
    samples = at_rate(1.0)
    late = [replace(each, t=each.t + 1.5) for each in samples[len(samples) // 2 :]]
    assert of_pace(tmp_path, [*samples[: len(samples) // 2], *late]) == []


def stopped(from_s: int, for_s: float, ios: int) -> list[AnyEvent]:
    """Samples of a load of which one covers `for_s` more seconds and has `ios` I/Os."""
    before = load("h1", START, START + from_s, IOPS)
    t = START + from_s + 1 + for_s
    held = sample(t, "h1", [100_000] * ios, interval_s=1 + for_s)
    return [*before, held, *load("h1", t, END, IOPS)]


def test_a_load_generator_that_does_not_report_and_does_no_io_was_held(tmp_path: Path) -> None:
    (finding,) = of_pace(tmp_path, stopped(8, 0.7, 100))
    assert (finding.id, finding.severity, finding.measured) == ("stall", "warning", 1.7)


def test_a_host_that_is_held_right_after_its_start_is_named(tmp_path: Path) -> None:
    (finding,) = of_pace(tmp_path, stopped(0, 3.0, 60))
    assert (finding.id, finding.severity, finding.measured) == ("stall", "warning", 4.0)


def test_a_first_report_that_is_late_with_the_agents_own_is_no_stop(tmp_path: Path) -> None:
    rows = telemetry_at(1.0)
    held = [
        replace(each, t=START + 1.0, interval_s=1.7)
        if isinstance(each, TelemetrySample) and each.host_time_ms == round(1000 * (START + 1))
        else each
        for each in rows
    ]
    events = [*held[:2], *stopped(0, 0.7, 60), *held[2:]]
    assert of_pace(tmp_path, events) == []


def test_a_late_report_of_a_load_that_went_on_is_a_note(tmp_path: Path) -> None:
    (finding,) = of_pace(tmp_path, stopped(8, 4.0, 450))
    assert (finding.id, finding.severity) == ("stall", "info")


def test_reports_that_are_late_with_the_agents_own_are_no_stop(tmp_path: Path) -> None:
    rows = telemetry_at(1.0)
    held = [
        replace(each, interval_s=1.7)
        if isinstance(each, TelemetrySample) and each.host_time_ms == round(1000 * (START + 10))
        else each
        for each in rows
    ]
    assert of_pace(tmp_path, [*stopped(8, 0.7, 100), *held]) == []
    assert len(of_pace(tmp_path, [*stopped(8, 0.7, 100), *rows])) == 1


def telemetry_held(from_s: int, for_s: float) -> list[AnyEvent]:
    """Telemetry of a host whose agent did not run for `for_s` from some second on."""
    at = START + from_s
    kept: list[AnyEvent] = []
    for each in telemetry_at(1.0):
        after_s = each.host_time_ms / 1000 - at if isinstance(each, TelemetrySample) else 0.0
        if not isinstance(each, TelemetrySample) or not 0 < after_s <= 1 + for_s:
            kept.append(each)
        elif after_s == 1:
            end_ms = round(1000 * (at + 1 + for_s))
            t = at + 1 + for_s
            kept.append(replace(each, t=t, host_time_ms=end_ms, interval_s=1 + for_s))
    return kept


@pytest.mark.parametrize("from_s", [0, 1, 8, 15, 17])
@pytest.mark.parametrize("for_s", [1.4, 2.5])
def test_a_client_that_did_not_run_is_named_wherever_the_gap_is(
    tmp_path: Path, from_s: int, for_s: float
) -> None:
    (finding,) = of_pace(tmp_path, [*stopped(from_s, for_s, 90), *telemetry_held(from_s, for_s)])
    assert (finding.id, finding.severity, finding.measured) == ("stall", "warning", for_s)


@pytest.mark.parametrize(("from_s", "agent_from_s"), [(17, None), (17, 5), (8, 12)])
def test_gaps_at_different_times_are_no_pause(
    tmp_path: Path, from_s: int, agent_from_s: int | None
) -> None:
    rows = telemetry_at(1.0) if agent_from_s is None else telemetry_held(agent_from_s, 2.0)
    found = of_pace(tmp_path, [*stopped(from_s, 2.0, 90), *rows])
    assert not [each for each in found if "did not run" in message_of(each)]


def test_a_load_that_went_on_while_both_reports_were_late_was_not_paused(tmp_path: Path) -> None:
    found = of_pace(tmp_path, [*stopped(8, 2.0, 300), *telemetry_held(8, 2.0)])
    assert not [each for each in found if each.severity == "warning"]


def test_the_last_reports_may_wait_for_the_final_sync(tmp_path: Path) -> None:
    assert of_pace(tmp_path, stopped(17, 1.0, 50)) == []


@pytest.mark.parametrize(("iops", "slow"), [(10.0, True), (0.0, False)])
def test_seconds_of_little_io_are_slow_and_those_without_any_a_stall(
    tmp_path: Path, iops: float, slow: bool
) -> None:
    low = load("h1", START + 10, START + 15, iops)
    events = [*load("h1", START, START + 10, IOPS), *low, *load("h1", START + 15, END, IOPS)]
    (finding,) = of_pace(tmp_path, events)
    assert (finding.id, "stalled" not in message_of(finding)) == ("stall", slow)


@pytest.mark.parametrize(("at_s", "ios", "slow"), [(1, 200, True), (11, 20, False)])
def test_a_late_report_spreads_its_io_over_its_own_time_only(
    tmp_path: Path, at_s: int, ios: int, slow: bool
) -> None:
    parts = [load("h1", START, START + 10, IOPS), load("h1", START + 10, START + 15, 10.0),
             load("h1", START + 15, END, IOPS)]  # fmt: skip
    events = [each for part in parts for each in part]
    held = sample(START + at_s + 2, "h1", [100_000] * ios, interval_s=2.0)
    kept = [each for each in events if not START + at_s < each.t < START + at_s + 2.5]
    found = of_pace(tmp_path, sorted([*kept, held], key=lambda each: each.t))
    told = [message_of(each) for each in found if each.code in ("slow", "stalled")]
    assert ["stalled" not in each for each in told] == [slow]
