"""One rule for the verdicts of runs, repetitions, searches and `ab`: what an interval shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.analysis.verdicts import THRESHOLD, WIDE, outcome, stays_within


@pytest.mark.parametrize(("low", "ratio", "high", "significant", "said", "code"), [
    (0.94, 0.97, 0.99, True, "differs", None),
    (0.985, 0.99, 0.995, True, "no difference detected", "below-threshold"),
    (0.54, 0.982, 0.997, True, "inconclusive", "around-threshold"),
    (0.97, 0.985, 0.999, True, "inconclusive", "around-threshold"),
    (0.951, 0.975, 0.999, False, "inconclusive", "not-significant"),
    (0.985, 0.99, 0.999, False, "no difference detected", "below-threshold"),
    (0.96, 1.0, 1.04, False, "no difference detected", None),
    (0.94, 1.0, 1.06, False, "inconclusive", "wide-interval"),
])  # fmt: skip
def test_the_verdict_follows_from_the_interval(
    low: float, ratio: float, high: float, significant: bool, said: str, code: str | None
) -> None:
    found, reason = outcome(ratio, low, high, significant=significant, threshold=0.02, alpha=0.04)
    assert (found, reason["code"] if reason is not None else None) == (said, code)


def test_a_larger_noise_floor_replaces_what_matters() -> None:
    for low, high, code in ((0.91, 1.03, None), (0.85, 0.95, "around-threshold")):
        found, reason = outcome(0.93, low, high, significant=high < 1, threshold=0.1, alpha=0.04)
        assert (found == "no difference detected") == (code is None)
        assert (reason["code"] if reason is not None else None) == code


def test_a_significant_change_within_the_noise_floor_is_inconclusive() -> None:
    found, reason = outcome(0.93, 0.91, 0.95, significant=True, threshold=0.1, alpha=0.04)
    assert found == "inconclusive"
    assert reason is not None and reason["code"] == "within-noise-floor"


ends = st.floats(0.01, 10.0)


@given(ends, ends, ends, st.booleans(), st.floats(0.02, 0.5))
def test_no_difference_is_only_said_of_an_interval_without_a_larger_one(
    one: float, other: float, third: float, significant: bool, threshold: float
) -> None:
    low, ratio, high = sorted((one, other, third))
    found, _ = outcome(ratio, low, high, significant=significant, threshold=threshold, alpha=0.04)
    if found == "no difference detected":
        assert stays_within(low, high, max(threshold, WIDE))
        assert low <= 1 <= high or stays_within(low, high, THRESHOLD)
    if found == "differs":
        assert significant and abs(ratio - 1) >= threshold
