"""Two load curves held against each other: the mean ratio of latency over the load that both
have.
"""

from __future__ import annotations

import numpy as np
import pytest

from tui.capacity.curves import UncertainPoint, between
from tui.model.operands import clause

ERROR = 0.02  # of each point
FEW = [300.0, 500.0, 700.0, 850.0, 930.0]


def queue(
    rates: list[float], factor: float = 1.0, seed: int = 0, error: float | None = ERROR
) -> list[UncertainPoint]:
    """The points of a queue that serves 1000/s, each as far from the truth as its error says."""
    random = np.random.default_rng(seed)
    noise = np.exp(random.normal(0, error or 0.0, len(rates)))
    return [UncertainPoint(rate, 1e6 * factor / (1 - rate / 1000) * float(each), error, 20)
            for rate, each in zip(rates, noise, strict=True)]  # fmt: skip


def test_five_points_a_curve_tell_the_mean_ratio_within_some_per_cent() -> None:
    found = between(queue(FEW, seed=4), queue(FEW, 1.3, seed=5))
    assert found is not None and found.ratio.low is not None and found.ratio.high is not None
    assert found.ratio.low <= 1.3 <= found.ratio.high
    assert found.ratio.high / found.ratio.low < 1.12


@pytest.mark.parametrize(
    "others", [FEW, [250.0, 420.0, 610.0, 780.0, 900.0], [200.0, 600.0, 800.0, 950.0]]
)
def test_the_interval_holds_the_truth_where_points_lie_at_other_rates_too(
    others: list[float],
) -> None:
    held = 0
    for seed in range(60):
        found = between(queue(FEW, seed=2 * seed), queue(others, 1.2, seed=2 * seed + 1))
        assert found is not None and found.ratio.low is not None and found.ratio.high is not None
        held += found.ratio.low <= 1.2 <= found.ratio.high
    assert held >= 54


def test_points_far_apart_near_the_knee_widen_the_interval() -> None:
    near, far = ([100.0, 400.0, 700.0, 950.0], [100.0, 200.0, 950.0])
    same, other = between(queue(near), queue(near)), between(queue(near), queue(far))
    assert same is not None and other is not None
    widths = [
        found.ratio.high / found.ratio.low
        for found in (same, other)
        if found.ratio.high and found.ratio.low
    ]
    assert widths[1] - 1 > 3 * (widths[0] - 1)


def test_too_few_points_have_no_interval_but_a_reason() -> None:
    found = between(queue([300.0, 700.0]), queue(FEW, 1.3))
    assert found is not None and found.ratio.value == pytest.approx(1.3, rel=0.3)
    assert (found.ratio.low, found.ratio.high) == (None, None)
    assert found.caveat == clause("few-common-points", a=2, b=3, needed=3)


def test_points_without_seconds_have_no_interval_and_one_alone_has_the_usual_error() -> None:
    found = between(queue(FEW, error=None), queue(FEW, 1.3))
    assert found is not None and found.ratio.low is None
    assert found.caveat == clause("no-per-second-data")
    mixed = [*queue(FEW)[:-1], queue(FEW, error=None)[-1]]
    found = between(mixed, queue(FEW, 1.3))
    assert found is not None and found.ratio.low is not None


def test_points_of_the_same_rate_are_one_and_as_unsure_as_they_are_apart() -> None:
    again = [
        UncertainPoint(700.5, 1.1 * each.latency_ns, ERROR, 20)
        for each in queue(FEW)
        if each.rate == 700
    ]
    calm, torn = between(queue(FEW), queue(FEW)), between(queue(FEW), [*queue(FEW), *again])
    assert (
        calm is not None
        and torn is not None
        and torn.ratio.high is not None
        and calm.ratio.high is not None
    )
    assert torn.ratio.value and calm.ratio.value
    assert torn.ratio.high / torn.ratio.value > 1.03 * calm.ratio.high / calm.ratio.value


def test_curves_without_common_load_are_not_held_against_each_other() -> None:
    assert (
        between(
            queue(FEW), [UncertainPoint(each.rate + 2000, each.latency_ns) for each in queue(FEW)]
        )
        is None
    )
    assert between([], queue(FEW)) is None


def test_points_whose_latency_falls_while_load_grows_scatter_and_widen_the_interval() -> None:
    rates = [100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0]
    flat = [UncertainPoint(rate, 1e6, ERROR, 20) for rate in rates]
    jagged = [UncertainPoint(rate, 1e6 * factor, ERROR, 20)
              for rate, factor in zip(rates, (1.0, 1.3, 0.9, 1.2, 0.95, 1.25, 1.0),
                  strict=True)]  # fmt: skip
    calm, torn = between(flat, flat), between(flat, jagged)
    assert calm is not None and torn is not None
    assert calm.ratio.high is not None and calm.ratio.high < 1.05
    assert torn.ratio.low is not None and torn.ratio.high is not None
    assert torn.ratio.low < 1 and torn.ratio.high > 1.1


def test_points_that_scatter_by_half_say_nothing_and_this_is_reported() -> None:
    wild = [UncertainPoint(rate, 1e6 * factor, ERROR, 20)
            for rate, factor in ((300.0, 3.0), (500.0, 0.5), (700.0, 2.5), (930.0,
                0.7))]  # fmt: skip
    found = between(queue(FEW), wild)
    assert found is not None and found.ratio.low is None
    assert found.caveat == clause("points-scatter")
