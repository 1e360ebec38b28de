"""Bytes of the load and of the kernel, compared between the same two samples of telemetry."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.evidence import direction, evidence, found, said
from tui.judge import traffic
from tui.judge.check import RunEvidence
from tui.judge.wording import message_of
from tui.model.figure_record import SeriesColumns, SeriesRecord
from tui.model.plan import BlockShare, JobLoad
from tui.model.step_record import HostTelemetryRecord, TelemetryColumn

MB = 1e6


def ran(
    told: list[float], counted: list[float | None], *, offset_s: float = 0.4, block: int = 4096
) -> RunEvidence:
    """Return a load that told these bytes each second; the kernel counted these, sampled
    `offset_s` after the begin of each second.
    """
    known = [each for each in counted if each is not None]
    host = HostTelemetryRecord(
        host="h1",
        start_s=20.0,
        end_s=20.0 + len(told),
        t_s=[20.0 + offset_s + at for at in range(1, len(counted) + 1)],
        interval_s=[1.0] * len(counted),
        devices={"sda": "top"},
        columns=[
            TelemetryColumn(
                name="gen.read_bytes",
                unit="bytes_per_s",
                mean=sum(known) / len(known),
                max=max(known),
                values=counted,
            ),
            TelemetryColumn(name="gen.procs", unit="number", mean=5.0, max=5.0, constant=5.0),
        ],
    )
    mean = sum(told) / len(told)
    series = SeriesRecord(
        start_s=20.0,
        columns=[
            SeriesColumns(host="h1", direction="read", iops=[1.0] * len(told), bw_bytes_per_s=told)
        ],
    )
    return evidence(
        {"h1": {"read": direction(mean / 4096, 1e6, bw_bytes_per_s=mean)}},
        jobs=[
            JobLoad("a", ("read",), direct=True, blocks={"read": (BlockShare(block, block, 1.0),)})
        ],
        telemetry=[host],
        series=series,
        runtime_s=float(len(told)),
        measured_s=float(len(told)),
    )


@pytest.mark.parametrize("seconds", [7, 10, 60])
@pytest.mark.parametrize("share", [1.0, 0.96, 0.91, 0.83])
def test_bytes_that_the_kernel_did_not_count_are_seen_in_short_loads(
    seconds: int, share: float
) -> None:
    rates = [300 * MB + 5 * MB * (at % 3) for at in range(seconds)]
    at = ran(rates, [share * rate for rate in rates[:-1]])
    assert bool(said("storage-traffic", at)) is (share < 0.95)


@pytest.mark.parametrize("offset_s", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(
    "rates",
    [
        [900.0, 300.0, 300.0, 300.0, 300.0, 300.0, 900.0],  # both ends fall into a change
        [100.0, 500.0, 100.0, 500.0, 100.0, 500.0, 100.0],
        [0.0, 0.0, 0.0, 800.0, 0.0, 0.0, 0.0],
    ],
)
def test_a_load_that_changes_at_a_sample_is_uncertain_not_false(
    rates: list[float], offset_s: float
) -> None:
    # within each second the whole I/O is done at its end
    counted: list[float | None] = [each * MB for each in rates[:-1]]
    at = ran([each * MB for each in rates], counted, offset_s=offset_s)
    assert said("storage-traffic", at) == []


def test_samples_of_unknown_processes_are_left_out() -> None:
    rates = [300 * MB] * 12
    known: list[float | None] = [None, None, *[0.9 * 300 * MB] * 4, None, *[0.9 * 300 * MB] * 4]
    assert said("storage-traffic", ran(rates, known))


@pytest.mark.parametrize(("clock", "open_"), [(None, True), (1.0, False)])
def test_a_slow_clock_is_a_cause_too_while_nothing_says_that_it_is_right(
    monkeypatch: pytest.MonkeyPatch, clock: float | None, open_: bool
) -> None:
    monkeypatch.setattr(traffic, "clock_of", lambda at, host: clock)
    rates = [300 * MB] * 10
    (finding,) = found("storage-traffic", ran(rates, [0.8 * rate for rate in rates]))
    assert ("clock" in message_of(finding)) is open_


@pytest.mark.parametrize(("known", "expected"), [(True, "error"), (False, "warning")])
def test_bytes_that_agree_between_samples_prove_a_slow_clock(
    monkeypatch: pytest.MonkeyPatch, known: bool, expected: str
) -> None:
    at = ran([300 * MB] * 13, [300 * MB] * 12)
    dirs = at.steps[0].results.per_host["h1"]
    dirs["read"] = dirs["read"].model_copy(update={"bw_bytes_per_s": 400 * MB})
    monkeypatch.setattr(traffic, "is_on_time", lambda *_: not known)
    (finding,) = found("storage-traffic", at)
    assert (finding.severity, (finding.code or "").startswith("clock")) == (expected, known)


def test_processes_that_have_ended_are_left_out() -> None:
    rates = [300 * MB] * 12
    at = ran(rates, [*[300 * MB] * 10, 0.0])
    procs = at.steps[0].telemetry[0].column("gen.procs")
    assert procs is not None and said("storage-traffic", at) != []
    procs.values, procs.constant = [*[5.0] * 10, 0.0], None
    assert said("storage-traffic", at) == []


def on_a_busy_host(
    speeds: list[float],
    delays: list[float],
    begin_s: float,
    moved: float = 1.0,
    faster: float = 1.0,
) -> RunEvidence:
    """Return a load of 12 s with these speeds per second of its own, on a host whose telemetry is
    late by `delays`, and which ended before the last sample was taken.

    The series has only whole seconds of the run, which begin `begin_s` into the load. `moved`: the
    share of the bytes that the kernel counted; `faster`: how far the load overstates its rate.
    """
    seconds = len(speeds)
    sums = [0.0, *accumulate(speeds)]

    def until(t: float) -> float:
        t = min(max(t, 0.0), float(seconds))
        whole = min(int(t), seconds - 1)
        return (sums[whole] + (t - whole) * speeds[whole]) * MB

    whole = [until(begin_s + at + 1) - until(begin_s + at) for at in range(seconds - 1)]
    ends, t = [], 0.4
    for delay in delays:
        ends.append(t := t + 1 + delay)
        if t > seconds:
            break
    spans = list(zip([0.4, *ends], ends, strict=False))
    counted = [
        moved * (until(end) - until(begin)) / (end - begin) if end <= seconds else 0.0
        for begin, end in spans
    ]
    # it was found by the first sample, whose bytes are those of nobody
    values: list[float | None] = [None, *counted]
    intervals = [1.0, *(end - begin for begin, end in spans)]
    times = [0.4, *ends]
    weights = [max(min(end, seconds) - max(end - length, 0.0), 0.0)
               for end, length in zip(times, intervals, strict=True)]  # fmt: skip
    known = [(value, weight) for value, weight in zip(values, weights, strict=True)
             if value is not None]  # fmt: skip
    mean = sum(value * weight for value, weight in known) / sum(weight for _, weight in known)
    at = ran(whole, [0.0], offset_s=0.0)
    (host,) = at.steps[0].telemetry
    column, procs = host.columns
    column.values, column.mean, column.max = values, mean, max(value for value, _ in known)
    procs.values = [1.0 if end <= seconds else 0.0 for end in times]
    procs.constant, procs.max = None, 1.0
    host.t_s, host.interval_s = [20.0 + end for end in times], intervals
    host.end_s = 20.0 + seconds
    series, record = at.steps[0].series, at.steps[0]
    assert series is not None
    series.start_s = 20.0 + begin_s
    record.measured_s = record.runtime_s = float(seconds)
    total = until(seconds)
    told = {"bytes": round(total), "bw_bytes_per_s": faster * total / seconds}
    read = record.results.per_host["h1"]["read"]
    record.results.per_host["h1"]["read"] = read.model_copy(update=told)
    return at


def test_values_of_the_last_minutes_are_not_compared_with_the_rate_of_an_hour() -> None:
    at = on_a_busy_host([100.0] * 12, [0.0] * 12, 0.5)
    host, read = at.steps[0].telemetry[0], at.steps[0].results.per_host["h1"]["read"]
    host.start_s = 20.0 - 3600
    column = host.column("gen.read_bytes")
    assert column is not None
    before = 3600 * 2000 * MB
    told = {"bytes": read.bytes + before, "bw_bytes_per_s": (read.bytes + before) / 3612}
    at.steps[0].results.per_host["h1"]["read"] = read.model_copy(update=told)
    column.mean = told["bw_bytes_per_s"]
    assert said("storage-traffic", at) == []


speeds = st.lists(st.floats(50, 500), min_size=12, max_size=12)
delays = st.lists(st.floats(0, 1.6), min_size=12, max_size=12)


@given(speeds, delays, st.floats(0, 0.99))
def test_no_speed_and_no_late_sample_of_an_honest_load_is_a_shortfall(
    speeds: list[float], delays: list[float], begin_s: float
) -> None:
    assert said("storage-traffic", on_a_busy_host(speeds, delays, begin_s)) == []


@pytest.mark.parametrize("begin_s", [0.05, 0.5, 0.95])
def test_a_burst_at_the_begin_and_a_late_last_sample_are_no_shortfall(begin_s: float) -> None:
    late = [0.0] * 10 + [1.2]
    assert (
        said("storage-traffic", on_a_busy_host([500.0, *[100.0] * 10, 150.0], late, begin_s)) == []
    )


@given(st.floats(0, 0.99), st.floats(0.3, 0.85))
def test_bytes_that_are_missing_from_a_steady_load_are_seen(begin_s: float, moved: float) -> None:
    assert said("storage-traffic", on_a_busy_host([100.0] * 12, [0.0] * 12, begin_s, moved))


@given(st.floats(0, 0.99), st.floats(1.25, 3.0))
def test_a_rate_above_that_of_its_bytes_is_seen(begin_s: float, faster: float) -> None:
    at = on_a_busy_host([100.0] * 12, [0.0] * 12, begin_s, faster=faster)
    assert said("storage-traffic", at)
