"""How well a figure is known from its repetitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.metrics.repeat import relative_ci, t_975

values = st.lists(st.floats(min_value=1.0, max_value=1e9), min_size=2, max_size=50)


def test_the_interval_is_students() -> None:
    """mean 100, standard deviation 10, n = 4: 3.1824 x 10 / 2 = 15.912 to each side."""
    assert relative_ci([100.0, 110.0, 90.0, 100.0]) == pytest.approx(
        0.0 + 3.1824 * 8.16497 / 2 / 100, rel=1e-4
    )


@pytest.mark.parametrize(
    ("degrees", "quantile"), [(1, 12.706), (10, 2.2281), (30, 2.0423), (60, 2.0003), (1000, 1.9623)]
)
def test_quantiles_are_those_of_the_tables(degrees: int, quantile: float) -> None:
    assert t_975(degrees) == pytest.approx(quantile, abs=1e-3)


def test_one_value_tells_nothing_of_its_spread() -> None:
    assert relative_ci([5.0]) is None
    assert relative_ci([]) is None


def test_a_mean_of_zero_has_no_relative_width() -> None:
    assert relative_ci([1.0, -1.0]) is None


@given(values, st.floats(min_value=0.01, max_value=1000))
def test_the_unit_does_not_matter(figures: list[float], factor: float) -> None:
    width, scaled = relative_ci(figures), relative_ci([figure * factor for figure in figures])
    assert width is not None
    assert scaled == pytest.approx(width, rel=1e-6, abs=1e-9)


@given(st.floats(min_value=1.0, max_value=1e9), st.integers(2, 40))
def test_equal_figures_are_known_exactly(figure: float, count: int) -> None:
    assert relative_ci([figure] * count) == pytest.approx(0.0, abs=1e-12)
