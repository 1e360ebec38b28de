from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.record.test_record import events_of, run_dir_of, valid
from tests.samples.events import closed, compared, load, result, run_of, sample, weakening
from tui.library.build import build_record
from tui.model.event import AnyEvent, HostClock, HostResult, PhaseStarted, RunResumed, Sample
from tui.model.record import RunRecord
from tui.model.step_record import TimingRecord
from tui.record.timeline import read_journal

HOUR_MS = 3_600_000
ZERO_MS = 1_795_169_730_250.0


def timing_of(record: RunRecord) -> TimingRecord:
    timing = record.steps[0].timing
    assert timing is not None
    valid(record)
    return timing


def host_run(host: str, start_t: float, end_t: float, **options: Any) -> list[AnyEvent]:
    """Return samples and result of a host."""
    clock_s, iops = options.get("clock_s", 0.0), options.get("iops", 100.0)
    return [
        *load(host, start_t, end_t, iops, clock_s=clock_s),
        result(host, start_t, end_t, **options),
    ]


def with_clocks(case: str, tmp_path: Path, shift_ms: dict[str, int]) -> RunRecord:
    """Return the record of a recorded run whose clocks were compared, with some of them moved."""
    events = events_of(case)
    run_dir = run_dir_of(case, tmp_path / "plain", events)
    known = read_journal(run_dir / "journal.jsonl").state.clocks.by_host
    offsets = {host: clock.offset_s for host, clock in known.items()}
    clocks: list[AnyEvent] = []
    for host, offset_s in offsets.items():
        assert offset_s is not None
        # the quickest took 9 ms
        ahead_s = -offset_s - ZERO_MS / 1000 + 0.009 + shift_ms.get(host, 0) / 1000
        clock = HostClock(
            t=0.4,
            host=host,
            offset_s=ahead_s,
            uncertainty_s=0.002,
            rtt_s=0.004,
            run_zero_ms=ZERO_MS,
        )
        clocks.append(clock)
    moved = [shifted(event, shift_ms) for event in events]
    return build_record(run_dir_of(case, tmp_path / "run", [*moved[:1], *clocks, *moved[1:]]))


def shifted(event: AnyEvent, shift_ms: dict[str, int]) -> AnyEvent:
    if isinstance(event, Sample):
        return msgspec.structs.replace(
            event, host_time_ms=event.host_time_ms + shift_ms.get(event.host, 0)
        )
    if isinstance(event, HostResult):
        by = shift_ms.get(event.host, 0)
        start_ms = None if event.start_ms is None else event.start_ms + by
        return msgspec.structs.replace(event, start_ms=start_ms, end_ms=(event.end_ms or 0) + by)
    return event


@pytest.mark.parametrize("case", ["ramp", "lost"])
@pytest.mark.parametrize("shift_ms", [HOUR_MS, -HOUR_MS, 1])
def test_a_clock_that_is_off_and_was_compared_changes_nothing_in_run_time(
    case: str, shift_ms: int, tmp_path: Path
) -> None:
    true, off = (with_clocks(case, tmp_path, {"h2": each}) for each in (0, shift_ms))
    assert off.steps[0].series == true.steps[0].series
    assert off.steps[0].timing == true.steps[0].timing
    assert off.steps[0].results == true.steps[0].results
    assert off.steps[0].coverage == true.steps[0].coverage
    clocks = [record.hosts[1].clock for record in (true, off)]
    assert clocks[0] is not None and clocks[1] is not None
    assert clocks[0].method == clocks[1].method == "exchange"
    assert (clocks[1].offset_s or 0) - (clocks[0].offset_s or 0) == pytest.approx(
        shift_ms / 1000, abs=1e-5
    )
    assert (clocks[1].uncertainty_s, clocks[1].rtt_s) == (0.002, 0.004)


def test_a_comparison_corrects_the_delay_that_arrivals_cannot_tell(tmp_path: Path) -> None:
    events = [*load("h1", 10.0, 20.0, delay_s=0.4), result("h1", 10.0, 20.0), closed(21.0)]
    by_arrival = timing_of(build_record(run_of(tmp_path / "a", ["h1"], events)))
    exact = timing_of(build_record(run_of(tmp_path / "b", ["h1"], [compared("h1", 0.0), *events])))
    assert (by_arrival.hosts["h1"].start_s, by_arrival.hosts["h1"].clock_uncertainty_s) == (
        10.4,
        None,
    )
    assert (exact.hosts["h1"].start_s, exact.hosts["h1"].clock_uncertainty_s) == (10.0, 0.002)


def test_skews_and_the_common_window_are_those_of_the_hosts_with_their_uncertainty(
    tmp_path: Path,
) -> None:
    events = [
        compared("h1", 500.0, 0.010),
        compared("h2", -20.0, 0.003),
        *host_run("h1", 10.0, 40.0, clock_s=500.0),
        *host_run("h2", 10.4, 40.7, clock_s=-20.0),
        closed(42.0),
    ]
    timing = timing_of(build_record(run_of(tmp_path, ["h1", "h2"], events)))
    assert (timing.start_skew_s, timing.end_skew_s) == (0.4, 0.7)
    assert timing.start_skew_uncertainty_s == pytest.approx(0.010 + 0.003 + 2 * 0.001)
    assert timing.window is not None
    assert (timing.window.start_s, timing.window.end_s, timing.window.length_s) == (
        10.4,
        40.0,
        29.6,
    )
    assert timing.window.uncertainty_s == pytest.approx(0.011)
    assert timing.hosts["h1"].source == "tool"


def test_uncertainty_is_unknown_when_one_clock_was_not_compared(tmp_path: Path) -> None:
    events = [
        compared("h1", 0.0),
        *host_run("h1", 10.0, 20.0),
        *host_run("h2", 10.5, 20.5),
        closed(21.0),
    ]
    timing = timing_of(build_record(run_of(tmp_path, ["h1", "h2"], events)))
    assert timing.start_skew_s == pytest.approx(0.51)  # the delay of 10 ms is in it
    assert timing.start_skew_uncertainty_s is None
    assert timing.window is not None and timing.window.uncertainty_s is None


def test_one_host_has_no_skew(tmp_path: Path) -> None:
    timing = timing_of(
        build_record(run_of(tmp_path, ["h1"], [*host_run("h1", 10.0, 20.0), closed(21.0)]))
    )
    assert timing.start_skew_s is None
    assert timing.end_skew_s is None


def test_hosts_that_never_measured_at_the_same_time_have_no_window(tmp_path: Path) -> None:
    events = [*host_run("h1", 10.0, 20.0), *host_run("h2", 25.0, 35.0), closed(36.0)]
    record = build_record(run_of(tmp_path, ["h1", "h2"], events))
    assert timing_of(record).window is None
    assert record.steps[0].results.aggregate["read"].interval is None
    assert record.steps[0].results.aggregate["read"].window_difference is None


def test_a_tool_that_does_not_say_its_start_is_placed_by_its_runtime_and_its_first_sample(
    tmp_path: Path,
) -> None:
    """fio < 3.36: the last object is printed up to half a second after the end."""
    events = [
        compared("h1", 0.0),
        *load("h1", 10.0, 20.0),
        result("h1", 10.0, 20.0, says_start=False, printed_late_s=0.45),
        closed(21.0),
    ]
    host = timing_of(build_record(run_of(tmp_path, ["h1"], events))).hosts["h1"]
    assert host.source == "samples"
    assert (host.start_s, host.end_s) == (10.0, 20.0)
    assert host.start_uncertainty_s == pytest.approx(0.1, abs=0.01)


def test_a_first_sample_that_waited_for_a_slow_worker_does_not_make_the_host_late(
    tmp_path: Path,
) -> None:
    """The stamp of a live snapshot is late by the wait for the workers.

    The end minus the runtime is nearer then.
    """
    waited = sample(11.7, "h1", [600_000_000] * 100, interval_s=1.0)
    events = [
        waited,
        *load("h1", 11.7, 20.0),
        result("h1", 10.0, 20.0, says_start=False, printed_late_s=0.1),
    ]
    timing = timing_of(
        build_record(run_of(tmp_path, ["h1"], [compared("h1", 0.0), *events, closed(21.0)]))
    )
    assert timing.hosts["h1"].start_s == pytest.approx(10.1)
    assert timing.hosts["h1"].start_uncertainty_s >= 0.6


def test_a_start_is_never_before_go(tmp_path: Path) -> None:
    events = [compared("h1", 0.0), *host_run("h1", 0.0, 5.0, says_start=False), closed(6.0)]
    host = timing_of(build_record(run_of(tmp_path, ["h1"], events))).hosts["h1"]
    assert (host.start_s, host.start_uncertainty_s) == (0.0, 0.001)


@pytest.mark.parametrize("says_start", [True, False])
def test_printed_times_that_do_not_fit_the_samples_are_not_used(
    says_start: bool, tmp_path: Path
) -> None:
    wrong = result("h1", 10.0, 20.0, clock_s=-5000.0, says_start=says_start)
    events = [compared("h1", 0.0), *load("h1", 10.0, 20.0), wrong, closed(21.0)]
    host = timing_of(build_record(run_of(tmp_path, ["h1"], events))).hosts["h1"]
    assert (host.start_s, host.end_s) == (10.0, 20.0)
    assert (host.source, host.clock_uncertainty_s) == ("samples", None)


def test_jobs_that_ran_one_after_the_other_end_with_the_last_of_them(tmp_path: Path) -> None:
    """The runtime that fio prints of a direction is that of one job: it is no bound of the
    whole.
    """
    short = result("h1", 10.0, 15.0, says_start=False)
    whole = msgspec.structs.replace(short, end_ms=20_300, t=20.5)
    events = [compared("h1", 0.0), *load("h1", 10.0, 20.0), whole, closed(21.0)]
    host = timing_of(build_record(run_of(tmp_path, ["h1"], events))).hosts["h1"]
    assert (host.start_s, host.end_s, host.end_uncertainty_s) == (10.0, 20.3, 1.3)


spans = st.tuples(
    st.floats(1.0, 20.0),
    st.floats(2.0, 15.0),
    st.floats(-5000.0, 5000.0),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(hosts=st.lists(spans, min_size=1, max_size=6))
def test_the_common_window_lies_in_the_interval_of_every_host(
    hosts: list[tuple[float, float, float, bool, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    names = [f"h{number}" for number in range(len(hosts))]
    events: list[AnyEvent] = [closed(50.0)]
    for name, (start_t, length_s, clock_s, says_start, has_result) in zip(
        names, hosts, strict=True
    ):
        end_t = start_t + length_s
        events += [compared(name, clock_s), *load(name, start_t, end_t, 10.0, clock_s=clock_s)]
        if has_result:
            events.append(
                result(
                    name, start_t, end_t, clock_s=clock_s, says_start=says_start, printed_late_s=0.3
                )
            )
    record = build_record(run_of(tmp_path_factory.mktemp("window"), names, events))
    timing, aggregate = timing_of(record), record.steps[0].results.aggregate["read"]
    intervals = timing.hosts.values()
    assert set(timing.hosts) == set(names) == set(aggregate.hosts)
    starts, ends = [each.start_s for each in intervals], [each.end_s for each in intervals]
    if timing.window is not None:
        assert all(start <= timing.window.start_s for start in starts)
        assert all(timing.window.end_s <= end for end in ends)
        assert aggregate.interval is not None
        assert (aggregate.interval.start_s, aggregate.interval.end_s) == (
            timing.window.start_s,
            timing.window.end_s,
        )
    else:
        assert min(ends) - max(starts) < 0.003
    if len(names) > 1:
        assert timing.start_skew_s == pytest.approx(max(starts) - min(starts), abs=1e-6)
    for name, (start_t, length_s, _, _, _) in zip(names, hosts, strict=True):
        own = timing.hosts[name]
        assert abs(own.start_s - start_t) <= own.start_uncertainty_s + 0.004
        assert own.end_s <= start_t + length_s + own.end_uncertainty_s + 0.004


def test_the_rate_in_the_window_is_that_of_all_hosts_and_its_difference_is_reported(
    tmp_path: Path,
) -> None:
    """The second host is alone for 10 s, in which it is twice as fast."""
    events = [
        *host_run("h1", 10.0, 20.0),
        *load("h2", 10.0, 20.0, 100.0),
        *load("h2", 20.0, 30.0, 200.0),
        result("h2", 10.0, 30.0, 150.0),
        compared("h1", 0.0),
        compared("h2", 0.0),
        closed(31.0),
    ]
    read = build_record(run_of(tmp_path, ["h1", "h2"], events)).steps[0].results.aggregate["read"]
    assert read.iops == 250.0
    assert read.iops_window == pytest.approx(200.0)
    assert read.bw_window_bytes_per_s == pytest.approx(200.0 * 4096)
    assert read.window_difference == pytest.approx(-0.2)


def test_a_run_that_was_taken_over_says_so_and_keeps_both_parts(tmp_path: Path) -> None:
    resumed = RunResumed(t=18.0, utc="2026-11-20T10:00:18Z", gap_s=5.5)
    again = PhaseStarted(t=18.1, phase="measure", step=0, expected_s=60.0)
    events = [
        *load("h1", 10.0, 13.0),
        resumed,
        again,
        *load("h1", 19.0, 22.0),
        closed(30.0, "partial"),
    ]
    record = build_record(run_of(tmp_path, ["h1"], [compared("h1", 0.0), *events]))
    document = valid(record)
    assert document["resumed"] == [{"utc": "2026-11-20T10:00:18.000Z", "gap_s": 5.5, "t_s": 18.0}]
    series = record.steps[0].series
    assert series is not None
    assert (series.start_s, series.columns[1].iops) == (
        10.0,
        [100.0] * 3 + [None] * 6 + [100.0] * 3,
    )
    assert series.columns[0].iops == series.columns[1].iops
    assert record.steps[0].results.aggregate["read"].ios == 600


def test_what_a_host_spooled_while_there_was_no_engine_fills_the_gap(tmp_path: Path) -> None:
    resumed = RunResumed(t=700.0, utc="2026-11-20T10:11:40Z", gap_s=687.0)
    live = load("h1", 10.0, 13.0, clock_s=0.05)
    spooled = [
        sample(700.5, "h1", [1000] * 100, clock_s=0.05, late_s=700.5 - t) for t in range(14, 23)
    ]
    events = [compared("h1", 0.05), *live, resumed, *spooled, closed(702.0, "partial")]
    record = build_record(run_of(tmp_path, ["h1"], events))
    series = record.steps[0].series
    assert series is not None
    assert (series.start_s, series.columns[1].iops) == (10.0, [100.0] * 12)
    assert weakening(record) == []
