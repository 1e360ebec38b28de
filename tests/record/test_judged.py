"""What is said of a measurement beside its figures."""

from __future__ import annotations

import pytest

from tui.model.figure_record import AggregateRecord, LatencyRecord, ResultsRecord
from tui.model.step_record import StepRecord
from tui.record.headline import is_short
from tui.view.step_notes import length_text, submission_text


def step(slat_ns: float | None, lat_ns: float, measured_s: float = 10.0) -> StepRecord:
    slat = None if slat_ns is None else LatencyRecord(n=10, mean_ns=slat_ns)
    found = AggregateRecord(
        ios=10, bytes=10, hosts=["h1"], slat=slat, lat=LatencyRecord(n=10, mean_ns=lat_ns)
    )
    return StepRecord(
        index=0, name="a", measured_s=measured_s, results=ResultsRecord(aggregate={"write": found})
    )


@pytest.mark.parametrize(
    ("measured_s", "runtime_s", "text"),
    [
        (30.02, 30.0, "measured 30.0 s"),
        (0.2, 30.0, "ended after 0.2 s of 30 s"),
        (0.04, None, "measured 0.04 s"),
        (299.6, 300.0, "measured 300 s"),
        (None, 30.0, ""),
    ],
)
def test_how_long_was_measured(
    measured_s: float | None, runtime_s: float | None, text: str
) -> None:
    assert length_text(measured_s, runtime_s) == text


def test_less_than_a_second_is_short_whatever_was_asked_for() -> None:
    assert is_short(step(None, 1.0, measured_s=0.9))
    assert not is_short(step(None, 1.0, measured_s=1.1))


def test_a_wait_in_the_submission_is_reported() -> None:
    hidden = step(198_000, 200_030)
    assert submission_text(hidden, "clat") == (
        "clat excludes the submission wait: write mean slat 198 µs, mean lat 200 µs"
    )
    assert submission_text(hidden, "lat").startswith("lat includes the submission wait")
    assert submission_text(step(10_000, 200_000), "clat") == ""
    assert submission_text(step(None, 200_000), "clat") == ""
