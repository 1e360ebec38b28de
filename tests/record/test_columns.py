from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.events import DATA, histogram, sample, started, write
from tui.journal.intervals import Amounts
from tui.journal.latencies import PercentileBins, p99_of, seconds_of
from tui.journal.rundir import load_plan
from tui.journal.views import SeriesSet
from tui.library.build import build_record
from tui.metrics.histogram import Histogram
from tui.model.event import AnyEvent, DirectionSample
from tui.model.figure_record import SeriesColumns, SeriesRecord
from tui.record.figures import covered_seconds, window_rates
from tui.record.step import build_step
from tui.record.timeline import read_journal

latencies = st.lists(st.integers(1, 10**10), min_size=1, max_size=300)


def series_of(tmp_path: Path, events: list[AnyEvent]) -> SeriesRecord:
    """Return the series that the record has of these events."""
    plan = load_plan(DATA / "ramp")
    series = build_step(
        plan, plan.steps[0], read_journal(write(tmp_path / "journal.jsonl", events)).state
    ).series
    assert series is not None
    return series


def column_of(series: SeriesRecord, host: str | None) -> SeriesColumns:
    return next(column for column in series.columns if column.host == host)


@given(values=latencies)
def test_the_short_walk_finds_the_same_percentile_as_the_histogram(values: list[int]) -> None:
    buckets = histogram(values)
    assert p99_of(buckets) == Histogram.from_buckets(buckets).percentile(99)


@given(edges=st.lists(st.floats(0, 100), min_size=2, max_size=40, unique=True).map(sorted))
def test_intervals_that_follow_each_other_cover_the_middle_of_each_second_once(
    edges: list[float],
) -> None:
    pairs = list(pairwise(edges))
    covered = [second for t0, t1 in pairs for second in seconds_of(t0, t1)]
    assert covered == [second for second in range(101) if edges[0] < second + 0.5 <= edges[-1]]


def test_an_interval_without_the_middle_of_a_second_does_not_count_beside_one_that_has_it() -> None:
    bins = PercentileBins(open_s=90)
    bins.add(0.4, 1.4, histogram([1000]))
    # ends in second 1, whose middle the next one covers
    bins.add(1.4, 1.45, histogram([9_000_000]))
    bins.add(1.45, 2.4, histogram([2000]))
    assert bins.values(0, 2) == [p99_of(histogram([1000])), p99_of(histogram([2000]))]


def test_where_no_interval_covers_the_middle_of_a_second_those_that_end_in_it_count() -> None:
    bins = PercentileBins(open_s=90)
    bins.add(0.0, 0.2, histogram([1000]))
    bins.add(0.2, 0.4, histogram([9_000_000]))
    assert bins.values(0, 1) == [p99_of(histogram([1000, 9_000_000]))]


def test_a_second_merges_the_latencies_of_all_hosts() -> None:
    bins = PercentileBins(open_s=90)
    fast, slow = [1000] * 95, [9_000_000] * 5
    bins.add(0.0, 1.0, histogram(fast))
    bins.add(0.1, 1.1, histogram(slow))
    assert bins.values(0, 2) == [
        Histogram.from_buckets(histogram(fast + slow)).percentile(99),
        None,
    ]


def test_a_host_that_is_behind_is_merged_while_its_seconds_are_open() -> None:
    bins = PercentileBins(open_s=10)
    for second in range(10):
        bins.add(second, second + 1.0, histogram([1000]))
    bins.add(2.0, 3.0, histogram([9_000_000]))
    assert bins.values(2, 3) == [p99_of(histogram([1000, 9_000_000]))]


def test_a_second_that_is_settled_keeps_its_value() -> None:
    bins = PercentileBins(open_s=3)
    for second in range(10):
        bins.add(second, second + 1.0, histogram([1000]))
    bins.add(2.0, 3.0, histogram([9_000_000]))
    assert bins.values(2, 3) == [p99_of(histogram([1000]))]


def test_a_second_is_known_when_every_host_that_was_there_was_there_all_of_it() -> None:
    one: list[float | None] = [0.4, 1.0, 1.0, 0.95, None]
    other: list[float | None] = [None, 0.5, 1.0, 1.0, 1.0]
    assert covered_seconds([one, other]) == [None, None, 1.0, pytest.approx(0.975), 1.0]


def test_a_measurement_too_short_for_a_second_is_taken_as_it_is() -> None:
    assert covered_seconds([[0.3, 0.4]]) == [None, pytest.approx(0.4)]


def test_the_rate_in_a_window_takes_the_share_of_the_seconds_at_its_ends() -> None:
    series = SeriesSet()
    series.add(0.0, 10.0, Amounts.of(DirectionSample(ios=1000, bytes=4000)))
    assert window_rates([(series, 10.0), (series, 10.0)], 2.25, 7.75) == pytest.approx(
        (200.0, 800.0)
    )


def test_what_was_counted_after_the_end_of_the_load_belongs_before_it() -> None:
    series = SeriesSet()
    # the load ended at 1.0, its last object came later
    series.add(0.0, 1.25, Amounts.of(DirectionSample(ios=100, bytes=400)))
    assert window_rates([(series, 1.0)], 0.0, 1.0)[0] == pytest.approx(80.0)
    ios, _ = window_rates([(series, 1.1)], 0.0, 1.1)
    assert ios == pytest.approx(100 / 1.1)


def test_a_slow_first_sample_does_not_shift_the_seconds_of_the_record(tmp_path: Path) -> None:
    late_first = sample(4.0, "h1", [1000] * 100, late_s=3.0)
    events = [
        *started("h1"),
        late_first,
        *(sample(float(t), "h1", [1000] * 100) for t in range(5, 9)),
    ]
    rates = column_of(series_of(tmp_path, events), "h1").iops
    assert rates == [100.0, None, None, None, 100.0, 100.0, 100.0, 100.0]


def test_columns_hold_rates_mean_latency_and_p99_of_each_second(tmp_path: Path) -> None:
    events = started("h1", "h2")
    for t in range(1, 4):
        events.append(sample(float(t), "h1", [1000] * 99 * t, clock_s=777.0))
        events.append(sample(float(t), "h2", [5000] * t, clock_s=-3.0))
    series = series_of(tmp_path, events)
    assert (series.start_s, series.step_s) == (0.0, 1.0)
    whole = column_of(series, None)
    assert whole.iops == [100.0, 200.0, 300.0]
    assert whole.bw_bytes_per_s == [100 * 4096.0, 200 * 4096.0, 300 * 4096.0]
    assert whole.lat_mean_ns == [1040.0] * 3
    assert whole.p99_ns == [p99_of(histogram([1000] * 99 + [5000]))] * 3
    assert column_of(series, "h2").p99_ns == [p99_of(histogram([5000]))] * 3


def test_seconds_at_the_edges_that_were_seen_in_part_are_left_out(tmp_path: Path) -> None:
    events = [*started("h1"), *(sample(t + 0.5, "h1", [1000] * 100) for t in range(1, 5))]
    series = series_of(tmp_path, events)
    assert series.start_s == 1.0
    assert column_of(series, "h1").iops == [100.0, 100.0, 100.0]


def test_a_lost_host_ends_and_the_others_continue(tmp_path: Path) -> None:
    events = started("h1", "h2")
    for t in range(1, 7):
        events.append(sample(float(t), "h1", [1000] * 10))
        if t <= 3:
            events.append(sample(float(t), "h2", [1000] * 30))
    series = series_of(tmp_path, events)
    assert column_of(series, "h2").iops == [30.0, 30.0, 30.0, None, None, None]
    assert column_of(series, None).iops == [40.0, 40.0, 40.0, 10.0, 10.0, 10.0]


def test_p99_of_a_recorded_run_lies_between_those_of_its_hosts() -> None:
    series = build_record(DATA / "mix").steps[0].series
    assert series is not None
    columns = {
        column.host: column.p99_ns for column in series.columns if column.direction == "read"
    }
    for whole, one, other in zip(columns[None], columns["h1"], columns["h2"], strict=True):
        assert whole is not None and one is not None and other is not None
        assert min(one, other) <= whole <= max(one, other)


def test_load_before_a_restart_is_not_in_the_series_even_if_nothing_marked_it_as_ramp(
    tmp_path: Path,
) -> None:
    events = [*started("h1"), *(sample(float(t), "h1", [1000] * 10) for t in (1, 2, 3))]
    events += [sample(float(t), "h1", [1000] * 100, restart=t == 4) for t in (4, 5)]
    series = series_of(tmp_path, events)
    assert (series.start_s, column_of(series, "h1").iops) == (3.0, [100.0, 100.0])
