"""A load curve: its knee, and the ratio of what two of them found."""

from __future__ import annotations

import numpy as np
import pytest

from tui.capacity.curves import knee
from tui.capacity.interval import Estimate, ratio_of
from tui.model.figure_record import CodedText
from tui.model.operands import clause
from tui.model.search import Search
from tui.model.search_record import SearchPointRecord, SearchRecord
from tui.record.search import conclude

RATES = [100.0 * part for part in range(1, 10)] + [950.0]


def noisy(values: list[float], seed: int) -> list[float]:
    return [
        each * float(np.exp(np.random.default_rng([seed, at]).normal(0, 0.02)))
        for at, each in enumerate(values)
    ]


def test_knee_of_a_queue_is_where_rate_over_latency_is_highest() -> None:
    """M/M/1 with 1000/s: latency 1 / (1 - rate / 1000), its power is highest at 500/s
    (Kleinrock).
    """
    found = knee(RATES, noisy([1e6 / (1 - rate / 1000) for rate in RATES], 1))
    assert found.rate.value == pytest.approx(500, rel=0.1)
    assert found.rate.low is not None and found.rate.high is not None
    assert found.rate.low <= 500 <= found.rate.high
    assert found.latency_ns == pytest.approx(2e6, rel=0.1)


def test_knee_of_a_flat_curve_with_a_cliff_is_at_the_cliff() -> None:
    found = knee(RATES, noisy([1e6] * 8 + [2e6, 9e6], 2))
    assert found.rate.value == pytest.approx(830, rel=0.1)


def test_curve_that_stays_flat_has_no_knee() -> None:
    found = knee(RATES, noisy([1e6] * 10, 3))
    assert found.rate.value is None
    assert found.caveat == clause("no-knee")
    assert knee(RATES[:4], [1e6] * 4).rate.value is None


def test_a_load_that_is_not_achieved_is_no_flat_curve() -> None:
    """With few I/Os in flight, latency stays low however many more are offered."""
    offered = [100.0 * part for part in range(1, 11)]
    points = [
        SearchPointRecord(
            step=at, role="curve", offered_iops=rate, seconds=60.0, iops=min(rate, 500.0 + at),
            bw_bytes_per_s=0.0, verdict="meets" if rate <= 500 else "breaks",
            percentiles_ns={"read": {"99": 10_000_000 + at}},
        )
        for at, rate in enumerate(offered)
    ]  # fmt: skip
    search = Search("curve")
    record = conclude(SearchRecord(kind="curve", most_points=10, points=points), search, [])
    assert record.knee is not None and record.knee.iops.value is None
    assert record.knee.caveat == CodedText(
        code="low-but-not-achieved", operands={"offered_iops": 600.0}
    )


def test_ratio_of_two_capacities_has_an_interval() -> None:
    found = ratio_of(Estimate(1000, 970, 1030), Estimate(1100, 1070, 1130))
    assert found.value == pytest.approx(1.1)
    assert found.low == pytest.approx(1.057, abs=0.003) and found.high == pytest.approx(
        1.145, abs=0.003
    )
    assert ratio_of(Estimate(1000, None, 1030), Estimate(1100, 1070, 1130)).high is None
