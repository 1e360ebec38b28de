from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.events import compared, sample, write
from tui.journal.clock import HostTime
from tui.journal.survey import survey
from tui.model.event import AnyEvent, RunResumed

HOST_START_MS = 1_795_000_000_000


@given(delays=st.lists(st.floats(0.0, 60.0), min_size=1, max_size=20))
def test_a_stamp_is_placed_within_the_least_delay_that_was_seen(delays: list[float]) -> None:
    clock = HostTime()
    for second, delay in enumerate(delays, start=1):
        placed = clock.run_time(second + delay, HOST_START_MS + second * 1000)
        assert second - 1e-3 <= placed <= second + min(delays[:second]) + 1e-3


def test_a_stamp_is_never_placed_after_its_arrival() -> None:
    clock = HostTime(offset_s=100.0)
    assert clock.run_time(5.0, 1000) == pytest.approx(5.0)


def test_samples_that_arrive_in_a_bunch_keep_their_distance() -> None:
    clock = HostTime()
    clock.run_time(1.01, HOST_START_MS)
    placed = [clock.run_time(9.0, HOST_START_MS + second * 1000) for second in (1, 2, 3)]
    assert placed == pytest.approx([2.01, 3.01, 4.01])


def test_a_clock_that_was_set_back_by_an_hour_is_followed() -> None:
    clock = HostTime()
    clock.run_time(1.0, HOST_START_MS)
    assert clock.run_time(2.0, HOST_START_MS - 3_600_000) == pytest.approx(2.0)


def test_the_best_offset_of_a_journal_is_that_of_the_quickest_sample(tmp_path: Path) -> None:
    events = [
        sample(1.0, "h1", [1000], clock_s=500.0, late_s=0.4),
        sample(2.0, "h1", [1000], clock_s=500.0, late_s=0.0),
        sample(2.5, "h2", [1000], clock_s=-20.0, late_s=0.1),
    ]
    offsets = survey(write(tmp_path / "journal.jsonl", events)).offsets
    assert offsets == pytest.approx({"h1": -500.0, "h2": 20.1})


def test_a_compared_clock_places_stamps_without_the_delay_of_their_way() -> None:
    clock = HostTime()
    clock.compare(compared("h1", 3600.0))
    assert clock.interval(12.4, 3_612_000, 1.0) == pytest.approx((11.0, 12.0))
    assert clock.reading is not None
    assert clock.reading.uncertainty_s == 0.002


def test_a_stamp_a_little_in_the_future_is_drift_and_adds_to_the_uncertainty() -> None:
    clock = HostTime()
    clock.compare(compared("h1", 0.0))
    assert clock.run_time(100.0, 100_060) == pytest.approx(100.0)
    assert clock.step is None
    assert clock.reading is not None
    assert clock.reading.uncertainty_s == pytest.approx(0.062)


def test_a_stamp_far_in_the_future_means_that_the_clock_was_set_forward() -> None:
    clock = HostTime()
    clock.compare(compared("h1", 0.0))
    assert clock.interval(10.01, 10_000, 1.0) == pytest.approx((9.0, 10.0))
    # the tool believes that a minute passed
    assert clock.interval(11.01, 71_000, 61.0) == pytest.approx((10.0, 11.01))
    assert clock.interval(12.01, 72_000, 1.0) == pytest.approx((11.01, 12.01))
    assert clock.step is not None
    assert clock.step.size_s == pytest.approx(60.0, abs=0.02)
    assert clock.reading is not None and clock.reading.uncertainty_s is None


def test_samples_that_are_all_late_mean_that_the_clock_was_set_back(tmp_path: Path) -> None:
    late = [sample(float(t), "h1", [1000], clock_s=-7.0, late_s=0.01) for t in range(10, 20)]
    events: list[AnyEvent] = [compared("h1", 0.0), *late]
    found = survey(write(tmp_path / "journal.jsonl", events))
    assert found.offsets == pytest.approx({"h1": 7.01})
    assert found.distrusted["h1"].size_s == pytest.approx(-7.01)


def test_stamps_that_go_back_mean_that_the_clock_was_set_back() -> None:
    clock = HostTime()
    clock.compare(compared("h1", 0.0))
    assert clock.run_time(10.0, 10_000) == 10.0
    assert clock.run_time(11.0, 4_000) == 11.0
    assert clock.step is not None and clock.step.size_s == pytest.approx(-7.0)


def test_one_late_bunch_after_a_broken_connection_says_nothing_about_the_clock() -> None:
    clock = HostTime()
    clock.compare(compared("h1", 0.0))
    placed = [clock.run_time(40.0 + t / 1000, t * 1000) for t in range(1, 31)]
    placed += [clock.run_time(float(t), t * 1000 - 20) for t in range(45, 60)]
    assert placed == pytest.approx([*range(1, 31), *(t - 0.02 for t in range(45, 60))])
    assert clock.step is None


def test_samples_that_were_spooled_without_an_engine_are_late_and_right(tmp_path: Path) -> None:
    resumed = RunResumed(t=600.0, utc="2026-11-20T10:10:00Z", gap_s=590.0)
    late = [sample(600.0 + t, "h1", [1000], late_s=590.0) for t in range(10, 40)]
    found = survey(write(tmp_path / "journal.jsonl", [compared("h1", 0.0), resumed, *late]))
    assert (found.offsets, found.distrusted) == ({}, {})


def test_a_second_comparison_replaces_the_first() -> None:
    clock = HostTime()
    clock.compare(compared("h1", 5.0))
    clock.run_time(10.0, 15_000)
    clock.compare(compared("h1", 5.2, t=60.0))
    assert clock.run_time(70.0, 75_100) == pytest.approx(69.9)


@given(
    clock_s=st.floats(-1e5, 1e5),
    delays=st.lists(st.floats(0.0, 20.0), min_size=1, max_size=30),
    error_s=st.floats(0, 0.04),
)
def test_no_delay_moves_a_stamp_of_a_compared_clock(
    clock_s: float, delays: list[float], error_s: float
) -> None:
    clock = HostTime()
    clock.compare(compared("h1", clock_s + error_s, 0.05))
    for second, delay in enumerate([0.0, *delays], start=1):
        placed = clock.run_time(second + delay, round((second + clock_s) * 1000))
        assert placed == pytest.approx(second, abs=error_s + 2e-3)


def test_the_interval_of_a_sample_is_the_same_when_it_is_asked_for_again() -> None:
    clock = HostTime()
    clock.compare(compared("h1", 0.0))
    clock.interval(10.01, 10_000, 1.0)
    first = clock.interval(11.01, 71_000, 61.0)
    assert clock.interval(11.01, 71_000, 61.0) == first
