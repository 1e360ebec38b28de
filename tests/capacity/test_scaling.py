"""Throughput by number of hosts by the universal scalability law."""

from __future__ import annotations

import numpy as np
import pytest

from tui.capacity.curves import ScalingPoint, scaling
from tui.model.operands import clause


def law(hosts: int, contention: float, coherence: float) -> float:
    return 1000 * hosts / (1 + contention * (hosts - 1) + coherence * hosts * (hosts - 1))


def test_the_terms_of_the_law_are_found_and_lie_in_their_intervals() -> None:
    random = np.random.default_rng(3)
    measured = [
        ScalingPoint(n, law(n, 0.05, 0.002) * float(np.exp(random.normal(0, 0.01))))
        for n in (1, 2, 4, 8, 16, 32)
    ]
    found = scaling(measured)
    assert found.contention and found.coherence and found.best_hosts
    for estimate, true in (
        (found.contention, 0.05),
        (found.coherence, 0.002),
        (found.best_hosts, 21.8),
    ):
        assert (
            estimate.low is not None
            and estimate.high is not None
            and estimate.low <= true <= estimate.high
        )
    beyond = [each for each in found.points if each.extrapolated]
    assert [each.hosts for each in beyond] == [40, 48, 56, 64]


def test_two_numbers_of_hosts_fit_no_law() -> None:
    found = scaling([ScalingPoint(1, 1000), ScalingPoint(2, 1900)])
    assert found.contention is None
    assert found.caveat == clause("few-host-counts", counts=2)
    assert [each.efficiency for each in found.points] == pytest.approx([1.0, 0.95])


def test_linear_growth_has_no_best_number_of_hosts() -> None:
    found = scaling([ScalingPoint(n, 1000.0 * n) for n in (1, 2, 4, 8)])
    assert found.best_hosts is not None and found.best_hosts.value is None
    assert found.caveat == clause("no-maximum")
