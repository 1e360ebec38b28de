"""What is the same is seldom said to be different: a few seeded pairs; all of them are `make bench` and `make soak`."""

from __future__ import annotations

import pytest

from tests.bench.same_pairs import shares, sources

QUICK = ("autocorrelation 0.8", "random reads at full speed, resampled")


@pytest.mark.parametrize("name", QUICK)
def test_pairs_of_the_same_are_not_different(name: str) -> None:
    head, some = shares(sources()[name], 12, seed=5)
    assert head <= 0.1
    assert some <= 0.17


@pytest.mark.slow
@pytest.mark.parametrize("name", sources())
def test_two_hundred_pairs_of_the_same_differ_in_one_of_twenty_at_most(name: str) -> None:
    head, _ = shares(sources()[name], 200, seed=1)
    assert head <= 0.05
