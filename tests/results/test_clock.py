from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.results.samples import sample, write
from tui.results.clock import HostClock, best_offsets

HOST_START_MS = 1_795_000_000_000


@given(delays=st.lists(st.floats(0.0, 60.0), min_size=1, max_size=20))
def test_a_stamp_is_placed_within_the_least_delay_that_was_seen(delays: list[float]) -> None:
    clock = HostClock()
    for second, delay in enumerate(delays, start=1):
        placed = clock.run_time(second + delay, HOST_START_MS + second * 1000)
        assert second - 1e-3 <= placed <= second + min(delays[:second]) + 1e-3


def test_a_stamp_is_never_placed_after_its_arrival() -> None:
    clock = HostClock(offset_s=100.0)
    assert clock.run_time(5.0, 1000) == pytest.approx(5.0)


def test_samples_that_arrive_in_a_bunch_keep_their_distance() -> None:
    clock = HostClock()
    clock.run_time(1.01, HOST_START_MS)
    placed = [clock.run_time(9.0, HOST_START_MS + second * 1000) for second in (1, 2, 3)]
    assert placed == pytest.approx([2.01, 3.01, 4.01])


def test_a_clock_that_was_set_back_by_an_hour_is_followed() -> None:
    clock = HostClock()
    clock.run_time(1.0, HOST_START_MS)
    assert clock.run_time(2.0, HOST_START_MS - 3_600_000) == pytest.approx(2.0)


def test_the_best_offset_of_a_journal_is_that_of_the_quickest_sample(tmp_path: Path) -> None:
    events = [
        sample(1.0, "h1", [1000], clock_s=500.0, late_s=0.4),
        sample(2.0, "h1", [1000], clock_s=500.0, late_s=0.0),
        sample(2.5, "h2", [1000], clock_s=-20.0, late_s=0.1),
    ]
    offsets = best_offsets(write(tmp_path / "journal.jsonl", events))
    assert offsets == pytest.approx({"h1": -500.0, "h2": 20.1})
