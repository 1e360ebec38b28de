"""What is the same is seldom said to be different: a few seeded pairs.

All of them are `make bench` and `make soak`.
"""

from __future__ import annotations

import pytest

from tests.long.bench.same_pairs import BETWEEN, shares, sources

QUICK = ("autocorrelation 0.8", "random reads at full speed, resampled")


@pytest.mark.parametrize("name", QUICK)
def test_pairs_of_the_same_are_not_different(name: str) -> None:
    head, some = shares(sources()[name], 12, seed=5, between=0.02)
    assert head <= 0.1
    assert some <= 0.17


@pytest.mark.parametrize("name", QUICK)
def test_single_runs_without_a_noise_floor_are_never_different(name: str) -> None:
    assert shares(sources()[name], 3, seed=5, factor=2.0, floor=0) == (0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("name", sources())
def test_pairs_of_the_same_differ_in_one_of_twenty_at_most(name: str, between: float) -> None:
    """At the level of 4 % more than 5 % differ by chance in one case of 90.

    Of 200 pairs it would be one of 5.
    """
    head, _ = shares(sources()[name], 2000, seed=1, between=between)
    assert head <= 0.05
