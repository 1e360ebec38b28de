"""The fold of telemetry, and its figures in the record."""

from __future__ import annotations

import math

import pytest

from tui.app.screens.live_host import telemetry_texts
from tui.journal.clock import HostClocks
from tui.journal.fold import fold_all
from tui.journal.state import RunState
from tui.journal.step import StepState
from tui.journal.telemetry import KEPT_S, HostTelemetry
from tui.model.event import (
    AnyEvent,
    PhaseEnded,
    PhaseStarted,
    StepStarted,
    TelemetryColumns,
    TelemetrySample,
    encode,
)
from tui.record.step import telemetry_records


def columns(*names: str, host: str = "h1", **more: object) -> TelemetryColumns:
    return TelemetryColumns(t=0.0, host=host, step=0, columns=list(names), **more)  # type: ignore[arg-type]


def second(
    t: float, *values: float | None, host: str = "h1", interval_s: float = 1.0, quiet: bool = False
) -> AnyEvent:
    stamp = 1_000_000 + round(t * 1000)
    return TelemetrySample(
        t=t,
        host=host,
        step=0,
        host_time_ms=stamp,
        interval_s=interval_s,
        values=list(values),
        quiet=quiet,
    )


def folded(*events: AnyEvent, for_record: bool = True) -> StepState:
    state = RunState(HostClocks({"h1": -1000.0}), for_record=for_record)
    return fold_all(state, [StepStarted(t=0.0, step=0), *events]).steps[0]


def measured(*events: AnyEvent, start: float, end: float) -> StepState:
    """Events of a step whose hosts measured between two times."""
    before: list[AnyEvent] = [PhaseStarted(t=start, phase="measure", step=0)]
    return folded(
        columns("cpu.busy", "nic.eth0.bad"),
        *before,
        *events,
        PhaseEnded(t=end, phase="measure", step=0),
    )


def test_a_column_that_comes_later_is_unknown_before() -> None:
    step = folded(
        columns("a.x"),
        second(1, 5),
        columns("a.x", "b.x"),
        second(2, 6, 7),
        columns("b.x"),
        second(3, 8),
    )
    host = step.telemetry["h1"]
    assert host.values("a.x") == [5, 6, None]
    assert host.values("b.x") == [None, 7, 8]


def test_a_line_that_does_not_fit_its_columns_says_nothing() -> None:
    step = folded(columns("a.x"), second(1, 5, 6), second(2, 7))
    assert step.telemetry["h1"].values("a.x") == [7]


def test_a_look_at_a_second_tells_what_was_then_and_nothing_in_a_gap() -> None:
    step = folded(
        columns("cpu.busy", "nic.eth0.rx"), second(1, 50, 5), second(2, 60, 6), second(5, 70, 7)
    )
    host = step.telemetry["h1"]
    assert [host.at(at).newest("cpu.busy") for at in range(6)] == [50, 60, None, None, 70, None]
    assert host.at(1).busiest_link == ("eth0", 6) and host.at(3).busiest_link is None
    assert (host.at(1).newest_t, host.at(3).newest_t) == (2, None)
    assert host.newest("cpu.busy") == 70 and host.newest_t == 5


def test_a_step_that_is_made_again_begins_without_telemetry() -> None:
    step = folded(
        columns("a.x"),
        second(1, 5),
        StepStarted(t=2.0, step=0, attempt=2),
        columns("a.x"),
        second(3, 6),
    )
    assert step.telemetry["h1"].values("a.x") == [6]


def test_means_are_weighted_by_time_and_counts_are_summed() -> None:
    step = measured(
        second(9, 90, 5), second(11, 10, 1), second(14, 40, 2, interval_s=3.0), start=10, end=14
    )
    host = telemetry_records(step, {}, ["h1"])[0]
    busy, bad = host.column("cpu.busy"), host.column("nic.eth0.bad")
    assert busy is not None and bad is not None
    assert busy.mean == pytest.approx(32.5) and busy.max == 40
    assert bad.mean == 3
    assert (host.start_s, host.end_s) == (10, 14)


def test_quiet_seconds_count_in_no_mean() -> None:
    step = measured(second(1, 90, 0, quiet=True), second(2, 10, 0), start=0, end=2)
    host = telemetry_records(step, {}, ["h1"])[0]
    busy = host.column("cpu.busy")
    assert busy is not None and (busy.mean, busy.values, host.quiet) == (10, [90, 10], 1)


def test_what_never_changes_is_one_number() -> None:
    step = measured(second(1, 3, 0), second(2, 3, None), start=0, end=2)
    busy, bad = telemetry_records(step, {}, ["h1"])[0].columns
    assert (busy.values, busy.constant) == (None, 3)
    assert (bad.values, bad.constant) == ([0, None], None)


def test_a_host_that_gave_nothing_has_no_mean() -> None:
    busy = telemetry_records(measured(start=0, end=2), {}, ["h1"])[0].columns[0]
    assert (busy.mean, busy.max) == (None, None)


def test_sixty_four_hosts_for_an_hour_are_small() -> None:
    """Four bytes a value; screens keep ten minutes of it."""
    names = [f"a.{number}" for number in range(60)]
    kept = HostTelemetry("h1")
    kept.head(columns(*names))
    for t in range(3600):
        event = second(t, *map(float, range(60)))
        assert isinstance(event, TelemetrySample)
        kept.add(event, float(t), keep_all=False)
    assert KEPT_S <= len(kept.end_t) <= 2 * KEPT_S
    stored = sum(len(values) * values.itemsize for values in kept.columns.values())
    assert 64 * stored < 20e6
    assert not math.isnan(kept.columns["a.59"][-1])


def test_live_says_what_a_host_does_now() -> None:
    names = ("cpu.busy", "core.number", "core.busy", "nic.eth0.rx", "nic.eth0.tx", "nic.lo.rx")
    state = fold_all(
        RunState(HostClocks({"h1": -1000.0})),
        [StepStarted(t=0.0, step=0), columns(*names), second(1, 42, 3, 99, 1024**2, 0, 7)],
    )
    assert list(telemetry_texts(state, "h1")) == [
        ("CPU", "42 %, core 3 at 99 %"),
        ("eth0", "1.00 MiB/s"),
    ]
    assert list(telemetry_texts(state, "h2")) == []


def test_a_second_is_a_short_line_of_the_journal() -> None:
    assert len(encode(second(3599.1234, *([123456789.0] * 55)))) < 1000
