"""Capacities of the same system are seldom said to differ; a large change is found.

All sizes are in `make bench`.
"""

from __future__ import annotations

import pytest

from tests.long.bench.same_searches import share


@pytest.mark.parametrize("floors", [False, True])
def test_repeated_searches_of_the_same_are_not_different(floors: bool) -> None:
    assert share(4, 0.05, 60, floors=floors, seed=5) <= 0.1
    assert share(4, 0.01, 20, 1.1, floors=floors, seed=5) == 1.0


def test_single_searches_need_a_noise_floor() -> None:
    assert share(1, 0.001, 20, 2.0, floors=False) == 0.0
    assert share(1, 0.02, 60, floors=True, seed=5) <= 0.1
    assert share(1, 0.005, 20, 1.1, floors=True, seed=5) == 1.0
